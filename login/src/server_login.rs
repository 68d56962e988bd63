//! A login that the proxy answers: its own greeting, the authentication, and the state in which the
//! session begins. If the proxy cannot authenticate the client, a backend does.

use std::sync::Arc;

use auth::{
    Account, Candidate, Circumstances, Credential, Denial, KnownAccount, Origin, Passed, Scramble,
    ServerAuthentication, Treatment,
};
use config::{ListenerConfig, SessionMode};
use net::{Endpoint, proxy_protocol};
use wire::auth::MYSQL_NATIVE_PASSWORD;
use wire::compression::Algorithm;
use wire::handshake::HandshakeHead;
use wire::{Capabilities, Greeting, HandshakeResponse, StatusFlags, errors};

use crate::connect::{Greeted, connect};
use crate::destination::Destination;
use crate::examine::{AuthenticationFailure, examine, origin_of, random, tls_session};
use crate::host_names::host_names;
use crate::known_accounts::AccountLookup;
use crate::login_env::LoginEnv;
use crate::login_throttle;
use crate::passthrough_auth::PassOn;
use crate::redirect::RedirectObserver;
use crate::relayed_login::{Agreement, ClientLogin, client_compression, malformed, read_response};
use crate::retry_after_reload::{RetryOutcome, conditions_anew, retry_after_reload};
use crate::script_coverage::script_uncovered;
use crate::tls_guard::{Claimant, Unmet, await_accounts, is_password_used, unmet};
use backend::greeting::{dialect_of, plugin_of};
use backend::settings::Settings;
use link::decline::decline;
use link::dialogue::{LOGIN_ONLY, LoginObserver, client_broke};
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;
use registry::session_registry::Registration;
use script_host::auth_observer::AuthObserver;
use script_host::bridge::UNBRIDGED;
use script_host::login_hooks::{Auth, LoginHooks, replaced};

/// How a login ended.
pub enum LoginOutcome {
    /// The proxy has authenticated the client, and has not yet sent the OK.
    Examined(Box<AdmittedLogin>),
    /// A backend has authenticated the client, and its OK was relayed.
    Passed(Box<(Greeted, Agreement)>),
    /// The client's script has let the client in; with the agreed compression and capabilities.
    LetIn(Option<(Algorithm, u8)>, Capabilities, Registration),
}

/// The state in which the session of an authenticated client begins.
pub struct AdmittedLogin {
    /// The account.
    pub account: Arc<KnownAccount>,
    /// The client's user; see [`Account::user_of`].
    pub user: Box<[u8]>,
    /// The credential for the login at backends.
    pub credential: Credential,
    /// The last packet of the authentication, which is sent before the OK.
    pub payload: Option<Vec<u8>>,
    /// How long the session keeps a backend connection.
    pub mode: SessionMode,
    /// The capabilities that client and proxy have agreed on, with the flags of the login.
    pub login_capabilities: Capabilities,
    /// The collation that the client has named.
    pub collation: u8,
    /// The schema in which the session begins.
    pub schema: Option<Vec<u8>>,
    /// The compression towards the client: algorithm and level.
    pub compression: Option<(Algorithm, u8)>,
    /// The greeting that the client received.
    pub greeting: Greeting,
    /// The scramble of that greeting.
    pub scramble: Scramble,
    /// The client's host as it appears in errors.
    pub origin: Origin,
    /// The content of the PROXY header for backends.
    pub header: proxy_protocol::Header,
    /// The listener that accepted the client.
    pub listener: Arc<ListenerConfig>,
    /// The session's entry by the id that the client sees.
    pub registration: Registration,
}

impl AdmittedLogin {
    /// Returns the capabilities that client and proxy have agreed on, without the flags of the login.
    pub fn capabilities(&self) -> Capabilities {
        self.login_capabilities.with(LOGIN_ONLY, false)
    }
}

/// A login that the proxy answers.
pub struct ServerLogin<'a> {
    /// The environment of the worker.
    pub env: &'a LoginEnv,
    /// The settings of the session.
    pub settings: &'a Settings,
    /// The content of the PROXY header.
    pub header: &'a proxy_protocol::Header,
    /// The client.
    pub client: &'a mut PacketStream,
    /// The address of the client.
    pub remote: &'a Endpoint,
    /// The listener that accepted the client.
    pub listener: &'a Arc<ListenerConfig>,
    /// The client that logs in; filled in during the login.
    pub client_login: &'a mut ClientLogin,
    /// The script whose hooks see the login.
    pub hooks: Option<&'a mut LoginHooks>,
}

