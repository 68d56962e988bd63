//! Turns the packets of a dump into events: status byte, events of 16 MiB and more, checksums, errors of the server.

use std::time::Duration;

use binlog::{
    Checksum, EventError, EventHeader, EventType, FormatDescription, HEADER_BYTES, RawEvent,
};
use control::{BackendClient, ClientError};
use tokio::time::timeout;
use wire::{ErrPacket, PACKET_PAYLOAD_MAX, reply};

use crate::error::{Purged, StreamError};

/// ER_MASTER_FATAL_ERROR_READING_BINLOG
const FATAL_ERROR_READING_LOG: u16 = 1236;

/// After a long event, the buffer is freed if its capacity is more than this, in bytes.
const BUFFER_BYTES_KEPT: usize = 1 << 20;

/// The events that a server sends.
pub struct EventStream {
    client: BackendClient,
    checksum: Checksum,
    limits: binlog::Limits,
    /// After this time without a packet the connection counts as lost.
    patience: Duration,
    /// The status byte, the two bytes of semi-synchronous replication, and the event.
    packet: Vec<u8>,
    semi_sync: SemiSync,
}

/// Whether two more bytes come before each event. The second one says whether the server wants an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SemiSync {
    Off,
    /// Asked for; the first event shows whether the server does it.
    Asked,
    On,
}

/// The first of the two bytes (`kPacketMagicNum` of the servers' `semisync.h`).
const SEMI_SYNC: u8 = 0xef;
/// The flag of the second one.
const WANTS_ACK: u8 = 0x01;

impl EventStream {
    /// A server that has been asked for events. Its first events have this `checksum`.
    pub fn new(
        client: BackendClient,
        checksum: Checksum,
        limits: binlog::Limits,
        patience: Duration,
    ) -> Self {
        Self {
            client,
            checksum,
            limits,
            patience,
            packet: Vec::new(),
            semi_sync: SemiSync::Off,
        }
    }

    /// The stream of a server that was asked for semi-synchronous replication. The server may not support it.
    pub fn semi_sync(self) -> Self {
        Self {
            semi_sync: SemiSync::Asked,
            ..self
        }
    }

