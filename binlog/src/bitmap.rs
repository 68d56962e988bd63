//! Bitmaps of columns: which columns are present, and which are NULL.

use std::borrow::Cow;

use wire::{Malformed, Reader};

/// One bit per column. The lowest bit of the first byte is the first column.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Bitmap<'a> {
    bytes: Cow<'a, [u8]>,
}

impl<'a> Bitmap<'a> {
    /// Reads the bits of `count` columns.
    pub(crate) fn read(
        reader: &mut Reader<'a>,
        count: usize,
        item: &'static str,
    ) -> Result<Self, Malformed> {
        let bytes = reader.bytes(count.div_ceil(8), item)?;
        Ok(Self {
            bytes: Cow::Borrowed(bytes),
        })
    }

    /// Whether the bit of a column is set.
    pub fn contains(&self, index: usize) -> bool {
        let byte = self.bytes.get(index / 8);
        byte.is_some_and(|byte| byte >> (index % 8) & 1 == 1)
    }

    /// Returns a copy that owns its bytes.
    pub(crate) fn into_owned(self) -> Bitmap<'static> {
        Bitmap {
            bytes: Cow::Owned(self.bytes.into_owned()),
        }
    }

    /// Creates a bitmap of `count` columns. `contains` returns whether a column's bit is set.
    pub(crate) fn of(count: usize, contains: impl Fn(usize) -> bool) -> Bitmap<'static> {
        let byte = |first: usize| {
            let bits = (0..8).filter(|bit| first + bit < count && contains(first + bit));
            bits.fold(0, |byte, bit| byte | 1 << bit)
        };
        Bitmap {
            bytes: (0..count).step_by(8).map(byte).collect(),
        }
    }

    /// The bytes, as in an event.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many of the first `count` bits are set.
    pub fn count(&self, count: usize) -> usize {
        (0..count).filter(|index| self.contains(*index)).count()
    }
}

/// Returns a bit of a metadata list. In such lists the highest bit of the first byte is the first bit.
pub(crate) fn bit_high_first(bytes: &[u8], index: usize) -> bool {
    let byte = bytes.get(index / 8);
    byte.is_some_and(|byte| byte << (index % 8) & 0x80 != 0)
}
