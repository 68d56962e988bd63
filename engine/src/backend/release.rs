//! Behind a command: whether a session keeps its connection, and how that goes back.

use std::rc::Rc;

use pool::CloseReason;
use session::state::{Hold, Pin as Held, Pins};

use crate::session::PooledSession;
use relay::outcome::CutOff;

impl PooledSession {
    /// Behind a command: a connection that holds nothing of the session's goes back.
    pub async fn rest(&mut self) -> Result<(), CutOff> {
        if self.held.lease.is_none() {
            return Ok(());
        }
        if let Some(kill) = self.held.kill.take() {
            Box::pin(self.outlive(kill)).await?;
        }
        if self.sql_state.sets_globals {
            Box::pin(self.look_at_globals()).await;
        }
        if !self.tracking.unseen.is_empty() {
            Box::pin(self.look_again()).await;
        }
        if !self.sql_state.cursors.is_empty() || !self.sql_state.session.is_free() {
            // In a transaction there is nearly always nothing to ask.
            if self.inquiry().is_some() {
                Box::pin(self.inquire()).await?;
            }
            if self.is_pinned() {
                self.keep_lent();
                return Ok(());
            }
        }
        if self
            .held
            .lease
            .as_ref()
            .is_some_and(|lent| lent.conn.is_spoiled)
        {
            Box::pin(self.settle_spoiled()).await;
        }
        self.give_back();
        Ok(())
    }

    /// The session cannot leave its connection.
    fn keep_lent(&mut self) {
        let pins = self.pins();
        tracing::debug!(user = %self.identity.account.id(), id = self.identity.registered.id(), %pins, "session is pinned");
        self.watch.hold(Some(pins));
        if let Some(lent) = &mut self.held.lease {
            self.env.pool.hold(lent);
        }
    }

    /// A connection that is closed next is asked first what nobody else could tell.
    async fn settle_spoiled(&mut self) {
        let Some(lent) = &mut self.held.lease else {
            return;
        };
        if self.sql_state.aftermath.is_at(&lent.conn) {
            let nobody = Rc::default();
            // It is closed anyway.
            let _ =
                backend::settle_answers::settle(&self.env.pool_env, &mut lent.conn, &nobody).await;
            self.sql_state.aftermath.is_left();
            self.take_up_saved();
        }
    }

    /// Brings the connection back, or closes it where others could not use it.
    pub(crate) fn give_back(&mut self) {
        let Some(lent) = self.held.lease.take() else {
            return;
        };
        // What is killed from here on is another's.
        self.held.running = None;
        self.watch.hold(None);
        if lent.conn.is_spoiled {
            return self.env.pool.forget(lent, CloseReason::Ended);
        }
        match self.command.timing.take_end() {
            // Nothing has happened here since.
            Some(ended) => self.env.pool.give_back_at(lent, ended),
            None => self.env.pool.give_back(lent),
        }
    }

    /// Whether the session cannot leave its connection.
    pub(crate) fn is_pinned(&self) -> bool {
        let is_for_life = self.sql_state.session.rules().hold == Hold::Session;
        is_for_life || !self.sql_state.cursors.is_empty() || !self.pins().is_empty()
    }

    /// What keeps the session on its connection.
    pub fn pins(&self) -> Pins {
        let mut pins = self.sql_state.session.pins();
        // Whoever takes the connection asks for the count first, see `statement_diagnostics`.
        pins.remove(Held::FoundRows);
        pins
    }

    /// Says goodbye to the backend over the connection, and closes it: what it holds is not for others.
    pub(crate) fn close_lent(&mut self) {
        if let Some(lent) = self.held.lease.take() {
            self.held.running = None;
            self.watch.hold(None);
            let reason = CloseReason::Ended;
            self.env.pool.retire(lent, reason);
        }
    }

    /// Gives up the connection: it broke, or nobody can use it any more.
    pub fn drop_lent(&mut self, reason: CloseReason) {
        if let Some(lent) = self.held.lease.take() {
            self.held.running = None;
            self.watch.hold(None);
            self.env.pool.forget(lent, reason);
        }
    }
}
