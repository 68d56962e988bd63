//! COM_QUERY: query attributes and the statement's text (protocol page "COM_QUERY").
//!
//! ```text
//!   0x03 │ count │ sets: 1 │ NULL bitmap, bind flag: 1, types and names, values │ text
//!        └── only under QUERY_ATTRIBUTES ─┘  └── only when count is above 0 ──┘
//! ```

use crate::capability::Capabilities;
use crate::command::Command;
use crate::parameters::{is_null, read_count, read_null_bitmap, read_type, read_types, skip_value};
use crate::read::{Malformed, Reader};

/// An empty block of attributes.
pub const NO_ATTRIBUTES: &[u8] = &[0, 1];

/// A COM_QUERY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query<'a> {
    /// All bytes before the text, not decoded; empty without QUERY_ATTRIBUTES.
    pub attributes: &'a [u8],
    /// The statement.
    pub text: &'a [u8],
}

impl<'a> Query<'a> {
    /// Decodes the bytes after the command's byte. MySQL answers malformed bytes with
    /// ER_MALFORMED_PACKET and continues the session.
    pub fn decode(arguments: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut reader = Reader::new(arguments);
        if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            skip_attributes(&mut reader, capabilities)?;
        }
        let text = reader.remainder();
        Ok(Self {
            attributes: &arguments[..arguments.len() - text.len()],
            text,
        })
    }

    /// Appends the payload with the command's byte. Without QUERY_ATTRIBUTES the attributes are
    /// left out; with it, an empty block is written as [`NO_ATTRIBUTES`].
    pub fn encode(&self, capabilities: Capabilities, out: &mut Vec<u8>) {
        out.push(Command::QUERY.0);
        if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            out.extend_from_slice(match self.attributes {
                [] => NO_ATTRIBUTES,
                attributes => attributes,
            });
        }
        out.extend_from_slice(self.text);
    }

    /// Whether the client sent attributes along.
    pub fn has_attributes(&self) -> bool {
        !matches!(self.attributes, [] | [0, ..])
    }
}

fn skip_attributes(reader: &mut Reader<'_>, capabilities: Capabilities) -> Result<(), Malformed> {
    let count = read_count(reader, "attribute count")?;
    if reader.lenenc("attribute set count")? != 1 {
        return Err(Malformed::Invalid("attribute set count"));
    }
    if count == 0 {
        return Ok(());
    }
    let null_bitmap = read_null_bitmap(reader, count)?;
    if reader.u8("bind flag")? == 0 {
        return Err(Malformed::Invalid("bind flag"));
    }
    let mut types = Reader::new(read_types(reader, count, capabilities)?);
    for index in 0..count {
        let kind = read_type(&mut types, capabilities)?;
        if !is_null(null_bitmap, index) {
            skip_value(reader, kind)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
