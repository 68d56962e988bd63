-- What hooks wait for: `pilotfish.sleep`, `pilotfish.query`.
local M, host = ...

function M.sleep(seconds)
	local number = tonumber(seconds)
	if not number or number < 0 or number ~= number or number > 86400 then
		error("pilotfish.sleep: seconds have to be a number from 0 to 86400, is " .. tostring(seconds), 2)
	end
	M.wait("sleep", "sleep", number)
end

local function rows_of(answer)
	local rows, row = {}, nil
	local position = host.answer_first(answer)
	while position do
		position, row = host.answer_row(answer, position)
		rows[#rows + 1] = row
	end
	return rows
end

-- What a statement has come to: its kept reply and what was noted of it, or nil and why there is none.
local function result_of(answer, ...)
	if not answer then
		return nil, ...
	end
	local text, number, sqlstate = host.answer_error(answer)
	if text then
		return nil, text, number, sqlstate
	end
	local affected, insert_id, warnings, flags = ...
	return {
		fields = host.answer_fields(answer),
		rows = rows_of(answer),
		affected_rows = affected,
		insert_id = insert_id,
		warning_count = warnings,
		server_status = flags,
	}
end

local is_value = { ["nil"] = true, boolean = true, number = true, string = true }

-- What is bound to placeholders, with its length; nil where there is nothing.
local function list_of(...)
	local list = { n = select("#", ...), ... }
	for at = 1, list.n do
		local value = list[at]
		if not is_value[type(value)] then
			error(string.format("pilotfish.query: parameter %d cannot be a %s", at, type(value)), 3)
		elseif value ~= value or value == math.huge or value == -math.huge then
			error(string.format("pilotfish.query: parameter %d is no finite number", at), 3)
		end
	end
	return list.n > 0 and list or nil
end

-- Runs a statement: with no place in the session itself, on the connection that its commands have; else
-- beside it, in a session of the same account with the same schema and variables. With parameters it is
-- prepared. The result, or nil, the error's text, its number and its SQLSTATE.
function M.query(place, text, ...)
	if type(text) ~= "string" then
		error(string.format("pilotfish.query: the statement is a string, not a %s", type(text)), 2)
	end
	local hint, problem = M.hint_of(place)
	if problem then
		error("pilotfish.query: " .. problem, 2)
	elseif place ~= nil and not M.current().takes_turns then
		error("pilotfish.query: this session has one connection; elsewhere is for those of accounts that the proxy knows", 2)
	end
	local parameters = list_of(...)
	return result_of(M.wait("query", "query", text, place ~= nil and (hint or "role=split") or nil, parameters))
end
