-- mysql.password, chassis, glib2, lfs, posix.
local password = require("mysql.password")
eq(_G.password, password)
local function hex(text) return (text:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end
local challenge = "01234567890123456789"
eq(hex(password.hash("123")), "40bd001563085fc35165329ea1ff5c5ecbdbbeef")
local hashed = password.hash("123")
local double_hashed = password.hash(hashed)
local response = password.scramble(challenge, hashed)
eq(#response, 20)
eq(password.scramble(challenge .. "\0", hashed), response)
eq(password.unscramble(challenge, response, double_hashed), hashed)
eq(password.check(challenge, response, double_hashed), true)
eq(password.check(challenge .. "\0", response, double_hashed), true)
eq(password.check(challenge, response, password.hash("other")), false)
for _, wrong in ipairs{ "", "short", ("x"):rep(22) } do
  eq(password.scramble(wrong, hashed), "")
  eq(password.scramble(challenge, wrong), "")
  eq(password.unscramble(wrong, response, double_hashed), "")
  eq(password.unscramble(challenge, wrong, double_hashed), "")
  eq(password.unscramble(challenge, response, wrong), "")
  eq(password.check(challenge, wrong, double_hashed), false)
end
eq(password.unscramble(challenge .. "\0", response, double_hashed), "")
fails("string expected", password.hash)

-- glib2
local glib2 = require("glib2")
eq(glib2.md5("abc"), "900150983cd24fb0d6963f7d28e17f72")
local time = glib2.get_current_time()
assert(time.tv_sec > 1.6e9 and time.tv_usec >= 0 and time.tv_usec < 1e6)
glib2.usleep(1)
glib2.usleep(-1)
glib2.usleep(0 / 0)
fails("number expected", glib2.usleep, "x")

-- chassis
local old_print = print
local chassis = require("chassis")
eq(os.print, old_print)
assert(print ~= old_print)
chassis.log("error", "the process goes on")
chassis.log(nil, "a message")
fails("bad argument #1 to 'log' %(invalid option 'loud'%)", chassis.log, "loud", "x")
fails("string expected", chassis.log, "info")
for _, level in ipairs{ "critical", "warning", "message", "info", "debug" } do
  chassis[level]("\255\0")
  fails("string expected", chassis[level])
end
assert(chassis.get_stats().chassis.lua_mem_bytes > 1000)
assert(chassis.get_stats("chassis").chassis.lua_mem_bytes_max > 1000)
eq(chassis.get_stats("proxy"), nil)
local stats, keys = chassis.get_stats().chassis, {}
for key, value in pairs(stats) do
  keys[#keys + 1] = key
  eq(type(value), "number", key)
end
table.sort(keys)
eq(table.concat(keys, " "), "lua_mem_alloc lua_mem_bytes lua_mem_bytes_max lua_mem_free")
eq(stats.lua_mem_alloc - stats.lua_mem_free, stats.lua_mem_bytes)
local big = ("x"):rep(1e6)
local more = chassis.get_stats().chassis
assert(more.lua_mem_bytes >= stats.lua_mem_bytes + #big)
eq(more.lua_mem_bytes_max, more.lua_mem_bytes)
big = nil
collectgarbage()
local less = chassis.get_stats().chassis
assert(less.lua_mem_bytes < more.lua_mem_bytes)
eq(less.lua_mem_bytes_max, more.lua_mem_bytes_max)
chassis.mem_profile()
fails("'tostring' must return a string", print, setmetatable({}, { __tostring = function() return {} end }))

-- posix
local posix = require("posix")
local pid = posix.getpid()
eq(pid, tonumber(io.open("/proc/self/stat"):read("*n")))
local me = posix.getpwuid(0)
eq(me.name, "root")
eq(me.uid, 0)
eq(me.gid, 0)
eq(me.dir, "/root")
eq(type(me.shell), "string")
eq(type(posix.getuid()), "number")
for _, nobody in ipairs{ 4294967294, -1, 2 ^ 40 } do eq(posix.getpwuid(nobody), nil) end
eq(posix.kill(pid, 0), 0)
for _, wrong in ipairs{ { 2 ^ 30, 0 }, { pid, 1000 }, { pid, -1 }, { -1, 0 }, { 2 ^ 60, 15 }, { -2 ^ 62, 15 }, { -1 / 0, 15 } } do
  eq(posix.kill(wrong[1], wrong[2]), -1, tostring(wrong[1]))
end

-- lfs
local lfs = require("lfs")
eq(_G.lfs, lfs)
local base = os.tmpname()
os.remove(base)
eq(lfs.mkdir(base), true)
eq(lfs.mkdir(base), nil)
assert(select(2, lfs.mkdir(base)):find("exists"))
eq(lfs.attributes(base, "mode"), "directory")
local name = base .. "/x\255"
local file = io.open(name, "w")
file:write("12345")
file:close()
eq(lfs.attributes(name).size, 5)
eq(lfs.attributes(name, "mode"), "file")
eq(lfs.touch(name, 1000, 2000), true)
eq(lfs.attributes(name, "access"), 1000)
eq(lfs.attributes(name, "modification"), 2000)
eq(lfs.touch(name), true)
assert(lfs.attributes(name, "modification") > 1.6e9)
fails("invalid attribute", lfs.attributes, name, "colour")
eq(lfs.attributes(base .. "/none"), nil)
local seen = {}
for entry in lfs.dir(base) do seen[#seen + 1] = entry end
table.sort(seen)
eq(table.concat(seen, " "), ". .. x\255")
fails("cannot open", lfs.dir, base .. "/none")
eq(lfs.rmdir(base), nil)
eq(lfs.link(name, base .. "/hard"), true)
eq(lfs.link("x\255", base .. "/soft", true), true)
eq(lfs.link(name, base .. "/hard"), nil)
eq(lfs.attributes(name, "nlink"), 2)
eq(lfs.attributes(base .. "/soft", "mode"), "file")
eq(lfs.symlinkattributes(base .. "/soft", "mode"), "link")
eq(lfs.symlinkattributes(base .. "/soft").size, 2)
eq(lfs.symlinkattributes(base .. "/none"), nil)
os.remove(base .. "/hard")
os.remove(base .. "/soft")
local lock = lfs.lock_dir(base)
eq(lfs.symlinkattributes(base .. "/lockfile.lfs", "mode"), "link")
local none, why = lfs.lock_dir(base)
eq(none, nil)
assert(why:find("exists"), why)
eq(lfs.lock_dir(base, 3600), nil)
local taken = lfs.lock_dir(base, 0)
eq(type(taken), "table")
eq(taken:free(), true)
eq(lock:free(), false)
eq(lfs.lock_dir(base .. "/none"), nil)
lfs.lock_dir(base):free()
eq(select(2, lfs.setmode(io.stdout, "text")), "binary")
eq(lfs.setmode(io.stdout, "binary"), true)
fails("invalid option 'other'", lfs.setmode, io.stdout, "other")
os.remove(name)
eq(lfs.rmdir(base), true)
eq(lfs.currentdir():sub(1, 1), "/")
eq(lfs.chdir("/no/such/folder"), nil)
local here = lfs.currentdir()
eq(lfs.chdir("."), true)
eq(lfs.currentdir(), here)
for _, name in ipairs{ "lock", "unlock" } do
  local done, why = lfs[name](io.stdout, "w")
  eq(done, nil)
  assert(why:find("unsupported"), why)
end
for _, name in ipairs{
  "attributes", "chdir", "currentdir", "dir", "link", "lock", "lock_dir", "mkdir", "rmdir", "setmode",
  "symlinkattributes", "touch", "unlock",
} do
  eq(type(lfs[name]), "function", name)
end
