-- What a script takes away from all others is put back: the library's functions, the built-in modules', `proxy`
-- and what is in it, and that `_G` has no metatable. A function in another's place is its author's will, and
-- stays.
local M, host = ...

local log, globals = host.log, _G
local metatable, set_metatable = host.metatable, host.set_metatable
local library, strings = globals.string, getmetatable("")
local proxy = globals.proxy

-- Under these names `proxy` has each session's own.
local OWN = { "connection", "queries", "response" }

local kept, count = {}, 0
-- The modules in use, by name.
local modules = {}

local function keep(name, holder, only_type)
	for key, value in pairs(holder) do
		count = count + 1
		kept[count] = { name = name .. key, holder = holder, key = key, value = value, only_type = only_type }
	end
end

local function forget(holder)
	local left = {}
	for at = 1, count do
		if kept[at].holder ~= holder then
			left[#left + 1] = kept[at]
		end
	end
	kept, count = left, #left
end

local function is_there(entry)
	local now, value = rawget(entry.holder, entry.key), entry.value
	if now == value then
		return true
	elseif type(now) ~= type(value) then
		return false
	end
	-- `package.path` is a script's to set.
	local is_text = type(value) == "string" and entry.holder == globals.package
	return entry.only_type or is_text or type(value) == "function"
end

-- Everything is there that scripts are to find.
function M.keep()
	keep("", globals)
	for _, name in pairs({ "string", "table", "math", "os", "io", "coroutine", "debug", "package", "pilotfish", "proxy" }) do
		keep(name .. ".", globals[name])
	end
	keep("proxy.global.", proxy.global, true)
	keep("io.stdout:", getmetatable(io.stdout).__index)
end

-- A built-in module has been loaded; once more, where a script has forgotten it.
function M.keep_module(name, module)
	if modules[name] == module then
		return
	end
	if modules[name] then
		forget(modules[name])
	end
	modules[name] = module
	keep(name .. ".", module)
	host.protect(module)
end

local function tell(name)
	log("critical", name .. " is every script's, and one has taken it away: it is put back")
end

-- Each body that appends a folder to the path does so again for each client: it stands there once.
local bounded
local function bound_path()
	local path = rawget(globals.package, "path")
	if path == bounded then
		return
	end
	local seen, left = {}, {}
	for template in string.gmatch(path, "[^;]+") do
		if not seen[template] then
			seen[template] = true
			left[#left + 1] = template
		end
	end
	bounded = table.concat(left, ";")
	globals.package.path = bounded
end

function M.put_back()
	for at = 1, count do
		local entry = kept[at]
		if not is_there(entry) then
			rawset(entry.holder, entry.key, entry.value)
			tell(entry.name)
		end
	end
	for _, key in ipairs(OWN) do
		if rawget(proxy, key) ~= nil then
			rawset(proxy, key, nil)
			log("critical", "proxy." .. key .. " is each session's own, and one has set it for all: that is taken away")
		end
	end
	if metatable(globals) then
		set_metatable(globals, nil)
		log("critical", "_G is every script's, and one has given it a metatable: it is taken away")
	end
	-- What else scripts give to strings is theirs.
	rawset(strings, "__metatable", nil)
	rawset(strings, "__index", library)
	bound_path()
end
