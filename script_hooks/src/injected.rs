//! Sends the commands that a script has queued instead of the client's command, one after the other.
//! Each reply is shown to `read_query_result`. At most one result reaches the client.

use script::{Answer, Decision, Hook, Injection};
use session::Outcome;
use wire::reply::OK;
use wire::write::put_packets;
use wire::{Command, errors};

use crate::packets::{incoming_of, payloads_of, reply_facts};
use crate::stage::{
    Stage, asks_for_file, has_reply, lacks_server, send_all, send_packet, swallow_file,
};
use crate::waiting::{Settled, interrupted, settle};
use link::client_command::Incoming;
use link::failure::{Failure, FailureKind};
use link::reply_observer::{ObservedReply, Reports, Towards, renumbered};
use relay::outcome::{After, SessionError};
use script_host::bridge::Bridge;

/// The commands for one command of a client's, and how far they have come to its one result.
pub struct Queue<'a, S> {
    stage: &'a mut S,
    /// The client's command.
    incoming: Incoming,
    /// The client's command as the script has seen it, if that differs.
    shown: Option<Vec<u8>>,
    /// The sequence id with which the reply goes on.
    sequence: u8,
    is_told: bool,
}

impl<'a, S: Stage> Queue<'a, S> {
    /// The commands that the script has queued for a command.
    pub fn of(stage: &'a mut S, incoming: Incoming, shown: Option<Vec<u8>>) -> Self {
        Self {
            stage,
            sequence: incoming.sequence,
            incoming,
            shown,
            is_told: false,
        }
    }

    /// Sends the commands. Hooks may queue more of them meanwhile.
    pub async fn send(mut self) -> Result<After, SessionError> {
        let mut is_first = true;
        let mut left = self.stage.statements_max();
        while let Some(injection) = self.stage.script().next_query() {
            if left == 0 {
                self.send_no_more();
                break;
            }
            left -= 1;
            if !self.stage.has_server() && is_first {
                return Err(lacks_server(self.sequence));
            }
            is_first = false;
            if !self.stage.has_server() {
                self.stage.script().clear_queue();
                break;
            }
            match self.send_one(injection).await? {
                After::Next => {}
                after => return Ok(after),
            }
        }
        if !self.is_told && self.is_awaited() {
            // The client waits for an answer.
            let [low, high] = self.stage.status().0.to_le_bytes();
            send_packet(self.stage, self.sequence, &[OK, 0, 0, low, high, 0, 0]);
        }
        Ok(After::Next)
    }

    /// Ends the queue: the script has sent as much as it may.
    fn send_no_more(&mut self) {
        let error = errors::too_many_queries();
        tracing::error!("{error}");
        self.stage.script().clear_queue();
        if !self.is_told && self.is_awaited() {
            send_packet(self.stage, self.sequence, &error.payload());
            self.is_told = true;
        }
    }

    /// Whether the client waits for a reply to its command.
    fn is_awaited(&self) -> bool {
        has_reply(self.incoming.command)
    }

    /// Sends one command of the script's, and treats its reply as the script wants.
    async fn send_one(&mut self, injection: Injection) -> Result<After, SessionError> {
        let first = injection.payload.first();
        let command = first.map_or(Command::SLEEP, |byte| Command(*byte));
        // A reply that never ends cannot be kept.
        let is_stream = matches!(
            command,
            Command::BINLOG_DUMP | Command::BINLOG_DUMP_GTID | Command::TABLE_DUMP
        );
        let is_kept = injection.is_kept && !is_stream;
        if !is_kept && self.is_told && self.is_awaited() && has_reply(command) {
            // The first result has to reach the client.
            let _ = self.stage.client().drained().await;
            return Err(second_result());
        }
        let sequence = self.sequence;
        let towards = match is_kept {
            true => Towards::Script {
                sequence,
                bytes_max: self.stage.result_bytes_max(),
                reports: self.reports(),
            },
            false if self.is_awaited() => Towards::Client { sequence },
            false => Towards::Nobody,
        };
        if self.is_strange(command) {
            return self.refuse(command, towards).await;
        }
        let incoming = self.outgoing(command, injection.payload);
        if let Some(route) = injection.route {
            self.stage.route_next(route);
        }
        let (heard, after) = self.stage.ask(incoming, towards).await?;
        if !matches!(after, After::Next) {
            return Ok(after);
        }
        if !heard.is_reply {
            if self.stage.script().next_query().is_some() {
                tracing::error!(
                    "(read_query_result) queries are queued behind a command that has no reply: the proxy does not send them"
                );
                self.stage.script().clear_queue();
            }
            return Ok(after);
        }
        self.is_told |= heard.has_passed;
        self.sequence = self.sequence.wrapping_add(heard.reports);
        if is_kept {
            return self.judge(command, heard).await;
        }
        self.is_told = true;
        self.show(command, &heard).await
    }

    /// Whether a COM_CHANGE_USER is the script's own. Only the client decides which user its
    /// session and its connection belong to.
    fn is_strange(&self, command: Command) -> bool {
        let is_clients = self.incoming.command == Command::CHANGE_USER && !self.is_told;
        command == Command::CHANGE_USER && !is_clients
    }

    /// Answers a command that is not sent anywhere with an ERR.
    async fn refuse(&mut self, command: Command, towards: Towards) -> Result<After, SessionError> {
        let error = errors::own_change_user();
        tracing::error!("{error}");
        let (payload, number) = (error.payload(), error.code.number);
        let now = self.stage.script().now();
        let mut heard = ObservedReply {
            is_reply: true,
            outcome: Outcome::Err(number),
            first_at: now,
            last_at: now,
            ..ObservedReply::nothing()
        };
        match towards {
            Towards::Script { sequence, .. } => {
                put_packets(&mut heard.kept, sequence, &payload);
                return self.judge(command, heard).await;
            }
            Towards::Client { sequence } => send_packet(self.stage, sequence, &payload),
            Towards::Nobody => {}
        }
        self.is_told = true;
        self.show(command, &heard).await
    }

