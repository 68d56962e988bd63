//! One command on a backend connection: take a connection, make its state the session's, send, pass
//! the reply on.

pub(crate) mod forward_reply;
pub(crate) mod observe;
pub(crate) mod preamble;

use config::ReadPolicy;
use route::BackendId;

use session::state::Needs;
use session::{Amendment, Outcome, Progress, Reply, Sequences};

use super::exchange::forward_reply::COPIED_BYTES_MAX;
use super::exchange::preamble::{Preamble, Ready};
use super::session::PooledSession;
use backend::connection::BackendConn;
use backend::exchange_outcome::Cut;
use backend::exchange_outcome::RestoreFailed;
use backend::exchange_outcome::{Done, ExchangeError, Reached};
use backend::times::{StatementPath, Traffic};
use command::delivery::Delivery;
use command::job::{Haste, Job};
use link::client_command::{EndOf, Passage};

impl PooledSession {
    /// Sends a command and passes its reply on. The connection stays the session's.
    pub(crate) async fn exchange(&mut self, job: &Job<'_>) -> Result<Done, ExchangeError> {
        let Some(mut lease) = self.held.take() else {
            return Err(ExchangeError::no_connection());
        };
        let flight = self.env.loads.begin(lease.conn.backend.id);
        let running = lease.begin_statement();
        let delivery = self.command.delivery;
        // The reply is held back, so that the client's next session finds the changed privileges or global variables.
        let keeps = job.changes_server
            || self.env.rule_set.borrow().some_see_all && job.haste == Haste::Write;
        if keeps && delivery == Delivery::AtOnce {
            self.command.delivery = Delivery::Kept;
        }
        let outcome = self.exchange_on(&mut lease.conn, job).await;
        self.command.delivery = delivery;
        if let Ok(done) = &outcome {
            let now = self.env.now().0;
            self.command.timing.ends(now);
            running.ends(now);
            // Reads that the proxy repeats for the client's next statement belong to that statement's waiting time.
            if job.is_statement() && delivery != Delivery::Nobody {
                let traffic = Traffic {
                    sent: job.packets.len() as u64 + self.command.timing.further_bytes(),
                    received: done.tally.bytes,
                };
                self.note_times(lease.conn.backend.id, StatementPath::Own, traffic);
            }
            if self.settings.config.balance.reads == ReadPolicy::Latency {
                flight.answered_in(self.command.timing.taken());
            }
        }
        self.held.put(lease);
        outcome
    }

    async fn exchange_on(
        &mut self,
        conn: &mut BackendConn,
        job: &Job<'_>,
    ) -> Result<Done, ExchangeError> {
        self.tracking.settings_on(&conn.track_settings);
        let mut preamble = match self.preamble(conn, &job.needs) {
            Ready::Equal if !self.is_begin_deferred() => {
                self.not_killed().map_err(ExchangeError::unsent)?;
                self.settle_on(conn);
                self.leaves();
                let sent = self.send_packets(conn, job.packets).await;
                sent.map_err(ExchangeError::unanswered)?;
                return self.conclude(conn, job).await;
            }
            Ready::Equal => Preamble::default(),
            Ready::Behind(preamble) => preamble,
            // A reset would remove the statement that the command names.
            Ready::Reset if job.names_statement() => {
                return Err(ExchangeError::unsent(Cut::RestoreFailed(
                    RestoreFailed::reset(),
                )));
            }
            Ready::Reset => Box::pin(self.reset_preamble(conn, &job.needs)).await?,
        };
        self.add_begin(conn, &mut preamble);
        Box::pin(self.exchange_behind(conn, job, preamble)).await
    }

    /// From here on this session owns the answers about the connection's last statement.
    fn settle_on(&mut self, conn: &mut BackendConn) {
        self.sql_state.pending_answers().takes(conn);
        self.tracking.forget_changes();
        self.routing.state_mut().runs_at(conn.backend.id);
        self.held.begin_statement(conn);
        self.control.settle_at(conn.backend.id, conn.thread_id);
    }

    /// Sends a command after the statements of a preamble, and passes its reply on.
    async fn exchange_behind(
        &mut self,
        conn: &mut BackendConn,
        job: &Job<'_>,
        preamble: Preamble,
    ) -> Result<Done, ExchangeError> {
        let is_proven = preamble.proof.is_none_or(|proof| proof.is_proven) && !preamble.has_schema;
        let is_safe = match job.haste {
            // If the wait ends in vain, no transaction may be open there.
            Haste::Read => !(preamble.has_begin && preamble.has_wait),
            Haste::Write => is_proven && !preamble.has_wait && !preamble.has_begin,
        };
        // If the schema does not exist, a pinned session must not lose its state on this connection.
        let may_fail = preamble.has_schema && self.is_pinned();
        let is_short = job.packets.len() <= COPIED_BYTES_MAX;
        let in_one = is_safe && is_short && !may_fail && !conn.is_compressed() && !job.is_cut;
        if in_one {
            let mut all = Vec::new();
            for ask in &preamble.asks {
                all.extend_from_slice(&ask.packets);
            }
            all.extend_from_slice(job.packets);
            self.leaves();
            self.send(conn, &all).await;
        }
        let has_wait = preamble.has_wait;
        let cut_now = match in_one {
            true => ExchangeError::unanswered,
            false => ExchangeError::unsent,
        };
        let equal = self.restore_state(conn, preamble, &job.needs, in_one).await;
        match equal.map_err(cut_now)? {
            Ok(()) => {}
            Err(mut unequal) => {
                if in_one {
                    unequal
                        .cause
                        .push_str("; the statement behind it may have been executed");
                    // The statement has run in a state that is not the session's, so its reply is discarded.
                    let thrown = conn.read_reply(&self.env.pool_env, job.command).await;
                    thrown.map_err(|broken| cut_now(broken.into()))?;
                }
                return Err(cut_now(Cut::RestoreFailed(unequal)));
            }
        }
        self.settle_on(conn);
        if has_wait || !in_one {
            self.leaves();
        }
        if !in_one {
            self.not_killed().map_err(ExchangeError::unsent)?;
            let sent = self.send_packets(conn, job.packets).await;
            sent.map_err(ExchangeError::unanswered)?;
        }
        self.conclude(conn, job).await
    }

