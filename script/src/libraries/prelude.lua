-- Runs once in each new state, before any script. It replaces those functions of the standard library
-- that could end the process, keep it busy for ever or catch the error of a spent budget.
local tools = ...
local is_spent, text, reserve = tools.is_spent, tools.text, tools.reserve
local error, type, tonumber, select = error, type, tonumber, select
local byte, open = string.byte, io.open

-- What follows a protected call: the error of a spent budget goes on, ours become strings.
local function settle(ok, message, ...)
  if ok then return ok, message, ... end
  if is_spent() then error(message, 0) end
  if type(message) == "userdata" then message = text(message) end
  return ok, message, ...
end

local raw_pcall, raw_xpcall, raw_resume = pcall, xpcall, coroutine.resume

function pcall(...)
  return settle(raw_pcall(...))
end

-- Behind an error of the hook no hook runs until it is caught: no handler of a script's may.
function xpcall(run, handler)
  return settle(raw_xpcall(run, function(message)
    if is_spent() then return message end
    if type(message) == "userdata" then message = text(message) end
    return handler(message)
  end))
end

function coroutine.resume(...)
  return settle(raw_resume(...))
end

-- Precompiled code is not checked by Lua's machine: a wrong byte of it may end the process.
local BINARY = "attempt to load a precompiled chunk"
local raw_load, raw_loadstring, raw_loadfile = load, loadstring, loadfile

local function is_binary(piece)
  return type(piece) == "string" and byte(piece) == 27
end

local function settle_load(chunk, message)
  if chunk then return chunk end
  if is_spent() then error(message, 0) end
  if type(message) == "userdata" then message = text(message) end
  return nil, message
end

function load(reader, name)
  if type(reader) ~= "function" then return raw_load(reader, name) end
  local is_first = true
  return settle_load(raw_load(function()
    local piece = reader()
    if is_first and is_binary(piece) then error(BINARY, 0) end
    is_first = false
    return piece
  end, name))
end

function loadstring(chunk, name)
  if is_binary(chunk) then return nil, BINARY end
  return raw_loadstring(chunk, name)
end

local function begins_binary(name)
  local file = open(name, "rb")
  if not file then return false end
  local first = file:read(1)
  if first == "#" then
    file:read("*l")
    first = file:read(1)
  end
  file:close()
  return is_binary(first)
end

function loadfile(name)
  if type(name) == "string" and begins_binary(name) then
    return nil, name .. ": " .. BINARY
  end
  return raw_loadfile(name)
end

local loadfile = loadfile
function dofile(name)
  local chunk, message = loadfile(name)
  if not chunk then error(message, 0) end
  return chunk()
end

-- Level 0 is the environment of all. Levels count from the caller on, one behind this function.
local raw_setfenv = setfenv
function setfenv(of, environment)
  local level = type(of) ~= "function" and tonumber(of)
  if level == 0 then error("setfenv: the globals of all scripts cannot be replaced", 2) end
  local found = raw_setfenv(level and level + 1 or of, environment)
  return found
end

function os.exit()
  error("os.exit: a script cannot end the process", 2)
end

-- The locale is the process's, numbers in packets are written by it.
function os.setlocale(locale)
  if locale == nil or locale == "" or locale == "C" or locale == "POSIX" then return "C" end
  return nil
end

-- The collector is everybody's: it can be asked, but neither stopped nor tuned.
local raw_collectgarbage = collectgarbage
local FIXED = { stop = true, restart = true, setpause = true, setstepmul = true }
function collectgarbage(option, value)
  if FIXED[option] then return 0 end
  if option == nil then return raw_collectgarbage() end
  return raw_collectgarbage(option, value)
end

-- A finalizer in Lua runs without hooks: no limit would end it.
local raw_newproxy = newproxy
function newproxy(metatable)
  if metatable then error("newproxy: no proxies with a metatable here", 2) end
  return raw_newproxy()
end
local file = getmetatable(io.stdout)
file.__metatable = { __index = file.__index }

-- Matching calls itself for each item of a pattern: a longer one could exhaust the stack of the thread.
local PATTERN_BYTES_MAX = 4096
local raw_find, raw_match, raw_gmatch, raw_gsub = string.find, string.match, string.gmatch, string.gsub

local function check_pattern(pattern)
  if type(pattern) == "string" and #pattern > PATTERN_BYTES_MAX then error("pattern too long", 3) end
end

function string.find(text, pattern, init, is_plain)
  if type(pattern) == "string" and #pattern > PATTERN_BYTES_MAX and not is_plain then
    is_plain = not raw_find(pattern, "[%^%$%*%+%?%.%(%[%%%-]")
    if not is_plain then error("pattern too long", 2) end
  end
  return raw_find(text, pattern, init, is_plain)
end

function string.match(text, pattern, init)
  check_pattern(pattern)
  return raw_match(text, pattern, init)
end

function string.gmatch(text, pattern)
  check_pattern(pattern)
  return raw_gmatch(text, pattern)
end
string.gfind = string.gmatch

-- It keeps 8 KiB on the stack of the thread while it calls: not many may be within one another.
local GSUB_DEPTH_MAX = 40
local gsub_depth = 0

local function settle_gsub(ok, ...)
  gsub_depth = gsub_depth - 1
  if ok then return ... end
  error((...), 0)
end

function string.gsub(text, pattern, replacement, count)
  check_pattern(pattern)
  if type(replacement) ~= "function" and type(replacement) ~= "table" then
    return raw_gsub(text, pattern, replacement, count)
  end
  if gsub_depth >= GSUB_DEPTH_MAX then error("C stack overflow", 2) end
  gsub_depth = gsub_depth + 1
  return settle_gsub(raw_pcall(raw_gsub, text, pattern, replacement, count))
end

local raw_rep = string.rep
function string.rep(text, count)
  local number = tonumber(count)
  if type(text) == "string" and number then
    if text == "" then return "" end
    if #text * number > 65536 then reserve(#text * number) end
  end
  return raw_rep(text, count)
end
