//! The connection that a session has for a command: it is acquired before the command, and released after it.

use std::rc::Rc;
use std::sync::Arc;

use pool::CloseReason;
use route::Backend;
use session::state::{Hold, Pin, Pins, distance};

use crate::session::PooledSession;
use backend::connection::BackendConn;
use backend::pending_answers::PendingAnswers;
use backend::running_statements::RunningStatement;
use backend::sub_pool::{SubPool, SubPoolId};
use backend::worker_pool::CheckoutStep;
use command::target::CommandTarget;
use link::failure::Failure;
use relay::outcome::SessionError;

impl PooledSession {
    /// Makes sure that the session has a connection for a command with this target. A connection that the session
    /// already holds is kept.
    pub(crate) async fn hold(&mut self, command_target: CommandTarget) -> Result<(), Failure> {
        if self.held.has_connection() {
            return Ok(());
        }
        self.is_left_one()?;
        if self.sql_state.pending_answers().is_saving() {
            Box::pin(self.wait_for_saving()).await;
        }
        self.take_up_saved();
        let backend = self.backend(command_target, &[]);
        let admitted = match &backend {
            // A question about the session's last statement is short, and so is the question that a KILL asks first.
            Ok(_) if command_target == CommandTarget::Same => None,
            Ok(backend) => match self.admitted(backend) {
                Ok(admitted) => admitted,
                Err(sub_pool) => Some(Box::pin(self.join_queue(sub_pool)).await?),
            },
            Err(_) => None,
        };
        let mut begun = match &backend {
            Ok(backend) if !self.leaves_answers(backend) => Some(self.begin(backend)),
            _ => None,
        };
        if let Some(CheckoutStep::Waits(wait)) = begun {
            begun = self.wait_for_others(wait).await;
        }
        let mut lease = match begun {
            Some(CheckoutStep::HeldConnection(lease)) => lease,
            begun => Box::pin(self.hold_slowly(command_target, backend, begun)).await?,
        };
        lease.admit(admitted);
        let is_apart = self.sql_state.pending_answers().is_apart_from(&lease.conn);
        self.held.put(lease);
        if is_apart {
            Box::pin(self.fetch_diagnostics()).await?;
            if !self.held.has_connection() {
                return Box::pin(self.hold(command_target)).await;
            }
        }
        self.routing.lane_use_mut().note_past(None);
        self.keep_inherited();
        // Other sessions may have saved answers while this one waited for a connection.
        self.take_up_saved();
        Ok(())
    }

    /// Admits a transaction to a backend. The error: the sub-pool in whose queue it has to wait.
    #[inline]
    fn admitted(
        &mut self,
        backend: &Arc<Backend>,
    ) -> Result<Option<RunningStatement>, Rc<SubPool>> {
        self.sub_pool(backend);
        let Some(sub_pool) = self.held.sub_pool() else {
            return Ok(None);
        };
        match RunningStatement::begin(sub_pool) {
            Some(admitted) => Ok(Some(admitted)),
            None => Err(Rc::clone(sub_pool)),
        }
    }

    /// Asks for a connection to a backend. In the usual case there is an idle one.
    pub(super) fn begin(&mut self, backend: &Arc<Backend>) -> CheckoutStep {
        let sub_pool = self.sub_pool(backend);
        if self.sql_state.pending_answers().is_pending()
            && let Some(own) = self.take_own(sub_pool)
        {
            return CheckoutStep::HeldConnection(own);
        }
        let patience = self.settings.config.pool.timeout_wait;
        let (state, pending_answers) = (self.sql_state.session(), self.sql_state.pending_answers());
        let distance = |conn: &BackendConn| nearness(conn, state, pending_answers);
        (self.held).check_out(&self.env.pool, sub_pool, patience, distance)
    }

