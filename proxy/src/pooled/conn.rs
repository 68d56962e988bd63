//! A backend connection that sessions take turns on, and conversations of the proxy's own on it.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pool::{BackendStatementId, Prepared, TypesSeen};
use route::Backend;
use session::state::{Changes, ConnectionState};
use session::{Outcome, Piece, Progress, Reply, Sequences, Tally};
use tokio::io::{AsyncRead, ReadBuf};
use wire::reply::ERR;
use wire::session_track::{Change, OkTail};
use wire::write::put_packets;
use wire::{Capabilities, Command, ErrPacket, ErrorCode, Greeting, HEADER_BYTES};

use super::aftermath::Owner;
use super::shelf::Shelf;
use super::sight::Sight;
use super::statement::StatementKey;
use crate::leg::Leg;
use crate::worker::Worker;

/// How long a backend has to close its side.
const TIMEOUT_FAREWELL: std::time::Duration = std::time::Duration::from_secs(1);

/// How long a backend has to answer a statement of the proxy's own.
const TIMEOUT_OWN: Duration = Duration::from_secs(30);

/// The same for COM_STMT_PREPARE: 65,535 parameters and 4,096 columns with long names.
pub(crate) const PREPARED_BYTES_MAX: usize = 32 << 20;

/// The most that the reply to a statement of the proxy's own may have, in bytes.
const OWN_REPLY_BYTES_MAX: usize = 1 << 20;

/// A connection, whoever has it.
pub(crate) struct BackendConn {
    pub leg: Leg,
    pub backend: Arc<Backend>,
    /// Its id there.
    pub thread_id: u32,
    /// What it was logged in with.
    pub capabilities: Capabilities,
    pub state: ConnectionState,
    /// How it greeted: a later login on it answers the same scramble.
    pub greeting: Greeting,
    /// Whose it is.
    pub shelf: Rc<Shelf>,
    /// What its login would have told a client.
    pub sight: Rc<Sight>,
    pub prepared: Prepared<StatementKey>,
    /// Whose last statement ran here, and who may still ask about it.
    pub owner: Option<Owner>,
    /// It has been told what no other session may have (COM_SET_OPTION).
    pub is_spoiled: bool,
    /// It was told to tell of every GTID that it writes (MySQL's `session_track_gtids`).
    pub tells_gtids: bool,
    /// Statements to be closed with the next command.
    closing: Vec<BackendStatementId>,
    /// Bytes read behind the end of a reply.
    inbox: Vec<u8>,
}

/// Why a connection is of no use any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("it closed the connection")]
    Closed,
    #[error("an administrator has disabled it")]
    Disabled,
    #[error("it ended the connection with error {0}")]
    Farewell(u16),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it broke the protocol: {0}")]
    Protocol(#[from] session::Violation),
    #[error("it broke the protocol: {0}")]
    Malformed(#[from] wire::Malformed),
    #[error("it broke the protocol: {0}")]
    Unexpected(&'static str),
}

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

    /// What the backend said against it.
    pub(crate) fn error(&self) -> Option<ErrPacket<'_>> {
        match self.outcome {
            Outcome::Ok => None,
            Outcome::Err(_) => ErrPacket::decode(self.payloads().last()?).ok(),
        }
    }
}

impl BackendConn {
    pub(crate) fn new(
        leg: Leg,
        ahead: Vec<u8>,
        shelf: Rc<Shelf>,
        capabilities: Capabilities,
        greeting: Greeting,
        prepared_max: usize,
    ) -> Self {
        Self {
            leg,
            backend: Arc::clone(&shelf.backend),
            thread_id: greeting.thread_id,
            shelf,
            sight: Rc::default(),
            capabilities,
            state: ConnectionState::unknown(),
            greeting,
            prepared: Prepared::new(prepared_max),
            owner: None,
            is_spoiled: false,
            tells_gtids: false,
            closing: Vec::new(),
            inbox: ahead,
        }
    }

    /// Whether its frames are compressed: each command then waits for the reply to the last.
    pub(crate) fn is_compressed(&self) -> bool {
        self.leg.transport.is_compressed()
    }

    /// How many answers its last session may still ask for.
    pub(crate) fn answers_owed(&self) -> u32 {
        let owner = self.owner.as_ref();
        u32::from(owner.is_some_and(Owner::is_owed))
    }

    /// How the ids of its packets are taken.
    pub(crate) fn sequences(&self) -> Sequences {
        match self.is_compressed() {
            true => Sequences::Renumbered,
            false => Sequences::Checked,
        }
    }

    /// Whether it can be used: the other side has neither closed nor spoken while it lay idle, as far as
    /// this worker has heard. What came before the client's command has been heard of.
    pub(crate) fn is_alive(&self) -> bool {
        let socket = self.leg.transport.socket();
        self.inbox.is_empty()
            && self.leg.is_drained()
            && socket.is_some_and(|socket| socket.is_silent())
    }

