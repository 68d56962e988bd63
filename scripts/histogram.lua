-- Counts and times statements by their normal form, and reads and writes by table:
--
--   SELECT * FROM histogram.queries;    DELETE FROM histogram.queries;
--   SELECT * FROM histogram.tables;     DELETE FROM histogram.tables;
--
-- Options, by PROXY SHOW CONFIG and PROXY SET GLOBAL: histogram.collect_queries, histogram.collect_tables,
-- histogram.entries_max (normal forms beyond it are counted as "...").

local commands = require("proxy.commands")
local parser = require("proxy.parser")
local tokenizer = require("proxy.tokenizer")
local auto_config = require("proxy.auto-config")

local config = proxy.global.config
config.histogram = config.histogram or { collect_queries = true, collect_tables = true, entries_max = 10000 }

local kept = proxy.global.histogram or { queries = {}, tables = {}, count = 0 }
proxy.global.histogram = kept

local function sorted(entries, row_of)
	local rows = {}
	for name, entry in pairs(entries) do
		rows[#rows + 1] = row_of(name, entry)
	end
	table.sort(rows, function(one, other) return one[1] < other[1] end)
	return rows
end

local function answer(fields, rows)
	proxy.response = { type = proxy.MYSQLD_PACKET_OK, resultset = { fields = fields, rows = rows } }
	return proxy.PROXY_SEND_RESULT
end

local function long(name) return { name = name, type = proxy.MYSQL_TYPE_LONG } end
local function text(name) return { name = name, type = proxy.MYSQL_TYPE_STRING } end

local function cleared(what)
	kept[what] = {}
	if what == "queries" then
		kept.count = 0
	end
	proxy.response = { type = proxy.MYSQLD_PACKET_OK }
	return proxy.PROXY_SEND_RESULT
end

local own = {
	["SELECT * FROM `histogram` . `queries` "] = function()
		local fields = { text("query"), long("COUNT(*)"), long("MAX(query_time)"), long("AVG(query_time)") }
		return answer(fields, sorted(kept.queries, function(query, entry)
			return { query, entry.count, entry.max, math.floor(entry.sum / entry.count + 0.5) }
		end))
	end,
	["SELECT * FROM `histogram` . `tables` "] = function()
		return answer({ text("table"), long("reads"), long("writes") }, sorted(kept.tables, function(name, entry)
			return { name, entry.reads, entry.writes }
		end))
	end,
	["DELETE FROM `histogram` . `queries` "] = function() return cleared("queries") end,
	["DELETE FROM `histogram` . `tables` "] = function() return cleared("tables") end,
}

-- The entry of a normal form; those beyond the limit share one.
local function entry_of(normal)
	local entry = kept.queries[normal]
	if not entry then
		if kept.count >= config.histogram.entries_max then
			normal = "..."
		end
		kept.count = kept.count + 1
		entry = kept.queries[normal] or { count = 0, sum = 0, max = 0 }
		kept.queries[normal] = entry
	end
	return entry
end

function read_query(packet)
	local command = commands.parse(packet)
	local decision = auto_config.handle(command)
	if decision then
		return decision
	end
	if command.type ~= proxy.COM_QUERY then
		return
	end
	local tokens = tokenizer.tokenize(command.query)
	local ask = own[tokenizer.normalize(tokens)]
	if ask then
		return ask()
	end
	proxy.queries:append(1, packet)
	return proxy.PROXY_SEND_QUERY
end

function read_query_result(inj)
	local tokens = tokenizer.tokenize(inj.query:sub(2))
	if config.histogram.collect_queries then
		local entry = entry_of(tokenizer.normalize(tokens))
		entry.count = entry.count + 1
		entry.sum = entry.sum + inj.query_time
		entry.max = math.max(entry.max, inj.query_time)
	end
	if config.histogram.collect_tables then
		for name, use in pairs(parser.get_tables(tokens)) do
			local entry = kept.tables[name] or { reads = 0, writes = 0 }
			kept.tables[name] = entry
			local key = use == "read" and "reads" or "writes"
			entry[key] = entry[key] + 1
		end
	end
end
