//! Rewrites TABLE_MAP and QUERY events with other names and texts.

use wire::{Malformed, Reader};

use crate::events::query::Fixed;

/// The maximum length of a name, because one byte holds the length.
const NAME_BYTES_MAX: usize = u8::MAX as usize;

/// Returns the body of a TABLE_MAP event with another table name. The fixed part of the body has `post_header` bytes.
///
/// # Errors
/// The body is too short, or a name is longer than 255 bytes.
pub fn rename_table(
    body: &[u8],
    post_header: usize,
    schema: &str,
    table: &str,
) -> Result<Vec<u8>, Malformed> {
    let mut reader = Reader::new(body);
    let mut renamed = reader.bytes(post_header, "TABLE_MAP post-header")?.to_vec();
    for (name, item) in [(schema, "schema name"), (table, "table name")] {
        let length = usize::from(reader.u8(item)?);
        reader.bytes(length + 1, item)?;
        put_name(&mut renamed, name.as_bytes())?;
        renamed.push(0);
    }
    renamed.extend_from_slice(reader.rest());
    Ok(renamed)
}

fn put_name(out: &mut Vec<u8>, name: &[u8]) -> Result<(), Malformed> {
    if name.len() > NAME_BYTES_MAX {
        return Err(Malformed::Invalid("length of a name"));
    }
    out.push(name.len() as u8);
    out.extend_from_slice(name);
    Ok(())
}

/// Returns the body of a QUERY event with another default schema and another text, uncompressed. The fixed part of
/// `body` has `post_header` bytes.
///
/// # Errors
/// The body is too short, or the schema's name is longer than 255 bytes.
pub fn rewrite_query(
    body: &[u8],
    post_header: usize,
    schema: &[u8],
    text: &[u8],
) -> Result<Vec<u8>, Malformed> {
    let mut reader = Reader::new(body);
    let fixed = reader.bytes(post_header, "QUERY post-header")?;
    let lengths = Fixed::read(&mut Reader::new(fixed))?;
    let status = reader.bytes(lengths.status_bytes(), "status variables")?;
    if schema.len() > NAME_BYTES_MAX {
        return Err(Malformed::Invalid("length of the schema name"));
    }
    let mut changed = fixed.to_vec();
    if let Some(length) = changed.get_mut(Fixed::SCHEMA_LENGTH_AT) {
        *length = schema.len() as u8;
    }
    changed.extend_from_slice(status);
    changed.extend_from_slice(schema);
    changed.push(0);
    changed.extend_from_slice(text);
    Ok(changed)
}

/// Appends the body of a QUERY event whose statement depends on no setting, such as BEGIN.
pub fn put_statement(out: &mut Vec<u8>, post_header: usize, text: &[u8]) {
    out.resize(out.len() + post_header + 1, 0);
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::query::Query;

    const POST_HEADER: usize = 13;

    #[test]
    fn a_statement_that_depends_on_nothing_is_read_as_it_was_put() {
        let mut body = Vec::new();
        put_statement(&mut body, POST_HEADER, b"BEGIN");
        let query = Query::decode(&body, POST_HEADER).unwrap();
        assert_eq!((query.schema, &*query.text), (&b""[..], &b"BEGIN"[..]));
        let changed = rewrite_query(&body, POST_HEADER, b"shop", b"COMMIT").unwrap();
        let query = Query::decode(&changed, POST_HEADER).unwrap();
        assert_eq!((query.schema, &*query.text), (&b"shop"[..], &b"COMMIT"[..]));
        let back = rewrite_query(&changed, POST_HEADER, b"", b"BEGIN").unwrap();
        assert_eq!(back, body);
    }

    #[test]
    fn names_that_are_too_long_are_refused() {
        let body = [&[0; 8][..], &[1, b'a', 0, 1, b'b', 0, 1, 3, 0, 0]].concat();
        let renamed = rename_table(&body, 8, "shop", "orders").unwrap();
        assert!(renamed.split_at(8).1.starts_with(b"\x04shop\0\x06orders\0"));
        assert_eq!(rename_table(&renamed, 8, "a", "b").unwrap(), body);
        let long = "x".repeat(256);
        assert!(rename_table(&body, 8, &long, "b").is_err());
        for cut in 0..14 {
            assert!(rename_table(body.split_at(cut).0, 8, "shop", "orders").is_err());
        }
    }
}
