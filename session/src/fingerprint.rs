//! The content of a reply in few bytes, to compare it with another server's reply.

use std::hash::{BuildHasher, Hasher};

use system::HashKeys;

use crate::exchange::tally::Tally;
use crate::reply::{Outcome, ReplyState, ReplyStep};

/// Covers all data of a reply: definitions, rows, counts, warnings, the error. The flags are left out,
/// because they describe the server and the session. A client that writes rows does not know the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    hash: u64,
    /// The length of the data, in bytes.
    pub bytes: u64,
}

/// A fingerprint that is being made.
#[derive(Debug)]
pub(crate) struct Fingerprinting {
    hasher: <HashKeys as BuildHasher>::Hasher,
    bytes: u64,
    /// Bytes of the current payload.
    payload_bytes: u64,
}

impl Fingerprinting {
    pub(crate) fn new(keys: &HashKeys) -> Self {
        Self {
            hasher: keys.build_hasher(),
            bytes: 0,
            payload_bytes: 0,
        }
    }

    /// Adds bytes of a payload that means `verdict` to a reply in this state.
    pub(crate) fn add(&mut self, state: ReplyState, verdict: &ReplyStep, bytes: &[u8]) {
        // The EOF behind definitions has flags.
        let is_data = matches!(verdict, ReplyStep::Continue(_))
            && !matches!(state, ReplyState::DefinitionsEnd { .. });
        if is_data {
            self.hasher.write(bytes);
            self.payload_bytes += bytes.len() as u64;
        }
    }

    /// A payload has ended.
    pub(crate) fn payload_ended(&mut self, verdict: &ReplyStep, tally: &Tally) {
        self.hasher.write_u64(self.payload_bytes);
        self.bytes += std::mem::take(&mut self.payload_bytes);
        if let ReplyStep::ResultEnd(_) | ReplyStep::End(..) = verdict {
            self.hasher.write_u16(tally.warnings);
            self.hasher.write_u64(tally.rows);
            self.hasher.write_u64(tally.ok.affected_rows);
            self.hasher.write_u64(tally.ok.last_insert_id);
        }
        if let ReplyStep::End(Outcome::Err(number), _) = verdict {
            self.hasher.write_u16(*number);
        }
    }

    pub(crate) fn finish(&self) -> Fingerprint {
        Fingerprint {
            hash: self.hasher.finish(),
            bytes: self.bytes,
        }
    }
}