impl ServerLogin<'_> {
    /// Runs the login to its end. After an error the client has been told nothing, unless a backend has told it.
    pub async fn run(mut self) -> Result<LoginOutcome, Failure> {
        let scramble = Scramble::of_random(random(&self.env.pool.system.entropy));
        let registration = self.env.session_registry.register(self.env.worker);
        let greeting = self.greeting(registration.id(), &scramble).await?;
        let greeting = self.greet(greeting).await?;
        let (request, answer) =
            read_response(self.settings, self.client, self.client_login).await?;
        let response = match &request {
            Some(request) => HandshakeResponse::decode_behind(request, &answer),
            None => HandshakeResponse::decode(&answer),
        };
        let mut response = response.map_err(malformed)?;
        self.client_login.introduce(&response);
        let replacing;
        if let Some(hooks) = &mut self.hooks {
            match hooks.read_auth(self.client, &response).await? {
                Auth::Goes => {}
                Auth::LetIn => {
                    let compression = client_compression(self.settings, &response);
                    let agreed = response.head.capabilities & greeting.capabilities;
                    return Ok(LoginOutcome::LetIn(compression, agreed, registration));
                }
                Auth::Replaced(payload) => {
                    replacing = payload;
                    let other = replaced(&replacing, response.head)?;
                    // The client's capabilities stay, whatever user the script puts in its place. Scripts know one
                    // plugin.
                    let plugin = other.plugin.unwrap_or(MYSQL_NATIVE_PASSWORD);
                    response = HandshakeResponse {
                        head: HandshakeHead {
                            capabilities: response.head.capabilities,
                            ..other.head
                        },
                        plugin: Some(plugin),
                        ..other
                    };
                    self.client_login.introduce(&response);
                }
            }
        }
        let origin = origin_of(self.remote);
        await_accounts(self.env, self.settings, response.user).await;
        let known = AccountLookup::find(self.env, response.user, &origin).await;
        let answered = Answered {
            greeting,
            scramble,
            response,
            origin,
            registration,
        };
        self.decide(known, answered).await
    }

    /// Authenticates the client, or lets a backend do it.
    async fn decide(
        mut self,
        mut known: AccountLookup,
        answered: Answered<'_>,
    ) -> Result<LoginOutcome, Failure> {
        let (user, origin) = (answered.response.user, &answered.origin);
        let mut may_appeal = true;
        loop {
            let account = match known {
                AccountLookup::PassThrough => {
                    return self.authenticate_through(answered, None).await;
                }
                AccountLookup::Nobody(verifiers) => {
                    return Err(self.refuse_login(&answered, verifiers).await);
                }
                AccountLookup::Account(account) => account,
            };
            let now = self.env.pool.system.clock.unix_time();
            let verifiers = match (self.mode_of(&account), account.treatment(now)) {
                (SessionMode::Transparent, _) | (_, Treatment::PassThrough(_)) => {
                    if account.script.as_deref().is_some_and(|it| !it.is_empty()) {
                        return Err(script_uncovered());
                    }
                    return self.authenticate_through(answered, Some(&account)).await;
                }
                (_, Treatment::Examine(verifiers)) => verifiers,
            };
            let held = self.env.pool.shared.keyring.password(account.id());
            if may_appeal {
                login_throttle::hold_back(self.env, self.settings, origin, user).await;
            }
            let failed = match self.examine(&answered, verifiers, held).await? {
                Ok(passed) => return self.admit(answered, account, passed).await,
                Err(failed) => failed,
            };
            let denial = failed.denial;
            let retry_after_reload = match may_appeal {
                true => {
                    retry_after_reload(self.env, self.client, &account, failed, user, origin)
                        .await?
                }
                false => RetryOutcome::Refused,
            };
            match retry_after_reload {
                RetryOutcome::Passed(account, passed)
                    if self.mode_of(&account) != SessionMode::Transparent =>
                {
                    return self.admit(answered, account, passed).await;
                }
                RetryOutcome::Anew(later) => (known, may_appeal) = (later, false),
                RetryOutcome::Refused | RetryOutcome::Passed(..) => {
                    return Err(self.deny(denial, &answered).await);
                }
            }
        }
    }

    /// Authenticates a client whose user has no account, and refuses it in any case.
    async fn refuse_login(
        &mut self,
        answered: &Answered<'_>,
        verifiers: Arc<[auth::Verifier]>,
    ) -> Failure {
        let denial = match self.examine(answered, verifiers, None).await {
            Ok(Ok(passed)) => Denial::Access {
                password_used: passed.password_used,
            },
            Ok(Err(failed)) => failed.denial,
            Err(failure) => return failure,
        };
        self.deny(denial, answered).await
    }

    /// Sends the greeting to the client. If a script may follow the session, the greeting lacks the capabilities that
    /// scripts cannot read.
    async fn greet(&mut self, mut greeting: Greeting) -> Result<Greeting, Failure> {
        if self.hooks.is_some() || self.settings.config.accounts_run_scripts() {
            greeting.capabilities = greeting.capabilities.with(UNBRIDGED, false);
        }
        if let Some(hooks) = &mut self.hooks {
            hooks.meet(&greeting);
            hooks.read_handshake(self.client).await?;
            hooks.note_greeting(&greeting);
        }
        let mut payload = Vec::new();
        greeting.encode(&mut payload);
        let sent = self.client.write(&payload).await;
        sent.map_err(|error| client_broke(error.into()))?;
        Ok(greeting)
    }

    /// Returns the greeting. The first client of a worker waits until a backend has sent one.
    async fn greeting(&self, id: u32, scramble: &Scramble) -> Result<Greeting, Failure> {
        let own = &self.env.pool.greeting;
        if let Some(greeting) = own.for_client(self.settings, id, scramble) {
            return Ok(greeting);
        }
        // If many clients come at once, one of them asks a backend. If that takes long, the other clients do not wait
        // for each other.
        let patience = self.settings.config.health.timeout_connect;
        let _asking = tokio::time::timeout(patience, own.asker.lock()).await;
        if let Some(greeting) = own.for_client(self.settings, id, scramble) {
            return Ok(greeting);
        }
        let destination = self.destination(None);
        let greeted = connect(self.env, &self.settings.config, self.header, &destination).await?;
        own.learn(&greeted.greeting);
        decline(greeted.stream);
        own.for_client(self.settings, id, scramble)
            .ok_or_else(|| Failure::saying(FailureKind::NoBackend, errors::no_greeting_yet()))
    }

    fn mode_of(&self, account: &Account) -> SessionMode {
        self.settings
            .config
            .routing
            .mode(self.listener.routing.session, account.pooling.mode)
    }

    /// Returns the requirement that the client's connection does not meet, see [`crate::tls_guard`].
    fn unmet(
        &self,
        answered: &Answered<'_>,
        account: Option<&Account>,
        password_used: bool,
    ) -> Option<Unmet> {
        let user = answered.response.user;
        let accounts = Arc::clone(&self.env.accounts.borrow());
        let login = account.and_then(|account| account.backend.as_ref());
        let tls = self.client.tls();
        let claimant = Claimant {
            user,
            there: login.map_or(user, |login| login.user.as_bytes()),
            origin: &answered.origin,
            privacy: self.client.privacy(),
            tls: tls.as_ref(),
            password_used,
        };
        unmet(self.settings, &accounts, &claimant)
    }

    /// Returns why a client that has proven its account may not use it.
    fn denial(
        &self,
        answered: &Answered<'_>,
        account: &KnownAccount,
        password_used: bool,
    ) -> Option<Denial> {
        let facts = self.client.tls();
        let circumstances = Circumstances {
            origin: &answered.origin,
            tls: facts.as_ref().map(tls_session),
            password_used,
        };
        let denied = account.admit(&circumstances).err();
        denied.or_else(|| {
            let unmet = self.unmet(answered, Some(account), password_used)?;
            Some(unmet.denial(password_used))
        })
    }

    fn destination(&self, account: Option<&Account>) -> Destination {
        let config = &self.settings.config;
        let topology = self.env.pool.topology.borrow();
        Destination::of(&topology, config, self.listener, account)
    }

    async fn examine(
        &mut self,
        answered: &Answered<'_>,
        verifiers: Arc<[auth::Verifier]>,
        held: Option<auth::Password>,
    ) -> Result<Result<Passed, AuthenticationFailure>, Failure> {
        let response = &answered.response;
        let candidate = Candidate {
            plugin: response.plugin,
            answer: response.auth_response,
            privacy: self.client.privacy(),
        };
        let (plugin, scramble) = (plugin_of(&answered.greeting), &answered.scramble);
        let fresh = random(&self.env.pool.system.entropy);
        let verdict =
            ServerAuthentication::begin(plugin, scramble, verifiers, held, candidate, fresh);
        examine(&self.env.shared.own_key, self.client, verdict).await
    }

    async fn deny(&self, denial: Denial, answered: &Answered<'_>) -> Failure {
        let (user, origin) = (answered.response.user, &answered.origin);
        login_throttle::after_failure(self.env, self.settings, origin, user).await;
        let destination = self.destination(None);
        let names = host_names(self.env, self.settings, &destination).await;
        let shown = origin.shown(names);
        let payload = denial.payload(dialect_of(&answered.greeting), user, &shown);
        let cause = format!(
            "{denial}, for user {:?} from {shown}",
            self.client_login.user
        );
        Failure::relaying(FailureKind::LoginDenied, cause, payload)
    }

    async fn admit(
        &mut self,
        answered: Answered<'_>,
        mut account: Arc<KnownAccount>,
        passed: Passed,
    ) -> Result<LoginOutcome, Failure> {
        let (user, origin) = (answered.response.user, &answered.origin);
        let password_used = passed.password_used;
        let mut denied = self.denial(&answered, &account, password_used);
        if denied.is_some()
            && let Some(later) = conditions_anew(self.env, &account, user, origin).await
        {
            account = later;
            denied = self.denial(&answered, &account, password_used);
        }
        if let Some(denial) = denied {
            return Err(self.deny(denial, &answered).await);
        }
        let mode = self.mode_of(&account);
        self.client_login.timeout_idle_transaction = account.pooling.timeout_idle_transaction;
        let Answered {
            greeting,
            scramble,
            response,
            origin,
            mut registration,
        } = answered;
        login_throttle::succeeded(self.env, &origin, response.user);
        let user = account.user_of(response.user);
        registration.introduce(account.id(), user, account.conditions.user_connections_max)?;
        let keyring = &self.env.pool.shared.keyring;
        if let (Some(credential), None) = (&passed.credential, &account.backend) {
            keyring.hold(account.id(), credential.clone());
        }
        let own = account.backend_credential().or(passed.credential);
        let credential = own.or_else(|| keyring.find(account.id()));
        let Some(credential) = credential else {
            // The client's proof gives no credential that a backend would accept.
            let error = errors::no_backend_login(account.id());
            return Err(Failure::saying(FailureKind::LoginMalformed, error));
        };
        let named = response.schema.filter(|schema| !schema.is_empty());
        let of_account = || account.schema.as_ref().map(|it| it.clone().into_bytes());
        let schema = named.map(<[u8]>::to_vec).or_else(of_account);
        let agreed = response.head.capabilities & greeting.capabilities;
        Ok(LoginOutcome::Examined(Box::new(AdmittedLogin {
            user: user.into(),
            credential,
            payload: passed.payload,
            mode,
            login_capabilities: agreed,
            collation: response.head.collation,
            schema,
            compression: client_compression(self.settings, &response),
            greeting,
            scramble,
            origin,
            header: *self.header,
            listener: Arc::clone(self.listener),
            registration,
            account,
        })))
    }

    /// Lets a backend authenticate the client.
    async fn authenticate_through(
        mut self,
        answered: Answered<'_>,
        account: Option<&Account>,
    ) -> Result<LoginOutcome, Failure> {
        let user = answered.response.user;
        let password_used = is_password_used(answered.response.auth_response);
        match self.unmet(&answered, None, password_used) {
            None => {}
            Some(Unmet::Transport(denial)) => return Err(self.deny(denial, &answered).await),
            Some(Unmet::Account) => {
                let accounts = Arc::clone(&self.env.accounts.borrow());
                let verifiers = accounts.in_vain(user, &answered.origin);
                return Err(self.refuse_login(&answered, verifiers).await);
            }
        }
        let Answered {
            greeting,
            response,
            mut registration,
            ..
        } = answered;
        let destination = self.destination(account);
        self.client_login.timeout_idle_transaction =
            account.and_then(|it| it.pooling.timeout_idle_transaction);
        let mut script = self
            .hooks
            .map(|hooks| AuthObserver::new(&mut hooks.script, None));
        let mut redirect = self.listener.redirect.as_ref().map(RedirectObserver::new);
        let observer = match (&mut script, &mut redirect) {
            (Some(script), _) => Some(script as &mut dyn LoginObserver),
            (None, Some(redirect)) => Some(redirect as &mut dyn LoginObserver),
            (None, None) => None,
        };
        let pass_on = PassOn {
            env: self.env,
            settings: self.settings,
            header: self.header,
            destination: &destination,
            client: self.client,
            client_login: self.client_login,
            greeting: &greeting,
            observer,
        };
        let (greeted, mut agreement) = pass_on.run(response).await?;
        registration.bind_to_thread(greeted.backend.id, greeted.greeting.thread_id);
        agreement.registration = Some(registration);
        Ok(LoginOutcome::Passed(Box::new((greeted, agreement))))
    }
}

/// A client's answer to the proxy's greeting.
struct Answered<'a> {
    greeting: Greeting,
    scramble: Scramble,
    response: HandshakeResponse<'a>,
    origin: Origin,
    registration: Registration,
}

/// The status with which a session begins.
pub const STATUS_FIRST: StatusFlags = StatusFlags::AUTOCOMMIT;
