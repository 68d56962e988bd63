//! The hooks of a login: what scripts see, and what they may send to the client.

use std::path::PathBuf;

use net::Endpoint;
use script::{Decision, Hook, Payloads, SocketFacts};
use wire::errors::{self, ProxyError};
use wire::handshake::HandshakeHead;
use wire::reply::OK;
use wire::{Greeting, HandshakeResponse};

use crate::bridge::SHAPES;
use crate::facts::{address_facts, note_greeting};
use crate::host::Host;
use link::dialogue::client_broke;
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;

/// One client's script, while it logs in.
pub struct LoginHooks {
    /// The interpreter's part for this session.
    pub script: script::Session,
    /// The facts about the client for the script.
    pub facts: SocketFacts,
    /// What the script knows of the backend, or of whichever backend the session gets.
    pub server: SocketFacts,
}

/// A client that has logged in to an account that has scripts of its own.
pub struct LoggedInClient<'a> {
    /// Where the client is.
    pub remote: &'a Endpoint,
    /// The address of the proxy that it has connected to.
    pub local: Option<Endpoint>,
    /// The account's name.
    pub user: &'a [u8],
    /// The schema that it has named.
    pub schema: &'a [u8],
    /// The greeting that it has had.
    pub greeting: &'a Greeting,
}

/// The decision of `read_auth`.
pub enum Auth {
    /// The login goes on.
    Goes,
    /// The login goes on with another response of the client's.
    Replaced(Vec<u8>),
    /// The script has let the client in itself.
    LetIn,
}

impl LoginHooks {
    /// The hooks for a client that has just connected.
    pub fn of(
        host: &Host,
        files: &[PathBuf],
        id: u64,
        remote: &Endpoint,
        local: Option<Endpoint>,
        takes_turns: bool,
    ) -> Result<Self, Failure> {
        let facts = SocketFacts {
            source: address_facts(remote),
            destination: local.as_ref().map(address_facts).unwrap_or_default(),
            ..SocketFacts::default()
        };
        match host.scripts.begin(files, id, &facts, takes_turns) {
            Ok(script) => Ok(Self {
                script,
                facts,
                server: SocketFacts::default(),
            }),
            Err(fault) => {
                let payload = fault.client_error().payload();
                let cause = fault.to_string();
                Err(Failure::relaying(FailureKind::ScriptFailed, cause, payload))
            }
        }
    }

    /// The hooks for a client whose account has scripts of its own, once it is known. `None`: it has none.
    pub fn of_account(
        host: &Host,
        files: &[PathBuf],
        newcomer: &LoggedInClient<'_>,
    ) -> Result<Option<Self>, Failure> {
        if files.is_empty() {
            return Ok(None);
        }
        let (remote, local) = (newcomer.remote, newcomer.local.clone());
        let mut hooks = Self::of(host, files, host.next_id(), remote, local, true)?;
        hooks.facts.user = Some(newcomer.user.to_vec());
        hooks.facts.schema = newcomer.schema.to_vec();
        hooks.meet(newcomer.greeting);
        hooks.note_greeting(newcomer.greeting);
        Ok(Some(hooks))
    }

    /// Runs `read_handshake`, before the client is greeted.
    pub async fn read_handshake(&mut self, client: &mut PacketStream) -> Result<(), Failure> {
        let decision = self.script.call(Hook::ReadHandshake);
        if decision == Decision::SendQuery {
            tracing::warn!(
                target: "script",
                "(read_handshake) return proxy.PROXY_SEND_QUERY is deprecated, use PROXY_SEND_RESULT instead"
            );
        }
        match decision {
            Decision::SendResult | Decision::SendQuery => {
                Err(self.answer_and_end(client, "read_handshake").await)
            }
            _ => Ok(()),
        }
    }

    /// Records the greeting that the client has had.
    pub fn note_greeting(&mut self, greeting: &Greeting) {
        note_greeting(&mut self.facts, greeting);
        self.script.set_client(&self.facts);
    }

    /// Runs `read_auth`, after the client has answered. If the script sends an ERR, the login ends,
    /// as its author meant it.
    pub async fn read_auth(
        &mut self,
        client: &mut PacketStream,
        response: &HandshakeResponse<'_>,
    ) -> Result<Auth, Failure> {
        self.note_response(response);
        let decision = self.script.call(Hook::ReadAuth);
        let replaced = match decision {
            Decision::SendResult => {
                let Some(payloads) = self.script.response() else {
                    return Err(refused(
                        "proxy.response cannot be sent",
                        errors::response_unusable(),
                    ));
                };
                send_payloads(client, &payloads).await?;
                return match payloads.at(0).and_then(<[u8]>::first) {
                    Some(&OK) => Ok(Auth::LetIn),
                    _ => Err(ended("read_auth has answered the client")),
                };
            }
            Decision::SendQuery => self.script.next_query(),
            _ => None,
        };
        self.script.clear_queue();
        Ok(match replaced {
            Some(injection) => Auth::Replaced(injection.payload),
            None => Auth::Goes,
        })
    }

