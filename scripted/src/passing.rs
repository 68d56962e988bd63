//! A scripted session's login goes to a backend: one whose greeting has arrived, or one whose
//! connection a script has parked.

use script::SocketFacts;
use wire::compression::Remote;
use wire::reply::ERR;
use wire::{ErrPacket, HandshakeResponse, StatusFlags, errors};

use super::begin::Begin;
use super::completed_login::CompletedLogin;
use super::meet::Met;
use backend::secure::compress;
use link::dialogue::LOGIN_ONLY;
use link::dialogue::{AuthEnd, Dialogue, Exchange, Legs};
use link::failure::{Failure, FailureKind};
use link::leg::Leg;
use link::packets::PacketStream;
use link::session_end::lost_at_login;
use login::connect::Greeted;
use login::relayed_login::{Agreement, Login, client_compression};
use script_host::auth_observer::{AuthObserver, RESET};
use script_host::facts::{address_facts, backend_address, note_greeting};
use script_host::host::Host;
use script_host::login_hooks::refused;
use script_host::parked::kind_of;
use script_host::server::Server;

/// How often the client is asked to authenticate itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthRounds {
    /// Once, by the backend's greeting.
    Once,
    /// Once by the greeting of another server, and again by the backend.
    Again,
}

impl Begin<'_> {
    /// Passes the login through, which is the usual case. The script sees every packet of the backend.
    pub(super) async fn pass(
        mut self,
        mut greeted: Greeted,
        index: usize,
        response: HandshakeResponse<'_>,
        asked: AuthRounds,
    ) -> Result<CompletedLogin, Failure> {
        let mut facts = std::mem::take(&mut self.hooks.server);
        let agreed = response.head.capabilities & greeted.greeting.capabilities;
        facts.kind = Some(kind_of(agreed));
        if self.hooks.script.server_id() != facts.id {
            self.abandon(Met::Greeted(Box::new(greeted), index));
            return Err(refused(RESET, errors::connection_moved()));
        }
        self.hooks.introduce(&mut facts);
        self.hooks.script.set_server(Some(&facts));
        let collation = response.head.collation;
        let mut observer = AuthObserver::new(&mut self.hooks.script, facts.id);
        let login = Login {
            settings: self.settings,
            own_key: &self.env.login.shared.own_key,
            entropy: &self.env.pool.system.entropy,
            now: self.env.pool.now(),
            header: self.header,
            client: self.client,
            backend: &mut greeted,
            client_login: self.client_login,
            observer: Some(&mut observer),
        };
        let agreement = match asked {
            AuthRounds::Once => login.complete(response).await?,
            AuthRounds::Again => login.authenticate_through(response).await?,
        };
        let compression = agreement.client_compression;
        let (status, capabilities) = (agreement.status, agreement.capabilities);
        let server = server_of(greeted, facts, agreement, self.id)?;
        Ok(CompletedLogin {
            script: self.hooks.script,
            id: self.id,
            registration: None,
            server: Some(server),
            status,
            compression,
            collation,
            capabilities,
        })
    }

    /// Opens a new connection to the same backend for a client, because the parked connection has
    /// agreed on other capabilities. The backend asks the client again.
    pub(super) async fn anew(
        mut self,
        server: Server,
        response: HandshakeResponse<'_>,
    ) -> Result<CompletedLogin, Failure> {
        self.put_back(server);
        let Some(Met::Greeted(greeted, index)) = self.call_on().await? else {
            let error = errors::no_fitting_connection();
            return Err(Failure::saying(FailureKind::NoBackend, error));
        };
        let promised = (response.head.capabilities & self.offered).with(LOGIN_ONLY, false);
        if !greeted.greeting.capabilities.contains(promised) {
            let error = errors::missing_capabilities(&greeted.backend.name);
            self.abandon(Met::Greeted(greeted, index));
            return Err(Failure::saying(FailureKind::BackendLogin, error));
        }
        self.hooks.server = server_facts(&self.host, &greeted, index);
        self.hooks.meet(&greeted.greeting);
        self.pass(*greeted, index, response, AuthRounds::Again)
            .await
    }

    /// Gives the client a connection that is logged in already, with COM_CHANGE_USER.
    pub(super) async fn change_user(
        mut self,
        mut server: Server,
        response: HandshakeResponse<'_>,
    ) -> Result<CompletedLogin, Failure> {
        if self.hooks.script.server_id() != Some(server.id) {
            self.put_back(server);
            return Err(refused(RESET, errors::connection_moved()));
        }
        let mut facts = server.facts.clone();
        self.hooks.introduce(&mut facts);
        self.hooks.script.set_server(Some(&facts));
        server.facts = facts;
        let command = wire::change_user::ChangeUser {
            user: response.user,
            auth_response: response.auth_response,
            schema: response.schema,
            collation: Some(u16::from(response.head.collation)),
            plugin: response.plugin,
            attributes: response.attributes,
        };
        let mut payload = vec![wire::Command::CHANGE_USER.0];
        command.encode(server.capabilities, &mut payload);
        let mut packets = Vec::new();
        wire::write::put_packets(&mut packets, 0, &payload);
        server.send(&packets).await;
        let legs = Legs {
            client: self.client.privacy(),
            backend: server.privacy(),
        };
        let ahead = std::mem::take(&mut server.inbox);
        let mut backend =
            PacketStream::new(std::mem::replace(&mut server.leg, Leg::gone()).transport, 1)
                .with_ahead(ahead);
        let mut observer = AuthObserver::new(&mut self.hooks.script, Some(server.id));
        let mut dialogue = Dialogue {
            client: self.client,
            backend: &mut backend,
            backend_name: &server.backend.name,
            legs,
            own_key: &self.env.login.shared.own_key,
            server_key: self.settings.server_key(),
            plugin: response.plugin.unwrap_or_default().to_vec(),
            scramble: server.greeting.scramble.clone(),
            exchange: Exchange::None,
            observer: Some(&mut observer),
        };
        let end = dialogue.run().await?;
        server.scramble = std::mem::take(&mut dialogue.scramble);
        if let AuthEnd::Err(err) = end {
            return Err(login_refused(&err));
        }
        let (transport, ahead) = backend.into_parts().ok_or_else(lost_at_login)?;
        (server.leg, server.inbox) = (Leg::new(transport), ahead);
        server.user_id = self.id;
        let compression = client_compression(self.settings, &response);
        Ok(CompletedLogin {
            script: self.hooks.script,
            id: self.id,
            registration: None,
            status: StatusFlags::AUTOCOMMIT,
            capabilities: server.capabilities,
            server: Some(server),
            compression,
            collation: response.head.collation,
        })
    }
}

