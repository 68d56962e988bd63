//! Converts a JSON document from MySQL's binary format to text (`json_binary.h` of MySQL).
//!
//! An object or array begins with its number of members and its length. Entries for keys and values follow; each
//! entry has the offset of its key or value. A small number is in the entry itself.

use std::fmt::Write as _;

use wire::{Malformed, Reader};

use super::opaque;

/// The maximum depth of a document; the servers have the same limit.
const DEPTH_MAX: usize = 100;

const ITEM: &str = "JSON document";

/// Types of values.
mod kind {
    pub(super) const SMALL_OBJECT: u8 = 0;
    pub(super) const LARGE_OBJECT: u8 = 1;
    pub(super) const SMALL_ARRAY: u8 = 2;
    pub(super) const LARGE_ARRAY: u8 = 3;
    pub(super) const LITERAL: u8 = 4;
    pub(super) const INT16: u8 = 5;
    pub(super) const UINT16: u8 = 6;
    pub(super) const INT32: u8 = 7;
    pub(super) const UINT32: u8 = 8;
    pub(super) const INT64: u8 = 9;
    pub(super) const UINT64: u8 = 10;
    pub(super) const DOUBLE: u8 = 11;
    pub(super) const STRING: u8 = 12;
    pub(super) const OPAQUE: u8 = 15;
}

/// Returns the JSON text of a document, as MySQL writes it. An empty document is JSON's null, as in the server.
pub(crate) fn text(document: &[u8]) -> Result<String, Malformed> {
    let mut writer = JsonWriter {
        text: String::new(),
        budget: document.len(),
    };
    match document.split_first() {
        Some((kind, value)) => writer.put(*kind, value, 0)?,
        None => writer.text.push_str("null"),
    }
    Ok(writer.text)
}

struct JsonWriter {
    text: String,
    /// How many bytes may still be written. In a damaged document many entries could point to the same bytes; a
    /// valid document is not longer than its bytes.
    budget: usize,
}

impl JsonWriter {
    fn spend(&mut self, bytes: usize) -> Result<(), Malformed> {
        let rest = self.budget.checked_sub(bytes);
        self.budget = rest.ok_or(Malformed::Invalid(ITEM))?;
        Ok(())
    }

    fn put(&mut self, kind: u8, value: &[u8], depth: usize) -> Result<(), Malformed> {
        if depth > DEPTH_MAX {
            return Err(Malformed::Invalid("depth of a JSON document"));
        }
        self.spend(1)?;
        let mut reader = Reader::new(value);
        match kind {
            kind::SMALL_OBJECT => self.put_members(value, Layout::new(true, false), depth)?,
            kind::LARGE_OBJECT => self.put_members(value, Layout::new(true, true), depth)?,
            kind::SMALL_ARRAY => self.put_members(value, Layout::new(false, false), depth)?,
            kind::LARGE_ARRAY => self.put_members(value, Layout::new(false, true), depth)?,
            kind::LITERAL => self.text.push_str(match reader.u8(ITEM)? {
                0 => "null",
                1 => "true",
                2 => "false",
                _ => return Err(Malformed::Invalid("literal of a JSON document")),
            }),
            kind::INT16 => self.put_number(reader.u16(ITEM)?.cast_signed()),
            kind::UINT16 => self.put_number(reader.u16(ITEM)?),
            kind::INT32 => self.put_number(reader.u32(ITEM)?.cast_signed()),
            kind::UINT32 => self.put_number(reader.u32(ITEM)?),
            kind::INT64 => self.put_number(reader.u64(ITEM)?.cast_signed()),
            kind::UINT64 => self.put_number(reader.u64(ITEM)?),
            kind::DOUBLE => {
                let number = serde_json::Number::from_f64(f64::from_le_bytes(reader.array(ITEM)?));
                self.put_number(number.ok_or(Malformed::Invalid("number of a JSON document"))?);
            }
            kind::STRING => {
                let length = length(&mut reader)?;
                let bytes = reader.bytes(length, ITEM)?;
                self.put_string(bytes)?;
            }
            kind::OPAQUE => {
                let column_type = reader.u8(ITEM)?;
                let length = length(&mut reader)?;
                let bytes = reader.bytes(length, ITEM)?;
                self.spend(length)?;
                self.text.push_str(&opaque::text(column_type, bytes)?);
            }
            _ => return Err(Malformed::Invalid("type in a JSON document")),
        }
        Ok(())
    }

    fn put_number(&mut self, number: impl std::fmt::Display) {
        let _ = write!(self.text, "{number}");
    }

    fn put_string(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        self.spend(bytes.len())?;
        let text = String::from_utf8_lossy(bytes);
        let quoted = serde_json::to_string(&text);
        self.text
            .push_str(&quoted.map_err(|_| Malformed::Invalid(ITEM))?);
        Ok(())
    }

