//! A password or another value that must never be shown: not in a log, not in a fault, not in `Debug`.

use std::fmt;

use zeroize::Zeroizing;

/// A value that never prints itself; `Debug` and `Display` show `…`. It is overwritten when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Keeps `text` from being shown.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The value itself, for the code that must send it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text that `0x…` stands for; `None` if the value does not have this form, or is no text.
    pub(crate) fn of_hexadecimal(&self) -> Option<Self> {
        let digits = self.0.strip_prefix("0x")?;
        let byte = |at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
        let is_plain = digits.bytes().all(|it| it.is_ascii_hexdigit());
        String::from_utf8(bytes.filter(|_| is_plain)?)
            .ok()
            .map(Self::new)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
