//! What the proxy does about a command, its client and its connections when something breaks.
//!
//! | the command | not sent | sent, no part of the reply was forwarded | a part was forwarded |
//! |---|---|---|---|
//! | a read, or a BEGIN, unpinned | sent again elsewhere | sent again elsewhere | ERR, the session goes on |
//! | anything else, unpinned | sent again elsewhere | ERR, the session goes on | ERR, the session goes on |
//! | in a transaction that has only begun | begun again at the primary | a read: begun again; else ERR | ERR, and nothing before ROLLBACK |
//! | in any other transaction | ERR, and nothing before ROLLBACK | ERR, and nothing before ROLLBACK | ERR, and nothing before ROLLBACK |
//! | in one whose BEGIN is deferred | sent again elsewhere, behind BEGIN | a read: sent again; else as with BEGIN | ERR, and nothing before ROLLBACK |
//! | pinned by more than that | ERR, the session ends | ERR, the session ends | ERR, the session ends |

use session::effect::Effect;

use pool::CloseReason;
use route::{KillReason, Report};
use session::has_no_room;
use session::state::Pin;
use sql::{Access, Facts};
use wire::{Command, errors};

use crate::routing::routing_state::BeginProgress;
use crate::session::PooledSession;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::Cut;
use backend::exchange_outcome::{ExchangeError, Reached};
use backend::exchange_outcome::{Lack, RestoreFailed};
use backend::kill_thread::Running;
use command::repeat::{RETRIES_MAX, Repeat};
use command::target::CommandTarget;
use link::failure::{Failure, FailureKind};
use registry::session_control::Ask;
use relay::outcome::{After, SessionError};
use relay::relay::SILENT;
use session_parts::cut_transaction::CutTransaction;

/// The result of the wait until a primary takes writes.
pub(crate) enum Outwaited {
    /// The statement is sent again.
    Again,
    /// The time is over: the client gets the server's error.
    InVain,
    /// The client has had another reply.
    Told(After),
}

/// The state that a session had on the connection that it lost.
pub(crate) enum Bond {
    /// Nothing.
    None,
    /// A transaction, and nothing else.
    Transaction,
    /// State that no other connection can have.
    More,
}

impl PooledSession {
    /// How often a command may be sent again: as often as its rule says, or else `RETRIES_MAX`.
    pub(crate) fn repeat_of(&self, effect: Effect, command_target: CommandTarget) -> Repeat {
        let ordered = self.command.policy.as_ref().and_then(|it| it.retries);
        Repeat {
            retries_max: ordered.unwrap_or(RETRIES_MAX),
            ..Repeat::of(effect, command_target)
        }
    }

    /// Whether the command is to be sent again on another connection after this cut. If not, the caller tells the
    /// client what happened.
    pub(crate) fn again(&mut self, cut: &ExchangeError, repeat: &mut Repeat) -> bool {
        let is_harmless = matches!(repeat.effect, Effect::Nothing | Effect::Begin);
        if let Cut::RestoreFailed(unequal) = &cut.cut
            && unequal.lack == Lack::Position
            && (is_harmless || cut.reached == Reached::Nobody)
        {
            // The connection is in order, but its backend is behind. The session's own backend has the writes that are
            // to be seen.
            repeat.command_target = match repeat.command_target {
                CommandTarget::Ordered(roles) => self.after_ordered(roles),
                _ => CommandTarget::Home,
            };
            self.give_back();
            return true;
        }
        let may_repeat = match (&cut.cut, cut.reached) {
            (Cut::RestoreFailed(unequal), _)
                if matches!(unequal.lack, Lack::Schema | Lack::Transaction) =>
            {
                false
            }
            (Cut::Backend(_) | Cut::RestoreFailed(_), Reached::Nobody) => true,
            (Cut::Backend(_) | Cut::RestoreFailed(_), Reached::Backend) => is_harmless,
            _ => false,
        };
        if !may_repeat || !repeat.has_tries() || self.is_pinned() {
            return false;
        }
        repeat.retries += 1;
        self.report(cut);
        let name = self.held.backend().map(|backend| backend.name.clone());
        tracing::info!(
            kind = "sent_again",
            backend = name,
            cause = %cut.cut,
            "a command is sent again elsewhere"
        );
        self.drop_lease(CloseReason::Broken);
        // Another replica may have the same problem; the session's own backend has all of the data.
        if !matches!(repeat.command_target, CommandTarget::Ordered(_)) {
            repeat.command_target = CommandTarget::Home;
        }
        true
    }

