//! What a call into Lua costs: `cargo run --release -p pilotfish-script --example cost`.
#![allow(clippy::unwrap_used, missing_docs)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use pilotfish_script::mlua::{Function, Lua};
use pilotfish_script::{Interpreter, Level, Limits, Log, Setup};
use system::Clock;

struct Nobody;

impl Log for Nobody {
    fn log(&self, _: Level, _: &str) {}
}

const ROUNDS: usize = 200_000;

/// Measures the time of one call: the shortest of ten rounds.
fn time(name: &str, mut run: impl FnMut()) {
    let round = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            run();
        }
        start.elapsed()
    };
    let best = (0..10).map(|_| round(&mut run)).min();
    let each = best.unwrap_or(Duration::ZERO).as_nanos() / ROUNDS as u128;
    println!("{name:60} {each:6} ns");
}

fn interpreter(limits: Limits) -> Interpreter {
    let setup = Setup {
        limits,
        ..Setup::new(Arc::new(Nobody), Clock::new(Instant::now, SystemTime::now))
    };
    Interpreter::new(setup).unwrap()
}

fn main() {
    let plain = Lua::new();
    let empty: Function = plain.load("return function(p) end").eval().unwrap();
    time("an empty call, a state of mlua's", || {
        empty.call::<()>(()).unwrap();
    });
    let interpreter = interpreter(Limits::default());
    let lua = interpreter.lua();
    let get = |text: &str| -> Function { lua.load(text).eval().unwrap() };
    let empty = get("return function(p) end");
    time("an empty call, without limits", || {
        empty.call::<()>(()).unwrap();
    });
    time("an empty call under limits", || {
        interpreter.call(|_| empty.call::<()>(())).unwrap();
    });
    let packet: &[u8] = b"\x03SELECT c FROM sbtest1 WHERE id = 5012";
    time("the same with a packet", || {
        let run = |lua: &Lua| empty.call::<()>(lua.create_string(black_box(packet))?);
        interpreter.call(run).unwrap();
    });
    let read = get("return function(p) if p:byte() == 3 then local q = p:sub(2) end end");
    time("the same, its query read", || {
        let run = |lua: &Lua| read.call::<()>(lua.create_string(black_box(packet))?);
        interpreter.call(run).unwrap();
    });
    let tokenize = get("local t = require('mysql.tokenizer')
         return function(p) if p:byte() == 3 then local tokens = t.tokenize(p:sub(2)) end end");
    time("the same, tokenized", || {
        let run = |lua: &Lua| tokenize.call::<()>(lua.create_string(black_box(packet))?);
        interpreter.call(run).unwrap();
    });
    let looked = get("local t = require('mysql.tokenizer')
         return function(p)
           if p:byte() ~= 3 then return end
           local tokens = t.tokenize(p:sub(2))
           for i = 1, #tokens do
             local token = tokens[i]
             if token.token_name == 'TK_FUNCTION' and token.text == 'x' then return end
           end
         end");
    time("the same, each of its 8 tokens looked at", || {
        let run = |lua: &Lua| looked.call::<()>(lua.create_string(black_box(packet))?);
        interpreter.call(run).unwrap();
    });
    let protected =
        get("local f = function() end return function() for i = 1, 10 do pcall(f) end end");
    time("ten pcalls", || {
        interpreter.call(|_| protected.call::<()>(())).unwrap()
    });
    let busy = get("return function() for i = 1, 1000 do local x = i * 2 end end");
    time("a loop of 1000", || {
        interpreter.call(|_| busy.call::<()>(())).unwrap()
    });
    let busy: Function = plain
        .load("return function() for i = 1, 1000 do local x = i * 2 end end")
        .eval()
        .unwrap();
    time("a loop of 1000, a state of mlua's", || {
        busy.call::<()>(()).unwrap()
    });
}
