//! The log of scripts: the levels of `chassis.log`, and the receivers of the lines.

/// The level of a line, by the names that scripts use, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// "error"; the original ended the process after it, the proxy only logs it.
    Error,
    /// "critical".
    Critical,
    /// "warning".
    Warning,
    /// "message", which `chassis.log` uses for nil, and `print` uses after `require("chassis")`.
    Message,
    /// "info".
    Info,
    /// "debug".
    Debug,
}

impl Level {
    /// All levels, the most severe first.
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

/// Receives the lines that scripts log.
pub trait Log: Send + Sync {
    /// Logs one line, its place in the script in front of it.
    fn log(&self, level: Level, line: &str);

    /// Logs one line with fields, which are a JSON object.
    fn log_with(&self, level: Level, line: &str, data: &str) {
        self.log(level, &format!("{line} {data}"));
    }
}

/// The log of the process: through `tracing`, with the target `script`.
pub struct ProcessLog;

impl Log for ProcessLog {
    fn log(&self, level: Level, line: &str) {
        match level {
            Level::Error | Level::Critical => tracing::error!(target: "script", "{line}"),
            Level::Warning => tracing::warn!(target: "script", "{line}"),
            Level::Message | Level::Info => tracing::info!(target: "script", "{line}"),
            Level::Debug => tracing::debug!(target: "script", "{line}"),
        }
    }

    fn log_with(&self, level: Level, line: &str, data: &str) {
        match level {
            Level::Error | Level::Critical => tracing::error!(target: "script", data, "{line}"),
            Level::Warning => tracing::warn!(target: "script", data, "{line}"),
            Level::Message | Level::Info => tracing::info!(target: "script", data, "{line}"),
            Level::Debug => tracing::debug!(target: "script", data, "{line}"),
        }
    }
}
