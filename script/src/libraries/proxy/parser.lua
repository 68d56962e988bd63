-- proxy.parser: which tables a statement uses.
--
--   get_tables(tokens)               {["db.tbl"] = "read" or "write"}: of SELECT what is read; of DELETE, INSERT,
--                                    UPDATE, REPLACE and CREATE, DROP, ALTER, RENAME TABLE what is written.
--                                    What stands in braces and the source of INSERT … SELECT is left out.
--   tablename_expand(tbl [, db])     "db.tbl"; the schema is the client's default if none is given
--
-- The behaviour is that of release 0.8.5 without two faults: there a DDL statement's tables were found only
-- for the first one of the process, and the alias of a derived table was a table.
module("proxy.parser", package.seeall)

-- What scripts make of the library or of this table is nothing to the functions here.
local proxy, upper, tostring = proxy, string.upper, tostring

local function expand(tbl, db)
  if not db then
    local client = proxy.connection and proxy.connection.client
    db = client and client.default_db
  end
  if db and db ~= "" then return db .. "." .. tbl end
  return tbl
end
tablename_expand = expand

-- Statements by their first word: what becomes of their tables.
local ACCESS = {
  TK_SQL_SELECT = "read", TK_SQL_DELETE = "write", TK_SQL_INSERT = "write", TK_SQL_UPDATE = "write",
  TK_SQL_REPLACE = "write", TK_SQL_CREATE = "write", TK_SQL_DROP = "write", TK_SQL_ALTER = "write",
  TK_SQL_RENAME = "write",
}
local DDL = { TK_SQL_CREATE = true, TK_SQL_DROP = true, TK_SQL_ALTER = true, TK_SQL_RENAME = true }

-- Behind these names of tables follow, up to a word that ends them.
local BEGIN = { TK_SQL_FROM = true, TK_SQL_JOIN = true, TK_SQL_INTO = true }
local END = {
  TK_SQL_WHERE = true, TK_SQL_GROUP = true, TK_SQL_ORDER = true, TK_SQL_HAVING = true, TK_SQL_LIMIT = true,
  TK_SQL_SET = true, TK_SQL_ON = true, TK_SQL_USING = true, TK_SQL_VALUES = true, TK_SQL_UNION = true,
  TK_SQL_FOR = true, TK_SQL_PROCEDURE = true, TK_SEMICOLON = true, TK_SQL_FORCE = true, TK_SQL_IGNORE = true,
  TK_SQL_USE = true, TK_SQL_INTO = true, TK_SQL_LOCK = true,
}
-- Between a statement's first word and its table.
local SKIPPED = {
  TK_SQL_IGNORE = true, TK_SQL_LOW_PRIORITY = true, TK_SQL_HIGH_PRIORITY = true, TK_SQL_DELAYED = true,
  TK_SQL_IF = true, TK_SQL_NOT = true, TK_SQL_EXISTS = true,
}

-- The tokens that are looked at: no comments, nothing in braces. Of braces behind other words the first stays, in the
-- place of what stands in them: what follows a derived table is its alias.
local function outside_of_braces(tokens)
  local found, depth = {}, 0
  for i = 1, #tokens do
    local token = tokens[i]
    local kind = token.token_name
    if kind == "TK_FUNCTION" then
      -- Its brace follows. VALUES( and a table with columns are functions to the tokenizer.
      if depth == 0 then found[#found + 1] = token end
    elseif kind == "TK_OBRACE" then
      if depth == 0 and #found > 0 then found[#found + 1] = token end
      depth = depth + 1
    elseif kind == "TK_CBRACE" then
      depth = depth > 0 and depth - 1 or 0
    elseif depth == 0 and kind ~= "TK_COMMENT" and kind ~= "TK_COMMENT_MYSQL" then
      found[#found + 1] = token
    end
  end
  return found
end

local function is_name(token)
  return token ~= nil and (token.token_name == "TK_LITERAL" or token.token_name == "TK_FUNCTION")
end

-- Reads `tbl` or `db.tbl` at `at`; gives the full name and the place behind it.
local function read_name(tokens, at)
  local first, dot, second = tokens[at], tokens[at + 1], tokens[at + 2]
  if dot and dot.token_name == "TK_DOT" and second then
    return expand(second.text, first.text), at + 3
  end
  return expand(first.text), at + 1
end

-- Reads names with commas and joins between them, aliases left out; gives the place behind them.
local function read_names(tokens, at, access, tables)
  local is_wanted = true
  while tokens[at] and not END[tokens[at].token_name] do
    local token = tokens[at]
    if is_wanted and is_name(token) then
      local name
      name, at = read_name(tokens, at)
      tables[name] = tables[name] == "write" and "write" or access
      is_wanted = false
    else
      if token.token_name == "TK_OBRACE" then is_wanted = false end
      if token.token_name == "TK_COMMA" or token.token_name == "TK_SQL_JOIN" or
        token.token_name == "TK_SQL_TO" or token.token_name == "TK_SQL_STRAIGHT_JOIN" then
        is_wanted = true
      end
      at = at + 1
    end
  end
  return at
end

local function read_ddl(tokens, tables)
  local at = 2
  while tokens[at] and tokens[at].token_name ~= "TK_SQL_TABLE" do
    -- Only TEMPORARY or IGNORE may stand in front of TABLE: other objects have no tables here.
    local text = upper(tokens[at].text)
    if text ~= "TEMPORARY" and text ~= "IGNORE" then return end
    at = at + 1
  end
  at = at + 1
  while tokens[at] and SKIPPED[tokens[at].token_name] do at = at + 1 end
  local kind = tokens[1].token_name
  if kind == "TK_SQL_RENAME" or kind == "TK_SQL_DROP" then
    read_names(tokens, at, "write", tables)
  elseif is_name(tokens[at]) then
    tables[(read_name(tokens, at))] = "write"
  end
end

-- Where names begin in a statement that has them right behind its first words: UPDATE t, INSERT t.
local function read_first(tokens, kind, access, tables)
  local at = 2
  while tokens[at] and SKIPPED[tokens[at].token_name] do at = at + 1 end
  if kind == "TK_SQL_UPDATE" then return read_names(tokens, at, access, tables) end
  if kind == "TK_SQL_INSERT" or kind == "TK_SQL_REPLACE" then
    if tokens[at] and tokens[at].token_name == "TK_SQL_INTO" then at = at + 1 end
    if is_name(tokens[at]) then tables[(read_name(tokens, at))] = access end
    return nil
  end
  return at
end

function get_tables(tokens)
  local tables = {}
  local found = outside_of_braces(tokens)
  local first = found[1]
  if not first then return tables end
  local kind = first.token_name
  local access = ACCESS[kind]
  if not access then
    print("(parser) unknown token " .. tostring(kind) .. ": " .. tostring(first.text))
    return tables
  end
  if DDL[kind] then
    read_ddl(found, tables)
    return tables
  end
  local at = read_first(found, kind, access, tables)
  while at and found[at] do
    if BEGIN[found[at].token_name] and found[at].token_name ~= "TK_SQL_INTO" then
      at = read_names(found, at + 1, access, tables)
    else
      at = at + 1
    end
  end
  return tables
end
