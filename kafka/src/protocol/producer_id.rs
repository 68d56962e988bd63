//! InitProducerId: asks for the producer id by which brokers recognise records that are sent twice.

use super::{AnswerError, Api, Input, put_no_text};

/// Version 0, for producers without transactions.
pub const API: Api = Api {
    name: "InitProducerId",
    key: 22,
    min: 0,
    max: 0,
};

/// A producer id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerId {
    pub number: i64,
    pub epoch: i16,
}

/// Returns the request, without a transactional id.
pub fn request() -> Vec<u8> {
    let mut out = Vec::new();
    put_no_text(&mut out);
    out.extend(i32::MAX.to_be_bytes());
    out
}

/// Decodes an answer: the throttle time, the error code, and the producer id.
///
/// # Errors
/// The bytes are not a valid answer.
pub fn answer(bytes: &[u8]) -> Result<(i32, i16, ProducerId), AnswerError> {
    let mut input = Input(bytes);
    let throttle_ms = input.i32("throttle time")?;
    let code = input.i16("error code")?;
    let id = ProducerId {
        number: input.i64("producer id")?,
        epoch: input.i16("epoch")?,
    };
    Ok((throttle_ms, code, id))
}