    /// Gives a connection the session's state, without a command that follows.
    pub async fn restore_state_first(
        &mut self,
        conn: &mut BackendConn,
        needs: &Needs,
    ) -> Result<(), ExchangeError> {
        let preamble = match self.preamble(conn, needs) {
            Ready::Equal => {
                self.settle_on(conn);
                return Ok(());
            }
            Ready::Behind(preamble) => preamble,
            Ready::Reset => self.reset_preamble(conn, needs).await?,
        };
        let equal = self.restore_state(conn, preamble, needs, false).await;
        match equal.map_err(ExchangeError::unsent)? {
            Ok(()) => {
                self.settle_on(conn);
                Ok(())
            }
            Err(unequal) => Err(ExchangeError::unsent(Cut::RestoreFailed(unequal))),
        }
    }

    /// Passes on the rest of the client's command, and the reply.
    async fn conclude(
        &mut self,
        conn: &mut BackendConn,
        job: &Job<'_>,
    ) -> Result<Done, ExchangeError> {
        let sequence = match job.is_cut {
            true => Box::pin(self.pass_rest(conn, job))
                .await
                .map_err(ExchangeError::unanswered)?,
            false => job.sequence,
        };
        let Some(mut reply) = self.expected_reply(conn, job, sequence) else {
            return Ok(Done {
                next_sequence: sequence,
                ..Done::answered_by_proxy()
            });
        };
        loop {
            if let Err(cut) = self.forward_reply(conn, &mut reply).await {
                let reached = match reply.has_started() {
                    true => Reached::Client,
                    false => Reached::Backend,
                };
                return Err(ExchangeError {
                    cut,
                    reached,
                    sequence: reply.next_sequence(),
                });
            }
            if let Some(refusal) = reply.withheld() {
                return Err(ExchangeError::unanswered(Cut::Refused(refusal.into())));
            }
            match reply.progress() {
                Progress::More => {}
                Progress::Over(outcome) => return Ok(self.reply_ended(reply, outcome)),
                Progress::File { sequence } => {
                    self.client.leg_mut().let_go();
                    let passed =
                        Box::pin(self.pass(conn, Passage::of(EndOf::File, sequence))).await;
                    let next = passed.map_err(|cut| ExchangeError {
                        cut,
                        reached: Reached::Client,
                        sequence: None,
                    })?;
                    let next = next.sequence;
                    reply.file_ended(next);
                    if let Some(observer) = &mut self.client.leg_mut().observer {
                        observer.file_ended(next);
                    }
                }
            }
        }
    }

    /// The reply that a command will get; `None` for a command without a reply.
    fn expected_reply(&self, conn: &BackendConn, job: &Job<'_>, sequence: u8) -> Option<Reply> {
        let sequences = match self.client.is_compressed() || job.command_part.follows() {
            true => Sequences::Renumbered,
            false => conn.sequences(),
        };
        let reply = Reply::to(job.command, conn.capabilities, sequences, sequence)?;
        let mut reply = reply.amended(Amendment {
            has_more: job.command_part.has_more(),
            warnings: job.warnings,
            ..Amendment::of_shared(conn.capabilities)
        });
        if self.routing.optimistic().is_some() {
            reply = reply.fingerprinted(&self.env.pool_env.store.print_keys);
        }
        Some(
            reply
                .withholding(job.withholds)
                .with_files(job.files.clone()),
        )
    }

    /// Takes over the results of a reply that has ended.
    fn reply_ended(&mut self, mut reply: Reply, outcome: Outcome) -> Done {
        let tally = *reply.tally();
        if tally.has_unsent_changes {
            self.tracking.note_unsent_changes();
        }
        if let Some(status) = tally.status {
            self.client.note_status(status);
        }
        Done {
            outcome,
            tally,
            next_sequence: reply.next_sequence().unwrap_or_default(),
            fingerprint: reply.fingerprint(),
            message: reply.take_message(),
        }
    }

    /// Passes on the rest of a command that was too long to be held.
    /// Returns the id that the reply begins with.
    async fn pass_rest(&mut self, conn: &mut BackendConn, job: &Job<'_>) -> Result<u8, Cut> {
        let mut passage = Passage::of(EndOf::Payload, 0);
        passage.pass(job.packets);
        if !passage.is_over {
            passage = self.pass(conn, passage).await?;
        }
        self.command.passed = Some((passage.bytes, passage.sequence));
        Ok(passage.sequence)
    }

    /// Notes the time at which the command leaves.
    pub(crate) fn leaves(&mut self) {
        self.command.timing.leaves(self.env.now().0);
    }

    /// Notes how long a statement has waited and has taken, and its bytes.
    pub(crate) fn note_times(&self, backend: BackendId, way: StatementPath, traffic: Traffic) {
        let took = (self.command.timing.waited(), self.command.timing.taken());
        self.env.relay.times.note(backend, way, took, traffic);
    }
}
