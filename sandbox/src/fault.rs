//! Why the sandbox could not be set up: a sentence, and the end of a log with details.

use std::fmt;
use std::path::Path;

/// Lines of a log that are shown with a fault.
const LOG_LINES: usize = 40;

/// An error that ended the sandbox or prevented its start.
#[derive(Debug)]
pub struct Fault {
    text: String,
    log_tail: Option<String>,
}

impl Fault {
    /// A fault with only `text`, a sentence without its full stop.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            log_tail: None,
        }
    }

    /// Adds the end of `log`. It is read now, because the file is removed with the sandbox.
    pub fn with_log(mut self, log: &Path) -> Self {
        self.log_tail = std::fs::read(log)
            .ok()
            .map(|bytes| tail(&String::from_utf8_lossy(&bytes)))
            .filter(|tail| !tail.is_empty());
        self
    }

    /// Whether the log's end, or the text, contains `words`.
    pub fn mentions(&self, words: &str) -> bool {
        self.text.contains(words)
            || self
                .log_tail
                .as_ref()
                .is_some_and(|tail| tail.contains(words))
    }
}

/// The last lines of a log, each indented.
fn tail(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..]
        .iter()
        .map(|line| format!("\n  {line}"))
        .collect()
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.log_tail {
            Some(tail) => write!(f, "; the end of its log:{tail}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

/// Turns any error into a fault that first names the failed action.
pub trait During<T> {
    /// `doing` completes "could not …".
    fn during(self, doing: impl fmt::Display) -> Result<T, Fault>;
}

impl<T, E: fmt::Display> During<T> for Result<T, E> {
    fn during(self, doing: impl fmt::Display) -> Result<T, Fault> {
        self.map_err(|error| Fault::new(format!("could not {doing}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_log_is_shown() {
        let log: String = (1..=100).map(|number| format!("line {number}\n")).collect();
        let shown = tail(&log);
        assert_eq!(shown.lines().skip(1).count(), LOG_LINES);
        assert!(shown.ends_with("  line 100"));
    }

    #[test]
    fn a_sandbox_fault_without_a_log_file_prints_its_message_only() {
        let fault = Fault::new("no server").with_log(Path::new("/does/not/exist"));
        assert_eq!(fault.to_string(), "no server");
    }
}
