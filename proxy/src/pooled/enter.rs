//! A login that the proxy answers: its own greeting, the exam, and what the session begins with. Who
//! cannot be examined here is passed on to a backend.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use auth::{
    Account, Candidate, Certificate, Circumstances, Credential, Denial, Found, KnownAccount,
    LoginExam, Names, Origin, Passed, Scramble, Shown, TlsSession, Treatment, Verdict,
};
use config::{ListenerConfig, SessionMode};
use net::{Endpoint, proxy_protocol};
use wire::auth::MYSQL_NATIVE_PASSWORD;
use wire::compression::Algorithm;
use wire::handshake::HandshakeHead;
use wire::{Capabilities, Greeting, HandshakeResponse, StatusFlags};

use super::appeal::{appeal, learned_anew};
use super::course::Course;
use super::greeting::{dialect_of, plugin_of};
use super::pace;
use super::pass_on::PassOn;
use super::people::Person;
use crate::connect::{Greeted, connect};
use crate::decline::decline;
use crate::dialogue::client_broke;
use crate::failure::{Failure, Kind};
use crate::login::{Agreement, Who, client_compression, malformed, read_response};
use crate::packets::PacketStream;
use crate::scripted::auth_ear::AuthEar;
use crate::scripted::bridge::UNBRIDGED;
use crate::scripted::login_hooks::{Auth, LoginHooks, replaced};
use crate::scripted::sight::out_of_sight;
use crate::surroundings::{Settings, Shared};
use crate::worker::Worker;

/// Flags that say how a login went and nothing of the session behind it.
pub(crate) const LOGIN: Capabilities = Capabilities(
    Capabilities::SSL.0
        | Capabilities::COMPRESS.0
        | Capabilities::ZSTD_COMPRESSION_ALGORITHM.0
        | Capabilities::CONNECT_WITH_DB.0
        | Capabilities::CONNECT_ATTRS.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS.0
        | Capabilities::MULTI_FACTOR_AUTHENTICATION.0
        | Capabilities::CAPABILITY_EXTENSION.0
        | Capabilities::SSL_VERIFY_SERVER_CERT.0
        | Capabilities::REMEMBER_OPTIONS.0
        | Capabilities::ODBC.0
        | Capabilities::LONG_FLAG.0
        | Capabilities::IGNORE_SIGPIPE.0
        | Capabilities::RESERVED.0
        | Capabilities::TRANSACTIONS.0,
);

/// How a login ended.
pub(crate) enum Entered {
    /// The proxy has let the client in and has yet to say so.
    Examined(Box<Admission>),
    /// A backend has, and the client knows.
    Passed(Box<(Greeted, Agreement)>),
    /// Its script has; with what is agreed on of compression.
    LetIn(Option<(Algorithm, u8)>, Capabilities, Person),
}

/// What an examined client begins with.
pub(crate) struct Admission {
    pub account: Arc<KnownAccount>,
    pub credential: Credential,
    /// Goes before the OK.
    pub payload: Option<Vec<u8>>,
    pub mode: SessionMode,
    pub course: Course,
    pub capabilities: Capabilities,
    /// The same with the flags of the login.
    pub login_capabilities: Capabilities,
    pub collation: u8,
    pub schema: Option<Vec<u8>>,
    pub compression: Option<(Algorithm, u8)>,
    pub greeting: Greeting,
    pub scramble: Scramble,
    /// How the client's own greeting is called in errors.
    pub origin: Origin,
    pub header: proxy_protocol::Header,
    pub listener: Arc<ListenerConfig>,
    pub person: Person,
}

/// One login on its way.
pub(crate) struct Enter<'a> {
    pub worker: &'a Worker,
    pub settings: &'a Settings,
    pub header: &'a proxy_protocol::Header,
    pub client: &'a mut PacketStream,
    pub remote: &'a Endpoint,
    pub listener: &'a Arc<ListenerConfig>,
    pub who: &'a mut Who,
    pub hooks: Option<&'a mut LoginHooks>,
}

