//! A scripted session's login that the proxy answers itself; the script sees it.

use script::SocketFacts;

use super::begin::Begin;
use super::completed_login::CompletedLogin;
use super::login_steps::Entry;
use super::passing::{server_facts, server_of};
use link::failure::Failure;
use login::connect::Greeted;
use login::relayed_login::Agreement;
use login::server_login::{LoginOutcome, ServerLogin};
use script_host::facts::backend_address;
use script_host::login_hooks::ended;

impl Begin<'_> {
    /// Answers the login; the script sees it.
    pub(super) async fn enter(mut self) -> Result<Entry, Failure> {
        let Some(answering) = self.answering.take() else {
            return Err(ended("the proxy does not answer this login"));
        };
        self.hooks.server = self.facts_of_default();
        let enter = ServerLogin {
            env: &self.env.login,
            settings: self.settings,
            header: self.header,
            client: self.client,
            remote: self.remote,
            listener: answering.listener,
            client_login: self.client_login,
            hooks: Some(&mut self.hooks),
        };
        match enter.run().await {
            Ok(LoginOutcome::Examined(admission)) => {
                Ok(Entry::Examined(admission, Box::new(self.hooks)))
            }
            Ok(LoginOutcome::Passed(passed)) => {
                let (greeted, agreement) = *passed;
                self.passed(greeted, agreement)
            }
            Ok(LoginOutcome::LetIn(compression, capabilities, registration)) => {
                self.hooks.script.set_server(None);
                let begun = CompletedLogin {
                    registration: Some(registration),
                    ..self.without_backend(compression, capabilities)
                };
                Ok(Entry::Scripted(Box::new(begun)))
            }
            Err(failure) => Err(self.hooks.refused(self.client, failure).await),
        }
    }

    /// Continues with the connection of a backend that has accepted the client: it belongs to the session.
    fn passed(mut self, greeted: Greeted, mut agreement: Agreement) -> Result<Entry, Failure> {
        let index = self.host.index_of(greeted.backend.id).unwrap_or_default();
        let mut facts = server_facts(&self.host, &greeted, index);
        self.hooks.introduce(&mut facts);
        self.hooks.script.settle(index);
        self.hooks.script.set_server(Some(&facts));
        let (compression, status) = (agreement.client_compression, agreement.status);
        let capabilities = agreement.capabilities;
        let registration = agreement.registration.take();
        let server = server_of(greeted, facts, agreement, self.id)?;
        Ok(Entry::Scripted(Box::new(CompletedLogin {
            script: self.hooks.script,
            id: self.id,
            registration,
            server: Some(server),
            status,
            compression,
            collation: self.client_login.collation,
            capabilities,
        })))
    }

    /// Returns the facts for a session without a connection of its own: those of the backend that it would get.
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
