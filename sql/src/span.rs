//! Ranges in a statement, and names without their quotes.

use std::borrow::Cow;

/// A range of the statement's bytes, `start..end`. Empty if there is no such part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The position after the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the bytes of the range; empty if the range is not within `text`.
    pub fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }

    /// Whether the range is empty.
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Returns the name in the range, without quotes and with single quotes for doubled ones: `` `a``b` `` is
    /// a`b, `@'x'` and `@x` are x, `@@x` is x.
    ///
    /// Backslash escapes inside `@'…'` are not resolved.
    pub fn name(self, text: &[u8]) -> Cow<'_, [u8]> {
        let raw = self.of(text);
        let raw = raw
            .strip_prefix(b"@@")
            .or_else(|| raw.strip_prefix(b"@"))
            .unwrap_or(raw);
        let Some(quote) = raw
            .first()
            .copied()
            .filter(|b| matches!(b, b'`' | b'"' | b'\''))
        else {
            return Cow::Borrowed(raw);
        };
        let inner = &raw[1..];
        let inner = inner.strip_suffix(&[quote]).unwrap_or(inner);
        if !inner.contains(&quote) {
            return Cow::Borrowed(inner);
        }
        let mut is_second = false;
        let once = inner.iter().filter(|byte| {
            is_second = **byte == quote && !is_second;
            **byte != quote || is_second
        });
        Cow::Owned(once.copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_quotes() {
        for (raw, name) in [
            ("plain", "plain"),
            ("`a``b`", "a`b"),
            ("````", "`"),
            ("\"a\"\"\"", "a\""),
            ("@x", "x"),
            ("@'it''s'", "it's"),
            ("@`y`", "y"),
            ("@@sql_mode", "sql_mode"),
            ("@@`sql_mode`", "sql_mode"),
            ("`", ""),
            ("", ""),
        ] {
            let span = Span {
                start: 0,
                end: raw.len() as u32,
            };
            assert_eq!(span.name(raw.as_bytes()), name.as_bytes(), "{raw}");
        }
    }
}