impl Enter<'_> {
    /// Sees it through. After an error the client has been told nothing, unless by the backend.
    pub(crate) async fn run(mut self) -> Result<Entered, Failure> {
        let scramble = Scramble::of_random(random());
        let person = self.worker.shared.people.register(self.worker.index);
        let greeting = self.greeting(person.id(), &scramble).await?;
        let greeting = self.greet(greeting).await?;
        let (request, answer) = read_response(self.settings, self.client, self.who).await?;
        let response = match &request {
            Some(request) => HandshakeResponse::decode_behind(request, &answer),
            None => HandshakeResponse::decode(&answer),
        };
        let mut response = response.map_err(malformed)?;
        self.who.introduce(&response);
        let replacing;
        if let Some(hooks) = &mut self.hooks {
            match hooks.read_auth(self.client, &response).await? {
                Auth::Goes => {}
                Auth::LetIn => {
                    let compression = client_compression(self.settings, &response);
                    let agreed = response.head.capabilities & greeting.capabilities;
                    return Ok(Entered::LetIn(compression, agreed, person));
                }
                Auth::Replaced(payload) => {
                    replacing = payload;
                    let other = replaced(&replacing, response.head)?;
                    // What the client can, it can as anybody. Scripts know one plugin.
                    let plugin = other.plugin.unwrap_or(MYSQL_NATIVE_PASSWORD);
                    response = HandshakeResponse {
                        head: HandshakeHead {
                            capabilities: response.head.capabilities,
                            ..other.head
                        },
                        plugin: Some(plugin),
                        ..other
                    };
                    self.who.introduce(&response);
                }
            }
        }
        let origin = origin_of(self.remote);
        match self.known(response.user, &origin).await {
            Known::PassThrough => self.pass_on(&greeting, response, None, person).await,
            Known::Nobody(verifiers) => {
                let passed = self
                    .examine(&greeting, &scramble, verifiers, None, &response)
                    .await?;
                let denial = match passed {
                    Ok(passed) => Denial::Access {
                        password_used: passed.password_used,
                    },
                    Err(failed) => failed.denial,
                };
                Err(self.deny(&greeting, denial, response.user, &origin).await)
            }
            Known::Account(account) => {
                let verifiers = match (self.mode_of(&account), account.treatment(since_1970())) {
                    (SessionMode::Transparent, _) | (_, Treatment::PassThrough(_)) => {
                        if account.script.as_deref().is_some_and(|it| !it.is_empty()) {
                            return Err(out_of_sight());
                        }
                        let account = Some(&**account);
                        return self.pass_on(&greeting, response, account, person).await;
                    }
                    (_, Treatment::Examine(verifiers)) => verifiers,
                };
                let held = self.worker.shared.keyring.password(account.id());
                pace::hold_back(self.worker, self.settings, &origin, response.user).await;
                let examined = self
                    .examine(&greeting, &scramble, verifiers, held, &response)
                    .await?;
                let (account, passed) = match examined {
                    Ok(passed) => (account, passed),
                    Err(failed) => {
                        let user = response.user;
                        match self.appeal(&account, failed.shown, user, &origin).await? {
                            Some(judged) => judged,
                            None => {
                                let denial = failed.denial;
                                return Err(self.deny(&greeting, denial, user, &origin).await);
                            }
                        }
                    }
                };
                let mode = self.mode_of(&account);
                self.admit(
                    greeting, scramble, account, passed, &response, origin, mode, person,
                )
                .await
            }
        }
    }

    /// Greets the client; where a script may listen, without what that could not read.
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

    /// The greeting; the first client of a worker waits until a backend has said how to greet.
    async fn greeting(&self, id: u32, scramble: &Scramble) -> Result<Greeting, Failure> {
        let own = &self.worker.greeting;
        if let Some(greeting) = own.for_client(self.settings, id, scramble) {
            return Ok(greeting);
        }
        // Of many who come at once one asks, and where that takes long they do not wait for each other.
        let patience = self.settings.config.health.timeout_connect;
        let _asking = tokio::time::timeout(patience, own.asking.lock()).await;
        if let Some(greeting) = own.for_client(self.settings, id, scramble) {
            return Ok(greeting);
        }
        let course = self.course(None);
        let greeted = connect(self.worker, &self.settings.config, self.header, &course).await?;
        own.learn(&greeted.greeting);
        decline(greeted.stream);
        own.for_client(self.settings, id, scramble)
            .ok_or_else(|| Failure::new(Kind::NoBackend, "no backend has greeted"))
    }

    /// Who the client says to be. Unknown users are looked for again once the accounts have been
    /// learned anew.
    async fn known(&self, user: &[u8], origin: &Origin) -> Known {
        let accounts = Arc::clone(&self.worker.surroundings.accounts.borrow());
        if let Some(known) = Known::of(accounts.find(user, origin)) {
            return known;
        }
        let later = learned_anew(self.worker, user).await;
        let found = later.and_then(|later| Known::of(later.find(user, origin)));
        found.unwrap_or_else(|| Known::Nobody(accounts.decoy(user)))
    }

    /// By an account whose logins are still answered here; see [`appeal`].
    async fn appeal(
        &mut self,
        before: &KnownAccount,
        shown: Option<Shown>,
        user: &[u8],
        origin: &Origin,
    ) -> Result<Option<(Arc<KnownAccount>, Passed)>, Failure> {
        let judged = appeal(self.worker, self.client, before, shown, user, origin).await?;
        Ok(judged.filter(|(account, _)| self.mode_of(account) != SessionMode::Transparent))
    }

    fn mode_of(&self, account: &Account) -> SessionMode {
        self.settings
            .config
            .pool
            .mode(self.listener.session, account.mode)
    }

    fn course(&self, account: Option<&Account>) -> Course {
        let config = &self.settings.config;
        Course::of(self.worker, config, self.listener, account)
    }

    async fn examine(
        &mut self,
        greeting: &Greeting,
        scramble: &Scramble,
        verifiers: Arc<[auth::Verifier]>,
        held: Option<auth::Password>,
        response: &HandshakeResponse<'_>,
    ) -> Result<Result<Passed, Failed>, Failure> {
        let candidate = Candidate {
            plugin: response.plugin,
            answer: response.auth_response,
            privacy: self.client.privacy(),
        };
        let plugin = plugin_of(greeting);
        let verdict = LoginExam::begin(plugin, scramble, verifiers, held, candidate, random());
        examine(&self.worker.shared, self.client, verdict).await
    }

    async fn deny(
        &self,
        greeting: &Greeting,
        denial: Denial,
        user: &[u8],
        origin: &Origin,
    ) -> Failure {
        pace::after_failure(self.worker, self.settings, origin, user).await;
        let dialect = dialect_of(greeting);
        let shown = origin.shown(Names::Skipped);
        let payload = denial.payload(dialect, user, &shown);
        let cause = format!("{denial:?} for user {:?} from {shown}", self.who.user);
        Failure::relaying(Kind::LoginDenied, cause, payload)
    }

    #[allow(clippy::too_many_arguments)] // all that a login has gathered
    async fn admit(
        &mut self,
        greeting: Greeting,
        scramble: Scramble,
        account: Arc<KnownAccount>,
        passed: Passed,
        response: &HandshakeResponse<'_>,
        origin: Origin,
        mode: SessionMode,
        mut person: Person,
    ) -> Result<Entered, Failure> {
        let facts = self.client.tls();
        let circumstances = Circumstances {
            origin: &origin,
            tls: facts.as_ref().map(tls_session),
            password_used: passed.password_used,
        };
        if let Err(denial) = account.admit(&circumstances) {
            return Err(self.deny(&greeting, denial, response.user, &origin).await);
        }
        pace::succeeded(self.worker, &origin, response.user);
        person.introduce(account.id(), account.user_connections_max)?;
        if let (Some(credential), None) = (&passed.credential, &account.backend) {
            self.worker
                .shared
                .keyring
                .hold(account.id(), credential.clone());
        }
        let held = || self.worker.shared.keyring.find(account.id());
        let credential = account
            .backend_credential()
            .or(passed.credential)
            .or_else(held);
        let Some(credential) = credential else {
            // Its proof yields nothing that a backend would take.
            return Err(Failure::new(
                Kind::LoginMalformed,
                format!(
                    "account {} can be examined, but no backend login is known for it (backend_user)",
                    account.id()
                ),
            ));
        };
        let schema = response
            .schema
            .filter(|schema| !schema.is_empty())
            .map(<[u8]>::to_vec)
            .or_else(|| {
                account
                    .schema
                    .as_ref()
                    .map(|schema| schema.clone().into_bytes())
            });
        let agreed = response.head.capabilities & greeting.capabilities;
        Ok(Entered::Examined(Box::new(Admission {
            credential,
            payload: passed.payload,
            mode,
            course: self.course(Some(&account)),
            capabilities: agreed.with(LOGIN, false),
            login_capabilities: agreed,
            collation: response.head.collation,
            schema,
            compression: client_compression(self.settings, response),
            greeting,
            scramble,
            origin,
            header: *self.header,
            listener: Arc::clone(self.listener),
            person,
            account,
        })))
    }

    /// Lets a backend judge: the client is asked again, in the backend's own words.
    async fn pass_on(
        self,
        greeting: &Greeting,
        response: HandshakeResponse<'_>,
        account: Option<&Account>,
        mut person: Person,
    ) -> Result<Entered, Failure> {
        let course = self.course(account);
        let mut ear = self
            .hooks
            .map(|hooks| AuthEar::new(&mut hooks.script, None));
        let pass_on = PassOn {
            worker: self.worker,
            settings: self.settings,
            header: self.header,
            course: &course,
            client: self.client,
            who: self.who,
            greeting,
            ear: ear.as_mut(),
        };
        let (greeted, mut agreement) = pass_on.run(response).await?;
        person.pass_on(greeted.backend.id, greeted.greeting.thread_id);
        agreement.person = Some(person);
        Ok(Entered::Passed(Box::new((greeted, agreement))))
    }
}

