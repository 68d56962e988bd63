//! The session state changes that the next OK packet reports to the client.

use std::collections::BTreeMap;

use wire::session_track::Change;

use super::settings::{Tracking, TransactionTracking};

/// How a transaction stands, as the state tracker spells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionState {
    /// It was begun by a statement of its own.
    pub is_explicit: bool,
    /// It has begun by itself.
    pub is_implicit: bool,
    /// It has read tables.
    pub has_read: bool,
    /// It has written or locked rows.
    pub has_written: bool,
    /// It has sent rows.
    pub has_sent: bool,
    /// It has run a statement that is not safe to repeat.
    pub is_unsafe: bool,
    /// Tables are locked.
    pub is_locked: bool,
}

impl TransactionState {
    fn spelled(self) -> [u8; 8] {
        let mark = |is: bool, letter: u8| if is { letter } else { b'_' };
        [
            match (self.is_explicit, self.is_implicit) {
                (true, _) => b'T',
                (false, true) => b'I',
                (false, false) => b'_',
            },
            b'_',
            mark(self.has_read, b'R'),
            b'_',
            mark(self.has_written, b'W'),
            mark(self.is_unsafe, b's'),
            mark(self.has_sent, b'S'),
            mark(self.is_locked, b'L'),
        ]
    }
}

/// Changes that no OK packet has reported yet.
#[derive(Debug, Default)]
pub struct Tracker {
    /// Whether variables are set without being told.
    pub is_deaf: bool,
    variables: BTreeMap<String, Vec<u8>>,
    schema: Option<Vec<u8>>,
    state_changed: bool,
    gtids: Option<String>,
    /// How the transaction stands.
    pub state: TransactionState,
    told_state: TransactionState,
    characteristics: Option<String>,
    told_characteristics: String,
    tells_state: bool,
    tells_characteristics: bool,
}

impl Tracker {
    /// A variable was set.
    pub fn variable(&mut self, tracking: &Tracking, name: &str, value: Vec<u8>) {
        if self.is_deaf {
            // What is to be told anyway is told with its last value.
            if let Some(told) = self.variables.get_mut(name) {
                *told = value;
            }
            return;
        }
        self.state_changed = true;
        if tracking.tells(name) {
            self.variables.insert(name.to_owned(), value);
        }
    }

    /// A variable was changed by the server itself.
    pub fn follow_variable(&mut self, tracking: &Tracking, name: &str, value: Vec<u8>) {
        if tracking.tells(name) {
            self.variables.insert(name.to_owned(), value);
        }
    }

    /// The default schema was set.
    pub fn schema(&mut self, name: &str) {
        self.schema = Some(name.as_bytes().to_vec());
        self.state_changed = true;
    }

    /// Something else of the session has changed.
    pub fn changed(&mut self) {
        self.state_changed = true;
    }

    /// A group was committed.
    pub fn gtids(&mut self, gtids: String) {
        self.gtids = Some(gtids);
    }

    /// The statements that would begin the same transaction elsewhere.
    pub fn characteristics(&mut self, statements: String) {
        self.characteristics = Some(statements);
    }

    /// The transaction has ended: there is nothing to begin elsewhere.
    pub fn end_characteristics(&mut self) {
        if self.characteristics.is_some() || !self.told_characteristics.is_empty() {
            self.characteristics = Some(String::new());
        }
    }

    /// `session_track_transaction_info` was set: what was not told before is told.
    pub fn retrack(&mut self, before: TransactionTracking, now: TransactionTracking) {
        use TransactionTracking::{Characteristics, Off};
        self.tells_state |= before == Off && now != Off;
        self.tells_characteristics |= before != Characteristics && now == Characteristics;
    }

    /// Discards the changes that were not reported.
    pub fn forget(&mut self) {
        let state = self.state;
        let characteristics = std::mem::take(&mut self.told_characteristics);
        *self = Self {
            state,
            told_state: state,
            told_characteristics: characteristics,
            ..Self::default()
        };
    }

    /// Whether there is anything to tell.
    pub fn is_empty(&self, tracking: &Tracking) -> bool {
        self.variables.is_empty()
            && (self.schema.is_none() || !tracking.schema)
            && !(self.state_changed && tracking.state_change)
            && self.gtids.is_none()
            && !self.tells_state
            && !self.tells_characteristics
            && self.state == self.told_state
            && self.characteristics.is_none()
    }

    /// Hands what there is to tell to `with`, and forgets it.
    pub fn take<T>(
        &mut self,
        tracking: &Tracking,
        is_mariadb: bool,
        with: impl FnOnce(&[Change<'_>]) -> T,
    ) -> T {
        let state = self.state.spelled();
        let characteristics = self.characteristics.take();
        let mut changes = Vec::new();
        for (name, value) in &self.variables {
            let name = name.as_bytes();
            changes.push(Change::Variable { name, value });
        }
        if let Some(schema) = self.schema.as_ref().filter(|_| tracking.schema) {
            changes.push(Change::Schema(schema));
        }
        if self.state_changed && tracking.state_change {
            changes.push(Change::StateChanged(true));
        }
        if let Some(gtids) = &self.gtids {
            changes.push(Change::Gtids(gtids.as_bytes()));
        }
        let is_other = self.state != self.told_state;
        let is_told = match tracking.transaction {
            TransactionTracking::Off => false,
            _ => is_other || self.tells_state && is_mariadb,
        };
        // MySQL tells of begin and end even then.
        let is_told = is_told || !is_mariadb && self.tells_of_ends(tracking);
        if is_told {
            changes.push(Change::TransactionState(&state));
        }
        if tracking.transaction == TransactionTracking::Characteristics {
            let now = characteristics
                .as_deref()
                .unwrap_or(&self.told_characteristics);
            if now != self.told_characteristics || self.tells_characteristics {
                changes.push(Change::TransactionCharacteristics(now.as_bytes()));
            }
        }
        let result = with(&changes);
        if let Some(now) = characteristics {
            self.told_characteristics = now;
        }
        self.told_state = self.state;
        self.variables.clear();
        (self.schema, self.gtids) = (None, None);
        (self.state_changed, self.tells_state) = (false, false);
        self.tells_characteristics = false;
        result
    }

    fn tells_of_ends(&self, tracking: &Tracking) -> bool {
        tracking.transaction == TransactionTracking::Off
            && self.state.is_explicit != self.told_state.is_explicit
    }
}
