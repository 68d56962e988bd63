-- Where a socket ends: `.src` and `.dst` of sockets and backends.
-- Made of what the proxy hands over: { name, address, port, type }.
local M, host = ...

local keys = { name = true, address = true, port = true, type = true }

function M.address(facts)
	local object = host.newproxy(true)
	local meta = getmetatable(object)
	meta.__index = function(_, key)
		if keys[key] then
			return facts[key]
		end
	end
	meta.__newindex = function(_, key)
		error("address." .. tostring(key) .. " is not writable", 2)
	end
	meta.__metatable = false
	return object
end
