-- Has every hook, and none does anything: each command is sent by the script, and each result is kept, shown and
-- sent on, where that is possible.
function connect_server() end
function read_handshake() end
function read_auth() end
function read_auth_result() end

function read_query(packet)
	proxy.queries:append(1, packet, { resultset_is_needed = true })
	return proxy.PROXY_SEND_QUERY
end

function read_query_result() end
function disconnect_client() end