    fn put_members(
        &mut self,
        container: &[u8],
        layout: Layout,
        depth: usize,
    ) -> Result<(), Malformed> {
        let mut head = Reader::new(container);
        let count = layout.number(&mut head)?;
        let length = layout.number(&mut head)?;
        let container = container.get(..length).ok_or(Malformed::Truncated(ITEM))?;
        let (open, close) = if layout.has_keys {
            ('{', '}')
        } else {
            ('[', ']')
        };
        self.text.push(open);
        for index in 0..count {
            if index > 0 {
                self.text.push_str(", ");
            }
            if layout.has_keys {
                self.put_string(layout.key(container, index)?)?;
                self.text.push_str(": ");
            }
            let (kind, value) = layout.value(container, count, index)?;
            self.put(kind, value, depth + 1)?;
        }
        self.text.push(close);
        Ok(())
    }
}

/// The layout of an object or an array.
#[derive(Clone, Copy)]
struct Layout {
    has_keys: bool,
    /// Whether numbers have four bytes.
    is_large: bool,
}

impl Layout {
    const fn new(has_keys: bool, is_large: bool) -> Self {
        Self { has_keys, is_large }
    }

    const fn width(self) -> usize {
        if self.is_large { 4 } else { 2 }
    }

    fn number(self, reader: &mut Reader<'_>) -> Result<usize, Malformed> {
        let number = reader.uint(self.width(), ITEM)?;
        usize::try_from(number).map_err(|_| Malformed::Truncated(ITEM))
    }

    fn key_entry(self) -> usize {
        self.width() + 2
    }

    fn key(self, container: &[u8], index: usize) -> Result<&[u8], Malformed> {
        let mut entry = at(container, 2 * self.width() + index * self.key_entry())?;
        let start = self.number(&mut entry)?;
        let length = usize::from(entry.u16(ITEM)?);
        at(container, start)?.bytes(length, ITEM)
    }

    /// Returns the type and the bytes of a value. The bytes go on to the end of the container.
    fn value(self, container: &[u8], count: usize, index: usize) -> Result<(u8, &[u8]), Malformed> {
        let keys = if self.has_keys {
            count * self.key_entry()
        } else {
            0
        };
        let entry = 2 * self.width() + keys + index * (1 + self.width());
        let mut entry = at(container, entry)?;
        let kind = entry.u8(ITEM)?;
        let is_inlined = match kind {
            kind::LITERAL | kind::INT16 | kind::UINT16 => true,
            kind::INT32 | kind::UINT32 => self.is_large,
            _ => false,
        };
        if is_inlined {
            return Ok((kind, entry.rest()));
        }
        let start = self.number(&mut entry)?;
        Ok((kind, at(container, start)?.rest()))
    }
}

fn at(container: &[u8], start: usize) -> Result<Reader<'_>, Malformed> {
    let rest = container.get(start..);
    rest.map(Reader::new).ok_or(Malformed::Truncated(ITEM))
}

/// Reads a length: seven bits per byte, lowest first. The high bit of a byte means that another byte follows.
fn length(reader: &mut Reader<'_>) -> Result<usize, Malformed> {
    let mut length = 0_usize;
    for index in 0..5 {
        let byte = reader.u8(ITEM)?;
        length |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Ok(length);
        }
    }
    Err(Malformed::Invalid("length in a JSON document"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An array that refers to the value after it `count` times.
    fn array_of(count: u16, kind: u8, value: &[u8]) -> Vec<u8> {
        let head = 4 + 3 * count;
        let mut array = count.to_le_bytes().to_vec();
        array.extend((head + value.len() as u16).to_le_bytes());
        for _ in 0..count {
            array.push(kind);
            array.extend(head.to_le_bytes());
        }
        array.extend(value);
        array
    }

    fn document(kind: u8, value: &[u8]) -> Vec<u8> {
        [&[kind], value].concat()
    }

    #[test]
    fn values_that_share_their_bytes_do_not_grow_beyond_the_document() {
        let string = b"\x0dno short text";
        let once = document(kind::SMALL_ARRAY, &array_of(1, kind::STRING, string));
        assert_eq!(text(&once), Ok("[\"no short text\"]".to_owned()));
        let mut value = array_of(9, kind::STRING, string);
        for _ in 0..9 {
            value = array_of(9, kind::SMALL_ARRAY, &value);
        }
        let error = text(&document(kind::SMALL_ARRAY, &value));
        assert_eq!(error, Err(Malformed::Invalid(ITEM)));
    }

    #[test]
    fn a_document_is_as_deep_as_the_servers_allow() {
        let nested = |depth: usize| {
            let mut value = array_of(0, 0, b"");
            for _ in 0..depth {
                value = array_of(1, kind::SMALL_ARRAY, &value);
            }
            text(&document(kind::SMALL_ARRAY, &value))
        };
        assert!(nested(99).is_ok());
        let error = Err(Malformed::Invalid("depth of a JSON document"));
        assert_eq!(nested(DEPTH_MAX + 1), error);
    }
}
