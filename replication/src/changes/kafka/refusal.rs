//! Why Kafka does not take changes, in words that say what to do.

use rskafka::client::error::{Error, ProtocolError};
use rskafka::{BackoffError, ConnectionError};

/// The error of a request to the brokers.
pub fn explain(error: &Error) -> String {
    match error {
        Error::ServerError { protocol_error, .. } => of_broker(*protocol_error),
        Error::RetryFailed(BackoffError::DeadlineExceded { source, .. }) => {
            match source.downcast_ref::<Error>() {
                Some(inner) => explain(inner),
                None => source.to_string(),
            }
        }
        Error::Connection(error) => of_connection(error),
        other => other.to_string(),
    }
}

fn of_connection(error: &ConnectionError) -> String {
    match error {
        ConnectionError::RetryFailed(BackoffError::DeadlineExceded { source, .. }) => {
            format!("no broker can be reached: {source}")
        }
        other => other.to_string(),
    }
}

/// An error code of a broker.
fn of_broker(error: ProtocolError) -> String {
    let hint = match error {
        ProtocolError::UnknownTopicOrPartition => {
            "the topic does not exist, and the brokers do not create it. Create it, or set auto.create.topics.enable"
        }
        ProtocolError::LeaderNotAvailable => "the topic's first partition has no leader now",
        ProtocolError::NotLeaderOrFollower => {
            "the broker does not lead the topic's first partition any more"
        }
        ProtocolError::NotEnoughReplicas | ProtocolError::NotEnoughReplicasAfterAppend => {
            "the topic has fewer in-sync replicas than min.insync.replicas"
        }
        ProtocolError::MessageTooLarge | ProtocolError::RecordListTooLarge => {
            "a request is larger than the topic takes. Raise its max.message.bytes, or lower batch_bytes_max; if one \
             change alone is larger, set compression, or take its table out of `tables`"
        }
        ProtocolError::TopicAuthorizationFailed | ProtocolError::ClusterAuthorizationFailed => {
            "the user may not do this. Allow it to describe, to create and to write the topics"
        }
        ProtocolError::InvalidTopicException => "the topic cannot have this name",
        ProtocolError::UnsupportedCompressionType => {
            "the brokers do not know this compression. Set compression = \"none\""
        }
        ProtocolError::InvalidTimestamp => {
            "the topic refuses the time of the change (message.timestamp.before.max.ms, message.timestamp.after.max.ms)"
        }
        ProtocolError::PolicyViolation => "a policy of the brokers refuses it",
        _ => return format!("the broker answers {error}"),
    };
    format!("the broker answers {error}: {hint}")
}
