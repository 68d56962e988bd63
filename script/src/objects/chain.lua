-- Several scripts in one session: to whoever calls hooks they are one, whose hooks ask them in their order.
-- The first that decides something has decided; replies go to the script that has sent the command.
local M, host = ...

-- Whether a hook has decided something.
local function decides(value)
	local number = (type(value) == "number" or type(value) == "string") and tonumber(value)
	return number and number ~= 0
end

local function hook_in(environment, name)
	local hook = M.find(environment, name)
	return type(hook) == "function" and hook or nil
end

-- One script's error is as if its hook were not there, and none of the others' matter.
local function ask(session, environment, name, ...)
	local file = session.files[environment]
	local hook = hook_in(environment, name)
	if not hook then
		return
	end
	local route, rows = session.route, session.rows and #session.rows or 0
	local ran, value = M.protected(hook, ...)
	if ran and (decides(value) or name == "read_query_result") then
		return value
	end
	if not ran and string.find(tostring(value), "not enough memory", 1, true) then
		-- It has not said what it wanted, as with any other limit.
		error(value, 0)
	elseif not ran then
		local cause = string.format("(%s) %s", name, string.sub(tostring(value), 1, 4096))
		host.log("critical", cause)
		host.fault(file, cause)
		session.route = route
		for at = session.rows and #session.rows or 0, rows + 1, -1 do
			table.remove(session.rows, at)
		end
	end
	local queued = #session.queue
	if name == "read_query" and queued > 0 then
		session.queue = {}
		if ran then
			local text = "(read_query) [%s] %d queries queued without PROXY_SEND_QUERY: the proxy drops them"
			host.log("critical", string.format(text, file, queued))
		end
	end
end

local function asker(session, name)
	return function(...)
		for _, environment in ipairs(session.chain) do
			local value = ask(session, environment, name, ...)
			if value ~= nil and name ~= "disconnect_client" then
				session.sender = environment
				return value
			end
		end
	end
end

local function any_has(session, name)
	for _, environment in ipairs(session.chain) do
		if hook_in(environment, name) then
			return true
		end
	end
end

-- Another script of the session's.
function M.link(session, environment, file)
	if not session.chain then
		local askers = {}
		for name in pairs(host.hooks) do
			askers[name] = asker(session, name)
		end
		function askers.read_query_result(inj)
			if session.sender then
				return ask(session, session.sender, "read_query_result", inj)
			end
		end
		session.chain, session.files = {}, {}
		session.environment = setmetatable({}, {
			__index = function(_, name)
				return any_has(session, name) and askers[name] or nil
			end,
		})
	end
	session.chain[#session.chain + 1] = environment
	session.files[environment] = file
end
