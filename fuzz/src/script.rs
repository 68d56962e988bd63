//! The modules of scripts that read bytes of clients. For any bytes a script gets a value or an
//! error that it can catch. A packet that is encoded again is the same as before.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use script::mlua::{Function, Lua};
use script::{Interpreter, Level, Limits, Log, Setup};
use system::Clock;

use crate::input::Input;

const CHECKS: &str = r#"
local tokenizer, proto = require("mysql.tokenizer"), require("mysql.proto")
local library = require("proxy.tokenizer")

function tokens(statement)
  local all, bytes = tokenizer.tokenize(statement), 0
  for i = 1, #all do
    local token = all[i]
    assert(token.token_id >= 0 and token.token_id <= 261)
    assert(token.token_name:find("^TK_%u"))
    bytes = bytes + #token.text
  end
  assert(bytes <= #statement and #all <= #statement)
  library.normalize(all)
  library.tokens_to_query(all)
end

local DECODERS = {
  [0] = "err_packet", "ok_packet", "eof_packet", "challenge_packet", "masterinfo_string", "stmt_prepare_packet",
  "stmt_prepare_ok_packet", "stmt_close_packet", "response_packet", "stmt_execute_packet",
}
local AGAIN = { err_packet = true, ok_packet = true, eof_packet = true, masterinfo_string = true, response_packet = true }

function packets(number, parameter, packet)
  local name = DECODERS[number]
  if not name then
    pcall(proto.stmt_id_from_stmt_execute_packet, packet)
    return
  end
  local decode = proto["from_" .. name]
  if name ~= "stmt_execute_packet" then parameter = nil end
  local ok, read = pcall(decode, packet, parameter)
  if not ok then
    assert(type(read) == "string" and read:find("failed"), read)
    return
  end
  assert(type(read) == "table")
  local encode = proto["to_" .. name]
  if not encode then return end
  local made = encode(read)
  if not AGAIN[name] or #(read.errmsg or "") > 512 then return end
  local again = decode(made)
  for key, value in pairs(read) do assert(again[key] == value, key) end
  for key, value in pairs(again) do assert(read[key] == value, key) end
end
"#;

struct Nobody;

impl Log for Nobody {
    fn log(&self, _: Level, _: &str) {}
}

thread_local! {
    static INTERPRETER: Interpreter = {
        let clock = Clock::new(Instant::now, SystemTime::now);
        let setup = Setup { limits: Limits::NONE, ..Setup::new(Arc::new(Nobody), clock) };
        let interpreter = Interpreter::new(setup).expect("nothing is in its way");
        interpreter.lua().load(CHECKS).exec().expect("the checks are Lua");
        interpreter
    };
}

fn check(run: impl FnOnce(&Lua, &dyn Fn(&str) -> Function) -> script::mlua::Result<()>) {
    INTERPRETER.with(|interpreter| {
        let checked = interpreter.call(|lua| {
            let get = |name: &str| lua.globals().get(name).expect("it is among the checks");
            run(lua, &get)
        });
        assert_eq!(checked, Ok(()));
    });
}

/// Input: a statement for `mysql.tokenizer`.
pub fn tokens(data: &[u8]) {
    check(|lua, get| get("tokens").call(lua.create_string(data)?));
}

/// Input: a decoder, a number of parameters, and a payload for `mysql.proto`.
pub fn packets(data: &[u8]) {
    let mut input = Input::new(data);
    let (decoder, parameters) = (input.u8() % 11, input.u16());
    let packet = input.rest();
    check(|lua, get| get("packets").call((decoder, parameters, lua.create_string(packet)?)));
}
