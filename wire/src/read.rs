//! Reading protocol items from a shrinking slice; every failure names the item.

/// A payload that does not follow the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The payload ended before the end of the named item.
    #[error("truncated: {0}")]
    Truncated(&'static str),
    /// The named item has a value that the protocol does not allow there.
    #[error("invalid: {0}")]
    Invalid(&'static str),
}

/// A cursor over one payload.
///
/// Integers are little-endian; "lenenc" is the protocol's length-encoded integer
/// (protocol page "Protocol::LengthEncodedInteger").
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the first byte of `payload`.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    /// The bytes that have not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether everything has been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize, item: &'static str) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or(Malformed::Truncated(item))?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self, item: &'static str) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(Malformed::Truncated(item))?;
        self.rest = rest;
        Ok(*taken)
    }

    /// `int<1>`.
    pub fn u8(&mut self, item: &'static str) -> Result<u8, Malformed> {
        self.array::<1>(item).map(|[byte]| byte)
    }

    /// `int<2>`.
    pub fn u16(&mut self, item: &'static str) -> Result<u16, Malformed> {
        self.array(item).map(u16::from_le_bytes)
    }

    /// `int<4>`.
    pub fn u32(&mut self, item: &'static str) -> Result<u32, Malformed> {
        self.array(item).map(u32::from_le_bytes)
    }

    /// `int<8>`.
    pub fn u64(&mut self, item: &'static str) -> Result<u64, Malformed> {
        self.array(item).map(u64::from_le_bytes)
    }

    /// An integer of `count` bytes, 8 at most.
    pub fn uint(&mut self, count: usize, item: &'static str) -> Result<u64, Malformed> {
        let bytes = self.bytes(count.min(8), item)?;
        Ok(bytes
            .iter()
            .rfold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// An integer of `count` bytes, 8 at most, with its highest byte first, unlike the protocol's other integers.
    pub fn uint_high_first(&mut self, count: usize, item: &'static str) -> Result<u64, Malformed> {
        let bytes = self.bytes(count.min(8), item)?;
        Ok(bytes
            .iter()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// `int<lenenc>`; 0xfb (NULL in rows) and 0xff (ERR) are invalid here.
    pub fn lenenc(&mut self, item: &'static str) -> Result<u64, Malformed> {
        match self.u8(item)? {
            short @ 0..=0xfa => Ok(u64::from(short)),
            0xfc => self.u16(item).map(u64::from),
            0xfd => self
                .array::<3>(item)
                .map(|[a, b, c]| u64::from(u32::from_le_bytes([a, b, c, 0]))),
            0xfe => self.array(item).map(u64::from_le_bytes),
            0xfb | 0xff => Err(Malformed::Invalid(item)),
        }
    }

    /// `string<lenenc>`.
    pub fn lenenc_bytes(&mut self, item: &'static str) -> Result<&'a [u8], Malformed> {
        let length = self.lenenc(item)?;
        let length = usize::try_from(length).map_err(|_| Malformed::Truncated(item))?;
        self.bytes(length, item)
    }

    /// `string<NUL>`, without its NUL.
    pub fn until_nul(&mut self, item: &'static str) -> Result<&'a [u8], Malformed> {
        let end = self
            .rest
            .iter()
            .position(|byte| *byte == 0)
            .ok_or(Malformed::Truncated(item))?;
        let text = self.bytes(end, item)?;
        self.bytes(1, item)?;
        Ok(text)
    }

    /// `string<EOF>`: the remainder.
    pub fn remainder(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
}

#[cfg(test)]
mod tests;
