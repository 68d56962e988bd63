//! One worker's errors, by number, account and backend, in bounded memory.

use std::collections::HashMap;
use std::ops::RangeInclusive;
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
    /// The account's user.
    pub user: String,
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
            user: failed.whose.user.clone(),
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
        // What comes from no backend is the proxy's own, which quotes names only.
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

    /// All of them, and how many others there were.
    pub(crate) fn told(&self) -> (Vec<ErrorRow>, u64) {
        (self.rows.values().cloned().collect(), self.others)
    }

    /// Errors of kinds that have made room.
    pub(crate) fn into_told(self) -> (Vec<ErrorRow>, u64) {
        (self.rows.into_values().collect(), self.others)
    }
}

/// Messages that quote names of tables, columns, users and the like, and no values: `%` stands for one. Whoever says
/// SIGNAL may take such a number for anything, so a message must be as servers write it.
///
/// Not among them are 1052, 1054, 1060 and 1109: what is a value to its author, `"john"`, is the name of a column to a
/// server with ANSI_QUOTES, and the name of a column that is a literal is the literal.
const QUOTES_NAMES: &[(u16, &[&str])] = &[
    (1007, &["Can't create database '%'; database exists"]),
    (1008, &["Can't drop database '%'; database doesn't exist"]),
    (1044, &["Access denied for user '%'@'%' to database '%'"]),
    (
        1045,
        &[
            "Access denied for user '%'@'%' (using password: YES)",
            "Access denied for user '%'@'%' (using password: NO)",
        ],
    ),
    (1046, &["No database selected"]),
    (1048, &["Column '%' cannot be null"]),
    (1049, &["Unknown database '%'"]),
    (1050, &["Table '%' already exists"]),
    (1051, &["Unknown table '%'"]),
    (1061, &["Duplicate key name '%'"]),
    (1072, &["Key column '%' doesn't exist in table"]),
    (
        1091,
        &[
            "Can't DROP '%'; check that column/key exists",
            "Can't DROP COLUMN `%`; check that it exists",
            "Can't DROP INDEX `%`; check that it exists",
        ],
    ),
    (
        1142,
        &[
            "% command denied to user '%'@'%' for table '%'",
            "% command denied to user '%'@'%' for table `%`.`%`",
        ],
    ),
    (
        1143,
        &["% command denied to user '%'@'%' for column '%' in table '%'"],
    ),
    (1146, &["Table '%' doesn't exist"]),
    (1176, &["Key '%' doesn't exist in table '%'"]),
    (1193, &["Unknown system variable '%'"]),
    (
        1203,
        &["User % already has more than 'max_user_connections' active connections"],
    ),
    (
        1226,
        &["User '%' has exceeded the '%' resource (current value: %)"],
    ),
    (
        1227,
        &[
            "Access denied; you need (at least one of) the %, % privilege(s) for this operation",
            "Access denied; you need (at least one of) the % privilege(s) for this operation",
        ],
    ),
    (
        1238,
        &[
            "Variable '%' is a read only variable",
            "Variable '%' is a GLOBAL variable",
            "Variable '%' is a SESSION variable",
        ],
    ),
    (1264, &["Out of range value for column '%' at row %"]),
    (
        1305,
        &[
            "FUNCTION % does not exist",
            "PROCEDURE % does not exist",
            "SAVEPOINT % does not exist",
        ],
    ),
    (1364, &["Field '%' doesn't have a default value"]),
    (1370, &["% command denied to user '%'@'%' for routine '%'"]),
    (1406, &["Data too long for column '%' at row %"]),
    (1615, &["Prepared statement needs to be re-prepared"]),
    (
        3948,
        &[
            "Loading local data is disabled; this must be enabled on both the client and server sides",
        ],
    ),
];

/// What an application says itself, with SIGNAL, and may be any value; so is whatever has SQLSTATE 45000.
const SAID_BY_APPLICATIONS: RangeInclusive<u16> = 1642..=1644;

