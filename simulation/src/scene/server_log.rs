//! What the servers of a scene have executed, and what is to happen when one of them begins a statement.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::server::{Event, Observer};

/// A statement that a server has begun for a session of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The server's number; 0: the primary.
    pub server: usize,
    /// The id of the connection at the server.
    pub connection: u32,
    /// The statement, without comments around it.
    pub text: String,
}

/// What is to be done when a statement begins.
struct Due {
    /// A part of the statement's text.
    part: String,
    act: Box<dyn FnOnce(&Ran)>,
}

/// The statements of all servers of a scene.
#[derive(Default)]
pub(super) struct ServerLog {
    /// Connections of administrators: the monitor's, and the test's own.
    administrators: RefCell<BTreeSet<(usize, u32)>>,
    ran: RefCell<Vec<Ran>>,
    due: RefCell<Option<Due>>,
}

impl ServerLog {
    /// What tells this log of a server's events.
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

    /// The statements of clients' sessions since this was last asked.
    pub fn take(&self) -> Vec<Ran> {
        self.ran.take()
    }

    /// Has something done when the next statement begins that has this text.
    pub fn when(&self, part: &str, act: impl FnOnce(&Ran) + 'static) {
        *self.due.borrow_mut() = Some(Due {
            part: part.to_owned(),
            act: Box::new(act),
        });
    }

    /// Whether no such statement has come yet.
    pub fn is_due(&self) -> bool {
        self.due.borrow().is_some()
    }
}
