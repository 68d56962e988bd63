//! The canned answers of the minimal backend. Each result is rendered once; answering copies it and
//! writes the statement's own number over the first row's `id`, so that a client sees whether the
//! reply it got is the reply to what it asked.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::variables;
use crate::protocol::{EofStyle, column_type, command, frame, put_string};

/// The status flags of a reply.
pub type Status = [u8; 2];

/// Autocommit, and no transaction.
pub const AUTOCOMMIT: Status = 2_u16.to_le_bytes();

/// The same within a transaction.
const IN_TRANSACTION: Status = 3_u16.to_le_bytes();

/// The second column, as long as sysbench's `c`.
const TEXT: &[u8; 119] = b"68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-28203206787-41238978918-19503783441";

/// Decimal digits of a text `id`: wide enough that every number fits its place.
const KEY_DIGITS: usize = 10;

/// More than one write takes is sent from the shared rendering instead of being copied.
const TAIL_COPIED_BYTES: usize = 16 * 1024;

/// The outcome of a command.
pub enum Answer {
    /// The whole reply is in the output.
    Written,
    /// The reply's beginning is in the output; this follows it.
    Continued(Rc<[u8]>),
    /// The client sent COM_QUIT.
    Goodbye,
}

/// The style of all replies to one session.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Style {
    pub eof: EofStyle,
    pub status: Status,
}

impl Style {
    /// That of a session outside of a transaction.
    pub fn new(eof: EofStyle) -> Self {
        Self {
            eof,
            status: AUTOCOMMIT,
        }
    }

    /// Takes up what a statement does to the transaction.
    fn follow(&mut self, text: &[u8]) {
        let begins = |word: &[u8]| {
            let first = text.get(..word.len());
            first.is_some_and(|first| first.eq_ignore_ascii_case(word))
        };
        if begins(b"begin") || begins(b"start transaction") {
            self.status = IN_TRANSACTION;
        } else if begins(b"commit") || begins(b"rollback") {
            self.status = AUTOCOMMIT;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    Text,
    Binary,
}

/// One rendered result: everything up to the end of the first row, and the rest.
struct Rendering {
    head: Box<[u8]>,
    key_at: usize,
    tail: Rc<[u8]>,
}

/// All results rendered so far, by row format, end style and number of rows.
#[derive(Default)]
pub struct Canned {
    renderings: RefCell<HashMap<(Form, Style, u64), Rc<Rendering>>>,
    /// Statements that all sessions have prepared so far.
    prepared: Cell<u32>,
}

impl Canned {
    /// Answers one command, appending to `out`.
    pub fn answer(&self, payload: &[u8], style: &mut Style, out: &mut Vec<u8>) -> Answer {
        let Some((&code, rest)) = payload.split_first() else {
            put_error(out, 1835, b"08S01", "Malformed communication packet");
            return Answer::Written;
        };
        match code {
            command::QUIT => return Answer::Goodbye,
            command::QUERY => return self.query(rest, style, out),
            command::STMT_EXECUTE => return self.execute(rest, *style, out),
            command::STMT_PREPARE => self.prepare(rest, *style, out),
            command::STMT_CLOSE => {}
            command::CHANGE_USER | command::RESET_CONNECTION => {
                style.status = AUTOCOMMIT;
                put_ok(out, 1, style.status);
            }
            command::INIT_DB | command::PING => put_ok(out, 1, style.status),
            _ => put_error(out, 1047, b"08S01", "Unknown command"),
        }
        Answer::Written
    }

    /// `SELECT @@session.…`, or `SELECT … <key> … [LIMIT <rows>]`: the first number standing alone is
    /// the key. Everything else is done.
    fn query(&self, text: &[u8], style: &mut Style, out: &mut Vec<u8>) -> Answer {
        if !text
            .get(..6)
            .is_some_and(|word| word.eq_ignore_ascii_case(b"select"))
        {
            style.follow(text);
            put_ok(out, 1, style.status);
            return Answer::Written;
        }
        if let Some(names) = variables::named(&text[6..]) {
            variables::put_values(out, &names, *style);
            return Answer::Written;
        }
        let mut numbers = text.split(|&byte| byte == b' ').filter_map(number);
        let key = numbers.next().unwrap_or(0);
        let rows = numbers.next().unwrap_or(1);
        self.result(Form::Text, *style, key, rows, out)
    }

    fn prepare(&self, text: &[u8], style: Style, out: &mut Vec<u8>) {
        let id = self.prepared.get().wrapping_add(1);
        self.prepared.set(id);
        put_prepared(out, id, text, style);
    }

    /// The one parameter is bound as a 64-bit integer: the payload's last eight bytes.
    fn execute(&self, rest: &[u8], style: Style, out: &mut Vec<u8>) -> Answer {
        let key = rest
            .last_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes));
        self.result(Form::Binary, style, key, 1, out)
    }

