//! A scripted session's login, while it is running.

use std::rc::Rc;
use std::sync::Arc;

use config::ListenerConfig;
use net::{Endpoint, proxy_protocol};
use wire::Capabilities;

use backend::settings::Settings;
use link::dialogue::client_broke;
use link::failure::Failure;
use link::packets::PacketStream;
use login::relayed_login::ClientLogin;
use relay::relay_env::RelayEnv;
use script_host::host::Host;
use script_host::login_hooks::LoginHooks;

/// A login that is running.
pub struct Begin<'a> {
    /// The environment that its worker gives to it.
    pub env: &'a Rc<RelayEnv>,
    /// The current settings.
    pub settings: &'a Arc<Settings>,
    /// The state that the scripts of the worker share.
    pub host: Rc<Host>,
    /// The addresses of the connection, for backends that are told by a PROXY header.
    pub header: &'a proxy_protocol::Header,
    /// The client's address.
    pub remote: &'a Endpoint,
    /// The client.
    pub client: &'a mut PacketStream,
    /// The known facts about the client's login.
    pub client_login: &'a mut ClientLogin,
    /// The hooks of its script.
    pub hooks: LoginHooks,
    /// The capabilities that the client was offered.
    pub offered: Capabilities,
    /// The id by which connections know their session.
    pub id: u64,
    /// The parts with which the proxy answers the login itself, if it may.
    pub answering: Option<Answering<'a>>,
}

/// The parts with which the proxy answers a login itself.
pub struct Answering<'a> {
    /// The listener that the client has connected to.
    pub listener: &'a Arc<ListenerConfig>,
}

impl Begin<'_> {
    pub(crate) async fn send(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let sent = self.client.write(payload).await;
        sent.map_err(|error| client_broke(error.into()))
    }
}
