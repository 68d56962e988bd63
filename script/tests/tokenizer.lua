-- The tokenizer's rules, a line each: a statement, and what it becomes as "NAME text".
local tokenizer = require("mysql.tokenizer")
eq(_G.tokenizer, tokenizer)
for _, name in ipairs{ "_COPYRIGHT", "_DESCRIPTION", "_VERSION" } do eq(type(tokenizer[name]), "string") end

local function tokens(statement)
  local all, list = tokenizer.tokenize(statement), {}
  for i = 1, #all do list[i] = all[i].token_name:sub(4) .. " " .. all[i].text end
  return table.concat(list, "|")
end

local RULES = {
  { "", "" },
  { " \t\r\n", "" },
  { "/* a */", "COMMENT  a " },
  { "/*!40000 a */ b", "COMMENT_MYSQL 40000 a |LITERAL b" },
  { "/**/", "COMMENT " },
  { "/* open", "COMMENT  open" },
  { "-- a b\n1", "COMMENT a b|INTEGER 1" },
  { "--x", "MINUS -|MINUS -|LITERAL x" },
  { "1--", "INTEGER 1|MINUS -|MINUS -" },
  { "#x", "UNKNOWN #|LITERAL x" },
  { "'a'", "STRING a" },
  { '"a"', "STRING a" },
  { "`a`", "LITERAL a" },
  { "'it''s'", "STRING it's" },
  { '"a""b"', 'STRING a"b' },
  { "`a``b`", "LITERAL a`b" },
  { "'a\\'b'", "STRING a\\'b" },
  { "'a\\\\'b", "STRING a\\\\|LITERAL b" },
  { "'open", "STRING open" },
  { "'open\\", "STRING open\\" },
  { "'", "STRING " },
  { "`a\\`b`", "LITERAL a\\|LITERAL b|LITERAL " },
  { "12", "INTEGER 12" },
  { "1.5", "FLOAT 1.5" },
  { ".5", "FLOAT .5" },
  { "1e5", "FLOAT 1e5" },
  { "1.5e3", "FLOAT 1.5e3" },
  { "1e-5", "FLOAT 1e-5" },
  { "1.", "INTEGER 1|DOT ." },
  { "1e5e", "LITERAL 1e5e" },
  { "1e", "LITERAL 1e" },
  { "2nd", "LITERAL 2nd" },
  { "a_1", "LITERAL a_1" },
  { "@a", "LITERAL @a" },
  { "@@x", "LITERAL @@x" },
  { "a.b", "LITERAL a|DOT .|LITERAL b" },
  { "a.b.c", "LITERAL a|DOT .|LITERAL b|DOT .|LITERAL c" },
  { "a.select", "LITERAL a|DOT .|SQL_SELECT select" },
  { "a.b.c.d(", "LITERAL a|DOT .|LITERAL b|DOT .|LITERAL c|DOT .|FUNCTION d|OBRACE (" },
  { "a.5", "LITERAL a|FLOAT .5" },
  { "sElEcT", "SQL_SELECT sElEcT" },
  { "count(", "FUNCTION count|OBRACE (" },
  { "count (", "LITERAL count|OBRACE (" },
  { "IN(", "FUNCTION IN|OBRACE (" },
  { "VALUES(", "FUNCTION VALUES|OBRACE (" },
  { "IF(", "FUNCTION IF|OBRACE (" },
  { "IN (", "SQL_IN IN|OBRACE (" },
  { "<= >= < > = <> !=", "LE <=|GE >=|LT <|GT >|EQ =|NE <>|NE !=" },
  { ". , := ( ) ; * + - /", "DOT .|COMMA ,|ASSIGN :=|OBRACE (|CBRACE )|SEMICOLON ;|STAR *|PLUS +|MINUS -|DIV /" },
  { "& | ^ && ||", "BITWISE_AND &|BITWISE_OR ||BITWISE_XOR ^|LOGICAL_AND &&|LOGICAL_OR ||" },
  { "<=>", "LE <=|GT >" },
  { "? $ % ! ~ {", "UNKNOWN ?|UNKNOWN $|UNKNOWN %|UNKNOWN !|UNKNOWN ~|UNKNOWN {" },
  { "\195\164", "UNKNOWN \195|UNKNOWN \164" },
  { ":a", "UNKNOWN :|LITERAL a" },
  { "\0", "UNKNOWN \0" },
  { "a div b", "LITERAL a|SQL_DIV div|LITERAL b" },
}
for _, rule in ipairs(RULES) do eq(tokens(rule[1]), rule[2], rule[1]) end

-- Numbers.
local function id(statement) return tokenizer.tokenize(statement)[1].token_id end
local IDS = {
  ["$"] = 0, ["<="] = 1, [">="] = 2, ["<"] = 3, [">"] = 4, ["="] = 5, ["<>"] = 6, ["''"] = 7, ["/**/"] = 8,
  ["a"] = 9, ["f()"] = 10, ["1"] = 11, ["1.0"] = 12, ["."] = 13, [","] = 14, [":="] = 15, ["("] = 16,
  [")"] = 17, [";"] = 18, ["*"] = 19, ["+"] = 20, ["-"] = 21, ["/"] = 22, ["&"] = 23, ["|"] = 24,
  ["^"] = 25, ["&&"] = 26, ["||"] = 27, ["ACCESSIBLE"] = 28, ["BEFORE"] = 38, ["CASCADE"] = 47,
  ["CASE"] = 48, ["CONVERT"] = 58, ["DATE"] = 68, ["DELETE"] = 78, ["EACH"] = 88, ["FETCH"] = 98,
  ["GROUP"] = 108, ["INFILE"] = 118, ["INT8"] = 128, ["LEADING"] = 138, ["LOCK"] = 148,
  ["MEDIUMTEXT"] = 158, ["NULL"] = 168, ["OUTFILE"] = 178, ["REAL"] = 188, ["REVOKE"] = 198,
  ["SHOW"] = 208, ["SQLWARNING"] = 218, ["TINYBLOB"] = 228, ["UNLOCK"] = 238, ["VARBINARY"] = 248,
  ["XOR"] = 258, ["ZEROFILL"] = 260, ["/*!1*/"] = 261,
}
for statement, wanted in pairs(IDS) do eq(id(statement), wanted, statement) end

-- The object.
local all = tokenizer.tokenize("SELECT 1, 2")
eq(type(all), "userdata")
eq(#all, 4)
eq(all[0], nil)
eq(all[5], nil)
eq(all[-1], nil)
eq(all[1e300], nil)
eq(all[0 / 0], nil)
eq(all["2"].text, "1")
fails("has no colour field", function() return all[1].colour end)
fails("indexed by a number", function() return all.length end)
fails("only be set to nil", function() all[1] = "x" end)
local first = all[1]
all[1] = nil
eq(all[1], nil)
eq(first.text, "SELECT")
eq(all[2].text, "1")
eq(#all, 4)
all[100] = nil
fails("bad argument #1 to 'tokenize' %(string expected, got no value%)", tokenizer.tokenize)
fails("bad argument #1 to 'tokenize' %(string expected, got table%)", tokenizer.tokenize, {})
eq(tokens(12), "INTEGER 12")
eq(#tokenizer.tokenize(("("):rep(1e5)), 1e5)
