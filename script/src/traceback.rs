//! `debug.traceback`: the text of Lua 5.1 for the calls that a script sees.

use std::fmt::Write as _;

use mlua::Lua;

use crate::stack::{self, Frame, Frames};

/// For a deep stack Lua shows only the first calls and the last.
const FIRST: usize = 12;
const LAST: usize = 10;

/// So many calls in memory surely contain the last calls that a script sees.
const DEPTH_OF_LAST: usize = 400;

/// The lines from a level on; level 1 is the caller of the Rust function that runs.
pub(crate) fn lines(lua: &Lua, from: usize) -> String {
    let mut text = "stack traceback:".to_owned();
    let mut frames = Frames::new(lua).skip(from);
    let first: Vec<Frame> = frames.by_ref().take(FIRST.saturating_sub(from)).collect();
    // If only a few calls are left, they are shown as well.
    let next: Vec<Frame> = frames.by_ref().take(LAST + 2).collect();
    first.iter().for_each(|frame| add(lua, frame, &mut text));
    if next.len() < LAST + 2 {
        next.iter().for_each(|frame| add(lua, frame, &mut text));
        return text;
    }
    text.push_str("\n\t...");
    let reached = next.first().map_or(0, |frame| frame.level);
    let start = reached.max(stack::depth(lua).saturating_sub(DEPTH_OF_LAST));
    let rest: Vec<Frame> = Frames::at(lua, start).collect();
    let last = rest.iter().skip(rest.len().saturating_sub(LAST));
    last.for_each(|frame| add(lua, frame, &mut text));
    text
}

fn add(lua: &Lua, frame: &Frame, text: &mut String) {
    let line = lua.inspect_stack(frame.level, |debug| {
        let source = debug.source();
        let is_own = frame.is_own();
        let file = match is_own {
            true => "[C]".into(),
            false => source.short_src.unwrap_or_default(),
        };
        let mut line = format!("\n\t{file}:");
        if let Some(number) = debug.current_line().filter(|_| !is_own) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{number}:");
        }
        let what = match frame.name(debug) {
            Some((name, _)) => format!(" in function '{name}'"),
            None if source.what == "main" => " in main chunk".to_owned(),
            None if is_own || source.what != "Lua" => " ?".to_owned(),
            None => {
                let defined = source.line_defined.unwrap_or_default();
                format!(" in function <{file}:{defined}>")
            }
        };
        line + &what
    });
    text.push_str(&line.unwrap_or_default());
}
