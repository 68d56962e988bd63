//! Where in the statement something stands, and names without their quotes.

use std::borrow::Cow;

/// A part of the statement's bytes, `start..end`. Empty where there is nothing to point at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One behind the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes it points at; none when `text` is not the statement it was made from.
    pub fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }

    /// Whether it points at nothing.
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// The name it points at, without quotes and with doubled quotes made single: `` `a``b` `` is
    /// a`b, `@'x'` and `@x` are x, `@@x` is x.
    ///
    /// Backslash escapes inside `@'…'` are left as they stand.
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
