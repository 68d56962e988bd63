//! A transaction that a client leaves idle: what becomes of a pooled session when the proxy ends it.

use link::failure::{Failure, FailureKind};
use pool::CloseReason;
use wire::errors::{self, ProxyError};

use super::retry::Bond;
use crate::session::PooledSession;
use relay::outcome::SessionError;
use session_parts::cut_transaction::CutTransaction;

impl PooledSession {
    /// Gives up the connection that the session keeps, because its account keeps most of them and other sessions wait.
    /// `Some`: the session ends.
    pub(crate) fn give_up_for_others(&mut self) -> Option<SessionError> {
        let error = errors::kept_for_others(self.backend_name()?);
        self.give_up_kept(FailureKind::KeptForOthers, &error, CloseReason::Yielded)
    }

    /// Gives up the connection that the session keeps between two commands. A session that has only a transaction there
    /// goes on, and its client gets `error` until it ends the transaction. `Some`: the session ends, because it had more
    /// there.
    pub(crate) fn give_up_kept(
        &mut self,
        kind: FailureKind,
        error: &ProxyError,
        reason: CloseReason,
    ) -> Option<SessionError> {
        self.held.connection()?;
        match self.bond() {
            Bond::None => None,
            Bond::Transaction => {
                self.cut_transaction(kind, CutTransaction::ended(error), reason);
                None
            }
            Bond::More => {
                let text = self.with_losses(error.text.to_string());
                let text = text.into();
                let code = error.code;
                let failure = Failure::saying(kind, ProxyError { code, text });
                self.env.relay.note_cut(&self.control, kind, &failure.cause);
                self.drop_lease(reason);
                Some(self.unasked(failure))
            }
        }
    }
}
