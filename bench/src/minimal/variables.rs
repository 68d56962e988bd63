//! Session variables of the minimal backend: what a pool asks for when it opens a connection, with the
//! values that a fresh session of MySQL 8.0 has. None of them ever changes.

use crate::protocol::{EofStyle, column_type, frame, put_string};

use super::canned::{Style, put_column, put_end, put_error};

/// ER_UNKNOWN_SYSTEM_VARIABLE.
const UNKNOWN: u16 = 1193;

const VALUES: &[(&[u8], &[u8])] = &[
    (b"autocommit", b"1"),
    (b"character_set_client", b"utf8mb4"),
    (b"character_set_results", b"utf8mb4"),
    (b"collation_connection", b"utf8mb4_general_ci"),
    (b"foreign_key_checks", b"1"),
    (b"session_track_gtids", b"OFF"),
    (b"session_track_schema", b"1"),
    (b"session_track_state_change", b"0"),
    (
        b"session_track_system_variables",
        b"time_zone,autocommit,character_set_client,character_set_results,character_set_connection",
    ),
    (b"session_track_transaction_info", b"OFF"),
    (b"sql_mode", b"STRICT_TRANS_TABLES"),
    (b"unique_checks", b"1"),
    (b"wait_timeout", b"28800"),
];

/// What `list` asks for, `@@session.a,@@session.b`; none if it is another list.
pub fn named(list: &[u8]) -> Option<Vec<&[u8]>> {
    let names = list.split(|&byte| byte == b',');
    names
        .map(|name| name.trim_ascii().strip_prefix(b"@@session."))
        .collect()
}

/// One row with the values of these variables.
pub fn put_values(out: &mut Vec<u8>, names: &[&[u8]], style: Style) {
    let values: Option<Vec<&[u8]>> = names.iter().map(|name| value(name)).collect();
    let Some(values) = values else {
        return put_error(out, UNKNOWN, b"HY000", "Unknown system variable");
    };
    frame(out, 1, |out| out.push(names.len() as u8));
    let mut sequence = 2_u8;
    let mut next = || {
        sequence = sequence.wrapping_add(1);
        sequence.wrapping_sub(1)
    };
    for name in names {
        put_column(out, next(), name, column_type::STRING, 1024);
    }
    if style.eof == EofStyle::Classic {
        put_end(out, next(), style);
    }
    frame(out, next(), |out| {
        for value in values {
            put_string(out, value);
        }
    });
    put_end(out, next(), style);
}

fn value(name: &[u8]) -> Option<&'static [u8]> {
    let known = VALUES.iter().find(|(known, _)| *known == name);
    known.map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::reply::{Reply, ReplyScanner, RowFormat};

    #[test]
    fn a_list_of_variables_is_one_row_and_another_list_is_none() {
        let names = named(b"@@session.autocommit,@@session.sql_mode").expect("it is a list");
        assert_eq!(names, [&b"autocommit"[..], b"sql_mode"]);
        assert_eq!(named(b"id, c FROM sbtest1 WHERE id = 7"), None);
        for eof in [EofStyle::Classic, EofStyle::Deprecated] {
            let mut out = Vec::new();
            put_values(&mut out, &names, Style::new(eof));
            let scanned = ReplyScanner::new(RowFormat::Text, eof).feed(&out);
            let one = Reply {
                rows: 1,
                key: Some(1),
            };
            assert_eq!(scanned.expect("it is a reply"), (out.len(), Some(one)));
        }
    }

    #[test]
    fn a_variable_that_it_does_not_have_is_an_error() {
        let mut out = Vec::new();
        let style = Style::new(EofStyle::Deprecated);
        put_values(&mut out, &[b"autocommit", b"nothing"], style);
        assert_eq!(out[4..7], [0xff, 0xa9, 0x04]);
    }
}
