-- Several scripts at once, loaded and unloaded while clients are connected:
--
--   PLOAD file      loads a script: for this client at once, for others from their next command on
--   PUNLOAD name    forgets it; its name is the file's without folder and ".lua"
--   PLOAD_LIST      which there are, in the order in which they are asked
--   PLOAD_HELP      this list
--
-- Hooks are asked one script after the other. The first that decides ends the round; results go to the
-- script that has sent the statement.

proxy.global.loaded = proxy.global.loaded or { list = {}, version = 0 }
local loaded = proxy.global.loaded

local hooks = {
	"connect_server", "read_handshake", "read_auth", "read_auth_result", "disconnect_client",
}

-- This client's copies, in the order of the list.
local copies, version = {}, -1
-- Whose statements are under way.
local asking

local function copy_of(entry)
	local chunk, cause = loadfile(entry.file)
	if not chunk then
		return nil, cause
	end
	local environment = setmetatable({}, { __index = getfenv(1) })
	-- The loader's own hooks are no script's.
	for _, name in ipairs(hooks) do
		rawset(environment, name, false)
	end
	rawset(environment, "read_query", false)
	rawset(environment, "read_query_result", false)
	local ran, raised = pcall(setfenv(chunk, environment))
	if not ran then
		return nil, raised
	end
	return { name = entry.name, hooks = environment }
end

local function follow()
	if version == loaded.version then
		return
	end
	local before = {}
	for _, copy in ipairs(copies) do
		before[copy.name] = copy
	end
	copies, version = {}, loaded.version
	for _, entry in ipairs(loaded.list) do
		local copy, cause = before[entry.name], nil
		if not copy then
			copy, cause = copy_of(entry)
		end
		if copy then
			copies[#copies + 1] = copy
		else
			print(("load-multi: %s: %s"):format(entry.name, tostring(cause)))
		end
	end
end

local function ask(name, ...)
	follow()
	for _, copy in ipairs(copies) do
		local hook = copy.hooks[name]
		local decision = hook and hook(...)
		if decision then
			return decision, copy
		end
	end
end

for _, name in ipairs(hooks) do
	getfenv(1)[name] = function(...)
		return (ask(name, ...))
	end
end

local function say(rows, field)
	local fields = { { name = field, type = proxy.MYSQL_TYPE_STRING } }
	proxy.response = { type = proxy.MYSQLD_PACKET_OK, resultset = { fields = fields, rows = rows } }
	return proxy.PROXY_SEND_RESULT
end

local function refuse(text)
	proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errcode = 1105, errmsg = text }
	return proxy.PROXY_SEND_RESULT
end

local function at(name)
	for index, entry in ipairs(loaded.list) do
		if entry.name == name then
			return index
		end
	end
end

local commands = {}

function commands.PLOAD(file)
	local name = file:match("([^/]+)%.lua$") or file:match("([^/]+)$")
	if not name then
		return refuse("PLOAD takes a file")
	end
	local entry = { name = name, file = file }
	local copy, cause = copy_of(entry)
	if not copy then
		return refuse(tostring(cause))
	end
	local index = at(name) or #loaded.list + 1
	loaded.list[index], loaded.version = entry, loaded.version + 1
	follow()
	copies[index] = copy
	return say({ { name } }, "loaded")
end

function commands.PUNLOAD(name)
	local index = at(name)
	if not index then
		return refuse("nothing is loaded that is called " .. name)
	end
	table.remove(loaded.list, index)
	loaded.version = loaded.version + 1
	return say({ { name } }, "unloaded")
end

function commands.PLOAD_LIST()
	local rows = {}
	for index, entry in ipairs(loaded.list) do
		rows[index] = { entry.name }
	end
	return say(rows, "name")
end

function commands.PLOAD_HELP()
	return say({ { "PLOAD file" }, { "PUNLOAD name" }, { "PLOAD_LIST" }, { "PLOAD_HELP" } }, "command")
end

function read_query(packet)
	asking = nil
	if packet:byte() == proxy.COM_QUERY then
		local word, argument = packet:sub(2):match("^%s*(%a[%w_]*)%s*(.-)%s*;?%s*$")
		local command = word and commands[word:upper()]
		if command then
			return command((argument:gsub("^(['\"])(.*)%1$", "%2")))
		end
	end
	local decision, copy = ask("read_query", packet)
	asking = copy
	return decision
end

function read_query_result(inj)
	local hook = asking and asking.hooks.read_query_result
	return hook and hook(inj)
end
