//! COM_CHANGE_USER: a new login on the same connection, examined here where it can be.

use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use auth::{
    Candidate, Circumstances, Credential, Denial, Dialect, Found, KnownAccount, LoginExam, Names,
    Passed, Treatment, Verifier,
};
use config::SessionMode;
use session::state::SessionState;
use wire::change_user::ChangeUser;
use wire::{Capabilities, Command};

use super::appeal::{appeal, learned_anew};
use super::begin::{rules, welcome};
use super::beside::Reflection;
use super::course::Course;
use super::enter::{examine, random, since_1970, tls_session};
use super::greeting::{dialect_of, plugin_of};
use super::incoming::{Inbox, Incoming};
use super::inheriting::fresh_flags;
use super::pace;
use super::session::{After, CutOff, Pooled};
use super::shelf::{BackendLogin, Kind};
use crate::card::Way;
use crate::connect::Greeted;
use crate::failure::{Failure, Kind as FailureKind};
use crate::journal::AuditEvent;
use crate::leg::Leg;
use crate::login::Agreement;
use crate::packets::PacketStream;
use crate::scripted::sight::out_of_sight;

impl Pooled {
    /// Who fails is sent away, as by the servers.
    pub(crate) async fn change_user(&mut self, incoming: Incoming) -> Result<After, CutOff> {
        let cut = |failure| CutOff::new(failure, None);
        let argument = incoming.argument().into_owned();
        let Ok(wish) = ChangeUser::decode(&argument, self.login_capabilities) else {
            return self.malformed(incoming.sequence);
        };
        // What it had ends whatever comes of it.
        self.begin_anew().await;
        self.rest().await?;
        let lost = |cause: String| cut(Failure::new(FailureKind::ClientLost, cause));
        let drained = self.client.drained().await;
        drained.map_err(|error| lost(error.to_string()))?;
        let sequences = match self.client.transport.is_compressed() {
            true => session::Sequences::Renumbered,
            false => session::Sequences::Checked,
        };
        let client = std::mem::replace(&mut self.client, Leg::gone());
        let mut stream = PacketStream::new(client.transport, incoming.sequence)
            .with_sequences(sequences)
            .with_ahead(self.inbox.take_all());
        let before = self.account.id().user().to_owned();
        let changed = Box::pin(self.change(&mut stream, &wish)).await;
        self.audit_change(&wish, &before, changed.as_ref().err());
        if let Err(failure) = &changed
            && let Some(payload) = failure.err_payload(true)
        {
            // A client that has gone is no longer interested.
            let _ = stream.write(&payload).await;
        }
        let Some((transport, ahead)) = stream.into_parts() else {
            return Err(lost("the client is gone".to_owned()));
        };
        self.client = Leg::new(transport);
        self.inbox = Inbox::new(ahead);
        match changed {
            Ok(Changed::Here) => Ok(After::Next),
            Ok(Changed::There(passed)) => {
                let (greeted, agreement) = *passed;
                self.change_over(greeted, agreement).map_err(cut)
            }
            // MariaDB goes on as the user from before.
            Err(failure) if is_refusal(&failure) && self.is_mariadb() => {
                tracing::info!(cause = failure.cause, "a change of user was refused");
                Ok(After::Next)
            }
            Err(failure) => Err(cut(failure)),
        }
    }

    /// The audit log is told, if there is one.
    fn audit_change(&self, wish: &ChangeUser<'_>, before: &str, failure: Option<&Failure>) {
        self.worker.surroundings.audit(|| {
            let card = self.watch.card();
            let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
            AuditEvent {
                at: SystemTime::now(),
                event: match failure {
                    None => "change_user",
                    Some(_) => "change_user_failed",
                },
                port: "clients",
                session: self.person.id(),
                user: text(wish.user),
                client: card.map_or_else(String::new, |card| card.client.to_string()),
                schema: wish.schema.map(text).unwrap_or_default(),
                detail: match failure {
                    None => format!("was {before}"),
                    Some(it) => format!("was {before}; {}: {}", it.kind.verdict().label, it.cause),
                },
            }
        });
    }

