//! The client's commands, as they arrive.

use std::borrow::Cow;
use std::sync::Arc;

use session::Violation;
use sql::{Analysis, Flags};
use wire::query::Query;
use wire::write::put_packets;
use wire::{Capabilities, Command, HEADER_BYTES, Header};

use crate::memory::MemoryShare;
use crate::text_reader::TextReader;

/// A client's command, with all of its packets or the first of them.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// The command's first byte.
    pub command: Command,
    /// The packets as they arrived, with headers.
    pub packets: Vec<u8>,
    /// The sequence id of the reply's first packet, or of the command's next packet.
    pub sequence: u8,
    /// Whether more packets of the command will come, because it is too long to be held.
    pub is_cut: bool,
}

impl Incoming {
    /// Returns a COM_QUERY of the proxy's own with this text, as a client with these capabilities would send it.
    pub fn of_text(text: &[u8], capabilities: Capabilities) -> Self {
        let mut payload = Vec::new();
        let attributes = &[];
        Query { attributes, text }.encode(capabilities, &mut payload);
        let mut packets = Vec::new();
        let sequence = put_packets(&mut packets, 0, &payload);
        Self {
            command: Command::QUERY,
            packets,
            sequence,
            is_cut: false,
        }
    }

    /// Returns the whole payload. It is copied only if it fills more than one packet.
    pub fn payload(&self) -> Cow<'_, [u8]> {
        let (_, first) = split(&self.packets);
        match self.packets.len() == HEADER_BYTES + first.len() {
            true => Cow::Borrowed(first),
            false => {
                let mut payload = vec![self.command.0];
                payload.extend_from_slice(&self.argument());
                Cow::Owned(payload)
            }
        }
    }

    /// Returns the bytes after the command byte. They are copied only if the command fills more than one packet.
    pub fn argument(&self) -> Cow<'_, [u8]> {
        let (_, first) = split(&self.packets);
        let rest = &self.packets[HEADER_BYTES + first.len()..];
        let first = first.get(1..).unwrap_or_default();
        if rest.is_empty() {
            return Cow::Borrowed(first);
        }
        let mut joined = first.to_vec();
        let mut rest = rest;
        while !rest.is_empty() {
            let (_, payload) = split(rest);
            joined.extend_from_slice(payload);
            rest = &rest[HEADER_BYTES + payload.len()..];
        }
        Cow::Owned(joined)
    }

    /// Has another thread read a long text that is all of the argument. If the caller stops waiting, the text is lost.
    pub async fn read_ahead(
        &mut self,
        reader: &TextReader,
        flags: Flags,
        memory: &Arc<MemoryShare>,
    ) -> Analysis {
        let joined = match self.argument() {
            Cow::Borrowed(_) => None,
            Cow::Owned(joined) => Some(joined),
        };
        match joined {
            Some(mut joined) => reader.read(&mut joined, 0, flags, memory).await,
            None => {
                let begin = HEADER_BYTES + 1;
                reader.read(&mut self.packets, begin, flags, memory).await
            }
        }
    }
}

/// Returns the first packet's header and payload, as far as they have arrived.
fn split(packets: &[u8]) -> (Option<Header>, &[u8]) {
    let Some((header, rest)) = packets.split_first_chunk::<HEADER_BYTES>() else {
        return (None, &[]);
    };
    let header = Header::decode(*header);
    (Some(header), &rest[..header.length.min(rest.len())])
}

