//! A session's user variables: the literals that give their values; some values only the connection knows.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::lookalikes::are_lookalikes;
use super::{literal, variables};

/// If the values of a session are longer than this in sum, the session stays on its connection.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// A user variable's value, in a form that can be assigned again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserValue {
    /// A literal of its type, sign and collation.
    pub literal: Rc<[u8]>,
    /// The value is NULL. Type and collation are those of the value before it, because both families
    /// keep them (`Item_func_set_user_var::update_hash`).
    pub is_null: bool,
}

impl UserValue {
    pub fn of(literal: Rc<[u8]>) -> Self {
        Self {
            literal,
            is_null: false,
        }
    }

    /// NULL, with the type and collation of this literal.
    pub fn null_like(literal: Rc<[u8]>) -> Self {
        Self {
            literal,
            is_null: true,
        }
    }

    /// The value of a variable that was never set.
    pub fn unset() -> Self {
        Self::null_like(Rc::from(&b"_binary''"[..]))
    }

    /// Returns the length of the value, in bytes. A literal has two digits for each byte of a string.
    fn length(&self) -> usize {
        let mut words = self.literal.split(|byte| *byte == b' ');
        let digits = words.nth(1).and_then(|word| word.strip_prefix(b"0x"));
        match digits {
            Some(digits) if self.literal.starts_with(b"_") => digits.len() / 2,
            _ => self.literal.len(),
        }
    }

    /// The content of a string, if every character set of one byte writes it this way.
    pub fn ascii_text(&self) -> Option<Vec<u8>> {
        let is_string = self.literal.starts_with(b"_") && !self.is_null;
        let wide: [&[u8]; 4] = [b"_utf16", b"_utf32", b"_ucs2", b"_binary"];
        let is_wide = wide.iter().any(|wide| self.literal.starts_with(wide));
        let mut words = self.literal.split(|byte| *byte == b' ');
        let digits = words.nth(1)?.strip_prefix(b"0x")?;
        let text = literal::from_hex(digits)?;
        (is_string && !is_wide && text.is_ascii()).then_some(text)
    }

    /// Appends the assignments that give a variable this value.
    pub fn assign(&self, text: &mut Vec<u8>, name: &[u8]) {
        quote(text, name);
        text.push(b'=');
        text.extend_from_slice(&self.literal);
        if self.is_null {
            text.push(b',');
            quote(text, name);
            text.extend_from_slice(b"=NULL");
        }
    }
}

/// User variables by name, in lower case: names differ by case only in old servers.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct UserVariables {
    /// None if the value is not known.
    values: BTreeMap<Rc<[u8]>, Option<UserValue>>,
    value_bytes: usize,
    unknown_count: usize,
    /// Names that are not ASCII.
    wide_count: usize,
}

impl UserVariables {
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether every value is known.
    pub fn are_known(&self) -> bool {
        self.unknown_count == 0
    }

    /// Whether the values are too long to be restored on another connection.
    pub fn are_too_long(&self) -> bool {
        self.value_bytes > VALUE_BYTES_MAX
    }

    /// The value of a variable; `Some(None)` if the variable exists with a value that is not known.
    pub fn value(&self, name: &[u8]) -> Option<Option<&UserValue>> {
        self.values.get(name).map(Option::as_ref)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Rc<[u8]>, Option<&UserValue>)> {
        self.values
            .iter()
            .map(|(name, value)| (name, value.as_ref()))
    }

    /// The variables whose values are not known.
    pub fn unknown(&self) -> impl Iterator<Item = &Rc<[u8]>> {
        let all = self.values.iter().filter(|(_, value)| value.is_none());
        all.map(|(name, _)| name)
    }

    /// Whether some names are not ASCII.
    pub fn are_wide(&self) -> bool {
        self.wide_count > 0
    }

    /// Whether another name among them may be equal to this one.
    pub fn has_lookalike(&self, name: &[u8]) -> bool {
        let is_possible = self.are_wide() || !name.is_ascii();
        is_possible && self.values.keys().any(|other| are_lookalikes(other, name))
    }

    pub fn set(&mut self, name: &[u8], value: Option<UserValue>) {
        self.value_bytes += value.as_ref().map_or(0, UserValue::length);
        self.unknown_count += usize::from(value.is_none());
        match self.values.insert(Rc::from(name), value) {
            Some(Some(old)) => self.value_bytes -= old.length(),
            Some(None) => self.unknown_count -= 1,
            None => self.wide_count += usize::from(!name.is_ascii()),
        }
    }
}

/// Appends `` @`name` ``.
pub(super) fn quote(text: &mut Vec<u8>, name: &[u8]) {
    text.push(b'@');
    variables::quote_name(text, name);
}
