//! A pooled session: read one command; what needs no backend is answered here; for the rest take a
//! connection, make its state the session's, pass the command and its reply, note what changed, give
//! the connection back; again.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use auth::{KnownAccount, Origin, Privacy, Scramble};
use config::{ListenerConfig, SessionMode};
use net::proxy_protocol;
use pool::{ClientStatementId, ClientStatements, CloseReason};
use route::{Backend, SessionSlot};
use session::state::{Changes, Hold, Needs, Pin as Held, Pins, SessionState};
use session::{Pipelining, Sequences, Tracker};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::task::JoinHandle;
use wire::write::put_packets;
use wire::{Capabilities, Command, ErrPacket, ErrorCode, Greeting, HEADER_BYTES, StatusFlags};

use super::aboard::Riding;
use super::aftermath::Aftermath;
use super::aim::Aim;
use super::beside::Reflection;
use super::broken::{Effect, Repeat};
use super::course::Course;
use super::cut_transaction::CutTransaction;
use super::desk::Lent;
use super::incoming::{Inbox, Incoming};
use super::optimism::Optimism;
use super::order::Order;
use super::people::Person;
use super::pump::Delivery;
use super::record::Trace;
use super::shelf::{BackendLogin, Kind, KnownShelf};
use super::sight::Sight;
use super::statement::StatementKey;
use super::timing::Timing;
use super::turn::WaitingPlace;
use crate::card::Way;
use crate::dialogue::Legs;
use crate::failure::{Failure, Kind as FailureKind};
use crate::insight::digests::Subject;
use crate::insight::whose::OwnWhose;
use crate::leg::Leg;
use crate::relay::{End, Relay};
use crate::scripted::scripting::Scripting;
use crate::surroundings::{Place, Settings};
use crate::watch::{Ask, Watch};
use crate::worker::Worker;

/// One session. Fields are dropped in this order: the connection goes before the session's places.
pub(crate) struct Pooled {
    pub client: Leg,
    pub inbox: Inbox,
    pub lent: Option<Lent>,
    pub worker: Rc<Worker>,
    pub watch: Rc<Watch>,
    pub settings: Arc<Settings>,
    pub account: Arc<KnownAccount>,
    pub login: Rc<BackendLogin>,
    pub kind: Rc<Kind>,
    pub shelf: Option<KnownShelf>,
    /// Where it waits for a connection, since it has waited for the first time.
    pub waiting_place: Option<Rc<WaitingPlace>>,
    pub mode: SessionMode,
    /// What the client's packets look like.
    pub capabilities: Capabilities,
    /// The same with the flags of its login.
    pub login_capabilities: Capabilities,
    pub state: SessionState,
    pub statements: ClientStatements<StatementKey>,
    /// Statements with an open cursor on the connection that is held.
    pub cursors: Vec<(ClientStatementId, StatementKey)>,
    /// What the client would be told of changes by a server; unknown before the first connection.
    pub sight: Option<Rc<Sight>>,
    /// What makes the next statement see the client's own settings of that.
    pub shows: Option<Rc<Sight>>,
    /// The connection tells what the client wants to hear, and no more.
    pub has_shown: bool,
    pub delivery: Delivery,
    /// Settings of the sight that the client has changed and that have to be asked for.
    pub unseen: Vec<Box<[u8]>>,
    /// It has prepared a statement that sets what it is told.
    pub prepares_settings: bool,
    /// What the exchange of the moment has changed, by the server's word.
    pub changes: Changes,
    /// When the command of the moment came, left, and had its reply.
    pub timing: Timing,
    /// What it is counted under, if it is.
    pub subject: Option<Subject>,
    /// Chance has chosen it to be profiled, as far as its text need not be looked at.
    pub is_sampled: bool,
    /// Whose statements are counted with its.
    pub whose: OwnWhose,
    /// The flags that the client saw last.
    pub status: StatusFlags,
    pub aftermath: Rc<Aftermath>,
    /// Whether the next statement needs an empty list of warnings.
    pub wants_clear: bool,
    /// The thread that runs a statement of this session's.
    pub running: Option<Running>,
    /// The client has yet to say that its transaction, which was cut, is over.
    pub cut_transaction: Option<CutTransaction>,
    /// Its transaction may write, and has only read yet, on a replica.
    pub optimism: Option<Box<Optimism>>,
    pub course: Course,
    /// What rules and hints want of the command of the moment.
    pub order: Option<Box<Order>>,
    /// The statement of the moment, if it may be recorded.
    pub trace: Option<Box<Trace>>,
    /// Its statements that go to another cluster as well.
    pub reflection: Reflection,
    pub riding: Riding,
    /// The script that sees its commands.
    pub scripting: Option<Box<Scripting>>,
    /// A kill that is on its way to this session's own statement.
    pub kill: Option<JoinHandle<()>>,
    pub scramble: Scramble,
    pub greeting: Rc<Greeting>,
    pub client_privacy: Privacy,
    pub client_tls: Option<net::tls::Facts>,
    pub origin: Origin,
    /// Where it is connected, for backends that are to be told.
    pub header: proxy_protocol::Header,
    pub listener: Arc<ListenerConfig>,
    pub home: Option<Home>,
    pub person: Person,
    pub place: Place,
}

