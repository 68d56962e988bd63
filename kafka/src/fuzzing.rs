//! The entry point for fuzzing: arbitrary bytes as a broker's answer.

use crate::protocol::{metadata, produce, producer_id, sasl, versions};

/// Decodes bytes as each kind of answer. The results do not matter, but no decoder may panic.
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
