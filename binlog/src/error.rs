//! The faults of an event.

use wire::Malformed;

use crate::event_type::EventType;

/// Why an event cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The event lacks an item that its type has.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The event's type is not known here, and the event has to be understood.
    #[error(
        "event type {0} is not known, and the event is not marked as ignorable; a newer version of this program may know it"
    )]
    UnknownType(u8),
    /// Servers before MySQL 5.0 or MariaDB 5.5 wrote it.
    #[error("{0} events are of servers that are too old; they are not read")]
    Obsolete(EventType),
    /// The log has another version than 4.
    #[error(
        "binary logs of version {0} are not read, only those of version 4 (MySQL 5.0 and later)"
    )]
    Version(u16),
    /// The file is encrypted from here on.
    #[error(
        "the events that follow are encrypted (START_ENCRYPTION); a server decrypts them when a replica asks for them"
    )]
    Encrypted,
    /// The bytes are not those that the server wrote.
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
    /// Decompressed, the event would be longer than allowed.
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
    /// An event stands where it must not.
    #[error("{0}")]
    Misplaced(&'static str),
}
