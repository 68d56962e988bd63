-- UNION of one statement over several backends' worth of schemas: a SELECT that begins with
-- /* union: shop1, shop2 */ is run in each of the schemas, and the rows are one result.

local FIRST = 1

local function schemas_of(text)
	local list = text:match("^%s*/%*%s*union:%s*(.-)%s*%*/")
	local schemas = {}
	for name in (list or ""):gmatch("[%w_$]+") do
		schemas[#schemas + 1] = name
	end
	return schemas
end

local collected, left, back

function read_query(packet)
	if packet:byte() ~= proxy.COM_QUERY then
		return
	end
	local schemas = schemas_of(packet:sub(2))
	if #schemas == 0 then
		return
	end
	collected, left, back = nil, #schemas, proxy.connection.client.default_db
	for _, schema in ipairs(schemas) do
		proxy.queries:append(0, string.char(proxy.COM_INIT_DB) .. schema, { resultset_is_needed = true })
		proxy.queries:append(FIRST, packet, { resultset_is_needed = true })
	end
	return proxy.PROXY_SEND_QUERY
end

-- Behind the last of them, or an error: what is left is forgotten, the schema is the client's again.
local function finish()
	proxy.queries:reset()
	if back ~= "" then
		proxy.queries:append(0, string.char(proxy.COM_INIT_DB) .. back, { resultset_is_needed = true })
	end
end

local function add(set)
	if not collected then
		collected = { fields = {}, rows = {} }
		for at = 1, #set.fields do
			collected.fields[at] = { name = set.fields[at].name, type = set.fields[at].type }
		end
	end
	for row in set.rows do
		collected.rows[#collected.rows + 1] = row
	end
end

function read_query_result(inj)
	local set = inj.resultset
	if set.raw:byte() == proxy.MYSQLD_PACKET_ERR then
		finish()
		return
	end
	if inj.id ~= FIRST then
		return proxy.PROXY_IGNORE_RESULT
	end
	if not set.rows then
		proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "only statements with a result can be united" }
		finish()
		return proxy.PROXY_SEND_RESULT
	end
	add(set)
	left = left - 1
	if left > 0 then
		return proxy.PROXY_IGNORE_RESULT
	end
	finish()
	proxy.response = { type = proxy.MYSQLD_PACKET_OK, resultset = collected }
	return proxy.PROXY_SEND_RESULT
end
