//! COM_CHANGE_USER: a new login on the same connection. The proxy examines the login itself if it can.

use std::rc::Rc;
use std::sync::Arc;

use auth::{
    Candidate, Circumstances, Credential, Denial, Dialect, KnownAccount, Passed, Password,
    ServerAuthentication, Treatment, Verifier,
};
use config::SessionMode;
use session::state::SessionState;
use wire::change_user::ChangeUser;
use wire::{Capabilities, Command, errors};

use crate::routing::routing_state::RoutingState;
use crate::routing::session_routing::SavedRouting;
use crate::session::PooledSession;
use crate::session::session_start::rules;
use backend::greeting::{dialect_of, plugin_of};
use backend::sub_pool::{BackendLogin, PoolKey};
use link::client_command::Incoming;
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;
use login::connect::Greeted;
use login::examine::{AuthenticationFailure, examine, random, tls_session};
use login::host_names::host_names;
use login::known_accounts::AccountLookup;
use login::login_throttle;
use login::relayed_login::Agreement;
use login::retry_after_reload::{RetryOutcome, conditions_anew, retry_after_reload};
use login::script_coverage::script_uncovered;
use login::tls_guard::{Claimant, is_password_used, unmet};
use login::welcome::{ok, welcome};
use registry::session_info::SessionKind;
use relay::outcome::{After, SessionError};
use session_parts::identity::AccountLogin;
use session_parts::sql_state::SavedSqlState;
use stats::journal::AuditEvent;

/// After this many refused changes of user, MariaDB refuses every further change. This hinders password guessing.
const REFUSED_CHANGES_MAX: u8 = 3;

impl PooledSession {
    /// Runs a COM_CHANGE_USER. If the login fails, the session ends, or goes on as the former user, as at the servers.
    pub(crate) async fn change_user(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        let cut = |failure| SessionError::new(failure, None);
        let argument = incoming.argument().into_owned();
        let Ok(wish) = ChangeUser::decode(&argument, self.client.login_capabilities()) else {
            return self.malformed(incoming.sequence);
        };
        // The session's transaction, locks and variables end whether the login succeeds or not.
        self.begin_anew().await;
        self.rest().await?;
        let lost = |cause: String| cut(Failure::new(FailureKind::ClientLost, cause));
        let drained = self.client.leg_mut().drained().await;
        drained.map_err(|error| lost(error.to_string()))?;
        let sequences = match self.client.is_compressed() {
            true => session::Sequences::Renumbered,
            false => session::Sequences::Checked,
        };
        let (client, ahead) = self.client.take();
        let mut stream = PacketStream::new(client.transport, incoming.sequence)
            .with_sequences(sequences)
            .with_ahead(ahead);
        let before = String::from_utf8_lossy(self.user()).into_owned();
        let changed = Box::pin(self.change(&mut stream, &wish)).await;
        self.audit_change(&wish, &before, changed.as_ref().err());
        if let Err(failure) = &changed
            && let Some(payload) = failure.err_payload(true)
        {
            // If the client has disconnected, it cannot get the error.
            let _ = stream.write(&payload).await;
        }
        let Some((transport, ahead)) = stream.into_parts() else {
            return Err(lost("the connection to the client is lost".to_owned()));
        };
        self.client.join(transport, ahead);
        match changed {
            Ok(Changed::Here) => Ok(After::Next),
            Ok(Changed::There(passed)) => {
                let (greeted, agreement) = *passed;
                self.change_over(greeted, agreement).map_err(cut)
            }
            // MariaDB goes on as the user from before. MySQL closes the connection.
            Err(failure) if may_go_on(&failure) && self.is_mariadb() => {
                tracing::info!(cause = failure.cause, "a change of user was refused");
                self.identity.note_refused_change();
                Ok(After::Next)
            }
            Err(failure) => Err(cut(failure)),
        }
    }

    /// Writes the change of user to the audit log, if there is one.
    fn audit_change(&self, wish: &ChangeUser<'_>, before: &str, failure: Option<&Failure>) {
        self.env.relay.audit(|| {
            let info = self.control.info();
            let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
            AuditEvent {
                at: self.env.pool_env.system.clock.wall(),
                event: match failure {
                    None => "change_user",
                    Some(_) => "change_user_failed",
                },
                port: "clients",
                session: self.identity.id(),
                user: text(wish.user),
                client: info.map_or_else(String::new, |info| info.client.to_string()),
                schema: wish.schema.map(text).unwrap_or_default(),
                detail: match failure {
                    None => format!("was {before}"),
                    Some(it) => format!("was {before}; {}: {}", it.kind.verdict().label, it.cause),
                },
            }
        });
    }