/// What of a session outlives it when it is relayed.
pub(crate) struct Places {
    /// Its script, which sees no more commands, but its end.
    pub scripting: Option<Box<Scripting>>,
    pub home: Option<Home>,
    pub person: Person,
    pub place: Place,
}

/// The backend that a session goes to as long as that can be used.
pub(crate) struct Home {
    pub backend: Arc<Backend>,
    pub slot: SessionSlot,
}

/// Where a statement of a session's runs.
#[derive(Clone)]
pub(crate) struct Running {
    pub backend: Arc<Backend>,
    pub thread_id: u32,
}

/// The flags that say something of the session; the others say something of one reply.
pub(crate) const LASTING: StatusFlags = StatusFlags(
    StatusFlags::IN_TRANS.0
        | StatusFlags::AUTOCOMMIT.0
        | StatusFlags::NO_BACKSLASH_ESCAPES.0
        | StatusFlags::IN_TRANS_READONLY.0
        | StatusFlags::ANSI_QUOTES.0,
);

/// What becomes of a session after a command.
pub(crate) enum After {
    /// The next command.
    Next,
    Ended(End),
    /// It goes on over one connection, unread.
    Relayed(Box<Relayed>),
}

/// What a session that is relayed takes along.
pub(crate) struct Relayed {
    pub relay: Relay,
    pub legs: Legs,
    /// The last scramble that its client had of this backend; empty where it had none.
    pub scramble: Vec<u8>,
    pub thread_id: u32,
    /// Its place there, if that is not the one at home.
    pub slot: Option<SessionSlot>,
}

/// How a session is cut off.
pub(crate) struct CutOff {
    pub failure: Failure,
    /// The sequence id of an ERR that would fit; `None` within a packet.
    pub sequence: Option<u8>,
}

impl CutOff {
    pub(crate) fn new(failure: Failure, sequence: Option<u8>) -> Self {
        Self { failure, sequence }
    }
}

impl Pooled {
    /// Command after command, until the end.
    pub(crate) async fn run(&mut self) -> Result<After, CutOff> {
        loop {
            let Some(incoming) = self.next_command().await? else {
                return Ok(After::Ended(End::ClientClosed));
            };
            let is_change = incoming.command == Command::CHANGE_USER;
            let after = match self.scripting {
                None => self.act(incoming).await?,
                Some(_) => {
                    let worker = Rc::clone(&self.worker);
                    worker.blocks.hold(self.act_by_script(incoming)).await?
                }
            };
            match after {
                After::Next => self.rest().await?,
                ended => return Ok(ended),
            }
            if is_change && self.settings.config.accounts_run_scripts() {
                self.follow_account()?;
            }
        }
    }

    /// One command, up to the end of its reply.
    pub(crate) async fn act(&mut self, incoming: Incoming) -> Result<After, CutOff> {
        let worker = Rc::clone(&self.worker);
        let blocks = &worker.blocks;
        self.subject = None;
        let after = match incoming.command {
            _ if self.cut_transaction.is_some() => Box::pin(self.after_cut(incoming)).await,
            _ if self.optimism.is_some() => Box::pin(self.optimistic(incoming)).await,
            // An idle session needs no memory for a statement.
            Command::QUERY if !incoming.is_cut => blocks.hold(self.query(incoming)).await,
            Command::STMT_EXECUTE if !incoming.is_cut => blocks.hold(self.execute(incoming)).await,
            _ => Box::pin(self.perform(incoming)).await,
        };
        if self.order.is_some() && after.is_ok() {
            self.close_order();
        }
        after
    }

