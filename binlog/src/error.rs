//! The errors of events.

use wire::Malformed;

use crate::event_type::EventType;

/// The reason why an event cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The event lacks an item that events of its type have.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The event's type is unknown, and the event must not be skipped.
    #[error(
        "event type {0} is not known, and the event is not marked as ignorable; a newer version of this program may know it"
    )]
    UnknownType(u8),
    /// Only servers before MySQL 5.0 or MariaDB 5.5 wrote events of this type.
    #[error("{0} events are of servers that are too old; they are not read")]
    Obsolete(EventType),
    /// The log's version is not 4.
    #[error(
        "binary logs of version {0} are not read, only those of version 4 (MySQL 5.0 and later)"
    )]
    Version(u16),
    /// The rest of the file is encrypted.
    #[error(
        "the events that follow are encrypted (START_ENCRYPTION); a server decrypts them when a replica asks for them"
    )]
    Encrypted,
    /// The bytes differ from those that the server wrote.
    #[error("the event's checksum is {stored:08x}, but its bytes have the checksum {computed:08x}")]
    Checksum {
        /// The checksum in the event.
        stored: u32,
        /// The checksum of its bytes.
        computed: u32,
    },
    /// The event is longer than allowed.
    #[error("the event has {length} bytes; the limit is {limit}")]
    TooLong {
        /// The length in its header.
        length: u64,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The decompressed event would be longer than allowed.
    #[error("the decompressed {item} has more than {limit} bytes")]
    Inflated {
        /// The compressed item.
        item: &'static str,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The compressed bytes are damaged.
    #[error("the compressed {0} cannot be decompressed")]
    Compression(&'static str),
    /// Rows of a table that no event has described.
    #[error("the rows belong to table id {0}, which no TABLE_MAP event describes")]
    UnknownTable(u64),
    /// One statement describes more tables than any server allows.
    #[error("a statement describes more tables than {0}")]
    TooManyTables(usize),
    /// The event is at a place where events of its type must not be.
    #[error("{0}")]
    Misplaced(&'static str),
}