    /// After a cut: makes the command ready to be sent again (`None`), or tells the client how it ended.
    pub(crate) async fn retry_or_report(
        &mut self,
        cut: ExchangeError,
        facts: &Facts,
        (command, sequence): (Command, u8),
        repeat: &mut Repeat,
    ) -> Result<Option<After>, SessionError> {
        if let Cut::Refused(error) = &cut.cut {
            if has_no_room(error) {
                Box::pin(self.make_room(repeat)).await;
                return Ok(None);
            }
            if facts.access == Access::Read {
                return Box::pin(self.leave_refusing(sequence, repeat)).await;
            }
            match Box::pin(self.wait_for_writable(sequence, repeat)).await? {
                Outwaited::Again => return Ok(None),
                Outwaited::Told(after) => return Ok(Some(after)),
                Outwaited::InVain => (),
            }
        }
        if self.again(&cut, repeat) {
            return Ok(None);
        }
        if self.may_go_on(&cut, facts) {
            return Box::pin(self.go_on(&cut, facts, sequence)).await;
        }
        self.cut_short(cut, sequence, command, *repeat).map(Some)
    }

    /// Reports a broken connection to the control plane. If the session leaves a backend because that was disabled, the
    /// statement there is killed instead, because no client waits for it any more.
    pub(crate) fn report(&self, cut: &ExchangeError) {
        if let (Cut::Backend(ConnectionError::Disabled), Some(conn)) =
            (&cut.cut, self.held.connection())
        {
            self.kill_thread(&Running::on(conn), KillReason::Disabled.scope());
        } else if let (Cut::Backend(broken), Some(conn)) = (&cut.cut, self.held.connection()) {
            self.env.pool_env.report(Report::SessionBroken {
                backend: conn.backend.id,
                cause: broken.to_string(),
            });
        }
    }

    /// Ends a command that was cut short: tells the client, and ends the session if it cannot go on.
    pub(crate) fn cut_short(
        &mut self,
        cut: ExchangeError,
        sequence: u8,
        command: Command,
        repeat: Repeat,
    ) -> Result<After, SessionError> {
        self.report(&cut);
        let name = self.command_backend();
        let place = match cut.reached {
            Reached::Client => cut.sequence,
            Reached::Nobody | Reached::Backend => Some(sequence),
        };
        match &cut.cut {
            Cut::RestoreFailed(unequal) if unequal.lack == Lack::Schema => {
                let failure = restore_failure(unequal, &name);
                self.note_backends_words(&failure);
                self.reply_failure(sequence, &failure);
                Ok(After::Next)
            }
            Cut::RestoreFailed(unequal) if !matches!(self.bond(), Bond::None) => {
                let error = errors::state_lost(name, unequal);
                self.lose(error.into(), cut.reached, repeat.effect, place)
            }
            Cut::RestoreFailed(unequal) => {
                let failure = restore_failure(unequal, &name);
                self.note_backends_words(&failure);
                self.drop_lease(CloseReason::Broken);
                self.reply_failure(sequence, &failure);
                Ok(After::Next)
            }
            Cut::Backend(broken) => {
                let error = errors::lost_during(name, command, broken);
                self.lose(error.into(), cut.reached, repeat.effect, place)
            }
            Cut::Asked(Ask::BackendDown) => {
                self.control.withdraw(Ask::BackendDown);
                let error = errors::lost_during(name, command, SILENT);
                self.lose(error.into(), cut.reached, repeat.effect, place)
            }
            // The statement has not been sent, and its connection is in order.
            Cut::Asked(ask @ Ask::KillStatement) => {
                self.reply_failure(sequence, &asked(*ask));
                Ok(After::Next)
            }
            Cut::Asked(ask) => {
                self.kill_and_drop(KillReason::Stopping);
                Err(SessionError::new(asked(*ask), place))
            }
            Cut::Refused(error) => {
                let text = format!("backend {name} takes no writes");
                let failure = Failure::relaying(FailureKind::HeldAtReplica, text, error.to_vec());
                self.note_backends_words(&failure);
                self.reply_failure(sequence, &failure);
                Ok(After::Next)
            }
            Cut::Client(how) => {
                let text = format!("the client has left during {command}: {how}");
                self.kill_and_drop(KillReason::ClientGone);
                Err(SessionError::new(
                    Failure::new(FailureKind::ClientLeft, text),
                    None,
                ))
            }
        }
    }

