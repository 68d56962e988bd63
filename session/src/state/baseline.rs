//! The values that a login leaves, read once per backend connection. The connection goes back to them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use sql::{Charset, Flags, Server};

use super::variables::{MARIADB_BITS, is_boolean};
use super::{literal, tracked};

/// Variables whose value after login is not what `DEFAULT` gives (the handshake sets character sets
/// and `wait_timeout`; MySQL's `foreign_key_checks` and `unique_checks` become OFF by DEFAULT), or
/// that decide how statements are read.
const NAMES: &[&str] = &[
    "character_set_client",
    "character_set_results",
    "collation_connection",
    "sql_mode",
    "autocommit",
    "foreign_key_checks",
    "unique_checks",
    "wait_timeout",
];

/// Collations by the key that decides over them.
type Collations = BTreeMap<Box<[u8]>, Rc<[u8]>>;

/// The values that login left on a backend connection.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Baseline {
    server: Server,
    values: Vec<(&'static str, Rc<[u8]>)>,
    flags: Flags,
    /// The collation that SET NAMES gives a character set, as far as the server has been asked.
    collations: RefCell<Collations>,
}

impl Baseline {
    /// Returns the statement that asks for the baseline; its reply is one row. To be sent directly after login.
    pub fn question() -> String {
        let columns: Vec<String> = NAMES
            .iter()
            .map(|name| format!("@@session.{name}"))
            .collect();
        format!("SELECT {}", columns.join(","))
    }

    /// Returns the statement that makes a backend connection report changes. To be sent directly
    /// after login. COM_RESET_CONNECTION undoes it.
    ///
    /// It has no quotes: a string would be in the connection's character set, which may be UCS-2.
    pub fn tracking(server: Server) -> String {
        let mut text = b"SET session_track_schema=ON,session_track_state_change=ON,\
                         session_track_transaction_info=CHARACTERISTICS,\
                         session_track_system_variables="
            .to_vec();
        literal::hex(&mut text, Self::tracked(server).as_bytes());
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The variables that the statement names, with commas between.
    pub fn tracked(server: Server) -> &'static str {
        // A server that is not known reports more than is needed.
        match server {
            Server::MySql(_) => tracked::MYSQL,
            Server::MariaDb(_) | Server::Unknown => "*",
        }
    }

    /// Reads the answer to [`Self::question`]; none if it has another number of columns.
    pub fn read(server: Server, row: &[Option<&[u8]>]) -> Option<Self> {
        if row.len() != NAMES.len() {
            return None;
        }
        let values = NAMES.iter().zip(row).map(|(name, value)| {
            let value = value.unwrap_or_default();
            (*name, as_selected(name.as_bytes(), value))
        });
        let mut baseline = Self {
            server,
            values: values.collect(),
            ..Self::default()
        };
        baseline.flags = baseline.flags_with(None, None);
        Some(baseline)
    }

    /// The server's family and version.
    pub fn server(&self) -> Server {
        self.server
    }

    /// Returns the flags for reading a fresh session's statements.
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// The value of a variable after login; none if `DEFAULT` gives it.
    pub fn value(&self, name: &[u8]) -> Option<&Rc<[u8]>> {
        let found = self.values.iter().find(|(of, _)| of.as_bytes() == name);
        found.map(|(_, value)| value)
    }

    /// Whether login left UTF-8 as the character set of statements.
    pub(super) fn is_utf8(&self) -> bool {
        let client = self.value(b"character_set_client");
        client.is_some_and(|client| client.starts_with(b"utf8"))
    }

    /// Its variables and their values.
    pub(super) fn values(&self) -> impl Iterator<Item = (&'static str, &Rc<[u8]>)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    /// The flags with these values of `sql_mode` and `character_set_client` instead of its own.
    pub(super) fn flags_with(&self, mode: Option<&[u8]>, client: Option<&[u8]>) -> Flags {
        let own = |name: &[u8]| self.value(name).map(|value| &**value).unwrap_or_default();
        let mode = mode.unwrap_or_else(|| own(b"sql_mode"));
        let client = client.unwrap_or_else(|| own(b"character_set_client"));
        let flags = Flags {
            charset: Charset::of_name(client),
            server: self.server,
            ..Flags::default()
        };
        flags.in_mode(mode)
    }

    /// The collation that SET NAMES without COLLATE gives, if the server has told it before. `key`
    /// holds the character set and everything else that decides over it.
    pub(super) fn collation_of(&self, key: &[u8]) -> Option<Rc<[u8]>> {
        self.collations.borrow().get(key).cloned()
    }

    /// Remembers a collation that the server told.
    pub(super) fn learn_collation(&self, key: Box<[u8]>, collation: Rc<[u8]>) {
        let mut known = self.collations.borrow_mut();
        if known.len() < 64 {
            known.insert(key, collation);
        }
    }
}

/// Returns a value as the trackers report it: SELECT says 1 where they say ON.
pub(super) fn as_selected(name: &[u8], value: &[u8]) -> Rc<[u8]> {
    let is_switch = is_boolean(name) || MARIADB_BITS.iter().any(|bit| bit.as_bytes() == name);
    match value {
        b"1" if is_switch => Rc::from(&b"ON"[..]),
        b"0" if is_switch => Rc::from(&b"OFF"[..]),
        other => Rc::from(other),
    }
}
