-- What a script takes away from all others is put back: the library's functions, `proxy` and what is in it.
-- A function in another's place is its author's will, and stays.
local M, host = ...

-- None of these can be taken away.
local pairs, type, rawget, rawset, getmetatable = pairs, type, rawget, rawset, getmetatable
local log, library = host.log, string

local kept, count = {}, 0

local function keep(name, holder, only_type)
	for key, value in pairs(holder) do
		count = count + 1
		kept[count] = { name = name .. key, holder = holder, key = key, value = value, only_type = only_type }
	end
end

local function is_there(entry)
	local now, value = rawget(entry.holder, entry.key), entry.value
	return now == value or type(now) == type(value) and (entry.only_type or type(value) == "function")
end

-- Everything is there that scripts are to find.
function M.keep()
	keep("", _G)
	for _, name in pairs({ "string", "table", "math", "os", "io", "coroutine", "debug", "package", "pilotfish", "proxy" }) do
		keep(name .. ".", _G[name])
	end
	keep("proxy.global.", proxy.global, true)
end

function M.put_back()
	for at = 1, count do
		local entry = kept[at]
		if not is_there(entry) then
			rawset(entry.holder, entry.key, entry.value)
			log("critical", entry.name .. " is every script's, and one has taken it away: it is put back")
		end
	end
	getmetatable("").__index = library
end
