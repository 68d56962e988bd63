//! The end of an OK packet, after the fixed part: the info text and the session's state changes
//! (protocol pages "OK_Packet" and "Session State Information").
//!
//! ```text
//!   header affected id status warnings │ info │ length of all │ kind │ length │ data │ kind …
//!               OkPacket               │      └ only under SESSION_TRACK, with the status flag
//!                                      └ left out when empty, unless state changes follow
//! ```

use crate::capability::Capabilities;
use crate::read::{Malformed, Reader};
use crate::reply::{OkHeader, OkPacket};
use crate::status::StatusFlags;
use crate::write::{lenenc_size, put_lenenc, put_lenenc_bytes};

/// SESSION_TRACK_SYSTEM_VARIABLES.
const SYSTEM_VARIABLES: u8 = 0;
/// SESSION_TRACK_SCHEMA.
const SCHEMA: u8 = 1;
/// SESSION_TRACK_STATE_CHANGE.
const STATE_CHANGE: u8 = 2;
/// SESSION_TRACK_GTIDS.
const GTIDS: u8 = 3;
/// SESSION_TRACK_TRANSACTION_CHARACTERISTICS.
const TRANSACTION_CHARACTERISTICS: u8 = 4;
/// SESSION_TRACK_TRANSACTION_STATE.
const TRANSACTION_STATE: u8 = 5;

/// The encoding of GTIDs: as text, which is the only defined encoding.
const GTIDS_AS_TEXT: u8 = 0;

/// One change of the session's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// A system variable has this value now. An empty value may stand for NULL
    /// (`character_set_results`), because the protocol has no other form for NULL.
    Variable {
        /// Its name, without `@@`.
        name: &'a [u8],
        /// Its value as text.
        value: &'a [u8],
    },
    /// The default schema; empty when there is none.
    Schema(&'a [u8]),
    /// Whether the session's state changed, in any way (`session_track_state_change`).
    StateChanged(bool),
    /// GTIDs, as `session_track_gtids` asks for (MySQL). MariaDB has the variable `last_gtid`.
    Gtids(&'a [u8]),
    /// The statements that would begin the same transaction on another server; empty outside a transaction.
    TransactionCharacteristics(&'a [u8]),
    /// Eight characters, for instance `T_R_____`.
    TransactionState(&'a [u8]),
    /// A change of a kind that this codec does not know.
    Unknown {
        /// The kind's number.
        kind: u8,
        /// Its data as they came.
        data: &'a [u8],
    },
}

/// The end of an OK packet, after the fixed part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OkTail<'a> {
    /// A text for people, for instance `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: &'a [u8],
    changes: &'a [u8],
}

impl<'a> OkTail<'a> {
    /// Decodes the end of an OK packet's payload (header 0x00 or 0xfe). The changes themselves are decoded
    /// by [`OkTail::changes`]. Bytes after the changes are ignored.
    ///
    /// The info has its length in front also without SESSION_TRACK, although the protocol page says otherwise:
    /// both families write it so (`net_send_ok`), and their clients read it so.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let ok = OkPacket::read(&mut reader)?;
        if reader.is_empty() {
            return Ok(Self::default());
        }
        let info = reader.lenenc_bytes("info")?;
        let is_tracked = capabilities.contains(Capabilities::SESSION_TRACK)
            && ok.status.contains(StatusFlags::SESSION_STATE_CHANGED);
        let changes = match is_tracked {
            true => reader.lenenc_bytes("session state")?,
            false => &[],
        };
        Ok(Self { info, changes })
    }

    /// The changes, in the server's order.
    pub fn changes(&self) -> Changes<'a> {
        Changes {
            entries: Reader::new(self.changes),
            variables: Reader::new(&[]),
        }
    }
}

/// Iterates over changes; ends after a malformed change.
#[derive(Debug, Clone)]
pub struct Changes<'a> {
    entries: Reader<'a>,
    /// The rest of an entry with several variables.
    variables: Reader<'a>,
}

impl<'a> Iterator for Changes<'a> {
    type Item = Result<Change<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.variables.is_empty() && self.entries.is_empty() {
            return None;
        }
        let change = self.read();
        if change.is_err() {
            self.variables.remainder();
            self.entries.remainder();
        }
        Some(change)
    }
}

