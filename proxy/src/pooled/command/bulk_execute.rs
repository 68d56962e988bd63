//! COM_STMT_BULK_EXECUTE (MariaDB): a client's statement with many rows of parameters.

use session::Withholds;
use session::state::Needs;
use wire::statement::statement_id;
use wire::{Command, ErrorCode};

use super::prepared::{unknown, with_id};
use crate::pooled::exchange::{Job, Part, Reached, haste_of};
use crate::pooled::explain::explainable::Said;
use crate::pooled::failure::retry::effect_of;
use crate::pooled::routing::target::Aim;
use crate::pooled::session::{After, CutOff, PooledSession};
use link::client_command::Incoming;

impl PooledSession {
    /// COM_STMT_BULK_EXECUTE: its types stand in it.
    pub(crate) async fn bulk_execute(&mut self, incoming: Incoming) -> Result<After, CutOff> {
        let argument = incoming.argument().into_owned();
        let Ok(number) = statement_id(&argument) else {
            return self.malformed(incoming.sequence);
        };
        let Some(id) = self.sql_state.statements.resolve(number) else {
            let text = unknown(number, "mysqld_stmt_bulk_execute");
            Box::pin(self.put_down_error(ErrorCode::UNKNOWN_STMT_HANDLER, &text)).await;
            self.say_error(incoming.sequence, ErrorCode::UNKNOWN_STMT_HANDLER, &text);
            return Ok(After::Next);
        };
        let Some(statement) = self.sql_state.statements.statement(id) else {
            return Ok(After::Next);
        };
        let (mut key, count) = (statement.statement.clone(), statement.parameter_count);
        // The server forgets long data that was sent for it: all values are rows'.
        drop(self.sql_state.statements.take_long_data(id));
        self.end_cursor_of(id);
        self.note_execution_of(&key, incoming.packets.len());
        if self.worker.seen.is_wanted() {
            self.note_seen(key.original().0.bytes());
        }
        if let Some(after) = self.rule_execute(&key, &[], incoming.sequence).await? {
            return Ok(after);
        }
        if self.command.policy.is_some() {
            self.mirror_bulk_execute(&key, count, &argument);
        }
        if key.facts.marks.has(sql::Marks::KILLS) {
            return Ok(Box::pin(self.refuse_bulk_kill(incoming.sequence)).await);
        }
        self.name_more_prepared(&mut key);
        self.trace(&key.facts);
        let aim = self.ordered_aim(&key.facts).unwrap_or(Aim::Home);
        if let Err(failure) = self.leave_replica(aim, &key.facts).await {
            return self.refuse(&failure, incoming.sequence);
        }
        let mut repeat = self.repeat_of(effect_of(&key.facts), aim);
        loop {
            if let Err(failure) = self.hold(repeat.aim).await {
                return self.refuse(&failure, incoming.sequence);
            }
            if self.asks_for_lost(&key.facts) {
                self.say_lost(incoming.sequence);
                return Ok(After::Next);
            }
            let _alarm = self.alarm();
            let needs = Needs::of(&key.facts, key.text.bytes());
            let backend_id = match self.backend_statement(&key, &needs).await {
                Ok(Ok(id)) => id,
                Ok(Err(own)) => {
                    self.pass_error(incoming.sequence, &own);
                    return Ok(After::Next);
                }
                Err(cut) if self.again(&cut, &mut repeat) => continue,
                Err(cut) => {
                    let command = Command::STMT_BULK_EXECUTE;
                    return self.cut_short(cut, incoming.sequence, command, repeat);
                }
            };
            let packets = with_id(Command::STMT_BULK_EXECUTE, &argument, backend_id);
            let job = Job {
                command: Command::STMT_BULK_EXECUTE,
                packets: &packets,
                sequence: incoming.sequence,
                is_cut: false,
                needs,
                haste: haste_of(&key.facts),
                part: Part::Whole,
                warnings: None,
                changes_server: false,
                withholds: Withholds::Nothing,
                files: session::Files::NONE,
            };
            let own_schema = self.visit(&key).await;
            let said = Said::Bulk(key.text.bytes());
            let injected = match self.injects() {
                true => Box::pin(self.inject_before(&said, &key.facts, &job.needs)).await,
                false => Ok(()),
            };
            let outcome = match injected {
                Ok(()) => self.exchange(&job).await,
                Err(cut) => Err(cut),
            };
            if let Ok(done) = &outcome {
                let text = key.text.bytes();
                self.observe(Command::STMT_BULK_EXECUTE, &key.facts, text, done);
            }
            self.return_to(own_schema);
            if let Err(cut) = &outcome
                && cut.reached == Reached::Nobody
            {
                self.stays_unsent(&key).await;
            }
            match outcome {
                Ok(done) => {
                    if let Some(lent) = &mut self.held.lease {
                        lent.conn.prepared.unbind(&key);
                    }
                    self.after_execute(id, &key, &done).await;
                    if self.injects() {
                        Box::pin(self.inject_after(&said, &key.facts, &done)).await?;
                    }
                    return Ok(After::Next);
                }
                Err(cut) if self.again(&cut, &mut repeat) => {}
                Err(cut) => {
                    let command = Command::STMT_BULK_EXECUTE;
                    return self.cut_short(cut, incoming.sequence, command, repeat);
                }
            }
        }
    }
}