    pub(crate) async fn perform(&mut self, incoming: Incoming) -> Result<After, CutOff> {
        match incoming.command {
            Command::QUIT => return Ok(After::Ended(End::Quit)),
            Command::QUERY if !incoming.is_cut => return self.query(incoming).await,
            _ if incoming.is_cut => return self.large(incoming).await,
            Command::PING => {
                self.learn_count().await;
                self.learn_status().await;
                self.say_ok(incoming.sequence);
                self.state.answered(session::state::Answered::Ok);
            }
            Command::RESET_CONNECTION => return self.reset(incoming).await,
            Command::CHANGE_USER => return self.change_user(incoming).await,
            Command::INIT_DB => return self.init_db(incoming).await,
            Command::SET_OPTION => return self.set_option(incoming).await,
            Command::PROCESS_KILL => return self.process_kill(incoming).await,
            Command::STMT_PREPARE => return self.prepare(incoming).await,
            Command::STMT_EXECUTE => return self.execute(incoming).await,
            Command::STMT_BULK_EXECUTE => return self.bulk_execute(incoming).await,
            Command::STMT_FETCH => return self.fetch(incoming).await,
            Command::STMT_RESET => return self.reset_statement(incoming).await,
            Command::STMT_CLOSE => self.close_statement(&incoming).await,
            Command::STMT_SEND_LONG_DATA => self.send_long_data(&incoming),
            Command::STATISTICS
            | Command::DEBUG
            | Command::REFRESH
            | Command::PROCESS_INFO
            | Command::FIELD_LIST
            | Command::SHUTDOWN
            | Command::CREATE_DB
            | Command::DROP_DB => return self.plain(incoming).await,
            _ if self.has_scripts() => {
                // Relayed, it would be out of their sight.
                let text = "Unknown command, or one of replication: sessions with a script have none of \
                            these; give the account script = []";
                self.say_error(incoming.sequence, ErrorCode::UNKNOWN_COM, text);
            }
            _ => return self.hand_over(incoming).await,
        }
        Ok(After::Next)
    }

    /// Waits for the client's next command; `None` when it has closed.
    async fn next_command(&mut self) -> Result<Option<Incoming>, CutOff> {
        let config = &self.settings.config;
        let bytes = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        // Scripts see commands whole.
        let held = match self.scripting {
            None => bytes(config.pool.statement_bytes_max),
            Some(_) => usize::MAX,
        };
        let limit = config.limits.packet_bytes_max;
        let long = held.max(bytes(config.pool.long_data_bytes_max));
        loop {
            // What names a statement must be held to be changed.
            let held = match self.inbox.peek() {
                Some(
                    Command::STMT_SEND_LONG_DATA
                    | Command::STMT_EXECUTE
                    | Command::STMT_BULK_EXECUTE,
                ) => long,
                _ => held,
            };
            match self.inbox.command(held, limit) {
                Ok(Some(incoming)) => {
                    self.timing.comes(self.worker.surroundings.now().0);
                    return Ok(Some(incoming));
                }
                Ok(None) => {}
                Err(violation) => {
                    let failure = crate::relay::client_violation(violation);
                    return Err(CutOff::new(failure, Some(1)));
                }
            }
            match poll_fn(|context| self.poll_idle(context)).await? {
                Idle::Bytes => {}
                Idle::Closed if self.inbox.is_empty() => return Ok(None),
                Idle::Closed => {
                    let text = "the client left within a command";
                    let failure = Failure::new(FailureKind::ClientLeft, text);
                    return Err(CutOff::new(failure, None));
                }
            }
        }
    }

