//! The client of a session: its connection, and how packets to it look.

use auth::{Origin, Privacy};
use net::proxy_protocol;
use wire::{Capabilities, StatusFlags};

use link::client_command::Inbox;
use link::leg::Leg;

/// The client of one session.
pub struct ClientSide {
    /// The connection.
    pub leg: Leg,
    pub(crate) inbox: Inbox,
    /// Which of the protocol's variants the packets of both directions use.
    pub capabilities: Capabilities,
    /// The same with the flags that matter only at the login.
    pub(crate) login_capabilities: Capabilities,
    /// The status flags of the last reply.
    pub status: StatusFlags,
    pub(crate) privacy: Privacy,
    /// Few sessions have TLS, and many wait.
    pub(crate) tls: Option<Box<net::tls::Facts>>,
    pub(crate) origin: Origin,
    /// The addresses of the connection, for backends that are told by a PROXY header.
    pub(crate) header: proxy_protocol::Header,
}
