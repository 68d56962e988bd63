//! Follows one reply through whatever pieces it arrives in and says when it is whole, how many rows
//! it had, and the `id` of its first row.

use super::Failure;
use crate::protocol::{EofStyle, first_packet, take_string};

/// How rows are encoded: replies to COM_QUERY or to COM_STMT_EXECUTE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    Text,
    Binary,
    /// Rows that are only counted.
    Any,
}

/// A whole reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    pub rows: u64,
    /// The first column of the first row.
    pub key: Option<u64>,
}

enum Awaits {
    /// OK, ERR, or the number of columns.
    Answer,
    /// So many column definitions.
    Columns(u8),
    /// The EOF packet between definitions and rows.
    EndOfColumns,
    Row,
    /// What follows of a row that is longer than a packet.
    RestOfRow,
}

/// A packet of so many bytes goes on in the next one.
const PACKET_BYTES_MAX: usize = 0xff_ffff;

/// The state of one reply in progress.
pub struct ReplyScanner {
    format: RowFormat,
    eof: EofStyle,
    awaits: Awaits,
    reply: Reply,
}

impl ReplyScanner {
    pub fn new(format: RowFormat, eof: EofStyle) -> Self {
        Self {
            format,
            eof,
            awaits: Awaits::Answer,
            reply: Reply::default(),
        }
    }

    /// Reads all whole packets of `input` up to the end of the reply. Returns how many bytes were
    /// taken and, at its end, the reply.
    ///
    /// # Errors
    /// An ERR packet, or bytes that are no reply.
    pub fn feed(&mut self, input: &[u8]) -> Result<(usize, Option<Reply>), Failure> {
        let mut taken = 0;
        while let Some(packet) = first_packet(&input[taken..]) {
            taken += packet.wire_bytes();
            if let Some(reply) = self.packet(packet.payload)? {
                return Ok((taken, Some(reply)));
            }
        }
        Ok((taken, None))
    }

    fn packet(&mut self, payload: &[u8]) -> Result<Option<Reply>, Failure> {
        if matches!(self.awaits, Awaits::RestOfRow) {
            self.awaits = behind_row(payload);
            return Ok(None);
        }
        let first = *payload.first().ok_or(Failure::Malformed("empty packet"))?;
        if first == 0xff {
            return Err(Failure::answered(payload));
        }
        self.awaits = match self.awaits {
            Awaits::Answer if first == 0 => return Ok(Some(self.reply)),
            Awaits::Answer if first < 0xfb => Awaits::Columns(first),
            Awaits::Answer => return Err(Failure::Malformed("column count")),
            Awaits::Columns(1) if self.eof == EofStyle::Deprecated => Awaits::Row,
            Awaits::Columns(1) => Awaits::EndOfColumns,
            Awaits::Columns(count) => Awaits::Columns(count - 1),
            Awaits::EndOfColumns => Awaits::Row,
            Awaits::Row if first == 0xfe && self.ends(payload) => return Ok(Some(self.reply)),
            Awaits::Row | Awaits::RestOfRow => self.row(payload)?,
        };
        Ok(None)
    }

    /// Whether a packet that begins with 0xfe ends the rows, being too short for a long first column.
    fn ends(&self, payload: &[u8]) -> bool {
        match self.eof {
            EofStyle::Classic => payload.len() < 9,
            EofStyle::Deprecated => payload.len() < PACKET_BYTES_MAX,
        }
    }

    fn row(&mut self, payload: &[u8]) -> Result<Awaits, Failure> {
        if self.reply.rows == 0 {
            let key = match self.format {
                RowFormat::Text => Some(text_key(payload)),
                RowFormat::Binary => Some(binary_key(payload)),
                RowFormat::Any => None,
            };
            if let Some(key) = key {
                self.reply.key = Some(key.ok_or(Failure::Malformed("first column"))?);
            }
        }
        self.reply.rows += 1;
        Ok(behind_row(payload))
    }
}

/// What comes behind a packet of a row.
fn behind_row(payload: &[u8]) -> Awaits {
    match payload.len() {
        PACKET_BYTES_MAX => Awaits::RestOfRow,
        _ => Awaits::Row,
    }
}

fn text_key(row: &[u8]) -> Option<u64> {
    let (digits, _) = take_string(row)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Behind the row byte and the NULL bitmap of two columns, a 32-bit integer.
fn binary_key(row: &[u8]) -> Option<u64> {
    let key: &[u8; 4] = row.get(2..)?.first_chunk()?;
    Some(u64::from(u32::from_le_bytes(*key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::frame;

    #[test]
    fn a_row_longer_than_a_packet_is_one_row() {
        let mut bytes = Vec::new();
        frame(&mut bytes, 1, |out| out.push(1));
        frame(&mut bytes, 2, |out| out.extend_from_slice(b"definition"));
        let mut row = b"\x017".to_vec();
        row.resize(PACKET_BYTES_MAX, b'x');
        frame(&mut bytes, 3, |out| out.extend_from_slice(&row));
        // Its rest looks like an ERR packet, and is none.
        frame(&mut bytes, 4, |out| out.extend_from_slice(b"\xffrest"));
        frame(&mut bytes, 5, |out| {
            out.extend_from_slice(&[0xfe, 0, 0, 2, 0])
        });
        let mut scanner = ReplyScanner::new(RowFormat::Text, EofStyle::Deprecated);
        let (taken, reply) = scanner.feed(&bytes).expect("it is a reply");
        let wanted = Reply {
            rows: 1,
            key: Some(7),
        };
        assert_eq!((taken, reply), (bytes.len(), Some(wanted)));
    }
}