    /// Sends commands, as far as the kernel takes them; the rest leaves while replies are awaited.
    pub(crate) fn send(&mut self, packets: &[u8], context: &mut Context<'_>) {
        while let Some(id) = self.closing.pop() {
            let mut payload = Vec::new();
            wire::statement::put_close(&mut payload, id.0);
            let mut close = Vec::new();
            put_packets(&mut close, 0, &payload);
            self.put(&close, context);
        }
        self.put(packets, context);
    }

    fn put(&mut self, packets: &[u8], context: &mut Context<'_>) {
        self.leg.transport.begin_command();
        if self.leg.push(packets, context).is_err() {
            self.leg.give_up();
        }
    }

    /// Whether a statement is prepared here, and good for a client that has used such types: MySQL
    /// converts parameters to types that others had given them before.
    pub(crate) fn has(&self, key: &StatementKey, types: &TypesSeen) -> bool {
        let is_mysql = matches!(self.state.server(), sql::Server::MySql(_));
        self.prepared.id(key).is_some() && (!is_mysql || self.prepared.has_seen_only(key, types))
    }

    /// A statement that nobody needs here any more.
    pub(crate) fn close_statement(&mut self, id: BackendStatementId) {
        self.closing.push(id);
    }

    /// Undoes all that sessions have done here. To MySQL that is a new login: COM_RESET_CONNECTION
    /// gives it the server's character sets in place of the handshake's, and no SET brings back the
    /// collation that the handshake named for results.
    pub(crate) async fn reset(&mut self, worker: &Worker) -> Result<(), Broken> {
        if matches!(self.state.server(), sql::Server::MySql(_)) {
            return super::open::log_in_again(worker, self).await;
        }
        let reset = self.ask(worker, Command::RESET_CONNECTION, b"").await?;
        let after = super::open::text(self, self.state.after_reset());
        let follow = self.ask(worker, Command::QUERY, &after).await?;
        if reset.outcome != Outcome::Ok || follow.outcome != Outcome::Ok {
            return Err(Broken::Unexpected("it does not reset the connection"));
        }
        self.state.reset(&worker.store.values);
        self.forget_all();
        Ok(())
    }

    /// What was prepared here is gone, and nobody has anything to ask any more.
    pub(crate) fn forget_all(&mut self) {
        self.prepared.clear();
        self.closing.clear();
        self.owner = None;
        self.tells_gtids = false;
    }

    /// Says COM_QUIT and closes, within a bound of time.
    pub(crate) async fn say_goodbye(&mut self) {
        self.leg.transport.begin_command();
        self.leg.append(&own_command(Command::QUIT, b""));
        let farewell = async {
            self.leg.drained().await?;
            self.leg.transport.close().await
        };
        // It is left anyway.
        let _ = tokio::time::timeout(TIMEOUT_FAREWELL, farewell).await;
    }

    /// Takes what has come of a reply. Ready with `Ok` when bytes were taken.
    pub(crate) fn poll_feed(
        &mut self,
        worker: &Worker,
        reply: &mut Reply,
        context: &mut Context<'_>,
        sink: impl FnMut(Piece<'_>),
    ) -> Poll<Result<(), Broken>> {
        // What it does not take yet must not keep its answer back.
        let _ = self.leg.poll_drain_or_break(context);
        if !self.inbox.is_empty() {
            let taken = reply.feed(&mut self.inbox, sink)?;
            self.inbox.drain(..taken);
            if self.inbox.is_empty() {
                self.inbox = Vec::new();
            }
            return Poll::Ready(Ok(()));
        }
        let mut scratch = worker.scratch.borrow_mut();
        let mut buffer = ReadBuf::new(&mut scratch);
        ready!(Pin::new(&mut self.leg.transport).poll_read(context, &mut buffer))?;
        let bytes = buffer.filled_mut();
        if bytes.is_empty() {
            return Poll::Ready(Err(Broken::Closed));
        }
        if !reply.has_begun()
            && let Some(number) = farewell(bytes)
            && bytes.get(3) == Some(&0)
            && !self.leg.transport.is_compressed()
        {
            // No reply begins with this sequence id: it was said before anything was asked.
            return Poll::Ready(Err(Broken::Farewell(number)));
        }
        let taken = reply.feed(bytes, sink)?;
        self.inbox.extend_from_slice(&bytes[taken..]);
        Poll::Ready(Ok(()))
    }

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
                let argument = super::open::text(self, statement);
                replies.push(self.ask(worker, Command::QUERY, &argument).await?);
            }
            return Ok(replies);
        }
        let mut packets = Vec::new();
        for statement in statements {
            let argument = super::open::text(self, statement);
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

/// The error by which a server ends a connection, if that is what comes instead of a reply: KILL, a
/// shutdown, `wait_timeout`. It says nothing about the statement, which was not executed.
pub(crate) fn farewell(bytes: &[u8]) -> Option<u16> {
    let ends = [
        ErrorCode::SERVER_SHUTDOWN,
        ErrorCode::CONNECTION_KILLED,
        ErrorCode::INTERACTION_TIMEOUT,
    ];
    let &[ERR, low, high] = bytes.get(HEADER_BYTES..)?.first_chunk()? else {
        return None;
    };
    let number = u16::from_le_bytes([low, high]);
    ends.iter()
        .any(|end| end.number == number)
        .then_some(number)
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
