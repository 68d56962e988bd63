-- Who logs in from where, and what they send: one line each on standard output.

local commands = require("proxy.commands")

local function say(what)
	local client = proxy.connection.client
	print(("%s %s %s@%s: %s"):format(os.date("!%Y-%m-%dT%H:%M:%SZ"), proxy.connection.server.dst.name,
		client.username, client.src.name, what))
end

function read_auth_result(auth)
	local first = auth.packet:byte()
	if first == proxy.MYSQLD_PACKET_OK then
		say("logged in")
	elseif first == proxy.MYSQLD_PACKET_ERR then
		say("was refused")
	end
end

function read_query(packet)
	if proxy.connection.server then
		say(commands.pretty_print(commands.parse(packet)))
	end
end

function disconnect_client()
	if proxy.connection.server and proxy.connection.client.username then
		say("left")
	end
end
