//! Replies as packets: OK, ERR, rows in both protocols.

use wire::column::{ColumnDefinition, ColumnType};
use wire::reply::{OkHeader, OkPacket, put_eof};
use wire::session_track::put_ok;
use wire::write::{put_lenenc, put_lenenc_bytes, put_packets};
use wire::{Capabilities, HEADER_BYTES, PACKET_PAYLOAD_MAX, StatusFlags};

use super::error::SqlError;
use super::result_column::ResultColumn;
use super::session::Session;
use super::table::Row;
use super::value::Value;

/// What a statement comes to.
#[derive(Debug)]
pub enum Outcome {
    /// It has changed something, or nothing.
    Done(Done),
    /// It has rows.
    Rows(Rows),
}

/// What an OK packet says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows that were changed.
    pub affected: u64,
    /// The first number that AUTO_INCREMENT has made.
    pub insert_id: u64,
    /// A text for people.
    pub info: String,
}

/// Rows and their columns.
#[derive(Debug)]
pub struct Rows {
    /// The columns.
    pub columns: Vec<ResultColumn>,
    /// The rows.
    pub rows: Vec<Row>,
}

impl Outcome {
    /// Nothing to tell.
    pub fn done() -> Self {
        Self::Done(Done::default())
    }
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// As texts.
    Text,
    /// As types have it, for prepared statements.
    Binary,
}

/// Whether another result of the same command follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// This is the last one.
    Nothing,
    /// There is another.
    More,
}

/// A reply in the making.
#[derive(Debug, Default)]
pub struct Output {
    /// What was written.
    pub bytes: Vec<u8>,
    sequence: u8,
}

impl Output {
    /// A reply begins with this sequence id.
    pub fn begin(&mut self, sequence: u8) {
        self.bytes.clear();
        self.sequence = sequence;
    }

    /// The sequence id of the next packet.
    pub fn next_sequence(&self) -> u8 {
        self.sequence
    }

    /// Appends a packet.
    pub fn packet(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEADER_BYTES]);
        write(&mut self.bytes);
        let length = self.bytes.len() - start - HEADER_BYTES;
        if length >= PACKET_PAYLOAD_MAX {
            let payload = self.bytes.split_off(start + HEADER_BYTES);
            self.bytes.truncate(start);
            self.sequence = put_packets(&mut self.bytes, self.sequence, &payload);
            return;
        }
        let header = wire::Header {
            length,
            sequence: self.sequence,
        };
        self.bytes[start..start + HEADER_BYTES].copy_from_slice(&header.encode());
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Appends an ERR packet.
    pub fn error(&mut self, error: &SqlError) {
        self.packet(|out| error.encode(out));
    }
}

impl Session {
    /// Appends what a statement comes to.
    pub fn write(&mut self, out: &mut Output, outcome: &Outcome, of: Protocol, follows: Follows) {
        match outcome {
            Outcome::Done(done) => self.write_done(out, done, follows),
            Outcome::Rows(rows) => self.write_rows(out, rows, of, follows),
        }
    }

    /// Appends an OK packet.
    pub fn write_done(&mut self, out: &mut Output, done: &Done, follows: Follows) {
        let ok = OkPacket {
            affected_rows: done.affected,
            last_insert_id: done.insert_id,
            status: self
                .status()
                .with(StatusFlags::MORE_RESULTS_EXISTS, follows == Follows::More),
            warnings: self.diagnostics.told_warnings(),
        };
        self.write_ok(out, OkHeader::Ok, &ok, done.info.as_bytes());
    }

    /// Appends an OK packet that stands for an EOF.
    pub fn write_end(&mut self, out: &mut Output) {
        let ok = OkPacket {
            status: self.status(),
            warnings: self.diagnostics.told_warnings(),
            ..OkPacket::default()
        };
        self.write_ok(out, OkHeader::Eof, &ok, b"");
    }

    fn write_ok(&mut self, out: &mut Output, header: OkHeader, ok: &OkPacket, info: &[u8]) {
        let capabilities = self.login.capabilities;
        let is_told = capabilities.contains(Capabilities::SESSION_TRACK)
            && !self.tracker.is_empty(&self.settings.tracking);
        if !is_told {
            self.tracker.forget();
            out.packet(|out| put_ok(out, header, capabilities, ok, info, []));
            return;
        }
        let is_mariadb = self.family().is_mariadb();
        let tracking = &self.settings.tracking;
        self.tracker.take(tracking, is_mariadb, |changes| {
            let changes = changes.iter().copied();
            out.packet(|out| put_ok(out, header, capabilities, ok, info, changes));
        });
    }

    fn write_rows(&mut self, out: &mut Output, rows: &Rows, of: Protocol, follows: Follows) {
        let capabilities = self.login.capabilities;
        let has_eof = !capabilities.contains(Capabilities::DEPRECATE_EOF);
        let status = self.status();
        let status = status.with(StatusFlags::MORE_RESULTS_EXISTS, follows == Follows::More);
        let warnings = self.diagnostics.told_warnings();
        out.packet(|out| put_lenenc(out, rows.columns.len() as u64));
        self.write_columns(out, &rows.columns);
        if has_eof {
            out.packet(|out| put_eof(out, status, warnings));
        }
        for row in &rows.rows {
            out.packet(|out| match of {
                Protocol::Text => put_text_row(out, row),
                Protocol::Binary => put_binary_row(out, &rows.columns, row),
            });
        }
        self.write_end_of_rows(out, status);
    }

