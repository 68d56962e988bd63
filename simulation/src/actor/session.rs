//! The state that a client expects of its session.

use super::COMMAND_LIMIT;
use crate::books::Books;
use crate::client::Client;
use crate::patience::Patience;
use crate::world::administration::Door;

/// A session, and the state that it must have.
pub struct Session {
    /// The session's connection.
    pub client: Client,
    /// The limit of the wait for a reply.
    pub patience: Patience,
    /// The listener to which the session is connected.
    pub door: Door,
    /// The value of `@kept`.
    pub variable: Option<u64>,
    /// The value to which the session has set `lock_wait_timeout`.
    pub lock_wait: Option<u64>,
    /// The default schema that the session has chosen.
    pub schema: Option<&'static str>,
    /// Rows in the session's temporary table.
    pub temporary: Option<Vec<u64>>,
    /// The user lock that the session holds.
    pub lock: Option<u64>,
    /// Whether the session has begun a transaction and not ended it.
    pub is_within: bool,
    /// Prepared statements.
    pub prepared: Prepared,
    /// The session's number, which identifies a lock's holder in the books.
    pub id: u64,
}

/// Ids of prepared statements.
#[derive(Default)]
pub struct Prepared {
    /// `SELECT ?`.
    pub echo: Option<u32>,
    /// Reads a token.
    pub read: Option<u32>,
    /// Writes a token.
    pub write: Option<u32>,
    /// Changes a balance.
    pub change: Option<u32>,
}

impl Session {
    /// Returns a new session with nothing set.
    pub fn new(client: Client, door: Door, id: u64) -> Self {
        Self {
            client,
            patience: Patience::new(COMMAND_LIMIT),
            door,
            variable: None,
            lock_wait: None,
            schema: None,
            temporary: None,
            lock: None,
            is_within: false,
            prepared: Prepared::default(),
            id,
        }
    }

    /// Sets the expected state to that after a login.
    pub fn reset(&mut self, books: &Books) {
        self.forget_lock(books);
        self.variable = None;
        self.lock_wait = None;
        self.temporary = None;
        self.prepared = Prepared::default();
    }

    /// Notes that it is not certain any more that this session holds its lock.
    pub fn forget_lock(&mut self, books: &Books) {
        if let Some(lock) = self.lock.take() {
            books.let_go(lock, self.id);
        }
    }
}
