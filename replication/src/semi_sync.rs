//! Acknowledgements to a primary (semi-synchronous replication): a transaction of the primary waits until the
//! proxy reports that it has written and synced the transaction.
//!
//! ```text
//!   event that asks ──► asked ──relay is between transactions──► whole ──relay is synced──► ACK packet
//! ```

use binlog::{EventFlags, EventHeader, EventType, RawEvent, Rotate};
use control::PacketWriter;

use crate::error::StreamError;
use crate::registration::answered;

/// The first byte of an ACK packet (`kPacketMagicNum` of the servers' `semisync.h`).
const ACK: u8 = 0xef;

/// The header's log position has 32 bits. A step back by more than half of that means that it has wrapped around.
const WRAP: u64 = 1 << 32;

/// The acknowledgements of one connection.
pub struct Acknowledger {
    writer: PacketWriter,
    current: LogPosition,
    /// The last event that asked for an acknowledgement. Its transaction may be incomplete.
    requested: Option<LogPosition>,
    /// The last such event whose transaction is complete in the relay files.
    whole: Option<LogPosition>,
}

/// A place in the primary's log, with the primary's own file name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct LogPosition {
    file: Vec<u8>,
    position: u64,
}

impl Acknowledger {
    /// Starts without any event.
    pub fn new(writer: PacketWriter) -> Self {
        Self {
            writer,
            current: LogPosition::default(),
            requested: None,
            whole: None,
        }
    }

    /// Takes note of an event. `asks`: it wants an acknowledgement. `is_between`: no transaction is incomplete now.
    pub fn note(&mut self, raw: &RawEvent<'_>, asks: bool, is_between: bool) {
        self.current.follow(raw);
        if asks {
            self.requested = Some(self.current.clone());
        }
        if is_between && let Some(requested) = self.requested.take() {
            self.whole = Some(requested);
        }
    }

    /// Whether an acknowledgement must be sent as soon as the relay is synced.
    pub fn is_due(&self) -> bool {
        self.whole.is_some()
    }

    /// Sends the acknowledgement after a sync. One acknowledgement covers all transactions up to its place.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn send(&mut self) -> Result<(), StreamError> {
        match self.whole.take() {
            Some(current) => answered(self.writer.write(&current.payload())).await,
            None => Ok(()),
        }
    }
}

impl LogPosition {
    /// Moves to the place after this event.
    fn follow(&mut self, raw: &RawEvent<'_>) {
        let header: &EventHeader = raw.header();
        if header.event_type == EventType::ROTATE {
            if let Ok(rotate) = Rotate::decode(raw.body()) {
                self.file = rotate.name.to_vec();
                self.position = rotate.position;
            }
            return;
        }
        let next = u64::from(header.next_position);
        if next == 0 || header.flags.contains(EventFlags::ARTIFICIAL) {
            return;
        }
        let turns = self.position / WRAP;
        let is_wrap = self.position % WRAP > next + WRAP / 2;
        self.position = (turns + u64::from(is_wrap)) * WRAP + next;
    }

    /// The packet: position and file (`ReplSemiSyncSlave::slaveReply`).
    fn payload(&self) -> Vec<u8> {
        let mut payload = vec![ACK];
        payload.extend_from_slice(&self.position.to_le_bytes());
        payload.extend_from_slice(&self.file);
        payload
    }
}

#[cfg(test)]
mod tests {
    use binlog::Checksum;
    use control::BackendClient;
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;
    use crate::tests::event;

    fn rotate(name: &str) -> Vec<u8> {
        let mut body = Vec::new();
        let rotate = Rotate {
            position: 4,
            name: name.as_bytes(),
        };
        rotate.encode(&mut body);
        event(EventType::ROTATE, 0, &body, Checksum::None)
    }

    fn xid(end: u32) -> Vec<u8> {
        event(EventType::XID, end, &[0; 8], Checksum::None)
    }

    #[tokio::test]
    async fn semi_sync_acknowledges_the_last_complete_transaction_once() {
        let (near, mut far) = duplex(1 << 10);
        let (_client, writer) = BackendClient::over(near, "9.7.0").with_writer();
        let mut acknowledger = Acknowledger::new(writer);
        for (bytes, asks, is_between) in [
            (rotate("bin.000007"), false, true),
            (xid(300), true, true),
            (xid(400), true, true),
            // The transaction of this event is not complete yet.
            (xid(500), true, false),
        ] {
            let raw = RawEvent::parse(&bytes, Checksum::None).unwrap();
            acknowledger.note(&raw, asks, is_between);
        }
        assert!(acknowledger.is_due());
        acknowledger.send().await.unwrap();
        assert!(!acknowledger.is_due());
        let bytes = xid(600);
        let raw = RawEvent::parse(&bytes, Checksum::None).unwrap();
        acknowledger.note(&raw, false, true);
        acknowledger.send().await.unwrap();
        drop((acknowledger, _client));
        let mut sent = Vec::new();
        far.read_to_end(&mut sent).await.unwrap();
        let packet = |position: u64| {
            let mut packet = vec![19, 0, 0, 0, ACK];
            packet.extend(position.to_le_bytes());
            packet.extend(b"bin.000007");
            packet
        };
        assert_eq!(sent, [packet(400), packet(500)].concat());
    }

    #[test]
    fn positions_go_on_beyond_32_bits_and_begin_anew_with_each_file() {
        let mut current = LogPosition::default();
        let mut follow = |bytes: &[u8]| {
            current.follow(&RawEvent::parse(bytes, Checksum::None).unwrap());
            current.position
        };
        assert_eq!(follow(&rotate("a")), 4);
        assert_eq!(follow(&xid(4_000_000_000)), 4_000_000_000);
        assert_eq!(follow(&xid(100)), WRAP + 100);
        assert_eq!(follow(&xid(200)), WRAP + 200);
        assert_eq!(follow(&xid(0)), WRAP + 200);
        assert_eq!(follow(&rotate("b")), 4);
    }
}
