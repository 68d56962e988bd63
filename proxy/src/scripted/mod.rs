//! Sessions that run a script of MySQL Proxy's kind: their packets are whole, and hooks see them.
//!
//! ```text
//!  all       the interpreters: one for all workers, or one for each
//!  begin     connect_server, read_handshake, read_auth, read_auth_result; the login passes through
//!  session   one command at a time: read_query decides
//!  injected  what the script wants to be sent, reply by reply: read_query_result decides
//!  exchange  a command to the backend, its reply to the client or kept
//!  parked    connections that wait in the script's pools
//! ```
//!
//! Sessions without a script never come here. What a script could not read is not agreed on: no
//! DEPRECATE_EOF, no query attributes, no metadata left out.

pub(crate) mod all;
pub(crate) mod auth_ear;
pub(crate) mod begin;
pub(crate) mod exchange;
pub(crate) mod facts;
pub(crate) mod host;
pub(crate) mod injected;
pub(crate) mod meet;
pub(crate) mod parked;
pub(crate) mod server;
pub(crate) mod session;
