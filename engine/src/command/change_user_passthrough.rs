//! COM_CHANGE_USER to an account whose login only a backend can examine. Afterwards the session has a connection of its
//! own, and is relayed.

use std::sync::Arc;

use wire::change_user::ChangeUser;
use wire::handshake::HandshakeHead;
use wire::{Capabilities, HandshakeResponse, errors};

use crate::session::PooledSession;
use backend::greeting::server_of;
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;
use login::connect::Greeted;
use login::passthrough_auth::PassOn;
use login::relayed_login::{Agreement, ClientLogin};
use relay::outcome::{After, Relayed};
use relay::relay_env::SessionContext;
use relay::relayed_session::{BackendEnd, ClientEnd, join};

/// The value that clients usually send; no server enforces it.
const PACKET_BYTES_MAX: u32 = 1 << 24;

impl PooledSession {
    /// Lets a backend examine the login. After an error the client has had no reply, unless from the backend.
    pub(crate) async fn authenticate_through(
        &self,
        stream: &mut PacketStream,
        wish: &ChangeUser<'_>,
    ) -> Result<(Greeted, Agreement), Failure> {
        let collation = wish.collation.unwrap_or(self.identity.key().collation);
        let Ok(collation) = u8::try_from(collation) else {
            let user = String::from_utf8_lossy(wish.user);
            let error = errors::collation_needs_own_login(user, collation);
            return Err(Failure::saying(FailureKind::LoginMalformed, error));
        };
        let has_schema = wish.schema.is_some();
        let response = HandshakeResponse {
            head: HandshakeHead {
                capabilities: self
                    .client
                    .login_capabilities()
                    .with(Capabilities::CONNECT_WITH_DB, has_schema),
                packet_bytes_max: PACKET_BYTES_MAX,
                collation,
            },
            user: wish.user,
            auth_response: wish.auth_response,
            schema: wish.schema,
            plugin: wish.plugin,
            attributes: wish.attributes,
            zstd_level: None,
            trailing: b"",
        };
        let pass_on = PassOn {
            env: &self.env.relay.login,
            settings: &self.settings,
            header: self.client.header(),
            destination: &self.routing.settings().destination(),
            client: stream,
            client_login: &mut ClientLogin::default(),
            greeting: self.identity.greeting(),
            observer: None,
        };
        pass_on.run(response).await
    }

    /// Goes over to the relay, after a backend has accepted the login and the client has had the reply.
    pub(crate) fn change_over(
        &mut self,
        greeted: Greeted,
        agreement: Agreement,
    ) -> Result<After, Failure> {
        let (leg, ahead) = self.client.take();
        let thread_id = greeted.greeting.thread_id;
        let backend = Arc::clone(&greeted.backend);
        let context = SessionContext {
            env: &self.env.relay,
            control: &self.control,
            settings: &self.settings,
        };
        let client = ClientEnd { leg, ahead };
        let server = BackendEnd {
            server: server_of(&greeted.greeting),
            stream: greeted.stream,
            backend: Arc::clone(&backend),
        };
        let relay = join(context, client, server, &agreement)?;
        // From here on the server enforces `wait_timeout`.
        self.control.may_wait(None);
        self.routing.leave_home();
        self.identity.leave_account();
        self.identity.bind_to_thread(backend.id, thread_id);
        tracing::debug!(
            id = self.identity.id(),
            backend = backend.name,
            "a changed user has a connection of its own"
        );
        Ok(After::Relayed(Box::new(Relayed {
            relay,
            legs: agreement.legs,
            scramble: agreement.scramble,
            thread_id,
            slot: Some(greeted.slot),
        })))
    }
}
