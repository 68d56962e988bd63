-- Runs once in each new state, before any script. It replaces those functions of the standard library
-- that could end the process, keep it busy for ever or catch the error of a spent budget.
local tools = ...
local is_spent, text, reserve, charge = tools.is_spent, tools.text, tools.reserve, tools.charge
local blame, refuses = tools.blame, tools.refuses
local error, type, tonumber, tostring, select, max = error, type, tonumber, tostring, select, math.max
local byte, open = string.byte, io.open

-- What Lua says where something waits within a call that it cannot leave.
local NO_WAITING = "attempt to yield across metamethod/C-call boundary"

-- What follows a protected call: the error of a spent budget goes on, ours become strings.
local function settle(ok, message, ...)
  if ok then return ok, message, ... end
  if is_spent() then error(message, 0) end
  if type(message) == "userdata" then message = text(message) end
  if message == NO_WAITING then message = NO_WAITING .. " (pilotfish.pcall calls what may wait)" end
  return ok, message, ...
end

local raw_pcall, raw_xpcall, raw_resume = pcall, xpcall, coroutine.resume

function pcall(...)
  return settle(raw_pcall(...))
end

function xpcall(run, handler)
  return settle(raw_xpcall(run, tools.handler(handler)))
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
  if type(name) == "string" then
    local why = refuses(name)
    if why then return nil, "cannot open " .. why end
    if begins_binary(name) then return nil, name .. ": " .. BINARY end
  end
  return raw_loadfile(name)
end

local loadfile = loadfile
function dofile(name)
  local chunk, message = loadfile(name)
  if not chunk then error(message, 0) end
  return chunk()
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

-- What Lua's own function has raised, as the script is to see it: with the script's line in front, and with
-- the name that the script has called. What is no message of that function's goes on as it is.
local function fail(name, message)
  if is_spent() or type(message) ~= "string" then error(message, 0) end
  error(blame(name, message), 0)
end

-- What works through a long text counts as more than the one instruction that calls it.
local LONG_BYTES = 65536

for _, name in pairs({ "upper", "lower", "reverse" }) do
  local raw = string[name]
  string[name] = function(...)
    local text = ...
    if type(text) ~= "string" then
      local ok, changed = raw_pcall(raw, ...)
      if not ok then fail(name, changed) end
      return changed
    end
    if #text > LONG_BYTES then charge(#text) end
    return raw(text)
  end
end

local raw_concat, raw_sort, raw_format = table.concat, table.sort, string.format

-- Items count as well: they may be empty.
local ITEM_BYTES, ITEMS_MANY = 64, 1024

