//! ERR, OK and EOF packets.

use wire::reply::{self, OkPacket};
use wire::write::put_lenenc;
use wire::{ErrPacket, Reader, StatusFlags};

use super::fields::Fields;
use super::packet_fault::PacketFault;

/// Longer texts are truncated.
const TEXT_BYTES_MAX: usize = 512;

/// Decodes an ERR packet, only in the form of the 4.1 protocol, with an SQLSTATE.
pub(super) fn from_err(fields: &Fields<'_>, packet: &[u8]) -> Result<(), PacketFault> {
    let packet = ErrPacket::decode(packet)?;
    let sqlstate = packet.sqlstate.ok_or(PacketFault::Malformed)?;
    fields.set("errcode", packet.number)?;
    fields.set_text("sqlstate", &sqlstate)?;
    fields.set_text("errmsg", packet.text)
}

pub(super) fn to_err(fields: &Fields<'_>) -> Result<Vec<u8>, PacketFault> {
    let text = fields.text_or("errmsg", b"")?;
    let given = fields.text_or("sqlstate", b"07000")?;
    let mut sqlstate = *b"00000";
    for (to, from) in sqlstate.iter_mut().zip(given) {
        *to = from;
    }
    let packet = ErrPacket {
        number: fields.number_or("errcode", 0)? as u16,
        sqlstate: Some(sqlstate),
        text: &text[..text.len().min(TEXT_BYTES_MAX)],
    };
    let mut out = Vec::new();
    packet.encode(&mut out);
    Ok(out)
}

pub(super) fn from_ok(fields: &Fields<'_>, packet: &[u8]) -> Result<(), PacketFault> {
    if packet.first() != Some(&reply::OK) {
        return Err(PacketFault::Malformed);
    }
    let packet = OkPacket::decode(packet)?;
    fields.set("affected_rows", packet.affected_rows as f64)?;
    fields.set("insert_id", packet.last_insert_id as f64)?;
    fields.set("server_status", packet.status.0)?;
    fields.set("warnings", packet.warnings)
}

pub(super) fn to_ok(fields: &Fields<'_>) -> Result<Vec<u8>, PacketFault> {
    let mut out = vec![reply::OK];
    put_lenenc(&mut out, fields.number_or("affected_rows", 0)?);
    put_lenenc(&mut out, fields.number_or("insert_id", 0)?);
    let [status, warnings] = status_and_warnings(fields)?;
    out.extend_from_slice(&status.to_le_bytes());
    out.extend_from_slice(&warnings.to_le_bytes());
    Ok(out)
}

pub(super) fn from_eof(fields: &Fields<'_>, packet: &[u8]) -> Result<(), PacketFault> {
    let mut reader = Reader::new(packet);
    if reader.u8("EOF header")? != reply::EOF {
        return Err(PacketFault::Malformed);
    }
    fields.set("warnings", reader.u16("warning count")?)?;
    fields.set("server_status", reader.u16("status flags")?)
}

pub(super) fn to_eof(fields: &Fields<'_>) -> Result<Vec<u8>, PacketFault> {
    let [status, warnings] = status_and_warnings(fields)?;
    let mut out = Vec::new();
    reply::put_eof(&mut out, StatusFlags(status), warnings);
    Ok(out)
}

fn status_and_warnings(fields: &Fields<'_>) -> Result<[u16; 2], PacketFault> {
    Ok([
        fields.number_or("server_status", 0)? as u16,
        fields.number_or("warnings", 0)? as u16,
    ])
}
