//! The statements that the servers of a scene have executed, and actions for when a server begins a statement.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::server::{Event, Observer};

/// A statement that a server has begun for a client's session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The server's number. Number 0 is the primary.
    pub server: usize,
    /// The id of the connection at the server.
    pub connection: u32,
    /// The statement, without comments around it.
    pub text: String,
}

/// An action for when a statement begins.
struct Due {
    /// A part of the statement's text.
    part: String,
    act: Box<dyn FnOnce(&Ran)>,
}

/// The statements of all servers of a scene.
#[derive(Default)]
pub(super) struct ServerLog {
    /// Connections of administrators: those of the monitor and of the test.
    administrators: RefCell<BTreeSet<(usize, u32)>>,
    ran: RefCell<Vec<Ran>>,
    due: RefCell<Option<Due>>,
}

impl ServerLog {
    /// Returns the observer that passes a server's events to this log.
    pub fn observer(self: &Rc<Self>, server: usize) -> Observer {
        let log = Rc::clone(self);
        Rc::new(move |event| log.note(server, event))
    }

    fn note(&self, server: usize, event: &Event<'_>) {
        match *event {
            Event::Connected {
                connection,
                user: "root",
            } => {
                self.administrators
                    .borrow_mut()
                    .insert((server, connection));
            }
            Event::Began {
                connection,
                statement,
                ..
            } => self.begins(Ran {
                server,
                connection,
                text: statement.to_owned(),
            }),
            _ => {}
        }
    }

    fn begins(&self, ran: Ran) {
        let is_due = |due: &Due| ran.text.contains(&due.part);
        let due = self.due.borrow_mut().take_if(|due| is_due(due));
        if let Some(due) = due {
            (due.act)(&ran);
        }
        let key = (ran.server, ran.connection);
        if !self.administrators.borrow().contains(&key) {
            self.ran.borrow_mut().push(ran);
        }
    }

    /// Returns the statements of clients' sessions since the last call.
    pub fn take(&self) -> Vec<Ran> {
        self.ran.take()
    }

    /// Calls `act` when the next statement with this text begins.
    pub fn when(&self, part: &str, act: impl FnOnce(&Ran) + 'static) {
        *self.due.borrow_mut() = Some(Due {
            part: part.to_owned(),
            act: Box::new(act),
        });
    }

    /// Whether an action still waits for its statement.
    pub fn is_due(&self) -> bool {
        self.due.borrow().is_some()
    }
}
