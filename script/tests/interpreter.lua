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

-- debug.
local function g() return debug.getinfo(1, "nSl") end
local info = g()
eq(info.currentline, 133)
eq(info.short_src, "interpreter.lua")
eq(info.what, "Lua")
eq(info.name, "g")
eq(info.namewhat, "local")
local info = debug.getinfo(g)
eq(info.linedefined, 133)
eq(info.lastlinedefined, 133)
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
