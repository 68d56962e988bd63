//! INCIDENT: the server has lost changes that are not in the log.

use wire::{Malformed, Reader};

/// An incident of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident<'a> {
    /// 1: events are lost.
    pub number: u16,
    /// The server's words.
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