function table.concat(...)
  local ok, joined = raw_pcall(raw_concat, ...)
  if not ok then fail("concat", joined) end
  local list, _, first, last = ...
  local items = (last or #list) - (first or 1)
  if items > ITEMS_MANY then charge(items * ITEM_BYTES) end
  if #joined > LONG_BYTES then charge(#joined) end
  return joined
end

function string.format(...)
  local ok, text = raw_pcall(raw_format, ...)
  if not ok then fail("format", text) end
  if #text > LONG_BYTES then charge(#text * 2) end
  return text
end

-- What may never end is not opened.
local raw_lines, raw_input, raw_output = io.lines, io.input, io.output

function io.open(...)
  local name, mode = ...
  if type(name) == "string" then
    local why = refuses(name, mode)
    if why then return nil, why end
  end
  local ok, file, message, number = raw_pcall(open, ...)
  if not ok then fail("open", file) end
  if file then return file end
  return nil, message, number
end

local function opens(name, mode, raw)
  return function(...)
    local file = ...
    if type(file) == "string" then
      local why = refuses(file, mode)
      if why then fail(name, "bad argument #1 to '?' (" .. why .. ")") end
    end
    local ok, opened = raw_pcall(raw, ...)
    if not ok then fail(name, opened) end
    return opened
  end
end

io.lines, io.input, io.output = opens("lines", "r", raw_lines), opens("input", "r", raw_input), opens("output", "w", raw_output)

function table.sort(...)
  local list, is_less = ...
  local is_called = type(list) == "table" and (is_less == nil or type(is_less) == "function")
  -- Some twenty comparisons of each.
  if is_called and #list > 1024 then charge(#list * 256) end
  local ok, message = raw_pcall(raw_sort, ...)
  if ok then return end
  if not is_called or message == "invalid order function for sorting" then fail("sort", message) end
  -- All else is the comparison's.
  error(message, 0)
end

-- Matching calls itself for each item of a pattern: a longer one could exhaust the stack of the thread.
local PATTERN_BYTES_MAX = 4096
local raw_find, raw_match, raw_gmatch, raw_gsub = string.find, string.match, string.gmatch, string.gsub

local function is_long(text)
  return type(text) == "string" and #text > LONG_BYTES
end

local function check_pattern(name, pattern)
  if type(pattern) == "string" and #pattern > PATTERN_BYTES_MAX then fail(name, "pattern too long") end
end

-- How much of a long text was looked through, from `init` on. `last`: where what was found ends.
local function looked_through(text, pattern, init, is_plain, last)
  local from = tonumber(init) or 1
  if from < 0 then from = #text + from + 1 end
  local rest = max(0, #text - max(0, from - 1))
  -- These go to the end of the text, whatever comes of it.
  local is_greedy = not is_plain and raw_find(pattern, "%.[*+]")
  if last and not is_greedy then return max(0, last - max(0, from - 1)) end
  -- An anchored one is looked for at one place only; where nothing repeats, not far from there.
  local stays = not is_plain and byte(pattern) == 94 and not raw_find(pattern, "[*+-]")
  return stays and not raw_find(pattern, "%b", 1, true) and 0 or rest
end

-- Whether a pattern is well made for sure, so that nothing is to be caught; each is looked at once.
local KNOWN_MAX, KNOWN_BYTES_MAX = 1000, 256
local known, known_count = {}, 0

local function is_sound(pattern)
  if raw_find(pattern, "%z") or raw_find(pattern, "%%[%dbf]") then return false end
  local rest = raw_gsub(pattern, "%%.", "x")
  rest = raw_gsub(rest, "%[%^.[^%]]*%]", "x")
  rest = raw_gsub(rest, "%[[^%^][^%]]*%]", "x")
  local _, captures = raw_gsub(rest, "%(", "")
  rest = raw_gsub(rest, "%b()", "")
  return captures <= 32 and not raw_find(rest, "[%%%[()]")
end

local function learn(pattern)
  if type(pattern) ~= "string" or #pattern > KNOWN_BYTES_MAX or known_count >= KNOWN_MAX then return end
  known[pattern], known_count = is_sound(pattern), known_count + 1
end

-- More captures than are named here are asked for again, where they are.
function string.find(...)
  local text, pattern, init, is_plain = ...
  if (known[pattern] or is_plain and type(pattern) == "string") and type(text) == "string" then
    if #text <= LONG_BYTES and (init == nil or type(init) == "number") then
      return raw_find(text, pattern, init or 1, is_plain)
    end
  end
  if type(pattern) == "string" and #pattern > PATTERN_BYTES_MAX and not is_plain then
    if raw_find(pattern, "[%^%$%*%+%?%.%(%[%%%-]") then fail("find", "pattern too long") end
  end
  local ok, first, last, one, two, three = raw_pcall(raw_find, ...)
  if not ok then fail("find", first) end
  if known[pattern] == nil and not is_plain then learn(pattern) end
  if is_long(text) then charge(looked_through(text, tostring(pattern), init, is_plain, last)) end
  if not first then return nil end
  if three then return raw_find(text, pattern, first) end
  if two then return first, last, one, two end
  if one then return first, last, one end
  return first, last
end

local function match_long(text, pattern, init)
  local ok, first, last = raw_pcall(raw_find, text, pattern, init)
  if not ok then fail("match", first) end
  charge(looked_through(text, pattern, init, false, last))
  return first
end

function string.match(...)
  local text, pattern, init = ...
  if known[pattern] and type(text) == "string" and #text <= LONG_BYTES then
    if init == nil or type(init) == "number" then return raw_match(text, pattern, init or 1) end
  end
  check_pattern("match", pattern)
  if is_long(text) and type(pattern) == "string" then
    local first = match_long(text, pattern, init)
    if not first then return nil end
    return raw_match(text, pattern, first)
  end
  local ok, one, two, three, four = raw_pcall(raw_match, ...)
  if not ok then fail("match", one) end
  if known[pattern] == nil then learn(pattern) end
  if four then return raw_match(...) end
  if three then return one, two, three end
  if two then return one, two end
  return one
end

function string.gmatch(...)
  local text, pattern = ...
  check_pattern("gmatch", pattern)
  if is_long(text) then charge(#text) end
  local ok, matches = raw_pcall(raw_gmatch, ...)
  if not ok then fail("gmatch", matches) end
  return matches
end
string.gfind = string.gmatch

-- It keeps 8 KiB on the stack of the thread while it calls: not many may be within one another.
local GSUB_DEPTH_MAX = 40
local gsub_depth = 0

-- Whether an error is of the pattern, and not of what was called for the replacement.
local function is_of_gsub(message, text, pattern, _, count)
  if type(message) ~= "string" then return false end
  if raw_find(message, "^invalid replacement value") then return true end
  local ok, own = raw_pcall(raw_find, text, pattern)
  if ok then ok, own = raw_pcall(raw_gsub, text, pattern, "", count) end
  return not ok and own == message
end

function string.gsub(...)
  local text, pattern, replacement = ...
  check_pattern("gsub", pattern)
  if is_long(text) then charge(#text) end
  if type(replacement) ~= "function" and type(replacement) ~= "table" then
    local ok, changed, count = raw_pcall(raw_gsub, ...)
    if not ok then fail("gsub", changed) end
    return changed, count
  end
  if gsub_depth >= GSUB_DEPTH_MAX then fail("gsub", "C stack overflow") end
  gsub_depth = gsub_depth + 1
  local ok, changed, count = raw_pcall(raw_gsub, ...)
  gsub_depth = gsub_depth - 1
  if ok then return changed, count end
  if not is_spent() and is_of_gsub(changed, ...) then fail("gsub", changed) end
  error(changed, 0)
end

local raw_rep = string.rep
function string.rep(...)
  local text, count = ...
  if type(text) == "number" then text = tostring(text) end
  local number = tonumber(count)
  if type(text) ~= "string" or not number then
    fail("rep", select(2, raw_pcall(raw_rep, ...)))
  end
  if text == "" then return "" end
  if #text * number > LONG_BYTES then
    reserve(#text * number)
    charge(#text * number)
  end
  return raw_rep(text, count)
end