/// Messages with values that are not quoted: ER_NO_PARTITION_FOR_GIVEN_VALUE, and the coordinates that are out
/// of range (ER_LONGITUDE_OUT_OF_RANGE and its kin).
const BARE_VALUES: &[u16] = &[1526, 3616, 3617, 3731, 3732];

/// What servers say between two things that they quote, and nobody else's value can be told by.
const BETWEEN: &[&str] = &[
    " for key ",
    " for column ",
    " for function ",
    " in ",
    " to ",
    " and ",
    " at position ",
    "@",
];

/// What they say behind the last, with a number at the end.
const BEHIND: &[&str] = &[" at line ", " at row "];

/// A message as it may be seen, with its SQLSTATE.
pub(crate) fn shown_of(
    number: u16,
    sqlstate: Option<[u8; 5]>,
    message: String,
    shows_values: bool,
) -> String {
    match sqlstate.is_some_and(|it| it.starts_with(b"45")) && !shows_values {
        true => "...".to_owned(),
        false => shown(number, message, shows_values),
    }
}

/// A message as it may be seen.
pub(crate) fn shown(number: u16, message: String, shows_values: bool) -> String {
    match (shows_values, number) {
        (true, _) => message,
        (false, number)
            if SAID_BY_APPLICATIONS.contains(&number) || BARE_VALUES.contains(&number) =>
        {
            "...".to_owned()
        }
        (false, number) => match QUOTES_NAMES.iter().find(|(it, _)| *it == number) {
            Some((_, known)) if known.iter().any(|it| is_written(it, &message)) => message,
            Some(_) => "...".to_owned(),
            None => without_quoted(&message),
        },
    }
}

/// Whether a message is as its server writes it, with a name in each of its places.
fn is_written(known: &str, message: &str) -> bool {
    let mut pieces = known.split('%');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = message.strip_prefix(first) else {
        return false;
    };
    for piece in pieces {
        let end = match piece {
            "" => Some(rest.len()),
            piece => rest.find(piece),
        };
        let Some(end) = end.filter(|end| is_name(&rest[..*end])) else {
            return false;
        };
        rest = &rest[end + piece.len()..];
    }
    rest.is_empty()
}

/// Whether it may be the name of something, or several with dots between them.
fn is_name(text: &str) -> bool {
    let is_in_name =
        |it: char| it.is_alphanumeric() || matches!(it, '_' | '$' | '.' | '-' | ':' | '#' | '%');
    (1..=200).contains(&text.len()) && text.chars().all(is_in_name)
}

/// A message with what it quotes left out. What is quoted may have quotes in it, and nothing says where it
/// ends: so behind the first quote nothing stays but what servers are known to say.
fn without_quoted(message: &str) -> String {
    const QUOTES: [char; 3] = ['\'', '"', '`'];
    let Some(first) = message.find(QUOTES) else {
        return message.to_owned();
    };
    let (before, quoted) = message.split_at(first);
    let mut kept = before.to_owned();
    let mut pieces = quoted.split(QUOTES).skip(1).peekable();
    let mut is_left_out = false;
    while let Some(piece) = pieces.next() {
        let is_last = pieces.peek().is_none();
        let is_known = match is_last {
            true => is_known_end(piece),
            false => BETWEEN.contains(&piece),
        };
        match (is_left_out, is_known) {
            (true, true) => {
                kept.push_str(piece);
                is_left_out = false;
            }
            (false, _) if !is_last || !piece.is_empty() => {
                kept.push_str("'...'");
                is_left_out = true;
            }
            (true | false, _) => {}
        }
    }
    kept
}