impl<'a> Changes<'a> {
    fn read(&mut self) -> Result<Change<'a>, Malformed> {
        if !self.variables.is_empty() {
            return read_variable(&mut self.variables);
        }
        let kind = self.entries.u8("session state kind")?;
        let data = self.entries.lenenc_bytes("session state data")?;
        let mut reader = Reader::new(data);
        let change = match kind {
            // MariaDB's own clients expect several variables in one entry; its servers write one.
            SYSTEM_VARIABLES => {
                self.variables = reader;
                return read_variable(&mut self.variables);
            }
            SCHEMA => Change::Schema(reader.lenenc_bytes("schema")?),
            // The only text that has no length of its own.
            STATE_CHANGE => match reader.u8("state change flag")? {
                b'1' => Change::StateChanged(true),
                b'0' => Change::StateChanged(false),
                _ => return Err(Malformed::Invalid("state change flag")),
            },
            GTIDS => match reader.u8("GTID encoding")? {
                GTIDS_AS_TEXT => Change::Gtids(reader.lenenc_bytes("GTIDs")?),
                _ => Change::Unknown { kind, data },
            },
            TRANSACTION_CHARACTERISTICS => Change::TransactionCharacteristics(
                reader.lenenc_bytes("transaction characteristics")?,
            ),
            TRANSACTION_STATE => {
                Change::TransactionState(reader.lenenc_bytes("transaction state")?)
            }
            _ => Change::Unknown { kind, data },
        };
        Ok(change)
    }
}

fn read_variable<'a>(reader: &mut Reader<'a>) -> Result<Change<'a>, Malformed> {
    Ok(Change::Variable {
        name: reader.lenenc_bytes("variable name")?,
        value: reader.lenenc_bytes("variable value")?,
    })
}

/// Appends an OK packet's payload as the servers write it (`net_send_ok`).
///
/// SESSION_STATE_CHANGED is set if changes are written, and cleared otherwise. Without SESSION_TRACK
/// in `capabilities` no changes are written.
pub fn put_ok<'c>(
    out: &mut Vec<u8>,
    header: OkHeader,
    capabilities: Capabilities,
    ok: &OkPacket,
    info: &[u8],
    changes: impl IntoIterator<Item = Change<'c>>,
) {
    let mut changes = changes.into_iter().peekable();
    let is_tracked = capabilities.contains(Capabilities::SESSION_TRACK) && changes.peek().is_some();
    let status = ok
        .status
        .with(StatusFlags::SESSION_STATE_CHANGED, is_tracked);
    out.push(header.byte());
    put_lenenc(out, ok.affected_rows);
    put_lenenc(out, ok.last_insert_id);
    out.extend_from_slice(&status.0.to_le_bytes());
    out.extend_from_slice(&ok.warnings.to_le_bytes());
    if is_tracked || !info.is_empty() {
        put_lenenc_bytes(out, info);
    }
    if is_tracked {
        put_changes(out, changes);
    }
}

fn put_changes<'c>(out: &mut Vec<u8>, changes: impl Iterator<Item = Change<'c>>) {
    let start = out.len();
    for change in changes {
        put_change(out, &change);
    }
    // The length is moved to the front, now that it is known.
    let end = out.len();
    put_lenenc(out, (end - start) as u64);
    let length_bytes = out.len() - end;
    out[start..].rotate_right(length_bytes);
}

fn put_change(out: &mut Vec<u8>, change: &Change<'_>) {
    match *change {
        Change::Variable { name, value } => put_entry(out, SYSTEM_VARIABLES, &[], &[name, value]),
        Change::Schema(name) => put_entry(out, SCHEMA, &[], &[name]),
        Change::StateChanged(true) => put_entry(out, STATE_CHANGE, b"1", &[]),
        Change::StateChanged(false) => put_entry(out, STATE_CHANGE, b"0", &[]),
        Change::Gtids(text) => put_entry(out, GTIDS, &[GTIDS_AS_TEXT], &[text]),
        Change::TransactionCharacteristics(text) => {
            put_entry(out, TRANSACTION_CHARACTERISTICS, &[], &[text]);
        }
        Change::TransactionState(text) => put_entry(out, TRANSACTION_STATE, &[], &[text]),
        Change::Unknown { kind, data } => put_entry(out, kind, data, &[]),
    }
}

/// Appends an entry: its kind, `head` unchanged, then strings with their lengths.
fn put_entry(out: &mut Vec<u8>, kind: u8, head: &[u8], strings: &[&[u8]]) {
    let sizes = strings
        .iter()
        .map(|text| lenenc_size(text.len() as u64) + text.len());
    let size = head.len() + sizes.sum::<usize>();
    out.push(kind);
    put_lenenc(out, size as u64);
    out.extend_from_slice(head);
    for text in strings {
        put_lenenc_bytes(out, text);
    }
}

#[cfg(test)]
mod tests;
