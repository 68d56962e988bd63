//! Result sets of the text protocol (protocol pages "Text Resultset" and "COM_QUERY Response").
//!
//! ```text
//!   count [1] │ definition │ … │ [EOF] │ row │ row │ … │ EOF, or OK in its place
//!          │                       └ without DEPRECATE_EOF
//!          └ whether definitions follow: under OPTIONAL_RESULTSET_METADATA (MySQL)
//!            or MARIADB_CACHE_METADATA
//! ```

use crate::capability::Capabilities;
use crate::column::ColumnDefinition;
use crate::read::{Malformed, Reader};
use crate::reply::{OkHeader, OkPacket, put_eof};
use crate::session_track::put_ok;
use crate::status::StatusFlags;
use crate::write::{put_lenenc, put_lenenc_bytes, put_packets};

/// The byte that stands for NULL in a row.
const NULL: u8 = 0xfb;

/// The flag in a result's first packet: definitions follow.
const DEFINITIONS_FOLLOW: u8 = 1;

/// The first packet of a result set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultHead {
    /// Columns, at least one.
    pub columns: u64,
    /// Whether the columns' definitions follow.
    pub has_definitions: bool,
}

impl ResultHead {
    /// Decodes a payload that is neither OK nor ERR nor a request for the client's file.
    pub fn decode(payload: &[u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let columns = reader.lenenc("column count")?;
        if columns == 0 {
            return Err(Malformed::Invalid("column count"));
        }
        let has_definitions = match is_flagged(capabilities) {
            true => reader.u8("metadata flag")? == DEFINITIONS_FOLLOW,
            false => true,
        };
        Ok(Self {
            columns,
            has_definitions,
        })
    }

    /// Appends the payload.
    pub fn encode(&self, capabilities: Capabilities, out: &mut Vec<u8>) {
        put_lenenc(out, self.columns);
        if is_flagged(capabilities) {
            out.push(u8::from(self.has_definitions));
        }
    }
}

/// Whether the first packet says if definitions follow.
fn is_flagged(capabilities: Capabilities) -> bool {
    capabilities.contains(Capabilities::OPTIONAL_RESULTSET_METADATA)
        || capabilities.contains(Capabilities::MARIADB_CACHE_METADATA)
}

/// The values of a row of the text protocol, `None` for NULL; ends after a malformed value.
#[derive(Debug, Clone)]
pub struct TextRow<'a> {
    values: Reader<'a>,
}

impl<'a> TextRow<'a> {
    /// Begins with a row's payload.
    pub fn new(payload: &'a [u8]) -> Self {
        Self {
            values: Reader::new(payload),
        }
    }

    fn read(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        const ITEM: &str = "column value";
        if self.values.rest().first() == Some(&NULL) {
            self.values.u8(ITEM)?;
            return Ok(None);
        }
        self.values.lenenc_bytes(ITEM).map(Some)
    }
}

impl<'a> Iterator for TextRow<'a> {
    type Item = Result<Option<&'a [u8]>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.values.is_empty() {
            return None;
        }
        let value = self.read();
        if value.is_err() {
            self.values.remainder();
        }
        Some(value)
    }
}

/// Appends a row's payload.
pub fn put_text_row<'v>(out: &mut Vec<u8>, values: impl IntoIterator<Item = Option<&'v [u8]>>) {
    for value in values {
        match value {
            Some(text) => put_lenenc_bytes(out, text),
            None => out.push(NULL),
        }
    }
}

/// Appends a row's payload of the binary protocol, whose columns are all strings (protocol page
/// "Binary Protocol Resultset Row").
pub fn put_binary_row<'v>(out: &mut Vec<u8>, values: impl IntoIterator<Item = Option<&'v [u8]>>) {
    let values: Vec<_> = values.into_iter().collect();
    put_binary_header(out, values.iter().map(Option::is_none));
    for value in values.into_iter().flatten() {
        put_lenenc_bytes(out, value);
    }
}

