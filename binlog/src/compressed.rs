//! MariaDB's compression of texts, rows and column values (`binlog_uncompress` of `log_event.cc`).

use std::io::Read;

use flate2::read::{DeflateDecoder, ZlibDecoder};
use wire::{Malformed, Reader};

use crate::error::EventError;

/// Decompresses a compressed part of an event.
///
/// The first byte contains the algorithm (0: zlib) and the number of length bytes that follow, highest byte first.
pub(crate) fn inflate(
    compressed: &[u8],
    limit: usize,
    item: &'static str,
) -> Result<Vec<u8>, EventError> {
    let mut reader = Reader::new(compressed);
    let head = reader.u8(item)?;
    let count = usize::from(head & 0x07);
    if head & 0x70 != 0 || !(1..=4).contains(&count) {
        return Err(EventError::Compression(item));
    }
    let length = reader.uint_high_first(count, item)?;
    let length = usize::try_from(length).map_err(|_| Malformed::Invalid(item))?;
    if length > limit {
        return Err(EventError::Inflated { item, limit });
    }
    inflate_zlib(reader.rest(), length, item)
}

/// Decompresses a zlib stream, whose result must have `length` bytes.
pub(crate) fn inflate_zlib(
    stream: &[u8],
    length: usize,
    item: &'static str,
) -> Result<Vec<u8>, EventError> {
    read_exactly(ZlibDecoder::new(stream), length, item)
}

/// Decompresses a deflate stream without zlib's header, whose result must have `length` bytes.
pub(crate) fn inflate_raw(
    stream: &[u8],
    length: usize,
    item: &'static str,
) -> Result<Vec<u8>, EventError> {
    read_exactly(DeflateDecoder::new(stream), length, item)
}

fn read_exactly(
    decoder: impl Read,
    length: usize,
    item: &'static str,
) -> Result<Vec<u8>, EventError> {
    // The stated length may be wrong, so memory grows only with the bytes that come.
    let mut bytes = Vec::new();
    decoder
        .take(length as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|_| EventError::Compression(item))?;
    if bytes.len() == length {
        Ok(bytes)
    } else {
        Err(EventError::Compression(item))
    }
}