    fn is_mariadb(&self) -> bool {
        dialect_of(&self.greeting) == Dialect::MariaDb
    }

    /// Lets a backend judge, which only sessions without scripts may: what they become is relayed.
    async fn to_backend(
        &self,
        stream: &mut PacketStream,
        wish: &ChangeUser<'_>,
    ) -> Result<Changed, Failure> {
        if self.settings.config.scripts_of(&self.listener).is_empty() {
            return self.pass_on(stream, wish).await.map(Changed::of);
        }
        let text = "(lua) COM_CHANGE_USER cannot lead to an account whose login passes through where \
                    scripts run: log in anew";
        let payload = script::err_payload(text);
        Err(Failure::relaying(FailureKind::LoginDenied, text, payload))
    }

    async fn change(
        &mut self,
        stream: &mut PacketStream,
        wish: &ChangeUser<'_>,
    ) -> Result<Changed, Failure> {
        let worker = Rc::clone(&self.worker);
        let mut accounts = Arc::clone(&worker.surroundings.accounts.borrow());
        if accounts.find(wish.user, &self.origin) == Found::Nobody
            && let Some(later) = learned_anew(&worker, wish.user).await
        {
            accounts = later;
        }
        let (account, verifiers) = match accounts.find(wish.user, &self.origin) {
            Found::PassThrough => return self.to_backend(stream, wish).await,
            Found::Nobody => (None, accounts.decoy(wish.user)),
            Found::Account(account) => match account.treatment(since_1970()) {
                Treatment::PassThrough(_)
                    if account.script.as_deref().is_some_and(|it| !it.is_empty()) =>
                {
                    return Err(out_of_sight());
                }
                Treatment::PassThrough(_) => return self.to_backend(stream, wish).await,
                Treatment::Examine(verifiers) => (Some(Arc::clone(account)), verifiers),
            },
        };
        let (account, passed) = self
            .examine_change(stream, wish, account, verifiers)
            .await?;
        let circumstances = Circumstances {
            origin: &self.origin,
            tls: self.client_tls.as_ref().map(tls_session),
            password_used: passed.password_used,
        };
        if let Err(denial) = account.admit(&circumstances) {
            return Err(self.deny_change(denial, wish.user).await);
        }
        pace::succeeded(&worker, &self.origin, wish.user);
        self.person
            .introduce(account.id(), account.user_connections_max)?;
        let held = || worker.shared.keyring.find(account.id());
        let credential = account
            .backend_credential()
            .or(passed.credential)
            .or_else(held);
        let Some(credential) = credential else {
            let denial = Denial::Access {
                password_used: passed.password_used,
            };
            return Err(self.deny_change(denial, wish.user).await);
        };
        if account.backend.is_none() {
            let keyring = &worker.shared.keyring;
            keyring.hold(account.id(), credential.clone());
        }
        self.become_account(account, credential, wish);
        self.try_schema().await?;
        welcome(stream, passed.payload, self.status).await?;
        Ok(Changed::Here)
    }