    fn result(&self, form: Form, style: Style, key: u64, rows: u64, out: &mut Vec<u8>) -> Answer {
        let rendering = Rc::clone(
            self.renderings
                .borrow_mut()
                .entry((form, style, rows))
                .or_insert_with(|| Rc::new(Rendering::new(form, style, rows))),
        );
        let key_at = out.len() + rendering.key_at;
        out.extend_from_slice(&rendering.head);
        form.write_key(key, &mut out[key_at..]);
        if rendering.tail.len() > TAIL_COPIED_BYTES {
            return Answer::Continued(Rc::clone(&rendering.tail));
        }
        out.extend_from_slice(&rendering.tail);
        Answer::Written
    }
}

impl Rendering {
    fn new(form: Form, style: Style, rows: u64) -> Self {
        let mut out = Vec::new();
        frame(&mut out, 1, |out| out.push(2));
        put_columns(&mut out, 2, style);
        let mut sequence = if style.eof == EofStyle::Classic {
            5_u8
        } else {
            4
        };
        let mut key_at = 0;
        let mut head_bytes = out.len();
        for row in 1..=rows {
            let start = out.len();
            put_row(&mut out, sequence, form, row);
            sequence = sequence.wrapping_add(1);
            if row == 1 {
                key_at = start + form.key_offset();
                head_bytes = out.len();
            }
        }
        put_end(&mut out, sequence, style);
        Self {
            head: out[..head_bytes].into(),
            key_at,
            tail: out[head_bytes..].into(),
        }
    }
}

impl Form {
    /// Where a row packet holds its `id`: behind header and length, or header, row byte and NULL bitmap.
    fn key_offset(self) -> usize {
        match self {
            Self::Text => 5,
            Self::Binary => 6,
        }
    }

    fn write_key(self, key: u64, at: &mut [u8]) {
        match self {
            Self::Text => {
                let mut rest = key;
                for digit in at[..KEY_DIGITS].iter_mut().rev() {
                    *digit = b'0' + (rest % 10) as u8;
                    rest /= 10;
                }
            }
            Self::Binary => at[..4].copy_from_slice(&(key as u32).to_le_bytes()),
        }
    }
}

fn put_row(out: &mut Vec<u8>, sequence: u8, form: Form, key: u64) {
    let start = out.len();
    frame(out, sequence, |out| {
        match form {
            Form::Text => put_string(out, &[b'0'; KEY_DIGITS]),
            Form::Binary => out.extend_from_slice(&[0, 0, 0, 0, 0, 0]),
        }
        put_string(out, TEXT);
    });
    form.write_key(key, &mut out[start + form.key_offset()..]);
}

/// The definitions of `id` and `c` and, for classic ends, the EOF packet behind them.
fn put_columns(out: &mut Vec<u8>, mut sequence: u8, style: Style) {
    put_column(out, sequence, b"id", column_type::LONG, 11);
    put_column(
        out,
        sequence.wrapping_add(1),
        b"c",
        column_type::STRING,
        480,
    );
    sequence = sequence.wrapping_add(2);
    if style.eof == EofStyle::Classic {
        put_end(out, sequence, style);
    }
}

pub fn put_column(out: &mut Vec<u8>, sequence: u8, name: &[u8], kind: u8, length: u32) {
    frame(out, sequence, |out| {
        for text in [
            b"def".as_slice(),
            b"sbtest",
            b"sbtest1",
            b"sbtest1",
            name,
            name,
        ] {
            put_string(out, text);
        }
        out.push(0x0c);
        out.extend_from_slice(&45_u16.to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&[kind, 0, 0, 0, 0, 0]);
    });
}

/// The packet that ends rows or, with classic ends, column definitions.
pub fn put_end(out: &mut Vec<u8>, sequence: u8, style: Style) {
    frame(out, sequence, |out| match style.eof {
        EofStyle::Classic => {
            out.extend_from_slice(&[0xfe, 0, 0]);
            out.extend_from_slice(&style.status);
        }
        EofStyle::Deprecated => {
            out.extend_from_slice(&[0xfe, 0, 0]);
            out.extend_from_slice(&style.status);
            out.extend_from_slice(&[0, 0]);
        }
    });
}

/// The reply to a prepare: the statement's id, its columns `id` and `c`, as many parameters as `?`.
fn put_prepared(out: &mut Vec<u8>, id: u32, text: &[u8], style: Style) {
    let parameters = text.iter().filter(|&&byte| byte == b'?').count() as u16;
    frame(out, 1, |out| {
        out.push(0);
        out.extend_from_slice(&id.to_le_bytes());
        out.extend_from_slice(&2_u16.to_le_bytes());
        out.extend_from_slice(&parameters.to_le_bytes());
        out.extend_from_slice(&[0, 0, 0]);
    });
    let mut sequence = 2;
    for _ in 0..parameters {
        put_column(out, sequence, b"?", column_type::LONGLONG, 21);
        sequence = sequence.wrapping_add(1);
    }
    if parameters > 0 && style.eof == EofStyle::Classic {
        put_end(out, sequence, style);
        sequence = sequence.wrapping_add(1);
    }
    put_columns(out, sequence, style);
}

