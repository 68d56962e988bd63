//! The statements that an optimistic transaction has sent, and the replies that it has read.

use std::rc::Rc;

use link::client_command::Incoming;
use session::Fingerprint;

use crate::prepared_statement::StatementKey;

/// How many reads are recorded: the replay needs a round trip for each.
const READS_MAX: usize = 100;

/// The most that the recorded statements may have, in bytes: each session keeps its own.
const STATEMENT_BYTES_MAX: usize = 64 * 1024;

/// The most that their replies may have, in bytes: the primary has to send them all in one go.
const REPLY_BYTES_MAX: u64 = 1 << 20;

/// The recorded statements of an optimistic transaction.
pub struct OptimisticTransaction {
    /// The statement that began it.
    pub begin: Incoming,
    /// Its reads, in order.
    pub reads: Vec<Read>,
    /// The size of the recorded statements, in bytes.
    pub statement_bytes: usize,
    /// The size of the recorded replies, in bytes.
    pub reply_bytes: u64,
}

/// A read and its reply.
pub struct Read {
    /// The statement.
    pub recorded: RecordedRead,
    /// The fingerprint of its reply.
    pub fingerprint: Fingerprint,
}

/// A read of an optimistic transaction, which the replay repeats.
pub enum RecordedRead {
    /// COM_QUERY
    Text(Incoming),
    /// COM_STMT_EXECUTE
    Prepared(Execution),
}

/// A COM_STMT_EXECUTE without long data. The client may close the statement before the replay.
pub struct Execution {
    /// The statement.
    pub key: StatementKey,
    /// The command's bytes after the statement's id.
    pub argument: Vec<u8>,
    /// How many parameters the statement has.
    pub parameter_count: u16,
    /// Their types, if the command leaves them out.
    pub types: Option<Rc<[u8]>>,
    /// The sequence id of the command's first packet.
    pub sequence: u8,
}

impl RecordedRead {
    /// How many bytes the statement has.
    pub fn bytes(&self) -> usize {
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
    /// Returns a transaction that has read nothing yet.
    pub fn new(begin: Incoming) -> Self {
        Self {
            begin,
            reads: Vec::new(),
            statement_bytes: 0,
            reply_bytes: 0,
        }
    }

    /// Whether one more read with a statement of this many bytes may be recorded.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.reads.len() < READS_MAX
            && self.statement_bytes.saturating_add(bytes) <= STATEMENT_BYTES_MAX
            && self.reply_bytes <= REPLY_BYTES_MAX
    }

    /// Records a read.
    pub fn add(&mut self, said: RecordedRead, fingerprint: Fingerprint) {
        self.statement_bytes += said.bytes();
        self.reply_bytes += fingerprint.bytes;
        self.reads.push(Read {
            recorded: said,
            fingerprint,
        });
    }

    /// Forgets the reads: by `completion_type`, a new transaction of the same kind begins where this one ends.
    pub fn begin_anew(&mut self) {
        self.reads.clear();
        self.statement_bytes = 0;
        self.reply_bytes = 0;
    }
}
