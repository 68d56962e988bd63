//! The client of a session: its connection, and the form of packets to it.

use auth::{Origin, Privacy};
use net::proxy_protocol;
use wire::{Capabilities, StatusFlags};

use backend::exchange_outcome::LASTING;
use link::client_command::Inbox;
use link::leg::Leg;
use link::transport::Transport;

/// The client of one session.
pub struct ClientSide {
    /// The connection.
    leg: Leg,
    inbox: Inbox,
    /// Which of the protocol's variants the packets of both directions use.
    capabilities: Capabilities,
    /// These capabilities, with the flags that matter only at the login.
    login_capabilities: Capabilities,
    /// The status flags of the last reply.
    status: StatusFlags,
    privacy: Privacy,
    /// This is boxed, because few sessions have TLS, and many wait.
    tls: Option<Box<net::tls::Facts>>,
    origin: Origin,
    /// The addresses of the connection, for backends that are told by a PROXY header.
    header: proxy_protocol::Header,
}

impl ClientSide {
    /// A client whose connection is still with its login.
    pub fn new(
        (privacy, tls): (Privacy, Option<Box<net::tls::Facts>>),
        (capabilities, login_capabilities): (Capabilities, Capabilities),
        status: StatusFlags,
        (origin, header): (Origin, proxy_protocol::Header),
    ) -> Self {
        Self {
            leg: Leg::gone(),
            inbox: Inbox::default(),
            capabilities,
            login_capabilities,
            status,
            privacy,
            tls,
            origin,
            header,
        }
    }

    /// The client of a shadow session beside this one. Its replies are discarded.
    pub fn double(&self) -> Self {
        Self {
            leg: Leg::gone(),
            inbox: Inbox::default(),
            status: StatusFlags::AUTOCOMMIT,
            tls: None,
            origin: self.origin.clone(),
            ..*self
        }
    }

    /// Takes over the client's connection, with the bytes that were read from it before.
    pub fn join(&mut self, transport: Transport, ahead: Vec<u8>) {
        self.leg = Leg::new(transport);
        self.inbox = Inbox::new(ahead);
    }

    /// Gives the connection away, with the bytes that were read from it.
    pub fn take(&mut self) -> (Leg, Vec<u8>) {
        let leg = std::mem::replace(&mut self.leg, Leg::gone());
        (leg, self.inbox.take_all())
    }

    /// Exchanges the connection with a lane, which takes it or gives it back.
    #[inline]
    pub fn swap_leg(&mut self, leg: &mut Leg) {
        std::mem::swap(&mut self.leg, leg);
    }

    /// The connection.
    #[inline]
    pub fn leg(&self) -> &Leg {
        &self.leg
    }

    /// The connection, to be written to.
    #[inline]
    pub fn leg_mut(&mut self) -> &mut Leg {
        &mut self.leg
    }

    /// The bytes that were read and are not handled yet.
    #[inline]
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// The same, to be read from.
    #[inline]
    pub fn inbox_mut(&mut self) -> &mut Inbox {
        &mut self.inbox
    }

    /// Whether the connection is compressed.
    #[inline]
    pub fn is_compressed(&self) -> bool {
        self.leg.transport.is_compressed()
    }

    /// Whether no byte of a command has come, and no byte of a reply is unsent.
    pub fn is_at_rest(&self) -> bool {
        self.inbox.is_empty() && self.leg.is_drained()
    }

    /// The number of bytes that were read and are not handled yet.
    pub fn held_bytes(&self) -> usize {
        self.inbox.held_bytes() + self.leg.transport.held_bytes()
    }

    /// The id of the next packet to the client: that of the frame if the connection is compressed.
    #[inline]
    pub fn next_sequence(&self, sequence: u8) -> u8 {
        self.leg.transport.frame_sequence().unwrap_or(sequence)
    }

    /// Which of the protocol's variants the packets of both directions use.
    #[inline]
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// These capabilities, with the flags that matter only at the login.
    pub fn login_capabilities(&self) -> Capabilities {
        self.login_capabilities
    }

    /// Switches a capability on or off for the packets from now on.
    pub fn set_capability(&mut self, capability: Capabilities, is_on: bool) {
        self.capabilities = self.capabilities.with(capability, is_on);
    }

    /// The status flags of the last reply.
    #[inline]
    pub fn status(&self) -> StatusFlags {
        self.status
    }

    /// Sets the status flags that the client knows.
    pub fn set_status(&mut self, status: StatusFlags) {
        self.status = status;
    }

    /// Keeps the lasting ones of a reply's status flags.
    #[inline]
    pub fn note_status(&mut self, status: StatusFlags) {
        self.status = StatusFlags(status.0 & LASTING.0);
    }

    /// Notes that the client's transaction is over.
    pub fn end_transaction(&mut self) {
        let open = StatusFlags::IN_TRANS.0 | StatusFlags::IN_TRANS_READONLY.0;
        self.status = StatusFlags(self.status.0 & !open);
    }

    /// How private the connection is.
    pub fn privacy(&self) -> Privacy {
        self.privacy
    }

    /// The facts of its TLS, if it has any.
    pub fn tls(&self) -> Option<&net::tls::Facts> {
        self.tls.as_deref()
    }

    /// The client's address.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The addresses of the connection, for backends that are told by a PROXY header.
    pub fn header(&self) -> &proxy_protocol::Header {
        &self.header
    }
}
