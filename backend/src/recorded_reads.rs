//! What an optimistic transaction has sent and read.

use std::rc::Rc;

use link::client_command::Incoming;
use session::Fingerprint;

use crate::prepared_statement::StatementKey;

/// Reads that are kept in mind: each is a round trip when it is repeated.
const READS_MAX: usize = 100;

/// Their statements, in bytes: each session has its own.
const STATEMENT_BYTES_MAX: usize = 64 * 1024;

/// Their replies, in bytes: the primary has to give them all at once.
const REPLY_BYTES_MAX: u64 = 1 << 20;

/// What an optimistic transaction has said and heard.
pub struct OptimisticTransaction {
    /// The statement that began it.
    pub begin: Incoming,
    /// Its reads, in order.
    pub reads: Vec<Read>,
    /// The bytes of their statements.
    pub statement_bytes: usize,
    /// The bytes of their replies.
    pub reply_bytes: u64,
}

/// A read, and what came of it.
pub struct Read {
    /// The read.
    pub recorded: RecordedRead,
    /// Its reply.
    pub fingerprint: Fingerprint,
}

/// A read of an optimistic transaction, which the replay repeats.
pub enum RecordedRead {
    /// COM_QUERY
    Text(Incoming),
    /// COM_STMT_EXECUTE
    Prepared(Execution),
}

/// An EXECUTE without long data. The client may close its statement in between.
pub struct Execution {
    /// The statement.
    pub key: StatementKey,
    /// The command's bytes behind the statement's id.
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
    /// One that has read nothing yet.
    pub fn new(begin: Incoming) -> Self {
        Self {
            begin,
            reads: Vec::new(),
            statement_bytes: 0,
            reply_bytes: 0,
        }
    }

    /// Whether one more read of so many bytes may be kept in mind.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.reads.len() < READS_MAX
            && self.statement_bytes.saturating_add(bytes) <= STATEMENT_BYTES_MAX
            && self.reply_bytes <= REPLY_BYTES_MAX
    }

    /// Keeps a read.
    pub fn add(&mut self, said: RecordedRead, fingerprint: Fingerprint) {
        self.statement_bytes += said.bytes();
        self.reply_bytes += fingerprint.bytes;
        self.reads.push(Read {
            recorded: said,
            fingerprint,
        });
    }

    /// A transaction like this one begins where it ends, by `completion_type`.
    pub fn begin_anew(&mut self) {
        self.reads.clear();
        self.statement_bytes = 0;
        self.reply_bytes = 0;
    }
}