    fn note_response(&mut self, response: &HandshakeResponse<'_>) {
        self.facts.user = Some(response.user.to_vec());
        self.facts.schema = response.schema.unwrap_or_default().to_vec();
        self.facts.scrambled_password = Some(response.auth_response.to_vec());
        if let Some(plugin) = response.plugin {
            self.facts.plugin = Some(plugin.to_vec());
        }
        self.script.set_client(&self.facts);
    }

    /// Records a server's greeting for the script.
    pub fn meet(&mut self, greeting: &Greeting) {
        note_greeting(&mut self.server, greeting);
        self.script.set_server(Some(&self.server));
    }

    /// Copies the client's login into the facts of the backend's side.
    pub fn introduce(&self, facts: &mut SocketFacts) {
        facts.user.clone_from(&self.facts.user);
        facts.schema.clone_from(&self.facts.schema);
        facts
            .scrambled_password
            .clone_from(&self.facts.scrambled_password);
    }

    /// The proxy has authenticated the client: any connection that the client gets is this user's.
    pub fn know_server(&mut self) {
        let mut server = std::mem::take(&mut self.server);
        self.introduce(&mut server);
        self.script.know_server(&server);
        self.server = server;
    }

    /// The proxy lets the client in with this packet. If the script sends another answer, the session
    /// ends, unless that answer lets the client in as well.
    pub async fn let_in(&mut self, client: &mut PacketStream, ok: &[u8]) -> Result<(), Failure> {
        self.know_server();
        let decision = match self.script.has(Hook::ReadAuthResult) {
            true => self.script.read_auth_result(ok),
            false => Decision::Nothing,
        };
        if decision != Decision::SendResult {
            let sent = client.write(ok).await;
            return sent.map_err(|error| client_broke(error.into()));
        }
        let Some(payloads) = self.script.response() else {
            return Err(refused(
                "proxy.response cannot be sent",
                errors::response_unusable(),
            ));
        };
        send_payloads(client, &payloads).await?;
        match payloads.at(0).and_then(<[u8]>::first) {
            Some(&OK) => Ok(()),
            _ => Err(ended("read_auth_result has answered the client")),
        }
    }

    /// The proxy does not let the client in. The script may send another answer.
    pub async fn refused(&mut self, client: &mut PacketStream, failure: Failure) -> Failure {
        let Some(payload) = failure.err_payload(true) else {
            return failure;
        };
        if failure.kind != FailureKind::LoginDenied || !self.script.has(Hook::ReadAuthResult) {
            return failure;
        }
        self.know_server();
        if self.script.read_auth_result(&payload) != Decision::SendResult {
            return failure;
        }
        self.answer_and_end(client, "read_auth_result").await
    }

    /// Sends the script's answer; then the session is over.
    async fn answer_and_end(&mut self, client: &mut PacketStream, hook: &str) -> Failure {
        match self.script.response() {
            Some(payloads) => match send_payloads(client, &payloads).await {
                Ok(()) => ended(&format!("{hook} has answered the client")),
                Err(failure) => failure,
            },
            None => refused("proxy.response cannot be sent", errors::response_unusable()),
        }
    }
}

/// Returns the client's response as the script wants it. What the script leaves out is taken from the client's.
pub fn replaced<'a>(
    payload: &'a [u8],
    head: HandshakeHead,
) -> Result<HandshakeResponse<'a>, Failure> {
    match HandshakeResponse::decode(payload) {
        Ok(replacing) => {
            let said = replacing.head;
            let packet_bytes_max = match said.packet_bytes_max {
                0 => head.packet_bytes_max,
                said => said,
            };
            let collation = match said.collation {
                0 => head.collation,
                said => said,
            };
            let shapes = head.capabilities & SHAPES;
            Ok(HandshakeResponse {
                head: HandshakeHead {
                    capabilities: said.capabilities.with(SHAPES, false) | shapes,
                    packet_bytes_max,
                    collation,
                },
                ..replacing
            })
        }
        Err(error) => {
            let cause = format!("read_auth has queued a query that is not a login: {error}");
            Err(refused(&cause, errors::response_unusable()))
        }
    }
}

/// Sends the script's answer.
pub async fn send_payloads(client: &mut PacketStream, payloads: &Payloads) -> Result<(), Failure> {
    for payload in payloads.iter() {
        let sent = client.write(payload).await;
        sent.map_err(|error| client_broke(error.into()))?;
    }
    Ok(())
}

/// The failure of a session that is over, and whose client has had its answer.
pub fn ended(cause: &str) -> Failure {
    Failure::new(FailureKind::ScriptEnded, cause)
}

/// The failure of a client that gets an error of MySQL Proxy's kind, and is disconnected.
pub fn refused(cause: &str, told: ProxyError) -> Failure {
    Failure::relaying(FailureKind::ScriptRefused, cause, told.payload())
}
