//! Answers as packets.

use wire::column::{ColumnDefinition, ColumnType};
use wire::reply::put_eof;
use wire::reply::{OkHeader, OkPacket};
use wire::result::put_text_result;
use wire::session_track::put_ok;
use wire::write::put_packets;
use wire::{Capabilities, StatusFlags};

use crate::engine::Rows;
use crate::fault::Fault;
use crate::sheet::{Kind, Table};

/// What holds of every session here.
const STATUS: StatusFlags = StatusFlags::AUTOCOMMIT;

/// `utf8mb4_general_ci`
const COLLATION: u16 = 45;

/// A reply begins with this sequence id.
const FIRST: u8 = 1;

/// One payload as packets.
pub fn payload(payload: &[u8]) -> Vec<u8> {
    let mut packets = Vec::new();
    put_packets(&mut packets, FIRST, payload);
    packets
}

/// OK.
pub fn ok(capabilities: Capabilities) -> Vec<u8> {
    let mut ok = Vec::new();
    let packet = OkPacket {
        status: STATUS,
        ..OkPacket::default()
    };
    put_ok(&mut ok, OkHeader::Ok, capabilities, &packet, b"", []);
    payload(&ok)
}

/// EOF, which some commands are answered with.
pub fn eof() -> Vec<u8> {
    let mut eof = Vec::new();
    put_eof(&mut eof, STATUS, 0);
    payload(&eof)
}

/// ERR.
pub fn fault(fault: &Fault) -> Vec<u8> {
    payload(&fault.payload())
}

/// A result.
pub fn rows(capabilities: Capabilities, rows: &Rows, warnings: usize) -> Vec<u8> {
    let columns: Vec<_> = (rows.columns.iter())
        .map(|(name, kind)| definition(name, *kind))
        .collect();
    let values = rows.rows.iter().map(|row| row.iter().map(Option::as_deref));
    let mut packets = Vec::new();
    let warnings = u16::try_from(warnings).unwrap_or(u16::MAX);
    put_text_result(
        &mut packets,
        FIRST,
        capabilities,
        &columns,
        values,
        STATUS,
        warnings,
    );
    packets
}

/// The columns of a table, as COM_FIELD_LIST wants them.
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

fn definition(name: &str, kind: Kind) -> ColumnDefinition<'_> {
    const DIGITS: u32 = 20;
    match kind {
        Kind::Integer => {
            let collation = ColumnDefinition::BINARY_COLLATION;
            ColumnDefinition::new(name.as_bytes(), ColumnType::LONGLONG, collation, DIGITS)
        }
        Kind::Text => {
            ColumnDefinition::new(name.as_bytes(), ColumnType::VAR_STRING, COLLATION, 1 << 16)
        }
    }
}