/// Appends the beginning of a row's payload of the binary protocol: which values are NULL. The other
/// values follow, each in the form of its type.
pub fn put_binary_header(out: &mut Vec<u8>, nulls: impl ExactSizeIterator<Item = bool>) {
    const RESERVED_BITS: usize = 2;
    let mut bitmap = vec![0; (nulls.len() + RESERVED_BITS).div_ceil(8)];
    for (index, is_null) in nulls.enumerate() {
        let bit = index + RESERVED_BITS;
        if let (true, Some(byte)) = (is_null, bitmap.get_mut(bit / 8)) {
            *byte |= 1 << (bit % 8);
        }
    }
    out.push(0);
    out.extend_from_slice(&bitmap);
}

/// Appends a whole result set as packets from `sequence` on; returns the sequence id that follows.
///
/// Definitions are always sent, session state changes never, and their status flag is cleared.
/// There must be at least one column, and each of `rows` must have a value for each of `columns`.
pub fn put_text_result<'v, R>(
    out: &mut Vec<u8>,
    sequence: u8,
    capabilities: Capabilities,
    columns: &[ColumnDefinition<'_>],
    rows: impl IntoIterator<Item = R>,
    status: StatusFlags,
    warnings: u16,
) -> u8
where
    R: IntoIterator<Item = Option<&'v [u8]>>,
{
    put_rows(
        out,
        sequence,
        capabilities,
        columns,
        rows,
        status,
        warnings,
        put_text_row,
    )
}

/// Appends a whole result set in the binary protocol, as [`put_text_result`]. All columns are strings.
pub fn put_binary_result<'v, R>(
    out: &mut Vec<u8>,
    sequence: u8,
    capabilities: Capabilities,
    columns: &[ColumnDefinition<'_>],
    rows: impl IntoIterator<Item = R>,
    status: StatusFlags,
    warnings: u16,
) -> u8
where
    R: IntoIterator<Item = Option<&'v [u8]>>,
{
    put_rows(
        out,
        sequence,
        capabilities,
        columns,
        rows,
        status,
        warnings,
        put_binary_row,
    )
}

/// Appends a whole result set, as [`put_text_result`], with rows that the caller writes.
#[allow(clippy::too_many_arguments)] // all that a result has, and how its rows look
pub fn put_rows<R>(
    out: &mut Vec<u8>,
    sequence: u8,
    capabilities: Capabilities,
    columns: &[ColumnDefinition<'_>],
    rows: impl IntoIterator<Item = R>,
    status: StatusFlags,
    warnings: u16,
    put_row: impl Fn(&mut Vec<u8>, R),
) -> u8 {
    let status = status.with(StatusFlags::SESSION_STATE_CHANGED, false);
    let mut packets = Packets {
        out,
        sequence,
        payload: Vec::new(),
    };
    let head = ResultHead {
        columns: columns.len() as u64,
        has_definitions: true,
    };
    packets.put(|payload| head.encode(capabilities, payload));
    for column in columns {
        packets.put(|payload| column.encode(capabilities, payload));
    }
    let is_eof_kept = !capabilities.contains(Capabilities::DEPRECATE_EOF);
    if is_eof_kept {
        // At this EOF the servers have made no row yet, so there are no warnings.
        packets.put(|payload| put_eof(payload, status, 0));
    }
    for row in rows {
        packets.put(|payload| put_row(payload, row));
    }
    packets.put(|payload| match is_eof_kept {
        true => put_eof(payload, status, warnings),
        false => {
            let ok = OkPacket {
                status,
                warnings,
                ..OkPacket::default()
            };
            put_ok(payload, OkHeader::Eof, capabilities, &ok, b"", []);
        }
    });
    packets.sequence
}

/// Appends packet after packet, each made in the same buffer.
struct Packets<'o> {
    out: &'o mut Vec<u8>,
    sequence: u8,
    payload: Vec<u8>,
}

impl Packets<'_> {
    fn put(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        self.payload.clear();
        encode(&mut self.payload);
        self.sequence = put_packets(self.out, self.sequence, &self.payload);
    }
}

#[cfg(test)]
mod tests;