pub(super) fn server_facts(host: &Host, greeted: &Greeted, index: usize) -> SocketFacts {
    let local = greeted.stream.local_address();
    let mut facts = SocketFacts {
        id: Some(host.next_id()),
        backend: Some(index),
        source: local.as_ref().map(address_facts).unwrap_or_default(),
        destination: backend_address(&greeted.backend),
        ..SocketFacts::default()
    };
    note_greeting(&mut facts, &greeted.greeting);
    facts
}

pub(super) fn server_of(
    greeted: Greeted,
    facts: SocketFacts,
    agreement: Agreement,
    user_id: u64,
) -> Result<Server, Failure> {
    let (transport, ahead) = greeted.stream.into_parts().ok_or_else(lost_at_login)?;
    let (transport, inbox) = compress(
        transport,
        ahead,
        agreement.backend_compression,
        Remote::Backend,
    );
    Ok(Server {
        id: facts.id.unwrap_or_default(),
        backend: greeted.backend,
        leg: Leg::new(transport),
        inbox,
        greeting: greeted.greeting,
        capabilities: agreement.capabilities,
        scramble: agreement.scramble,
        facts,
        user_id,
        _slot: greeted.slot,
    })
}

fn login_refused(err: &[u8]) -> Failure {
    let cause = match ErrPacket::decode(err) {
        Ok(err) => format!(
            "error {}: {}",
            err.number,
            String::from_utf8_lossy(err.text)
        ),
        Err(error) => error.to_string(),
    };
    debug_assert_eq!(err.first(), Some(&ERR));
    Failure::new(FailureKind::LoginRefused, cause)
}
