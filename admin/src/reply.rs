//! Answers as packets.

use wire::column::{ColumnDefinition, ColumnType};
use wire::reply::put_eof;
use wire::reply::{OkHeader, OkPacket};
use wire::result::{put_binary_header, put_rows, put_text_row};
use wire::session_track::put_ok;
use wire::write::{put_lenenc_bytes, put_packets};
use wire::{Capabilities, StatusFlags};

use crate::engine::ResultRows;
use crate::fault::Fault;
use crate::table::{CellType, Table};

/// The status flags that every session has here.
pub const STATUS: StatusFlags = StatusFlags::AUTOCOMMIT;

/// `utf8mb4_general_ci`
const COLLATION: u16 = 45;

/// The sequence id with which a reply begins.
const FIRST: u8 = 1;

/// A payload as packets.
pub fn payload(payload: &[u8]) -> Vec<u8> {
    let mut packets = Vec::new();
    put_packets(&mut packets, FIRST, payload);
    packets
}

/// OK, with the number of changed rows and of warnings.
pub fn done(
    capabilities: Capabilities,
    status: StatusFlags,
    rows: usize,
    warnings: usize,
) -> Vec<u8> {
    let mut ok = Vec::new();
    let packet = OkPacket {
        status,
        affected_rows: rows as u64,
        warnings: u16::try_from(warnings).unwrap_or(u16::MAX),
        ..OkPacket::default()
    };
    put_ok(&mut ok, OkHeader::Ok, capabilities, &packet, b"", []);
    payload(&ok)
}

/// EOF, the answer to some commands.
pub fn eof() -> Vec<u8> {
    let mut eof = Vec::new();
    put_eof(&mut eof, STATUS, 0);
    payload(&eof)
}

/// ERR.
pub fn fault(fault: &Fault) -> Vec<u8> {
    payload(&fault.payload())
}

/// The protocol in which rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text protocol: the answer to COM_QUERY.
    Text,
    /// Binary protocol: the answer to COM_STMT_EXECUTE.
    Binary,
}

/// A result set.
pub fn rows(
    capabilities: Capabilities,
    status: StatusFlags,
    rows: &ResultRows,
    warnings: usize,
    format: Format,
) -> Vec<u8> {
    let columns: Vec<_> = (rows.columns.iter())
        .map(|(name, kind)| definition(name, *kind))
        .collect();
    let mut packets = Vec::new();
    let warnings = u16::try_from(warnings).unwrap_or(u16::MAX);
    put_rows(
        &mut packets,
        FIRST,
        capabilities,
        &columns,
        &rows.rows,
        status,
        warnings,
        |payload, row| match format {
            Format::Text => put_text_row(payload, row.iter().map(Option::as_deref)),
            Format::Binary => put_binary_row(payload, row, &rows.columns),
        },
    );
    packets
}

/// A row of the binary protocol.
fn put_binary_row(payload: &mut Vec<u8>, row: &[Option<Vec<u8>>], columns: &[(String, CellType)]) {
    put_binary_header(payload, row.iter().map(Option::is_none));
    for (value, (_, kind)) in row.iter().zip(columns) {
        match (value, kind) {
            (None, _) => {}
            (Some(text), CellType::Text) => put_lenenc_bytes(payload, text),
            (Some(digits), CellType::Integer) => {
                let number: i64 = parsed(digits);
                payload.extend_from_slice(&number.to_le_bytes());
            }
            (Some(digits), CellType::Fraction) => {
                let number: f64 = parsed(digits);
                payload.extend_from_slice(&number.to_le_bytes());
            }
        }
    }
}

/// Parses a number that the proxy itself has formatted.
fn parsed<T: std::str::FromStr + Default>(digits: &[u8]) -> T {
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    digits.parse().unwrap_or_default()
}

/// The answer to COM_STMT_PREPARE: the statement's id, its placeholders and columns.
pub fn prepared(
    capabilities: Capabilities,
    id: u32,
    parameters: u16,
    columns: &[String],
) -> Vec<u8> {
    let mut packets = Vec::new();
    let mut payload = vec![wire::reply::OK];
    payload.extend_from_slice(&id.to_le_bytes());
    let count = u16::try_from(columns.len()).unwrap_or(u16::MAX);
    payload.extend_from_slice(&count.to_le_bytes());
    payload.extend_from_slice(&parameters.to_le_bytes());
    // A filler, and no warnings.
    payload.extend_from_slice(&[0; 3]);
    let mut sequence = put_packets(&mut packets, FIRST, &payload);
    let placeholders = vec!["?"; usize::from(parameters)];
    let columns: Vec<_> = columns.iter().map(String::as_str).collect();
    for names in [placeholders, columns] {
        for name in &names {
            payload.clear();
            definition(name, CellType::Text).encode(capabilities, &mut payload);
            sequence = put_packets(&mut packets, sequence, &payload);
        }
        if !names.is_empty() && !capabilities.contains(Capabilities::DEPRECATE_EOF) {
            payload.clear();
            put_eof(&mut payload, STATUS, 0);
            sequence = put_packets(&mut packets, sequence, &payload);
        }
    }
    packets
}

/// The columns of a table, for COM_FIELD_LIST.
pub fn fields(capabilities: Capabilities, table: &dyn Table) -> Vec<u8> {
    const NULL: u8 = 0xfb;
    let mut packets = Vec::new();
    let mut sequence = FIRST;
    for column in table.columns() {
        let mut payload = Vec::new();
        definition(column.name, column.kind).encode(capabilities, &mut payload);
        // The default value.
        payload.push(NULL);
        sequence = put_packets(&mut packets, sequence, &payload);
    }
    let mut eof = Vec::new();
    put_eof(&mut eof, STATUS, 0);
    put_packets(&mut packets, sequence, &eof);
    packets
}

fn definition(name: &str, kind: CellType) -> ColumnDefinition<'_> {
    const DIGITS: u32 = 20;
    /// The number of decimals varies (`DECIMAL_NOT_SPECIFIED` in the servers).
    const NOT_FIXED: u8 = 31;
    match kind {
        CellType::Integer => {
            let collation = ColumnDefinition::BINARY_COLLATION;
            ColumnDefinition::new(name.as_bytes(), ColumnType::LONGLONG, collation, DIGITS)
        }
        CellType::Fraction => ColumnDefinition {
            decimals: NOT_FIXED,
            ..ColumnDefinition::new(
                name.as_bytes(),
                ColumnType::DOUBLE,
                ColumnDefinition::BINARY_COLLATION,
                DIGITS,
            )
        },
        CellType::Text => {
            ColumnDefinition::new(name.as_bytes(), ColumnType::VAR_STRING, COLLATION, 1 << 16)
        }
    }
}
