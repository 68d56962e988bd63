-- The API of LPeg (release 0.8 and what later ones have added: Cf, Cg with names, B, locale, setmaxstack):
-- parsing expression grammars as values. Own work; there is nothing of LPeg's code in it.
--
-- A pattern is a userdata, since `#pattern` wants one; behind it stands a node: a table whose `match`
-- takes a run (subject, captures, further arguments) and a position, and gives the position behind what it
-- has matched, or false. Captures are a list of marks, cut back when an alternative fails; their values are
-- made when all has matched, but those of a match-time capture at once.
local newproxy, error = ...
local type, tostring, pairs, ipairs, select, unpack, setmetatable, getmetatable =
  type, tostring, pairs, ipairs, select, unpack, setmetatable, getmetatable
local sub, byte, char, gsub = string.sub, string.byte, string.char, string.gsub
local floor, max, concat, pcall = math.floor, math.max, table.concat, pcall

local lpeg = {}
local nodes = setmetatable({}, { __mode = "k" })
local model = newproxy(true)
local meta = getmetatable(model)
meta.__metatable = "lpeg-pattern"

-- More calls of rules and repetitions than this within one another are an error.
local depth_max = 2000

local function pattern_of(node)
  local pattern = newproxy(model)
  nodes[pattern] = node
  return pattern
end

local function kind_of(value)
  if nodes[value] then return "lpeg-pattern" end
  return type(value)
end

----------------------------------------------------------------------------------------------------
-- Nodes. `empty` says that a node may match without taking anything, `rules` that it has open rules.

local function literal(text)
  local length = #text
  local function match(run, at)
    if sub(run.subject, at, at + length - 1) == text then return at + length end
    return false
  end
  return { match = match, empty = length == 0 }
end

local function any(count)
  local function match(run, at)
    if at + count - 1 <= run.length then return at + count end
    return false
  end
  return { match = match, empty = count == 0 }
end

local function set_of(bytes)
  local function match(run, at)
    local first = byte(run.subject, at)
    if first and bytes[first] then return at + 1 end
    return false
  end
  return { match = match, empty = false, bytes = bytes }
end

local always = { match = function(_, at) return at end, empty = true }
local never = { match = function() return false end, empty = false }

local function cut_back(run, count)
  local marks = run.marks
  for index = run.count, count + 1, -1 do marks[index] = nil end
  run.count = count
end

local function followed(first, second)
  local match_first, match_second = first.match, second.match
  local function match(run, at)
    local middle = match_first(run, at)
    if not middle then return false end
    return match_second(run, middle)
  end
  return { match = match, empty = first.empty and second.empty, parts = { first, second } }
end

local function either(first, second)
  if first.bytes and second.bytes then
    local bytes = {}
    for one in pairs(first.bytes) do bytes[one] = true end
    for one in pairs(second.bytes) do bytes[one] = true end
    return set_of(bytes)
  end
  local match_first, match_second = first.match, second.match
  local function match(run, at)
    local count = run.count
    local behind = match_first(run, at)
    if behind then return behind end
    cut_back(run, count)
    return match_second(run, at)
  end
  return { match = match, empty = first.empty or second.empty, choice = { first, second } }
end

-- Matches if `inner` does not, and takes nothing; `wanted` turns it round.
local function lookahead(inner, wanted)
  local match_inner = inner.match
  local function match(run, at)
    local count = run.count
    local behind = match_inner(run, at)
    if wanted then return behind and at or false end
    cut_back(run, count)
    return not behind and at
  end
  return { match = match, empty = true, inner = inner }
end

local function at_least(inner, least)
  if inner.empty then error("loop body may accept empty string", 3) end
  local match_inner = inner.match
  local function match(run, at)
    for _ = 1, least do
      at = match_inner(run, at)
      if not at then return false end
    end
    while true do
      local count = run.count
      local behind = match_inner(run, at)
      if not behind then
        cut_back(run, count)
        return at
      end
      -- A rule may have taken nothing.
      if behind == at then return at end
      at = behind
    end
  end
  return { match = match, empty = least == 0, inner = inner }
end

local function at_most(inner, most)
  local match_inner = inner.match
  local function match(run, at)
    for _ = 1, most do
      local count = run.count
      local behind = match_inner(run, at)
      if not behind then
        cut_back(run, count)
        return at
      end
      at = behind
    end
    return at
  end
  return { match = match, empty = true, inner = inner }
end

