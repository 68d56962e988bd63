//! The time at which a statement was profiled or injected, as its line in the log shows it.

use std::time::SystemTime;

use jiff::Timestamp;

/// The time in UTC, with microseconds. A time that no calendar has becomes the beginning of 1970.
pub(crate) fn timestamp(at: SystemTime) -> String {
    let at = Timestamp::try_from(at).unwrap_or_default();
    format!("{at:.6}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_timestamp_has_microseconds() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_500);
        assert_eq!(timestamp(at), "1970-01-01T00:00:01.500000Z");
    }
}
