//! Cuts a byte stream, in whatever pieces it comes, at packet headers.

use wire::packet::{HEADER_BYTES, Header};

/// The number of payload bytes that are inspected: the fixed part of the longest OK packet
/// (header, two 9-byte integers, status flags, warning count), rounded up.
pub(crate) const HEAD_BYTES: usize = 24;

/// Where a stream stands between two pieces.
#[derive(Debug, Clone)]
pub(crate) struct Cutter {
    phase: Phase,
    /// Bytes gathered of the header, or of the head, so far.
    gathered: u8,
    header: [u8; HEADER_BYTES],
    /// Payload bytes of the current packet that have not come yet.
    left: u32,
    /// Whether the next packet continues the current payload.
    is_continued: bool,
    /// Length of the payload's first packet.
    first_length: u32,
    head: [u8; HEAD_BYTES],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Header,
    Head,
    Body,
}

/// The part of a packet that the next bytes completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nothing: all bytes are used up.
    NeedMore,
    /// A payload in one packet, all of it at hand: the usual case, told at once. Its header and
    /// its bytes are the last ones taken.
    Whole(Header),
    /// A header; its last byte, the sequence id, was the last byte taken.
    Header {
        header: Header,
        begins_payload: bool,
    },
    /// The first bytes of a payload: see [`Cutter::head`].
    Head,
    /// The last byte of a payload's last packet.
    PayloadEnd,
    /// The last byte of a packet that another one continues.
    PacketEnd,
}

impl Default for Cutter {
    fn default() -> Self {
        Self {
            phase: Phase::Header,
            gathered: 0,
            header: [0; HEADER_BYTES],
            left: 0,
            is_continued: false,
            first_length: 0,
            head: [0; HEAD_BYTES],
        }
    }
}

impl Cutter {
    /// Takes bytes up to the next cut; returns how many, and the cut.
    #[inline]
    pub(crate) fn step(&mut self, bytes: &[u8]) -> (usize, Cut) {
        if self.is_between_payloads() {
            match bytes.split_first_chunk::<HEADER_BYTES>() {
                Some((header, rest)) => {
                    let header = Header::decode(*header);
                    if header.length <= rest.len() && !header.is_continued() {
                        return (HEADER_BYTES + header.length, Cut::Whole(header));
                    }
                }
                None if bytes.is_empty() => return (0, Cut::NeedMore),
                None => {}
            }
        }
        self.step_in_parts(bytes)
    }

    fn step_in_parts(&mut self, bytes: &[u8]) -> (usize, Cut) {
        match self.phase {
            Phase::Header => self.step_header(bytes),
            Phase::Head => self.step_head(bytes),
            Phase::Body => self.step_body(bytes),
        }
    }

    fn step_header(&mut self, bytes: &[u8]) -> (usize, Cut) {
        let gathered = usize::from(self.gathered);
        let taken = (HEADER_BYTES - gathered).min(bytes.len());
        self.header[gathered..gathered + taken].copy_from_slice(&bytes[..taken]);
        self.gathered += taken as u8;
        if usize::from(self.gathered) < HEADER_BYTES {
            return (taken, Cut::NeedMore);
        }
        let header = Header::decode(self.header);
        let begins_payload = !self.is_continued;
        self.gathered = 0;
        self.left = header.length as u32;
        self.is_continued = header.is_continued();
        if begins_payload {
            self.first_length = self.left;
        }
        self.phase = if begins_payload {
            Phase::Head
        } else {
            Phase::Body
        };
        (
            taken,
            Cut::Header {
                header,
                begins_payload,
            },
        )
    }

    fn step_head(&mut self, bytes: &[u8]) -> (usize, Cut) {
        let wanted = self.head_length();
        let gathered = usize::from(self.gathered);
        let taken = (wanted - gathered).min(bytes.len());
        self.head[gathered..gathered + taken].copy_from_slice(&bytes[..taken]);
        self.gathered += taken as u8;
        self.left -= taken as u32;
        if usize::from(self.gathered) < wanted {
            return (taken, Cut::NeedMore);
        }
        self.gathered = 0;
        self.phase = Phase::Body;
        (taken, Cut::Head)
    }

    fn step_body(&mut self, bytes: &[u8]) -> (usize, Cut) {
        let taken = (self.left as usize).min(bytes.len());
        self.left -= taken as u32;
        if self.left > 0 {
            return (taken, Cut::NeedMore);
        }
        self.phase = Phase::Header;
        (
            taken,
            if self.is_continued {
                Cut::PacketEnd
            } else {
                Cut::PayloadEnd
            },
        )
    }

    fn head_length(&self) -> usize {
        (self.first_length as usize).min(HEAD_BYTES)
    }

    /// The first bytes of the current payload; whole after [`Cut::Head`].
    pub(crate) fn head(&self) -> &[u8] {
        &self.head[..self.head_length()]
    }

    /// Length of the current payload's first packet, in bytes.
    pub(crate) fn first_length(&self) -> usize {
        self.first_length as usize
    }

    /// Whether the stream stands between two payloads.
    #[inline]
    pub(crate) fn is_between_payloads(&self) -> bool {
        self.phase == Phase::Header && self.gathered == 0 && !self.is_continued
    }
}
