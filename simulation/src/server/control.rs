//! The control of a connection by other connections: kill it, drop it, wake it.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::ast::{KillScope, Name};

/// How a connection is asked to end from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At once, without an error packet: the server has crashed.
    Dropped,
    /// The server shuts down in order.
    ShutDown,
}

/// A connection, as other connections see it.
#[derive(Debug)]
pub struct Control {
    /// Its id.
    pub id: u32,
    /// The user, once the login has succeeded.
    pub user: RefCell<Name>,
    /// The default schema.
    pub schema: RefCell<Option<Name>>,
    /// The statement that the connection executes. `None`: the connection waits for a command.
    pub statement: RefCell<Option<Name>>,
    /// The connection's state, in SHOW PROCESSLIST's words.
    pub state: Cell<&'static str>,
    /// How many rows its transaction has changed and locked: of two that wait for each other the lighter one
    /// is rolled back.
    pub weight: Cell<u64>,
    kill: Cell<Option<KillScope>>,
    end: Cell<Option<End>>,
    waker: RefCell<Option<Waker>>,
}

impl Control {
    /// A connection that has just come.
    pub fn new(id: u32) -> Self {
        Self {
            id,
            user: RefCell::new(Name::from("unauthenticated user")),
            schema: RefCell::default(),
            statement: RefCell::default(),
            state: Cell::new(""),
            weight: Cell::new(0),
            kill: Cell::new(None),
            end: Cell::new(None),
            waker: RefCell::new(None),
        }
    }

    /// KILL. To a connection that executes nothing KILL QUERY does nothing.
    pub fn kill(&self, scope: KillScope) {
        if scope == KillScope::Query && self.statement.borrow().is_none() {
            return;
        }
        if self.kill.get() != Some(KillScope::Connection) {
            self.kill.set(Some(scope));
        }
        self.wake();
    }

    /// How it was killed, if it was.
    pub fn killed(&self) -> Option<KillScope> {
        self.kill.get()
    }

    /// Clears a KILL QUERY after its statement has ended, because it applies to no other statement.
    pub fn forget_query_kill(&self) {
        if self.kill.get() == Some(KillScope::Query) {
            self.kill.set(None);
        }
    }

    /// Asks the connection to end.
    pub fn end(&self, end: End) {
        if self.end.get() != Some(End::Dropped) {
            self.end.set(Some(end));
        }
        self.wake();
    }

    /// Whether the connection's statement is to stop.
    pub fn is_to_stop(&self) -> bool {
        self.kill.get().is_some() || self.end.get().is_some()
    }

    /// Returns how the connection is to end, if it is to end.
    pub fn ends(&self) -> Option<End> {
        self.end.get()
    }

    /// Wakes the connection's task, which then checks its wait again.
    pub fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Runs a connection's whole life. It ends early if it is dropped, and stands still while `is_frozen`.
    pub async fn run(&self, is_frozen: &Cell<bool>, life: impl Future<Output = ()>) {
        let mut life = std::pin::pin!(life);
        std::future::poll_fn(|context| self.poll(is_frozen, life.as_mut(), context)).await;
    }

    fn poll(
        &self,
        is_frozen: &Cell<bool>,
        life: Pin<&mut impl Future<Output = ()>>,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        self.note(context);
        if self.end.get() == Some(End::Dropped) {
            return Poll::Ready(());
        }
        match is_frozen.get() {
            true => Poll::Pending,
            false => life.poll(context),
        }
    }

    fn note(&self, context: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        let is_known = waker
            .as_ref()
            .is_some_and(|it| it.will_wake(context.waker()));
        if !is_known {
            *waker = Some(context.waker().clone());
        }
    }
}
