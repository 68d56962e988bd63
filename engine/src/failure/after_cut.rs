//! A session whose transaction was cut off. The client's next statements may still be meant for that transaction, and
//! would run outside of any. So nothing is executed until the client ends the transaction or begins another.

use sql::{Facts, StatementKind};
use wire::Command;
use wire::errors::{self, ProxyError};
use wire::statement::statement_id;

use crate::session::PooledSession;
use backend::prepared_statement::StatementKey;
use link::client_command::Incoming;
use link::query_command::Arrived;
use relay::outcome::{After, SessionError};

/// The effect of a command on a transaction that was cut off.
enum CutTransactionEffect {
    /// The command ends it, or begins another one.
    Over,
    /// The command is to commit it.
    Commit,
    /// Nothing: the command is not about it.
    Apart,
    /// The command is meant to run within it.
    Within,
}

impl PooledSession {
    /// Handles a command after the transaction was cut off.
    pub(crate) async fn after_cut(&mut self, mut arrived: Arrived) -> Result<After, SessionError> {
        let meaning = self.meaning(&arrived);
        let Some(cut) = self.routing.cut_transaction() else {
            return self.perform(arrived).await;
        };
        let code = cut.code;
        let told = match meaning {
            CutTransactionEffect::Over => {
                self.routing.forget_cut();
                return self.perform(arrived).await;
            }
            CutTransactionEffect::Apart => return self.perform(arrived).await,
            CutTransactionEffect::Commit => errors::nothing_committed(&cut.why),
            CutTransactionEffect::Within => errors::not_executed(&cut.why),
        };
        let told = ProxyError { code, ..told };
        if let CutTransactionEffect::Commit = meaning {
            self.routing.forget_cut();
        }
        self.count_refused(&mut arrived);
        self.reply_error(arrived.incoming().sequence, &told);
        if arrived.incoming().is_cut {
            // The rest of the command is still to come, and is not read.
            let kind = link::failure::FailureKind::HeldBackendLost;
            return Err(SessionError::new(
                link::failure::Failure::new(kind, told),
                None,
            ));
        }
        Ok(After::Next)
    }

    /// Reads the command's statement, so that the error that follows is counted as its answer.
    pub(crate) fn count_refused(&mut self, arrived: &mut Arrived) {
        let bytes = arrived.incoming().packets.len();
        if let Arrived::Query(query) = arrived {
            if self.note_read_ahead(query).is_some() {
                return;
            }
            let (text, facts) = query.text_and_facts();
            self.read_digest(facts, text, bytes, false);
        } else if let Some(key) = self.executed(arrived.incoming()).cloned() {
            self.note_execution_of(&key, bytes);
        }
    }

    /// The statement that a COM_STMT_EXECUTE or COM_STMT_BULK_EXECUTE executes.
    fn executed(&self, incoming: &Incoming) -> Option<&StatementKey> {
        let executes = matches!(
            incoming.command,
            Command::STMT_EXECUTE | Command::STMT_BULK_EXECUTE
        );
        let argument = executes.then(|| incoming.argument())?;
        let id = statement_id(&argument).ok()?;
        let statements = self.sql_state.statements();
        Some(&statements.statement(statements.resolve(id)?)?.statement)
    }

    fn meaning(&self, arrived: &Arrived) -> CutTransactionEffect {
        let incoming = match arrived {
            Arrived::Query(query) => {
                let read_now = || sql::facts(query.text(), self.sql_state.session().flags());
                return query.facts_ahead().map_or_else(|| of(&read_now()), of);
            }
            Arrived::Other(incoming) => incoming,
        };
        match incoming.command {
            Command::RESET_CONNECTION | Command::CHANGE_USER => CutTransactionEffect::Over,
            Command::QUIT
            | Command::PING
            | Command::STATISTICS
            | Command::SET_OPTION
            | Command::STMT_PREPARE
            | Command::STMT_SEND_LONG_DATA
            | Command::STMT_RESET
            | Command::STMT_CLOSE => CutTransactionEffect::Apart,
            // If there is no such statement, the client gets the error about that.
            Command::STMT_EXECUTE => self
                .executed(incoming)
                .map_or(CutTransactionEffect::Apart, |key| of(&key.facts)),
            _ => CutTransactionEffect::Within,
        }
    }
}

fn of(facts: &Facts) -> CutTransactionEffect {
    match facts.kind {
        StatementKind::Begin(_) | StatementKind::Rollback(_) => CutTransactionEffect::Over,
        StatementKind::Commit(_) => CutTransactionEffect::Commit,
        _ => CutTransactionEffect::Within,
    }
}
