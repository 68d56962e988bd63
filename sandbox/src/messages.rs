//! What the sandbox says while it runs.

use std::fmt::Display;
use std::io::Write as _;

/// A line for the person at the terminal. Nobody listening is no reason to stop.
pub fn print(text: impl Display) {
    let _ = writeln!(std::io::stdout(), "sandbox: {text}");
}

/// The same on standard error, for what went wrong.
pub fn print_error(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "sandbox: {text}");
}

/// Prints what `guide` wrote.
pub fn show(guide: &str) {
    let _ = write!(std::io::stdout(), "{guide}");
}
