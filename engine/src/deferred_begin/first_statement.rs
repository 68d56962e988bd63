//! The first statement of a transaction whose BEGIN is deferred: where it goes, and the BEGIN in front of it.

use route::Use;
use session::state::Needs;
use wire::{Command, StatusFlags};

use crate::exchange::preamble::{Preamble, PreamblePurpose};
use crate::routing::routing_state::BeginProgress;
use crate::session::PooledSession;
use backend::ask::text;
use backend::connection::BackendConn;
use backend::exchange_outcome::{Cut, ExchangeError, LASTING};
use backend::own_reply::OwnReply;
use command::target::CommandTarget;

/// This works in each `sql_mode`: in Oracle's, BEGIN has another meaning.
pub(crate) const BEGIN: &str = "START TRANSACTION";

impl PooledSession {
    /// The target of a statement. The first one of a transaction goes where its BEGIN would have gone.
    #[inline]
    pub(crate) fn target_of_transaction(&mut self, command_target: CommandTarget) -> CommandTarget {
        if !self.is_begin_deferred() {
            return command_target;
        }
        self.command.use_for = Use::Writes;
        CommandTarget::Home
    }

    /// Adds a deferred BEGIN to the preamble, after all its other statements.
    pub(crate) fn add_begin(&self, conn: &BackendConn, preamble: &mut Preamble) {
        if self.is_begin_deferred() {
            preamble.add(PreamblePurpose::Begin, Command::QUERY, &text(conn, BEGIN));
            preamble.has_begin = true;
        }
    }

    /// Notes that a server has executed the deferred BEGIN.
    pub(crate) fn has_started(&mut self, own: &OwnReply) {
        let status = own.tally.status.unwrap_or_default();
        self.client.note_status(status);
        self.routing.state_mut().note_begin(BeginProgress::Past);
        if status.contains(StatusFlags::IN_TRANS) {
            self.sql_state.session_mut().note_transaction_started();
            self.routing.state_mut().note_begin(BeginProgress::Alone);
        }
    }

    /// Gives a connection the session's state, and begins the transaction there, without a command that follows.
    pub(crate) async fn restore_state_and_begin(
        &mut self,
        conn: &mut BackendConn,
        needs: &Needs,
    ) -> Result<(), ExchangeError> {
        self.restore_state_first(conn, needs).await?;
        if !self.is_begin_deferred() {
            return Ok(());
        }
        let mut preamble = Preamble::default();
        self.add_begin(conn, &mut preamble);
        let begun = self.restore_state(conn, preamble, needs, false).await;
        let begun = begun.map_err(ExchangeError::unsent)?;
        begun.map_err(|unequal| ExchangeError::unsent(Cut::RestoreFailed(unequal)))
    }

    /// Takes over the status flags of a reply to a statement of the proxy. A transaction that the server has not got
    /// yet counts as open.
    pub(crate) fn note_own_status(&mut self, status: StatusFlags) {
        let status = StatusFlags(status.0 & LASTING.0);
        self.client.set_status(match self.is_begin_deferred() {
            true => status.with(StatusFlags::IN_TRANS, true),
            false => status,
        });
    }

    /// Whether a server has an open transaction of the session.
    pub(crate) fn is_in_transaction_there(&self) -> bool {
        self.client.status().contains(StatusFlags::IN_TRANS) && !self.is_begin_deferred()
    }
}
