-- What releases before 0.7 gave to scripts, and is not elsewhere.
local M, host = ...

-- An array of tables where today's `mysql.tokenizer` has objects.
function proxy.tokenize(text)
	host.warn_once("proxy.tokenize is an old name; use mysql.tokenizer")
	local tokens, list = require("mysql.tokenizer").tokenize(text), {}
	for at = 1, #tokens do
		local token = tokens[at]
		list[at] = { text = token.text, token_id = token.token_id, token_name = token.token_name }
	end
	return list
end

-- What hooks without an argument had of release 0.6.
M.arguments = {
	read_handshake = function(session)
		local server, client = session.server or {}, session.client
		return {
			scramble = server.scramble_buffer,
			mysqld_version = server.mysqld_version,
			thread_id = server.thread_id,
			server_addr = server.dst and server.dst.name,
			client_addr = client.src.name,
		}
	end,
	read_auth = function(session)
		local client = session.client
		return {
			username = client.username,
			password = client.scrambled_password,
			default_db = client.default_db,
		}
	end,
}
