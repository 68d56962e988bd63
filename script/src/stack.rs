//! The stack of calls as a script sees it in MySQL Proxy: functions of scripts, and functions of C that they call.
//!
//! Some functions that MySQL Proxy has in C are the proxy's own Lua code here, in chunks whose names begin with
//! [`OWN`]. A call of such a function counts as one call of a C function, with all its inner calls. The code that calls
//! a hook is no part of the stack.
//!
//! ```text
//!   in memory                          as a script sees it
//!   script's function                  [string "x.lua"]:5: in function <[string "x.lua"]:4>
//!   C: Lua's own pcall                 (part of the next)
//!   pcall of prelude.lua               [C]: in function 'pcall'
//!   script's hook                      [string "x.lua"]:9: in function <[string "x.lua"]:8>
//!   hooks.lua, waiting.lua             (nothing)
//! ```

use mlua::Lua;
use mlua::debug::Debug;

/// The prefix of the names of the proxy's own chunks.
pub(crate) const OWN: &str = "=pilotfish.";

/// The chunk whose functions are hidden from scripts: they stand between an error and the script's handler.
pub(crate) const HANDLER: &str = "=pilotfish:handler";

/// The owner of a function in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameKind {
    Script,
    /// Of C or Rust.
    Native,
    /// Of the proxy's own Lua code.
    Own,
    Handler,
    /// Lua's note that a function's frame is gone, because the function ended with a tail call.
    Tail,
}

fn kind(lua: &Lua, level: usize) -> Option<FrameKind> {
    lua.inspect_stack(level, |debug| {
        let source = debug.source();
        match (source.what, source.source.as_deref()) {
            ("C", _) => FrameKind::Native,
            ("tail", _) => FrameKind::Tail,
            (_, Some(name)) if is_own(name) => FrameKind::Own,
            (_, Some(HANDLER)) => FrameKind::Handler,
            _ => FrameKind::Script,
        }
    })
}

/// Whether a chunk of this name is the proxy's own.
pub(crate) fn is_own(source: &str) -> bool {
    source.starts_with(OWN)
}

/// A call that a script sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The level in memory: 0 is the proxy's function that runs.
    pub(crate) level: usize,
    kind: FrameKind,
    /// A script has called the function, so Lua knows the name that the script used.
    has_name: bool,
}

impl Frame {
    /// Whether the function is the proxy's own Lua code, which counts as a C function.
    pub(crate) fn is_own(&self) -> bool {
        self.kind == FrameKind::Own
    }

    /// Whether this is Lua's note of a function whose frame is gone.
    pub(crate) fn is_tail(&self) -> bool {
        self.kind == FrameKind::Tail
    }

    /// The place, in the form of `luaL_where`; empty if the function is not a script's.
    pub(crate) fn location(&self, lua: &Lua) -> String {
        match self.kind {
            FrameKind::Script => place_at(lua, self.level).unwrap_or_default(),
            _ => String::new(),
        }
    }

    /// The function's name and the kind of the name, if Lua knows them.
    pub(crate) fn name(&self, debug: &Debug<'_>) -> Option<(String, &'static str)> {
        let names = self.has_name.then(|| debug.names())?;
        Some((names.name?.into_owned(), names.name_what?))
    }
}

/// The calls that a script sees, beginning with the proxy's function that runs.
pub(crate) struct Frames<'a> {
    lua: &'a Lua,
    level: usize,
    /// The script sees the call above.
    was_seen: bool,
}

impl<'a> Frames<'a> {
    pub(crate) fn new(lua: &'a Lua) -> Self {
        Self::at(lua, 0)
    }

    /// The calls from a level in memory on.
    pub(crate) fn at(lua: &'a Lua, level: usize) -> Self {
        Self {
            lua,
            level,
            was_seen: level > 0,
        }
    }

    fn kind_at(&self, level: usize) -> Option<FrameKind> {
        kind(self.lua, level)
    }

    /// Whether the proxy's own code has called a C function.
    fn is_within_own(&self, level: usize) -> bool {
        let mut callers = (level + 1..).map(|level| self.kind_at(level));
        let caller = callers.find(|caller| *caller != Some(FrameKind::Native));
        caller == Some(Some(FrameKind::Own))
    }

    fn is_seen(&self, level: usize, kind: FrameKind) -> bool {
        match kind {
            FrameKind::Script => true,
            FrameKind::Tail => self.was_seen,
            FrameKind::Handler => false,
            FrameKind::Native if level == 0 => true,
            FrameKind::Native => !self.is_within_own(level) && self.is_above_a_script(level),
            FrameKind::Own => {
                self.kind_at(level + 1) != Some(FrameKind::Own) && self.is_above_a_script(level)
            }
        }
    }

    /// Whether a script is among the callers, so that not only the proxy has called it.
    fn is_above_a_script(&self, level: usize) -> bool {
        let mut callers = (level + 1..).map_while(|level| kind(self.lua, level));
        callers.any(|caller| caller == FrameKind::Script)
    }
}

impl Iterator for Frames<'_> {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        loop {
            let level = self.level;
            let kind = self.kind_at(level)?;
            self.level += 1;
            let is_seen = self.is_seen(level, kind);
            if kind != FrameKind::Tail {
                self.was_seen = is_seen;
            }
            if is_seen {
                let caller = self.kind_at(level + 1);
                return Some(Frame {
                    level,
                    kind,
                    has_name: caller == Some(FrameKind::Script),
                });
            }
        }
    }
}

/// The number of calls in memory.
pub(crate) fn depth(lua: &Lua) -> usize {
    let is_there = |level: usize| lua.inspect_stack(level, |_| ()).is_some();
    let (mut known, mut step) = (0, 1);
    while is_there(known + step) {
        known += step;
        step *= 2;
    }
    while step > 0 {
        if is_there(known + step) {
            known += step;
        }
        step /= 2;
    }
    known + 1
}

/// The place of the script at this level in memory, in the form of `luaL_where`. If the level is the proxy's own
/// code, it is the place of the script that has called that code; empty if a C function has called it.
pub(crate) fn location(lua: &Lua, level: usize) -> String {
    let mut levels = (level..).map(|level| (level, kind(lua, level)));
    match levels.find(|(_, kind)| *kind != Some(FrameKind::Own)) {
        Some((level, Some(FrameKind::Script))) => place_at(lua, level).unwrap_or_default(),
        _ => String::new(),
    }
}

fn place_at(lua: &Lua, level: usize) -> Option<String> {
    let found = lua.inspect_stack(level, |debug| {
        let source = debug.source().short_src?.into_owned();
        Some((source, debug.current_line()?))
    });
    let (source, line) = found.flatten()?;
    Some(format!("{source}:{line}: "))
}
