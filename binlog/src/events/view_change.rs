//! VIEW_CHANGE of Group Replication: the members change here.

use wire::{Malformed, Reader};

const VIEW_BYTES: usize = 40;

/// A change of a group's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewChange<'a> {
    /// The view's id.
    pub view: &'a [u8],
    /// The sequence number of the certification.
    pub sequence: u64,
    /// The number of certification entries that follow.
    pub entries: u32,
}

impl<'a> ViewChange<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// The body is too short.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let view = reader.bytes(VIEW_BYTES, "view id")?;
        Ok(Self {
            view: view.split(|byte| *byte == 0).next().unwrap_or_default(),
            sequence: reader.u64("sequence number")?,
            entries: reader.u32("number of certification entries")?,
        })
    }
}
