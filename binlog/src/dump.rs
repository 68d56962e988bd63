//! Follows the packets of a binary log dump on their way from a server to a replica: where its transactions end.
//!
//! ```text
//!   bytes ──► packets ──► front of each event ──► GroupTracker      rows are not looked at
//! ```

use crate::checksum::Checksum;
use crate::decoder::Decoder;
use crate::event::Event;
use crate::event_type::EventType;
use crate::events::format::FormatDescription;
use crate::groups::{GroupStep, GroupTracker};
use crate::header::{EventFlags, EventHeader, HEADER_BYTES};
use crate::limits::Limits;
use crate::raw::RawEvent;

/// The length of a packet header: three bytes of length, one byte of sequence id.
const PACKET_HEADER_BYTES: usize = 4;
/// If a packet has this many bytes, the next packet continues its payload.
const PACKET_BYTES_MAX: usize = 0xff_ffff;

/// The status byte of a packet with an event.
const STATUS_EVENT: u8 = 0;
/// The mark of semi-synchronous replication after the status byte. A byte of flags follows it.
const SEMI_SYNC: u8 = 0xef;
const SEMI_SYNC_BYTES: usize = 2;

/// How many bytes at the start of a payload are enough to know the event's type.
const FRONT_BYTES: usize = 1 + SEMI_SYNC_BYTES + HEADER_BYTES;

/// The maximum length of a kept event, in bytes. A longer statement cannot be BEGIN or COMMIT.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// Follows a dump with little memory.
#[derive(Debug)]
pub struct DumpFollower {
    packet: Packet,
    /// The first bytes of the current payload.
    front: Vec<u8>,
    /// How many bytes of the payload have come.
    length: usize,
    /// Whether events have the two bytes of semi-synchronous replication. The first event decides.
    has_marks: Option<bool>,
    decoder: Decoder,
    checksum: Checksum,
    groups: GroupTracker,
    is_by_gtid: bool,
    is_lost: bool,
}

/// The place of the next byte within a packet.
#[derive(Debug, Default)]
struct Packet {
    header: [u8; PACKET_HEADER_BYTES],
    header_bytes: usize,
    /// How many bytes of the payload are still to come.
    left: usize,
    is_continued: bool,
}

impl DumpFollower {
    /// Starts at the reply to a dump command. `is_by_gtid`: the command names GTIDs, or the session has set them
    /// before.
    pub fn new(is_by_gtid: bool) -> Self {
        Self {
            packet: Packet::default(),
            front: Vec::new(),
            length: 0,
            has_marks: None,
            decoder: Decoder::new(Limits {
                event_bytes_max: KEPT_BYTES_MAX,
                inflated_bytes_max: KEPT_BYTES_MAX,
            }),
            checksum: Checksum::None,
            groups: GroupTracker::default(),
            is_by_gtid,
            is_lost: false,
        }
    }

    /// Whether the replica can continue at another server, because it has begun by GTID.
    pub fn is_by_gtid(&self) -> bool {
        self.is_by_gtid
    }

    /// Whether the bytes taken so far end between two transactions.
    pub fn is_between(&self) -> bool {
        let is_at_packet = self.packet.header_bytes == 0 && !self.packet.is_continued;
        is_at_packet && !self.is_lost && self.groups.is_between()
    }

