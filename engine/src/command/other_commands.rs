//! Commands that a pooled session does not know: those of replication, and unknown ones.

use std::rc::Rc;

use session::state::Answered;
use wire::errors::{self, ProxyError};

use crate::session::PooledSession;
use backend::diagnostics::Diagnostics;
use link::client_command::Incoming;
use relay::outcome::{After, SessionError};

impl PooledSession {
    /// Handles a command that pooled sessions do not know.
    pub(crate) async fn other_command(
        &mut self,
        incoming: Incoming,
    ) -> Result<After, SessionError> {
        let sequence = incoming.sequence;
        if !incoming.command.is_replication() {
            let error = errors::unknown_command();
            self.reply_error(sequence, &error);
            Box::pin(self.put_down_only(&error)).await;
            return Ok(After::Next);
        }
        if !self.identity.account().replicates {
            self.reply_error(sequence, &errors::replication_denied());
            return Ok(After::Next);
        }
        if self.has_scripts() {
            // Scripts would not see the commands of a relayed session.
            self.reply_error(sequence, &errors::replication_with_script());
            return Ok(After::Next);
        }
        match self.rule_replication(sequence) {
            Some(after) => Ok(after),
            None => self.hand_over(incoming).await,
        }
    }

    /// Puts an error of the proxy into the warning list as its only entry, as if a server had reported it.
    async fn put_down_only(&mut self, error: &ProxyError) {
        if let Some(empty) = self.ask_empty_list().await {
            let mut list = Diagnostics::clone(&empty);
            list.push_error(error.code, &error.text);
            self.sql_state.session_mut().answered(Answered::Error);
            self.sql_state.pending_answers().keep_list(Rc::new(list));
        }
    }
}
