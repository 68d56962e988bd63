//! The budget of one call into Lua: instructions, time, memory.
//!
//! A debug hook checks every [`STEP`] instructions; in a shorter call it never runs. Coroutines
//! inherit it. If a limit is passed, the hook raises an error. `pcall`, `xpcall`, `load` and
//! `coroutine.resume` ask [`Budget::is_spent`] (`prelude.lua`), so a script cannot catch that error.
//! The allocator checks the memory; an allocation that fails is an ordinary error of Lua.
//!
//! A hook cannot interrupt a call of a C function of Lua. Functions that take long for long arguments are
//! charged for their bytes ([`Budget::charge`]), so that only a few of them run between two checks. Only
//! the pattern functions and blocking functions (reading from a pipe) can take long in a single call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mlua::{Error, Function, HookTriggers, Lua, VmState};
use system::Clock;

use crate::fault::{Fault, is_of_memory, message};
use crate::limits::{Limit, Limits};
use crate::raised::worded;
use crate::stack::location;

/// Instructions between two checks: about 5 µs.
pub(crate) const STEP: u32 = 1000;

/// Bytes that Lua's library handles in the time of one instruction, about.
const BYTES_OF_INSTRUCTION: u64 = 16;

/// The budget of the current call. One thread at a time uses it. Its fields are atomic only because the compiler
/// requires `Sync`.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    is_running: AtomicBool,
    instructions: AtomicU64,
    clock: Clock,
    origin: Instant,
    /// Nanoseconds since `origin`; `u64::MAX`: no deadline.
    deadline: AtomicU64,
    memory_max: AtomicUsize,
    /// If more bytes are in use, garbage is collected, so that garbage does not pass the limit.
    collect_above: AtomicUsize,
    /// The code of the passed [`Limit`], or 0.
    passed: AtomicU8,
    /// Bytes that scripts' objects hold outside the Lua state, now and at the beginning of the call.
    outside: Arc<AtomicUsize>,
    outside_before: AtomicUsize,
}

/// Bytes that a script's object holds outside the Lua state. They count until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    bytes: usize,
    outside: Arc<AtomicUsize>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.outside.fetch_sub(self.bytes, Relaxed);
    }
}

impl Budget {
    pub(crate) fn new(limits: Limits, clock: Clock) -> Self {
        Self {
            limits,
            is_running: AtomicBool::new(false),
            instructions: AtomicU64::new(0),
            origin: clock.steady(),
            clock,
            deadline: AtomicU64::new(u64::MAX),
            memory_max: AtomicUsize::new(usize::MAX),
            collect_above: AtomicUsize::new(usize::MAX),
            passed: AtomicU8::new(0),
            outside: Arc::default(),
            outside_before: AtomicUsize::new(0),
        }
    }

    /// Installs the debug hook permanently.
    pub(crate) fn watch(self: &Arc<Self>, lua: &Lua, collect: Function) -> mlua::Result<()> {
        let budget = Arc::clone(self);
        let triggers = HookTriggers::new().every_nth_instruction(STEP);
        lua.set_global_hook(triggers, move |lua, _| {
            budget.check_step(lua, &collect)?;
            Ok(VmState::Continue)
        })
    }

    /// Runs a function under the limits. A call within a call has no limits of its own.
    pub(crate) fn call<R>(
        &self,
        lua: &Lua,
        run: impl FnOnce(&Lua) -> mlua::Result<R>,
    ) -> Result<R, Fault> {
        if self.is_running.load(Relaxed) {
            return run(lua).map_err(|error| self.fault(&worded(error)));
        }
        let running = Running::begin(self, lua);
        let result = run(lua).map_err(worded);
        drop(running);
        match (result, self.passed()) {
            (Ok(result), None) => Ok(result),
            (Ok(_), Some(limit)) => Err(Fault {
                message: self.text(limit),
                limit: Some(limit),
            }),
            (Err(error), _) => Err(self.fault(&error)),
        }
    }

    /// The limit that the current call has passed. Its error must not be caught.
    pub(crate) fn passed(&self) -> Option<Limit> {
        Limit::of_code(self.passed.load(Relaxed))
    }

