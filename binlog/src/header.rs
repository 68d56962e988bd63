//! The header at the start of each event.

use wire::{Malformed, Reader};

use crate::event_type::EventType;

/// The length of an event's header.
pub const HEADER_BYTES: usize = 19;

/// An event's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHeader {
    /// When the statement began, in seconds since 1970; 0 in an event that the server has created for the stream.
    pub time: u32,
    /// The event's type.
    pub event_type: EventType,
    /// The id of the server that executed the event first.
    pub server_id: u32,
    /// The length of the event in bytes, including header and checksum.
    pub length: u32,
    /// The offset of the next event, modulo 2^32; 0 in an event that the server has created for the stream.
    pub next_position: u32,
    /// The event's flags.
    pub flags: EventFlags,
}

/// The flags of an event's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EventFlags(pub u16);

impl EventFlags {
    /// In a FORMAT_DESCRIPTION event: the server is still writing the file, or did not close it.
    pub const IN_USE: Self = Self(0x01);
    /// The statement depends on its connection, for example because it uses temporary tables.
    pub const THREAD_SPECIFIC: Self = Self(0x04);
    /// The statement needs no default schema.
    pub const SUPPRESS_USE: Self = Self(0x08);
    /// The server has created the event for this stream; no log file contains it.
    pub const ARTIFICIAL: Self = Self(0x20);
    /// A replica wrote it into a relay log.
    pub const RELAY_LOG: Self = Self(0x40);
    /// A reader that does not know the event's type may skip the event.
    pub const IGNORABLE: Self = Self(0x80);
    /// MySQL: the event is only in the cache of a session without its own log.
    pub const NO_FILTER: Self = Self(0x100);
    /// MySQL: the event must not be applied in parallel with others.
    pub const ISOLATE: Self = Self(0x200);
    /// MariaDB: `skip_replication` was on.
    pub const SKIP_REPLICATION: Self = Self(0x8000);

    const NAMES: [(Self, &'static str); 9] = [
        (Self::IN_USE, "in_use"),
        (Self::THREAD_SPECIFIC, "thread_specific"),
        (Self::SUPPRESS_USE, "suppress_use"),
        (Self::ARTIFICIAL, "artificial"),
        (Self::RELAY_LOG, "relay_log"),
        (Self::IGNORABLE, "ignorable"),
        (Self::NO_FILTER, "no_filter"),
        (Self::ISOLATE, "isolate"),
        (Self::SKIP_REPLICATION, "skip_replication"),
    ];

    /// Whether all of `flags` are set.
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The names of the flags that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let set = Self::NAMES
            .into_iter()
            .filter(move |(flag, _)| self.contains(*flag));
        set.map(|(_, name)| name)
    }
}

impl EventHeader {
    /// Reads a header.
    ///
    /// # Errors
    /// The bytes are shorter than a header.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let item = "event header";
        Ok(Self {
            time: reader.u32(item)?,
            event_type: EventType(reader.u8(item)?),
            server_id: reader.u32(item)?,
            length: reader.u32(item)?,
            next_position: reader.u32(item)?,
            flags: EventFlags(reader.u16(item)?),
        })
    }

    /// Appends the header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.time.to_le_bytes());
        out.push(self.event_type.0);
        out.extend_from_slice(&self.server_id.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.extend_from_slice(&self.next_position.to_le_bytes());
        out.extend_from_slice(&self.flags.0.to_le_bytes());
    }
}
