//! INCIDENT: the server reports that the log lacks changes.

use wire::{Malformed, Reader};

/// An incident of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident<'a> {
    /// The kind of incident; 1 means that events are lost.
    pub number: u16,
    /// The server's message.
    pub message: &'a [u8],
}

impl<'a> Incident<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// The body is too short.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let number = reader.u16("incident number")?;
        let length = reader.u8("length of the incident message")?;
        Ok(Self {
            number,
            message: reader.bytes(usize::from(length), "incident message")?,
        })
    }
}
