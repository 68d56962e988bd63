//! What an optimistic transaction has sent and read.

use std::rc::Rc;

use backend::prepared_statement::StatementKey;
use link::client_command::Incoming;
use session::Fingerprint;

/// Reads that are kept in mind: each is a round trip when it is repeated.
const READS_MAX: usize = 100;

/// Their statements, in bytes: each session has its own.
const STATEMENT_BYTES_MAX: usize = 64 * 1024;

/// Their replies, in bytes: the primary has to give them all at once.
const REPLY_BYTES_MAX: u64 = 1 << 20;

/// What an optimistic transaction has said and heard.
pub(crate) struct OptimisticTransaction {
    pub begin: Incoming,
    pub reads: Vec<Read>,
    pub statement_bytes: usize,
    pub reply_bytes: u64,
}

/// A read, and what came of it.
pub(crate) struct Read {
    pub said: RecordedRead,
    pub fingerprint: Fingerprint,
}

/// A read of an optimistic transaction, which the replay repeats.
pub(crate) enum RecordedRead {
    Text(Incoming),
    Prepared(Execution),
}

/// An EXECUTE without long data. The client may close its statement in between.
pub(crate) struct Execution {
    pub key: StatementKey,
    pub argument: Vec<u8>,
    pub parameter_count: u16,
    pub types: Option<Rc<[u8]>>,
    pub sequence: u8,
}

impl RecordedRead {
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Text(incoming) => incoming.packets.len(),
            Self::Prepared(execution) => {
                let types = execution.types.as_ref().map_or(0, |types| types.len());
                execution.key.text.bytes().len() + execution.argument.len() + types
            }
        }
    }
}

impl OptimisticTransaction {
    pub(crate) fn new(begin: Incoming) -> Self {
        Self {
            begin,
            reads: Vec::new(),
            statement_bytes: 0,
            reply_bytes: 0,
        }
    }

    /// Whether one more read of so many bytes may be kept in mind.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.reads.len() < READS_MAX
            && self.statement_bytes.saturating_add(bytes) <= STATEMENT_BYTES_MAX
            && self.reply_bytes <= REPLY_BYTES_MAX
    }

    pub(crate) fn add(&mut self, said: RecordedRead, fingerprint: Fingerprint) {
        self.statement_bytes += said.bytes();
        self.reply_bytes += fingerprint.bytes;
        self.reads.push(Read { said, fingerprint });
    }

    /// A transaction like this one begins where it ends, by `completion_type`.
    pub(crate) fn begin_anew(&mut self) {
        self.reads.clear();
        self.statement_bytes = 0;
        self.reply_bytes = 0;
    }
}
