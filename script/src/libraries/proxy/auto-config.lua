-- proxy.auto-config: statements that show and change proxy.global.config.
--
--   PROXY SHOW CONFIG                      columns module, option, value, type
--   PROXY SET GLOBAL module.option = value value: a number, "text", true or false, of the option's type
--   PROXY SAVE CONFIG INTO "file"          as a Lua table, to be loaded again
--   PROXY LOAD CONFIG FROM "file"
--
--   handle(cmd), config:handle(cmd)        takes what proxy.commands.parse gives; nil if it is none of these,
--                                          else proxy.response is filled and PROXY_SEND_RESULT returned
--   load(file), save(file), config:…       true, or nil and a message
--
-- The behaviour is that of release 0.8.5 without its faults: names may have digits and underscores, options
-- that are booleans or false can be set, and a file's name has no quotes in it.
module("proxy.auto-config", package.seeall)

-- What scripts make of the library is nothing to the functions here.
local proxy, type, pairs, ipairs, tostring, tonumber = proxy, type, pairs, ipairs, tostring, tonumber
local pcall, loadfile, setfenv, open, format = pcall, loadfile, setfenv, io.open, string.format
local concat, sort = table.concat, table.sort

-- More is no statement of ours.
local STATEMENT_BYTES_MAX = 128

local methods = {}

local function config()
  proxy.global.config = proxy.global.config or {}
  return proxy.global.config
end

-- Called as a function or as a method: the argument is the last one.
local function argument(first, second)
  if second ~= nil then return second end
  return first
end

local function sorted_keys(of)
  local keys = {}
  for key in pairs(of) do
    if type(key) == "string" then keys[#keys + 1] = key end
  end
  sort(keys)
  return keys
end

-- Calls `take(module, option, value)` for each option, in the order of names.
local function each_option(take)
  local all = config()
  for _, name in ipairs(sorted_keys(all)) do
    if type(all[name]) == "table" then
      for _, option in ipairs(sorted_keys(all[name])) do take(name, option, all[name][option]) end
    end
  end
end

local PRINTED = { number = true, string = true, boolean = true }

function save(first, second)
  local file, message = open(argument(first, second), "w")
  if not file then return nil, message end
  local lines = { "return {\n" }
  each_option(function(name, option, value)
    if not PRINTED[type(value)] then return end
    local text = type(value) == "string" and format("%q", value) or tostring(value)
    lines[#lines + 1] = format("  { %q, %q, %s },\n", name, option, text)
  end)
  lines[#lines + 1] = "}\n"
  file:write(concat(lines))
  file:close()
  return true
end

function load(first, second)
  local name = argument(first, second)
  local chunk, message = loadfile(name)
  if not chunk then return nil, message end
  local ok, options = pcall(setfenv(chunk, {}))
  if not ok then return nil, options end
  if type(options) ~= "table" then return nil, name .. ": no options" end
  local all = config()
  for _, option in ipairs(options) do
    local of = option[1]
    all[of] = all[of] or {}
    all[of][option[2]] = option[3]
  end
  return true
end

----------------------------------------------------------------------------------------------------
-- Statements: words of any case, "quoted" text, numbers, and single signs.

local function words_of(statement)
  local words, at = {}, 1
  while true do
    at = statement:find("%S", at)
    if not at then return words end
    local word = statement:match("^[%a_][%w_]*", at) or statement:match("^[+-]?%d+%.?%d*", at) or
      statement:match("^[+-]?%.%d+", at)
    if word then
      words[#words + 1] = { text = word }
      at = at + #word
    else
      local sign = statement:sub(at, at)
      if sign == '"' or sign == "'" then
        local inside = statement:match("^" .. sign .. "([^" .. sign .. "]*)" .. sign, at)
        if not inside then return nil end
        words[#words + 1] = { text = inside, is_quoted = true }
        at = at + #inside + 2
      else
        words[#words + 1] = { text = sign }
        at = at + 1
      end
    end
  end
end

local function begins(words, wanted)
  for i, text in ipairs(wanted) do
    local word = words[i]
    if not word or word.is_quoted or word.text:upper() ~= text then return false end
  end
  return true
end

local function refuse(message)
  proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = message }
end

local function accept()
  proxy.response = { type = proxy.MYSQLD_PACKET_OK, affected_rows = 0, insert_id = 0 }
end

local function show()
  local rows = {}
  each_option(function(name, option, value)
    rows[#rows + 1] = { name, option, tostring(value), type(value) }
  end)
  local fields = {}
  for i, name in ipairs{ "module", "option", "value", "type" } do
    fields[i] = { name = name, type = proxy.MYSQL_TYPE_STRING }
  end
  proxy.response = {
    type = proxy.MYSQLD_PACKET_OK,
    resultset = { fields = fields, rows = rows },
  }
end

-- A word's value; nil if it has none.
local function value_of(word)
  if word.is_quoted then return word.text end
  local lower = word.text:lower()
  if lower == "true" then return true end
  if lower == "false" then return false end
  return tonumber(word.text)
end

local function set(name, option, word)
  local of = config()[name]
  if type(of) ~= "table" then return refuse("module not known") end
  if of[option] == nil then return refuse("option not know") end
  local value = value_of(word)
  local wanted = type(of[option])
  if type(value) ~= wanted then
    return refuse("(auto-config) expected a " .. wanted .. ", got " .. type(value))
  end
  of[option] = value
  accept()
end

local function settle(done, message)
  if done then accept() else refuse(message) end
end

local function is_sign(word, sign)
  return word ~= nil and not word.is_quoted and word.text == sign
end

-- Answers a statement; false if it is none of ours.
local function answer(words)
  if begins(words, { "PROXY", "SHOW", "CONFIG" }) and #words == 3 then
    show()
  elseif begins(words, { "PROXY", "SET", "GLOBAL" }) and #words == 8 and is_sign(words[5], ".") and
    is_sign(words[7], "=") then
    set(words[4].text, words[6].text, words[8])
  elseif begins(words, { "PROXY", "SAVE", "CONFIG", "INTO" }) and #words == 5 and words[5].is_quoted then
    settle(save(words[5].text))
  elseif begins(words, { "PROXY", "LOAD", "CONFIG", "FROM" }) and #words == 5 and words[5].is_quoted then
    settle(load(words[5].text))
  else
    return false
  end
  return true
end

function handle(first, second)
  local command = argument(first, second)
  if command.type ~= proxy.COM_QUERY or not command.query or #command.query > STATEMENT_BYTES_MAX then
    return nil
  end
  local words = words_of(command.query)
  if words and is_sign(words[#words], ";") then words[#words] = nil end
  if not words or not answer(words) then return nil end
  return proxy.PROXY_SEND_RESULT
end

methods.handle, methods.load, methods.save = handle, load, save
setmetatable(config(), { __index = methods })
