-- `pilotfish.rows`: what the rows of a command's results become on their way to the client.
local M, host = ...

-- For the command that the hook is for, and what is sent instead of it and not kept for the script.
function M.rows(run)
	local session = M.current()
	if not (session and M.may_rewrite()) then
		error("pilotfish.rows: rows are rewritten for the command of a read_query", 2)
	elseif type(run) ~= "function" then
		error("pilotfish.rows: what rewrites rows is a function, not a " .. type(run), 2)
	end
	session.rows = session.rows or {}
	table.insert(session.rows, run)
	session.is_dirty = true
end

-- A row as the functions want it, one after the other; nothing where one of them drops it.
function M.rewrite_row(session, functions, row, fields)
	M.enter_session(session)
	for _, run in ipairs(functions) do
		local value = run(row, fields)
		if value == false then
			return nil
		elseif type(value) == "table" then
			row = value
		elseif value ~= nil then
			error("a function of pilotfish.rows gives a row, false or nothing, not a " .. type(value), 0)
		end
	end
	return row
end

-- What a COM_STMT_EXECUTE executes.
function M.execution(packet)
	if type(packet) ~= "string" then
		error(string.format("bad argument #1 to 'execution' (string expected, got %s)", type(packet)), 2)
	end
	local session = M.current()
	return session and session.prepared and host.execution(session.prepared, packet) or nil
end
