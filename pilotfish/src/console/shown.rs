//! The output of a command.

/// The output of a command, and whether it succeeded.
pub struct Shown {
    /// The text.
    pub text: String,
    /// Whether the exit code is 0.
    pub is_well: bool,
}

impl From<String> for Shown {
    fn from(text: String) -> Self {
        Self {
            text,
            is_well: true,
        }
    }
}
