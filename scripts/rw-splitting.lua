-- Read/write splitting: reads outside of transactions go to replicas, everything else to a primary.
--
-- Sessions that log in to a backend themselves share connections through the pools of
-- `proxy.global.backends`; what a session has set there stays its own, since it keeps its connection
-- from then on. Sessions that take turns on connections (those of accounts) have that from the proxy.
--
--   proxy.global.config.rwsplit.min_idle_connections   connections that are opened before any is shared
--   proxy.global.config.rwsplit.max_idle_connections   connections that are kept idle
--   proxy.global.config.rwsplit.is_debug               what goes where, on standard output

local balance = require("proxy.balance")
require("proxy.auto-config")

if not proxy.global.config.rwsplit then
	proxy.global.config.rwsplit = { min_idle_connections = 4, max_idle_connections = 8, is_debug = false }
end
local config = proxy.global.config.rwsplit

local COMMAND, SCHEMA = 1, 2

-- The session has a transaction open; it has set what only its connection knows; its last statement has
-- left what the next may ask for.
local is_in_transaction, stays, may_ask = false, false, false
local counts_rows = false

local function debug(...)
	if config.is_debug then
		print("[rw-splitting] " .. table.concat({ ... }, " "))
	end
end

function connect_server()
	local primary = 0
	for index = 1, #proxy.global.backends do
		local backend = proxy.global.backends[index]
		local pool = backend.pool
		pool.min_idle_connections, pool.max_idle_connections =
			config.min_idle_connections, config.max_idle_connections
		if backend.state ~= proxy.BACKEND_STATE_DOWN then
			if pool.users[""].cur_idle_connections < config.min_idle_connections then
				proxy.connection.backend_ndx = index
				return
			end
			if primary == 0 and backend.type == proxy.BACKEND_TYPE_RW then
				primary = index
			end
		end
	end
	proxy.connection.backend_ndx = primary
	if proxy.connection.server then
		return proxy.PROXY_IGNORE_RESULT
	end
end

function read_auth_result(auth)
	if auth.packet:byte() == proxy.MYSQLD_PACKET_OK then
		proxy.connection.backend_ndx = 0
	end
end

local past = { "last_insert_id", "found_rows", "row_count", "diagnostics", "statistics" }
-- What ends with the statement, or with its transaction.
local passing = {
	transaction_begun = true,
	transaction_ended = true,
	chained = true,
	savepoint = true,
	last_insert_id = true,
	found_rows = true,
	diagnostics = true,
	schema = true,
}

local function asks_past(facts)
	for _, use in ipairs(past) do
		if facts.uses[use] then
			return true
		end
	end
	return false
end

-- Whether a statement leaves something on its connection that no other one has.
local function leaves_state(facts)
	for effect in pairs(facts.effects) do
		if not passing[effect] then
			return true
		end
	end
	return facts.uses.user_variables or facts.kind == "USE"
end

local function goes_to_replica(facts)
	return facts.access == "read" and not facts.marks.locking and not leaves_state(facts)
end

-- Where a statement is to go, if the session may leave its connection.
local function choose(facts)
	if facts and goes_to_replica(facts) then
		local replica = balance.idle_ro()
		if replica > 0 then
			return replica
		end
	end
	return balance.idle_failsafe_rw()
end

local function refuse(why)
	proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errcode = 1040, sqlstate = "08004", errmsg = why }
	return proxy.PROXY_SEND_RESULT
end

local keeps_state = { [proxy.COM_STMT_PREPARE] = true, [proxy.COM_SET_OPTION] = true, [proxy.COM_CHANGE_USER] = true }

function read_query(packet)
	local command = packet:byte()
	local takes_turns = pilotfish.session.takes_turns
	if command == proxy.COM_QUIT and not takes_turns and not stays and not is_in_transaction then
		-- The connection goes to the pool, not away.
		proxy.response = { type = proxy.MYSQLD_PACKET_OK }
		return proxy.PROXY_SEND_RESULT
	end
	local facts = command == proxy.COM_QUERY and pilotfish.statement(packet)
	local asks = facts and asks_past(facts)
	if not (stays or is_in_transaction or (may_ask and asks)) then
		-- The connection that it had may be the one that is free for it now.
		proxy.connection.backend_ndx = 0
		proxy.connection.backend_ndx = takes_turns and asks and 0 or choose(facts)
		if not takes_turns and not proxy.connection.server then
			return refuse("no connection to a fit backend is idle, and none may be opened by rw-splitting.lua")
		end
	end
	if not takes_turns and (keeps_state[command] or (facts and leaves_state(facts))) then
		stays = true
	end
	counts_rows = facts and facts.effects.found_rows
	debug(proxy.connection.backend_ndx, (packet:sub(2):gsub("%s+", " ")))
	proxy.queries:append(COMMAND, packet)
	local client, server = proxy.connection.client, proxy.connection.server
	local is_elsewhere = server and client.default_db ~= "" and client.default_db ~= server.default_db
	if is_elsewhere and command ~= proxy.COM_INIT_DB then
		proxy.queries:prepend(SCHEMA, string.char(proxy.COM_INIT_DB) .. client.default_db, { resultset_is_needed = true })
	end
	return proxy.PROXY_SEND_QUERY
end

function read_query_result(inj)
	local result = inj.resultset
	if inj.id == SCHEMA then
		-- Of commands other than statements `query_status` is always OK.
		if result.raw:byte() == proxy.MYSQLD_PACKET_OK then
			return proxy.PROXY_IGNORE_RESULT
		end
		-- What was to follow would be executed elsewhere; the client hears why not.
		proxy.queries:reset()
		return
	end
	-- An ERR has no flags, nor have the replies to other commands.
	local command = inj.query:byte()
	local is_statement = command == proxy.COM_QUERY or command == proxy.COM_STMT_EXECUTE
	if is_statement and result.query_status == proxy.MYSQLD_PACKET_OK then
		is_in_transaction = result.flags.in_trans
	end
	-- An ERR, warnings, an id, a count: the next statement may be about them.
	may_ask = result.query_status ~= proxy.MYSQLD_PACKET_OK
		or (result.warning_count or 0) > 0
		or (result.insert_id or 0) > 0
		or counts_rows
	if not (stays or is_in_transaction or may_ask) then
		proxy.connection.backend_ndx = 0
	end
end

function disconnect_client()
	if not (stays or is_in_transaction) then
		proxy.connection.backend_ndx = 0
	end
end
