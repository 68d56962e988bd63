//! Finding a backend for a scripted session: `connect_server`, and what follows from it.

use std::sync::Arc;

use net::clock;
use script::facts::{BACKEND_STATE_DOWN, BACKEND_STATE_UP};
use script::{Decision, Hook, Move, Payloads};

use route::{Backend, Duty, Health, Report};
use tokio::time::sleep_until;
use wire::Greeting;
use wire::errors::{self, ProxyError};

use super::begin::Begin;
use backend::greet::{Refusal, greet};
use link::decline::decline;
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;
use login::connect::{Greeted, PAUSE_FULL, tell_full};
use script_host::login_hooks::refused;
use script_host::server::Server;

/// The script's choice for its client.
pub(crate) enum Met {
    /// A backend whose greeting has arrived, and its number.
    Greeted(Box<Greeted>, usize),
    /// A parked connection, which is logged in.
    Pooled(Box<Server>),
    /// No backend: the script itself greets the client.
    Alone(Payloads),
    /// The proxy: it answers the login itself, and gives the session the connections that it needs.
    Here,
}

impl Begin<'_> {
    /// Asks the script until a backend sends a greeting. A backend that does not is marked down for
    /// a while, so that the loop ends.
    pub(crate) async fn meet(&mut self) -> Result<Met, Failure> {
        loop {
            self.host
                .follow(&self.env.pool.topology.borrow(), self.settings);
            self.host.scripts.retry_backends();
            self.hooks.script.settle(0);
            let decision = self.hooks.script.call(Hook::ConnectServer);
            let taken = self.follow_moves().await;
            if decision == Decision::SendResult {
                return match self.hooks.script.response() {
                    Some(payloads) => Ok(Met::Alone(payloads)),
                    None => Err(refused(
                        "proxy.response cannot be sent",
                        errors::response_unusable(),
                    )),
                };
            }
            if self.answering.is_some() {
                let index = self.hooks.script.backend_index();
                return match index == 0 || self.host.backend(index).is_some() {
                    true => Ok(Met::Here),
                    false => Err(all_down()),
                };
            }
            match taken {
                Some(server) if decision == Decision::IgnoreResult => {
                    return Ok(Met::Pooled(Box::new(server)));
                }
                Some(server) => self.put_back(server),
                None => {}
            }
            if let Some(met) = self.call_on().await? {
                return Ok(met);
            }
        }
    }

    /// Connects to the backend that the script has chosen, or to the least used one. `None` if it could not be reached.
    pub(super) async fn call_on(&mut self) -> Result<Option<Met>, Failure> {
        let scripts = self.host.scripts.clone();
        let mut index = self.hooks.script.backend_index();
        let is_known = index == 0 || self.host.backend(index).is_some();
        let may_serve = |backend: &Arc<Backend>| backend.duty != Duty::Disabled;
        let serves = |index| self.host.backend(index).is_some_and(|it| may_serve(&it));
        if is_known && index > 0 && (scripts.is_down(index) || !serves(index)) {
            index = 0;
        }
        if index == 0 {
            index = scripts.default_backend();
        }
        let backend = self.host.backend(index).filter(may_serve);
        let Some(backend) = backend.filter(|_| is_known) else {
            return Err(all_down());
        };
        let Some(slot) = backend.begin() else {
            let error = errors::backend_full(&backend.name);
            return Err(Failure::saying(FailureKind::BackendsFull, error));
        };
        match self.greet_patiently(&backend).await {
            Ok((stream, greeting, payload)) => {
                scripts.set_state(index, BACKEND_STATE_UP);
                if !matches!(backend.health, Health::Up { .. }) {
                    let backend = backend.id;
                    self.env.pool.report(Report::Connected { backend });
                }
                self.hooks.script.settle(index);
                let greeted = Greeted {
                    backend,
                    slot,
                    stream,
                    greeting,
                    payload,
                };
                Ok(Some(Met::Greeted(Box::new(greeted), index)))
            }
            Err(Refusal::Full { cause, payload } | Refusal::Err { cause, payload }) => {
                Err(Failure::relaying(FailureKind::NoBackend, cause, payload))
            }
            Err(Refusal::Unusable(cause)) => {
                scripts.set_state(index, BACKEND_STATE_DOWN);
                tracing::warn!(
                    side = "backend",
                    backend = backend.name,
                    cause,
                    "a backend has not taken a session; the proxy tries the next one"
                );
                let backend = backend.id;
                let report = Report::ConnectFailed { backend, cause };
                self.env.pool.report(report);
                Ok(None)
            }
        }
    }

    /// Connects to a backend, and waits while its server is full, as sessions without a script do.
    async fn greet_patiently(
        &self,
        backend: &Backend,
    ) -> Result<(PacketStream, Greeting, Vec<u8>), Refusal> {
        let config = &self.settings.config;
        let deadline = clock::now() + config.pool.timeout_wait;
        loop {
            let greeted = greet(config, self.header, backend).await;
            let Err(Refusal::Full { cause, .. }) = &greeted else {
                return greeted;
            };
            backend.load.note_server_full(self.env.pool.now());
            let now = clock::now();
            if now >= deadline {
                return greeted;
            }
            tell_full(&format!("{}: {cause}", backend.name));
            sleep_until(deadline.min(now + PAUSE_FULL)).await;
        }
    }

    /// Executes the script's moves of connections; returns the connection that it has now, if any.
    async fn follow_moves(&mut self) -> Option<Server> {
        let mut taken: Option<Server> = None;
        for step in self.hooks.script.take_moves() {
            match step {
                Move::Take(id) => {
                    taken = self.host.parked.take(id).await;
                    if taken.is_none() {
                        self.hooks.script.set_server(None);
                    }
                }
                Move::Park(_) => {
                    if let Some(server) = taken.take() {
                        self.host.parked.park(&self.host.scripts, server);
                    }
                }
                Move::Close(id) => self.host.parked.close(id),
                // At the session's beginning the script is asked again.
                Move::Choose(_) => {}
            }
        }
        taken
    }

    /// Leaves a backend without a login.
    pub(super) fn abandon(&mut self, met: Met) {
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

    /// Puts back a connection that the script took and no client uses.
    pub(crate) fn put_back(&mut self, server: Server) {
        self.hooks.script.leave();
        for step in self.hooks.script.take_moves() {
            if let Move::Close(id) = step {
                self.host.parked.close(id);
            }
        }
        self.host.parked.park(&self.host.scripts, server);
    }
}

/// The failure if the script says that no backend is left.
fn all_down() -> Failure {
    let error = errors::backends_down();
    let payload = before_login(&error);
    Failure::relaying(FailureKind::NoBackend, error, payload)
}

/// Returns an ERR for a client that has not named its capabilities: without SQLSTATE.
fn before_login(error: &ProxyError) -> Vec<u8> {
    let mut payload = Vec::new();
    wire::ErrPacket {
        number: error.code.number,
        sqlstate: None,
        text: error.text.as_bytes(),
    }
    .encode(&mut payload);
    payload
}