    /// Between two commands: the client, its unsent bytes, the connection it holds, the worker.
    fn poll_idle(&mut self, context: &mut Context<'_>) -> Poll<Result<Idle, CutOff>> {
        let lost = |error: std::io::Error| {
            let text = format!("the client is gone: {error}");
            CutOff::new(Failure::new(FailureKind::ClientLost, text), None)
        };
        if let Poll::Ready(Err(error)) = self.client.poll_drain(context) {
            return Poll::Ready(Err(lost(error)));
        }
        // Its next command is not wanted before it has taken the reply to the last one.
        if self.client.is_drained() {
            match self.poll_client(context) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(Idle::Closed)),
                Poll::Ready(Ok(_)) => {
                    self.watch.has_spoken();
                    return Poll::Ready(Ok(Idle::Bytes));
                }
                // A reset is an end like any other here.
                Poll::Ready(Err(_)) => return Poll::Ready(Ok(Idle::Closed)),
                Poll::Pending => {}
            }
        }
        let is_whole = self.inbox.is_empty();
        self.watch.note(self.worker.clock.now(), is_whole);
        self.watch.stand(self.status);
        self.watch.note_values(self.state.values());
        if let Some(cut) = self.heed(context) {
            return Poll::Ready(Err(cut));
        }
        self.poll_held(context)
    }

    /// What the worker asks of a session that is between two commands.
    fn heed(&mut self, context: &Context<'_>) -> Option<CutOff> {
        let asked = self.watch.poll_asked(context);
        if asked.is_nothing() {
            return None;
        }
        self.watch.withdraw(Ask::KillStatement);
        self.watch.withdraw(Ask::EndHook);
        self.watch.withdraw(Ask::BackendDown);
        let is_at_rest = self.inbox.is_empty() && self.client.is_drained();
        let is_free = !self.status.contains(StatusFlags::IN_TRANS);
        let told = |kind, text: &str| Some(CutOff::new(Failure::new(kind, text), Some(0)));
        if asked.contains(Ask::KillSession) {
            return told(FailureKind::Killed, "Connection was killed");
        }
        if is_at_rest && is_free && (asked.contains(Ask::Stop) || asked.contains(Ask::Drain)) {
            return told(FailureKind::Drained, "The proxy is shutting down");
        }
        if asked.contains(Ask::Stop) {
            return told(
                FailureKind::Stopped,
                "The proxy is shutting down, and the transaction did not end in time",
            );
        }
        if asked.contains(Ask::IdleTimeout) && is_at_rest {
            return told(
                FailureKind::IdleTimeout,
                "The client was disconnected by the proxy because of inactivity (limits.timeout_idle)",
            );
        }
        if asked.contains(Ask::WaitTimeout) && is_at_rest {
            return Some(self.waited_too_long());
        }
        self.watch.withdraw(Ask::WaitTimeout);
        self.watch.withdraw(Ask::IdleTimeout);
        None
    }

    /// The end that a server makes of a session after its `wait_timeout`: MySQL says why, MariaDB does
    /// not.
    fn waited_too_long(&self) -> CutOff {
        let text = "The client was disconnected by the server because of inactivity. See wait_timeout \
                    and interactive_timeout for configuring this behavior.";
        let failure = Failure::new(FailureKind::IdleTimeout, text);
        let told = match self.state.flags().server {
            sql::Server::MySql(_) => Some(0),
            sql::Server::MariaDb(_) | sql::Server::Unknown => None,
        };
        CutOff::new(failure, told)
    }

    /// Its `wait_timeout` may be another one now.
    pub(crate) fn note_wait_timeout(&self) {
        self.watch.may_wait(self.state.wait_timeout());
    }

    /// A connection that is held between two commands may end by itself, and takes the session along.
    fn poll_held(&mut self, context: &mut Context<'_>) -> Poll<Result<Idle, CutOff>> {
        let Some(lent) = &mut self.lent else {
            return Poll::Pending;
        };
        let mut scratch = self.worker.scratch.borrow_mut();
        let mut buffer = ReadBuf::new(&mut scratch);
        let read = Pin::new(&mut lent.conn.leg.transport).poll_read(context, &mut buffer);
        let last_words = match read {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) => buffer.filled().to_vec(),
            Poll::Ready(Err(_)) => Vec::new(),
        };
        drop(scratch);
        let name = &lent.conn.backend.name;
        let text = format!("Lost connection to backend {name} between two commands");
        let may_go_on = last_words.is_empty() || self.optimism.is_some();
        if may_go_on && self.cut_while_idle(&text) {
            return Poll::Pending;
        }
        // What a server says before it closes is an ERR that tells why; the client hears it.
        let failure = match last_words
            .get(4..)
            .map(|words| (words, ErrPacket::decode(words)))
        {
            Some((words, Ok(_))) => {
                Failure::relaying(FailureKind::HeldBackendLost, text, words.to_vec())
            }
            _ => Failure::new(FailureKind::HeldBackendLost, self.with_losses(text)),
        };
        Poll::Ready(Err(CutOff::new(failure, Some(0))))
    }

    /// Puts a payload of the proxy's own on its way to the client.
    pub(crate) fn say(&mut self, sequence: u8, payload: &[u8]) {
        let sequence = self.client.transport.frame_sequence().unwrap_or(sequence);
        let mut packets = Vec::with_capacity(payload.len() + HEADER_BYTES);
        put_packets(&mut packets, sequence, payload);
        self.say_packets(&packets);
    }

    /// The same for packets that have their headers.
    pub(crate) fn say_packets(&mut self, packets: &[u8]) {
        self.client.append(packets);
    }

    pub(crate) fn say_ok(&mut self, sequence: u8) {
        let [low, high] = self.status.0.to_le_bytes();
        let [few, many] = self.standing_warnings().unwrap_or_default().to_le_bytes();
        self.say(sequence, &[wire::reply::OK, 0, 0, low, high, few, many]);
    }

    pub(crate) fn say_error(&mut self, sequence: u8, code: ErrorCode, text: &str) {
        let mut payload = Vec::new();
        ErrPacket {
            number: code.number,
            sqlstate: Some(code.sqlstate),
            text: text.as_bytes(),
        }
        .encode(&mut payload);
        self.say(sequence, &payload);
    }

    /// Tells of a failure that ends a command and not the session.
    pub(crate) fn say_failure(&mut self, sequence: u8, failure: &Failure) {
        if let Some(payload) = failure.err_payload(true) {
            tracing::info!(
                cause = failure.cause,
                kind = failure.kind.verdict().label,
                user = %self.account.id(),
                "a command failed"
            );
            self.note_failed(&payload, None);
            self.say(sequence, &payload);
        }
    }

    /// Behind a command: a connection that holds nothing of the session's goes back.
    pub(crate) async fn rest(&mut self) -> Result<(), CutOff> {
        if self.lent.is_none() {
            return Ok(());
        }
        if let Some(kill) = self.kill.take() {
            Box::pin(self.outlive(kill)).await?;
        }
        if !self.unseen.is_empty() {
            Box::pin(self.look_again()).await;
        }
        if !self.cursors.is_empty() || !self.state.is_free() {
            Box::pin(self.inquire()).await?;
            if self.is_pinned() {
                self.keep_lent();
                return Ok(());
            }
        }
        if self.lent.as_ref().is_some_and(|lent| lent.conn.is_spoiled) {
            Box::pin(self.settle_spoiled()).await;
        }
        self.give_back();
        Ok(())
    }

    /// The session cannot leave its connection.
    fn keep_lent(&mut self) {
        let pins = self.pins();
        tracing::debug!(user = %self.account.id(), id = self.person.id(), %pins, "session is pinned");
        self.watch.hold(Some(pins));
        if let Some(lent) = &mut self.lent {
            self.worker.desk.hold(&self.worker, lent);
        }
    }

    /// A connection that is closed next is asked first what nobody else could tell.
    async fn settle_spoiled(&mut self) {
        let Some(lent) = &mut self.lent else {
            return;
        };
        if self.aftermath.is_at(&lent.conn) {
            let nobody = Rc::default();
            // It is closed anyway.
            let _ = super::aftermath::settle(&self.worker, &mut lent.conn, &nobody).await;
            self.aftermath.is_left();
            self.take_up_saved();
        }
    }

    /// Brings the connection back, or closes it where others could not use it.
    pub(crate) fn give_back(&mut self) {
        let Some(lent) = self.lent.take() else {
            return;
        };
        // What is killed from here on is another's.
        self.running = None;
        self.watch.hold(None);
        if lent.conn.is_spoiled {
            return self
                .worker
                .desk
                .forget(&self.worker, lent, CloseReason::Ended);
        }
        match self.timing.take_end() {
            // Nothing has happened here since.
            Some(ended) => self.worker.desk.give_back_at(&self.worker, lent, ended),
            None => self.worker.desk.give_back(&self.worker, lent),
        }
    }

    /// Whether the session cannot leave its connection.
    pub(crate) fn is_pinned(&self) -> bool {
        if self.cursors.is_empty() && self.state.is_free() {
            return false;
        }
        let is_for_life = self.state.rules().hold == Hold::Session;
        is_for_life || !self.cursors.is_empty() || !self.pins().is_empty()
    }

    /// What keeps the session on its connection.
    pub(crate) fn pins(&self) -> Pins {
        let mut pins = self.state.pins();
        // Whoever takes the connection asks for the count first, see `aftermath`.
        pins.remove(Held::FoundRows);
        pins
    }

    /// Gives up the connection: it broke, or nobody can use it any more.
    pub(crate) fn drop_lent(&mut self, reason: CloseReason) {
        if let Some(lent) = self.lent.take() {
            self.running = None;
            self.watch.hold(None);
            self.worker.desk.forget(&self.worker, lent, reason);
        }
    }

    /// Hands the session over to the relay: from here on it has one backend connection to its end.
    async fn hand_over(&mut self, incoming: Incoming) -> Result<After, CutOff> {
        let sequence = incoming.sequence;
        if let Err(failure) = self.hold(Aim::Home).await {
            return self.refuse(&failure, sequence);
        }
        let made = self.make_texts(&Needs::ALL).await;
        let Some(mut lent) = self.lent.take() else {
            return Ok(After::Next);
        };
        let equal = match made {
            Ok(_) => self.become_equal(&mut lent.conn, &Needs::ALL).await,
            Err(cut) => Err(cut),
        };
        self.lent = Some(lent);
        if let Err(cut) = equal {
            let repeat = Repeat::of(Effect::Any, Aim::Home);
            return self.cut_short(cut, sequence, incoming.command, repeat);
        }
        let Some(lent) = self.lent.take() else {
            return Ok(After::Next);
        };
        let conn = self.worker.desk.take_out(&self.worker, lent);
        let thread_id = conn.thread_id;
        let sequences = match self.client.transport.is_compressed() || conn.is_compressed() {
            false => Sequences::Checked,
            true => Sequences::Renumbered,
        };
        let pipelining = match conn.is_compressed() {
            false => Pipelining::Deep,
            true => Pipelining::OneByOne,
        };
        let limit = self.settings.config.limits.packet_bytes_max;
        let capabilities = conn.capabilities;
        let tracker = Tracker::new(capabilities, self.status, sequences, pipelining, limit);
        let mut client = std::mem::replace(&mut self.client, Leg::gone());
        client.ear = None;
        let backend = Arc::clone(&conn.backend);
        let legs = Legs {
            client: self.client_privacy,
            backend: conn.leg.transport.privacy(),
        };
        let mut relay = Relay::new(
            (client, conn.leg),
            tracker,
            Arc::clone(&backend),
            false,
            Rc::clone(&self.watch),
            Rc::clone(&self.worker),
        );
        let mut ahead = incoming.packets;
        ahead.extend(self.inbox.take_all());
        relay
            .put_ahead(ahead, Vec::new())
            .map_err(|failure| CutOff::new(failure, None))?;
        relay.observe(capabilities);
        self.watch.settle(backend.id);
        self.watch.note_of(|card| {
            card.way = Way::Relayed;
            card.thread_id = thread_id;
        });
        // From here on the server sees to that.
        self.watch.may_wait(None);
        self.person.pass_on(backend.id, thread_id);
        Ok(After::Relayed(Box::new(Relayed {
            relay,
            legs,
            scramble: Vec::new(),
            thread_id,
            slot: None,
        })))
    }

    /// The session has ended well: what it held ends, and the connection goes back.
    pub(crate) async fn leave(&mut self) {
        if self.lent.is_some() {
            self.begin_anew().await;
        }
        self.give_back();
    }

    /// Ends a session that cannot go on: tells the client what it can still be told.
    pub(crate) async fn break_off(&mut self, cut: &CutOff) {
        // Closing it undoes what is open there.
        self.drop_lent(CloseReason::Broken);
        if let (Some(sequence), Some(payload)) = (cut.sequence, cut.failure.err_payload(true)) {
            let told = self.client.finish_with(sequence, &payload);
            let _ = tokio::time::timeout(crate::serve::TIMEOUT_TELL, told).await;
        }
    }

    /// The backend whose connection is held, by name.
    pub(crate) fn backend_name(&self) -> Option<String> {
        let at_home = || self.home.as_ref().map(|home| home.backend.name.clone());
        let held = self
            .lent
            .as_ref()
            .map(|lent| lent.conn.backend.name.clone());
        held.or_else(at_home)
    }

    /// What outlives it when it is relayed.
    pub(crate) fn into_places(self) -> Places {
        Places {
            scripting: self.scripting,
            home: self.home,
            person: self.person,
            place: self.place,
        }
    }

    /// Packets that were heard elsewhere, with ids that follow `sequence`.
    /// Returns the id that follows.
    pub(crate) fn say_renumbered(&mut self, sequence: u8, mut packets: Vec<u8>) -> u8 {
        let mut next = self.client.transport.frame_sequence().unwrap_or(sequence);
        let mut at = 0;
        while let Some(header) = packets.get(at..at + HEADER_BYTES) {
            let length =
                usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            packets[at + HEADER_BYTES - 1] = next;
            next = next.wrapping_add(1);
            at += HEADER_BYTES + length;
        }
        self.say_packets(&packets);
        next
    }
}

/// What ends the wait for a command.
enum Idle {
    Bytes,
    Closed,
}