    /// Who has proven to be whom.
    async fn examine_change(
        &self,
        stream: &mut PacketStream,
        wish: &ChangeUser<'_>,
        account: Option<Arc<KnownAccount>>,
        verifiers: Arc<[Verifier]>,
    ) -> Result<(Arc<KnownAccount>, Passed), Failure> {
        let (worker, user) = (&self.worker, wish.user);
        let known = account.as_ref();
        let held = known.and_then(|account| worker.shared.keyring.password(account.id()));
        pace::hold_back(worker, &self.settings, &self.origin, user).await;
        let candidate = Candidate {
            // MySQL asks again, whatever it was answered.
            plugin: wish.plugin.map(|plugin| match self.is_mariadb() {
                true => plugin,
                false => b"",
            }),
            answer: wish.auth_response,
            privacy: self.client_privacy,
        };
        let verdict = LoginExam::begin(
            plugin_of(&self.greeting),
            &self.scramble,
            verifiers,
            held,
            candidate,
            random(),
        );
        let denial = match (examine(&worker.shared, stream, verdict).await?, account) {
            (Ok(passed), Some(account)) => return Ok((account, passed)),
            (Ok(passed), None) => Denial::Access {
                password_used: passed.password_used,
            },
            (Err(failed), account) => {
                if let Some(account) = account {
                    let shown = failed.shown;
                    let judged = appeal(worker, stream, &account, shown, user, &self.origin);
                    if let Some(judged) = judged.await? {
                        return Ok(judged);
                    }
                }
                failed.denial
            }
        };
        Err(self.deny_change(denial, user).await)
    }

    /// From here on the session is another account's.
    fn become_account(
        &mut self,
        account: Arc<KnownAccount>,
        credential: Credential,
        wish: &ChangeUser<'_>,
    ) {
        let config = &self.settings.config;
        let mode = config.pool.mode(self.listener.session, account.mode);
        let course = Course::of(&self.worker, config, &self.listener, Some(&account));
        let before = std::mem::replace(&mut self.course, course);
        match before.cluster == self.course.cluster {
            // Whoever it is now, it is the same client, which has written that.
            true => self.course.written = before.written,
            false => self.home = None,
        }
        let login = BackendLogin {
            user: account.backend_user().as_bytes().to_vec(),
            credential,
        };
        let kind = Kind {
            account: account.id().clone(),
            capabilities: self.capabilities.with(Capabilities::SESSION_TRACK, true),
            collation: wish.collation.unwrap_or(self.kind.collation),
        };
        (self.kind, self.login) = self.worker.store.identity(kind, login);
        let schema = wish
            .schema
            .filter(|schema| !schema.is_empty())
            .map(<[u8]>::to_vec);
        let schema = schema.or_else(|| account.schema.clone().map(String::into_bytes));
        let values = match &schema {
            Some(schema) => self.worker.store.values.in_schema(schema),
            None => self.worker.store.values.fresh(),
        };
        self.mode = mode;
        self.inherits_at = self.worker.shared.globals.now();
        self.has_set_globals = false;
        let server = self.state.flags().server;
        let flags = fresh_flags(&self.worker, self.kind.collation, server);
        self.state = SessionState::new(rules(&account, mode), values, flags);
        // What runs beside it is another's.
        self.reflection = Reflection::None;
        self.note_wait_timeout();
        self.watch.note_of(|card| {
            card.user = account.id().user().into();
            card.way = Way::Pooled(mode);
        });
        self.account = account;
        if mode == SessionMode::Transparent {
            tracing::debug!(user = %self.account.id(), "a changed user is pooled until its connection is its own");
        }
    }

    async fn deny_change(&self, denial: Denial, user: &[u8]) -> Failure {
        pace::after_failure(&self.worker, &self.settings, &self.origin, user).await;
        let dialect = dialect_of(&self.greeting);
        let shown = self.origin.shown(Names::Skipped);
        let payload = denial.payload(dialect, user, &shown);
        let cause = format!("{denial:?} at {} from {shown}", Command::CHANGE_USER);
        Failure::relaying(FailureKind::LoginDenied, cause, payload)
    }
}

/// How a change of user has ended well.
enum Changed {
    /// The session is another account's, and pooled.
    Here,
    /// A backend has let the client in, and the client knows.
    There(Box<(Greeted, Agreement)>),
}

impl Changed {
    fn of(passed: (Greeted, Agreement)) -> Self {
        Self::There(Box::new(passed))
    }
}

/// Whether the client, as opposed to somebody else, is why it failed.
fn is_refusal(failure: &Failure) -> bool {
    matches!(
        failure.kind,
        FailureKind::LoginDenied | FailureKind::LoginRefused
    )
}
