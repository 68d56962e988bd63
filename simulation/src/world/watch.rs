//! Checks of the pools' connections as servers see them.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use super::Plan;
use crate::books::Books;
use crate::server::Event;

/// How late a server may learn that a connection has ended.
const FAREWELL: Duration = Duration::from_secs(2);

/// Watches the connections of pools to one server: they keep their limit, and a server that is drained gets nothing new.
/// A server learns of a connection's end a little later than the pool that has ended it.
pub struct Watch {
    server: usize,
    /// Connections with their users.
    open: RefCell<BTreeMap<u32, String>>,
    /// Connections that were ever opened.
    opened: Cell<u64>,
    /// Connections that have executed KILL. Most of them do not belong to pools.
    killers: RefCell<BTreeSet<u32>>,
    over_since: Cell<Option<Instant>>,
    /// The limit of the pools' connections. `None` if sessions connect that are not pooled, or if connections end
    /// without notice.
    most: Option<usize>,
    /// Whether the server is drained, and all statements that were sent before have arrived.
    is_drained: Cell<bool>,
    books: Books,
}

impl Watch {
    /// Returns the watch of one server.
    pub fn new(plan: &Plan, server: usize, books: &Books) -> Rc<Self> {
        Rc::new(Self {
            server,
            open: RefCell::default(),
            opened: Cell::default(),
            killers: RefCell::default(),
            over_since: Cell::default(),
            most: plan.is_exact().then_some(plan.proxies * plan.connections),
            is_drained: Cell::default(),
            books: books.clone(),
        })
    }

    /// Notes that the server is drained from now on, or is in use again.
    pub fn drain(&self, is_drained: bool) {
        self.is_drained.set(is_drained && self.most.is_some());
    }

    /// Connections of pools that are open.
    pub fn open(&self) -> usize {
        self.open.borrow().len()
    }

    /// Connections of pools that were ever opened: at least, and at most.
    pub fn opened(&self) -> (u64, u64) {
        let opened = self.opened.get();
        (opened - self.killers.borrow().len() as u64, opened)
    }

    /// Takes an event of the server, and checks it.
    pub fn see(&self, event: &Event<'_>, is_of_pools: impl Fn(&str) -> bool) {
        match *event {
            Event::Connected { connection, user } if is_of_pools(user) => {
                self.open.borrow_mut().insert(connection, user.to_owned());
                self.opened.set(self.opened.get() + 1);
                if self.is_drained.get() {
                    let server = self.server;
                    self.books.broken(format!(
                        "server {server} is drained and gets a new connection"
                    ));
                }
            }
            Event::Began {
                connection,
                statement,
                ..
            } if statement.starts_with("KILL ") && self.open.borrow().contains_key(&connection) => {
                self.killers.borrow_mut().insert(connection);
            }
            Event::Disconnected { connection } => {
                self.open.borrow_mut().remove(&connection);
            }
            Event::Began {
                connection,
                statement,
                is_free: true,
            } if self.is_drained.get()
                && is_echo(statement)
                && self.open.borrow().contains_key(&connection) =>
            {
                let server = self.server;
                self.books
                    .broken(format!("server {server} is drained and gets `{statement}`"));
            }
            _ => {}
        }
        self.check_limit();
    }

    fn check_limit(&self) {
        let Some(most) = self.most else {
            return;
        };
        let count = self.open();
        if count <= most {
            return self.over_since.set(None);
        }
        let now = net::clock::now();
        let since = self.over_since.get().unwrap_or(now);
        self.over_since.set(Some(since));
        if now - since > FAREWELL {
            let server = self.server;
            self.books.broken(format!(
                "{count} connections of pools to server {server}, of {most}"
            ));
        }
    }
}

/// Whether only a client sends this statement: `SELECT` and a number.
fn is_echo(statement: &str) -> bool {
    let number = statement.strip_prefix("SELECT ");
    number.is_some_and(|it| it.parse::<u64>().is_ok_and(|number| number > 0))
}