/// The time since 1970.
pub(crate) fn since_1970() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default()
}

/// An exam that was not passed.
pub(crate) struct Failed {
    pub denial: Denial,
    /// What the client has shown, for another judge.
    pub shown: Option<Shown>,
}

/// What the accounts say of a user.
enum Known {
    Account(Arc<KnownAccount>),
    Nobody(Arc<[auth::Verifier]>),
    PassThrough,
}

impl Known {
    /// `None`: nobody, as far as is known.
    fn of(found: Found<'_>) -> Option<Self> {
        match found {
            Found::Account(account) => Some(Self::Account(Arc::clone(account))),
            Found::PassThrough => Some(Self::PassThrough),
            Found::Nobody => None,
        }
    }
}

/// Carries an exam on from its first verdict to its last.
pub(crate) async fn examine<T>(
    shared: &Arc<Shared>,
    client: &mut PacketStream<T>,
    mut verdict: Verdict,
) -> Result<Result<Passed, Failed>, Failure>
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    loop {
        verdict = match verdict {
            Verdict::Accepted(passed) => return Ok(Ok(passed)),
            Verdict::Denied(denial, shown) => return Ok(Err(Failed { denial, shown })),
            Verdict::Send { payload, exam } => {
                let sent = client.write(&payload).await;
                sent.map_err(|error| client_broke(error.into()))?;
                exam.hear(&client.read().await.map_err(client_broke)?)
            }
            Verdict::Work(work) => {
                let shared = Arc::clone(shared);
                let worked = tokio::task::spawn_blocking(move || work.run(&shared.own_key)).await;
                worked.map_err(|error| {
                    Failure::new(Kind::KeyExchange, format!("the exam broke off: {error}"))
                })?
            }
        }
    }
}

/// What conditions of accounts are held against.
pub(crate) fn tls_session(facts: &net::tls::Facts) -> TlsSession<'_> {
    let names = facts.issuer.as_deref().zip(facts.subject.as_deref());
    TlsSession {
        cipher: &facts.cipher,
        certificate: names.map(|(issuer, subject)| Certificate { issuer, subject }),
    }
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has random bytes, or TLS would not work");
    bytes
}

pub(crate) fn origin_of(remote: &Endpoint) -> Origin {
    match remote {
        Endpoint::Tcp(address) => Origin::tcp(address.ip(), None),
        Endpoint::Unix(_) => Origin::unix(),
    }
}

/// The status that a session begins with.
pub(crate) const STATUS_FIRST: StatusFlags = StatusFlags::AUTOCOMMIT;
