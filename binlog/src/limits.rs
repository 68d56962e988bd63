//! Memory limits for the events of a stream.

/// The limits of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum length of an event, in bytes.
    pub event_bytes_max: usize,
    /// The maximum length of a decompressed part of an event, in bytes.
    pub inflated_bytes_max: usize,
}

impl Default for Limits {
    /// A server's longest packet is 1 GiB, so an event that a replica can take is not longer.
    fn default() -> Self {
        Self {
            event_bytes_max: 1 << 30,
            inflated_bytes_max: 1 << 30,
        }
    }
}
