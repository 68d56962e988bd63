//! What an administrator changes while clients work, and what must be true of it at each moment.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::rc::Rc;

use super::{proxy_address, server_address};
use crate::client::Tally;

/// Whether a backend gets statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duty {
    /// It gets them.
    #[default]
    Serving,
    /// It gets no new ones.
    Draining,
    /// It is out of use.
    Disabled,
}

/// What may be changed of a proxy's configuration.
#[derive(Clone, Debug)]
pub struct Changes {
    /// Whether reads share connections.
    pub lanes: bool,
    /// Whether there is the rule that answers [`RULED`].
    pub has_rule: bool,
    /// Whether the proxy knows the account of guests.
    pub has_guest: bool,
    /// Of each backend.
    pub duties: Vec<Duty>,
}

/// The statement that the rule answers, what a server answers it with, and what the rule does.
pub const RULED: &str = "SELECT 'by a server'";
/// See [`RULED`].
pub const BY_SERVER: &str = "by a server";
/// See [`RULED`].
pub const BY_RULE: &str = "by the rule";

/// The second account, which the proxy does not always know.
pub const GUEST: &str = "guest";
/// Its password.
pub const GUEST_PASSWORD: &str = "guest-password";
/// Sessions that it may have at once.
pub const GUESTS_MAX: usize = 2;

/// Something that is on or off, and that takes a moment to change.
#[derive(Debug, Default)]
pub struct Switch {
    is_on: Cell<Option<bool>>,
    changes: Cell<u64>,
}

/// What a switch was at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    is_on: Option<bool>,
    changes: u64,
}

/// One proxy as it is administered.
#[derive(Debug)]
pub struct Administered {
    /// Its configuration, as it was changed last.
    pub changes: RefCell<Changes>,
    /// Whether the rule is there.
    pub rule: Switch,
    /// Whether guests may log in.
    pub guest: Switch,
    /// Guests that are surely logged in.
    pub guests: Cell<usize>,
    /// Clients that are surely logged in, at all listeners.
    pub clients: Cell<usize>,
    /// Sessions that it may have at once; none: more than there are clients.
    pub sessions_max: Option<usize>,
    /// Statements of its pooled sessions, as clients know of them.
    pub tally: Rc<Tally>,
}

/// Where clients may connect.
#[derive(Clone)]
pub struct Door {
    /// Where.
    pub address: std::net::SocketAddr,
    /// How the proxy there is administered.
    pub proxy: Rc<Administered>,
    /// Whether sessions there share connections.
    pub is_pooled: bool,
}

impl Switch {
    fn of(is_on: bool) -> Self {
        Self {
            is_on: Cell::new(Some(is_on)),
            changes: Cell::new(0),
        }
    }

    /// It is being changed: it may be either way.
    pub fn begin(&self) {
        self.is_on.set(None);
        self.changes.set(self.changes.get() + 1);
    }

    /// The change has taken effect.
    pub fn end(&self, is_on: bool) {
        self.is_on.set(Some(is_on));
    }

    /// What it is.
    pub fn look(&self) -> Seen {
        Seen {
            is_on: self.is_on.get(),
            changes: self.changes.get(),
        }
    }

    /// What it was all the time since `begin`; none if it has changed.
    pub fn held(&self, begin: Seen) -> Option<bool> {
        begin.is_on.filter(|_| self.changes.get() == begin.changes)
    }
}

impl Changes {
    /// The configuration that a proxy begins with.
    pub fn none(lanes: bool, servers: usize) -> Self {
        Self {
            lanes,
            has_rule: false,
            has_guest: true,
            duties: vec![Duty::Serving; servers],
        }
    }

    /// The account of guests and the rule, for a configuration file.
    pub fn write(&self, text: &mut String) {
        if self.has_guest {
            // A string takes everything.
            let _ = writeln!(
                text,
                "[[account]]\nuser = \"{GUEST}\"\npassword = \"{GUEST_PASSWORD}\"\nconnections_max = {GUESTS_MAX}"
            );
        }
        if self.has_rule {
            let _ = writeln!(
                text,
                "[[rule]]\nname = \"ruled\"\nregex = \"^{RULED}$\"\nanswer = \"rows\"\nanswer_columns = [\"a\"]\n\
                 answer_rows = [[\"{BY_RULE}\"]]"
            );
        }
    }

    /// A backend's part of a configuration file.
    pub fn write_backend(&self, server: usize, role: &str, text: &mut String) {
        let address = server_address(server);
        let duty = match self.duties[server] {
            Duty::Serving => "",
            Duty::Draining => "\ndrain = true",
            Duty::Disabled => "\ndisable = true",
        };
        let _ = writeln!(
            text,
            "[[backend]]\nname = \"s{server}\"\naddress = \"{address}\"\nrole = \"{role}\"{duty}"
        );
    }
}

impl Administered {
    /// A proxy that was just started.
    pub fn new(changes: Changes, sessions_max: Option<usize>) -> Rc<Self> {
        Rc::new(Self {
            clients: Cell::new(0),
            sessions_max,
            tally: Rc::default(),
            rule: Switch::of(changes.has_rule),
            guest: Switch::of(changes.has_guest),
            guests: Cell::new(0),
            changes: RefCell::new(changes),
        })
    }
}

impl Administered {
    /// A client has logged in.
    ///
    /// # Errors
    /// More are in than may be. Where sessions are killed, one that was has left its place before its client knows.
    pub fn enter(&self, has_kills: bool) -> Result<(), String> {
        let count = self.clients.get() + 1;
        self.clients.set(count);
        match self.sessions_max.filter(|_| !has_kills) {
            Some(most) if count > most => Err(format!("{count} clients are in, of {most}")),
            _ => Ok(()),
        }
    }

    /// A client is about to leave.
    pub fn leave(&self) {
        self.clients.set(self.clients.get() - 1);
    }
}

impl Door {
    /// Where statements are counted that are sent here.
    pub fn tally(&self) -> Option<Rc<Tally>> {
        self.is_pooled.then(|| Rc::clone(&self.proxy.tally))
    }

    /// The listeners of a proxy: the pooled one, and the transparent one if there is one.
    pub fn of(proxy: &Rc<Administered>, number: usize, listeners: usize) -> Vec<Door> {
        let door = |listener| Door {
            address: proxy_address(number, listener),
            proxy: Rc::clone(proxy),
            is_pooled: listener == 0,
        };
        (0..listeners).map(door).collect()
    }
}
