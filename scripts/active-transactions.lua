-- Remembers the statements of each open transaction. When one ends in a deadlock or waits for a lock for
-- too long, all that are open are printed, each with its statements.
--
-- Results are kept until they are whole, to see their errors: one that is longer than
-- script.result_bytes_max is an error for its client.

local commands = require("proxy.commands")

local LOCK_WAIT_TIMEOUT, DEADLOCK = 1205, 1213
local STATEMENTS_MAX = 100

proxy.global.transactions = proxy.global.transactions or {}
local transactions = proxy.global.transactions

local function show(number)
	local lines = { ("error %d; transactions that are open:"):format(number) }
	for id, statements in pairs(transactions) do
		lines[#lines + 1] = ("[%d]\n\t%s"):format(id, table.concat(statements, "\n\t"))
	end
	print(table.concat(lines, "\n"))
end

local has_result = { [proxy.COM_QUERY] = true, [proxy.COM_STMT_EXECUTE] = true }

function read_query(packet)
	proxy.queries:append(1, packet, { resultset_is_needed = has_result[packet:byte()] or false })
	return proxy.PROXY_SEND_QUERY
end

local function error_number(inj)
	local set = inj.resultset
	if has_result[inj.query:byte()] and set.query_status == proxy.MYSQLD_PACKET_ERR then
		return set.raw:byte(2) + set.raw:byte(3) * 256
	end
end

-- An ERR has no flags, nor have the replies to other commands: what was open is. A deadlock has rolled
-- everything back.
local function is_open(inj, number, was_open)
	if number == DEADLOCK then
		return false
	elseif number or not has_result[inj.query:byte()] then
		return was_open
	end
	return inj.resultset.flags.in_trans
end

function read_query_result(inj)
	local server = proxy.connection.server
	if not server then
		return
	end
	local id = server.thread_id
	local was_open = transactions[id] ~= nil
	local statements = transactions[id] or {}
	if #statements < STATEMENTS_MAX then
		local command = commands.parse(inj.query)
		statements[#statements + 1] = command.query or command.type_name
	end
	local number = error_number(inj)
	if number == DEADLOCK or number == LOCK_WAIT_TIMEOUT then
		transactions[id] = statements
		show(number)
	end
	transactions[id] = is_open(inj, number, was_open) and statements or nil
end

function disconnect_client()
	local server = proxy.connection.server
	if server then
		transactions[server.thread_id] = nil
	end
end