    /// Takes the next bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        self.walk(bytes, false);
    }

    /// Takes the next bytes, up to the first place between two transactions. Returns the number of these bytes;
    /// none if there is no such place.
    pub fn take_until_between(&mut self, bytes: &[u8]) -> Option<usize> {
        match self.is_between() {
            true => Some(0),
            false => self.walk(bytes, true),
        }
    }

    fn walk(&mut self, bytes: &[u8], stops: bool) -> Option<usize> {
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_lost {
            let taken = self.step(rest);
            rest = rest.get(taken..).unwrap_or_default();
            if stops && self.is_between() {
                return Some(bytes.len() - rest.len());
            }
        }
        None
    }

    /// Takes at least one byte, of a packet's header or of its payload.
    fn step(&mut self, bytes: &[u8]) -> usize {
        if self.packet.header_bytes < PACKET_HEADER_BYTES {
            if let (Some(place), Some(byte)) = (
                self.packet.header.get_mut(self.packet.header_bytes),
                bytes.first(),
            ) {
                *place = *byte;
            }
            self.packet.header_bytes += 1;
            if self.packet.header_bytes == PACKET_HEADER_BYTES {
                let [a, b, c, _] = self.packet.header;
                self.packet.left = u32::from_le_bytes([a, b, c, 0]) as usize;
                self.packet.is_continued = self.packet.left == PACKET_BYTES_MAX;
                self.end_if_whole();
            }
            return 1;
        }
        let mut count = bytes.len().min(self.packet.left);
        if self.front.len() < FRONT_BYTES {
            // These bytes decide how many bytes of the payload are kept.
            count = count.min(FRONT_BYTES - self.front.len());
        }
        let kept = count.min(self.wanted().saturating_sub(self.front.len()));
        self.front
            .extend_from_slice(bytes.get(..kept).unwrap_or_default());
        self.length += count;
        self.packet.left -= count;
        self.end_if_whole();
        count
    }

    /// How many bytes of the payload are kept.
    fn wanted(&self) -> usize {
        if self.front.len() < FRONT_BYTES {
            return FRONT_BYTES;
        }
        let header = EventHeader::decode(self.event_bytes());
        match header {
            Ok(header) if bounds_transaction(header.event_type) => KEPT_BYTES_MAX,
            _ => FRONT_BYTES,
        }
    }

    fn end_if_whole(&mut self) {
        if self.packet.left > 0 {
            return;
        }
        self.packet.header_bytes = 0;
        if self.packet.is_continued {
            return;
        }
        let is_whole = self.front.len() == self.length;
        self.is_lost |= self.event(is_whole).is_none();
        self.front.clear();
        self.front.shrink_to(1 << 10);
        self.length = 0;
    }

    /// The kept bytes after the status byte and the marks: the event.
    fn event_bytes(&self) -> &[u8] {
        let marks = match self.has_marks {
            Some(has_marks) => has_marks,
            None => self.front.get(1) == Some(&SEMI_SYNC),
        };
        let begin = 1 + SEMI_SYNC_BYTES * usize::from(marks);
        self.front.get(begin..).unwrap_or_default()
    }

    /// Handles a complete payload. Returns none if the stream ends, or can no longer be followed.
    fn event(&mut self, is_whole: bool) -> Option<()> {
        if self.front.first() != Some(&STATUS_EVENT) {
            return None;
        }
        // The first event has timestamp 0, so without marks this byte is 0.
        let marks = self.front.get(1) == Some(&SEMI_SYNC);
        self.has_marks.get_or_insert(marks);
        let begin = self.front.len() - self.event_bytes().len();
        let header = EventHeader::decode(self.event_bytes()).ok()?;
        match header.event_type {
            EventType::FORMAT_DESCRIPTION => {
                let format = FormatDescription::of_event(self.event_bytes()).ok()?;
                self.checksum = format.checksum();
                let event = self.front.get(begin..)?;
                let raw = RawEvent::parse(event, format.own_checksum()).ok()?;
                self.decoder.decode(&raw).ok()?;
            }
            // MariaDB sends an artificial GTID_LIST to a replica that has begun by GTID.
            EventType::GTID_LIST if header.flags.contains(EventFlags::ARTIFICIAL) => {
                self.is_by_gtid = true;
            }
            EventType::XID
            | EventType::XA_PREPARE
            | EventType::TRANSACTION_PAYLOAD
            | EventType::INCIDENT => {
                let _: GroupStep = self.groups.end();
            }
            EventType::QUERY | EventType::QUERY_COMPRESSED if !is_whole => {
                self.groups.long_statement();
            }
            it if bounds_transaction(it) && is_whole => {
                let checksum = self.checksum;
                let event = self.front.get(begin..)?;
                let raw = RawEvent::parse(event, checksum).ok()?;
                let event: Event<'_> = self.decoder.decode(&raw).ok()?;
                let _: GroupStep = self.groups.take(&event);
            }
            _ => {}
        }
        Some(())
    }
}

