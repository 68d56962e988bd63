//! Answers about a session's last statement, if the session's next connection is not the one that knows them. They are
//! fetched from that connection first.

use std::rc::Rc;
use std::time::Duration;

use net::clock;
use route::Backend;
use session::state::Pin;
use tokio::time::timeout_at;

use crate::session::PooledSession;
use backend::connection::BackendConn;
use backend::settle_answers::settle;
use backend::sub_pool::SubPoolId;
use backend::worker_pool::HeldConnection;
use link::failure::{Failure, FailureKind};

/// How long the next session on a connection may take to ask for the answers of the session before: as long as a
/// backend may take to answer.
const PATIENCE_TAKER: Duration = Duration::from_secs(30);

impl PooledSession {
    /// Fetches the session's answers after it was given a connection that does not know them. Afterwards the session
    /// has the answers or the connection that knows them, or they are lost. It may have no connection then.
    ///
    /// # Errors
    /// The session ends.
    pub(crate) async fn fetch_diagnostics(&mut self) -> Result<(), Failure> {
        let on_lane = self.routing.lane_use_mut().take_past();
        let is_pending = self.sql_state.pending_answers().is_pending();
        if let Some(on_lane) = on_lane.filter(|_| is_pending) {
            self.rerun_unheard(on_lane).await;
            return Ok(());
        }
        let Some(conn) = self.held.connection() else {
            return Ok(());
        };
        let sub_pool = conn.sub_pool.id;
        if self.routing.state().last() == Some(conn.backend.id) {
            return self.find_answers(sub_pool).await;
        }
        // No session asks for these answers any more, because no session takes the connection there.
        self.wait_for_saving().await;
        if self.sql_state.pending_answers().is_pending() {
            self.sql_state.pending_answers().is_left();
            self.take_up_saved();
            self.sql_state.session_mut().found_rows_are(0);
        }
        Ok(())
    }

    /// Waits until another session has asked for the answers, or until the connection that knows them is idle. The
    /// session then takes that connection in place of its own.
    async fn find_answers(&mut self, sub_pool: SubPoolId) -> Result<(), Failure> {
        let until = clock::now() + PATIENCE_TAKER;
        let pending_answers = Rc::clone(self.sql_state.pending_answers());
        if pending_answers.is_pending()
            && let Some(conn) = self.held.connection_mut()
            && settle(&self.env.pool_env, conn, &pending_answers)
                .await
                .is_err()
        {
            self.drop_lease(pool::CloseReason::Broken);
        }
        // While this session waits, no other session waits for answers of this session's connection.
        while pending_answers.is_saving() || pending_answers.is_pending() {
            if pending_answers.is_pending()
                && let Some(own) = self.take_own(sub_pool)
            {
                if let Some(other) = self.held.replace(own) {
                    self.env.pool.give_back(other);
                }
                break;
            }
            let news = timeout_at(until, pending_answers.news.notified());
            if self.wait_unless_killed(news).await?.is_err() {
                pending_answers.lose();
                break;
            }
        }
        self.take_up_saved();
        Ok(())
    }

    /// Takes the connection of this sub-pool that knows this session's answers, if it is idle.
    pub(crate) fn take_own(&self, sub_pool: SubPoolId) -> Option<HeldConnection> {
        let (env, pending_answers) = (&self.env, self.sql_state.pending_answers());
        let is_own = |conn: &BackendConn| pending_answers.is_at(conn);
        env.pool.take_idle_that(sub_pool, is_own)
    }

    /// Whether the last command ran at another backend, which has answers that the session may ask for later.
    pub(crate) fn leaves_answers(&self, backend: &Backend) -> bool {
        let is_elsewhere = self
            .routing
            .state()
            .last()
            .is_some_and(|last| last != backend.id);
        is_elsewhere && self.has_pending_answers()
    }

    /// Whether only a connection knows an answer that the next statement does not change.
    fn has_pending_answers(&self) -> bool {
        let counts = || {
            self.sql_state.pending_answers().found_rows_are_pending()
                && self.sql_state.session().pins().has(Pin::FoundRows)
        };
        self.sql_state.pending_answers().insert_id_is_pending() || counts()
    }

    /// Asks the backend of the last command for the session's answers, before the session goes elsewhere.
    pub(crate) async fn take_answers_along(&mut self) -> Result<(), Failure> {
        if let Some(last) = self.last_backend(&[]) {
            match self.check_out(&last, None).await {
                Ok(lease) => self.ask_answers(lease).await?,
                Err(failure)
                    if matches!(
                        failure.kind,
                        FailureKind::NoBackend | FailureKind::BackendLogin
                    ) => {}
                Err(failure) => return Err(failure),
            }
        }
        if self.sql_state.pending_answers().is_pending() {
            self.sql_state.pending_answers().lose();
        }
        self.take_up_saved();
        Ok(())
    }

    async fn ask_answers(&mut self, lease: HeldConnection) -> Result<(), Failure> {
        let env = Rc::clone(&self.env);
        let sub_pool = lease.conn.sub_pool.id;
        let is_apart = self.sql_state.pending_answers().is_apart_from(&lease.conn);
        self.held.put(lease);
        if is_apart {
            self.find_answers(sub_pool).await?;
        }
        let Some(mut lease) = self.held.take() else {
            return Ok(());
        };
        let nobody = Rc::default();
        match settle(&env.pool_env, &mut lease.conn, &nobody).await {
            Ok(()) => env.pool.give_back(lease),
            Err(_) => env.pool.forget(lease, pool::CloseReason::Broken),
        }
        Ok(())
    }

    /// Leaves the session's connections, because its connection key is about to change.
    pub(crate) async fn leave_kind(&mut self) -> Result<(), Failure> {
        self.wait_for_saving().await;
        self.take_up_saved();
        // No connection of the session knows about a statement that ran on a lane.
        if self.sql_state.pending_answers().is_pending() && !self.routing.lane_use().has_past() {
            match self.held.take() {
                Some(lease) => self.ask_answers(lease).await?,
                None => self.take_answers_along().await?,
            }
            self.take_up_saved();
        }
        self.give_back();
        Ok(())
    }
}
