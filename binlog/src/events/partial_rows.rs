//! PARTIAL_ROW_DATA of MariaDB 12.3: fragments of a rows event that is longer than a replica accepts.

use wire::{Malformed, Reader};

use crate::error::EventError;

const HAS_ORIGINAL_LENGTH: u8 = 1;

/// A fragment of a rows event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsFragment<'a> {
    /// The number of fragments.
    pub count: u32,
    /// The number of this fragment, from 1.
    pub number: u32,
    /// The length of the whole event in bytes; only in the first fragment.
    pub original_bytes: Option<u64>,
    /// The bytes of the fragment.
    pub data: &'a [u8],
}

impl<'a> RowsFragment<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// The body is too short, or its numbers are inconsistent.
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

/// The fragments of an event that have come so far.
#[derive(Debug, Default)]
pub(crate) struct FragmentBuffer {
    bytes: Vec<u8>,
    /// The number of the last fragment; 0 if no fragment is expected.
    number: u32,
    count: u32,
}

impl FragmentBuffer {
    /// Adds a fragment. With the last fragment, returns the whole event.
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
