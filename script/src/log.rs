//! Where scripts log to: levels as `chassis.log` has them, and who takes the lines.

/// How loud a line is, by the names that scripts use, loudest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// "error"; the original ended the process on it, here it is only loud.
    Error,
    /// "critical".
    Critical,
    /// "warning".
    Warning,
    /// "message", which `chassis.log` uses when it is given nil, and `print` behind `chassis`.
    Message,
    /// "info".
    Info,
    /// "debug".
    Debug,
}

impl Level {
    /// All there are, loudest first.
    pub const ALL: [Self; 6] = [
        Self::Error,
        Self::Critical,
        Self::Warning,
        Self::Message,
        Self::Info,
        Self::Debug,
    ];

    /// Its name in scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Message => "message",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// Takes what scripts log.
pub trait Log: Send + Sync {
    /// Logs one line, its place in the script in front of it.
    fn log(&self, level: Level, line: &str);

    /// The same with fields, as a JSON object.
    fn log_with(&self, level: Level, line: &str, data: &str) {
        self.log(level, &format!("{line} {data}"));
    }
}