    fn is_mariadb(&self) -> bool {
        dialect_of(self.identity.greeting()) == Dialect::MariaDb
    }

    /// Returns the denial for a client whose connection does not meet the demands of `user`, see [`login::tls_guard`].
    fn unmet(&self, user: &[u8], there: &[u8], password_used: bool) -> Option<Denial> {
        let accounts = Arc::clone(&self.env.relay.login.accounts.borrow());
        let claimant = Claimant {
            user,
            there,
            origin: self.client.origin(),
            privacy: self.client.privacy(),
            tls: self.client.tls(),
            password_used,
        };
        let unmet = unmet(&self.settings, &accounts, &claimant)?;
        Some(unmet.denial(password_used))
    }

    /// Lets a backend examine the login. Only a session without scripts may do that, because it is relayed afterwards.
    async fn to_backend(
        &self,
        stream: &mut PacketStream,
        wish: &ChangeUser<'_>,
    ) -> Result<Changed, Failure> {
        let password_used = is_password_used(wish.auth_response);
        if let Some(denial) = self.unmet(wish.user, wish.user, password_used) {
            return Err(self.deny_change(denial, wish.user).await);
        }
        if self
            .settings
            .config
            .scripts_of(self.identity.listener())
            .is_empty()
        {
            return self
                .authenticate_through(stream, wish)
                .await
                .map(Changed::of);
        }
        let error = errors::change_user_out_of_sight();
        Err(Failure::saying(FailureKind::LoginDenied, error))
    }

    /// The credential for the account's logins at backends. A credential that this login has proven is kept for later
    /// logins.
    fn backend_credential(
        &self,
        account: &KnownAccount,
        proven: Option<Credential>,
    ) -> Option<Credential> {
        let keyring = &self.env.pool_env.shared.keyring;
        let held = || keyring.find(account.id());
        let credential = account.backend_credential().or(proven).or_else(held)?;
        if account.backend.is_none() {
            keyring.hold(account.id(), credential.clone());
        }
        Some(credential)
    }

    async fn change(
        &mut self,
        stream: &mut PacketStream,
        wish: &ChangeUser<'_>,
    ) -> Result<Changed, Failure> {
        if self.is_mariadb() && self.identity.refused_changes() >= REFUSED_CHANGES_MAX {
            return Err(no_more_changes());
        }
        let env = Rc::clone(&self.env);
        let env = &env.relay.login;
        let mut known = AccountLookup::find(env, wish.user, self.client.origin()).await;
        let mut may_appeal = true;
        let (mut account, passed) = loop {
            let account = match known {
                AccountLookup::PassThrough => return self.to_backend(stream, wish).await,
                AccountLookup::Nobody(verifiers) => {
                    return Err(self.refuse_login(stream, wish, verifiers).await);
                }
                AccountLookup::Account(account) => account,
            };
            let verifiers = match account.treatment(env.pool.system.clock.unix_time()) {
                Treatment::PassThrough(_)
                    if account.script.as_deref().is_some_and(|it| !it.is_empty()) =>
                {
                    return Err(script_uncovered());
                }
                Treatment::PassThrough(_) => return self.to_backend(stream, wish).await,
                Treatment::Examine(verifiers) => verifiers,
            };
            let held = env.pool.shared.keyring.password(account.id());
            let failed = match self.examine(stream, wish, verifiers, held).await? {
                Ok(passed) => break (account, passed),
                Err(failed) => failed,
            };
            let (denial, user) = (failed.denial, wish.user);
            let retry_after_reload = match may_appeal {
                true => {
                    retry_after_reload(env, stream, &account, failed, user, self.client.origin())
                        .await?
                }
                false => RetryOutcome::Refused,
            };
            match retry_after_reload {
                RetryOutcome::Passed(account, passed) => break (account, passed),
                RetryOutcome::Anew(later) => (known, may_appeal) = (later, false),
                RetryOutcome::Refused => return Err(self.deny_change(denial, user).await),
            }
        };
        let (user, password_used) = (wish.user, passed.password_used);
        let mut denied = self.change_denial(&account, user, password_used);
        if denied.is_some()
            && let Some(later) = conditions_anew(env, &account, user, self.client.origin()).await
        {
            account = later;
            denied = self.change_denial(&account, user, password_used);
        }
        if let Some(denial) = denied {
            return Err(self.deny_change(denial, wish.user).await);
        }
        login_throttle::succeeded(env, self.client.origin(), wish.user);
        let Some(credential) = self.backend_credential(&account, passed.credential) else {
            let denial = Denial::Access { password_used };
            return Err(self.deny_change(denial, wish.user).await);
        };
        let before = self.become_account(account, credential, wish);
        if let Err(failure) = self.enter_account().await {
            self.become_again(before);
            return Err(failure);
        }
        welcome(stream, passed.payload, &ok(self.client.status())).await?;
        Ok(Changed::Here)
    }

