//! Compressed frames as they came, until they are unpacked.
//!
//! The lengths that frames declare are added up while the frames arrive. So a reader that can do nothing with less than so many
//! bytes lets the frames stay packed until they have that many.

use std::collections::VecDeque;

use wire::compression::FRAME_HEADER_BYTES;

/// Bytes that arrive are put together in pieces of this size at most.
pub(super) const PIECE_BYTES_MAX: usize = 16 * 1024;

/// See the module.
#[derive(Default, Debug)]
pub(super) struct PackedFrames {
    /// The piece that is unpacked next. Empty: there is none, and none behind it.
    first: Vec<u8>,
    /// How much of it is unpacked.
    taken: usize,
    /// Pieces behind it.
    more: VecDeque<Vec<u8>>,
    /// Memory of the pieces behind it.
    more_bytes: usize,
    lengths: DeclaredLengths,
}

impl PackedFrames {
    /// With bytes that were read before.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut frames = Self::default();
        frames.put(bytes);
        frames
    }

    /// Bytes that have arrived.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.lengths.see(bytes);
        if self.first.is_empty() {
            self.first = bytes.to_vec();
            return;
        }
        // A client that sends byte by byte must not get an allocation for each.
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

    /// What is unpacked next.
    pub(super) fn next(&self) -> &[u8] {
        self.first.get(self.taken..).unwrap_or_default()
    }

    /// Whether all is unpacked.
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// So much of [`Self::next`] is unpacked. The memory of a piece is freed with its last byte.
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

    /// The memory that they take.
    pub(super) fn held_bytes(&self) -> usize {
        self.first.capacity() + self.more_bytes
    }

    /// The unpacked length of all frames that have come whole, from the first one on.
    pub(super) fn whole_bytes(&self) -> u64 {
        self.lengths.whole_bytes
    }
}

/// What the headers of frames say, whatever is in the frames.
#[derive(Default, Debug)]
struct DeclaredLengths {
    header: [u8; FRAME_HEADER_BYTES],
    /// How much of the header has come.
    filled: usize,
    /// How much of the frame is to come behind its header.
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

    /// Zero stands for bytes that are as they are.
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

    /// Five bytes as they are; none; three that would be 70,000.
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
