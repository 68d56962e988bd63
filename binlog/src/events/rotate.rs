//! ROTATE: the stream continues in the next file.

use wire::{Malformed, Reader};

/// The place where the stream continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotate<'a> {
    /// The offset in the next file.
    pub position: u64,
    /// The name of the next file.
    pub name: &'a [u8],
}

impl<'a> Rotate<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// The body is too short.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        Ok(Self {
            position: reader.u64("position")?,
            name: reader.remainder(),
        })
    }

    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.position.to_le_bytes());
        out.extend_from_slice(self.name);
    }
}