    /// Returns the next event, with a verified checksum. If the future is dropped before it is ready, the stream is
    /// lost.
    ///
    /// # Errors
    /// The server has ended the stream, or has sent bytes that are no event.
    pub async fn next(&mut self) -> Result<RawEvent<'_>, StreamError> {
        Ok(self.next_with_ack_request().await?.0)
    }

    /// Returns the next event, and whether the server waits for an acknowledgement of it.
    ///
    /// # Errors
    /// The same as for [`EventStream::next`].
    pub async fn next_with_ack_request(&mut self) -> Result<(RawEvent<'_>, bool), StreamError> {
        self.read_packets().await?;
        match self.packet.split_first() {
            Some((&reply::OK, _)) => {}
            Some((&reply::ERR, _)) => return Err(refusal(&self.packet)),
            Some((&reply::EOF, _)) => return Err(StreamError::Ended),
            _ => {
                let cause = wire::Malformed::Invalid("status byte").into();
                return Err(self.fault(cause));
            }
        }
        let needs_ack = self.needs_ack().map_err(|cause| self.fault(cause))?;
        if needs_ack {
            // After such an event the server restarts its packet numbers at the acknowledgement (`skipSlaveReply`
            // and `flush_net` of the servers' `semisync_source.cc` and `semisync_master.cc`).
            self.client.expect_reply();
        }
        let checksum = self.checksum_of_event();
        let checksum = checksum.map_err(|cause| self.fault(cause))?;
        let bytes = self.event_bytes();
        let event = RawEvent::parse(bytes, checksum).and_then(|event| {
            event.verify()?;
            Ok(event)
        });
        // The borrow checker does not see that an error borrows nothing.
        match event {
            Ok(_) => {}
            Err(cause) => return Err(self.fault(cause)),
        }
        let again = RawEvent::parse(self.event_bytes(), checksum);
        let event = again.map_err(|cause| StreamError::Event {
            event: String::new(),
            cause,
        });
        Ok((event?, needs_ack))
    }

    /// Reads the bytes of semi-synchronous replication. A server that does not support it begins with an event
    /// whose timestamp is 0, so its first byte differs from the mark.
    fn needs_ack(&mut self) -> Result<bool, EventError> {
        let has_mark = self.packet.get(1) == Some(&SEMI_SYNC);
        self.semi_sync = match (self.semi_sync, has_mark) {
            (SemiSync::Off, _) | (SemiSync::Asked, false) => SemiSync::Off,
            (SemiSync::Asked | SemiSync::On, true) => SemiSync::On,
            (SemiSync::On, false) => {
                return Err(
                    wire::Malformed::Invalid("mark of semi-synchronous replication").into(),
                );
            }
        };
        let flags = self.packet.get(2).copied().unwrap_or(0);
        Ok(self.semi_sync == SemiSync::On && flags & WANTS_ACK != 0)
    }

    /// Returns the event within the packet.
    fn event_bytes(&self) -> &[u8] {
        let begin = match self.semi_sync {
            SemiSync::On => 3,
            SemiSync::Off | SemiSync::Asked => 1,
        };
        self.packet.get(begin..).unwrap_or_default()
    }

    /// Reads a packet and its continuation packets. Only the first one has a status byte.
    async fn read_packets(&mut self) -> Result<(), StreamError> {
        if self.packet.capacity() > BUFFER_BYTES_KEPT {
            self.packet = Vec::new();
        }
        self.packet.clear();
        let front = match self.semi_sync {
            SemiSync::Off => 1,
            SemiSync::Asked | SemiSync::On => 3,
        };
        let limit = self.limits.event_bytes_max.saturating_add(front);
        loop {
            let room = limit.saturating_sub(self.packet.len());
            let packet = self
                .client
                .append_packet(&mut self.packet, PACKET_PAYLOAD_MAX.min(room));
            let length = match timeout(self.patience, packet).await {
                Ok(Ok(length)) => length,
                Ok(Err(error)) if error.server.is_none() && room < PACKET_PAYLOAD_MAX => {
                    return Err(self.too_long(error));
                }
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => return Err(StreamError::Silent(self.patience.as_secs())),
            };
            if length < PACKET_PAYLOAD_MAX {
                return Ok(());
            }
        }
    }

    /// Returns the error for a packet beyond the limit: the event is too long if its header says so.
    fn too_long(&self, error: ClientError) -> StreamError {
        let limit = self.limits.event_bytes_max;
        match self.header() {
            Some(header) if header.length as usize > limit => {
                let length = u64::from(header.length);
                self.fault(EventError::TooLong { length, limit })
            }
            _ => error.into(),
        }
    }

    fn header(&self) -> Option<EventHeader> {
        let header = self.event_bytes().get(..HEADER_BYTES)?;
        EventHeader::decode(header).ok()
    }

    /// Returns the event's checksum. A FORMAT_DESCRIPTION event sets the checksum of the events after it.
    fn checksum_of_event(&mut self) -> Result<Checksum, EventError> {
        let bytes = self.event_bytes();
        let header = EventHeader::decode(bytes)?;
        if header.event_type != EventType::FORMAT_DESCRIPTION {
            return Ok(self.checksum);
        }
        let format = FormatDescription::of_event(bytes)?;
        self.checksum = format.checksum();
        Ok(format.own_checksum())
    }

    fn fault(&self, cause: EventError) -> StreamError {
        let event = match self.header() {
            Some(header) => format!("{} event at {}", header.event_type, header.next_position),
            None => "event without a header".to_owned(),
        };
        StreamError::Event { event, cause }
    }
}

/// Returns the error for the server's ERR packet. Error 1236 has several meanings, and one is that logs are gone.
fn refusal(packet: &[u8]) -> StreamError {
    let number = ErrPacket::decode(packet).map(|err| err.number);
    let text = ClientError::of_packet(packet).text;
    let lower = text.to_ascii_lowercase();
    let is_purged = lower.contains("purged")
        || lower.contains("could not find gtid state")
        || lower.contains("could not find first log");
    // MySQL uses error 1236 for this, MariaDB another number, so the text decides.
    if lower.contains("same server_uuid/server_id") {
        return StreamError::Displaced(text);
    }
    match number {
        Ok(FATAL_ERROR_READING_LOG) if is_purged => StreamError::Purged(Purged {
            missing: "what the server says in its own words".to_owned(),
            detail: format!(" ({text})"),
        }),
        Ok(number) => StreamError::Refused { number, text },
        Err(_) => StreamError::Client(ClientError::without_answer(text)),
    }
}