    /// How much time the current call has left; `None`: no limit.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        match self.deadline.load(Relaxed) {
            u64::MAX => None,
            deadline => Some(Duration::from_nanos(deadline.saturating_sub(self.now()))),
        }
    }

    /// How many bytes the current call may still take.
    pub(crate) fn memory_left(&self, lua: &Lua) -> usize {
        let max = self.memory_max.load(Relaxed);
        let before = self.outside_before.load(Relaxed);
        let outside = self.outside.load(Relaxed).saturating_sub(before);
        max.saturating_sub(lua.used_memory())
            .saturating_sub(outside)
    }

    /// Counts bytes that a script's object holds outside the Lua state.
    pub(crate) fn hold(&self, bytes: usize) -> Held {
        self.outside.fetch_add(bytes, Relaxed);
        Held {
            bytes,
            outside: Arc::clone(&self.outside),
        }
    }

    /// The error that ends a call without enough memory.
    pub(crate) fn lacks_memory(&self, lua: &Lua) -> Error {
        self.pass(lua, Limit::Memory, 1)
    }

    /// Checks whether the call may have `bytes` outside the Lua state.
    ///
    /// # Errors
    /// The error that ends the call: there is not enough memory left for it, or no time.
    pub(crate) fn check(&self, lua: &Lua, bytes: usize) -> mlua::Result<()> {
        match bytes > self.memory_left(lua) {
            true => Err(self.lacks_memory(lua)),
            false => self.check_time(lua),
        }
    }

    /// Charges the work of a C function for `bytes` of arguments as instructions, and checks the time.
    /// `level`: the stack level whose place an error names.
    ///
    /// # Errors
    /// The one that ends the call.
    pub(crate) fn charge(&self, lua: &Lua, bytes: usize, level: usize) -> mlua::Result<()> {
        if !self.is_running.load(Relaxed) {
            return Ok(());
        }
        let charged = bytes as u64 / BYTES_OF_INSTRUCTION;
        let spent = self.instructions.fetch_add(charged, Relaxed) + charged;
        match spent > self.limits.instructions {
            true => Err(self.pass(lua, Limit::Instructions, level)),
            false if self.now() > self.deadline.load(Relaxed) => {
                Err(self.pass(lua, Limit::Time, level))
            }
            false => Ok(()),
        }
    }

    /// Checks the time as the hook does; for functions that may take long.
    ///
    /// # Errors
    /// The one that ends the call.
    pub(crate) fn check_time(&self, lua: &Lua) -> mlua::Result<()> {
        match self.now() > self.deadline.load(Relaxed) {
            true => Err(self.pass(lua, Limit::Time, 1)),
            false => Ok(()),
        }
    }

    fn check_step(&self, lua: &Lua, collect: &Function) -> mlua::Result<()> {
        if !self.is_running.load(Relaxed) {
            return Ok(());
        }
        if let Some(limit) = self.passed() {
            return Err(self.pass(lua, limit, 0));
        }
        let spent = self.instructions.fetch_add(u64::from(STEP), Relaxed) + u64::from(STEP);
        if spent > self.limits.instructions {
            return Err(self.pass(lua, Limit::Instructions, 0));
        }
        if self.now() > self.deadline.load(Relaxed) {
            return Err(self.pass(lua, Limit::Time, 0));
        }
        if lua.used_memory() > self.collect_above.load(Relaxed) {
            collect.call::<()>("collect")?;
            self.collect_later(lua.used_memory());
        }
        Ok(())
    }

    /// Plans the next collection of garbage, for when half of the remaining memory is used.
    fn collect_later(&self, used: usize) {
        let left = self.memory_max.load(Relaxed).saturating_sub(used);
        self.collect_above.store(used + left / 2, Relaxed);
    }

    fn pass(&self, lua: &Lua, limit: Limit, level: usize) -> Error {
        self.passed.store(limit as u8, Relaxed);
        Error::RuntimeError(format!("{}{}", location(lua, level), self.text(limit)))
    }

    fn text(&self, limit: Limit) -> String {
        match limit {
            Limit::Instructions => {
                let max = self.limits.instructions;
                format!("the script has passed its limit of {max} instructions")
            }
            Limit::Time => {
                let max = self.limits.time;
                format!("the script has passed its limit of time, {max:?}")
            }
            Limit::Memory => {
                let max = self.limits.memory_bytes;
                format!("the script has passed its limit of memory, {max} bytes")
            }
        }
    }

    fn fault(&self, error: &Error) -> Fault {
        let message = message(error);
        if let Some(limit) = self.passed() {
            let text = self.text(limit);
            return Fault {
                message: if message.contains(&text) {
                    message
                } else {
                    text
                },
                limit: Some(limit),
            };
        }
        if is_of_memory(error) {
            return Fault {
                message: format!("{message}: {}", self.text(Limit::Memory)),
                limit: Some(Limit::Memory),
            };
        }
        Fault {
            message,
            limit: None,
        }
    }

    fn now(&self) -> u64 {
        // 64 bits are 584 years of nanoseconds.
        self.clock.since(self.origin).as_nanos() as u64
    }
}

/// A call that is running. When it ends, also by a panic, the limits are removed.
struct Running<'a> {
    budget: &'a Budget,
    lua: &'a Lua,
}

impl<'a> Running<'a> {
    fn begin(budget: &'a Budget, lua: &'a Lua) -> Self {
        let limits = &budget.limits;
        let deadline = u64::try_from(limits.time.as_nanos())
            .ok()
            .and_then(|time| budget.now().checked_add(time));
        let used = lua.used_memory();
        let memory_max = used.saturating_add(limits.memory_bytes);
        budget.deadline.store(deadline.unwrap_or(u64::MAX), Relaxed);
        budget.memory_max.store(memory_max, Relaxed);
        budget.collect_later(used);
        let outside = budget.outside.load(Relaxed);
        budget.outside_before.store(outside, Relaxed);
        budget.instructions.store(0, Relaxed);
        budget.passed.store(0, Relaxed);
        budget.is_running.store(true, Relaxed);
        if limits.memory_bytes != usize::MAX {
            // It fails only for states with another allocator, which this state does not have.
            let _ = lua.set_memory_limit(memory_max);
        }
        Self { budget, lua }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let budget = self.budget;
        budget.is_running.store(false, Relaxed);
        budget.deadline.store(u64::MAX, Relaxed);
        budget.memory_max.store(usize::MAX, Relaxed);
        let _ = self.lua.set_memory_limit(0);
    }
}

#[cfg(test)]
mod tests;
