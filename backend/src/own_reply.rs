//! The whole reply to one of the proxy's own commands, and how it is read.

use session::state::{Changes, Column};
use session::{Outcome, Tally};
use wire::column::ColumnDefinition;
use wire::result::{ResultHead, TextRow};
use wire::rows::Rows;
use wire::session_track::{Change, OkTail};
use wire::write::put_packets;
use wire::{Capabilities, Command, ErrPacket, HEADER_BYTES};

use crate::connection_error::ConnectionError;

/// The whole reply to a statement of the proxy's own.
#[derive(Debug)]
pub struct OwnReply {
    /// All its packets.
    pub bytes: Vec<u8>,
    /// Whether it is an error.
    pub outcome: Outcome,
    /// What was counted in it.
    pub tally: Tally,
    /// The changes of the session that the server has reported.
    pub changes: Changes,
    /// Whether the reply was too long, so that none of it is kept.
    pub is_cut: bool,
}

impl OwnReply {
    /// The payload of its first packet.
    pub fn first_payload(&self) -> &[u8] {
        self.payloads().next().unwrap_or_default()
    }

    /// The payloads of its packets. No payload spans two packets.
    pub fn payloads(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let header = wire::Header::decode(*rest.first_chunk::<HEADER_BYTES>()?);
            let payload = rest.get(HEADER_BYTES..HEADER_BYTES + header.length)?;
            rest = rest.get(HEADER_BYTES + header.length..)?;
            Some(payload)
        })
    }

    /// Returns the result set; an empty one if the reply has none.
    pub fn rows(&self, capabilities: Capabilities) -> Result<Rows, ConnectionError> {
        if !self.tally.had_rows {
            return Ok(Rows::default());
        }
        let row_count = usize::try_from(self.tally.rows).unwrap_or(usize::MAX);
        Ok(Rows::read(self.payloads(), row_count, capabilities)?)
    }

    /// The payload of the backend's ERR.
    pub fn error_payload(&self) -> Option<&[u8]> {
        match self.outcome {
            Outcome::Ok => None,
            Outcome::Err(_) => self.payloads().last(),
        }
    }

    /// The backend's ERR, decoded.
    pub fn error(&self) -> Option<ErrPacket<'_>> {
        match self.outcome {
            Outcome::Ok => None,
            Outcome::Err(_) => ErrPacket::decode(self.payloads().last()?).ok(),
        }
    }
}

/// A command of the proxy's own as packets.
pub fn own_command(command: Command, argument: &[u8]) -> Vec<u8> {
    let mut payload = Vec::with_capacity(argument.len() + 1);
    payload.push(command.0);
    payload.extend_from_slice(argument);
    let mut packets = Vec::with_capacity(payload.len() + HEADER_BYTES);
    put_packets(&mut packets, 0, &payload);
    packets
}

/// Collects the changes that an OK packet reports. A change that cannot be decoded counts as unknown.
pub fn note_changes(packet: &[u8], capabilities: Capabilities, changes: &mut Changes) {
    let payload = &packet[HEADER_BYTES.min(packet.len())..];
    match OkTail::decode(payload, capabilities) {
        Ok(tail) => {
            for change in tail.changes() {
                match change {
                    Ok(change) => note_change(change, changes),
                    Err(_) => changes.state_changed(),
                }
            }
        }
        Err(_) => changes.state_changed(),
    }
}

fn note_change(change: Change<'_>, changes: &mut Changes) {
    match change {
        Change::Variable { name, value } => changes.variable(name, value),
        Change::Schema(name) => changes.schema(name),
        Change::StateChanged(true) => changes.state_changed(),
        Change::TransactionCharacteristics(statements) => {
            changes.transaction_characteristics(statements);
        }
        Change::Gtids(gtids) => changes.written(gtids),
        Change::StateChanged(false) | Change::TransactionState(_) | Change::Unknown { .. } => {}
    }
}

/// A small result: its columns and its first row.
pub struct Table {
    /// The definitions of its columns.
    pub columns: Vec<Column>,
    /// The values of the first row; empty if there is none.
    pub row: Vec<Option<Vec<u8>>>,
}

/// Reads a small result of a statement of the proxy's own.
pub fn table(own: &OwnReply, capabilities: Capabilities) -> Result<Table, ConnectionError> {
    let mut table = Table {
        columns: Vec::new(),
        row: Vec::new(),
    };
    if own.outcome != Outcome::Ok || !own.tally.had_rows {
        return Ok(table);
    }
    let mut payloads = own.payloads();
    let head = ResultHead::decode(payloads.next().unwrap_or_default(), capabilities)?;
    for _ in 0..head.columns {
        let payload = payloads.next().unwrap_or_default();
        let column = ColumnDefinition::decode(payload, capabilities)?;
        table.columns.push(Column {
            type_code: column.kind.0,
            is_unsigned: column.flags & ColumnDefinition::UNSIGNED != 0,
        });
    }
    if !capabilities.contains(Capabilities::DEPRECATE_EOF) {
        payloads.next();
    }
    if own.tally.rows > 0 {
        for value in TextRow::new(payloads.next().unwrap_or_default()) {
            table.row.push(value?.map(<[u8]>::to_vec));
        }
    }
    Ok(table)
}
