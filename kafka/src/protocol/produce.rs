//! Produce: sends records to a partition. All in-sync replicas acknowledge them.

use super::{AnswerError, Api, Input, put_no_text, put_text};

/// Since version 6 a broker with a quota answers first, and tells the client how long to wait afterwards.
pub const API: Api = Api {
    name: "Produce",
    key: 0,
    min: 3,
    max: 8,
};

/// The partition of all changes of a topic. One partition keeps them in order.
pub const PARTITION: i32 = 0;

/// The value of `acks` for which all in-sync replicas must acknowledge.
const ACKS_ALL: i16 = -1;

/// How long the leader waits for the other replicas, in milliseconds.
const TIMEOUT_MS: i32 = 30_000;

/// How many characters of a broker's message are kept.
const MESSAGE_CHARACTERS_MAX: usize = 200;

/// A broker's answer about the records.
#[derive(Debug, PartialEq, Eq)]
pub struct Produced {
    pub code: i16,
    /// The broker's message, if the answer has one.
    pub message: Option<String>,
    pub throttle_ms: i32,
}

/// Returns the request without the records, which follow it. None if the records are too long for the protocol.
pub fn request(topic: &str, records: &[u8]) -> Option<Vec<u8>> {
    let length = i32::try_from(records.len()).ok()?;
    let mut out = Vec::new();
    // No transactional id: the records belong to no Kafka transaction.
    put_no_text(&mut out);
    out.extend(ACKS_ALL.to_be_bytes());
    out.extend(TIMEOUT_MS.to_be_bytes());
    out.extend(1_i32.to_be_bytes());
    put_text(&mut out, topic);
    out.extend(1_i32.to_be_bytes());
    out.extend(PARTITION.to_be_bytes());
    out.extend(length.to_be_bytes());
    Some(out)
}

/// # Errors
/// The bytes are not a valid answer, or contain no partition.
pub fn answer(version: i16, bytes: &[u8]) -> Result<Produced, AnswerError> {
    let mut input = Input(bytes);
    let mut first = None;
    input.each("topics", |input| {
        input.text("topic")?;
        input.each("partitions", |input| {
            let partition = partition(version, input)?;
            first.get_or_insert(partition);
            Ok(())
        })
    })?;
    let throttle_ms = input.i32("throttle time")?;
    let (code, message) = first.ok_or(AnswerError::Truncated("partition"))?;
    Ok(Produced {
        code,
        message,
        throttle_ms,
    })
}

fn partition(version: i16, input: &mut Input<'_>) -> Result<(i16, Option<String>), AnswerError> {
    input.i32("partition")?;
    let code = input.i16("error code")?;
    input.i64("offset")?;
    input.i64("time")?;
    if version >= 5 {
        input.i64("first offset")?;
    }
    if version < 8 {
        return Ok((code, None));
    }
    let mut of_record = None;
    input.each("errors of records", |input| {
        input.i32("record")?;
        let text = input.optional_text("error of a record")?;
        of_record = of_record.or(text);
        Ok(())
    })?;
    let message = input.optional_text("error")?.or(of_record);
    let cut = |it: &str| it.chars().take(MESSAGE_CHARACTERS_MAX).collect();
    Ok((code, message.map(cut)))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Version 8, with an error of a record.
    pub fn answer() -> Vec<u8> {
        let mut out = 1_i32.to_be_bytes().to_vec();
        put_text(&mut out, "topic");
        out.extend([1_i32, 0].map(i32::to_be_bytes).concat());
        out.extend(87_i16.to_be_bytes());
        out.extend([1_i64, -1, 0].map(i64::to_be_bytes).concat());
        out.extend([1_i32, 0].map(i32::to_be_bytes).concat());
        put_text(&mut out, "no such record");
        put_no_text(&mut out);
        out.extend(1500_i32.to_be_bytes());
        out
    }

    #[test]
    fn a_produce_answer_has_error_code_message_and_throttle_time() {
        let expected = Produced {
            code: 87,
            message: Some("no such record".to_owned()),
            throttle_ms: 1500,
        };
        assert_eq!(super::answer(8, &answer()).unwrap(), expected);
        // Nothing about the records.
        assert!(super::answer(8, &[0; 8]).is_err());
    }
}
