-- `pilotfish`: what MySQL Proxy's API has no words for.
local M, host = ...

local TEXTS = { [0x03] = true, [0x16] = true }

-- What the proxy knows of a statement: its text, or a command that carries one (COM_QUERY,
-- COM_STMT_PREPARE); nil for other commands.
local function statement(packet)
	if type(packet) ~= "string" then
		error(string.format("bad argument #1 to 'statement' (string expected, got %s)", type(packet)), 2)
	end
	local byte = string.byte(packet)
	if byte and byte < 0x20 and not string.match(packet, "^%s") then
		return TEXTS[byte] and host.statement(string.sub(packet, 2)) or nil
	end
	return host.statement(packet)
end

local levels = { error = true, warning = true, message = true, info = true, debug = true }

-- A line with fields beside it, whose values are strings, numbers and booleans.
local function log(level, text, fields)
	if not levels[level] then
		error(string.format("bad argument #1 to 'log' (error, warning, message, info or debug, is %s)", tostring(level)), 2)
	end
	if fields == nil then
		host.log(level, tostring(text))
	elseif type(fields) == "table" then
		host.log_with(level, tostring(text), fields)
	else
		error("bad argument #3 to 'log' (table expected, got " .. type(fields) .. ")", 2)
	end
end

-- Of the session whose hook runs.
local session_meta = {
	__index = function(_, key)
		local session = M.current()
		if not session then
			return nil
		elseif key == "id" then
			return session.id
		elseif key == "takes_turns" then
			return session.takes_turns
		elseif key == "data" then
			session.data = session.data or {}
			return session.data
		end
	end,
	__newindex = function(_, key)
		error("pilotfish.session." .. tostring(key) .. " is not writable; pilotfish.session.data takes anything", 2)
	end,
	__metatable = false,
}

_G.pilotfish = {
	statement = statement,
	log = log,
	route = M.route,
	query = M.query,
	sleep = M.sleep,
	rows = M.rows,
	execution = M.execution,
	pcall = M.protected,
	every = M.every,
	after = M.after,
	cancel = M.cancel,
	shared = host.shared,
	count = host.count,
	gauge = host.gauge,
	observe = host.observe,
	session = setmetatable({}, session_meta),
}