    /// Progress reports are for a client that still waits.
    fn reports(&mut self) -> Reports {
        let reports_progress = Bridge::new(self.stage.capabilities()).reports_progress();
        match reports_progress && self.is_awaited() && !self.is_told {
            true => Reports::Pass,
            false => Reports::Stay,
        }
    }

    /// Returns the script's command as it is sent. The client's own command keeps its attributes.
    fn outgoing(&mut self, command: Command, payload: Vec<u8>) -> Incoming {
        let bridge = Bridge::new(self.stage.capabilities());
        let payload = match self.shown.as_ref() == Some(&payload) {
            true => self.incoming.payload().into_owned(),
            false => bridge.sent(payload, |id| self.stage.script().parameters_of(id)),
        };
        incoming_of(command, &payload)
    }

    /// Lets the script decide about a reply that was kept.
    async fn judge(
        &mut self,
        command: Command,
        mut heard: ObservedReply,
    ) -> Result<After, SessionError> {
        if heard.is_cut {
            let error = errors::result_too_long();
            tracing::error!("{error}");
            self.stage.script().clear_queue();
            self.send_result(|stage, sequence| send_packet(stage, sequence, &error.payload()));
            return Ok(After::Next);
        }
        let kept = std::mem::take(&mut heard.kept);
        let mut decision = Decision::Nothing;
        if self.stage.script().has(Hook::ReadQueryResult) {
            let bridge = Bridge::new(self.stage.capabilities());
            let answer = Answer::new(bridge.read(command, payloads_of(&kept)));
            let facts = reply_facts(command, &heard, Some(&answer));
            let script = self.stage.script();
            let said = script.read_query_result(&facts, Some(answer));
            decision = match settle(self.stage, said, self.sequence).await? {
                Settled::Decided(decision) => decision,
                Settled::Over(after) => return Ok(after),
                Settled::Killed => return Ok(self.end(heard.has_passed)),
            };
        }
        match decision {
            Decision::IgnoreResult => {}
            Decision::SendResult => self.answer().await?,
            // The client has the result.
            Decision::Nothing if heard.has_passed => {}
            Decision::Nothing => self.tell_kept(kept),
            Decision::SendQuery | Decision::Unknown(_) | Decision::Waits => {
                tracing::error!(
                    "(read_query_result) {decision} is not a decision: the proxy sends the result"
                );
                self.tell_kept(kept);
            }
        }
        Ok(After::Next)
    }

    /// Sends the client the script's answer, behind which the client may have to send a file.
    async fn answer(&mut self) -> Result<(), SessionError> {
        let Some(payloads) = self.stage.script().response() else {
            let payload = errors::response_unusable().payload();
            self.send_result(|stage, sequence| send_packet(stage, sequence, &payload));
            return Ok(());
        };
        let command = self.incoming.command;
        let sends_file = asks_for_file(command, &payloads) && !self.is_told;
        let told = Bridge::new(self.stage.capabilities()).for_client(command, payloads);
        self.send_result(|stage, sequence| send_all(stage, sequence, &told));
        match sends_file {
            true => swallow_file(self.stage, self.sequence).await,
            false => Ok(()),
        }
    }

    /// Sends the client a reply as it was kept. Its ids follow the client's last packet, or the client's frames.
    fn tell_kept(&mut self, kept: Vec<u8>) {
        self.send_result(|stage, sequence| {
            let client = stage.client();
            let next = client.transport.frame_sequence().unwrap_or(sequence);
            client.append(&renumbered(kept, next));
        });
    }

    /// Ends a command that was killed in a hook. The client keeps what it has had.
    fn end(&mut self, has_passed: bool) -> After {
        if !(self.is_told || has_passed) && has_reply(self.incoming.command) {
            send_packet(self.stage, self.sequence, &interrupted());
        }
        self.is_told = true;
        After::Next
    }

    /// Sends the client a result, if it has had none.
    fn send_result(&mut self, send: impl FnOnce(&mut S, u8)) {
        match self.is_told {
            _ if !self.is_awaited() => {
                tracing::error!(
                    "a script gives a result to a command that has none: the proxy does not send it"
                );
            }
            true => tracing::error!(
                "a script gives a second result to a command: the proxy does not send it"
            ),
            false => send(self.stage, self.sequence),
        }
        self.is_told = true;
    }

    /// Shows the script the figures of a reply that the client has had already.
    async fn show(
        &mut self,
        command: Command,
        heard: &ObservedReply,
    ) -> Result<After, SessionError> {
        if !self.stage.script().has(Hook::ReadQueryResult) {
            return Ok(After::Next);
        }
        let facts = reply_facts(command, heard, None);
        let said = self.stage.script().read_query_result(&facts, None);
        let decision = match settle(self.stage, said, self.sequence).await? {
            Settled::Decided(decision) => decision,
            Settled::Over(after) => return Ok(after),
            Settled::Killed => return Ok(self.end(true)),
        };
        if decision != Decision::Nothing {
            tracing::error!(
                "(read_query_result) {decision} has no effect: the client has the result already; \
                 queue the query with resultset_is_needed = true"
            );
        }
        Ok(After::Next)
    }
}

fn second_result() -> SessionError {
    let text = "a script gives a second result to a command, with resultset_is_needed = false: the proxy closes the connection";
    tracing::error!("{text}");
    SessionError::new(Failure::new(FailureKind::ScriptEnded, text), None)
}
