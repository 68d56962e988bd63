-- A pool of connections for clients that come and go: who leaves brings the connection back, and who
-- comes next takes it over with COM_CHANGE_USER instead of a connection of its own.
--
--   proxy.global.config.keepalive.min_idle_connections   connections that are opened before any is shared
--   proxy.global.config.keepalive.max_idle_connections   connections that are kept idle
--
-- Sessions that take turns on connections (those of accounts) have such a pool from the proxy.

require("proxy.auto-config")

if not proxy.global.config.keepalive then
	proxy.global.config.keepalive = { min_idle_connections = 1, max_idle_connections = 8 }
end
local config = proxy.global.config.keepalive

-- The session has a transaction open, or its connection is not as a client would want it.
local is_in_transaction = false

function connect_server()
	local chosen, fewest = 0, nil
	for index = 1, #proxy.global.backends do
		local backend = proxy.global.backends[index]
		local pool = backend.pool
		pool.min_idle_connections, pool.max_idle_connections =
			config.min_idle_connections, config.max_idle_connections
		local is_fit = backend.type == proxy.BACKEND_TYPE_RW and backend.state ~= proxy.BACKEND_STATE_DOWN
		if is_fit and (not fewest or backend.connected_clients < fewest) then
			chosen, fewest = index, backend.connected_clients
		end
	end
	proxy.connection.backend_ndx = chosen
	if proxy.connection.server then
		return proxy.PROXY_IGNORE_RESULT
	end
end

function read_query(packet)
	if packet:byte() == proxy.COM_QUIT and not is_in_transaction then
		proxy.response = { type = proxy.MYSQLD_PACKET_OK }
		return proxy.PROXY_SEND_RESULT
	end
	proxy.queries:append(1, packet)
	return proxy.PROXY_SEND_QUERY
end

function read_query_result(inj)
	-- An ERR has no flags, nor have the replies to other commands.
	local command, result = inj.query:byte(), inj.resultset
	local is_statement = command == proxy.COM_QUERY or command == proxy.COM_STMT_EXECUTE
	if is_statement and result.query_status == proxy.MYSQLD_PACKET_OK then
		is_in_transaction = result.flags.in_trans
	end
end

function disconnect_client()
	-- What is open on a connection ends with it.
	if not is_in_transaction then
		proxy.connection.backend_ndx = 0
	end
end
