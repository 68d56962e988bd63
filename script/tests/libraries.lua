-- proxy.tokenizer, proxy.commands, proxy.parser, proxy.balance, proxy.auto-config.
local tokens = require("proxy.tokenizer")
eq(proxy.tokenizer, tokens)
local function tokenized(statement) return tokens.tokenize(statement) end

local NORMAL = {
  { "SELECT * FROM histogram.queries", "SELECT * FROM `histogram` . `queries` " },
  { "select 1, 'a', 1.5 -- c\n", "SELECT ? , ? , ? " },
  { "/* gone */ select /*!40000 kept */ 1", "SELECT /*!40000 kept */ ? " },
  { "select count(a), count (a)", "SELECT COUNT( `a` ) , `count` ( `a` ) " },
  { "set @x = @@y", "SET @x = @@y " },
  { "commit", "COMMIT " }, { "begin", "BEGIN " }, { "rollback", "ROLLBACK " },
  { "start transaction", "START TRANSACTION " },
  { "select commit", "SELECT COMMIT " },
  { "select a, commit", "SELECT `a` , `commit` " },
  { "start slave", "START `slave` " },
  { "transaction", "`transaction` " },
  { "", "" },
}
for _, case in ipairs(NORMAL) do eq(tokens.normalize(tokenized(case[1])), case[2], case[1]) end

eq(tokens.first_stmt_token(tokenized("/* c */ -- d\nSELECT 1")).text, "SELECT")
eq(tokens.first_stmt_token(tokenized("/*!1*/ SELECT")).token_name, "TK_COMMENT_MYSQL")
eq(tokens.first_stmt_token(tokenized("/* c */")), nil)
eq(table.concat(tokens.bare_tokens(tokenized("a /* c */ 'b' 1")), "|"), "a|b|1")
eq(table.concat(tokens.bare_tokens(tokenized("a 'b'"), true), "|"), 'a|"b"')
eq(table.concat(tokens.tokens_without_comments(tokenized("a /* c */ 'b'")), "|"), "a|b")
eq(tokens.tokens_to_query(tokenized("SELECT f(1), 'x' /* c */ FROM t")), 'SELECT f( 1 ) , "x" FROM t ')
eq(tokens.tokens_to_query(tokenized("a b c d"), 2, 3), "b c ")

-- Commands.
local commands = require("proxy.commands")
eq(proxy.commands, commands)
local COMMANDS = {
  { "\3SELECT 1", "COM_QUERY", "query", "SELECT 1", "[COM_QUERY] SELECT 1" },
  { "\22SELECT ?", "COM_STMT_PREPARE", "query", "SELECT ?", "[COM_STMT_PREPARE] SELECT ?" },
  { "\23\1\1\0\0\0", "COM_STMT_EXECUTE", "stmt_handler_id", 257, "[COM_STMT_EXECUTE] 257" },
  { "\25\2\0\0\0", "COM_STMT_CLOSE", "stmt_handler_id", 2, "[COM_STMT_CLOSE] 2" },
  { "\25\2", "COM_STMT_CLOSE", "stmt_handler_id", nil, "[COM_STMT_CLOSE] nil" },
  { "\4tbl", "COM_FIELD_LIST", "table", "tbl", "[COM_FIELD_LIST] tbl" },
  { "\2db", "COM_INIT_DB", "schema", "db", "[COM_INIT_DB] db" },
  { "\5db", "COM_CREATE_DB", "schema", "db", "[COM_CREATE_DB] db" },
  { "\6db", "COM_DROP_DB", "schema", "db", "[COM_DROP_DB] db" },
  { "\27\0\0", "COM_SET_OPTION", "option", "\0\0", "[COM_SET_OPTION] \0\0" },
  { "\1", "COM_QUIT", "query", nil, "[COM_QUIT]" },
}
for _, case in ipairs(COMMANDS) do
  local command = commands.parse(case[1])
  eq(command.type, case[1]:byte())
  eq(command.type_name, case[2])
  eq(command[case[3]], case[4], case[2])
  eq(commands.pretty_print(command), case[5])
