//! A statement that was prepared from SQL text.

use std::collections::BTreeMap;
use std::rc::Rc;

use sql::{Effects, Facts, Flags, Uses};

use super::values::Values;

/// A longer statement is not prepared elsewhere: its session stays on the connection.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// A statement that can be prepared on any connection as it was.
#[derive(Debug)]
pub struct TextStatement {
    /// In lower case, ASCII.
    pub(super) name: Rc<[u8]>,
    /// PREPARE … FROM '…'
    pub(super) make: Vec<u8>,
    /// The values with which the statement was prepared.
    pub(super) values: Rc<Values>,
    /// The statement may run other statements: a CALL.
    pub(super) runs_others: bool,
}

impl TextStatement {
    /// The statement that prepares it, for COM_QUERY.
    pub fn make(&self) -> &[u8] {
        &self.make
    }

    /// Its name, in lower case.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Whether the statement may do anything: its text does not show what it calls.
    pub(super) fn runs_others(&self) -> bool {
        self.runs_others
    }

    /// With which it was prepared, for [`SessionState::values_to_prepare`](super::SessionState::values_to_prepare).
    pub fn values(&self) -> &Rc<Values> {
        &self.values
    }
}

/// The statements of a connection by name; none if it is not known which statement has the name.
pub(super) type Made = BTreeMap<Rc<[u8]>, Option<Rc<TextStatement>>>;

/// The source of a statement, and how it was read.
pub(super) struct Source<'a> {
    /// The name as written.
    pub name: &'a [u8],
    /// The literal as written; none if the source was a user variable.
    pub literal: Option<&'a [u8]>,
    /// The text of the statement.
    pub text: &'a [u8],
    pub flags: Flags,
}

impl Source<'_> {
    /// Returns the statement, if it does the same on every connection.
    pub fn statement(&self, values: &Rc<Values>) -> Option<TextStatement> {
        let facts = sql::facts(self.text, self.flags);
        let is_short = self.text.len() <= TEXT_BYTES_MAX;
        if !is_short || !is_same_anywhere(&facts, self.flags) {
            return None;
        }
        let mut make = [b"PREPARE ", self.name, b" FROM "].concat();
        match self.literal {
            Some(literal) => make.extend_from_slice(literal),
            None if !self.text.is_ascii() => return None,
            None => quote(&mut make, self.text, self.flags),
        }
        Some(TextStatement {
            name: key(self.name)?,
            make,
            values: Rc::clone(values),
            runs_others: facts.effects.has(Effects::ANYTHING),
        })
    }
}

/// Whether a statement does the same on every connection. It is prepared without the session's user
/// variables, and MySQL takes types from those that exist then. The proxy also does not put answers
/// of the session's into it, as it does into other statements.
fn is_same_anywhere(facts: &Facts, flags: Flags) -> bool {
    let past = Uses::ROW_COUNT | Uses::FOUND_ROWS | Uses::DIAGNOSTICS | Uses::CONNECTION_ID;
    let reads_variables =
        facts.uses.has(Uses::USER_VARIABLES) && !matches!(flags.server, sql::Server::MariaDb(_));
    facts.statements.len() == 1 && !facts.uses.has(past) && !reads_variables
}

/// Returns the key of a statement's name as written; none for a name that is not ASCII: the servers
/// have rules of their own for which names are equal.
pub(super) fn key(raw: &[u8]) -> Option<Rc<[u8]>> {
    let whole = sql::Span {
        start: 0,
        end: u32::try_from(raw.len()).ok()?,
    };
    let name = whole.name(raw).to_ascii_lowercase();
    name.is_ascii().then(|| Rc::from(name))
}

fn quote(text: &mut Vec<u8>, content: &[u8], flags: Flags) {
    text.push(b'\'');
    for byte in content {
        let is_special = *byte == b'\'' || *byte == b'\\' && !flags.no_backslash_escapes;
        if is_special {
            text.push(*byte);
        }
        text.push(*byte);
    }
    text.push(b'\'');
}