    /// Whether the account may have one session more, and whether a backend takes it, in the session's schema. A
    /// server says so within COM_CHANGE_USER, so a session does not begin as an account that cannot be used.
    async fn enter_account(&mut self) -> Result<(), Failure> {
        let sessions_max = (self.identity.account().conditions).user_connections_max;
        self.identity.introduce(sessions_max)?;
        self.try_schema_anew().await
    }

    /// Makes the session the former account's again, because the change of user has failed.
    fn become_again(&mut self, before: SavedIdentity) {
        let SavedIdentity {
            routing,
            account_login,
            mode,
            sql_state,
        } = before;
        self.routing.return_to(routing);
        self.identity.replace_account(account_login);
        self.mode = mode;
        self.sql_state.return_to(sql_state);
        // The former account has been admitted before, so its limit of sessions is not checked again.
        let _ = self.identity.introduce(None);
        self.note_account();
    }

    /// Updates the user, the account and the pooling mode that the worker shows for this session.
    pub fn note_account(&self) {
        self.note_wait_timeout();
        self.control.change_info(|info| {
            info.user = String::from_utf8_lossy(self.user()).into();
            info.kind = SessionKind::Pooled(self.mode);
            info.timeout_idle_transaction =
                self.identity.account().pooling.timeout_idle_transaction;
            info.account = Some(self.identity.account().id().clone());
        });
    }

    /// Returns why a client with the right password may not become this account. `None`: the client may.
    fn change_denial(
        &self,
        account: &KnownAccount,
        user: &[u8],
        password_used: bool,
    ) -> Option<Denial> {
        let circumstances = Circumstances {
            origin: self.client.origin(),
            tls: self.client.tls().map(tls_session),
            password_used,
        };
        let there = BackendLogin::user_of(account, user);
        let denied = account.admit(&circumstances).err();
        denied.or_else(|| self.unmet(user, there, password_used))
    }

    async fn examine(
        &self,
        stream: &mut PacketStream,
        wish: &ChangeUser<'_>,
        verifiers: Arc<[Verifier]>,
        held: Option<Password>,
    ) -> Result<Result<Passed, AuthenticationFailure>, Failure> {
        login_throttle::hold_back(
            &self.env.relay.login,
            &self.settings,
            self.client.origin(),
            wish.user,
        )
        .await;
        let candidate = Candidate {
            // MySQL asks the client for its authentication again, whatever the client has answered.
            plugin: wish.plugin.map(|plugin| match self.is_mariadb() {
                true => plugin,
                false => b"",
            }),
            answer: wish.auth_response,
            privacy: self.client.privacy(),
        };
        let (plugin, scramble) = (
            plugin_of(self.identity.greeting()),
            self.identity.scramble(),
        );
        let fresh = random(&self.env.pool_env.system.entropy);
        let verdict =
            ServerAuthentication::begin(plugin, scramble, verifiers, held, candidate, fresh);
        examine(&self.env.relay.login.shared.own_key, stream, verdict).await
    }

    /// Examines a client whose user has no account, and refuses the client whatever its answer is.
    async fn refuse_login(
        &self,
        stream: &mut PacketStream,
        wish: &ChangeUser<'_>,
        verifiers: Arc<[Verifier]>,
    ) -> Failure {
        let denial = match self.examine(stream, wish, verifiers, None).await {
            Ok(Ok(passed)) => Denial::Access {
                password_used: passed.password_used,
            },
            Ok(Err(failed)) => failed.denial,
            Err(failure) => return failure,
        };
        self.deny_change(denial, wish.user).await
    }