-- Behind `inner`, which has a fixed length; found by trying, from the nearest place on.
local function behind(inner)
  local match_inner = inner.match
  local function match(run, at)
    local count = run.count
    for start = at, 1, -1 do
      if match_inner(run, start) == at then
        cut_back(run, count)
        return at
      end
      cut_back(run, count)
    end
    return false
  end
  return { match = match, empty = true, inner = inner }
end

local function open_rule(name)
  local function match(run, at)
    local grammar = run.grammar
    local rule = grammar and grammar[name]
    if not rule then error("rule '" .. tostring(name) .. "' is not in a grammar", 0) end
    run.depth = run.depth + 1
    if run.depth > run.depth_max then error("too many pending calls/choices", 0) end
    local after = rule.match(run, at)
    run.depth = run.depth - 1
    return after
  end
  return { match = match, empty = false, open = name }
end

----------------------------------------------------------------------------------------------------
-- Grammars: the rules of a table, the first one named or numbered by its entry 1.

local node_of

-- Every rule that `node` may come to before anything is taken; `seen` has those of this way.
local function check_left(node, rules, name, seen)
  if node.open ~= nil then
    local rule = rules[node.open]
    if not rule then error("rule '" .. tostring(node.open) .. "' undefined in given grammar", 0) end
    if seen[node.open] then error("rule '" .. tostring(node.open) .. "' may be left recursive", 0) end
    seen[node.open] = true
    local empty = check_left(rule, rules, node.open, seen)
    seen[node.open] = nil
    return empty
  end
  if node.parts then
    if not check_left(node.parts[1], rules, name, seen) then return false end
    return check_left(node.parts[2], rules, name, seen)
  end
  if node.choice then
    local first = check_left(node.choice[1], rules, name, seen)
    return check_left(node.choice[2], rules, name, seen) or first
  end
  if node.inner then
    local empty = check_left(node.inner, rules, name, seen)
    return node.empty or empty
  end
  return node.empty
end

local function check_open(node, rules, done)
  if done[node] then return end
  done[node] = true
  if node.open ~= nil and not rules[node.open] then
    error("rule '" .. tostring(node.open) .. "' undefined in given grammar", 0)
  end
  for _, key in ipairs{ "parts", "choice" } do
    if node[key] then
      check_open(node[key][1], rules, done)
      check_open(node[key][2], rules, done)
    end
  end
  if node.inner then check_open(node.inner, rules, done) end
end

local function grammar_of(table)
  local first, start = table[1], nil
  if first == nil then error("grammar has no initial rule", 3) end
  if kind_of(first) == "lpeg-pattern" then start = 1
  elseif table[first] ~= nil then start = first
  else start = 1 end
  local rules = {}
  for name, value in pairs(table) do
    if name ~= 1 or start == 1 then rules[name] = node_of(value, 4) end
  end
  if not rules[start] then error("grammar has no initial rule", 3) end
  local ok, message = pcall(function()
    for name, rule in pairs(rules) do
      check_open(rule, rules, {})
      check_left(rule, rules, name, { [name] = true })
    end
  end)
  if not ok then error(message, 3) end
  local match_start = rules[start].match
  local function match(run, at)
    local outer = run.grammar
    run.grammar = rules
    run.depth = run.depth + 1
    if run.depth > run.depth_max then error("too many pending calls/choices", 0) end
    local after = match_start(run, at)
    run.depth = run.depth - 1
    run.grammar = outer
    return after
  end
  return { match = match, empty = check_left(rules[start], rules, start, { [start] = true }) }
end

----------------------------------------------------------------------------------------------------
-- Captures. A mark is {kind, position, value}; what is captured within stands between it and its "close".

local make

local function mark(run, kind, at, value, name)
  local count = run.count + 1
  run.marks[count] = { kind = kind, at = at, value = value, name = name }
  run.count = count
end

local function capture(kind, inner, value, name)
  local match_inner = inner.match
  local function match(run, at)
    mark(run, kind, at, value, name)
    local behind = match_inner(run, at)
    if not behind then return false end
    mark(run, "close", behind)
    return behind
  end
  return { match = match, empty = inner.empty, inner = inner }
end

local function leaf(kind, value, name)
  local function match(run, at)
    mark(run, kind, at, value, name)
    mark(run, "close", at)
    return at
  end
  return { match = match, empty = true }
end

-- Values are collected in a list with their number, as nil may be one.
local function put(values, ...)
  local count = values.n
  for index = 1, select("#", ...) do values[count + index] = (select(index, ...)) end
  values.n = count + select("#", ...)
