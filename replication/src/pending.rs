//! Complete transactions that are not in the history yet. The server is asked for the definitions of the first
//! one's objects, and more transactions come meanwhile.
//!
//! The stream must read and acknowledge events during the query. With semi-synchronous replication a statement keeps
//! its objects locked until the acknowledgement, and the server cannot show the definition of a locked object.
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

/// The limits of waiting transactions, after which the stream stops reading: bytes of statements, and transactions.
const STATEMENT_BYTES_MAX: usize = 16 << 20;
const TRANSACTIONS_MAX: usize = 1 << 16;

/// A complete transaction.
pub(crate) struct WholeTransaction {
    pub gtid: Gtid,
    pub changes: Vec<Change>,
}

/// The pending transactions of one connection.
pub(crate) struct PendingTransactions {
    waiting: VecDeque<WholeTransaction>,
    /// The length of all waiting statements, in bytes.
    statement_bytes: usize,
    /// The connection for queries; none while a query runs.
    source: Option<Box<DefinitionSource>>,
    /// The running query, for the first waiting transaction.
    question: Option<Question>,
}

/// A running query. Its result contains the connection.
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

    /// Adds a complete transaction.
    pub fn push(&mut self, transaction: WholeTransaction) {
        self.statement_bytes += transaction.statement_bytes();
        self.waiting.push_back(transaction);
    }

    /// Whether the stream may read more events.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < TRANSACTIONS_MAX && self.statement_bytes < STATEMENT_BYTES_MAX
    }

    /// Whether a query runs.
    pub fn is_querying(&self) -> bool {
        self.question.is_some()
    }

    /// Returns the next transaction if it changes no object. If it does, starts the query for it.
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

    /// Waits for the query. Returns its transaction and the definitions. The future may be dropped before it is ready.
    ///
    /// # Errors
    /// The query fails.
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
