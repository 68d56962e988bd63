-- The statements that run at this moment, printed whenever one begins or ends:
--
--   2 running: [7 app shop] SELECT ...; [9 app shop] UPDATE ...
--
-- PROXY SET GLOBAL active_queries.show_idle_connections = TRUE tells of sleeping ones as well.

local commands = require("proxy.commands")
local auto_config = require("proxy.auto-config")

local config = proxy.global.config
config.active_queries = config.active_queries or { show_idle_connections = false }
proxy.global.active_queries = proxy.global.active_queries or {}
local active = proxy.global.active_queries

local function show()
	local lines = {}
	for id, entry in pairs(active) do
		if entry.what or config.active_queries.show_idle_connections then
			local what = entry.what or (entry.in_trans and "in transaction" or "sleeping")
			lines[#lines + 1] = ("[%d %s %s] %s"):format(id, entry.user, entry.schema, what)
		end
	end
	table.sort(lines)
	print(("%d running: %s"):format(#lines, table.concat(lines, "; ")))
end

local function note(what, in_trans)
	local server, client = proxy.connection.server, proxy.connection.client
	if server then
		active[server.thread_id] = { what = what, in_trans = in_trans, user = client.username, schema = client.default_db }
		show()
	end
end

function read_query(packet)
	local command = commands.parse(packet)
	local decision = auto_config.handle(command)
	if decision then
		return decision
	end
	note(command.query or command.type_name)
	proxy.queries:append(1, packet)
	return proxy.PROXY_SEND_QUERY
end

-- An ERR has no flags, nor have the replies to other commands: what was open is.
local in_trans = false
local has_flags = { [proxy.COM_QUERY] = true, [proxy.COM_STMT_EXECUTE] = true }

function read_query_result(inj)
	local result = inj.resultset
	if has_flags[inj.query:byte()] and result.query_status == proxy.MYSQLD_PACKET_OK then
		in_trans = result.flags.in_trans
	end
	note(nil, in_trans)
end

function disconnect_client()
	local server = proxy.connection.server
	if server then
		active[server.thread_id] = nil
		show()
	end
end
