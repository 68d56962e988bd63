//! The limits of one call into Lua.

use std::fmt;
use std::time::Duration;

/// The limits of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of Lua's virtual machine, checked after every thousand.
    pub instructions: u64,
    /// Elapsed (wall-clock) time.
    pub time: Duration,
    /// Bytes by which the state may grow, including garbage that was not collected yet.
    pub memory_bytes: usize,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self {
        instructions: u64::MAX,
        time: Duration::MAX,
        memory_bytes: usize::MAX,
    };

    /// The limits of the settings, in which 0 is no limit.
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

/// Returns a limit of the settings, in which zero means no limit.
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

/// The limit that a call has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The limit of instructions.
    Instructions = 1,
    /// The limit of time.
    Time = 2,
    /// The limit of memory.
    Memory = 3,
}

impl Limit {
    /// The name of the limit's setting.
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