/// Bytes of a client that have been read and not yet taken.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    /// Returns an inbox with bytes that have been read already.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// Adds bytes that have just been read.
    pub fn put(&mut self, bytes: &[u8]) {
        if self.bytes.capacity() - self.bytes.len() < bytes.len() {
            self.make_room(bytes.len());
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Reserves the memory of a whole long packet as soon as an eighth of it has arrived, because growing step by
    /// step would copy the packet again and again. Before that, the length in the header is not trusted.
    #[cold]
    fn make_room(&mut self, count: usize) {
        let whole = HEADER_BYTES + self.packet_bytes().unwrap_or(0);
        if self.bytes.len() + count < whole && self.bytes.len() >= whole / 8 {
            self.reserve(whole - self.bytes.len());
        }
    }

    /// Reserves memory for this many bytes.
    pub fn reserve(&mut self, count: usize) {
        // If there is not so much memory, the inbox grows as the bytes arrive.
        let _ = self.bytes.try_reserve_exact(count);
    }

    /// Returns how many bytes of the next command's first packet are missing. Zero: that is not
    /// known yet, or the packet is longer than `bytes_max`.
    pub fn missing_bytes(&self, bytes_max: usize) -> usize {
        match self.packet_bytes() {
            Some(length) if length <= bytes_max => {
                (HEADER_BYTES + length).saturating_sub(self.bytes.len())
            }
            _ => 0,
        }
    }

    /// Adds bytes, in memory from the caller if the inbox has none yet.
    pub fn put_into(&mut self, bytes: &[u8], memory: impl FnOnce() -> Vec<u8>) {
        if self.bytes.capacity() == 0 {
            self.bytes = memory();
        }
        self.put(bytes);
    }

    /// Whether the inbox is empty.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the number of bytes in the inbox.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the memory of the inbox, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the next command's kind, as soon as its first byte has arrived.
    pub fn peek(&self) -> Option<Command> {
        self.bytes.get(HEADER_BYTES).map(|byte| Command(*byte))
    }

    /// Returns a copy of some bytes of the inbox.
    pub fn bytes_at(&self, range: std::ops::Range<usize>) -> Option<Vec<u8>> {
        self.bytes.get(range).map(<[u8]>::to_vec)
    }

    /// Returns the length of the next command's first packet, as soon as its header has arrived.
    pub fn packet_bytes(&self) -> Option<usize> {
        let header = self.bytes.first_chunk::<HEADER_BYTES>()?;
        Some(Header::decode(*header).length)
    }

    /// Takes all bytes, for a caller that continues without the inbox.
    pub fn take_all(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Returns the next command, if it is whole or longer than `bytes_max`.
    ///
    /// # Errors
    /// Sequence ids that do not follow; a payload longer than `payload_bytes_max`.
    pub fn command(
        &mut self,
        bytes_max: usize,
        payload_bytes_max: u64,
    ) -> Result<Option<Incoming>, Violation> {
        let mut at = 0;
        let mut expected = 0u8;
        let mut payload_bytes = 0u64;
        loop {
            let Some(header) = self.bytes[at..].first_chunk::<HEADER_BYTES>() else {
                return Ok(None);
            };
            let header = Header::decode(*header);
            if header.sequence != expected {
                let found = header.sequence;
                return Err(Violation::Sequence { expected, found });
            }
            payload_bytes += header.length as u64;
            if payload_bytes > payload_bytes_max {
                let limit = payload_bytes_max;
                return Err(Violation::PayloadTooLarge { limit });
            }
            let end = at + HEADER_BYTES + header.length;
            let is_there = end <= self.bytes.len();
            if payload_bytes > bytes_max as u64 && self.bytes.len() > at.max(HEADER_BYTES) {
                return Ok(self.cut(expected));
            }
            if !is_there {
                return Ok(None);
            }
            expected = expected.wrapping_add(1);
            at = end;
            if !header.is_continued() {
                let rest = match at == self.bytes.len() {
                    true => Vec::new(),
                    false => self.bytes.split_off(at),
                };
                let packets = std::mem::replace(&mut self.bytes, rest);
                return Ok(Some(incoming(packets, expected, false)));
            }
        }
    }

    /// Returns the first part of a command that is too long to be held. The rest will still arrive.
    fn cut(&mut self, expected: u8) -> Option<Incoming> {
        let packets = std::mem::take(&mut self.bytes);
        Some(incoming(packets, expected, true))
    }
}

fn incoming(packets: Vec<u8>, sequence: u8, is_cut: bool) -> Incoming {
    // An empty payload counts as COM_SLEEP (`Protocol_classic::get_command`).
    let (_, payload) = split(&packets);
    let command = payload
        .first()
        .map_or(Command::SLEEP, |byte| Command(*byte));
    Incoming {
        command,
        packets,
        sequence,
        is_cut,
    }
}

/// Where a stream of packets ends that the proxy passes on unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOf {
    /// After the payload's last packet.
    Payload,
    /// After an empty packet.
    File,
}

/// Passes on packets of a client in pieces, up to their end.
#[derive(Debug)]
pub struct Passage {
    /// Where the stream ends.
    pub end: EndOf,
    /// The number of missing bytes of the current packet.
    left: usize,
    /// Whether the current packet is the last one.
    is_last: bool,
    header: Vec<u8>,
    /// The sequence id of the next packet.
    pub sequence: u8,
    /// Whether the last byte has been passed on.
    pub is_over: bool,
    /// The number of bytes that have been passed on.
    pub bytes: u64,
}

impl Passage {
    /// Returns a passage that has passed nothing yet.
    pub fn of(end: EndOf, sequence: u8) -> Self {
        Self {
            end,
            left: 0,
            is_last: false,
            header: Vec::new(),
            sequence,
            is_over: false,
            bytes: 0,
        }
    }

    /// Counts bytes that pass; returns how many of them belong to this passage.
    pub fn pass(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while !self.is_over {
            if self.left > 0 {
                let taken = self.left.min(bytes.len() - at);
                at += taken;
                self.left -= taken;
                self.is_over = self.left == 0 && self.is_last;
                if self.left > 0 {
                    break;
                }
                continue;
            }
            let wanted = (HEADER_BYTES - self.header.len()).min(bytes.len() - at);
            self.header.extend_from_slice(&bytes[at..at + wanted]);
            at += wanted;
            let Some(header) = self.header.first_chunk::<HEADER_BYTES>() else {
                break;
            };
            let header = Header::decode(*header);
            self.header.clear();
            self.sequence = header.sequence.wrapping_add(1);
            self.left = header.length;
            self.is_last = match self.end {
                EndOf::Payload => !header.is_continued(),
                EndOf::File => header.length == 0,
            };
            self.is_over = self.left == 0 && self.is_last;
        }
        self.bytes += at as u64;
        at
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use wire::write::put_packets;

    fn packets(payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_packets(&mut bytes, 0, payload);
        bytes
    }

    #[test]
    fn commands_are_taken_one_by_one_however_they_come() {
        let mut bytes = packets(b"\x03SELECT 1");
        bytes.extend(packets(b"\x0e"));
        let mut inbox = Inbox::default();
        let mut seen = Vec::new();
        for byte in bytes {
            inbox.put(&[byte]);
            while let Some(incoming) = inbox.command(1 << 24, 1 << 30).unwrap() {
                seen.push((incoming.command, incoming.argument().into_owned()));
            }
        }
        assert_eq!(
            seen,
            [
                (Command::QUERY, b"SELECT 1".to_vec()),
                (Command::PING, Vec::new())
            ]
        );
        assert!(inbox.is_empty());
    }

    #[test]
    fn a_sequence_id_that_jumps_is_a_violation() {
        let mut inbox = Inbox::new(vec![1, 0, 0, 3, 14]);
        assert_eq!(
            inbox.command(1 << 24, 1 << 30).unwrap_err(),
            Violation::Sequence {
                expected: 0,
                found: 3
            }
        );
    }

    #[test]
    fn commands_too_long_to_hold_are_cut_and_commands_over_the_limit_are_refused() {
        let mut long = vec![b'x'; 1000];
        long[0] = Command::QUERY.0;
        let bytes = packets(&long);
        let mut inbox = Inbox::new(bytes[..100].to_vec());
        let incoming = inbox.command(500, 1 << 30).unwrap().unwrap();
        assert!(incoming.is_cut);
        assert_eq!(incoming.packets, bytes[..100]);
        let mut inbox = Inbox::new(bytes[..100].to_vec());
        assert!(inbox.command(500, 999).is_err());
    }

    #[test]
    fn a_long_packet_has_its_memory_when_an_eighth_of_it_is_there() {
        let bytes = packets(&vec![b'x'; 80_000]);
        let mut inbox = Inbox::default();
        let mut capacities = Vec::new();
        for piece in bytes.chunks(1_000) {
            inbox.put(piece);
            capacities.push(inbox.held_bytes());
        }
        assert!(capacities[9] < 20_000, "a header alone is not believed");
        assert_eq!(
            capacities[20..],
            vec![bytes.len(); bytes.len() / 1_000 - 19]
        );
    }

    #[test]
    fn the_missing_bytes_of_a_packet_are_known_after_its_header() {
        let bytes = packets(b"\x03SELECT 1");
        let mut inbox = Inbox::new(bytes[..3].to_vec());
        assert_eq!(inbox.missing_bytes(9), 0);
        inbox.put(&bytes[3..6]);
        assert_eq!((inbox.missing_bytes(9), inbox.missing_bytes(8)), (7, 0));
        inbox.put(&bytes[6..]);
        assert_eq!(inbox.missing_bytes(9), 0);
    }

    #[test]
    fn a_passage_ends_with_its_last_packet_in_any_pieces() {
        let file = [&[3, 0, 0, 2][..], b"abc", &[0, 0, 0, 3], &[9, 9]].concat();
        for length in 1..file.len() {
            let mut passage = Passage::of(EndOf::File, 2);
            let mut taken = 0;
            for piece in file.chunks(length) {
                taken += passage.pass(piece);
            }
            assert_eq!((taken, passage.is_over, passage.sequence), (11, true, 4));
        }
    }
}
