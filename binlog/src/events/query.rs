//! QUERY: a statement, with the settings of the session that executed it.

use std::borrow::Cow;

use wire::{Malformed, Reader};

use crate::compressed::inflate;
use crate::error::EventError;
use crate::events::status_variables::StatusVariables;

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    /// The id of the connection that executed it.
    pub thread_id: u32,
    /// How long it took, in seconds.
    pub seconds: u32,
    /// The error number that it ended with; 0 for none.
    pub error_code: u16,
    /// The session's default schema.
    pub schema: &'a [u8],
    /// The session's settings.
    pub status: StatusVariables<'a>,
    /// The statement's text, in the character set of the session's client.
    pub text: Cow<'a, [u8]>,
}

/// The fixed part of the body.
pub(crate) struct Fixed {
    thread_id: u32,
    seconds: u32,
    schema_bytes: u8,
    error_code: u16,
    status_bytes: u16,
}

impl Fixed {
    /// The offset of the schema name's length.
    pub(crate) const SCHEMA_LENGTH_AT: usize = 8;

    /// The length of the status variables, in bytes.
    pub(crate) fn status_bytes(&self) -> usize {
        usize::from(self.status_bytes)
    }

    /// Reads the fixed part. Logs of MySQL 4, which lack the status variables, are not supported.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            thread_id: reader.u32("thread id")?,
            seconds: reader.u32("execution time")?,
            schema_bytes: reader.u8("length of the schema name")?,
            error_code: reader.u16("error code")?,
            status_bytes: reader.u16("length of the status variables")?,
        })
    }
}

impl<'a> Query<'a> {
    /// Decodes the body. The fixed part of the body has `post_header` bytes.
    ///
    /// # Errors
    /// The body is too short.
    pub fn decode(body: &'a [u8], post_header: usize) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let mut fixed = Reader::new(reader.bytes(post_header, "QUERY post-header")?);
        let lengths = Fixed::read(&mut fixed)?;
        Self::read(&lengths, &mut reader)
    }

    /// Decodes an event whose text MariaDB has compressed.
    ///
    /// # Errors
    /// The body is too short, or the text does not decompress to at most `limit` bytes.
    pub fn decode_compressed(
        body: &'a [u8],
        post_header: usize,
        limit: usize,
    ) -> Result<Self, EventError> {
        let mut query = Self::decode(body, post_header)?;
        query.text = Cow::Owned(inflate(&query.text, limit, "statement")?);
        Ok(query)
    }

    /// Reads the body after its fixed part.
    pub(crate) fn read(lengths: &Fixed, reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let status = reader.bytes(usize::from(lengths.status_bytes), "status variables")?;
        let schema = reader.bytes(usize::from(lengths.schema_bytes), "schema name")?;
        reader.u8("end of the schema name")?;
        Ok(Self {
            thread_id: lengths.thread_id,
            seconds: lengths.seconds,
            error_code: lengths.error_code,
            schema,
            status: StatusVariables::decode(status)?,
            text: Cow::Borrowed(reader.remainder()),
        })
    }
}
