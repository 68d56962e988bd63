//! The source of transaction numbers in MySQL: a server's UUID, and a tag since MySQL 8.3.

use std::fmt;
use std::str::FromStr;

use wire::{Malformed, Reader};

use super::error::GtidError;

const TAG_BYTES_MAX: usize = 32;

/// A server's UUID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Uuid {
    type Err = GtidError;

    /// Parses a UUID with dashes, without dashes, or in braces, as MySQL does.
    fn from_str(text: &str) -> Result<Self, GtidError> {
        let error = GtidError::Invalid("UUID");
        let bare = text.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
        let text = bare.unwrap_or(text).as_bytes();
        let has_dashes = text.len() == 36;
        let dashes = [8, 13, 18, 23];
        if !(has_dashes || text.len() == 32) {
            return Err(error);
        }
        let mut digits = Vec::with_capacity(32);
        for (index, letter) in text.iter().enumerate() {
            if has_dashes && dashes.contains(&index) {
                if *letter != b'-' {
                    return Err(error);
                }
                continue;
            }
            let digit = char::from(*letter).to_digit(16).ok_or(error)?;
            digits.push(digit as u8);
        }
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = pair.iter().fold(0, |value, digit| value << 4 | digit);
        }
        Ok(Self(bytes))
    }
}

/// A tag: 1 to 32 lower-case letters, digits and underscores. The first character is no digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(Box<str>);

impl Tag {
    /// The tag's letters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a length and a tag; none if the length is 0.
    pub(crate) fn read_optional(reader: &mut Reader<'_>) -> Result<Option<Self>, Malformed> {
        let length = varlen(reader, "length of the tag")?;
        let length = usize::try_from(length).map_err(|_| Malformed::Truncated("tag"))?;
        let bytes = reader.bytes(length, "tag")?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let text = str::from_utf8(bytes).map_err(|_| Malformed::Invalid("tag"))?;
        let tag: Self = text.parse().map_err(|_| Malformed::Invalid("tag"))?;
        if tag.as_str() != text {
            return Err(Malformed::Invalid("tag"));
        }
        Ok(Some(tag))
    }
}

impl FromStr for Tag {
    type Err = GtidError;

    fn from_str(text: &str) -> Result<Self, GtidError> {
        let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let begins_well = text.starts_with(|it: char| is_letter(it) && !it.is_ascii_digit());
        if begins_well && text.len() <= TAG_BYTES_MAX && text.chars().all(is_letter) {
            Ok(Self(text.to_ascii_lowercase().into()))
        } else {
            Err(GtidError::Invalid("tag"))
        }
    }
}

/// A source of transaction numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId {
    /// The server's UUID.
    pub uuid: Uuid,
    /// The tag that the session has set.
    pub tag: Option<Tag>,
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tag {
            Some(tag) => write!(f, "{}:{}", self.uuid, tag.as_str()),
            None => self.uuid.fmt(f),
        }
    }
}

/// Reads an integer of MySQL's serialization library: the number of trailing ones in the first byte is the number
/// of bytes that follow.
pub(crate) fn varlen(reader: &mut Reader<'_>, item: &'static str) -> Result<u64, Malformed> {
    let first = reader.u8(item)?;
    match first.trailing_ones() as usize {
        more @ 0..=7 => {
            let rest = reader.uint(more, item)?;
            let low = u64::from(first) >> (more + 1);
            // With seven more bytes, the first byte has no bits of the value.
            Ok(rest << (7 - more) | low)
        }
        _ => reader.u64(item),
    }
}

/// Appends an integer of MySQL's serialization library.
pub(crate) fn put_varlen(out: &mut Vec<u8>, value: u64) {
    let bits = (64 - value.leading_zeros() as usize).max(1);
    let count = bits.div_ceil(7);
    if count > 8 {
        out.push(0xff);
        out.extend_from_slice(&value.to_le_bytes());
        return;
    }
    let ones = (1_u64 << (count - 1)) - 1;
    let encoded = value << count | ones;
    out.extend(encoded.to_le_bytes().into_iter().take(count));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_variable_length_round_trip() {
        for bit in 0..64 {
            for value in [1_u64 << bit, (1 << bit) - 1, u64::MAX >> bit] {
                let mut bytes = Vec::new();
                put_varlen(&mut bytes, value);
                let mut reader = Reader::new(&bytes);
                assert_eq!(varlen(&mut reader, "it"), Ok(value));
                assert!(reader.is_empty());
            }
        }
    }

    #[test]
    fn a_uuid_is_read_in_each_of_its_forms() {
        let text = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeee0f";
        let uuid: Uuid = text.parse().unwrap();
        assert_eq!(uuid.to_string(), text);
        assert_eq!(text.replace('-', "").parse(), Ok(uuid));
        assert_eq!(format!("{{{text}}}").parse(), Ok(uuid));
        assert!(
            "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeee0"
                .parse::<Uuid>()
                .is_err()
        );
        assert!(
            "aaaaaaaaabbbb-cccc-dddd-eeeeeeeeee0f"
                .parse::<Uuid>()
                .is_err()
        );
    }
}
