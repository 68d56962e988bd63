//! Conversations of the proxy's own on a backend connection: a command of its own, and the whole reply.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use session::state::Changes;
use session::{Outcome, Piece, Progress, Reply, Tally};
use wire::rows::Rows;
use wire::session_track::{Change, OkTail};
use wire::write::put_packets;
use wire::{Capabilities, Command, ErrPacket, HEADER_BYTES};

use super::{BackendConn, Broken};
use crate::worker::Worker;

/// How long a backend has to answer a statement of the proxy's own.
const TIMEOUT_OWN: Duration = Duration::from_secs(30);

/// The same for COM_STMT_PREPARE: 65,535 parameters and 4,096 columns with long names.
pub(crate) const PREPARED_BYTES_MAX: usize = 32 << 20;

/// The most that the reply to a statement of the proxy's own may have, in bytes.
const OWN_REPLY_BYTES_MAX: usize = 1 << 20;

/// The whole reply to a statement of the proxy's own.
#[derive(Debug)]
pub(crate) struct OwnReply {
    /// All its packets.
    pub bytes: Vec<u8>,
    pub outcome: Outcome,
    pub tally: Tally,
    pub changes: Changes,
    /// It was longer than what is kept: there is nothing of it here.
    pub is_cut: bool,
}

/// What becomes of a reply that is longer than so many bytes.
#[derive(Clone, Copy)]
enum Limit {
    /// Its connection is of no use any more.
    Breaks(usize),
    /// It is heard to its end and not kept.
    Drops(usize),
}

impl OwnReply {
    /// The payload of its first packet.
    pub(crate) fn first_payload(&self) -> &[u8] {
        self.payloads().next().unwrap_or_default()
    }

    /// The payloads of its packets, none of which is continued by another.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let header = wire::Header::decode(*rest.first_chunk::<HEADER_BYTES>()?);
            let payload = rest.get(HEADER_BYTES..HEADER_BYTES + header.length)?;
            rest = rest.get(HEADER_BYTES + header.length..)?;
            Some(payload)
        })
    }

    /// The result set; empty if the reply is none.
    pub(crate) fn rows(&self, capabilities: Capabilities) -> Result<Rows, Broken> {
        if !self.tally.had_rows {
            return Ok(Rows::default());
        }
        let row_count = usize::try_from(self.tally.rows).unwrap_or(usize::MAX);
        Ok(Rows::read(self.payloads(), row_count, capabilities)?)
    }

    /// The payload of the backend's ERR.
    pub(crate) fn error_payload(&self) -> Option<&[u8]> {
        match self.outcome {
            Outcome::Ok => None,
            Outcome::Err(_) => self.payloads().last(),
        }
    }

    /// What the backend said against it.
    pub(crate) fn error(&self) -> Option<ErrPacket<'_>> {
        match self.outcome {
            Outcome::Ok => None,
            Outcome::Err(_) => ErrPacket::decode(self.payloads().last()?).ok(),
        }
    }
}
impl BackendConn {
    /// Sends commands of the proxy's own and waits for the reply to the last one.
    pub(crate) async fn ask(
        &mut self,
        worker: &Worker,
        command: Command,
        argument: &[u8],
    ) -> Result<OwnReply, Broken> {
        let packets = own_command(command, argument);
        poll_fn(|context| {
            self.send(&packets, context);
            Poll::Ready(())
        })
        .await;
        self.hear(worker, command).await
    }

    /// Asks several questions, in one write where that is possible.
    pub(crate) async fn ask_all(
        &mut self,
        worker: &Worker,
        statements: &[String],
    ) -> Result<Vec<OwnReply>, Broken> {
        let mut replies = Vec::with_capacity(statements.len());
        if self.is_compressed() {
            for statement in statements {
                let argument = crate::pooled::backend::open::text(self, statement);
                replies.push(self.ask(worker, Command::QUERY, &argument).await?);
            }
            return Ok(replies);
        }
        let mut packets = Vec::new();
        for statement in statements {
            let argument = crate::pooled::backend::open::text(self, statement);
            packets.extend(own_command(Command::QUERY, &argument));
        }
        poll_fn(|context| {
            self.send(&packets, context);
            Poll::Ready(())
        })
        .await;
        for _ in statements {
            replies.push(self.hear(worker, Command::QUERY).await?);
        }
        Ok(replies)
    }

    /// Waits for the reply to a command of the proxy's own that was sent.
    pub(crate) async fn hear(
        &mut self,
        worker: &Worker,
        command: Command,
    ) -> Result<OwnReply, Broken> {
        // What is prepared may wait for a table that is being changed; all else is answered at once.
        if command == Command::STMT_PREPARE {
            let limit = Limit::Breaks(PREPARED_BYTES_MAX);
            return self.hear_out(worker, command, limit).await;
        }
        self.hear_after(worker, command, Duration::ZERO).await
    }

