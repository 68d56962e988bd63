//! What a client knows of its session.

use super::COMMAND_LIMIT;
use crate::books::Books;
use crate::client::Client;
use crate::patience::Patience;
use crate::world::administration::Door;

/// A session, and what must be true of it.
pub struct Session {
    /// Its connection.
    pub client: Client,
    /// How long it waits for a reply.
    pub patience: Patience,
    /// Where it has connected.
    pub door: Door,
    /// What `@kept` is.
    pub variable: Option<u64>,
    /// What `lock_wait_timeout` was set to.
    pub lock_wait: Option<u64>,
    /// The default schema that was chosen.
    pub schema: Option<&'static str>,
    /// Rows in its temporary table.
    pub temporary: Option<Vec<u64>>,
    /// The user lock that it holds.
    pub lock: Option<u64>,
    /// Whether it has begun a transaction that it has not ended.
    pub is_within: bool,
    /// Prepared statements.
    pub prepared: Prepared,
    /// The session's own number, which marks the lock's holder.
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
    /// A new one, of which nothing is set.
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

    /// The session is as after its login.
    pub fn reset(&mut self, books: &Books) {
        self.forget_lock(books);
        self.variable = None;
        self.lock_wait = None;
        self.temporary = None;
        self.prepared = Prepared::default();
    }

    /// Nobody can say any more that this session holds its lock.
    pub fn forget_lock(&mut self, books: &Books) {
        if let Some(lock) = self.lock.take() {
            books.let_go(lock, self.id);
        }
    }
}
