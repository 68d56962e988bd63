//! A login, or a change of user, that only a backend can check. The client knows the proxy's
//! greeting, so it is asked again with the backend's own packets.

use net::proxy_protocol;
use wire::handshake::HandshakeHead;
use wire::{Greeting, HandshakeResponse, errors};

use crate::connect::{Greeted, connect};
use crate::destination::Destination;
use crate::login_env::LoginEnv;
use crate::relayed_login::{Agreement, ClientLogin, Login};
use backend::settings::Settings;
use link::decline::decline;
use link::dialogue::LOGIN_ONLY;
use link::dialogue::LoginObserver;
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;

/// The environment of a login that passes through a backend.
pub struct PassOn<'a> {
    /// The environment of the worker.
    pub env: &'a LoginEnv,
    /// The settings of the session.
    pub settings: &'a Settings,
    /// The content of the PROXY header for the backend.
    pub header: &'a proxy_protocol::Header,
    /// The cluster and the roles among which a backend is chosen.
    pub destination: &'a Destination,
    /// The client.
    pub client: &'a mut PacketStream,
    /// The client that logs in; filled in during the login.
    pub client_login: &'a mut ClientLogin,
    /// The greeting that the client received.
    pub greeting: &'a Greeting,
    /// Observes the backend's packets, if set.
    pub observer: Option<&'a mut dyn LoginObserver>,
}

impl PassOn<'_> {
    /// Finds a backend and runs the dialogue to its end. After an error the client has been told
    /// nothing, unless the backend has told it.
    pub async fn run(
        self,
        response: HandshakeResponse<'_>,
    ) -> Result<(Greeted, Agreement), Failure> {
        let config = &self.settings.config;
        let mut greeted = connect(self.env, config, self.header, self.destination).await?;
        let offered = self.greeting.capabilities.with(LOGIN_ONLY, false);
        let promised = response.head.capabilities & offered;
        if !greeted.greeting.capabilities.contains(promised) {
            let error = errors::missing_capabilities(&greeted.backend.name);
            decline(greeted.stream);
            return Err(Failure::saying(FailureKind::BackendLogin, error));
        }
        let login = Login {
            settings: self.settings,
            own_key: &self.env.shared.own_key,
            entropy: &self.env.pool.system.entropy,
            now: self.env.pool.now(),
            header: self.header,
            client: self.client,
            backend: &mut greeted,
            client_login: self.client_login,
            observer: self
                .observer
                .map(|observer| observer as &mut dyn LoginObserver),
        };
        let head = HandshakeHead {
            capabilities: promised | (response.head.capabilities & LOGIN_ONLY),
            ..response.head
        };
        let passed = login
            .authenticate_through(HandshakeResponse { head, ..response })
            .await;
        match passed {
            Ok(agreement) => Ok((greeted, agreement)),
            Err(failure) => {
                if greeted.stream.awaits_first_answer() {
                    decline(greeted.stream);
                }
                Err(failure)
            }
        }
    }
}
