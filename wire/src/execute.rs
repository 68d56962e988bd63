//! COM_STMT_EXECUTE and COM_STMT_BULK_EXECUTE: a prepared statement with its parameters' values
//! (protocol page "COM_STMT_EXECUTE", MariaDB's "COM_STMT_BULK_EXECUTE").
//!
//! ```text
//!   0x17 │ id:4 │ flags:1 │ iterations:4 │ [count] │ NULL bitmap │ bind flag │ [types] │ values
//!                       under QUERY_ATTRIBUTES └──── only with parameters ──┘
//! ```
//!
//! Values are not decoded: the end of a value depends on types that only the session may know, and on
//! long data that was sent before.

use crate::capability::Capabilities;
use crate::command::Command;
use crate::parameters::{read_count, read_null_bitmap, read_types};
use crate::read::{Malformed, Reader};
use crate::write::put_lenenc;

/// A COM_STMT_EXECUTE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The statement's id, as its reader gave it.
    pub statement_id: u32,
    /// Cursor type and [`Execute::PARAMETER_COUNT_AVAILABLE`].
    pub flags: u8,
    /// The iteration count: 1. No server reads it.
    pub iterations: u32,
    /// Parameters in this packet: the statement's, then the query attributes.
    pub parameter_count: usize,
    /// A bit for each parameter that is NULL.
    pub null_bitmap: &'a [u8],
    /// Two bytes for each parameter, followed by its name under QUERY_ATTRIBUTES, not decoded.
    /// `None` if the server must use the types of the previous execution.
    pub types: Option<&'a [u8]>,
    /// The values of parameters that are neither NULL nor were sent as long data.
    pub values: &'a [u8],
}

impl<'a> Execute<'a> {
    /// CURSOR_TYPE_READ_ONLY: the client will fetch the rows.
    pub const CURSOR_READ_ONLY: u8 = 1;
    /// PARAMETER_COUNT_AVAILABLE: under QUERY_ATTRIBUTES, the packet has a count even for a statement
    /// without parameters.
    pub const PARAMETER_COUNT_AVAILABLE: u8 = 8;

    /// Decodes the bytes after the command's byte, for a statement with `statement_parameters` of its
    /// own. Fewer parameters are malformed (MySQL: ER_WRONG_ARGUMENTS), more are query attributes.
    pub fn decode(
        arguments: &'a [u8],
        capabilities: Capabilities,
        statement_parameters: u16,
    ) -> Result<Self, Malformed> {
        let mut reader = Reader::new(arguments);
        let mut execute = Self {
            statement_id: reader.u32("statement id")?,
            flags: reader.u8("execute flags")?,
            iterations: reader.u32("iteration count")?,
            parameter_count: usize::from(statement_parameters),
            null_bitmap: &[],
            types: None,
            values: &[],
        };
        if execute.is_counted(capabilities) {
            execute.parameter_count = read_count(&mut reader, "parameter count")?;
            if execute.parameter_count < usize::from(statement_parameters) {
                return Err(Malformed::Invalid("parameter count"));
            }
        }
        if execute.parameter_count > 0 {
            execute.null_bitmap = read_null_bitmap(&mut reader, execute.parameter_count)?;
            if reader.u8("bind flag")? != 0 {
                let types = read_types(&mut reader, execute.parameter_count, capabilities)?;
                execute.types = Some(types);
            }
        }
        execute.values = reader.remainder();
        Ok(execute)
    }

    /// Appends the payload with the command's byte. `capabilities` must be those of the decoding:
    /// they say whether types have names.
    pub fn encode(&self, capabilities: Capabilities, out: &mut Vec<u8>) {
        out.push(Command::STMT_EXECUTE.0);
        out.extend_from_slice(&self.statement_id.to_le_bytes());
        out.push(self.flags);
        out.extend_from_slice(&self.iterations.to_le_bytes());
        if self.is_counted(capabilities) {
            put_lenenc(out, self.parameter_count as u64);
        }
        if self.parameter_count > 0 {
            out.extend_from_slice(self.null_bitmap);
            out.push(u8::from(self.types.is_some()));
            out.extend_from_slice(self.types.unwrap_or_default());
        }
        out.extend_from_slice(self.values);
    }

    /// Whether the number of parameters is on the wire. MySQL wants the number also without the flag,
    /// if the statement has parameters.
    fn is_counted(&self, capabilities: Capabilities) -> bool {
        capabilities.contains(Capabilities::QUERY_ATTRIBUTES)
            && (self.parameter_count > 0 || self.flags & Self::PARAMETER_COUNT_AVAILABLE != 0)
    }
}

/// A COM_STMT_BULK_EXECUTE (MariaDB).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkExecute<'a> {
    /// The statement's id, as its reader gave it.
    pub statement_id: u32,
    /// [`BulkExecute::SEND_TYPES`] and [`BulkExecute::SEND_UNIT_RESULTS`].
    pub flags: u16,
    /// Types, if the flags say so, and rows, not decoded.
    pub rows: &'a [u8],
}

impl<'a> BulkExecute<'a> {
    /// The client wants each row's result.
    pub const SEND_UNIT_RESULTS: u16 = 64;
    /// Types come before the rows.
    pub const SEND_TYPES: u16 = 128;

    /// Decodes what follows the command's byte.
    pub fn decode(arguments: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(arguments);
        Ok(Self {
            statement_id: reader.u32("statement id")?,
            flags: reader.u16("bulk flags")?,
            rows: reader.remainder(),
        })
    }

    /// Appends the payload, the command's byte included.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(Command::STMT_BULK_EXECUTE.0);
        out.extend_from_slice(&self.statement_id.to_le_bytes());
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(self.rows);
    }
}

#[cfg(test)]
mod tests;
