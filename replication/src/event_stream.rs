//! Packets of a dump to whole events: the status byte, events of 16 MiB and more, checksums, the server's errors.

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

/// Memory that a long event leaves behind is given back if it is more than this.
const BUFFER_BYTES_KEPT: usize = 1 << 20;

/// The events that a server sends.
pub struct EventStream {
    client: BackendClient,
    checksum: Checksum,
    limits: binlog::Limits,
    /// If nothing comes for so long, the connection is lost.
    patience: Duration,
    /// The status byte, what semi-synchronous replication adds, and the event.
    packet: Vec<u8>,
    semi_sync: SemiSync,
}

/// Whether two bytes stand in front of each event, of which the second says whether an acknowledgement is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SemiSync {
    Off,
    /// The first event will tell.
    Asked,
    On,
}

/// The first of the two bytes (`kPacketMagicNum` of the servers' `semisync.h`).
const SEMI_SYNC: u8 = 0xef;
/// The flag of the second one.
const WANTS_ACK: u8 = 0x01;

impl EventStream {
    /// Of a server that has been asked for them, and whose first events end with `checksum`.
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

    /// The same of a server that was asked for semi-synchronous replication, which it may not know.
    pub fn semi_sync(self) -> Self {
        Self {
            semi_sync: SemiSync::Asked,
            ..self
        }
    }

    /// The next event, its checksum verified. It must not be dropped before it is ready, or the stream is lost.
    ///
    /// # Errors
    /// The server has ended the stream, or sent something that is no event.
    pub async fn next(&mut self) -> Result<RawEvent<'_>, StreamError> {
        Ok(self.next_with_ack_request().await?.0)
    }

    /// The same, and whether the server waits for an acknowledgement of the event.
    ///
    /// # Errors
    /// As of [`EventStream::next`].
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
            // Behind such an event the server counts its packets from the acknowledgement's on (`skipSlaveReply` and
            // `flush_net` of the servers' `semisync_source.cc` and `semisync_master.cc`).
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

    /// Reads the bytes of semi-synchronous replication. A server that does not know it begins with an event of the time
    /// 0, whose first byte is another one.
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

    /// The event in the packet.
    fn event_bytes(&self) -> &[u8] {
        let begin = match self.semi_sync {
            SemiSync::On => 3,
            SemiSync::Off | SemiSync::Asked => 1,
        };
        self.packet.get(begin..).unwrap_or_default()
    }

    /// One packet, and those that continue it. Only the first has a status byte.
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

    /// A packet that has no room is an event beyond the limit, if the event's header says so.
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

    /// A FORMAT_DESCRIPTION event says which checksum the events behind it have.
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

/// The server's error. Error 1236 stands for several things, of which one is that logs are gone.
fn refusal(packet: &[u8]) -> StreamError {
    let number = ErrPacket::decode(packet).map(|err| err.number);
    let text = ClientError::of_packet(packet).text;
    let lower = text.to_ascii_lowercase();
    let is_purged = lower.contains("purged")
        || lower.contains("could not find gtid state")
        || lower.contains("could not find first log");
    // MySQL says so by error 1236, MariaDB by another.
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
