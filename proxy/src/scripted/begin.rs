//! The login of a scripted session: from `connect_server` to the backend's OK, every step with its hook.

use std::rc::Rc;
use std::sync::Arc;

use config::ListenerConfig;
use net::{Endpoint, proxy_protocol};
use script::{FAILED, SocketFacts};
use wire::compression::{Algorithm, Remote};
use wire::handshake::HandshakeHead;
use wire::reply::ERR;
use wire::{Capabilities, ErrPacket, Greeting, HandshakeResponse, StatusFlags};

use super::auth_ear::{AuthEar, RESET};
use super::facts::{address_facts, backend_address, note_greeting};
use super::host::Host;
use super::login_hooks::{Auth, LoginHooks, ended, replaced};
use super::meet::{Met, refused};
use super::server::Server;
use super::session::Scripted;
use crate::connect::Greeted;
use crate::decline::decline;
use crate::dialogue::{AuthEnd, Dialogue, Exchange, Legs, client_broke};
use crate::failure::{Failure, Kind};
use crate::leg::Leg;
use crate::login::{
    Agreement, Login, Who, client_compression, malformed, own_offer, read_response,
};
use crate::packets::PacketStream;
use crate::pooled::enter::{Admission, Enter, Entered};
use crate::pooled::incoming::Inbox;
use crate::serve::{compress, lost_at_login};
use crate::surroundings::{Place, Settings};
use crate::watch::Watch;
use crate::worker::Worker;

/// What scripts cannot read is not agreed on.
pub(crate) const NEVER: Capabilities = Capabilities(
    Capabilities::DEPRECATE_EOF.0
        | Capabilities::QUERY_ATTRIBUTES.0
        | Capabilities::OPTIONAL_RESULTSET_METADATA.0
        // All of MariaDB's extended ones.
        | 0xffff_ffff << 32,
);

/// A login on its way.
pub(crate) struct Begin<'a> {
    pub worker: &'a Rc<Worker>,
    pub settings: &'a Arc<Settings>,
    pub host: Rc<Host>,
    pub header: &'a proxy_protocol::Header,
    pub client: &'a mut PacketStream,
    pub who: &'a mut Who,
    pub hooks: LoginHooks,
    /// By which the session's connections know it.
    pub id: u64,
    /// Where logins are answered here: what that takes.
    pub answering: Option<Answering<'a>>,
}

/// What the proxy needs to answer a login itself.
pub(crate) struct Answering<'a> {
    pub remote: &'a Endpoint,
    pub listener: &'a Arc<ListenerConfig>,
}

/// How a login has gone on.
pub(crate) enum Entry {
    /// To the session's end with one connection at a time, or none.
    Scripted(Box<Begun>),
    /// The proxy has examined the client; the connection is whichever the session gets.
    Examined(Box<Admission>, Box<LoginHooks>),
}

/// A login that has ended well; the client's stream is with whoever has lent it.
pub(crate) struct Begun {
    script: script::Session,
    id: u64,
    server: Option<Server>,
    status: StatusFlags,
    compression: Option<(Algorithm, u8)>,
    collation: u8,
    /// What the client has agreed on.
    capabilities: Capabilities,
}

