//! The errors with which brokers refuse changes, with hints what to do.

use std::fmt;

/// The topic already contains the records, because they were sent twice.
pub const DUPLICATE_SEQUENCE_NUMBER: i16 = 46;
/// The user lacks a permission for the whole cluster.
pub const CLUSTER_AUTHORIZATION_FAILED: i16 = 31;

/// The error code of a broker's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    code: i16,
    /// The broker's message, if the answer has one.
    message: Option<String>,
}

impl std::error::Error for Refusal {}

impl Refusal {
    pub(crate) fn new(code: i16, message: Option<String>) -> Self {
        Self { code, message }
    }

    /// Whether the same request may succeed soon: another broker leads the topic, or a replica has to catch up.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(
            self.code,
            3 | 5 | 6 | 7 | 13..=16 | 19 | 20 | 56 | 74 | 75 | 89
        ) || self.wants_new_producer()
    }

    /// Whether the broker no longer knows the producer id, or lacks one of its batches.
    pub(crate) fn wants_new_producer(&self) -> bool {
        matches!(self.code, 45 | 47 | 59 | 90)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the broker answers ")?;
        match NAMES.iter().find(|it| it.0 == self.code) {
            Some((_, name)) => out.write_str(name)?,
            None => write!(out, "error {}", self.code)?,
        }
        if let Some(hint) = hint(self.code) {
            write!(out, ": {hint}")?;
        }
        match &self.message {
            Some(message) => write!(out, " ({message})"),
            None => Ok(()),
        }
    }
}

fn hint(code: i16) -> Option<&'static str> {
    Some(match code {
        3 => {
            "the topic does not exist, and the brokers do not create it. Create it, or set auto.create.topics.enable"
        }
        5 => "the topic's first partition has no leader now",
        6 => "the broker does not lead the topic's first partition any more",
        10 | 18 => {
            "a request is larger than the topic takes. Raise its max.message.bytes, or lower batch_bytes_max; if one \
             change alone is larger, set compression, or take its table out of `tables`"
        }
        17 => "the topic cannot have this name",
        19 | 20 => "the topic has fewer in-sync replicas than min.insync.replicas",
        29 | CLUSTER_AUTHORIZATION_FAILED => {
            "the user may not do this. Allow it to describe, to create and to write the topics"
        }
        32 => {
            "the topic refuses the time of the change (message.timestamp.before.max.ms, message.timestamp.after.max.ms)"
        }
        44 => "a policy of the brokers refuses it",
        76 => "the brokers do not know this compression. Set compression = \"none\"",
        _ => return None,
    })
}

/// The names in Kafka's protocol guide.
const NAMES: [(i16, &str); 37] = [
    (-1, "UNKNOWN_SERVER_ERROR"),
    (2, "CORRUPT_MESSAGE"),
    (3, "UNKNOWN_TOPIC_OR_PARTITION"),
    (5, "LEADER_NOT_AVAILABLE"),
    (6, "NOT_LEADER_OR_FOLLOWER"),
    (7, "REQUEST_TIMED_OUT"),
    (10, "MESSAGE_TOO_LARGE"),
    (13, "NETWORK_EXCEPTION"),
    (14, "COORDINATOR_LOAD_IN_PROGRESS"),
    (15, "COORDINATOR_NOT_AVAILABLE"),
    (16, "NOT_COORDINATOR"),
    (17, "INVALID_TOPIC_EXCEPTION"),
    (18, "RECORD_LIST_TOO_LARGE"),
    (19, "NOT_ENOUGH_REPLICAS"),
    (20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
    (29, "TOPIC_AUTHORIZATION_FAILED"),
    (31, "CLUSTER_AUTHORIZATION_FAILED"),
    (32, "INVALID_TIMESTAMP"),
    (33, "UNSUPPORTED_SASL_MECHANISM"),
    (34, "ILLEGAL_SASL_STATE"),
    (35, "UNSUPPORTED_VERSION"),
    (41, "NOT_CONTROLLER"),
    (42, "INVALID_REQUEST"),
    (43, "UNSUPPORTED_FOR_MESSAGE_FORMAT"),
    (44, "POLICY_VIOLATION"),
    (45, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    (46, "DUPLICATE_SEQUENCE_NUMBER"),
    (47, "INVALID_PRODUCER_EPOCH"),
    (56, "KAFKA_STORAGE_ERROR"),
    (58, "SASL_AUTHENTICATION_FAILED"),
    (59, "UNKNOWN_PRODUCER_ID"),
    (74, "FENCED_LEADER_EPOCH"),
    (75, "UNKNOWN_LEADER_EPOCH"),
    (76, "UNSUPPORTED_COMPRESSION_TYPE"),
    (87, "INVALID_RECORD"),
    (89, "THROTTLING_QUOTA_EXCEEDED"),
    (90, "PRODUCER_FENCED"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_repeated_if_replicas_are_missing_before_or_after_it() {
        for code in [19, 20] {
            assert!(Refusal::new(code, None).may_pass(), "{code}");
        }
        assert!(!Refusal::new(10, None).may_pass());
    }
}
