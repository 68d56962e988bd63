//! Produce: records for a partition, which all in-sync replicas acknowledge.

use super::{AnswerError, Api, Input, put_no_text, put_text};

/// From version 6 on a broker with a quota answers first, and says how long the client has to wait then.
pub const API: Api = Api {
    name: "Produce",
    key: 0,
    min: 3,
    max: 8,
};

/// The partition that all changes of a topic go to, so that they stay in order.
pub const PARTITION: i32 = 0;

/// All in-sync replicas acknowledge.
const ACKS_ALL: i16 = -1;

/// How long the leader waits for the other replicas.
const TIMEOUT_MS: i32 = 30_000;

/// The text of a broker that goes into a message.
const MESSAGE_CHARACTERS_MAX: usize = 200;

/// What became of the records.
#[derive(Debug, PartialEq, Eq)]
pub struct Produced {
    pub code: i16,
    /// The broker's words, if it has any.
    pub message: Option<String>,
    pub throttle_ms: i32,
}

/// The request without the records, which stand at its end; none if they are too long for the protocol.
pub fn request(topic: &str, records: &[u8]) -> Option<Vec<u8>> {
    let length = i32::try_from(records.len()).ok()?;
    let mut out = Vec::new();
    // It belongs to no transaction of Kafka.
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
/// It is no answer, or one about nothing.
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
    fn an_answer_has_the_code_the_words_and_the_wait() {
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