impl Begin<'_> {
    /// Sees it through. A failure has not been told to the client, unless it says so.
    pub(crate) async fn run(mut self) -> Result<Entry, Failure> {
        let met = self.meet().await?;
        let greeting = match &met {
            Met::Greeted(greeted, index) => {
                self.hooks.server = server_facts(&self.host, greeted, *index);
                self.hooks.meet(&greeted.greeting);
                greeted.greeting.clone()
            }
            Met::Pooled(server) => server.greeting.clone(),
            Met::Alone(payloads) => self.greet_alone(payloads).await?,
            Met::Here => return self.enter().await,
        };
        let greeted = !matches!(met, Met::Alone(_));
        if greeted && let Err(failure) = self.show(&greeting).await {
            self.abandon(met);
            return Err(failure);
        }
        let read = read_response(self.settings, self.client, self.who).await;
        let (request, answer) = match read {
            Ok(read) => read,
            Err(failure) => {
                self.abandon(met);
                return Err(failure);
            }
        };
        let begun = self.answered(met, request, answer).await?;
        Ok(Entry::Scripted(Box::new(begun)))
    }

    /// The backend's greeting, as the client gets it.
    async fn show(&mut self, greeting: &Greeting) -> Result<(), Failure> {
        self.hooks.read_handshake(self.client).await?;
        let offered = own_offer(self.settings, greeting.capabilities).with(NEVER, false);
        let mut payload = Vec::new();
        Greeting {
            capabilities: offered,
            ..greeting.clone()
        }
        .encode(&mut payload);
        self.tell(&payload).await?;
        self.hooks.note_greeting(greeting);
        Ok(())
    }

    /// The client has answered: `read_auth`, and what follows from it.
    async fn answered(
        mut self,
        met: Met,
        request: Option<HandshakeHead>,
        answer: Vec<u8>,
    ) -> Result<Begun, Failure> {
        let heard = async {
            let response = decode(request.as_ref(), &answer).map_err(malformed)?;
            self.who.introduce(&response);
            let auth = self.hooks.read_auth(self.client, &response).await?;
            Ok((response, auth))
        };
        let (response, auth) = match heard.await {
            Ok(heard) => heard,
            Err(failure) => {
                self.abandon(met);
                return Err(failure);
            }
        };
        match auth {
            Auth::Goes => self.log_in(met, response).await,
            Auth::LetIn => {
                self.abandon(met);
                self.hooks.script.set_server(None);
                let compression = client_compression(self.settings, &response);
                let capabilities = response.head.capabilities.with(NEVER, false);
                Ok(self.begun_alone(compression, capabilities))
            }
            Auth::Replaced(replacing) => {
                let replacing = match replaced(&replacing, response.head) {
                    Ok(replacing) => replacing,
                    Err(failure) => {
                        self.abandon(met);
                        return Err(failure);
                    }
                };
                self.log_in(met, replacing).await
            }
        }
    }

    /// The login goes to the backend, if there is one.
    async fn log_in(mut self, met: Met, response: HandshakeResponse<'_>) -> Result<Begun, Failure> {
        let head = HandshakeHead {
            capabilities: response.head.capabilities.with(NEVER, false),
            ..response.head
        };
        let response = HandshakeResponse { head, ..response };
        match met {
            Met::Greeted(greeted, index) => self.pass(*greeted, index, response).await,
            Met::Pooled(server) => self.change_user(*server, response).await,
            Met::Here => Err(refused("nobody has examined the client", FAILED)),
            Met::Alone(_) => {
                self.let_in(&response).await?;
                let compression = client_compression(self.settings, &response);
                Ok(self.begun_alone(compression, response.head.capabilities))
            }
        }
    }

    pub(crate) async fn tell(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let sent = self.client.write(payload).await;
        sent.map_err(|error| client_broke(error.into()))
    }

    /// The usual case: it passes through, and every packet of the backend's is heard.
    async fn pass(
        mut self,
        mut greeted: Greeted,
        index: usize,
        response: HandshakeResponse<'_>,
    ) -> Result<Begun, Failure> {
        let mut facts = std::mem::take(&mut self.hooks.server);
        if self.hooks.script.server_id() != facts.id {
            self.abandon(Met::Greeted(Box::new(greeted), index));
            return Err(refused(RESET, RESET));
        }
        self.hooks.introduce(&mut facts);
        self.hooks.script.set_server(Some(&facts));
        let collation = response.head.collation;
        let mut ear = AuthEar::new(&mut self.hooks.script, facts.id);
        let login = Login {
            settings: self.settings,
            own_key: &self.worker.shared.own_key,
            client: self.client,
            backend: &mut greeted,
            who: self.who,
            ear: Some(&mut ear),
        };
        let agreement = login.complete(response).await?;
        let compression = agreement.client_compression;
        let (status, capabilities) = (agreement.status, agreement.capabilities);
        let server = server_of(greeted, facts, agreement, self.id)?;
        Ok(Begun {
            script: self.hooks.script,
            id: self.id,
            server: Some(server),
            status,
            compression,
            collation,
            capabilities,
        })
    }

    /// A connection that is logged in already becomes this client's: COM_CHANGE_USER.
    async fn change_user(
        mut self,
        mut server: Server,
        response: HandshakeResponse<'_>,
    ) -> Result<Begun, Failure> {
        if self.hooks.script.server_id() != Some(server.id) {
            self.put_back(server);
            return Err(refused(RESET, RESET));
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
        let mut ear = AuthEar::new(&mut self.hooks.script, Some(server.id));
        let mut dialogue = Dialogue {
            client: self.client,
            backend: &mut backend,
            backend_name: &server.backend.name,
            legs,
            own_key: &self.worker.shared.own_key,
            plugin: response.plugin.unwrap_or_default().to_vec(),
            scramble: server.greeting.scramble.clone(),
            exchange: Exchange::None,
            ear: Some(&mut ear),
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
        Ok(Begun {
            script: self.hooks.script,
            id: self.id,
            status: StatusFlags::AUTOCOMMIT,
            capabilities: server.capabilities,
            server: Some(server),
            compression,
            collation: response.head.collation,
        })
    }

    fn begun_alone(
        self,
        compression: Option<(Algorithm, u8)>,
        capabilities: Capabilities,
    ) -> Begun {
        Begun {
            compression,
            capabilities,
            script: self.hooks.script,
            id: self.id,
            server: None,
            status: StatusFlags::AUTOCOMMIT,
            collation: self.who.collation,
        }
    }

    /// Leaves a backend that nobody logs in to.
    fn abandon(&mut self, met: Met) {
        match met {
            Met::Greeted(greeted, _) => {
                if greeted.stream.awaits_first_answer() {
                    decline(greeted.stream);
                }
            }
            Met::Pooled(server) => self.put_back(*server),
            Met::Alone(_) | Met::Here => {}
        }
    }

    /// The proxy answers the login itself, and the script sees it.
    async fn enter(mut self) -> Result<Entry, Failure> {
        let Some(answering) = self.answering.take() else {
            return Err(ended("nobody answers the login"));
        };
        self.hooks.server = self.facts_of_default();
        let enter = Enter {
            worker: self.worker,
            settings: self.settings,
            header: self.header,
            client: self.client,
            remote: answering.remote,
            listener: answering.listener,
            who: self.who,
            hooks: Some(&mut self.hooks),
        };
        match enter.run().await {
            Ok(Entered::Examined(admission)) => {
                Ok(Entry::Examined(admission, Box::new(self.hooks)))
            }
            Ok(Entered::Passed(passed)) => {
                let (greeted, agreement) = *passed;
                self.passed(greeted, agreement)
            }
            Ok(Entered::LetIn(compression, capabilities)) => {
                self.hooks.script.set_server(None);
                let begun = self.begun_alone(compression, capabilities);
                Ok(Entry::Scripted(Box::new(begun)))
            }
            Err(failure) => Err(self.hooks.refused(self.client, failure).await),
        }
    }

    /// A backend has let the client in whom the proxy had greeted: that connection is the session's.
    fn passed(mut self, greeted: Greeted, agreement: Agreement) -> Result<Entry, Failure> {
        let index = self.host.index_of(greeted.backend.id).unwrap_or_default();
        let mut facts = server_facts(&self.host, &greeted, index);
        self.hooks.introduce(&mut facts);
        self.hooks.script.settle(index);
        self.hooks.script.set_server(Some(&facts));
        let (compression, status) = (agreement.client_compression, agreement.status);
        let capabilities = agreement.capabilities;
        let server = server_of(greeted, facts, agreement, self.id)?;
        Ok(Entry::Scripted(Box::new(Begun {
            script: self.hooks.script,
            id: self.id,
            server: Some(server),
            status,
            compression,
            collation: self.who.collation,
            capabilities,
        })))
    }

    /// Of a session that has no connection of its own: the backend that it would get, as if it had one.
    fn facts_of_default(&mut self) -> SocketFacts {
        let chosen = self.hooks.script.backend_index();
        let index = match chosen {
            0 => self.host.scripts.default_backend(),
            chosen => chosen,
        };
        if chosen == 0 {
            self.hooks.script.settle(index);
        }
        let backend = self.host.backend(index);
        SocketFacts {
            id: Some(self.host.next_id()),
            backend: Some(index),
            source: self.hooks.facts.destination.clone(),
            destination: backend.map(|it| backend_address(&it)).unwrap_or_default(),
            ..SocketFacts::default()
        }
    }
}

impl Begun {
    /// The session, with its client's stream.
    pub(crate) fn join(
        self,
        client: PacketStream,
        host: Rc<Host>,
        (worker, watch, settings): (&Rc<Worker>, &Rc<Watch>, &Arc<Settings>),
        place: Place,
    ) -> Result<Scripted, Failure> {
        let (client, ahead) = client.into_parts().ok_or_else(lost_at_login)?;
        let (client, ahead) = compress(client, ahead, self.compression, Remote::Client);
        if let Some(server) = &self.server {
            watch.settle(server.backend.id);
        }
        Ok(Scripted {
            client: Leg::new(client),
            inbox: Inbox::new(ahead),
            server: self.server,
            script: self.script,
            has_changed: false,
            rows: None,
            is_bound: false,
            host,
            id: self.id,
            status: self.status,
            collation: self.collation,
            capabilities: self.capabilities,
            worker: Rc::clone(worker),
            watch: Rc::clone(watch),
            settings: Arc::clone(settings),
            observer: None,
            _place: place,
        })
    }
}

fn decode<'a>(
    request: Option<&HandshakeHead>,
    answer: &'a [u8],
) -> Result<HandshakeResponse<'a>, wire::Malformed> {
    match request {
        Some(request) => HandshakeResponse::decode_behind(request, answer),
        None => HandshakeResponse::decode(answer),
    }
}

fn server_facts(host: &Host, greeted: &Greeted, index: usize) -> SocketFacts {
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

fn server_of(
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
    Failure::new(Kind::LoginRefused, cause)
}
