//! What fuzzing calls: any bytes as a broker's answer.

use crate::protocol::{metadata, produce, producer_id, sasl, versions};

/// Reads bytes as each kind of answer. What comes of them does not matter: none may panic.
pub fn answers(bytes: &[u8]) {
    for version in [3, 5, 8] {
        let _ = produce::answer(version, bytes);
    }
    let _ = metadata::answer(bytes);
    let _ = versions::answer(bytes);
    let _ = producer_id::answer(bytes);
    let _ = sasl::handshaken(bytes);
    let _ = sasl::authenticated(bytes);
}
