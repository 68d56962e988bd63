//! The configuration that an administrator changes while clients work, and the invariants that hold at each moment.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::rc::Rc;

use super::{proxy_address, server_address};
use crate::client::Tally;

/// The state of a backend: whether it gets statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duty {
    /// The backend gets statements.
    #[default]
    Serving,
    /// The backend gets no new statements.
    Draining,
    /// The backend is disabled.
    Disabled,
}

/// The settings of a proxy's configuration that may change.
#[derive(Clone, Debug)]
pub struct Changes {
    /// Whether reads share connections.
    pub lanes: bool,
    /// Whether the configuration has the rule that answers [`RULED`].
    pub has_rule: bool,
    /// Whether the proxy knows the account of guests.
    pub has_guest: bool,
    /// The state of each backend.
    pub duties: Vec<Duty>,
}

/// The statement that the rule answers. A server answers it with [`BY_SERVER`], the rule with [`BY_RULE`].
pub const RULED: &str = "SELECT 'by a server'";
/// See [`RULED`].
pub const BY_SERVER: &str = "by a server";
/// See [`RULED`].
pub const BY_RULE: &str = "by the rule";

/// The second account, which the proxy does not always know.
pub const GUEST: &str = "guest";
/// The guest account's password.
pub const GUEST_PASSWORD: &str = "guest-password";
/// The number of sessions that the guest account may have at once.
pub const GUESTS_MAX: usize = 2;

/// A setting that is on or off, and that takes a moment to change.
#[derive(Debug, Default)]
pub struct Switch {
    is_on: Cell<Option<bool>>,
    changes: Cell<u64>,
}

/// A switch's value at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    is_on: Option<bool>,
    changes: u64,
}

/// The administered state of one proxy.
#[derive(Debug)]
pub struct Administered {
    /// The proxy's current configuration.
    pub changes: RefCell<Changes>,
    /// Whether the configuration has the rule.
    pub rule: Switch,
    /// Whether guests may log in.
    pub guest: Switch,
    /// Guests that are certainly logged in.
    pub guests: Cell<usize>,
    /// Clients that are certainly logged in, at all listeners.
    pub clients: Cell<usize>,
    /// Sessions that the proxy may have at once. `None`: the limit is above the number of clients.
    pub sessions_max: Option<usize>,
    /// Counts of the pooled sessions' statements, as clients know them.
    pub tally: Rc<Tally>,
}

/// A listener to which clients may connect.
#[derive(Clone)]
pub struct Door {
    /// The listener's address.
    pub address: std::net::SocketAddr,
    /// The administered state of the listener's proxy.
    pub proxy: Rc<Administered>,
    /// Whether sessions of this listener share connections.
    pub is_pooled: bool,
}

impl Switch {
    fn of(is_on: bool) -> Self {
        Self {
            is_on: Cell::new(Some(is_on)),
            changes: Cell::new(0),
        }
    }

    /// Notes that a change begins. Until it ends, the value may be on or off.
    pub fn begin(&self) {
        self.is_on.set(None);
        self.changes.set(self.changes.get() + 1);
    }

    /// Notes that the change has taken effect.
    pub fn end(&self, is_on: bool) {
        self.is_on.set(Some(is_on));
    }

    /// Returns the current value.
    pub fn look(&self) -> Seen {
        Seen {
            is_on: self.is_on.get(),
            changes: self.changes.get(),
        }
    }

    /// Returns the value since `begin`. `None` if the value has changed since then.
    pub fn held(&self, begin: Seen) -> Option<bool> {
        begin.is_on.filter(|_| self.changes.get() == begin.changes)
    }
}

impl Changes {
    /// Returns the configuration with which a proxy starts.
    pub fn none(lanes: bool, servers: usize) -> Self {
        Self {
            lanes,
            has_rule: false,
            has_guest: true,
            duties: vec![Duty::Serving; servers],
        }
    }

    /// Writes the account of guests and the rule for a configuration file.
    pub fn write(&self, text: &mut String) {
        if self.has_guest {
            // A write to a string cannot fail.
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

    /// Writes a backend's table for a configuration file.
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
    /// Returns the state of a proxy that was just started.
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
    /// Counts a client that has logged in.
    ///
    /// # Errors
    /// More clients are logged in than the limit allows. With `has_kills` this is no error, because a killed session
    /// leaves its place before its client knows.
    pub fn enter(&self, has_kills: bool) -> Result<(), String> {
        let count = self.clients.get() + 1;
        self.clients.set(count);
        match self.sessions_max.filter(|_| !has_kills) {
            Some(most) if count > most => Err(format!("{count} clients are in, of {most}")),
            _ => Ok(()),
        }
    }

    /// Notes that a client is about to disconnect.
    pub fn leave(&self) {
        self.clients.set(self.clients.get() - 1);
    }
}

impl Door {
    /// Returns the counts to which statements for this listener are added.
    pub fn tally(&self) -> Option<Rc<Tally>> {
        self.is_pooled.then(|| Rc::clone(&self.proxy.tally))
    }

    /// Returns the listeners of a proxy: the pooled one, and the transparent one if there is one.
    pub fn of(proxy: &Rc<Administered>, number: usize, listeners: usize) -> Vec<Door> {
        let door = |listener| Door {
            address: proxy_address(number, listener),
            proxy: Rc::clone(proxy),
            is_pooled: listener == 0,
        };
        (0..listeners).map(door).collect()
    }
}