/// Whether an event of this type may begin or end a transaction, and must be decoded to know that.
fn bounds_transaction(event_type: EventType) -> bool {
    matches!(
        event_type,
        EventType::FORMAT_DESCRIPTION
            | EventType::QUERY
            | EventType::QUERY_COMPRESSED
            | EventType::GTID
            | EventType::ANONYMOUS_GTID
            | EventType::GTID_TAGGED
            | EventType::MARIADB_GTID
            | EventType::EXECUTE_LOAD_QUERY
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::EventReader;
    use crate::raw::put_event;

    const FILES: [&[u8]; 3] = [
        include_bytes!("../tests/captures/mariadb-10.11/bin.000001"),
        include_bytes!("../tests/captures/mariadb-11.8/bin.000001"),
        include_bytes!("../tests/captures/mysql-9.7/bin.000001"),
    ];

    fn packet(out: &mut Vec<u8>, sequence: &mut u8, payload: &[u8]) {
        let mut rest = payload;
        loop {
            let (now, later) = rest.split_at(rest.len().min(PACKET_BYTES_MAX));
            out.extend((now.len() as u32).to_le_bytes().into_iter().take(3));
            out.push(*sequence);
            *sequence = sequence.wrapping_add(1);
            out.extend(now);
            rest = later;
            if now.len() < PACKET_BYTES_MAX {
                return;
            }
        }
    }

    /// The events of a file as a server sends them, and the offsets at which no transaction is open.
    fn dump(file: &[u8], marks: &[u8]) -> (Vec<u8>, Vec<usize>) {
        let mut reader = EventReader::new(file, Limits::default());
        let (mut out, mut sequence, mut between) = (Vec::new(), 1, vec![0]);
        let mut decoder = Decoder::new(Limits::default());
        let mut groups = GroupTracker::default();
        while let Some((_, raw)) = reader.next_event().unwrap() {
            let payload = [&[STATUS_EVENT], marks, raw.bytes()].concat();
            packet(&mut out, &mut sequence, &payload);
            let event = decoder.decode(&raw).unwrap();
            groups.take(&event);
            if groups.is_between() {
                between.push(out.len());
            }
        }
        (out, between)
    }

    #[test]
    fn places_between_transactions_are_found_in_any_pieces() {
        for file in FILES {
            for marks in [&[][..], &[SEMI_SYNC, 0]] {
                let (bytes, between) = dump(file, marks);
                assert!(between.len() > 30);
                for size in [1, 7, 1000, bytes.len()] {
                    let mut follower = DumpFollower::new(false);
                    let mut at = 0;
                    for piece in bytes.chunks(size) {
                        follower.take(piece);
                        at += piece.len();
                        assert_eq!(follower.is_between(), between.contains(&at), "{at}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_cut_comes_at_the_first_place_between_transactions() {
        for file in FILES {
            let (bytes, between) = dump(file, &[]);
            for at in (0..bytes.len()).step_by(101) {
                let (before, behind) = bytes.split_at(at);
                let mut follower = DumpFollower::new(true);
                follower.take(before);
                let expected = between.iter().find(|it| **it >= at);
                let cut = follower.take_until_between(behind);
                assert_eq!(cut.map(|it| at + it), expected.copied());
            }
        }
    }

    #[test]
    fn an_event_of_several_packets_is_one() {
        let (mut bytes, _) = dump(FILES[2], &[]);
        let mut sequence = 0;
        let header = EventHeader {
            time: 1,
            event_type: EventType::WRITE_ROWS,
            server_id: 1,
            length: 0,
            next_position: 0,
            flags: EventFlags(0),
        };
        for length in [
            PACKET_BYTES_MAX,
            2 * PACKET_BYTES_MAX,
            2 * PACKET_BYTES_MAX + 5,
        ] {
            let mut event = Vec::new();
            let body = vec![0; length - 1 - HEADER_BYTES - 4];
            put_event(&mut event, &header, &body, Checksum::Crc32).unwrap();
            packet(
                &mut bytes,
                &mut sequence,
                &[&[STATUS_EVENT], &event[..]].concat(),
            );
        }
        let mut follower = DumpFollower::new(true);
        for piece in bytes.chunks(100_000) {
            follower.take(piece);
        }
        assert!(follower.is_between());
        assert!(follower.front.capacity() < 2 * KEPT_BYTES_MAX);
    }

    #[test]
    fn replies_other_than_a_dump_are_not_followed() {
        for payload in [&[0xff, 1, 2][..], &[0xfe, 0, 0, 0, 0], &[0, 1, 2], &[]] {
            let mut bytes = Vec::new();
            packet(&mut bytes, &mut 1, payload);
            let mut follower = DumpFollower::new(true);
            assert!(follower.is_between());
            follower.take(&bytes);
            assert!(!follower.is_between());
            assert_eq!(follower.take_until_between(&bytes), None);
        }
    }
}