    pub(crate) fn sub_pool(&mut self, backend: &Arc<Backend>) -> SubPoolId {
        let (key, login) = (self.identity.key(), self.identity.login());
        (self.held).find_sub_pool(&self.env.pool, backend, key, login)
    }

    /// After a command: gives the connection back, unless the session is pinned to it.
    pub async fn rest(&mut self) -> Result<(), SessionError> {
        if !self.held.has_connection() {
            return Ok(());
        }
        if let Some(kill) = self.held.take_kill() {
            Box::pin(self.wait_for_kill(kill)).await?;
        }
        if self.sql_state.sets_globals() {
            Box::pin(self.read_globals()).await;
        }
        if self.tracking.has_unseen() {
            Box::pin(self.refresh_tracking()).await;
        }
        if self.sql_state.has_cursors() || !self.sql_state.session().is_free() {
            // In a transaction there is rarely a question to ask.
            if self.state_query().is_some() {
                Box::pin(self.query_state()).await?;
            }
            if self.is_pinned() {
                self.pin_lease();
                return Ok(());
            }
        }
        if self.held.connection().is_some_and(|conn| conn.is_spoiled) {
            Box::pin(self.settle_spoiled()).await;
        }
        self.give_back();
        Ok(())
    }

    /// Pins the session to its connection.
    fn pin_lease(&mut self) {
        let pins = self.pins();
        tracing::debug!(user = %self.identity.account().id(), id = self.identity.id(), %pins, "session is pinned");
        self.held.pin(&self.env.pool, &self.control, pins);
    }

    /// Asks a connection that is about to be closed for the answers that no other connection knows.
    async fn settle_spoiled(&mut self) {
        let Some(conn) = self.held.connection_mut() else {
            return;
        };
        if self.sql_state.pending_answers().is_at(conn) {
            let nobody = Rc::default();
            // An error does not matter, because the connection is closed anyway.
            let _ = backend::settle_answers::settle(&self.env.pool_env, conn, &nobody).await;
            self.sql_state.pending_answers().is_left();
            self.take_up_saved();
        }
    }

    /// Gives the connection back, or closes it if other sessions cannot use it.
    pub(crate) fn give_back(&mut self) {
        let Some(lease) = self.held.release(&self.control) else {
            return;
        };
        if lease.conn.is_spoiled {
            return self.env.pool.forget(lease, CloseReason::Ended);
        }
        match self.command.timing.take_end() {
            // The connection has been idle since that time.
            Some(ended) => self.env.pool.give_back_at(lease, ended),
            None => self.env.pool.give_back(lease),
        }
    }

    /// Whether the session cannot leave its connection.
    pub(crate) fn is_pinned(&self) -> bool {
        let is_for_life = self.sql_state.session().rules().hold == Hold::Session;
        is_for_life || self.sql_state.has_cursors() || !self.pins().is_empty()
    }

    /// The reasons that keep the session on its connection.
    pub fn pins(&self) -> Pins {
        let mut pins = self.sql_state.session().pins();
        // The next session on the connection asks for the row count first, see `diagnostics`.
        pins.remove(Pin::FoundRows);
        pins
    }

    /// Closes the connection in an orderly way, because its state is not for other sessions.
    pub(crate) fn close_lease(&mut self) {
        if let Some(lease) = self.held.release(&self.control) {
            self.env.pool.retire(lease, CloseReason::Ended);
        }
    }

    /// Gives up the connection, because it broke or cannot be used any more.
    pub fn drop_lease(&mut self, reason: CloseReason) {
        if let Some(lease) = self.held.release(&self.control) {
            self.env.pool.forget(lease, reason);
        }
    }
}

/// How far a connection's state is from the session's. A connection with answers for this session comes first, a
/// connection with answers for another session comes later.
fn nearness(
    conn: &BackendConn,
    state: &session::state::SessionState,
    pending_answers: &Rc<PendingAnswers>,
) -> u32 {
    distance(state, &conn.state).saturating_add(pending_answers.distance(conn))
}
