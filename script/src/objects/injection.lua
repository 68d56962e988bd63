-- The argument of read_query_result: what was sent, and what came back.
--
-- One object for all injections of a session: it shows the one of the moment, `session.sent` and
-- `session.reply`. A reply that was kept is read by the proxy's own functions (`host.answer_…`), as long as
-- the hook runs.
local M, host = ...

local IN_TRANS, AUTOCOMMIT, NO_GOOD_INDEX, NO_INDEX = 0x1, 0x2, 0x10, 0x20

local function has(status, bit)
	return math.floor(status / bit) % 2 == 1
end

local function flags_of(status)
	return {
		in_trans = has(status, IN_TRANS),
		auto_commit = has(status, AUTOCOMMIT),
		no_good_index_used = has(status, NO_GOOD_INDEX),
		no_index_used = has(status, NO_INDEX),
	}
end

local field_keys = { name = true, org_name = true, table = true, org_table = true, type = true }

local function field_object(field)
	local object = host.newproxy(true)
	getmetatable(object).__index = function(_, key)
		if field_keys[key] then
			return field[key]
		end
	end
	return object
end

local function fields_object(fields)
	local object = host.newproxy(true)
	local meta = getmetatable(object)
	meta.__len = function()
		return #fields
	end
	meta.__index = function(_, key)
		local field = fields[tonumber(key)]
		return field and field_object(field)
	end
	return object
end

-- The kept reply; an error where the script has not asked for it, or asks too late.
local function kept(reply, key)
	if reply.is_over then
		error(".resultset." .. key .. " is gone: a result lives as long as its read_query_result", 4)
	end
	if not reply.answer then
		error(".resultset." .. key .. " isn't available if 'resultset_is_needed ~= true'", 4)
	end
	return reply.answer
end

local function rows_of(reply)
	local answer = kept(reply, "rows")
	local position = host.answer_first(answer)
	if not position then
		return nil
	elseif reply.is_binary then
		error(".resultset.rows isn't available for prepared statements", 4)
	end
	return function()
		if not position then
			return
		end
		if reply.answer ~= answer then
			error(".resultset.rows is gone: a result lives as long as its read_query_result", 2)
		end
		local row
		position, row = host.answer_row(answer, position)
		return row
	end
end

local plain = {
	query_status = true,
	affected_rows = true,
	insert_id = true,
	warning_count = true,
	row_count = true,
	bytes = true,
}

local function read_resultset(reply, key)
	if plain[key] then
		return reply[key]
	elseif key == "flags" then
		return flags_of(reply.server_status)
	elseif key == "rows" then
		return rows_of(reply)
	elseif key == "raw" then
		return host.answer_raw(kept(reply, "raw"))
	elseif key == "fields" then
		return fields_object(host.answer_fields(kept(reply, "fields")))
	end
end

local function resultset_object(reply)
	local object = host.newproxy(true)
	getmetatable(object).__index = function(_, key)
		return read_resultset(reply, key)
	end
	return object
end

local function read(session, resultset, key)
	local reply = session.reply
	local entry = reply.entry
	if key == "resultset" then
		return resultset
	elseif key == "id" or key == "type" then
		return entry.id
	elseif key == "query" then
		return entry.packet
	elseif key == "query_time" then
		return reply.first_at - entry.at
	elseif key == "response_time" then
		return reply.last_at - entry.at
	end
	host.log("message", "inj[" .. tostring(key) .. "] is not known")
end

-- Of a session that injects for the first time.
local function injection(session)
	session.reply = { is_over = true }
	local resultset = resultset_object(session.reply)
	local object = host.newproxy(true)
	getmetatable(object).__index = function(_, key)
		return read(session, resultset, key)
	end
	return object
end

-- The reply to what was sent last, for the script.
function M.injection(session, status, affected, insert_id, warnings, rows, bytes, flags, is_binary, first, last, answer)
	local object = session.injection or injection(session)
	session.injection = object
	local reply = session.reply
	reply.entry = session.sent
	reply.query_status, reply.affected_rows, reply.insert_id = status, affected, insert_id
	reply.warning_count, reply.row_count, reply.bytes = warnings, rows, bytes
	reply.server_status, reply.is_binary = flags, is_binary
	reply.first_at, reply.last_at = first, last
	reply.answer, reply.is_over = answer, false
	return object
end

-- The hook that it was for has ended.
function M.forget_reply(session)
	local reply = session.reply
	if reply then
		reply.is_over, reply.answer = true, nil
	end
end
