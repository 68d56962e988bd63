-- For the admin port (admin.script, --admin-lua-script): what MySQL Proxy's answered there.
--
--   SELECT * FROM backends    the backends, in six columns
--   SELECT * FROM help        this list
--
-- Everything else is answered by the port itself.

local states = {
	[proxy.BACKEND_STATE_UNKNOWN] = "unknown",
	[proxy.BACKEND_STATE_UP] = "up",
	[proxy.BACKEND_STATE_DOWN] = "down",
}
local types = {
	[proxy.BACKEND_TYPE_UNKNOWN] = "unknown",
	[proxy.BACKEND_TYPE_RW] = "rw",
	[proxy.BACKEND_TYPE_RO] = "ro",
}

local function long(name) return { name = name, type = proxy.MYSQL_TYPE_LONG } end
local function text(name) return { name = name, type = proxy.MYSQL_TYPE_STRING } end

local function answer(fields, rows)
	proxy.response = { type = proxy.MYSQLD_PACKET_OK, resultset = { fields = fields, rows = rows } }
	return proxy.PROXY_SEND_RESULT
end

local tables = {}

function tables.backends()
	local fields = {
		long("backend_ndx"), text("address"), text("state"), text("type"), text("uuid"), long("connected_clients"),
	}
	local rows = {}
	for index = 1, #proxy.global.backends do
		local backend = proxy.global.backends[index]
		rows[index] = {
			index, backend.dst.name, states[backend.state], types[backend.type], backend.uuid, backend.connected_clients,
		}
	end
	return answer(fields, rows)
end

function tables.help()
	return answer({ text("command"), text("description") }, {
		{ "SELECT * FROM help", "shows this help" },
		{ "SELECT * FROM backends", "lists the backends and their state" },
	})
end

function read_query(packet)
	-- What is longer is none of these, and nobody waits until a pattern has found that out.
	if packet:byte() ~= proxy.COM_QUERY or #packet > 200 then
		return
	end
	local name = packet:sub(2):lower():match("^%s*select%s+%*%s+from%s+([%w_]+)[%s;]*$")
	local asked = name and tables[name]
	return asked and asked()
end
