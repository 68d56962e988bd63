//! One worker's errors, by number, account and backend, in bounded memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use route::BackendId;

use crate::attribution::Attribution;
use crate::messages::{MESSAGE_BYTES_MAX, shown_of};
use crate::table::{Ran, shortened};

/// The most kinds that are told apart; the most recent ones are kept.
const ROWS_MAX: usize = 1000;

/// Errors with the same number, account and backend.
#[derive(Debug, Clone)]
pub struct ErrorRow {
    /// Their number.
    pub number: u16,
    /// Their SQLSTATE; empty: unknown.
    pub sqlstate: String,
    /// The account whose statements ended with this error.
    pub account: String,
    /// The account's user.
    pub user: String,
    /// The backend; `None`: the statements reached no backend.
    pub backend: Option<Ran>,
    /// The number of errors.
    pub count: u64,
    /// When the first one came, since the process began.
    pub first_seen: Duration,
    /// When the last one came, since the process began.
    pub last_seen: Duration,
    /// The message of the last one; without quoted parts, if values may not be shown.
    pub message: String,
}

/// A statement that has ended with an error.
pub struct Failed<'a> {
    /// The error number.
    pub number: u16,
    /// The SQLSTATE, if the ERR packet has one.
    pub sqlstate: Option<[u8; 5]>,
    /// The message as the server wrote it.
    pub message: &'a [u8],
    /// The account and the schema of the session.
    pub attribution: &'a Arc<Attribution>,
    /// The backend that answered, if one did.
    pub backend: Option<BackendId>,
}

type ErrorKey = (u16, Option<BackendId>, String);

/// See the module.
#[derive(Debug, Default)]
pub struct ErrorTable {
    rows: HashMap<ErrorKey, ErrorRow>,
    /// Errors of kinds whose rows were evicted.
    others: u64,
}

impl ErrorTable {
    /// Counts an error.
    pub fn note(
        &mut self,
        failed: &Failed<'_>,
        ran: Option<Ran>,
        at: Duration,
        shows_values: bool,
    ) {
        let key = (
            failed.number,
            failed.backend,
            failed.attribution.account.clone(),
        );
        if !self.rows.contains_key(&key) && self.rows.len() >= ROWS_MAX {
            self.make_room();
        }
        let row = self.rows.entry(key).or_insert_with(|| ErrorRow {
            number: failed.number,
            sqlstate: String::new(),
            account: failed.attribution.account.clone(),
            user: failed.attribution.user.clone(),
            backend: ran,
            count: 0,
            first_seen: at,
            last_seen: at,
            message: String::new(),
        });
        row.count += 1;
        row.last_seen = at;
        if let Some(state) = failed.sqlstate {
            row.sqlstate = String::from_utf8_lossy(&state).into_owned();
        }
        let message = shortened(failed.message, MESSAGE_BYTES_MAX);
        // A message without a backend is the proxy's own, and quotes names only.
        let shows_values = shows_values || failed.backend.is_none();
        row.message = shown_of(failed.number, failed.sqlstate, message, shows_values);
    }

    fn make_room(&mut self) {
        let oldest = self.rows.iter().min_by_key(|(_, row)| row.last_seen);
        if let Some(key) = oldest.map(|(key, _)| key.clone())
            && let Some(row) = self.rows.remove(&key)
        {
            self.others += row.count;
        }
    }

    /// All errors, and the number of errors whose rows were evicted.
    pub fn snapshot(&self) -> (Vec<ErrorRow>, u64) {
        (self.rows.values().cloned().collect(), self.others)
    }

    /// All errors, and the number of errors whose rows were evicted.
    pub fn into_snapshot(self) -> (Vec<ErrorRow>, u64) {
        (self.rows.into_values().collect(), self.others)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_errors_seen_last_are_kept_and_evicted_errors_counted() {
        let keys = system::Entropy::seeded(7).hash_keys().unwrap();
        let attribution = Arc::new(Attribution::new(&keys, "'a'@'%'".into(), "a", b""));
        let mut table = ErrorTable::default();
        for number in 0..=1000u16 {
            let failed = Failed {
                number,
                sqlstate: Some(*b"HY000"),
                message: b"no value",
                attribution: &attribution,
                backend: Some(BackendId(1)),
            };
            table.note(&failed, None, Duration::from_secs(number.into()), false);
        }
        let (rows, others) = table.snapshot();
        assert_eq!((rows.len(), others), (ROWS_MAX, 1));
        assert!(rows.iter().all(|row| row.number > 0));
        assert!(rows.iter().all(|row| row.message == "..."));
    }
}
