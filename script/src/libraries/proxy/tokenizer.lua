-- proxy.tokenizer: statements made alike, from the tokens of mysql.tokenizer.
--
--   tokenize(sql)                        the tokens
--   normalize(tokens)                    text in which values are "?", each element with a blank behind it
--                                        (functions without); comments left out, but /*! */ kept
--   first_stmt_token(tokens)             the first that is no comment, or nil
--   bare_tokens(tokens, quote_strings)   an array of texts without comments
--   tokens_to_query(tokens, from, to)    the text again, strings quoted with %q, comments left out
--   tokens_without_comments(tokens)      an array of texts without comments
--
-- The behaviour is that of release 0.8.5; no fault of it is known.
local raw_tokenize = require("mysql.tokenizer").tokenize

module("proxy.tokenizer", package.seeall)

-- What scripts make of the library or of this table is nothing to the functions here.
local sub, upper, format, concat = string.sub, string.upper, string.format, table.concat

local VALUES = { TK_STRING = true, TK_INTEGER = true, TK_FLOAT = true }
local BARE_FIRST = { COMMIT = true, ROLLBACK = true, BEGIN = true, START = true }

function tokenize(sql)
  return raw_tokenize(sql)
end

-- A name in the text: variables and the words of transactions stand as they are, others in backquotes.
-- `words` are the literals so far.
local function name_of(text, words)
  if sub(text, 1, 1) == "@" then return text end
  local word = upper(text)
  if #words == 0 and BARE_FIRST[word] then return word end
  if #words == 1 and words[1] == "START" and word == "TRANSACTION" then return word end
  return "`" .. text .. "`"
end

function normalize(tokens)
  local parts, words = {}, {}
  for i = 1, #tokens do
    local token = tokens[i]
    local kind, text = token.token_name, token.text
    if kind == "TK_COMMENT" then
      -- left out
    elseif kind == "TK_COMMENT_MYSQL" then
      parts[#parts + 1] = "/*!" .. text .. "*/ "
    elseif VALUES[kind] then
      parts[#parts + 1] = "? "
    elseif kind == "TK_FUNCTION" then
      parts[#parts + 1] = upper(text)
    elseif kind == "TK_LITERAL" then
      parts[#parts + 1] = name_of(text, words) .. " "
      words[#words + 1] = upper(text)
    else
      parts[#parts + 1] = upper(text) .. " "
    end
  end
  return concat(parts)
end

function first_stmt_token(tokens)
  for i = 1, #tokens do
    local token = tokens[i]
    if token.token_name ~= "TK_COMMENT" then return token end
  end
  return nil
end

local function bare(tokens, quote_strings)
  local texts = {}
  for i = 1, #tokens do
    local token = tokens[i]
    if token.token_name == "TK_STRING" and quote_strings then
      texts[#texts + 1] = format("%q", token.text)
    elseif token.token_name ~= "TK_COMMENT" then
      texts[#texts + 1] = token.text
    end
  end
  return texts
end

bare_tokens = bare

function tokens_to_query(tokens, from, to)
  local parts = {}
  for i = from or 1, to or #tokens do
    local token = tokens[i]
    local kind, text = token.token_name, token.text
    if kind == "TK_COMMENT" then
      -- left out
    elseif kind == "TK_STRING" then
      parts[#parts + 1] = format("%q", text) .. " "
    elseif kind == "TK_FUNCTION" then
      parts[#parts + 1] = text
    else
      parts[#parts + 1] = text .. " "
    end
  end
  return concat(parts)
end

function tokens_without_comments(tokens)
  return bare(tokens)
end
