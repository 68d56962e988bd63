-- Packets both ways: each function's keys, defaults and refusals.
local proto = require("mysql.proto")
eq(_G.proto, proto)
local count = 0
for _, value in pairs(proto) do if type(value) == "function" then count = count + 1 end end
eq(count, 17)

local function same(got, wanted, what)
  for key, value in pairs(wanted) do eq(got[key], value, what .. "." .. key) end
  for key, value in pairs(got) do eq(wanted[key], value, what .. "." .. key) end
end

-- ERR.
eq(proto.to_err_packet{}, "\255\0\0#07000")
eq(proto.to_err_packet{ errmsg = "no", sqlstate = "42000", errcode = 1064 }, "\255\40\4#42000no")
same(proto.from_err_packet("\255\40\4#42000no"), { errmsg = "no", sqlstate = "42000", errcode = 1064 }, "err")
eq(proto.from_err_packet("\255\40\4#42000").errmsg, nil)
eq(#proto.to_err_packet{ errmsg = ("x"):rep(600) }, 9 + 512)
eq(proto.to_err_packet{ sqlstate = "1" }, "\255\0\0#10000")
fails("from_err_packet%(%) failed", proto.from_err_packet, "\255\40\4old form")
fails("from_err_packet%(%) failed", proto.from_err_packet, "\0\40\4#42000")

-- OK.
eq(proto.to_ok_packet{}, "\0\0\0\0\0\0\0")
same(proto.from_ok_packet("\0\1\2\3\0\4\0"), { affected_rows = 1, insert_id = 2, server_status = 3, warnings = 4 }, "ok")
local wide = { affected_rows = 300, insert_id = 2 ^ 40, server_status = 2, warnings = 65535 }
same(proto.from_ok_packet(proto.to_ok_packet(wide)), wide, "ok")
fails("from_ok_packet%(%) failed", proto.from_ok_packet, "")
fails("from_ok_packet%(%) failed", proto.from_ok_packet, "\0\1\2\3")
fails("from_ok_packet%(%) failed", proto.from_ok_packet, "\1\1\2\3\0\4\0")

-- EOF.
eq(proto.to_eof_packet{}, "\254\0\0\0\0")
same(proto.from_eof_packet("\254\1\0\2\0"), { warnings = 1, server_status = 2 }, "eof")
fails("from_eof_packet%(%) failed", proto.from_eof_packet, "\254")
fails("from_eof_packet%(%) failed", proto.from_eof_packet, "\0\1\0\2\0")

-- The greeting.
local plain = proto.from_challenge_packet(proto.to_challenge_packet{})
same(plain, {
  protocol_version = 0, server_version = 50099, thread_id = 0, capabilities = 0x8200, charset = 0,
  server_status = 0, challenge = "01234567890123456789",
}, "challenge")
local packet = proto.to_challenge_packet{ server_version = 50114, thread_id = 7, charset = 8, server_status = 2 }
eq(packet:sub(1, 9), "\0105.01.14\0")
local full = proto.from_challenge_packet(packet)
eq(full.server_version, 50114)
eq(full.thread_id, 7)
eq(full.charset, 8)
eq(full.server_status, 2)
for given, text in pairs{ [0] = "5.0.99", [29999] = "5.0.99", [30000] = "3.00.00", [100001] = "5.0.99", [80036] = "8.00.36" } do
  eq(proto.to_challenge_packet{ server_version = given }:match("^\10([^%z]*)"), text, given)
end
eq(proto.to_challenge_packet{ protocol_version = 9 }:byte(), 9)
local named = "\0105.5.5-10.11.19-MariaDB\0" .. "\1\0\0\0" .. "abcdefgh\0" .. "\0\130" .. "\8" .. "\2\0" .. "\8\0" .. "\21" ..
  ("\0"):rep(10) .. "ijklmnopqrst\0" .. "mysql_native_password\0"
local named = proto.from_challenge_packet(named)
eq(named.server_version, 50505)
eq(named.auth_plugin_name, "mysql_native_password")
eq(named.challenge, "abcdefghijklmnopqrst\0")
-- It goes back as it came, with its NUL or without.
local again = proto.to_challenge_packet{ challenge = named.challenge }
eq(again, proto.to_challenge_packet{ challenge = "abcdefghijklmnopqrst" })
fails("from_challenge_packet%(%) failed", proto.from_challenge_packet, "\10")

-- The client's answer.
local CONNECT_WITH_DB, PLUGIN_AUTH = 8, 2 ^ 19
local simple = proto.to_response_packet{ username = "me", response = ("x"):rep(20), server_capabilities = 0x8200 }
same(proto.from_response_packet(simple, 0x8200), {
  capabilities = 0x8200, server_capabilities = 0x8200, max_packet_size = 0, charset = 0, username = "me",
  response = ("x"):rep(20),
}, "response")
local flags = 0x8200 + CONNECT_WITH_DB + PLUGIN_AUTH
local given = {
  capabilities = flags, server_capabilities = flags, max_packet_size = 2 ^ 24, charset = 33, username = "me",
  response = "secret", database = "shop", auth_plugin_name = "mysql_native_password",
}
same(proto.from_response_packet(proto.to_response_packet(given), flags), given, "response")
-- The server cannot take a database.
given.server_capabilities = 0x8200
eq(proto.from_response_packet(proto.to_response_packet(given), 0x8200).database, nil)
-- A client that names none says its plugin next.
given.capabilities, given.server_capabilities = flags - CONNECT_WITH_DB, flags - CONNECT_WITH_DB
local none = proto.from_response_packet(proto.to_response_packet(given), flags)
eq(none.database, nil)
eq(none.auth_plugin_name, "mysql_native_password")
-- Without a plugin what follows is the database.
local bare = { username = "me", database = "shop", server_capabilities = 0x8208 }
eq(proto.from_response_packet(proto.to_response_packet(bare), 0x8208).database, "shop")
-- Scripts of before 0.8.3 do not say what the server can.
eq(proto.from_response_packet(proto.to_response_packet{ username = "old" }).username, "old")
fails("%.server_capabilities has to be a number", proto.to_response_packet, { server_capabilities = {} })
fails("%.username has to be a string", proto.to_response_packet, { username = {} })
fails("from_response_packet%(%) failed", proto.from_response_packet, ("\0"):rep(40), 0)
fails("bad argument #2", proto.from_response_packet, simple, {})

-- master.info.
local info = {
  master_lines = 15, master_log_file = "bin.000002", master_log_pos = 106, master_host = "db1",
  master_user = "repl", master_password = "123", master_port = 3306, master_connect_retry = 60, master_ssl = 0,
  master_ssl_verify_server_cert = 1,
}
local text = proto.to_masterinfo_string(info)
eq(text, "15\nbin.000002\n106\ndb1\nrepl\n123\n3306\n60\n0\n\n\n\n\n\n1\n")
same(proto.from_masterinfo_string(text), info, "masterinfo")
eq(proto.from_masterinfo_string((text:gsub("^15", "14"))).master_ssl_verify_server_cert, nil)
fails("from_masterinfo_string%(%) failed", proto.from_masterinfo_string, "")
fails("from_masterinfo_string%(%) failed", proto.from_masterinfo_string, "14\nbin\nx\n")

-- Prepared statements.
eq(proto.from_stmt_prepare_packet("\22SELECT ?").stmt_text, "SELECT ?")
fails("from_stmt_prepare_packet%(%) failed", proto.from_stmt_prepare_packet, "\3SELECT 1")
same(proto.from_stmt_prepare_ok_packet("\0\1\0\0\0\2\0\3\0\0\4\0"),
  { stmt_id = 1, num_columns = 2, num_params = 3, warnings = 4 }, "prepare_ok")
fails("from_stmt_prepare_ok_packet%(%) failed", proto.from_stmt_prepare_ok_packet, "\255")
eq(proto.from_stmt_close_packet("\25\5\0\0\0").stmt_id, 5)
fails("from_stmt_close_packet%(%) failed", proto.from_stmt_close_packet, "\25\5")
eq(proto.stmt_id_from_stmt_execute_packet("\23\5\1\0\0"), 261)
fails("failed", proto.stmt_id_from_stmt_execute_packet, "\22\5\1\0\0")

local function execute(types, values, null)
  return "\23\1\0\0\0" .. "\0" .. "\1\0\0\0" .. (null or "\0") .. "\1" .. types .. values
end
local VALUES = {
  { "\1\0", "\255", 1, -1 }, { "\1\128", "\255", 1, 255 },
  { "\2\0", "\1\128", 2, -32767 }, { "\2\128", "\1\128", 2, 32769 },
  { "\3\0", "\255\255\255\255", 3, -1 }, { "\3\128", "\255\255\255\255", 3, 2 ^ 32 - 1 },
  { "\8\0", "\255\255\255\255\255\255\255\255", 8, -1 }, { "\8\128", "\0\0\0\0\0\0\0\128", 8, 2 ^ 63 },
  { "\4\0", "\0\0\192\63", 4, 1.5 }, { "\5\0", "\0\0\0\0\0\0\248\63", 5, 1.5 },
  { "\254\0", "\3abc", 254, "abc" }, { "\253\0", "\0", 253, "" }, { "\252\0", "\252\2\0ab", 252, "ab" },
  { "\10\0", "\4\218\7\3\2", 10, "2010-03-02" }, { "\10\0", "\0", 10, "0000-00-00" },
  { "\12\0", "\7\218\7\3\2\1\2\3", 12, "2010-03-02 01:02:03.000000000" },
  { "\12\0", "\11\218\7\3\2\1\2\3\1\0\0\0", 12, "2010-03-02 01:02:03.000000001" },
  { "\7\0", "\4\218\7\3\2", 7, "2010-03-02 00:00:00.000000000" },
  { "\11\0", "\12\1\120\0\0\0\19\27\30\1\0\0\0", 11, "-120 19:27:30.000000001" },
  { "\11\0", "\8\0\0\0\0\0\1\2\3", 11, "0 01:02:03.000000000" },
  { "\11\0", "\0", 11, "0 00:00:00.000000000" },
  { "\6\0", "", 6, nil },
}
for index, case in ipairs(VALUES) do
  local types, values, kind, value = case[1], case[2], case[3], case[4]
  local decoded = proto.from_stmt_execute_packet(execute(types, values), 1)
  eq(decoded.params[1].type, kind, "type " .. index)
  eq(decoded.params[1].value, value, "value " .. index)
end
local null = proto.from_stmt_execute_packet(execute("\254\0\3\0", "\1\0\0\0", "\1"), 2)
eq(null.params[1].value, nil)
eq(null.params[1].type, 254)
eq(null.params[2].value, 1)
eq(null.new_params_bound, true)
eq(null.iteration_count, 1)
eq(null.flags, 0)
eq(null.stmt_id, 1)
local unbound = proto.from_stmt_execute_packet("\23\1\0\0\0\0\1\0\0\0\0\0abc", 1)
eq(unbound.new_params_bound, false)
eq(unbound.params, nil)
eq(proto.from_stmt_execute_packet("\23\1\0\0\0\0\1\0\0\0", 0).new_params_bound, false)
for _, kind in ipairs{ "\0", "\13", "\16", "\247", "\248", "\255" } do
  fails("from_stmt_execute_packet%(%) failed", proto.from_stmt_execute_packet, execute(kind .. "\0", "\1a"), 1)
end
fails("failed", proto.from_stmt_execute_packet, execute("\3\0", "\1"), 1)
fails("failed", proto.from_stmt_execute_packet, execute("\12\0", "\5\1\1\1\1\1"), 1)
for _, wrong in ipairs{ -1, 65536, 1e300 } do
  fails("number of parameters", proto.from_stmt_execute_packet, execute("", ""), wrong)
end
fails("number expected, got no value", proto.from_stmt_execute_packet, "\23")

-- Numbers that are none.
for _, number in ipairs{ -1, 0 / 0, 1 / 0, -1 / 0, 1e300, 2 ^ 53 } do
  for name, encode in pairs(proto) do
    if type(encode) == "function" and name:find("^to_") then
      local ok = pcall(encode, setmetatable({}, { __index = function() return number end }))
      eq(type(ok), "boolean", name)
    end
  end
end
for name, decode in pairs(proto) do
  if type(decode) == "function" and name:find("^from_") then
    fails("string expected", decode, nil)
    fails("string expected", decode, {}, 1)
  end
end
