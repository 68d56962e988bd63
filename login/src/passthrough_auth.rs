//! A login, or a change of user, that only a backend can judge: the client, which knows a greeting of
//! the proxy's, is asked again in the backend's own words.

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

/// Whom it is about.
pub struct PassOn<'a> {
    /// The environment of the worker.
    pub env: &'a LoginEnv,
    /// The settings that hold for the session.
    pub settings: &'a Settings,
    /// The content of the PROXY header for the backend.
    pub header: &'a proxy_protocol::Header,
    /// Among which backends one is chosen.
    pub destination: &'a Destination,
    /// The client.
    pub client: &'a mut PacketStream,
    /// Who logs in; filled in as it becomes known.
    pub client_login: &'a mut ClientLogin,
    /// What the client was greeted with.
    pub greeting: &'a Greeting,
    /// Who else hears what the backend says.
    pub observer: Option<&'a mut dyn LoginObserver>,
}

impl PassOn<'_> {
    /// Finds a backend and sees the dialogue through. After an error the client has been told nothing,
    /// unless by the backend.
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
