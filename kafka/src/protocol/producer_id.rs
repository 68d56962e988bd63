//! InitProducerId: the number by which brokers know records that were sent twice.

use super::{AnswerError, Api, Input, put_no_text};

/// For producers without transactions.
pub const API: Api = Api {
    name: "InitProducerId",
    key: 22,
    min: 0,
    max: 0,
};

/// A producer, as brokers know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerId {
    pub number: i64,
    pub epoch: i16,
}

/// The request, without a transaction.
pub fn request() -> Vec<u8> {
    let mut out = Vec::new();
    put_no_text(&mut out);
    out.extend(i32::MAX.to_be_bytes());
    out
}

/// How long to wait, the error code, and the number.
///
/// # Errors
/// It is no answer.
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
