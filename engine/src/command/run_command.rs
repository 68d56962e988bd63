//! A command that runs no statement, on the connection that the session holds.

use session::state::Needs;
use session::{Outcome, Tally};
use wire::{Command, StatusFlags};

use super::encode::Refused;
use crate::session::PooledSession;
use backend::exchange_outcome::{Done, ExchangeError};
use command::job::{Haste, Job};
use command::statement::{BackendCommand, CommandTask};

impl PooledSession {
    /// Runs the command. The inner error is the server's reply about what is to be prepared.
    pub(crate) async fn run_command(
        &mut self,
        command: &BackendCommand<'_>,
    ) -> Result<Result<Done, Refused>, ExchangeError> {
        match &command.task {
            CommandTask::Prepare(key) => {
                let definitions = match self.prepare_there(key, &Needs::NONE).await? {
                    Ok((_, definitions)) => definitions,
                    Err(own) => return Ok(Err(Box::new(own))),
                };
                let left = self.sql_state.session().diagnostics();
                self.sql_state
                    .pending_answers()
                    .note(left, &Tally::default());
                self.held.finish_prepared(key);
                self.reply_prepared(command.incoming.sequence, key.clone(), &definitions);
                Ok(Ok(Done::answered_by_proxy()))
            }
            CommandTask::Fetch(_, packets) => {
                let job = Job {
                    packets,
                    ..Job::of(command.incoming, Needs::NONE, Haste::Write)
                };
                self.exchange(&job).await.map(Ok)
            }
            CommandTask::Reply(haste) => {
                let before = self.begin_outside_statements();
                let counts = command.incoming.command != Command::FIELD_LIST;
                let job = Job {
                    warnings: before.warnings.filter(|_| counts),
                    ..Job::of(command.incoming, Needs::NONE, *haste)
                };
                let done = self.exchange(&job).await?;
                self.observe(job.command, &command.facts, &command.argument, &done);
                self.end_outside_statements(before).await;
                Ok(Ok(done))
            }
        }
    }

    /// Ends a command that has had its reply.
    pub(crate) fn command_ended(&mut self, command: &BackendCommand<'_>, done: &Done) {
        if let CommandTask::Fetch(cursor, _) = command.task {
            let flags = done.tally.status.unwrap_or_default();
            if flags.contains(StatusFlags::LAST_ROW_SENT) || done.outcome != Outcome::Ok {
                self.end_cursor_of(cursor);
            }
        }
    }
}