    /// Appends what stands behind rows.
    fn write_end_of_rows(&mut self, out: &mut Output, status: StatusFlags) {
        let capabilities = self.login.capabilities;
        let warnings = self.diagnostics.told_warnings();
        if !capabilities.contains(Capabilities::DEPRECATE_EOF) {
            return out.packet(|out| put_eof(out, status, warnings));
        }
        let ok = OkPacket {
            status,
            warnings,
            ..OkPacket::default()
        };
        self.write_ok(out, OkHeader::Eof, &ok, b"");
    }

    /// Appends the columns of a cursor, whose rows are to be fetched.
    pub fn write_cursor(&mut self, out: &mut Output, columns: &[ResultColumn]) {
        out.packet(|out| put_lenenc(out, columns.len() as u64));
        self.write_columns(out, columns);
        let status = self.status().with(StatusFlags::CURSOR_EXISTS, true);
        self.write_end_of_rows(out, status);
    }

    /// Appends rows that were fetched, and how their cursor stands.
    pub fn write_fetched(
        &mut self,
        out: &mut Output,
        (columns, rows): (&[ResultColumn], &[Row]),
        cursor: StatusFlags,
    ) {
        for row in rows {
            out.packet(|out| put_binary_row(out, columns, row));
        }
        let status = self.status().with(cursor, true);
        self.write_end_of_rows(out, status);
    }

    /// Appends what comes before rows, if there are columns.
    pub fn write_head(&self, out: &mut Output, columns: &[ResultColumn]) {
        if columns.is_empty() {
            return;
        }
        out.packet(|out| put_lenenc(out, columns.len() as u64));
        self.write_columns(out, columns);
        if !self
            .login
            .capabilities
            .contains(Capabilities::DEPRECATE_EOF)
        {
            let status = self.status();
            out.packet(|out| put_eof(out, status, 0));
        }
    }

    /// Appends the definitions of columns.
    pub fn write_columns(&self, out: &mut Output, columns: &[ResultColumn]) {
        let capabilities = self.login.capabilities;
        for column in columns {
            let mut definition = ColumnDefinition::new(
                column.name.as_bytes(),
                column.kind.kind,
                self.collation_of(column),
                column.kind.length,
            );
            if let Some(origin) = &column.origin {
                let [schema, table, table_original, name] = &**origin;
                definition.schema = schema.as_bytes();
                definition.table = table.as_bytes();
                definition.table_original = table_original.as_bytes();
                definition.name_original = name.as_bytes();
            }
            definition.flags = column.kind.flags;
            definition.decimals = column.kind.decimals;
            out.packet(|out| definition.encode(capabilities, out));
        }
    }

    /// Texts come in the session's character set, everything else is binary.
    fn collation_of(&self, column: &ResultColumn) -> u16 {
        let kind = column.kind;
        let is_binary = kind.is_numeric()
            || matches!(kind.kind, ColumnType::NULL | ColumnType::DATETIME)
            || kind.flags & ColumnDefinition::BINARY != 0;
        match is_binary {
            true => ColumnDefinition::BINARY_COLLATION,
            false => self.login.collation,
        }
    }
}

/// Appends a row of the text protocol.
pub fn put_text_row(out: &mut Vec<u8>, row: &[Value]) {
    for value in row {
        match value {
            Value::Null => out.push(0xfb),
            Value::Text(bytes) | Value::Binary(bytes) => put_lenenc_bytes(out, bytes),
            other => {
                // A number has fewer than 251 digits.
                let at = out.len();
                out.push(0);
                other.write_text(out);
                out[at] = (out.len() - at - 1) as u8;
            }
        }
    }
}

fn put_binary_row(out: &mut Vec<u8>, columns: &[ResultColumn], row: &[Value]) {
    out.push(0);
    let bitmap_at = out.len();
    out.resize(bitmap_at + (columns.len() + 9) / 8, 0);
    for (at, (column, value)) in columns.iter().zip(row).enumerate() {
        if value.is_null() {
            let bit = at + 2;
            out[bitmap_at + bit / 8] |= 1 << (bit % 8);
            continue;
        }
        put_binary(out, column.kind.kind, value);
    }
}

fn put_binary(out: &mut Vec<u8>, kind: ColumnType, value: &Value) {
    let number = match value {
        Value::Unsigned(number) => *number,
        other => other.to_int() as u64,
    };
    let number = number.to_le_bytes();
    match kind {
        ColumnType::TINY => out.extend_from_slice(&number[..1]),
        ColumnType::SHORT => out.extend_from_slice(&number[..2]),
        ColumnType::LONG => out.extend_from_slice(&number[..4]),
        ColumnType::LONGLONG => out.extend_from_slice(&number),
        ColumnType::DOUBLE => out.extend_from_slice(&value.to_double().to_le_bytes()),
        ColumnType::DATETIME => put_moment(out, &value.to_text()),
        _ => put_lenenc_bytes(out, &value.to_bytes()),
    }
}

/// `2026-01-01 00:00:00` as seven bytes.
fn put_moment(out: &mut Vec<u8>, text: &str) {
    let numbers = text.split(|it: char| !it.is_ascii_digit());
    let numbers: Vec<u16> = numbers.map(|it| it.parse().unwrap_or(0)).collect();
    let [year, rest @ ..] = &numbers[..] else {
        return out.push(0);
    };
    out.push(7);
    out.extend_from_slice(&year.to_le_bytes());
    out.extend(rest.iter().take(5).map(|it| *it as u8));
}
