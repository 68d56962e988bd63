//! The options of a server, and the events that it reports.

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use super::family::Family;

/// Is told what happens at a server.
pub type Observer = Rc<dyn Fn(&Event<'_>)>;

/// How a server is set up.
#[derive(Clone)]
pub struct Options {
    /// MariaDB or MySQL.
    pub family: Family,
    /// `@@server_id`.
    pub server_id: u32,
    /// `@@max_connections`: one more is let in for an administrator.
    pub max_connections: usize,
    /// Users, their passwords, what they may do.
    pub accounts: Vec<(String, String, Rights)>,
    /// `@@wait_timeout` of new sessions.
    pub wait_timeout: Duration,
    /// Schemas that are there from the beginning.
    pub schemas: Vec<String>,
    /// What the scrambles of greetings are drawn from.
    pub seed: u64,
    /// The observer that gets the server's events, if there is one.
    pub observer: Option<Observer>,
}

/// What an account may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Everything that an application needs.
    Application,
    /// The same, and to see and kill others, to write to a server that is read-only, to set global variables.
    Administrator,
}

/// Something that happens at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A connection has logged in.
    Connected {
        /// Its id.
        connection: u32,
        /// The user.
        user: &'a str,
    },
    /// A statement begins to run. A prepared one is told with the text that was prepared.
    Began {
        /// On which connection.
        connection: u32,
        /// Its text.
        statement: &'a str,
        /// The session has no transaction, no temporary table and no lock.
        is_free: bool,
    },
    /// A group has been committed; at a replica, also one that was committed at its source.
    Committed {
        /// On which connection; 0 at a replica.
        connection: u32,
        /// Its GTID.
        gtid: &'a str,
    },
    /// A connection has ended.
    Disconnected {
        /// Its id.
        connection: u32,
    },
}

impl Options {
    /// A server with room for 151 connections, an account `app` with the password `secret` and an administrator
    /// `root` without a password.
    pub fn new(family: Family, server_id: u32) -> Self {
        Self {
            family,
            server_id,
            max_connections: 151,
            accounts: vec![
                ("root".to_owned(), String::new(), Rights::Administrator),
                ("app".to_owned(), "secret".to_owned(), Rights::Application),
            ],
            wait_timeout: Duration::from_secs(28_800),
            schemas: Vec::new(),
            seed: server_id.into(),
            observer: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("family", &self.family)
            .field("server_id", &self.server_id)
            .finish_non_exhaustive()
    }
}
