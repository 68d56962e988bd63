-- Crosstabs: a value of one column for each value of another, side by side.
--
--   XTAB table row column operation value [summary]
--   XTAB sales country year SUM amount summary
--
-- gives a row for each country and a column for each year; with "summary" a column and a row of totals.
-- XTAB QUERY shows the statement that is made from then on instead of running it, XTAB NOQUERY ends that;
-- XTAB HELP and XTAB VERSION tell about this.

local COLUMNS, TABLE = 1, 2
local COLUMNS_MAX = 1000
local OPERATIONS = { SUM = true, COUNT = true, AVG = true, MIN = true, MAX = true }

local asked
local shows_query = false

local function answer(name, text)
	proxy.response = {
		type = proxy.MYSQLD_PACKET_OK,
		resultset = { fields = { { name = name, type = proxy.MYSQL_TYPE_STRING } }, rows = { { text } } },
	}
	return proxy.PROXY_SEND_RESULT
end

local function refuse(text)
	proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = text }
	return proxy.PROXY_SEND_RESULT
end

local function quoted(name)
	return "`" .. name:gsub("`", "``"):gsub("%.", "`.`") .. "`"
end

local words = {
	HELP = function() return answer("help", "XTAB table row column operation value [summary]") end,
	VERSION = function() return answer("version", "1.0") end,
	QUERY = function() shows_query = true return answer("xtab", "statements are shown") end,
	NOQUERY = function() shows_query = false return answer("xtab", "statements are run") end,
}

local function query(id, text)
	proxy.queries:append(id, string.char(proxy.COM_QUERY) .. text, { resultset_is_needed = true })
end

local function ask(of, row, column, operation, value, summary)
	operation = operation and operation:upper()
	if not value or (summary and summary:lower() ~= "summary") then
		return refuse("XTAB: table, row, column, operation and value are wanted; see XTAB HELP")
	elseif not OPERATIONS[operation] then
		return refuse("XTAB: the operation is one of SUM, COUNT, AVG, MIN and MAX, not " .. operation)
	end
	asked = { of = of, row = row, column = column, operation = operation, value = value, summary = summary }
	query(COLUMNS, ("SELECT DISTINCT QUOTE(%s), %s FROM %s ORDER BY 2 LIMIT %d"):format(
		quoted(column), quoted(column), quoted(of), COLUMNS_MAX))
	return proxy.PROXY_SEND_QUERY
end

function read_query(packet)
	if packet:byte() ~= proxy.COM_QUERY then
		return
	end
	local rest = packet:sub(2):match("^%s*[xX][tT][aA][bB]%f[%W](.-)%s*;?%s*$")
	if not rest then
		return
	end
	local given = {}
	for word in rest:gmatch("%S+") do
		given[#given + 1] = word
	end
	local word = #given == 1 and words[given[1]:upper()]
	if word then
		return word()
	end
	return ask(unpack(given, 1, 7))
end

local function statement(set)
	local value = quoted(asked.value)
	local parts = { quoted(asked.row) }
	for row in set.rows do
		local name = row[2] or "NULL"
		local is = row[2] and "= " .. row[1] or "IS NULL"
		parts[#parts + 1] = ("%s(CASE WHEN %s %s THEN %s END) AS %s"):format(
			asked.operation, quoted(asked.column), is, value, "`" .. name:gsub("`", "``") .. "`")
	end
	if asked.summary then
		parts[#parts + 1] = ("%s(%s) AS total"):format(asked.operation, value)
	end
	return ("SELECT %s FROM %s GROUP BY %s%s"):format(
		table.concat(parts, ", "), quoted(asked.of), quoted(asked.row), asked.summary and " WITH ROLLUP" or "")
end

function read_query_result(inj)
	local set = inj.resultset
	if inj.id ~= COLUMNS or not set.rows then
		return
	end
	local text = statement(set)
	if shows_query then
		return answer("query", text)
	end
	query(TABLE, text)
	return proxy.PROXY_IGNORE_RESULT
end
