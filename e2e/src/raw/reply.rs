//! Reads replies to their end, by the rules of the protocol's documentation, and decodes the parts that tests look
//! into.

use std::fmt;
use std::io;

use super::{RawConn, capability};

/// `SERVER_MORE_RESULTS_EXISTS`.
const MORE_RESULTS: u16 = 0x0008;
/// `SERVER_STATUS_CURSOR_EXISTS`.
const CURSOR_EXISTS: u16 = 0x0040;
/// `SERVER_PS_OUT_PARAMS`.
const OUT_PARAMETERS: u16 = 0x1000;

/// The shapes of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// OK, ERR, a request for a local file, or results, one after the other.
    Results,
    /// COM_STMT_PREPARE's.
    Prepared,
    /// Column definitions up to EOF (COM_FIELD_LIST).
    Columns,
    /// Rows up to EOF (COM_STMT_FETCH).
    Rows,
    /// One packet (COM_STATISTICS).
    Single,
}

/// A whole reply.
#[derive(Debug, Default)]
pub struct Reply {
    /// Its parts in order.
    pub outcomes: Vec<Outcome>,
    /// MariaDB's progress reports seen before or between them.
    pub progress: Vec<Vec<u8>>,
}

/// One part of a reply.
#[derive(Debug)]
pub enum Outcome {
    /// OK (or EOF where it stands for OK).
    Ok {
        /// Affected rows.
        affected: u64,
        /// Last insert id.
        insert_id: u64,
        /// Status flags.
        status: u16,
        /// Warnings.
        warnings: u16,
        /// The rest: info text and session trackers, undecoded.
        rest: Vec<u8>,
    },
    /// An error.
    Err(ServerError),
    /// A result with rows.
    Rows(Rows),
    /// The server wants this file.
    LocalFile(Vec<u8>),
    /// A prepared statement.
    Prepared {
        /// Statement id.
        id: u32,
        /// Number of columns.
        columns: u16,
        /// Number of parameters.
        parameters: u16,
    },
    /// A packet that is not decoded.
    Single(Vec<u8>),
}

/// A result.
#[derive(Debug, Default)]
pub struct Rows {
    /// Column definitions, undecoded; empty when the server left them out.
    pub columns: Vec<Vec<u8>>,
    /// Rows, undecoded.
    pub rows: Vec<Vec<u8>>,
    /// Status flags of the result's end. If a cursor was opened: of the end of the columns.
    pub status: u16,
    /// The error that ended the result early.
    pub error: Option<ServerError>,
}

/// An ERR packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// Error number.
    pub code: u16,
    /// SQLSTATE.
    pub state: String,
    /// Text.
    pub text: String,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) {}", self.code, self.state, self.text)
    }
}

impl ServerError {
    pub(super) fn parse(payload: &[u8]) -> Self {
        let code = u16::from_le_bytes([payload[1], payload[2]]);
        let (state, text) = match payload.get(3) {
            Some(b'#') => (&payload[4..9], &payload[9..]),
            _ => (&b""[..], &payload[3..]),
        };
        Self {
            code,
            state: String::from_utf8_lossy(state).into_owned(),
            text: String::from_utf8_lossy(text).into_owned(),
        }
    }
}

impl Rows {
    /// The fields of a row of a text reply.
    pub fn fields(&self, row: usize) -> Vec<Option<Vec<u8>>> {
        self.rows
            .get(row)
            .map(|row| fields(row))
            .unwrap_or_default()
    }
}

impl Reply {
    /// The error that the reply is or ends with.
    pub fn error(&self) -> Option<&ServerError> {
        match self.outcomes.last()? {
            Outcome::Err(error) => Some(error),
            Outcome::Rows(rows) => rows.error.as_ref(),
            _ => None,
        }
    }

