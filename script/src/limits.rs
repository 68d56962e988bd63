//! The limits of one call into Lua.

use std::fmt;
use std::time::Duration;

/// What one call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of Lua's machine, looked at every thousand.
    pub instructions: u64,
    /// Time that passes, whatever it is spent on.
    pub time: Duration,
    /// Bytes that the state may grow by, garbage that was not collected yet included.
    pub memory_bytes: usize,
}

impl Limits {
    /// Everything.
    pub const NONE: Self = Self {
        instructions: u64::MAX,
        time: Duration::MAX,
        memory_bytes: usize::MAX,
    };

    /// As settings say them, where 0 is no limit.
    pub fn of_settings(instructions: u64, time: Duration, memory_bytes: u64) -> Self {
        Self {
            instructions: unless_zero(instructions),
            time: match time.is_zero() {
                true => Duration::MAX,
                false => time,
            },
            memory_bytes: usize::try_from(unless_zero(memory_bytes)).unwrap_or(usize::MAX),
        }
    }
}

/// Settings say "no limit" by zero.
pub fn unless_zero(limit: u64) -> u64 {
    match limit {
        0 => u64::MAX,
        limit => limit,
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            instructions: 10_000_000,
            time: Duration::from_secs(1),
            memory_bytes: 64 << 20,
        }
    }
}

/// Which limit a call has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Of instructions.
    Instructions = 1,
    /// Of time.
    Time = 2,
    /// Of memory.
    Memory = 3,
}

impl Limit {
    /// The setting that says how much it is.
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Self::Instructions => "script.instructions_max",
            Self::Time => "script.time_max",
            Self::Memory => "script.memory_bytes_max",
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        let all = [Self::Instructions, Self::Time, Self::Memory];
        all.into_iter().find(|limit| *limit as u8 == code)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Instructions => "instructions",
            Self::Time => "time",
            Self::Memory => "memory",
        })
    }
}
