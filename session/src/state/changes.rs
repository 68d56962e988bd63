//! The changes that the session trackers reported in one exchange, over all of its results.

use std::fmt;

use super::variables;

/// A variable's name in lower case and its value.
pub(super) type TrackedVariable = (Box<[u8]>, Box<[u8]>);

/// How the next transaction will begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextTransaction {
    /// As the session's variables say.
    Usual,
    /// As SET TRANSACTION has said.
    Special,
}

/// The maximum number of bytes of reported GTIDs that the proxy keeps.
const GTIDS_BYTES_MAX: usize = 64 * 1024;

/// The GTIDs that the server reported for written transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gtids<'a> {
    /// Nothing.
    None,
    /// These GTIDs, as the server writes them.
    Told(&'a [u8]),
    /// More than the proxy keeps.
    TooMany,
}

/// Changes that the server reported. Reused from one exchange to the next.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// System variables and the values they have now, names in lower case; the last report counts.
    pub(super) variables: Vec<TrackedVariable>,
    /// The schema, if it was reported; empty if there is none.
    pub(super) schema: Option<Box<[u8]>>,
    /// `session_track_state_change` has reported a change.
    pub(super) is_state_changed: bool,
    /// The results with that report, as bits; the last bit stands for all results beyond.
    pub(super) changed_with: u64,
    /// The bit of the result to which the next reports belong.
    result: u64,
    /// Whether something is set for the next transaction, which has not begun, if that was reported.
    pub(super) next_transaction: Option<NextTransaction>,
    /// The transactions that were written, if the server reported them: MySQL GTID sets, or the
    /// values of MariaDB's `last_gtid` in turn.
    pub(super) gtids: Vec<u8>,
    /// A status flag announced changes that the packet had no room for.
    pub(super) has_unsent: bool,
}

impl fmt::Debug for Changes {
    /// Names and values as text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (name, value) in &self.variables {
            map.entry(&Bytes(name), &Bytes(value));
        }
        if let Some(schema) = &self.schema {
            map.entry(&Bytes(b"USE"), &Bytes(schema));
        }
        if let Some(next) = &self.next_transaction {
            map.entry(&Bytes(b"next transaction"), next);
        }
        for (name, is_told) in [
            ("changed", self.is_state_changed),
            ("owed", self.has_unsent),
        ] {
            if is_told {
                map.entry(&Bytes(name.as_bytes()), &true);
            }
        }
        map.finish()
    }
}

/// Bytes shown as text.
struct Bytes<'a>(&'a [u8]);

impl fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl Changes {
    /// Whether nothing has been reported.
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty()
            && self.schema.is_none()
            && !self.is_state_changed
            && self.next_transaction.is_none()
            && !self.has_unsent
    }

    /// Removes the reports and keeps the memory.
    pub fn clear(&mut self) {
        self.variables.clear();
        self.schema = None;
        self.is_state_changed = false;
        (self.changed_with, self.result) = (0, 0);
        self.next_transaction = None;
        self.gtids.clear();
        // An idle session keeps no more than one of each family's needs.
        self.gtids.shrink_to(64);
        self.has_unsent = false;
    }

    /// Records a system variable's new value. Reports that are no state (MySQL's `statement_id`) are
    /// skipped without allocating; so are names that no server gives its variables. MariaDB's
    /// `last_gtid` reports what was written.
    pub fn variable(&mut self, name: &[u8], value: &[u8]) {
        if name == b"last_gtid" {
            return self.written(value);
        }
        if variables::is_news(name) || !variables::is_name(name) {
            return;
        }
        let name = name.to_ascii_lowercase().into_boxed_slice();
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.into()));
    }

    /// Records the new schema; empty for none.
    pub fn schema(&mut self, name: &[u8]) {
        self.schema = Some(name.into());
    }

    /// Records the report that some state changed.
    pub fn state_changed(&mut self) {
        self.is_state_changed = true;
        self.changed_with |= self.result;
    }

    /// Later reports belong to this result, counted from 0.
    pub fn ends(&mut self, result: u32) {
        self.result = 1 << result.min(63);
    }

    /// Whether the server said with this result that some state changed.
    pub(super) fn has_changed_with(&self, result: usize) -> bool {
        self.changed_with & 1 << result.min(63) != 0
    }

    /// The statements that would begin the current transaction, or the next one, as it begins here;
    /// empty for nothing special.
    pub fn transaction_characteristics(&mut self, statements: &[u8]) {
        self.next_transaction = Some(match statements.starts_with(b"SET TRANSACTION") {
            true => NextTransaction::Special,
            false => NextTransaction::Usual,
        });
    }

    /// Adds transactions that were written to those reported before: each of several results
    /// reports its own.
    pub fn written(&mut self, gtids: &[u8]) {
        if gtids.is_empty() || self.gtids.len() > GTIDS_BYTES_MAX {
            return;
        }
        if !self.gtids.is_empty() {
            self.gtids.push(b',');
        }
        self.gtids.extend_from_slice(gtids);
    }

    /// The transactions that were written, as the server writes GTIDs.
    pub fn gtids(&self) -> Gtids<'_> {
        match self.gtids.len() {
            0 => Gtids::None,
            1..=GTIDS_BYTES_MAX => Gtids::Told(&self.gtids),
            _ => Gtids::TooMany,
        }
    }

    /// Notes that the server announced changes and could not send them: an EOF packet has no room.
    pub fn note_unsent_changes(&mut self) {
        self.has_unsent = true;
    }

    /// Whether something was reported that decides how a text is read.
    pub(super) fn has_deciding(&self) -> bool {
        let is_deciding = |(name, _): &TrackedVariable| {
            let is_charset = name.starts_with(b"character_set_") || name.starts_with(b"collation_");
            is_charset
                || variables::DECIDING
                    .iter()
                    .any(|it| it.as_bytes() == &**name)
        };
        self.schema.is_some() || self.variables.iter().any(is_deciding)
    }

    /// The value that was reported last for a variable, by its name in lower case.
    pub fn value_of(&self, name: &[u8]) -> Option<&[u8]> {
        let mut all = self.variables.iter();
        let found = all.find(|(known, _)| **known == *name);
        found.map(|(_, value)| &**value)
    }
}
