-- `proxy.connection.client` and `.server`: what is known of a side of the session.
-- Made of what the proxy hands over: addresses of `src` and `dst`, and facts of the login.
local M, host = ...

local keys = {
	default_db = true,
	username = true,
	scrambled_password = true,
	auth_plugin_name = true,
	mysqld_version = true,
	thread_id = true,
	scramble_buffer = true,
}

-- What scripts of 0.6 call `.address`.
local function old_address(facts, is_client)
	host.warn_once(
		"proxy.connection." .. (is_client and "client" or "server")
			.. ".address is an old name; use .src.name or .dst.name"
	)
	return is_client and facts.src.name or facts.dst.name
end

local function read(facts, is_client, key)
	if keys[key] then
		local value = facts[key]
		if value == nil and not is_client and (key == "username" or key == "scrambled_password") then
			host.log("critical", "proxy.connection.server." .. key .. " is not known before read_auth_result")
		end
		return value
	end
	if key == "src" or key == "dst" then
		facts[key .. "_object"] = facts[key .. "_object"] or M.address(facts[key])
		return facts[key .. "_object"]
	end
	if key == "address" then
		return old_address(facts, is_client)
	end
	host.log("critical", "proxy.connection.(client|server)." .. tostring(key) .. " is not known")
end

function M.socket(facts, is_client)
	local object = host.newproxy(true)
	local meta = getmetatable(object)
	meta.__index = function(_, key)
		return read(facts, is_client, key)
	end
	meta.__newindex = function(_, key)
		error("proxy.connection.(client|server)." .. tostring(key) .. " is not writable", 2)
	end
	return object
end
