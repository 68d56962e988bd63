//! Whole transactions that are not in the history yet: the server is asked what the objects of the first one are, and others
//! come meanwhile.
//!
//! The stream must read and acknowledge events while the server is asked. With semi-synchronous replication a statement
//! keeps the objects that it changes locked until it is acknowledged, and the server does not tell what a locked object is.
//!
//! ```text
//!   push ──► waiting ──first has changes──► asking ──► answered ──► recorded
//!               └─────first has none──────────────────────────────────▲
//! ```

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;

use crate::change::Change;
use crate::definition_source::{DefinitionSource, Observation, objects_of};
use crate::error::StreamError;
use crate::position::Gtid;

/// How much may wait before the stream reads no more: statements in bytes, and transactions.
const STATEMENT_BYTES_MAX: usize = 16 << 20;
const TRANSACTIONS_MAX: usize = 1 << 16;

/// A transaction that has come to its end.
pub(crate) struct WholeTransaction {
    pub gtid: Gtid,
    pub changes: Vec<Change>,
}

/// See the module. It is for one connection.
pub(crate) struct PendingTransactions {
    waiting: VecDeque<WholeTransaction>,
    /// The statements of those that wait.
    statement_bytes: usize,
    /// None while the server is being asked.
    source: Option<Box<DefinitionSource>>,
    /// About the first transaction that waits.
    question: Option<Question>,
}

/// A question that is under way. It gives its connection back with the answer.
type Question =
    Pin<Box<dyn Future<Output = (Box<DefinitionSource>, Result<Observation, StreamError>)>>>;

impl PendingTransactions {
    pub fn new(source: DefinitionSource) -> Self {
        Self {
            waiting: VecDeque::new(),
            statement_bytes: 0,
            source: Some(Box::new(source)),
            question: None,
        }
    }

    /// A transaction is whole.
    pub fn push(&mut self, transaction: WholeTransaction) {
        self.statement_bytes += transaction.statement_bytes();
        self.waiting.push_back(transaction);
    }

    /// Whether more may come.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < TRANSACTIONS_MAX && self.statement_bytes < STATEMENT_BYTES_MAX
    }

    /// Whether the server is being asked.
    pub fn is_querying(&self) -> bool {
        self.question.is_some()
    }

    /// The next transaction, if it changes no object. If it does, the server is asked.
    pub fn pop_unchanging(&mut self) -> Option<WholeTransaction> {
        let next = self.waiting.front()?;
        if next.changes.is_empty() {
            return self.waiting.pop_front();
        }
        if let Some(mut source) = self.source.take() {
            let objects = objects_of(&next.changes);
            self.question = Some(Box::pin(async move {
                let observation = source.observe(&objects).await;
                (source, observation)
            }));
        }
        None
    }

    /// The transaction that the server was asked about, and what the server has said. It may be dropped before it is ready.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub async fn answered(&mut self) -> Result<(WholeTransaction, Observation), StreamError> {
        let Some(question) = &mut self.question else {
            return std::future::pending().await;
        };
        let (source, observation) = question.await;
        (self.source, self.question) = (Some(source), None);
        let transaction = self.waiting.pop_front().ok_or(StreamError::Ended)?;
        self.statement_bytes -= transaction.statement_bytes();
        Ok((transaction, observation?))
    }
}

impl WholeTransaction {
    fn statement_bytes(&self) -> usize {
        self.changes.iter().map(|it| it.statement.len()).sum()
    }
}