    /// The results that have rows.
    pub fn results(&self) -> impl Iterator<Item = &Rows> {
        self.outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Rows(rows) => Some(rows),
            _ => None,
        })
    }

    /// A field of the first result of a text reply; none if it is NULL or missing.
    pub fn text(&self, row: usize, column: usize) -> Option<String> {
        let row = self.results().next()?.rows.get(row)?;
        Some(String::from_utf8_lossy(fields(row).get(column)?.as_deref()?).into_owned())
    }

    /// All rows of the first result of a text reply; NULL as "NULL".
    pub fn texts(&self) -> Vec<Vec<String>> {
        let Some(result) = self.results().next() else {
            return Vec::new();
        };
        let text = |field: Option<Vec<u8>>| match field {
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            None => "NULL".to_owned(),
        };
        let row = |row: &Vec<u8>| fields(row).into_iter().map(text).collect();
        result.rows.iter().map(row).collect()
    }

    /// Status flags of the last part.
    pub fn status(&self) -> u16 {
        match self.outcomes.last() {
            Some(Outcome::Ok { status, .. }) => *status,
            Some(Outcome::Rows(rows)) => rows.status,
            _ => 0,
        }
    }

    /// The id of a prepared statement.
    #[track_caller]
    pub fn statement(&self) -> u32 {
        match self.outcomes.as_slice() {
            [Outcome::Prepared { id, .. }] => *id,
            other => panic!("no prepared statement: {other:?}"),
        }
    }
}

/// The fields of a text row.
fn fields(mut row: &[u8]) -> Vec<Option<Vec<u8>>> {
    let mut fields = Vec::new();
    while !row.is_empty() {
        if row[0] == 0xFB {
            fields.push(None);
            row = &row[1..];
            continue;
        }
        let (length, rest) = take_lenenc(row);
        let length = usize::try_from(length).expect("a field fits in memory");
        fields.push(Some(rest[..length].to_vec()));
        row = &rest[length..];
    }
    fields
}

/// A length-encoded integer, and the bytes behind it.
pub(super) fn take_lenenc(bytes: &[u8]) -> (u64, &[u8]) {
    let width = match bytes[0] {
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        small => return (u64::from(small), &bytes[1..]),
    };
    let mut wide = [0; 8];
    wide[..width].copy_from_slice(&bytes[1..=width]);
    (u64::from_le_bytes(wide), &bytes[1 + width..])
}

/// A length-encoded string.
pub fn lenenc(bytes: &[u8]) -> Vec<u8> {
    let mut out = lenenc_number(bytes.len());
    out.extend(bytes);
    out
}

/// A length-encoded integer.
pub(super) fn lenenc_number(number: usize) -> Vec<u8> {
    match number {
        0..=250 => vec![u8::try_from(number).expect("checked")],
        251..=0xFFFF => {
            let bytes = u16::try_from(number).expect("checked").to_le_bytes();
            vec![0xFC, bytes[0], bytes[1]]
        }
        _ => {
            let mut out = vec![0xFE];
            out.extend((number as u64).to_le_bytes());
            out
        }
    }
}

pub(super) fn read(conn: &mut RawConn, shape: Shape) -> io::Result<Reply> {
    let mut reply = Reply::default();
    match shape {
        Shape::Results => while read_result(conn, &mut reply)? {},
        Shape::Prepared => read_prepared(conn, &mut reply)?,
        Shape::Columns => {
            let rows = read_rows(conn, conn.capabilities)?;
            reply.outcomes.push(Outcome::Rows(rows));
        }
        Shape::Rows => {
            let rows = read_rows(conn, conn.capabilities)?;
            reply.outcomes.push(Outcome::Rows(rows));
        }
        Shape::Single => reply.outcomes.push(Outcome::Single(conn.payload()?)),
    }
    Ok(reply)
}

/// Reads one result. Returns whether another result follows.
fn read_result(conn: &mut RawConn, reply: &mut Reply) -> io::Result<bool> {
    let first = conn.payload()?;
    match first.first() {
        Some(0xFF) if is_progress(conn, &first) => {
            reply.progress.push(first);
            Ok(true)
        }
        Some(0xFF) => {
            reply
                .outcomes
                .push(Outcome::Err(ServerError::parse(&first)));
            Ok(false)
        }
        Some(0xFB) => {
            reply.outcomes.push(Outcome::LocalFile(first[1..].to_vec()));
            Ok(false)
        }
        Some(0x00) => {
            let ok = parse_ok(&first);
            reply.outcomes.push(ok);
            Ok(reply.status() & MORE_RESULTS != 0)
        }
        Some(0xFE) if first.len() < 9 => {
            reply.outcomes.push(parse_end(conn.capabilities, &first));
            Ok(false)
        }
        Some(_) => {
            let (count, rest) = take_lenenc(&first);
            let optional = capability::OPTIONAL_RESULTSET_METADATA | capability::CACHE_METADATA;
            let left_out = conn.capabilities & optional != 0 && rest.first() == Some(&0);
            let mut rows = read_columns(conn, if left_out { 0 } else { count })?;
            // MariaDB sets the flag in each result of a procedure that has an open cursor.
            if rows.status & (CURSOR_EXISTS | MORE_RESULTS) != CURSOR_EXISTS {
                let before = rows;
                rows = read_rows(conn, conn.capabilities)?;
                rows.columns = before.columns;
                rows.status |= more_after_out_parameters(before.status);
            }
            let more = rows.status & MORE_RESULTS != 0 && rows.error.is_none();
            reply.outcomes.push(Outcome::Rows(rows));
            Ok(more)
        }
        None => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "an empty packet",
        )),
    }
}

