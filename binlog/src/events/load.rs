//! LOAD DATA in statement format: blocks of the file, and the statement that reads them.

use wire::{Malformed, Reader};

use crate::events::query::{Fixed, Query};

/// BEGIN_LOAD_QUERY and APPEND_BLOCK: a block of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeginLoadQuery<'a> {
    /// The id of the file.
    pub file_id: u32,
    /// The bytes of the block.
    pub block: &'a [u8],
}

impl<'a> BeginLoadQuery<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// The body is too short.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        Ok(Self {
            file_id: reader.u32("file id")?,
            block: reader.remainder(),
        })
    }
}

/// EXECUTE_LOAD_QUERY: the statement, and the place of the file's name in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecuteLoadQuery<'a> {
    /// The id of the file.
    pub file_id: u32,
    /// The offset at which the file's name begins in the statement.
    pub name_start: u32,
    /// The offset at which the file's name ends.
    pub name_end: u32,
    /// How a row with an existing key is handled: 0 error, 1 IGNORE, 2 REPLACE.
    pub duplicates: u8,
    /// The statement.
    pub query: Query<'a>,
}

impl<'a> ExecuteLoadQuery<'a> {
    /// Decodes the body. The fixed part of the body has `post_header` bytes.
    ///
    /// # Errors
    /// The body is too short.
    pub fn decode(body: &'a [u8], post_header: usize) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let mut fixed = Reader::new(reader.bytes(post_header, "LOAD post-header")?);
        let lengths = Fixed::read(&mut fixed)?;
        let file_id = fixed.u32("file id")?;
        let name_start = fixed.u32("start of the file name")?;
        let name_end = fixed.u32("end of the file name")?;
        let duplicates = fixed.u8("handling of duplicates")?;
        Ok(Self {
            file_id,
            name_start,
            name_end,
            duplicates,
            query: Query::read(&lengths, &mut reader)?,
        })
    }
}
