//! Facts about sockets and backends, for scripts.

use mlua::{Lua, Table};

/// `proxy.BACKEND_STATE_UNKNOWN`.
pub const BACKEND_STATE_UNKNOWN: i64 = 0;
/// `proxy.BACKEND_STATE_UP`.
pub const BACKEND_STATE_UP: i64 = 1;
/// `proxy.BACKEND_STATE_DOWN`.
pub const BACKEND_STATE_DOWN: i64 = 2;
/// `proxy.BACKEND_TYPE_UNKNOWN`.
pub const BACKEND_TYPE_UNKNOWN: i64 = 0;
/// `proxy.BACKEND_TYPE_RW`.
pub const BACKEND_TYPE_RW: i64 = 1;
/// `proxy.BACKEND_TYPE_RO`.
pub const BACKEND_TYPE_RO: i64 = 2;

/// An address of a socket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddressFacts {
    /// `ip:port`, `[ip6]:port` or a path; empty for an unnamed Unix socket.
    pub name: String,
    /// The IP address or the path.
    pub address: String,
    /// The port, for TCP only.
    pub port: Option<u16>,
    /// The address family's number: `AF_UNIX`, `AF_INET`, `AF_INET6`.
    pub family: u16,
}

/// One side of a session: its addresses, and the facts from its login.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SocketFacts {
    /// Of a backend connection: the name by which scripts move it.
    pub id: Option<u64>,
    /// Of a backend connection: which backend, from 1.
    pub backend: Option<usize>,
    /// The address of the connecting side.
    pub source: AddressFacts,
    /// The address of the listening side.
    pub destination: AddressFacts,
    /// The default schema; empty if there is none.
    pub schema: Vec<u8>,
    /// The user that has logged in.
    pub user: Option<Vec<u8>>,
    /// The login's authentication data.
    pub scrambled_password: Option<Vec<u8>>,
    /// The authentication plugin.
    pub plugin: Option<Vec<u8>>,
    /// The server's version as a number: 50145 for 5.1.45.
    pub version: Option<u32>,
    /// The server's id of the connection.
    pub thread_id: Option<u32>,
    /// The greeting's challenge.
    pub scramble: Option<Vec<u8>>,
    /// A number for the negotiated properties: a connection serves only sessions with the same number.
    pub kind: Option<u64>,
}

/// One backend, as scripts see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendFacts {
    /// The name by which the backend is recognized in later updates.
    pub name: String,
    /// Its configured address.
    pub address: AddressFacts,
    /// `BACKEND_STATE_*`.
    pub state: i64,
    /// `BACKEND_TYPE_*`.
    pub role: i64,
    /// How many connections to the backend there may be for sessions that get one for each command.
    pub connections_max: u32,
    /// How many sessions are on the backend, if scripts do not count them themselves.
    pub sessions: Option<u32>,
}

impl AddressFacts {
    fn table(&self, lua: &Lua) -> mlua::Result<Table> {
        let table = lua.create_table()?;
        table.raw_set("name", self.name.as_str())?;
        table.raw_set("address", self.address.as_str())?;
        table.raw_set("port", self.port)?;
        table.raw_set("type", self.family)?;
        Ok(table)
    }
}

impl SocketFacts {
    pub(crate) fn table(&self, lua: &Lua) -> mlua::Result<Table> {
        let text = |bytes: &Option<Vec<u8>>| match bytes {
            Some(bytes) => lua.create_string(bytes).map(Some),
            None => Ok(None),
        };
        let table = lua.create_table()?;
        table.raw_set("id", self.id)?;
        table.raw_set("backend", self.backend)?;
        table.raw_set("src", self.source.table(lua)?)?;
        table.raw_set("dst", self.destination.table(lua)?)?;
        table.raw_set("default_db", lua.create_string(&self.schema)?)?;
        table.raw_set("username", text(&self.user)?)?;
        table.raw_set("scrambled_password", text(&self.scrambled_password)?)?;
        table.raw_set("auth_plugin_name", text(&self.plugin)?)?;
        table.raw_set("mysqld_version", self.version)?;
        table.raw_set("thread_id", self.thread_id)?;
        table.raw_set("scramble_buffer", text(&self.scramble)?)?;
        table.raw_set("kind", self.kind)?;
        Ok(table)
    }
}

impl BackendFacts {
    pub(crate) fn table(&self, lua: &Lua) -> mlua::Result<Table> {
        let table = lua.create_table()?;
        table.raw_set("name", self.name.as_str())?;
        table.raw_set("dst", self.address.table(lua)?)?;
        table.raw_set("state", self.state)?;
        table.raw_set("type", self.role)?;
        table.raw_set("connections_max", self.connections_max)?;
        table.raw_set("sessions", self.sessions)?;
        Ok(table)
    }
}
