//! The sandbox's messages while it runs.

use std::fmt::Display;
use std::io::Write as _;

/// Prints a line for the user at the terminal. If it cannot be written, the sandbox goes on.
pub fn print(text: impl Display) {
    let _ = writeln!(std::io::stdout(), "sandbox: {text}");
}

/// Prints an error to standard error.
pub fn print_error(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "sandbox: {text}");
}

/// Prints what `guide` wrote.
pub fn show(guide: &str) {
    let _ = write!(std::io::stdout(), "{guide}");
}