    /// Makes the session another account's. Returns what the session was before.
    fn become_account(
        &mut self,
        account: Arc<KnownAccount>,
        credential: Credential,
        wish: &ChangeUser<'_>,
    ) -> SavedIdentity {
        let config = &self.settings.config;
        let mode = config.routing.mode(
            self.identity.listener().routing.session,
            account.pooling.mode,
        );
        let routing_state = RoutingState::of(
            &self.env.relay,
            config,
            self.identity.listener(),
            Some(&account),
        );
        let before = self.routing.enter_account(routing_state);
        let user = account.user_of(wish.user);
        let login = BackendLogin::of(&account, user, credential);
        let key = PoolKey {
            account: account.id().clone(),
            user: user.into(),
            capabilities: self
                .client
                .capabilities()
                .with(Capabilities::SESSION_TRACK, true),
            collation: wish.collation.unwrap_or(self.identity.key().collation),
        };
        let (key, login) = self.env.pool_env.store.identity(key, login);
        let schema = wish
            .schema
            .filter(|schema| !schema.is_empty())
            .map(<[u8]>::to_vec);
        let schema = schema.or_else(|| account.schema.clone().map(String::into_bytes));
        let values = match &schema {
            Some(schema) => self.env.pool_env.store.values.in_schema(schema),
            None => self.env.pool_env.store.values.fresh(),
        };
        let server = self.sql_state.session().flags().server;
        let flags = self.env.pool.fresh_flags(key.collation, server);
        let state = SessionState::new(rules(&account, mode), values, flags);
        let inherits_at = self.env.pool_env.shared.globals.now();
        let account_login = AccountLogin {
            account,
            login,
            key,
        };
        let before = SavedIdentity {
            routing: before,
            account_login: self.identity.replace_account(account_login),
            mode: std::mem::replace(&mut self.mode, mode),
            sql_state: self.sql_state.enter_account(state, inherits_at),
        };
        self.note_account();
        if mode == SessionMode::Transparent {
            tracing::debug!(user = %self.identity.account().id(), "a changed user is pooled until its connection is its own");
        }
        before
    }

    async fn deny_change(&self, denial: Denial, user: &[u8]) -> Failure {
        login_throttle::after_failure(
            &self.env.relay.login,
            &self.settings,
            self.client.origin(),
            user,
        )
        .await;
        let dialect = dialect_of(self.identity.greeting());
        let names = host_names(
            &self.env.relay.login,
            &self.settings,
            &self.routing.settings().destination(),
        )
        .await;
        let shown = self.client.origin().shown(names);
        let payload = denial.payload(dialect, user, &shown);
        let cause = format!("{denial}, at {} from {shown}", Command::CHANGE_USER);
        Failure::relaying(FailureKind::LoginDenied, cause, payload)
    }
}

/// The identity of a session before COM_CHANGE_USER, which is restored if the new login fails.
struct SavedIdentity {
    routing: SavedRouting,
    account_login: AccountLogin,
    mode: SessionMode,
    sql_state: SavedSqlState,
}

/// The result of a successful change of user.
enum Changed {
    /// The session belongs to the new account, and is pooled.
    Here,
    /// A backend has accepted the login, and the client has had the reply.
    There(Box<(Greeted, Agreement)>),
}

impl Changed {
    fn of(passed: (Greeted, Agreement)) -> Self {
        Self::There(Box::new(passed))
    }
}

fn no_more_changes() -> Failure {
    let cause = "too many changes of user were refused before";
    let payload = errors::unknown_command().payload();
    Failure::relaying(FailureKind::LoginDenied, cause, payload)
}

/// Whether a session of MariaDB goes on as the user from before: the change was refused, by the proxy or a backend,
/// and the client's connection is in order.
fn may_go_on(failure: &Failure) -> bool {
    matches!(
        failure.kind,
        FailureKind::LoginDenied
            | FailureKind::LoginRefused
            | FailureKind::AccountSessionsMax
            | FailureKind::BackendsFull
            | FailureKind::BackendLogin
            | FailureKind::BackendTls
            | FailureKind::NoBackend
            | FailureKind::PoolExhausted
            | FailureKind::StateNotRestored
    )
}