/// Whether servers are known to say that at the end.
fn is_known_end(text: &str) -> bool {
    let mut known = BEHIND.iter().filter_map(|known| text.strip_prefix(known));
    known.any(|number| {
        (1..=9).contains(&number.len()) && number.bytes().all(|it| it.is_ascii_digit())
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
            ("near 'cut off", "near '...'"),
            ("near ''", "near '...'"),
            ("near '' at line 1", "near '...' at line 1"),
            (
                "Incorrect integer value: 'abc' for column `shop`.`t`.`c` at row 12",
                "Incorrect integer value: '...' for column '...' at row 12",
            ),
            ("Access denied for 'a'@'%'", "Access denied for '...'@'...'"),
        ] {
            assert_eq!(without_quoted(message), expected, "{message}");
        }
    }

    #[test]
    fn whatever_is_quoted_and_however_nothing_of_it_is_seen() {
        const SECRET: &str = "s3cr3t";
        for value in [
            "s3cr3t",
            "WHERE name = 's3cr3t' AND x = 's3cr3t' OR 1",
            "'s3cr3t'",
            "''s3cr3t''",
            "\\'s3cr3t\\'",
            "a' s3cr3t",
            "a', s3cr3t, 'b",
            "a' for key 's3cr3t",
            "a' for key s3cr3t for key 'b",
            "a' at line s3cr3t",
            "a' at line 1 s3cr3t' at line 2",
            "\"s3cr3t\" `s3cr3t` \"",
            "' 's3cr3t' '",
            "x') s3cr3t ('",
            "x';s3cr3t",
            "x'@'s3cr3t'@'",
            "x\n's3cr3t\n",
        ] {
            for (before, behind) in [
                ("syntax to use near '", "' at line 1"),
                ("Duplicate entry '", "' for key 'mail'"),
                ("Incorrect string value: '", "' for column 'c' at row 1"),
                ("Invalid value \"", "\""),
                // Cut off where it is too long.
                ("near '", ""),
            ] {
                let message = format!("{before}{value}{behind}");
                let kept = shown_of(1064, Some(*b"42000"), message.clone(), false);
                assert!(!kept.contains(SECRET), "{message}: {kept}");
                let quote = before.len() - 1;
                assert!(kept.starts_with(&before[..quote]), "{message}: {kept}");
            }
        }
        for (number, state) in [(1644, *b"HY000"), (30_001, *b"45000")] {
            let said = shown_of(
                number,
                Some(state),
                "no credit for s3cr3t".to_owned(),
                false,
            );
            assert_eq!(said, "...");
        }
        let said = shown_of(1644, None, "no credit for s3cr3t".to_owned(), true);
        assert!(said.contains(SECRET));
    }

    #[test]
    fn names_are_seen_where_servers_say_them_and_nobody_else() {
        for (number, message) in [
            (1146, "Table 'shop.orders' doesn't exist"),
            (
                1045,
                "Access denied for user 'app'@'10.0.0.5' (using password: YES)",
            ),
            (
                1142,
                "SELECT command denied to user 'app'@'localhost' for table 'orders'",
            ),
            (1305, "FUNCTION shop.rate does not exist"),
            (1406, "Data too long for column 'name' at row 12"),
            (1046, "No database selected"),
            (1193, "Unknown system variable 'autocomit'"),
        ] {
            assert_eq!(shown(number, message.to_owned(), false), message);
        }
        for (number, message, expected) in [
            // By SIGNAL.
            (1146, "no credit for s3cr3t", "..."),
            (1146, "Table 's3 cr3t' doesn't exist", "..."),
            (1146, "Table 'orders' doesn't exist: s3cr3t", "..."),
            (1046, "No database selected by s3cr3t", "..."),
            // A value in double quotes, with ANSI_QUOTES.
            (
                1054,
                "Unknown column 's3cr3t' in 'where clause'",
                "Unknown column '...' in '...'",
            ),
            (
                1060,
                "Duplicate column name 's3cr3t'",
                "Duplicate column name '...'",
            ),
            (
                1109,
                "Unknown table 's3cr3t' in field list",
                "Unknown table '...'",
            ),
        ] {
            assert_eq!(shown(number, message.to_owned(), false), expected);
            assert_eq!(shown(number, message.to_owned(), true), message);
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
                backend: Some(BackendId(1)),
            };
            table.note(&failed, None, Duration::from_secs(number.into()), false);
        }
        let (rows, others) = table.told();
        assert_eq!((rows.len(), others), (ROWS_MAX, 1));
        assert!(rows.iter().all(|row| row.number > 0));
        assert!(rows.iter().all(|row| row.message == "no '...'"));
    }
}