/// An OK packet with nothing affected.
pub fn put_ok(out: &mut Vec<u8>, sequence: u8, status: Status) {
    frame(out, sequence, |out| {
        out.extend_from_slice(&[0, 0, 0]);
        out.extend_from_slice(&status);
        out.extend_from_slice(&[0, 0]);
    });
}

pub fn put_error(out: &mut Vec<u8>, code: u16, sqlstate: &[u8; 5], text: &str) {
    frame(out, 1, |out| {
        out.push(0xff);
        out.extend_from_slice(&code.to_le_bytes());
        out.push(b'#');
        out.extend_from_slice(sqlstate);
        out.extend_from_slice(text.as_bytes());
    });
}

fn number(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::reply::{Reply, ReplyScanner, RowFormat};

    const STYLES: [EofStyle; 2] = [EofStyle::Classic, EofStyle::Deprecated];

    fn answer(payload: &[u8], eof: EofStyle) -> Vec<u8> {
        let mut out = Vec::new();
        let mut style = Style::new(eof);
        if let Answer::Continued(tail) = Canned::default().answer(payload, &mut style, &mut out) {
            out.extend_from_slice(&tail);
        }
        out
    }

    fn scan(pieces: &[&[u8]], format: RowFormat, eof: EofStyle) -> Option<Reply> {
        let mut scanner = ReplyScanner::new(format, eof);
        let mut input = Vec::new();
        for piece in pieces {
            input.extend_from_slice(piece);
            let (taken, reply) = scanner.feed(&input).expect("it is a reply");
            input.drain(..taken);
            if reply.is_some() {
                assert!(input.is_empty(), "the reply ends with the last byte");
                return reply;
            }
        }
        None
    }

    #[test]
    fn a_reply_carries_the_key_and_is_the_same_wherever_it_is_cut() {
        let mut execute = vec![command::STMT_EXECUTE, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0];
        execute.extend_from_slice(&4711_u64.to_le_bytes());
        let query = b"\x03SELECT id, c FROM sbtest1 WHERE id = 4711".to_vec();
        let expected = Some(Reply {
            rows: 1,
            key: Some(4711),
        });
        for (command, format) in [(query, RowFormat::Text), (execute, RowFormat::Binary)] {
            for eof in STYLES {
                let reply = answer(&command, eof);
                for cut in 0..reply.len() {
                    let (begin, end) = reply.split_at(cut);
                    assert_eq!(scan(&[begin], format, eof), None, "cut at {cut}");
                    assert_eq!(scan(&[begin, end], format, eof), expected, "cut at {cut}");
                }
            }
        }
    }

    #[test]
    fn a_large_result_has_all_its_rows_and_sequence_ids_in_order() {
        for eof in STYLES {
            let reply = answer(
                b"\x03SELECT id, c FROM sbtest1 WHERE id >= 7 LIMIT 1000",
                eof,
            );
            let expected = Some(Reply {
                rows: 1000,
                key: Some(7),
            });
            assert_eq!(scan(&[&reply], RowFormat::Text, eof), expected);
            let (mut rest, mut sequence) = (&reply[..], 1_u8);
            while let Some(packet) = crate::protocol::first_packet(rest) {
                assert_eq!(packet.sequence, sequence);
                sequence = sequence.wrapping_add(1);
                rest = &rest[packet.wire_bytes()..];
            }
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn replies_within_a_transaction_say_so() {
        let (canned, mut style) = (Canned::default(), Style::new(EofStyle::Deprecated));
        for (text, status) in [
            (&b"\x03BEGIN"[..], IN_TRANSACTION),
            (
                b"\x03SELECT id, c FROM sbtest1 WHERE id = 7",
                IN_TRANSACTION,
            ),
            (b"\x03commit", AUTOCOMMIT),
            (b"\x03SELECT id, c FROM sbtest1 WHERE id = 7", AUTOCOMMIT),
        ] {
            let mut out = Vec::new();
            canned.answer(text, &mut style, &mut out);
            assert_eq!(out[out.len() - 4..out.len() - 2], status);
        }
    }

    #[test]
    fn an_unknown_command_is_an_error_to_the_load() {
        let reply = answer(&[0x77], EofStyle::Deprecated);
        let scanned = ReplyScanner::new(RowFormat::Text, EofStyle::Deprecated).feed(&reply);
        assert!(scanned.is_err());
    }
}
