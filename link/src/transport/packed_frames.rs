//! Compressed frames from their arrival until they are unpacked.
//!
//! The lengths that frames declare are summed up while the frames arrive. So a reader that needs a
//! minimum of bytes leaves the frames packed until they have that many.

use std::collections::VecDeque;

use wire::compression::FRAME_HEADER_BYTES;

/// The most bytes of one piece, into which arriving bytes are collected.
pub(super) const PIECE_BYTES_MAX: usize = 16 * 1024;

/// The packed frames of a connection; see the module.
#[derive(Default, Debug)]
pub(super) struct PackedFrames {
    /// The piece that is unpacked next. If it is empty, there are no pieces.
    first: Vec<u8>,
    /// How much of the first piece is unpacked.
    taken: usize,
    /// The pieces after the first one.
    more: VecDeque<Vec<u8>>,
    /// Memory of the pieces after the first one, in bytes.
    more_bytes: usize,
    lengths: DeclaredLengths,
}

impl PackedFrames {
    /// Returns frames with bytes that were read before.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut frames = Self::default();
        frames.put(bytes);
        frames
    }

    /// Adds bytes that have arrived.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.lengths.see(bytes);
        if self.first.is_empty() {
            self.first = bytes.to_vec();
            return;
        }
        // If a client sends byte by byte, there must not be an allocation for each byte.
        match self.more.back_mut() {
            Some(last) if last.len() + bytes.len() <= PIECE_BYTES_MAX => {
                let before = last.capacity();
                last.extend_from_slice(bytes);
                self.more_bytes += last.capacity() - before;
            }
            _ => {
                let piece = bytes.to_vec();
                self.more_bytes += piece.capacity();
                self.more.push_back(piece);
            }
        }
    }

    /// Returns the bytes that are unpacked next.
    pub(super) fn next(&self) -> &[u8] {
        self.first.get(self.taken..).unwrap_or_default()
    }

    /// Whether all bytes are unpacked.
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Marks bytes of [`Self::next`] as unpacked. The memory of a piece is freed with its last byte.
    pub(super) fn take(&mut self, count: usize) {
        self.taken += count;
        if self.taken < self.first.len() {
            return;
        }
        self.taken = 0;
        self.first = self.more.pop_front().unwrap_or_default();
        match self.first.capacity() {
            0 => self.more = VecDeque::new(),
            bytes => self.more_bytes -= bytes,
        }
    }

    /// Returns the memory that the frames take, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.first.capacity() + self.more_bytes
    }

    /// Returns the unpacked length of all frames that have arrived whole, since the beginning.
    pub(super) fn whole_bytes(&self) -> u64 {
        self.lengths.whole_bytes
    }
}

/// The lengths that the headers of frames declare, whatever the frames contain.
#[derive(Default, Debug)]
struct DeclaredLengths {
    header: [u8; FRAME_HEADER_BYTES],
    /// How much of the header has arrived.
    filled: usize,
    /// How much of the frame is still missing after its header.
    left: usize,
    whole_bytes: u64,
}

impl DeclaredLengths {
    fn see(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (_, wanted) = self.header.split_at_mut(self.filled);
            let count = wanted.len().min(bytes.len());
            wanted[..count].copy_from_slice(&bytes[..count]);
            if count > 0 {
                self.filled += count;
                bytes = &bytes[count..];
                if self.filled < FRAME_HEADER_BYTES {
                    return;
                }
                self.left = self.packed_bytes();
            }
            let count = self.left.min(bytes.len());
            self.left -= count;
            bytes = &bytes[count..];
            if self.left == 0 {
                self.whole_bytes += self.unpacked_bytes() as u64;
                self.filled = 0;
            }
        }
    }

    fn packed_bytes(&self) -> usize {
        let [a, b, c, ..] = self.header;
        u32::from_le_bytes([a, b, c, 0]) as usize
    }

    /// Returns the declared length. Zero stands for bytes that are not compressed.
    fn unpacked_bytes(&self) -> usize {
        let [.., d, e, f] = self.header;
        match u32::from_le_bytes([d, e, f, 0]) as usize {
            0 => self.packed_bytes(),
            bytes => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three frames: five bytes uncompressed, an empty frame, and three bytes that claim to unpack to 70,000.
    const FRAMES: &[u8] = b"\x05\0\0\0\0\0\0plain\0\0\0\x01\0\0\0\x03\0\0\x02\x70\x11\x01xyz";

    #[test]
    fn whole_frames_count_with_their_unpacked_lengths_however_they_come() {
        for length in 1..=FRAMES.len() {
            let mut frames = PackedFrames::default();
            let mut unpacked = Vec::new();
            for piece in FRAMES.chunks(length) {
                frames.put(piece);
            }
            assert_eq!(frames.whole_bytes(), 70_005);
            while !frames.is_empty() {
                unpacked.extend_from_slice(frames.next());
                frames.take(frames.next().len());
            }
            assert_eq!((unpacked.as_slice(), frames.held_bytes()), (FRAMES, 0));
        }
        let mut frames = PackedFrames::new(&FRAMES[..FRAMES.len() - 1]);
        assert_eq!(frames.whole_bytes(), 5, "the last one is not whole");
        frames.put(&FRAMES[FRAMES.len() - 1..]);
        assert_eq!(frames.whole_bytes(), 70_005);
    }

    #[test]
    fn bytes_that_come_one_by_one_share_pieces() {
        let mut frames = PackedFrames::default();
        for _ in 0..3 * PIECE_BYTES_MAX {
            frames.put(&[0]);
        }
        assert!(frames.more.len() <= 3);
        assert!(frames.held_bytes() <= 4 * PIECE_BYTES_MAX);
    }
}
