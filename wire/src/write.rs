//! Appending protocol items to a growing buffer.

use crate::packet::{Header, PACKET_PAYLOAD_MAX};

/// Appends `int<lenenc>`.
pub fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// How many bytes `value` takes as `int<lenenc>`.
pub fn lenenc_size(value: u64) -> usize {
    match value {
        0..=0xfa => 1,
        0xfb..=0xffff => 3,
        0x1_0000..=0xff_ffff => 4,
        _ => 9,
    }
}

/// Appends `string<lenenc>`.
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends `string<NUL>`. The text ends at its first NUL, because the reader would cut it there.
pub fn put_nul_terminated(out: &mut Vec<u8>, bytes: &[u8]) {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    out.extend_from_slice(&bytes[..end]);
    out.push(0);
}

/// Appends `payload` as one or more packets from `sequence` on; returns the sequence id that follows.
///
/// A payload whose length is a multiple of 16 MiB − 1 ends with an empty packet.
pub fn put_packets(out: &mut Vec<u8>, sequence: u8, payload: &[u8]) -> u8 {
    let mut sequence = sequence;
    let mut rest = payload;
    loop {
        let (part, after) = rest.split_at(rest.len().min(PACKET_PAYLOAD_MAX));
        out.extend_from_slice(
            &Header {
                length: part.len(),
                sequence,
            }
            .encode(),
        );
        out.extend_from_slice(part);
        sequence = sequence.wrapping_add(1);
        if part.len() < PACKET_PAYLOAD_MAX {
            return sequence;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests;
