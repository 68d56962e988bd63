//! A scripted session's login, while it is on its way.

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

/// A login on its way.
pub struct Begin<'a> {
    /// What its worker gives it.
    pub env: &'a Rc<RelayEnv>,
    /// The settings of now.
    pub settings: &'a Arc<Settings>,
    /// What the scripts of the worker share.
    pub host: Rc<Host>,
    /// The addresses of the connection, for backends that are told by a PROXY header.
    pub header: &'a proxy_protocol::Header,
    /// Where the client is.
    pub remote: &'a Endpoint,
    /// The client.
    pub client: &'a mut PacketStream,
    /// What is known of the client's login.
    pub client_login: &'a mut ClientLogin,
    /// The hooks of its script.
    pub hooks: LoginHooks,
    /// What the client has been offered.
    pub offered: Capabilities,
    /// By which the session's connections know it.
    pub id: u64,
    /// Where logins are answered here: what that takes.
    pub answering: Option<Answering<'a>>,
}

/// What the proxy needs to answer a login itself.
pub struct Answering<'a> {
    /// The listener that the client has come by.
    pub listener: &'a Arc<ListenerConfig>,
}

impl Begin<'_> {
    pub(crate) async fn send(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let sent = self.client.write(payload).await;
        sent.map_err(|error| client_broke(error.into()))
    }
}
