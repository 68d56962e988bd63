//! Prepared statements by their ids: the reply to COM_STMT_PREPARE, and the commands that contain
//! little more than an id (protocol pages "COM_STMT_PREPARE", "COM_STMT_SEND_LONG_DATA",
//! "COM_STMT_FETCH", "COM_STMT_CLOSE", "COM_STMT_RESET").

use crate::command::Command;
use crate::packet::{HEADER_BYTES, Header};
use crate::read::{Malformed, Reader};
use crate::reply::{EOF, OK};
use crate::status::StatusFlags;

/// For MariaDB, the id of the statement that was prepared last: a client may send PREPARE and EXECUTE
/// together. An EXECUTE with this id must contain types, or MariaDB treats it as malformed.
pub const LAST_PREPARED: u32 = u32::MAX;

/// The id follows one byte: the command's, or the header of the reply to COM_STMT_PREPARE.
const ID_AT: std::ops::Range<usize> = 1..5;

/// The statement id in the arguments of any COM_STMT_ command except PREPARE. The servers read nothing
/// else from the arguments of COM_STMT_CLOSE and COM_STMT_RESET.
pub fn statement_id(arguments: &[u8]) -> Result<u32, Malformed> {
    Reader::new(arguments).u32("statement id")
}

/// Overwrites the id in a payload: of any COM_STMT_ command except PREPARE, with the command's byte, or of
/// the reply to PREPARE. A payload that is too short for an id stays unchanged.
pub fn patch_statement_id(payload: &mut [u8], statement_id: u32) {
    if let Some(place) = payload.get_mut(ID_AT) {
        place.copy_from_slice(&statement_id.to_le_bytes());
    }
}

/// Sets `flags` to their values in `status`, in every EOF of a whole reply to PREPARE (packets with headers).
/// A definition cannot look like an EOF, because it begins with the length of a name.
pub fn patch_eof_flags(mut packets: &mut [u8], flags: StatusFlags, status: StatusFlags) {
    while let Some((header, rest)) = packets.split_first_chunk_mut::<HEADER_BYTES>() {
        let length = Header::decode(*header).length.min(rest.len());
        let (payload, behind) = rest.split_at_mut(length);
        if let [EOF, _, _, low, high] = payload {
            let told = u16::from_le_bytes([*low, *high]) & !flags.0;
            [*low, *high] = (told | status.0 & flags.0).to_le_bytes();
        }
        packets = behind;
    }
}

/// Appends COM_STMT_CLOSE, which has no reply.
pub fn put_close(out: &mut Vec<u8>, statement_id: u32) {
    put_command(out, Command::STMT_CLOSE, statement_id);
}

/// Appends COM_STMT_RESET.
pub fn put_reset(out: &mut Vec<u8>, statement_id: u32) {
    put_command(out, Command::STMT_RESET, statement_id);
}

fn put_command(out: &mut Vec<u8>, command: Command, statement_id: u32) {
    out.push(command.0);
    out.extend_from_slice(&statement_id.to_le_bytes());
}

/// A COM_STMT_SEND_LONG_DATA, which has no reply: a part of one parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongData<'a> {
    /// The statement's id, as its reader gave it.
    pub statement_id: u32,
    /// The parameter's index.
    pub parameter: u16,
    /// The bytes to append to the parameter's value.
    pub data: &'a [u8],
}

impl<'a> LongData<'a> {
    /// Decodes what follows the command's byte.
    pub fn decode(arguments: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(arguments);
        Ok(Self {
            statement_id: reader.u32("statement id")?,
            parameter: reader.u16("parameter index")?,
            data: reader.remainder(),
        })
    }

    /// Appends the payload, the command's byte included.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_command(out, Command::STMT_SEND_LONG_DATA, self.statement_id);
        out.extend_from_slice(&self.parameter.to_le_bytes());
        out.extend_from_slice(self.data);
    }
}

/// A COM_STMT_FETCH: more rows of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetch {
    /// The statement's id, as its reader gave it.
    pub statement_id: u32,
    /// The most rows that the client wants.
    pub rows: u32,
}

impl Fetch {
    /// Decodes what follows the command's byte.
    pub fn decode(arguments: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(arguments);
        Ok(Self {
            statement_id: reader.u32("statement id")?,
            rows: reader.u32("row count")?,
        })
    }

    /// Appends the payload, the command's byte included.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_command(out, Command::STMT_FETCH, self.statement_id);
        out.extend_from_slice(&self.rows.to_le_bytes());
    }
}

/// The first packet of the reply to COM_STMT_PREPARE. The definitions of the parameters follow, then
/// those of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrepareOk {
    /// The statement's id on this connection (MySQL) or this server (MariaDB).
    pub statement_id: u32,
    /// Columns of the statement's rows; 0 if it returns no rows.
    pub columns: u16,
    /// Parameters, at most 65,535.
    pub parameters: u16,
    /// Warnings that SHOW WARNINGS would list.
    pub warnings: u16,
    /// Whether definitions follow. The field exists only under OPTIONAL_RESULTSET_METADATA.
    pub metadata: Option<u8>,
}

impl PrepareOk {
    /// Decodes a payload.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8("OK header")? != OK {
            return Err(Malformed::Invalid("OK header"));
        }
        let statement_id = reader.u32("statement id")?;
        let columns = reader.u16("column count")?;
        let parameters = reader.u16("parameter count")?;
        reader.bytes(1, "filler")?;
        Ok(Self {
            statement_id,
            columns,
            parameters,
            warnings: reader.u16("warning count")?,
            metadata: match reader.is_empty() {
                true => None,
                false => Some(reader.u8("metadata flag")?),
            },
        })
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(OK);
        out.extend_from_slice(&self.statement_id.to_le_bytes());
        out.extend_from_slice(&self.columns.to_le_bytes());
        out.extend_from_slice(&self.parameters.to_le_bytes());
        out.push(0);
        out.extend_from_slice(&self.warnings.to_le_bytes());
        out.extend(self.metadata);
    }
}

#[cfg(test)]
mod tests;
