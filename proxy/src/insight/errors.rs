//! One worker's errors, by number, account and backend, in bounded memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use route::BackendId;

use super::table::{Ran, shortened};
use super::whose::Whose;

/// So many kinds are told apart; those seen last are kept.
const ROWS_MAX: usize = 1000;

/// Longer messages are cut.
pub(crate) const MESSAGE_BYTES_MAX: usize = 512;

/// Errors that are alike.
#[derive(Debug, Clone)]
pub struct ErrorRow {
    /// Their number.
    pub number: u16,
    /// Their SQLSTATE; empty: unknown.
    pub sqlstate: String,
    /// Whose statements ended so.
    pub account: String,
    /// Where they ran; none: they reached no backend.
    pub backend: Option<Ran>,
    /// How many.
    pub count: u64,
    /// When the first was told, since the process began.
    pub first_seen: Duration,
    /// The same of the last.
    pub last_seen: Duration,
    /// The last one's message; without what it quotes, where values may not be seen.
    pub message: String,
}

/// A statement that has ended with an error.
pub(crate) struct Failed<'a> {
    pub number: u16,
    pub sqlstate: Option<[u8; 5]>,
    pub message: &'a [u8],
    pub whose: &'a Arc<Whose>,
    pub backend: Option<BackendId>,
}

type Key = (u16, Option<BackendId>, String);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ErrorTable {
    rows: HashMap<Key, ErrorRow>,
    /// Errors of kinds that have made room.
    others: u64,
}

impl ErrorTable {
    /// One more.
    pub(crate) fn note(
        &mut self,
        failed: &Failed<'_>,
        ran: Option<Ran>,
        at: Duration,
        shows_values: bool,
    ) {
        let key = (failed.number, failed.backend, failed.whose.account.clone());
        if !self.rows.contains_key(&key) && self.rows.len() >= ROWS_MAX {
            self.make_room();
        }
        let row = self.rows.entry(key).or_insert_with(|| ErrorRow {
            number: failed.number,
            sqlstate: String::new(),
            account: failed.whose.account.clone(),
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
        row.message = shown(failed.number, message, shows_values);
    }

    fn make_room(&mut self) {
        let oldest = self.rows.iter().min_by_key(|(_, row)| row.last_seen);
        if let Some(key) = oldest.map(|(key, _)| key.clone())
            && let Some(row) = self.rows.remove(&key)
        {
            self.others += row.count;
        }
    }

    /// All of them, and how many others there were.
    pub(crate) fn told(&self) -> (Vec<ErrorRow>, u64) {
        (self.rows.values().cloned().collect(), self.others)
    }

    /// Errors of kinds that have made room.
    pub(crate) fn into_told(self) -> (Vec<ErrorRow>, u64) {
        (self.rows.into_values().collect(), self.others)
    }
}

/// Errors whose messages quote names of tables, columns, users and the like, and no values.
const QUOTES_NAMES: &[u16] = &[
    1007, 1008, 1044, 1045, 1046, 1048, 1049, 1050, 1051, 1052, 1054, 1060, 1061, 1072, 1091, 1109,
    1142, 1143, 1146, 1176, 1193, 1203, 1226, 1227, 1238, 1264, 1305, 1364, 1370, 1406, 1429, 1451,
    1452, 1615, 3948,
];

/// A message as it may be seen.
pub(crate) fn shown(number: u16, message: String, shows_values: bool) -> String {
    match shows_values || QUOTES_NAMES.contains(&number) {
        true => message,
        false => without_quoted(&message),
    }
}

/// A message with what it quotes left out.
fn without_quoted(message: &str) -> String {
    let mut kept = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(opening) = rest.find(['\'', '"', '`']) {
        let (before, quoted) = rest.split_at(opening);
        kept.push_str(before);
        let mut characters = quoted.chars();
        let quote = characters.next().unwrap_or('\'');
        kept.push(quote);
        // A value may have quotes in it: up to the last one that is of this kind.
        let inner = characters.as_str();
        let Some(closing) = end_of_quoted(inner, quote) else {
            kept.push_str("...");
            return kept;
        };
        kept.push_str("...");
        kept.push(quote);
        rest = inner.get(closing + quote.len_utf8()..).unwrap_or_default();
    }
    kept.push_str(rest);
    kept
}

/// Where what is quoted ends: at a quote with nothing but an end, a space or a mark behind it.
fn end_of_quoted(inner: &str, quote: char) -> Option<usize> {
    let mut ends = inner.match_indices(quote).map(|(at, _)| at);
    ends.find(|at| {
        let behind = inner.get(at + quote.len_utf8()..).unwrap_or_default();
        behind
            .chars()
            .next()
            .is_none_or(|it| matches!(it, ' ' | '.' | ',' | ':' | ';' | ')' | '@'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_quotes_is_left_out() {
        for (message, expected) in [
            (
                "Duplicate entry 'a@b.org' for key 'mail'",
                "Duplicate entry '...' for key '...'",
            ),
            (
                "Query execution was interrupted",
                "Query execution was interrupted",
            ),
            ("near 'it's me' at line 1", "near '...' at line 1"),
            ("near 'cut off", "near '..."),
            ("near ''", "near '...'"),
        ] {
            assert_eq!(without_quoted(message), expected, "{message}");
        }
    }

    #[test]
    fn those_seen_last_are_kept_and_the_others_counted() {
        let keys = std::hash::RandomState::new();
        let whose = Arc::new(Whose::new(&keys, "'a'@'%'".into(), "a", b""));
        let mut table = ErrorTable::default();
        for number in 0..=1000u16 {
            let failed = Failed {
                number,
                sqlstate: Some(*b"HY000"),
                message: b"no 'value'",
                whose: &whose,
                backend: None,
            };
            table.note(&failed, None, Duration::from_secs(number.into()), false);
        }
        let (rows, others) = table.told();
        assert_eq!((rows.len(), others), (ROWS_MAX, 1));
        assert!(rows.iter().all(|row| row.number > 0));
        assert!(rows.iter().all(|row| row.message == "no '...'"));
    }
}
