//! PARTIAL_ROW_DATA of MariaDB 12.3: pieces of a rows event that is longer than a replica takes.

use wire::{Malformed, Reader};

use crate::error::EventError;

const HAS_ORIGINAL_LENGTH: u8 = 1;

/// A piece of a rows event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsFragment<'a> {
    /// How many pieces there are.
    pub count: u32,
    /// Which one it is, from 1.
    pub number: u32,
    /// How long the whole event is; in the first piece.
    pub original_bytes: Option<u64>,
    /// The piece.
    pub data: &'a [u8],
}

impl<'a> RowsFragment<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// The body is too short, or its numbers do not fit.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let count = reader.u32("number of fragments")?;
        let number = reader.u32("number of the fragment")?;
        if number == 0 || number > count {
            return Err(Malformed::Invalid("number of the fragment"));
        }
        let flags = reader.u8("flags of the fragment")?;
        let has_length = flags & HAS_ORIGINAL_LENGTH != 0;
        let original_bytes = has_length
            .then(|| reader.u64("length of the whole event"))
            .transpose()?;
        Ok(Self {
            count,
            number,
            original_bytes,
            data: reader.remainder(),
        })
    }
}

/// The pieces of an event that have come.
#[derive(Debug, Default)]
pub(crate) struct FragmentBuffer {
    bytes: Vec<u8>,
    /// The last piece that came; 0 if none is awaited.
    number: u32,
    count: u32,
}

impl FragmentBuffer {
    /// Takes a piece; gives the whole event with the last one.
    pub(crate) fn add(
        &mut self,
        fragment: &RowsFragment<'_>,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, EventError> {
        if fragment.number == 1 {
            (self.bytes, self.number, self.count) = (Vec::new(), 0, fragment.count);
        }
        if fragment.number != self.number + 1 || fragment.count != self.count {
            return Err(EventError::Misplaced(
                "a fragment of a rows event is missing",
            ));
        }
        let length = self.bytes.len() as u64 + fragment.data.len() as u64;
        let length = length.max(fragment.original_bytes.unwrap_or(0));
        if length > limit as u64 {
            return Err(EventError::TooLong { length, limit });
        }
        self.bytes.extend_from_slice(fragment.data);
        self.number = fragment.number;
        if self.number < self.count {
            return Ok(None);
        }
        self.number = 0;
        Ok(Some(std::mem::take(&mut self.bytes)))
    }
}
