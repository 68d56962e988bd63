-- What scripts find of Lua 5.1 itself.
eq(_VERSION, "Lua 5.1")
for _, name in ipairs{ "base", "package", "table", "io", "os", "string", "math", "debug", "coroutine" } do
  if name ~= "base" then eq(type(_G[name]), "table", name) end
end
for _, name in ipairs{ "setfenv", "getfenv", "module", "loadstring", "unpack", "newproxy", "gcinfo" } do
  eq(type(_G[name]), "function", name)
end
eq(type(package.seeall), "function")
-- An escape that other Lua machines refuse.
eq(loadstring("return 'a\.b'")(), "a.b")
eq(("a\0b"):find("%z"), 2)
local t = {}
table.insert(t, nil)
eq(#t, 0)
eq(table.getn{ 1, 2 }, 2)
eq(math.mod(7, 3), 1)
eq(string.gfind, string.gmatch)

-- Environments.
local f = setfenv(function() x = 1; return y end, { y = 2 })
eq(f(), 2)
eq(getfenv(f).x, 1)
eq(x, nil)
local function own()
  setfenv(1, { eq = eq })
  inside = 5
  eq(inside, 5)
  return 1
end
eq(own(), 1)
eq(inside, nil)
local function callers() setfenv(2, setmetatable({}, { __index = getfenv(0) })) end
local function changed()
  callers()
  inside = 6
  return inside
end
eq(changed(), 6)
eq(inside, nil)
eq(setfenv(own, _G), own)
fails("cannot be replaced", setfenv, 0, {})
fails("cannot be replaced", debug.setfenv, "0", {})
fails("invalid level", setfenv, 100, {})
fails("bad argument #1 to 'setfenv' %(level must be non%-negative%)", setfenv, -1, {})
fails("level must be non%-negative", getfenv, -1)
for _, level in ipairs{ -0.5, 0.5 } do
  fails("cannot change environment of given object", setfenv, level, {})
  eq(getfenv(level), _G)
end
fails("cannot change environment of given object", setfenv, print, {})
fails("number expected, got table", getfenv, {})
fails("table expected, got no value", setfenv, 1)
fails("no function environment for tail call at level 2", function()
  local function inner()
    local environment = getfenv(2)
    return environment
  end
  return inner()
end)
-- As the last call of a function they are about that function.
local environment = { getfenv = getfenv, setfenv = setfenv }
eq(setfenv(function() return getfenv(1) end, environment)(), environment)
eq(setfenv(function() return getfenv() end, environment)(), environment)
eq(setfenv(function() return getfenv(1.9) end, environment)(), environment)
eq(setfenv(function() return getfenv(0) end, environment)(), _G)
local function callers() return getfenv(2) end
local function caller()
  local found = callers()
  return found
end
eq(setfenv(caller, environment)(), environment)
local other = {}
local function own() return setfenv(1, other) end
eq(own(), own)
eq(getfenv(own), other)
eq(coroutine.wrap(setfenv(function() return getfenv(1) end, environment))(), environment)
eq(getfenv(print), _G)

-- The process is not a script's to end.
fails("os.exit: a script cannot end the process", os.exit)
fails("os.exit", os.exit, 3)
eq(os.setlocale(), "C")
eq(os.setlocale("de_DE"), nil)

-- Errors are strings, whoever raises them.
local ok, message = pcall(require, "no.such.module")
eq(type(message), "string")
assert(message:find("no built-in module 'no.such.module'", 1, true), message)
assert(message:find("no C module", 1, true), message)
local ok, message = pcall(error, "as it is", 0)
eq(message, "as it is")
local thrown = {}
local ok, message = pcall(error, thrown)
eq(message, thrown)
eq(select("#", pcall(function() return nil, nil end)), 3)
local many = {}
for i = 1, 200 do many[i] = i end
eq(select("#", pcall(unpack, many)), 201)
eq(select(2, xpcall(function() error("in", 0) end, function(m) return m .. "side" end)), "inside")
local co = coroutine.create(function() error("in it", 0) end)
eq(select(2, coroutine.resume(co)), "in it")
eq(coroutine.status(co), "dead")
eq(select("#", coroutine.resume(coroutine.create(function() coroutine.yield(1, nil, 3) end))), 4)
eq(coroutine.wrap(function(a) return coroutine.yield(a) end)(5), 5)

-- Precompiled code.
local binary = string.dump(function() end)
eq(loadstring(binary), nil)
assert(select(2, loadstring(binary)):find("precompiled"))
local pieces = { binary }
eq(load(function() return table.remove(pieces) end), nil)
eq(load(function() error("reading", 0) end), nil)
local pieces = { "5", "return " }
eq(load(function() return table.remove(pieces) end)(), 5)
eq(select(2, loadstring("x = = 1", "=name")), "name:1: unexpected symbol near '='")
fails("precompiled", function()
  local name = os.tmpname()
  local file = io.open(name, "wb")
  file:write(binary)
  file:close()
  local ok, message = pcall(dofile, name)
  os.remove(name)
  error(message, 0)
end)

-- The collector can be asked, not stopped.
assert(collectgarbage("count") > 0)
eq(collectgarbage(), 0)
eq(collectgarbage("stop"), 0)
fails("invalid option", collectgarbage, "sweep")
eq(type(newproxy()), "userdata")
fails("metatable", newproxy, true)
eq(getmetatable(io.stdout).__gc, nil)

-- Strings that are long, or would be.
eq(("ab"):rep(3), "ababab")
eq(("x"):rep(0), "")
eq(("x"):rep(-1), "")
eq((""):rep(1e9), "")
eq(string.rep(5, "2"), "55")
fails("string expected", string.rep)

-- Patterns that would exhaust the stack.
for _, name in ipairs{ "find", "match", "gmatch", "gsub" } do
  fails("interpreter.lua:%d+: pattern too long", function()
    local found = string[name]("aaa", ("a?"):rep(1e5), "")
    return found
  end)
end
eq(("x"):rep(9000):find(("x"):rep(8999)), 1)
eq(("."):rep(9000):find(("."):rep(8999), 2, true), 2)
eq(("aaa"):find(("a?"):rep(2000)), 1)
eq(("abc"):gsub("%w", "%0%0", 2), "aabbc")
eq(("abc"):match("()c"), 3)
eq(("abc"):gsub("%w", { a = "1", b = false }), "1bc")
eq(select(2, ("abc"):gsub("%w", function() end)), 3)
fails("interpreter.lua:%d+: in it", string.gsub, "x", "x", function() error("in it") end)
fails("bad argument #3", string.gsub, "x", "x")
for _ = 1, 100 do pcall(string.gsub, "x", "x", error) end
local function f(n) return n == 0 and "y" or (("x"):gsub("x", function() return (f(n - 1)) end)) end
eq(f(30), "y")
fails("C stack overflow", f, 50)
eq(f(30), "y")

-- Errors of what is looked at before are those of Lua's own functions, with the script's line.
local function says(wanted, run, ...)
  local ok, message = pcall(run, ...)
  eq(ok, false, wanted)
  eq(message, wanted)
end
local function place() return "interpreter.lua:" .. debug.getinfo(2, "l").currentline .. ": " end
local p = place
says(p() .. "bad argument #1 to 'upper' (string expected, got nil)", function() local x = string.upper(nil) end)
says(p() .. "bad argument #1 to 'lower' (string expected, got no value)", function() local x = string.lower() end)
says(p() .. "bad argument #1 to 'mine' (string expected, got table)", function() local mine = string.reverse mine({}) end)
says(p() .. "bad argument #1 to 'find' (string expected, got no value)", function() local x = string.find() end)
says(p() .. "bad argument #2 to 'find' (string expected, got no value)", function() local x = string.find("x") end)
says(p() .. "bad argument #1 to 'find' (string expected, got nil)", function() local x = ("x"):find(nil) end)
says(p() .. "bad argument #3 to 'find' (number expected, got string)", function() local x = string.find("x", "x", "y") end)
says(p() .. "bad argument #2 to 'match' (string expected, got nil)", function() local x = string.match("x", nil) end)
says(p() .. "bad argument #2 to 'gmatch' (string expected, got no value)", function() local x = string.gmatch("x") end)
says(p() .. "bad argument #3 to 'gsub' (number expected, got table)", function() local x = ("x"):gsub("x", "y", {}) end)
says(p() .. "calling 'gsub' on bad self (string expected, got table)", function() local x = ({ gsub = string.gsub }):gsub("x", "y") end)
says(p() .. "bad argument #2 to 'rep' (number expected, got no value)", function() local x = string.rep("x") end)
says(p() .. "bad argument #1 to 'rep' (string expected, got nil)", function() local x = string.rep(nil, 5) end)
says(p() .. "bad argument #1 to 'concat' (table expected, got no value)", function() local x = table.concat() end)
says(p() .. "invalid value (table) at index 2 in table for 'concat'", function() local x = table.concat{ "x", {} } end)
says(p() .. "bad argument #1 to 'sort' (table expected, got nil)", function() table.sort(nil) end)
says(p() .. "bad argument #2 to 'sort' (function expected, got number)", function() table.sort({}, 5) end)
says(p() .. "invalid order function for sorting", function() table.sort({ 1, 1, 1, 1, 1, 1 }, function() return true end) end)
says(p() .. "malformed pattern (ends with '%')", function() local x = ("x"):find("%") end)
says(p() .. "malformed pattern (missing ']')", function() local x = ("x"):match("[a") end)
says(p() .. "malformed pattern (ends with '%')", function() for _ in ("x"):gmatch("%") do end end)
says(p() .. "unfinished capture", function() local x = ("x"):gsub("(x", print) end)
says(p() .. "invalid capture index", function() local x = (("x"):rep(1e5)):match("%1") end)
says(p() .. "invalid replacement value (a table)", function() local x = ("x"):gsub("x", function() return {} end) end)
says("bad argument #1 to 'upper' (string expected, got nil)", string.upper, nil)
-- Those of what they call go on as they are.
says("as it is", function() local x = ("x"):gsub("x", function() error("as it is", 0) end) end)
says("malformed", function() local x = ("x"):gsub("x", function() error("malformed", 0) end) end)
says(p() .. "in it", function() table.sort({ 1, 2 }, function() error("in it") end) end)
says("attempt to compare string with number", table.sort, { 1, "x" })
local thrown = {}
says(thrown, function() table.sort({ 1, 2 }, function() error(thrown) end) end)
says(thrown, function() local x = ("x"):gsub("x", function() error(thrown) end) end)

-- What is found in long texts, and how much of it.
for _, text in ipairs{ "abcdef", ("-"):rep(1e5) .. "abcdef" .. ("-"):rep(1e5) } do
  local at = #text > 6 and 1e5 or 0
  local function all(...) return select("#", ...) .. ":" .. table.concat({ ... }, " ") end
  eq(all(text:find("cd")), "2:" .. at + 3 .. " " .. at + 4)
  eq(all(text:find("c(d)")), "3:" .. at + 3 .. " " .. at + 4 .. " d")
  eq(all(text:find("(c)(d)")), "4:" .. at + 3 .. " " .. at + 4 .. " c d")
  eq(all(text:find("(b)(c)()(d)")), "6:" .. at + 2 .. " " .. at + 4 .. " b c " .. at + 4 .. " d")
  eq(all(text:find("(x)")), "1:")
  eq(all(text:match("cd")), "1:cd")
  eq(all(text:match("(b)c(d)")), "2:b d")
  eq(all(text:match("(b)(c)()(d)")), "4:b c " .. at + 4 .. " d")
  eq(all(text:match("(a)(b)(c)(d)(e)")), "5:a b c d e")
  eq(all(text:match("x")), "1:")
  eq(all(text:match("^cd", at + 3)), "1:cd")
  eq(all(text:match("%f[%w]%w+")), "1:abcdef")
  eq(all(text:find("c", -#text)), "2:" .. at + 3 .. " " .. at + 3)
  eq(all(text:find("", -2)), "2:" .. #text - 1 .. " " .. #text - 2)
  eq(all(text:find("x", 1, true)), "1:")
end
eq(string.find(12345, 34), 3)
-- A pattern that was well for one text is wrong for another, or stays well; twice, since it is known then.
for _ = 1, 3 do
  for pattern, wanted in pairs{
    ["[^]x]y[%]]()"] = "ay]", ["%[(%a)%]"] = "[b]", ["a%%*"] = "a%%", ["(a)(b)()"] = "ab", ["a[b"] = false, ["a%"] = false,
    ["a(b"] = false, ["a.)"] = false, ["a%b("] = false, ["a(%1)"] = false, ["a%f"] = false, ["a[]"] = false, ["a[%]"] = false,
    ["a[^]"] = false, [("()"):rep(33)] = false,
  } do
    pattern = "y" .. pattern
    eq(("z"):find(pattern), nil)
    if wanted then
      wanted = "y" .. wanted
      eq(select(2, wanted:find(pattern)), #wanted, pattern)
      eq(wanted:match("(" .. pattern .. ")"), wanted, pattern)
    else
      fails("^interpreter.lua:%d+: ", function() local x = ("yab"):find(pattern) end)
      fails("^interpreter.lua:%d+: ", function() local x = ("yab"):match(pattern) end)
    end
  end
end
eq(string.rep("x", "3"), "xxx")

-- debug.
local function g() return debug.getinfo(1, "nSl") end
local info = g()
eq(info.currentline, 251)
eq(info.short_src, "interpreter.lua")
eq(info.what, "Lua")
eq(info.name, "g")
eq(info.namewhat, "local")
local info = debug.getinfo(g)
eq(info.linedefined, 251)
eq(info.lastlinedefined, 251)
eq(info.func, g)
eq(info.source, "=interpreter.lua")
eq(debug.getinfo(100), nil)
eq(debug.getinfo(-1), nil)
eq(debug.getinfo(0 / 0) ~= nil, true)
eq(debug.getinfo(print).what, "C")
local trace = debug.traceback("why")
assert(trace:find("^why\nstack traceback:\n\tinterpreter.lua:%d+: in main chunk"), trace)
eq(debug.traceback(thrown), thrown)
fails("debug.sethook is not available", debug.sethook)
fails("debug.getregistry is not available", debug.getregistry)
local hidden = setmetatable({}, { __metatable = "hidden" })
eq(debug.getmetatable(hidden).__metatable, "hidden")

-- C modules.
eq(package.loadlib("/lib/x.so", "f"), nil)
eq(select(3, package.loadlib("/lib/x.so", "f")), "absent")

-- The shell: as system(3) says it.
eq(os.execute(), 1)
eq(os.execute("exit 3"), 3 * 256)
eq(os.execute("true"), 0)
eq(os.execute("kill -9 $$"), 9)
eq(os.execute("exit 1\0") ~= 0, true)
fails("string expected", os.execute, {})