end

-- The mark that closes the one at `index`.
local function closing(run, index)
  local depth = 0
  repeat
    depth = depth + (run.marks[index].kind == "close" and -1 or 1)
    index = index + 1
  until depth == 0
  return index - 1
end

-- The values of all captures between two marks, both excluded.
local function inside(run, from, to)
  local values = { n = 0 }
  local index = from + 1
  while index < to do
    local close = closing(run, index)
    make(run, index, close, values)
    index = close + 1
  end
  return values
end

-- As `inside`; with no value among them, all that was matched.
local function inside_or_all(run, from, to)
  local values = inside(run, from, to)
  if values.n == 0 then
    put(values, sub(run.subject, run.marks[from].at, run.marks[to].at - 1))
  end
  return values
end

local function as_text(value, what)
  if type(value) == "string" or type(value) == "number" then return tostring(value) end
  error("invalid " .. what .. " value (a " .. type(value) .. ")", 0)
end

-- Fills `%0` to `%9` in.
local function fill(run, open, close, values)
  local template = run.marks[open].value
  local all = sub(run.subject, run.marks[open].at, run.marks[close].at - 1)
  local inner
  put(values, (gsub(template, "%%(.)", function(digit)
    local number = byte(digit) - 48
    if number < 0 or number > 9 then return digit end
    if number == 0 then return all end
    inner = inner or inside_or_all(run, open, close)
    if number > inner.n then error("invalid capture index (" .. number .. ")", 0) end
    return as_text(inner[number], "capture")
  end)))
end