end
local printed
local old_print = print
function print(text) printed = text end
eq(commands.pretty_print(commands.parse("\19")), "[COM_TABLE_DUMP] ... no idea")
eq(printed, "[debug] (command) unhandled type name:COM_TABLE_DUMP")
for number, name in pairs{ [0] = "COM_SLEEP", [28] = "COM_STMT_FETCH", [29] = "COM_DAEMON", [30] = "COM_BINLOG_DUMP" } do
  eq(commands.parse(string.char(number)).type_name, name)
end
eq(commands.parse("\31").type_name, nil)
eq(commands.pretty_print(commands.parse("\31")), "[31] ... no idea")
eq(commands.parse("").type, nil)

-- Tables.
local parser = require("proxy.parser")
proxy.connection = { client = { default_db = "db" } }
eq(parser.tablename_expand("t"), "db.t")
eq(parser.tablename_expand("t", "other"), "other.t")
local function tables(statement)
  local list = {}
  for name, access in pairs(parser.get_tables(tokenized(statement))) do list[#list + 1] = name .. " " .. access end
  table.sort(list)
  return table.concat(list, ", ")
end
local TABLES = {
  { "SELECT * FROM t", "db.t read" },
  { "SELECT * FROM a, x.b AS c WHERE 1", "db.a read, x.b read" },
  { "SELECT * FROM a JOIN b ON a.id = b.id LEFT JOIN c USING (id)", "db.a read, db.b read, db.c read" },
  { "SELECT * FROM a WHERE id IN (SELECT id FROM b)", "db.a read" },
  { "SELECT * FROM (SELECT * FROM d.i) AS s", "" },
  { "SELECT * FROM (SELECT * FROM d.i) s, b JOIN (SELECT 1) x ON 1 JOIN c", "db.b read, db.c read" },
  { "SELECT * FROM a JOIN (SELECT 1) AS x USING (id), c AS y", "db.a read" },
  { "UPDATE a, (SELECT 1) AS x SET a.x = 1", "db.a write" },
  { "(SELECT 1 FROM t)", "" },
  { "SELECT 1", "" },
  { "SELECT * FROM `a b` LIMIT 1", "db.a b read" },
  { "/* c */ DELETE FROM t WHERE 1", "db.t write" },
  { "INSERT INTO t VALUES (1)", "db.t write" },
  { "INSERT INTO t(a) VALUES (1)", "db.t write" },
  { "INSERT IGNORE t SELECT * FROM s", "db.t write" },
  { "UPDATE a, b SET a.x = 1", "db.a write, db.b write" },
  { "UPDATE LOW_PRIORITY a SET x = 1 WHERE y", "db.a write" },
  { "CREATE TABLE IF NOT EXISTS x.t (a int)", "x.t write" },
  { "CREATE TEMPORARY TABLE t (a int)", "db.t write" },
  { "DROP TABLE IF EXISTS a, b", "db.a write, db.b write" },
  { "ALTER TABLE t ADD COLUMN c int", "db.t write" },
  { "RENAME TABLE a TO b", "db.a write, db.b write" },
  { "CREATE TABLE t (a int) SELECT * FROM s", "db.t write" },
  { "CREATE INDEX i ON t (a)", "" },
  { "", "" },
}
-- Twice: nothing of one statement is left for the next.
for _ = 1, 2 do
  for _, case in ipairs(TABLES) do eq(tables(case[1]), case[2], case[1]) end
end
printed = nil
eq(tables("SHOW TABLES"), "")
assert(printed:find("%(parser%) unknown"), printed)
print = old_print

-- Balancing.
local balance = require("proxy.balance")
local function backend(kind, state, idle, clients)
  local users = setmetatable({}, { __index = function(_, name)
    return { cur_idle_connections = name == "me" and idle or 0 }
  end })
  return { type = kind, state = state, connected_clients = clients, pool = { users = users } }
end
local RW, RO, UP, DOWN = proxy.BACKEND_TYPE_RW, proxy.BACKEND_TYPE_RO, proxy.BACKEND_STATE_UP, proxy.BACKEND_STATE_DOWN
proxy.connection = { client = { username = "me" } }
proxy.global.backends = {
  backend(RW, DOWN, 5, 0), backend(RO, UP, 1, 3), backend(RW, UP, 0, 0), backend(RW, 0, 1, 9), backend(RW, UP, 1, 0),
  backend(RO, UP, 1, 2), backend(RO, UP, 0, 0), backend(RO, DOWN, 1, 0), backend(RO, UP, 1, 2),
}
eq(balance.idle_failsafe_rw(), 4)
eq(balance.idle_ro(), 6)
proxy.connection = { client = { username = "other" } }
eq(balance.idle_failsafe_rw(), 0)
eq(balance.idle_ro(), 0)

-- Configuration.
proxy.global.config = { rwsplit = { min_idle_connections = 4, is_debug = false, name2 = "x" } }
local auto = require("proxy.auto-config")
local config = proxy.global.config
eq(type(config.handle), "function")
local function handled(query) return auto.handle{ type = proxy.COM_QUERY, query = query } end
eq(handled("SELECT 1"), nil)
eq(handled("PROXY SHOW"), nil)
eq(handled("PROXY SHOW CONFIG" .. (" "):rep(200)), nil)
eq(auto.handle{ type = proxy.COM_PING }, nil)
eq(handled('PROXY SAVE CONFIG INTO "open'), nil)
eq(handled("proxy show Config"), proxy.PROXY_SEND_RESULT)
local result = proxy.response.resultset
local names = {}
for i, field in ipairs(result.fields) do names[i] = field.name end
eq(table.concat(names, " "), "module option value type")
local rows = {}
for i, row in ipairs(result.rows) do rows[i] = table.concat(row, " ") end
eq(table.concat(rows, "|"), "rwsplit is_debug false boolean|rwsplit min_idle_connections 4 number|rwsplit name2 x string")
local function set(query)
  eq(config:handle{ type = proxy.COM_QUERY, query = query }, proxy.PROXY_SEND_RESULT, query)
  return proxy.response.type == proxy.MYSQLD_PACKET_OK or proxy.response.errmsg
end
eq(set("PROXY SET GLOBAL rwsplit.min_idle_connections = 8"), true)
eq(config.rwsplit.min_idle_connections, 8)
eq(set("proxy set global rwsplit.is_debug=true;"), true)
eq(config.rwsplit.is_debug, true)
eq(set("PROXY SET GLOBAL rwsplit.is_debug = false"), true)
eq(config.rwsplit.is_debug, false)
eq(set('PROXY SET GLOBAL rwsplit.name2 = "a b"'), true)
eq(config.rwsplit.name2, "a b")
eq(set("PROXY SET GLOBAL other.x = 1"), "module not known")
eq(set("PROXY SET GLOBAL rwsplit.x = 1"), "option not know")
eq(set('PROXY SET GLOBAL rwsplit.is_debug = "yes"'), "(auto-config) expected a boolean, got string")
eq(set("PROXY SET GLOBAL rwsplit.min_idle_connections = true"), "(auto-config) expected a number, got boolean")
local name = os.tmpname()
eq(set('PROXY SAVE CONFIG INTO "' .. name .. '"'), true)
config.rwsplit.min_idle_connections, config.rwsplit.name2 = 1, "y"
eq(set('PROXY LOAD CONFIG FROM "' .. name .. '"'), true)
eq(config.rwsplit.min_idle_connections, 8)
eq(config.rwsplit.name2, "a b")
eq(config.rwsplit.is_debug, false)
eq(config:save(name), true)
eq(config:load(name), true)
os.remove(name)
assert(set('PROXY LOAD CONFIG FROM "' .. name .. '"'):find("No such file"))
assert(set('PROXY SAVE CONFIG INTO "/no/such/folder/x"'):find("No such file"))
