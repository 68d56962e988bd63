//! The login of a scripted session, from `connect_server` to the backend's OK; each step has its hook.

use wire::handshake::HandshakeHead;
use wire::{Greeting, HandshakeResponse, errors};

use super::begin::Begin;
use super::completed_login::CompletedLogin;
use super::meet::Met;
use super::passing::{AuthRounds, server_facts};
use link::failure::Failure;
use login::examine::origin_of;
use login::relayed_login::{client_compression, malformed, own_offer, read_response};
use login::script_coverage::stay_covered;
use login::server_login::AdmittedLogin;
use login::tls_guard::{Claimant, await_accounts, is_password_used, may_become};
use script_host::bridge::UNBRIDGED;
use script_host::login_hooks::{Auth, LoginHooks, refused, replaced};
use script_host::parked::kind_of;

/// The result of a login.
pub enum Entry {
    /// The session has at most one connection at a time, until its end.
    Scripted(Box<CompletedLogin>),
    /// The proxy has authenticated the client; the session gets the connections that it needs.
    Examined(Box<AdmittedLogin>, Box<LoginHooks>),
}

impl Begin<'_> {
    /// Runs the login to its end. If it fails, the client has not been told, unless the failure says so.
    ///
    /// # Errors
    /// The login has failed, or its script has.
    pub async fn run(mut self) -> Result<Entry, Failure> {
        let met = self.meet().await?;
        let greeting = match &met {
            Met::Greeted(greeted, index) => {
                self.hooks.server = server_facts(&self.host, greeted, *index);
                self.hooks.meet(&greeted.greeting);
                greeted.greeting.clone()
            }
            Met::Pooled(server) => server.greeting.clone(),
            Met::Alone(payloads) => {
                let greeting = self.greet_alone(payloads).await?;
                self.offered = greeting.capabilities.with(UNBRIDGED, false);
                greeting
            }
            Met::Here => return self.enter().await,
        };
        let greeted = !matches!(met, Met::Alone(_));
        if greeted && let Err(failure) = self.show(&greeting).await {
            self.abandon(met);
            return Err(failure);
        }
        let read = read_response(self.settings, self.client, self.client_login).await;
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

    /// Sends the backend's greeting to the client.
    async fn show(&mut self, greeting: &Greeting) -> Result<(), Failure> {
        self.hooks.read_handshake(self.client).await?;
        self.offered = own_offer(self.settings, greeting.capabilities).with(UNBRIDGED, false);
        let mut payload = Vec::new();
        Greeting {
            capabilities: self.offered,
            ..greeting.clone()
        }
        .encode(&mut payload);
        self.send(&payload).await?;
        self.hooks.note_greeting(greeting);
        Ok(())
    }

    /// Continues after the client's answer: runs `read_auth`, and what follows from it.
    async fn answered(
        mut self,
        met: Met,
        request: Option<HandshakeHead>,
        answer: Vec<u8>,
    ) -> Result<CompletedLogin, Failure> {
        let observed = async {
            let response = decode(request.as_ref(), &answer).map_err(malformed)?;
            self.client_login.introduce(&response);
            let agreed = response.head.capabilities & self.offered;
            self.hooks.facts.kind = Some(kind_of(agreed));
            let auth = self.hooks.read_auth(self.client, &response).await?;
            Ok((response, auth))
        };
        let (response, auth) = match observed.await {
            Ok(observed) => observed,
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
                let capabilities = response.head.capabilities & self.offered;
                Ok(self.without_backend(compression, capabilities))
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

    /// Passes the login to the backend, if there is one.
    async fn log_in(
        mut self,
        met: Met,
        response: HandshakeResponse<'_>,
    ) -> Result<CompletedLogin, Failure> {
        let head = HandshakeHead {
            capabilities: response.head.capabilities.with(UNBRIDGED, false),
            ..response.head
        };
        let response = HandshakeResponse { head, ..response };
        if let Err(failure) = self.may_log_in(&response).await {
            self.abandon(met);
            return Err(failure);
        }
        match met {
            Met::Greeted(greeted, index) => {
                self.pass(*greeted, index, response, AuthRounds::Once).await
            }
            Met::Pooled(server) => {
                let agreed = response.head.capabilities & server.greeting.capabilities;
                match kind_of(agreed) == kind_of(server.capabilities) {
                    true => self.change_user(*server, response).await,
                    false => self.anew(*server, response).await,
                }
            }
            Met::Here => Err(refused(
                "the script has not checked the client's password",
                errors::response_unusable(),
            )),
            Met::Alone(_) => {
                self.let_in(&response).await?;
                let compression = client_compression(self.settings, &response);
                let capabilities = response.head.capabilities & self.offered;
                Ok(self.without_backend(compression, capabilities))
            }
        }
    }

    /// Checks that the proxy knows no reason against the client's login.
    async fn may_log_in(&self, response: &HandshakeResponse<'_>) -> Result<(), Failure> {
        let user = response.user;
        stay_covered(
            &self.env.login,
            user,
            self.remote,
            self.hooks.script.files(),
        )?;
        await_accounts(&self.env.login, self.settings, user).await;
        let tls = self.client.tls();
        let claimant = Claimant {
            user,
            there: user,
            origin: &origin_of(self.remote),
            privacy: self.client.privacy(),
            tls: tls.as_ref(),
            password_used: is_password_used(response.auth_response),
        };
        may_become(&self.env.login, &claimant)
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
