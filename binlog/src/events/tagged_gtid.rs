//! The format of GTID_TAGGED: MySQL's "serialization library", in which integers of variable length follow field
//! numbers (`libs/mysql/serialization/` of MySQL).

use wire::{Malformed, Reader};

use crate::gtid_set::{Tag, Uuid, put_varlen, varlen};

/// The supported version of the format.
const VERSION: u8 = 2;

/// The number of the field that contains the transaction's length.
const TRANSACTION_BYTES: u64 = 8;

/// A field of the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaggedField {
    Flags(u8),
    Uuid(Uuid),
    Number(u64),
    Tag(Option<Tag>),
    LastCommitted(i64),
    SequenceNumber(i64),
    ImmediateCommit(u64),
    OriginalCommit(u64),
    TransactionBytes(u64),
    ImmediateVersion(u32),
    OriginalVersion(u32),
    CommitGroup(u64),
}

/// The parts of the body.
struct Parts<'a> {
    last_needed: u64,
    fields: &'a [u8],
    /// The bytes after the fields.
    rest: &'a [u8],
}

fn parts(body: &[u8]) -> Result<Parts<'_>, Malformed> {
    let mut reader = Reader::new(body);
    if reader.u8("serialization version")? != VERSION {
        return Err(Malformed::Invalid("serialization version"));
    }
    let length = varlen(&mut reader, "length of the fields")?;
    let last_needed = varlen(&mut reader, "last field that must be understood")?;
    // The length includes the bytes before the fields.
    let in_front = (body.len() - reader.rest().len()) as u64;
    let length = length.checked_sub(in_front);
    let length = length.ok_or(Malformed::Invalid("length of the fields"))?;
    let length = usize::try_from(length).map_err(|_| Malformed::Truncated("fields"))?;
    Ok(Parts {
        last_needed,
        fields: reader.bytes(length, "fields")?,
        rest: reader.rest(),
    })
}

/// Decodes the fields of the body.
pub(super) fn decode(body: &[u8]) -> Result<Vec<TaggedField>, Malformed> {
    let Parts {
        last_needed,
        fields,
        ..
    } = parts(body)?;
    let mut fields = Reader::new(fields);
    let mut found = Vec::new();
    let mut after = None;
    while !fields.is_empty() {
        let number = varlen(&mut fields, "field number")?;
        if after.is_some_and(|after| number <= after) {
            return Err(Malformed::Invalid("order of the fields"));
        }
        after = Some(number);
        match read_field(number, &mut fields)? {
            Some(field) => found.push(field),
            None if number <= last_needed => return Err(Malformed::Invalid("field number")),
            // An unknown field has no length, so the fields after it cannot be read.
            None => break,
        }
    }
    Ok(found)
}

/// Returns the body with another transaction length; unchanged if it has no such field.
///
/// # Errors
/// The body is too short.
pub(crate) fn with_transaction_bytes(body: &[u8], bytes: u64) -> Result<Vec<u8>, Malformed> {
    let parts = parts(body)?;
    let mut reader = Reader::new(parts.fields);
    let here = |reader: &Reader<'_>| parts.fields.len() - reader.rest().len();
    let mut fields = Vec::with_capacity(parts.fields.len());
    let mut copied = 0;
    while !reader.is_empty() {
        let number = varlen(&mut reader, "field number")?;
        let begin = here(&reader);
        if read_field(number, &mut reader)?.is_none() {
            break;
        }
        if number == TRANSACTION_BYTES {
            fields.extend_from_slice(parts.fields.get(..begin).unwrap_or_default());
            put_varlen(&mut fields, bytes);
            copied = here(&reader);
        }
    }
    fields.extend_from_slice(parts.fields.get(copied..).unwrap_or_default());
    let mut needed = Vec::new();
    put_varlen(&mut needed, parts.last_needed);
    let mut out = vec![VERSION];
    put_length(&mut out, needed.len() + fields.len());
    out.extend_from_slice(&needed);
    out.extend_from_slice(&fields);
    out.extend_from_slice(parts.rest);
    Ok(out)
}

/// Appends the length, which includes the version byte and the length itself.
fn put_length(out: &mut Vec<u8>, behind: usize) {
    let size = |value: usize| {
        let mut bytes = Vec::new();
        put_varlen(&mut bytes, value as u64);
        bytes.len()
    };
    let mut own = 1;
    while size(out.len() + own + behind) > own {
        own += 1;
    }
    let length = out.len() + own + behind;
    put_varlen(out, length as u64);
}

fn read_field(number: u64, reader: &mut Reader<'_>) -> Result<Option<TaggedField>, Malformed> {
    let field = match number {
        0 => TaggedField::Flags(small(reader, "GTID flags")?),
        1 => TaggedField::Uuid(uuid(reader)?),
        2 => {
            let number = signed(reader, "transaction number")?;
            let number = u64::try_from(number);
            TaggedField::Number(number.map_err(|_| Malformed::Invalid("transaction number"))?)
        }
        3 => TaggedField::Tag(Tag::read_optional(reader)?),
        4 => TaggedField::LastCommitted(signed(reader, "last_committed")?),
        5 => TaggedField::SequenceNumber(signed(reader, "sequence_number")?),
        6 => TaggedField::ImmediateCommit(varlen(reader, "immediate commit time")?),
        7 => TaggedField::OriginalCommit(varlen(reader, "original commit time")?),
        8 => TaggedField::TransactionBytes(varlen(reader, "transaction length")?),
        9 => TaggedField::ImmediateVersion(small(reader, "immediate server version")?),
        10 => TaggedField::OriginalVersion(small(reader, "original server version")?),
        11 => TaggedField::CommitGroup(varlen(reader, "commit group")?),
        _ => return Ok(None),
    };
    Ok(Some(field))
}

/// Reads a signed integer, whose lowest bit is the sign.
fn signed(reader: &mut Reader<'_>, item: &'static str) -> Result<i64, Malformed> {
    let value = varlen(reader, item)?;
    let magnitude = (value >> 1).cast_signed();
    Ok(if value & 1 == 0 {
        magnitude
    } else {
        -magnitude - 1
    })
}

fn small<T: TryFrom<u64>>(reader: &mut Reader<'_>, item: &'static str) -> Result<T, Malformed> {
    T::try_from(varlen(reader, item)?).map_err(|_| Malformed::Invalid(item))
}

/// Reads a UUID, in which each byte is a separate integer.
fn uuid(reader: &mut Reader<'_>) -> Result<Uuid, Malformed> {
    let mut bytes = [0; 16];
    for byte in &mut bytes {
        *byte = small(reader, "source's UUID")?;
    }
    Ok(Uuid(bytes))
}
