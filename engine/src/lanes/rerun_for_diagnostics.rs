//! Diagnostics of a statement that ran on a shared lane. The statement runs again on a connection of the session's own,
//! where the client can ask for them.

use command::lane_use::Past;
use session::state::Needs;
use session::{Outcome, Tally};
use sql::{Facts, StatementKind};
use wire::Command;
use wire::errors::{self, ProxyError};
use wire::query::Query;

use crate::session::PooledSession;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::Done;
use backend::own_reply::OwnReply;
use backend::recorded_reads::Execution;

impl PooledSession {
    /// Tells the client that its statement was killed, as KILL QUERY does it.
    pub(super) fn interrupted(&mut self, sequence: u8) {
        let error = errors::interrupted();
        let tally = Tally {
            error: Some((error.code.number, error.code.sqlstate)),
            ..Tally::default()
        };
        let done = Done {
            outcome: Outcome::Err(error.code.number),
            tally,
            next_sequence: sequence,
            ..Done::answered_by_proxy()
        };
        self.observe(Command::QUERY, &Facts::default(), b"", &done);
        self.reply_error(sequence, &error);
        let lane_use = self.routing.lane_use_mut();
        lane_use.note_past(Some(Past::Interrupted));
    }

    /// Runs a statement from a lane again on the held connection, so that the client can ask about it there. The client
    /// does not see this.
    pub(crate) async fn rerun_unheard(&mut self, past: Past) {
        let Some(mut lease) = self.held.take() else {
            return;
        };
        let argument = match past {
            Past::Again(argument) => argument,
            Past::Interrupted => backend::ask::text(&lease.conn, interruption()),
            Past::Executed(execution) => {
                self.held.put(lease);
                return self.execute_unheard(&execution).await;
            }
        };
        let equal = self
            .restore_state_first(&mut lease.conn, &Needs::NONE)
            .await;
        let asked = match equal {
            Ok(()) => {
                lease
                    .conn
                    .ask(&self.env.pool_env, Command::QUERY, &argument)
                    .await
            }
            Err(_) => Err(ConnectionError::Unexpected(
                "it does not take the session's state",
            )),
        };
        self.held.put(lease);
        // If the connection breaks, the command that follows notices it.
        if let Ok(own) = asked {
            self.observe_relived(&argument, own);
        }
    }

    /// Executes a prepared statement again. If the connection breaks, the command that follows notices it.
    async fn execute_unheard(&mut self, execution: &Execution) {
        let waiting = self.command.begin_unheard();
        let _ = self.execute_again(execution).await;
        self.command.end_unheard(waiting);
    }

    fn observe_relived(&mut self, argument: &[u8], own: OwnReply) {
        let Ok(query) = Query::decode(argument, self.client.capabilities()) else {
            return;
        };
        let mut facts = self.env.pool_env.store.take_facts();
        facts.read(query.text, self.sql_state.session().flags());
        if facts.kind == StatementKind::Signal {
            // The SIGNAL stands for another statement, which holds nothing.
            facts.read(b"", self.sql_state.session().flags());
        }
        self.tracking.set_changes(own.changes);
        let done = Done {
            outcome: own.outcome,
            tally: own.tally,
            next_sequence: 1,
            ..Done::answered_by_proxy()
        };
        crate::exchange::observe::observe(self, Command::QUERY, &facts, query.text, &done);
        self.env.pool_env.store.return_facts(facts);
    }
}

/// A statement that leaves the same diagnostics as a statement that was killed.
fn interruption() -> String {
    let ProxyError { code, text } = errors::interrupted();
    let number = code.number;
    format!("SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO={number}, MESSAGE_TEXT='{text}'")
}