-- What was matched, with the captures within in place of what they have matched.
local function substituted(run, open, close)
  local marks, pieces = run.marks, {}
  local at, index = marks[open].at, open + 1
  while index < close do
    local inner_close = closing(run, index)
    local values = { n = 0 }
    make(run, index, inner_close, values)
    if values.n > 0 then
      pieces[#pieces + 1] = sub(run.subject, at, marks[index].at - 1)
      pieces[#pieces + 1] = as_text(values[1], "replacement")
      at = marks[inner_close].at
    end
    index = inner_close + 1
  end
  pieces[#pieces + 1] = sub(run.subject, at, marks[close].at - 1)
  return concat(pieces)
end

-- The last named group with that name that is complete, and not within one that is complete as well.
local function back_reference(run, from)
  local wanted = run.marks[from].value
  local index = from - 1
  while index >= 1 do
    local of = run.marks[index]
    if of.kind == "close" then
      local close, depth = index, 0
      repeat
        depth = depth + (run.marks[index].kind == "close" and 1 or -1)
        index = index - 1
      until depth == 0
      index = index + 1
      of = run.marks[index]
      if of.kind == "group" and of.name == wanted then return index, close end
    end
    index = index - 1
  end
  error("back reference '" .. tostring(wanted) .. "' not found", 0)
end

local function made_table(run, open, close)
  local result, index = {}, open + 1
  local count = 0
  while index < close do
    local inner_close = closing(run, index)
    local of = run.marks[index]
    if of.kind == "group" and of.name ~= nil then
      result[of.name] = inside_or_all(run, index, inner_close)[1]
    else
      local values = { n = 0 }
      make(run, index, inner_close, values)
      for number = 1, values.n do result[count + number] = values[number] end
      count = count + values.n
    end
    index = inner_close + 1
  end
  return result
end

local function folded(run, open, close)
  local index = open + 1
  if index >= close then error("no initial value for fold capture", 0) end
  local values = { n = 0 }
  local inner_close = closing(run, index)
  make(run, index, inner_close, values)
  if values.n == 0 then error("no initial value for fold capture", 0) end
  local folding = values[1]
  index = inner_close + 1
  while index < close do
    inner_close = closing(run, index)
    local fold, of = run.marks[open].value, run.marks[index]
    if fold then
      values = { n = 0 }
      make(run, index, inner_close, values)
      folding = fold(folding, unpack(values, 1, values.n))
    elseif of.kind == "call" then
      values = inside_or_all(run, index, inner_close)
      folding = of.value(folding, unpack(values, 1, values.n))
    end
    index = inner_close + 1
  end
  return folding
end

local makers = {
  position = function(run, open, _, values) put(values, run.marks[open].at) end,
  constant = function(run, open, _, values)
    local list = run.marks[open].value
    put(values, unpack(list, 1, list.n))
  end,
  argument = function(run, open, _, values)
    local number = run.marks[open].value
    if number > run.arguments.n then error("absent extra argument #" .. number, 0) end
    put(values, run.arguments[number])
  end,
  simple = function(run, open, close, values)
    put(values, sub(run.subject, run.marks[open].at, run.marks[close].at - 1))
    local inner = inside(run, open, close)
    put(values, unpack(inner, 1, inner.n))
  end,
  group = function(run, open, close, values)
    if run.marks[open].name ~= nil then return end
    local inner = inside_or_all(run, open, close)
    put(values, unpack(inner, 1, inner.n))
  end,
  back = function(run, open, _, values)
    local from, to = back_reference(run, open)
    local inner = inside_or_all(run, from, to)
    put(values, unpack(inner, 1, inner.n))
  end,
  table = function(run, open, close, values) put(values, made_table(run, open, close)) end,
  fold = function(run, open, close, values) put(values, folded(run, open, close)) end,
  substitution = function(run, open, close, values) put(values, substituted(run, open, close)) end,
  string = fill,
  number = function(run, open, close, values)
    local number = run.marks[open].value
    if number == 0 then return end
    local inner = inside_or_all(run, open, close)
    if number > inner.n then error("no capture '" .. number .. "'", 0) end
    put(values, inner[number])
  end,
  query = function(run, open, close, values)
    local found = run.marks[open].value[inside_or_all(run, open, close)[1]]
    if found ~= nil then put(values, found) end
  end,
  call = function(run, open, close, values)
    local inner = inside_or_all(run, open, close)
    put(values, run.marks[open].value(unpack(inner, 1, inner.n)))
  end,
  -- Values that a match-time capture has given.
  runtime = function(run, open, _, values)
    local list = run.marks[open].value
    put(values, unpack(list, 1, list.n))
  end,
}

function make(run, open, close, values)
  makers[run.marks[open].kind](run, open, close, values)
end

local function pack(...)
  return { n = select("#", ...), ... }
end

-- Calls `decide` as soon as `inner` has matched: it says where to go on, and what is captured.
local function at_match_time(inner, decide)
  local match_inner = inner.match
  local function match(run, at)
    local count = run.count
    mark(run, "simple", at)
    local open = run.count
    local behind = match_inner(run, at)
    if not behind then return false end
    mark(run, "close", behind)
    local values = inside_or_all(run, open, run.count)
    cut_back(run, count)
    local result = pack(decide(run.subject, behind, unpack(values, 1, values.n)))
    local to = result[1]
    if not to then return false end
    if to == true then to = behind end
    if type(to) ~= "number" or to < behind or to > run.length + 1 then
      error("invalid position returned by match-time capture", 0)
    end
    local list = { n = result.n - 1, unpack(result, 2, result.n) }
    if list.n > 0 then
      mark(run, "runtime", at, list)
      mark(run, "close", to)
    end
    return to
  end
  return { match = match, empty = inner.empty, inner = inner }
end

----------------------------------------------------------------------------------------------------
-- From values to patterns.

function node_of(value, level)
  local node = nodes[value]
  if node then return node end
  local kind = type(value)
  if kind == "string" then return literal(value) end
  if kind == "number" then
    if value >= 0 then return any(floor(value)) end
    return lookahead(any(floor(-value)), false)
  end
  if kind == "boolean" then return value and always or never end
  if kind == "table" then return grammar_of(value) end
  if kind == "function" then return at_match_time(always, value) end
  error("bad argument (a pattern expected, got " .. kind .. ")", level or 3)
end

function lpeg.P(value) return pattern_of(node_of(value)) end

function lpeg.S(text)
  local bytes = {}
  for index = 1, #text do bytes[byte(text, index)] = true end
  return pattern_of(set_of(bytes))
end

function lpeg.R(...)
  local bytes = {}
  for _, range in ipairs{ ... } do
    if #range ~= 2 then error("bad argument to 'R' (range must have two characters)", 2) end
    for one = byte(range, 1), byte(range, 2) do bytes[one] = true end
  end
  return pattern_of(set_of(bytes))
end

function lpeg.V(name)
  if name == nil then error("bad argument #1 to 'V' (non-nil value expected)", 2) end
  return pattern_of(open_rule(name))
end

function lpeg.B(value) return pattern_of(behind(node_of(value))) end

-- As many as are in the set, of later releases `S("...")^0`; kept for scripts of release 0.8.
function lpeg.span(text)
  return lpeg.S(text) ^ 0
end

function lpeg.C(value) return pattern_of(capture("simple", node_of(value))) end
function lpeg.Cs(value) return pattern_of(capture("substitution", node_of(value))) end
function lpeg.Ct(value) return pattern_of(capture("table", node_of(value))) end
function lpeg.Cg(value, name) return pattern_of(capture("group", node_of(value), nil, name)) end
function lpeg.Cf(value, fold) return pattern_of(capture("fold", node_of(value), fold)) end
-- Release 0.8's accumulator: the first value, which each function capture gets in front of its own.
function lpeg.Ca(value) return pattern_of(capture("fold", node_of(value))) end
function lpeg.Cp() return pattern_of(leaf("position")) end
function lpeg.Cb(name) return pattern_of(leaf("back", name)) end
function lpeg.Cc(...) return pattern_of(leaf("constant", pack(...))) end
function lpeg.Carg(number) return pattern_of(leaf("argument", number)) end
function lpeg.Cmt(value, decide)
  if type(decide) ~= "function" then
    error("bad argument #2 to 'Cmt' (function expected, got " .. type(decide) .. ")", 2)
  end
  return pattern_of(at_match_time(node_of(value), decide))
end

function meta.__mul(left, right) return pattern_of(followed(node_of(left), node_of(right))) end
function meta.__add(left, right) return pattern_of(either(node_of(left), node_of(right))) end
function meta.__sub(left, right)
  return pattern_of(followed(lookahead(node_of(right), false), node_of(left)))
end
function meta.__unm(value) return pattern_of(lookahead(node_of(value), false)) end
function meta.__len(value) return pattern_of(lookahead(node_of(value), true)) end

function meta.__pow(value, count)
  if type(count) ~= "number" then error("bad argument to '^' (number expected)", 2) end
  local node = node_of(value)
  if count >= 0 then return pattern_of(at_least(node, floor(count))) end
  return pattern_of(at_most(node, floor(-count)))
end

local CAPTURE_BY = { string = "string", number = "number", table = "query", ["function"] = "call" }
function meta.__div(value, by)
  local kind = CAPTURE_BY[type(by)]
  if not kind then error("invalid replacement value (a " .. type(by) .. ")", 2) end
  return pattern_of(capture(kind, node_of(value), by))
end

function lpeg.match(value, subject, init, ...)
  local node = node_of(value)
  if type(subject) == "number" then subject = tostring(subject) end
  if type(subject) ~= "string" then
    error("bad argument #2 to 'match' (string expected, got " .. type(subject) .. ")", 2)
  end
  local at = init == nil and 1 or floor(init)
  if at < 0 then at = max(#subject + at + 1, 1) elseif at == 0 then at = 1 end
  if at > #subject + 1 then at = #subject + 1 end
  local run = {
    subject = subject, length = #subject, marks = {}, count = 0, depth = 0,
    depth_max = depth_max, arguments = pack(...),
  }
  local behind = node.match(run, at)
  if not behind then return nil end
  local values = inside(run, 0, run.count + 1)
  if values.n == 0 then return behind end
  return unpack(values, 1, values.n)
end

function lpeg.type(value)
  if nodes[value] then return "pattern" end
  return nil
end

function lpeg.print(value)
  node_of(value)
  print("a pattern")
end

function lpeg.version() return "0.8 (Pilotfish)" end

function lpeg.setmaxstack(count) depth_max = count end

local CLASSES = {
  alnum = "%w", alpha = "%a", cntrl = "%c", digit = "%d", lower = "%l", punct = "%p", space = "%s",
  upper = "%u", xdigit = "%x",
}
function lpeg.locale(into)
  into = into or {}
  for name, class in pairs(CLASSES) do
    local bytes = {}
    for one = 0, 255 do
      if one ~= 0 and char(one):find(class) then bytes[one] = true end
    end
    into[name] = pattern_of(set_of(bytes))
  end
  local graph, print = {}, {}
  for one = 33, 126 do graph[one] = true end
  for one = 32, 126 do print[one] = true end
  into.graph, into.print = pattern_of(set_of(graph)), pattern_of(set_of(print))
  return into
end

meta.__index = { match = lpeg.match }

lpeg._COPYRIGHT = "the authors of Pilotfish"
lpeg._DESCRIPTION = "Pilotfish: parsing expression grammars, with the API of LPeg"
lpeg._VERSION = "0.8"

return lpeg
