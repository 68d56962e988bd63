//! Encodes the requests that a producer needs, and decodes the brokers' answers, without a socket. The formats are
//! those of Kafka's protocol guide. Only versions without tagged fields are used, because every broker from 0.11 to
//! 4.x supports them.

mod input;
pub mod metadata;
pub mod produce;
pub mod producer_id;
pub mod sasl;
pub mod versions;

pub use input::{AnswerError, Input};

/// A kind of request, and the versions that this client supports.
#[derive(Debug, Clone, Copy)]
pub struct Api {
    /// The name in Kafka's protocol guide.
    pub name: &'static str,
    /// The API key of the request.
    pub key: i16,
    /// The oldest version.
    pub min: i16,
    /// The newest version.
    pub max: i16,
}

/// The client id that the proxy sends to brokers.
const CLIENT: &str = "pilotfish";

/// Appends the header of a request, without the length field before it.
pub fn put_header(out: &mut Vec<u8>, api: Api, version: i16, number: i32) {
    out.extend(api.key.to_be_bytes());
    out.extend(version.to_be_bytes());
    out.extend(number.to_be_bytes());
    put_text(out, CLIENT);
}

/// Appends a text. A text that is too long for the protocol is cut off; the settings do not allow such texts.
fn put_text(out: &mut Vec<u8>, text: &str) {
    let length = i16::try_from(text.len()).unwrap_or(i16::MAX);
    out.extend(length.to_be_bytes());
    out.extend(text.bytes().take(usize::from(length.unsigned_abs())));
}

/// Appends a null text.
fn put_no_text(out: &mut Vec<u8>) {
    out.extend((-1_i16).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_that_is_cut_off_is_an_error() {
        type Reads = fn(&[u8]) -> bool;
        let metadata = metadata::tests::answer();
        let produced = produce::tests::answer();
        let versions = versions::tests::answer();
        let cases: [(Vec<u8>, Reads); 5] = [
            (metadata, |it| metadata::answer(it).is_ok()),
            (produced, |it| produce::answer(8, it).is_ok()),
            (versions, |it| versions::answer(it).is_ok()),
            ([[0; 6].as_slice(), &[0; 10]].concat(), |it| {
                producer_id::answer(it).is_ok()
            }),
            (vec![0, 0, 0xff, 0xff, 0, 0, 0, 1, 7], |it| {
                sasl::authenticated(it).is_ok()
            }),
        ];
        for (bytes, reads) in cases {
            assert!(reads(&bytes), "{bytes:?}");
            for length in 0..bytes.len() {
                assert!(!reads(&bytes[..length]), "{length} of {bytes:?}");
            }
        }
    }

    #[test]
    fn an_answer_that_promises_more_than_it_has_takes_no_memory_for_it() {
        let most = i32::MAX.to_be_bytes();
        let answer = [[0; 4], most].concat();
        assert_eq!(
            metadata::answer(&answer).err(),
            Some(AnswerError::Truncated("broker id"))
        );
        let answer = [&[0, 0, 0xff, 0xff], most.as_slice()].concat();
        assert_eq!(
            sasl::authenticated(&answer).err(),
            Some(AnswerError::Truncated("token"))
        );
        let negative = [[0; 4], [0xff; 4]].concat();
        assert_eq!(
            metadata::answer(&negative).err(),
            Some(AnswerError::Length("brokers"))
        );
    }
}