/// Whether more results follow a row of OUT parameters. MySQL sets that flag only in the EOF in front of the row; its
/// client library does the same (`cli_read_binary_rows`).
fn more_after_out_parameters(status: u16) -> u16 {
    match status & OUT_PARAMETERS {
        0 => 0,
        _ => status & MORE_RESULTS,
    }
}

/// Column definitions, and the EOF behind them where it is not deprecated; the EOF comes even
/// when the definitions are left out.
fn read_columns(conn: &mut RawConn, count: u64) -> io::Result<Rows> {
    let mut rows = Rows::default();
    for _ in 0..count {
        rows.columns.push(conn.payload()?);
    }
    if !conn.can(capability::DEPRECATE_EOF) {
        let end = conn.payload()?;
        if let Outcome::Ok { status, .. } = parse_end(0, &end) {
            rows.status = status;
        }
    }
    Ok(rows)
}

/// Rows (or column definitions) up to EOF or ERR.
fn read_rows(conn: &mut RawConn, capabilities: u64) -> io::Result<Rows> {
    let mut rows = Rows::default();
    loop {
        let row = conn.payload()?;
        match row.first() {
            Some(0xFF) => {
                rows.error = Some(ServerError::parse(&row));
                return Ok(rows);
            }
            Some(0xFE) if is_end(capabilities, &row) => {
                if let Outcome::Ok { status, .. } = parse_end(capabilities, &row) {
                    rows.status = status;
                }
                return Ok(rows);
            }
            _ => rows.rows.push(row),
        }
    }
}

fn read_prepared(conn: &mut RawConn, reply: &mut Reply) -> io::Result<()> {
    let first = conn.payload()?;
    if first[0] == 0xFF {
        reply
            .outcomes
            .push(Outcome::Err(ServerError::parse(&first)));
        return Ok(());
    }
    let id = u32::from_le_bytes([first[1], first[2], first[3], first[4]]);
    let columns = u16::from_le_bytes([first[5], first[6]]);
    let parameters = u16::from_le_bytes([first[7], first[8]]);
    conn.prepared(id);
    let left_out = conn.can(capability::OPTIONAL_RESULTSET_METADATA) && first.get(12) == Some(&0);
    for count in [parameters, columns].map(u64::from) {
        if count > 0 {
            read_columns(conn, if left_out { 0 } else { count })?;
        }
    }
    reply.outcomes.push(Outcome::Prepared {
        id,
        columns,
        parameters,
    });
    Ok(())
}

/// MariaDB: an ERR with the number 0xFFFF reports progress.
fn is_progress(conn: &RawConn, payload: &[u8]) -> bool {
    payload.starts_with(&[0xFF, 0xFF, 0xFF]) && conn.can(capability::PROGRESS)
}

/// A row whose first field has 16 MiB or more begins with 0xFE as well.
fn is_end(capabilities: u64, payload: &[u8]) -> bool {
    if capabilities & capability::DEPRECATE_EOF != 0 {
        payload.len() < super::PACKET_MAX
    } else {
        payload.len() < 9
    }
}

fn parse_end(capabilities: u64, payload: &[u8]) -> Outcome {
    if capabilities & capability::DEPRECATE_EOF != 0 && payload.len() > 5 {
        return parse_ok(payload);
    }
    let pair = |at: usize| match payload.get(at..at + 2) {
        Some(bytes) => u16::from_le_bytes([bytes[0], bytes[1]]),
        None => 0,
    };
    Outcome::Ok {
        affected: 0,
        insert_id: 0,
        warnings: pair(1),
        status: pair(3),
        rest: Vec::new(),
    }
}

fn parse_ok(payload: &[u8]) -> Outcome {
    let (affected, rest) = take_lenenc(&payload[1..]);
    let (insert_id, rest) = take_lenenc(rest);
    Outcome::Ok {
        affected,
        insert_id,
        status: u16::from_le_bytes([rest[0], rest[1]]),
        warnings: u16::from_le_bytes([rest[2], rest[3]]),
        rest: rest[4..].to_vec(),
    }
}