    /// The same for one that takes up to so long by itself.
    pub(crate) async fn hear_after(
        &mut self,
        worker: &Worker,
        command: Command,
        wait: Duration,
    ) -> Result<OwnReply, Broken> {
        let heard = self.hear_out(worker, command, Limit::Breaks(OWN_REPLY_BYTES_MAX));
        let heard = tokio::time::timeout(TIMEOUT_OWN + wait, heard).await;
        heard.unwrap_or(Err(Broken::Unexpected("no answer in time")))
    }

    /// Asks for a row. Of one that is longer than an own reply may be nothing is kept.
    pub(crate) async fn ask_short(
        &mut self,
        worker: &Worker,
        argument: &[u8],
    ) -> Result<OwnReply, Broken> {
        let asked = self.ask_in_part(worker, argument, OWN_REPLY_BYTES_MAX);
        let asked = tokio::time::timeout(TIMEOUT_OWN, asked).await;
        asked.unwrap_or(Err(Broken::Unexpected("no answer in time")))
    }

    /// Sends a statement that is not the proxy's own idea, and waits for its reply as long as that takes.
    /// Of one that is longer than `bytes_max` nothing is kept.
    pub(crate) async fn ask_in_part(
        &mut self,
        worker: &Worker,
        argument: &[u8],
        bytes_max: usize,
    ) -> Result<OwnReply, Broken> {
        let packets = own_command(Command::QUERY, argument);
        poll_fn(|context| {
            self.send(&packets, context);
            Poll::Ready(())
        })
        .await;
        self.hear_out(worker, Command::QUERY, Limit::Drops(bytes_max))
            .await
    }

    async fn hear_out(
        &mut self,
        worker: &Worker,
        command: Command,
        limit: Limit,
    ) -> Result<OwnReply, Broken> {
        let mut reply = Reply::to(command, self.capabilities, self.sequences(), 1)
            .ok_or(Broken::Unexpected("a command without a reply"))?;
        let mut own = OwnReply {
            bytes: Vec::new(),
            outcome: Outcome::Ok,
            tally: Tally::default(),
            changes: Changes::default(),
            is_cut: false,
        };
        let capabilities = self.capabilities;
        loop {
            match reply.progress() {
                Progress::More => {}
                Progress::Over(outcome) => {
                    own.outcome = outcome;
                    own.tally = *reply.tally();
                    return Ok(own);
                }
                Progress::File { .. } => return Err(Broken::Unexpected("it wants a file")),
            }
            poll_fn(|context| {
                self.poll_feed(worker, &mut reply, context, |piece| match piece {
                    Piece::Pass(bytes) => own.bytes.extend_from_slice(bytes),
                    Piece::Changes(packet, result) => {
                        own.bytes.extend_from_slice(packet);
                        own.changes.ends(result);
                        note_changes(packet, capabilities, &mut own.changes);
                    }
                })
            })
            .await?;
            match limit {
                Limit::Breaks(bytes_max) if own.bytes.len() > bytes_max => {
                    return Err(Broken::Unexpected("an endless reply"));
                }
                Limit::Drops(bytes_max) if own.is_cut || own.bytes.len() > bytes_max => {
                    own.is_cut = true;
                    own.bytes.clear();
                }
                Limit::Breaks(_) | Limit::Drops(_) => {}
            }
        }
    }
}

/// A command of the proxy's own as packets.
pub(crate) fn own_command(command: Command, argument: &[u8]) -> Vec<u8> {
    let mut payload = Vec::with_capacity(argument.len() + 1);
    payload.push(command.0);
    payload.extend_from_slice(argument);
    let mut packets = Vec::with_capacity(payload.len() + HEADER_BYTES);
    put_packets(&mut packets, 0, &payload);
    packets
}

/// Gathers the changes that an OK packet carries. What makes no sense is as good as unknown.
pub(crate) fn note_changes(packet: &[u8], capabilities: Capabilities, changes: &mut Changes) {
    let payload = &packet[HEADER_BYTES.min(packet.len())..];
    match OkTail::decode(payload, capabilities) {
        Ok(tail) => {
            for change in tail.changes() {
                match change {
                    Ok(change) => note_change(change, changes),
                    Err(_) => changes.state_changed(),
                }
            }
        }
        Err(_) => changes.state_changed(),
    }
}

fn note_change(change: Change<'_>, changes: &mut Changes) {
    match change {
        Change::Variable { name, value } => changes.variable(name, value),
        Change::Schema(name) => changes.schema(name),
        Change::StateChanged(true) => changes.state_changed(),
        Change::TransactionCharacteristics(statements) => {
            changes.transaction_characteristics(statements);
        }
        Change::Gtids(gtids) => changes.written(gtids),
        Change::StateChanged(false) | Change::TransactionState(_) | Change::Unknown { .. } => {}
    }
}