    /// Notes a failure that quotes the backend's error, as an error of that backend. Its text may contain values.
    fn note_backends_words(&mut self, failure: &Failure) {
        if let Some(payload) = failure.err_payload(true) {
            self.note_failed(&payload, self.held.backend().map(|backend| backend.id));
        }
    }

    /// The name of the backend where the command was: the backend of the connection, or of the lane.
    fn command_backend(&self) -> String {
        if let Some(conn) = self.held.connection() {
            return conn.backend.name.clone();
        }
        let topology = self.env.pool_env.topology.borrow();
        let last = self
            .routing
            .state()
            .last()
            .and_then(|last| topology.backend(last));
        last.map(|last| last.name.clone()).unwrap_or_default()
    }

    /// Ends a command whose connection is gone. A session that had more than a transaction there ends, too: no other
    /// connection has that state, and without it statements would have other results.
    fn lose(
        &mut self,
        text: String,
        reached: Reached,
        effect: Effect,
        place: Option<u8>,
    ) -> Result<After, SessionError> {
        let bond = self.bond();
        let outcome = match (&bond, reached, effect) {
            (Bond::None, Reached::Nobody, _) => "it was not executed",
            (Bond::None, _, _) => "it may have been executed",
            (_, Reached::Nobody, _) => "it was not executed; the transaction is rolled back",
            (_, _, Effect::Nothing | Effect::Data | Effect::Rollback) => {
                "the transaction is rolled back"
            }
            _ => "it may have been executed, and the transaction committed",
        };
        let text = match bond {
            Bond::More => self.with_losses(text) + "; it may have been executed",
            Bond::None | Bond::Transaction => format!("{text}; {outcome}"),
        };
        let failure = Failure::new(FailureKind::BackendLost, text.clone());
        self.drop_lease(CloseReason::Broken);
        self.sql_state.session_mut().connection_lost();
        let (Some(sequence), Bond::None | Bond::Transaction) = (place, &bond) else {
            return Err(SessionError::new(failure, place));
        };
        if let Bond::Transaction = bond {
            self.transaction_lost();
            if !matches!(effect, Effect::Commit | Effect::Rollback) {
                self.routing.note_cut(CutTransaction::new(&text));
            }
        }
        self.reply_failure(sequence, &failure);
        Ok(After::Next)
    }

    /// Handles a held connection that has closed between two commands without an error packet. Returns true if the
    /// session goes on: it lost no more than a transaction, or its transaction can go on elsewhere.
    pub(crate) fn cut_while_idle(&mut self, text: &str) -> bool {
        let is_its_own_doing = self
            .control
            .is_about_to_wait_too_long(self.env.relay.clock.now());
        if is_its_own_doing || !matches!(self.bond(), Bond::Transaction) {
            return false;
        }
        let text = format!("{text}; the transaction is rolled back");
        let kind = FailureKind::HeldBackendLost;
        self.cut_transaction(kind, CutTransaction::new(&text), CloseReason::Broken);
        true
    }

    /// Gives up the connection of a session that has nothing but a transaction there. If the transaction can go on
    /// elsewhere, it does so with the next statement.
    pub(crate) fn cut_transaction(
        &mut self,
        kind: FailureKind,
        cut: CutTransaction,
        reason: CloseReason,
    ) {
        if self.lose_optimistic_backend() {
            return;
        }
        self.env.relay.note_cut(&self.control, kind, &cut.why);
        self.drop_lease(reason);
        self.sql_state.session_mut().connection_lost();
        self.transaction_lost();
        self.routing.note_cut(cut);
    }

    pub(crate) fn transaction_lost(&mut self) {
        self.sql_state.session_mut().transaction_lost();
        self.client.end_transaction();
        self.routing.state_mut().note_begin(BeginProgress::Past);
    }

