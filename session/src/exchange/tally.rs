//! The counts and flags of a reply.

use wire::StatusFlags;
use wire::reply::OkPacket;

/// The counts and flags of a reply so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Results that have ended.
    pub results: u32,
    /// Whether the last of them had rows.
    pub had_rows: bool,
    /// Rows of the last result.
    pub rows: u64,
    /// Rows of the results before the last.
    pub rows_before: u64,
    /// Bytes of all packets of the reply.
    pub bytes: u64,
    /// Bytes of the packets that are rows.
    pub row_bytes: u64,
    /// The last OK.
    pub ok: OkPacket,
    /// Rows changed: the sum over all OKs that do not end rows.
    pub affected_rows: u64,
    /// The flags of the last OK or EOF; `None` when there was none.
    pub status: Option<StatusFlags>,
    /// Warnings of the last OK or EOF.
    pub warnings: u16,
    /// Some OK or EOF has reported warnings, perhaps not the last.
    pub has_warned: bool,
    /// Some flags announced changes that could not be reported: an EOF has no room for them.
    pub has_unsent_changes: bool,
    /// The number and the SQLSTATE of the error that ended the reply.
    pub error: Option<(u16, [u8; 5])>,
}