    pub(crate) fn bond(&self) -> Bond {
        if !self.is_pinned() {
            return Bond::None;
        }
        let mut pins = self.sql_state.session().pins();
        let is_in_transaction = pins.has(Pin::Transaction);
        pins.remove(Pin::Transaction);
        pins.remove(Pin::FoundRows);
        let is_for_life = self.sql_state.session().rules().hold == session::state::Hold::Session;
        match is_in_transaction && pins.is_empty() && !is_for_life && !self.sql_state.has_cursors()
        {
            true => Bond::Transaction,
            false => Bond::More,
        }
    }

    /// Adds to `text` what the session has lost with its connection.
    pub(crate) fn with_losses(&self, text: String) -> String {
        let pins = self.sql_state.session().pins();
        let held = self.sql_state.session().held();
        let names: Vec<_> = held
            .temporary_tables()
            .chain(held.locks())
            .chain(held.handlers())
            .map(String::from_utf8_lossy)
            .collect();
        match (pins.is_empty(), names.is_empty()) {
            (true, _) => text,
            (false, true) => format!("{text}; lost with it: {pins}"),
            (false, false) => format!("{text}; lost with it: {pins} ({})", names.join(", ")),
        }
    }

    /// Kills the statement that runs on the connection, because no client waits for it, and gives up the connection.
    pub(crate) fn kill_and_drop(&mut self, why: KillReason) {
        if let Some(conn) = self.held.connection() {
            self.kill_thread(&Running::on(conn), why.scope());
        }
        self.drop_lease(CloseReason::Broken);
    }

    /// Tells the client why there is no connection for its command; the client may try again.
    pub(crate) fn refuse(
        &mut self,
        failure: &Failure,
        sequence: u8,
    ) -> Result<After, SessionError> {
        match failure.kind {
            FailureKind::ClientLeft | FailureKind::Stopped | FailureKind::Killed => {
                Err(SessionError::new(
                    Failure::new(failure.kind, failure.cause.clone()),
                    Some(sequence),
                ))
            }
            _ => {
                self.reply_failure(sequence, failure);
                Ok(After::Next)
            }
        }
    }
}

fn asked(ask: Ask) -> Failure {
    match ask {
        Ask::KillSession => Failure::new(FailureKind::Killed, "Connection was killed"),
        Ask::KillStatement => Failure::saying(FailureKind::StatementKilled, errors::interrupted()),
        _ => {
            let error = errors::shutting_down_within("the statement or transaction");
            Failure::saying(FailureKind::Stopped, error)
        }
    }
}

/// Returns the failure of a wait for a connection that was cut short.
pub fn waiting(cut: &Cut) -> Failure {
    match cut {
        Cut::Client(how) => Failure::new(
            FailureKind::ClientLeft,
            format!("the client has left while it waited for a connection: {how}"),
        ),
        Cut::Asked(ask) => asked(*ask),
        Cut::Backend(_) | Cut::RestoreFailed(_) | Cut::Refused(_) => {
            Failure::saying(FailureKind::NoBackend, errors::wait_cut())
        }
    }
}

/// The failure of a backend whose connection could not be given the session's state, with the backend's error if there is one.
fn restore_failure(unequal: &RestoreFailed, name: &str) -> Failure {
    let error = errors::state_not_restored(name, unequal);
    match &unequal.error {
        Some(payload) => Failure::relaying(FailureKind::StateNotRestored, error, payload.clone()),
        None => Failure::saying(FailureKind::StateNotRestored, error),
    }
}

/// Returns the failure of a login whose schema does not exist, in the server's words.
pub(crate) fn at_login(cut: &Cut) -> Failure {
    match cut {
        Cut::RestoreFailed(unequal) => match &unequal.error {
            Some(payload) => Failure::relaying(
                FailureKind::LoginDenied,
                unequal.to_string(),
                payload.clone(),
            ),
            None => Failure::new(FailureKind::StateNotRestored, unequal.to_string()),
        },
        Cut::Backend(broken) => {
            let error = errors::cannot_log_in(broken);
            Failure::saying(FailureKind::NoBackend, error)
        }
        Cut::Client(_) | Cut::Asked(_) | Cut::Refused(_) => waiting(cut),
    }
}
