//! A shared lane: one backend connection with statements of many sessions in flight. All statements that become ready
//! in one turn leave in one write. The lane sends each reply to its client's socket.

use std::cell::{Cell, RefCell, RefMut};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use net::clock;
use pool::{Binding, CloseReason, Ended, Lane, LaneRequestId, Lookup};
use route::Role;
use session::state::{Needs, Restoration, SessionState, restoration};
use session::{Amendment, Piece, Progress, Reply, Withholds};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{MissedTickBehavior, interval_at};
use wire::execute::Execute;
use wire::write::put_packets;
use wire::{Capabilities, Command};

use crate::lane_command::LaneCommand;
use crate::lane_env::LaneEnv;
use crate::lane_request::{LanePlan, LaneRequest, LaneRequestEnd};
use backend::connection::{BackendConn, farewell};
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::Done;
use backend::kill_thread::Running;
use backend::kill_thread::kill_on;
use backend::pool_env::PoolEnv;
use backend::prepared_statement::StatementKey;
use backend::sub_pool::SubPoolId;
use backend::worker_pool::HeldConnection;
use session::track_settings::SessionTrackSettings;

/// While statements are in flight, the lane checks at this interval whether the first one keeps the others waiting.
const LOOK: Duration = Duration::from_millis(10);

/// If a client has more unsent bytes of its reply than this, the lane reads no further.
const UNSENT_BYTES_MAX: usize = 256 << 10;

/// One shared lane.
pub struct SharedLane {
    /// The sub-pool that the lane's connection belongs to.
    pub sub_pool: SubPoolId,
    pub(crate) lease: RefCell<Option<HeldConnection>>,
    pub(crate) queue: RefCell<Lane<Rc<LaneRequest>, Following>>,
    /// Statements that leave in the next write.
    pub(crate) ready: RefCell<Vec<u8>>,
    /// A buffer for encoding an execution.
    payload: RefCell<Vec<u8>>,
    /// Statements that are being prepared.
    pub(crate) preparing: RefCell<Vec<StatementKey>>,
    /// When the last replies came, or the first statement left.
    last_reply_at: Cell<Duration>,
    /// The connection must not be used after this.
    is_spoiled: Cell<bool>,
    /// The backend was disabled.
    is_disabled: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// The reply and the command of a request. The queue keeps them if the session withdraws the request.
pub(crate) struct Following {
    pub reply: Reply,
    pub lane_command: LaneCommand,
}

/// The statement of a request.
pub enum Load<'a> {
    /// COM_QUERY, as it came.
    Query(&'a [u8]),
    /// COM_STMT_EXECUTE of a statement that is prepared on the lane. Types are always sent along, because before its
    /// reply it is not known whether the server has read earlier ones.
    Execute {
        /// The statement.
        key: &'a StatementKey,
        /// The execution, as the client has sent it.
        execute: &'a Execute<'a>,
        /// The types of its parameters.
        types: Option<Rc<[u8]>>,
        /// The capabilities of the session.
        capabilities: Capabilities,
    },
}

/// A statement that is submitted to a lane.
pub struct Submission<'a> {
    /// The place of the statement.
    pub lane_request: Rc<LaneRequest>,
    /// The packets or the execution to send.
    pub load: Load<'a>,
    /// The sequence id that its reply begins with.
    pub sequence: u8,
    /// How long statements with its digest usually take.
    pub stats: Duration,
}

impl SharedLane {
    /// A lane over this connection, with buffers for packets to send and for executions.
    pub fn new(sub_pool: SubPoolId, lease: HeldConnection, [ready, payload]: [Vec<u8>; 2]) -> Self {
        Self {
            sub_pool,
            lease: RefCell::new(Some(lease)),
            queue: RefCell::default(),
            ready: RefCell::new(ready),
            payload: RefCell::new(payload),
            preparing: RefCell::default(),
            last_reply_at: Cell::default(),
            is_spoiled: Cell::default(),
            is_disabled: Cell::default(),
            waker: RefCell::default(),
        }
    }

    /// The number of statements in flight; `None` if the lane takes no more.
    #[inline]
    pub fn depth(&self) -> Option<usize> {
        let queue = self.queue.borrow();
        queue.is_open().then(|| queue.depth())
    }

    /// Whether the lane's connection fits a session. A connection with old privileges does not.
    #[inline]
    pub fn is_like(&self, env: &PoolEnv, state: &SessionState) -> bool {
        let lease = self.lease.borrow();
        lease
            .as_ref()
            .is_some_and(|lease| is_like(&lease.conn, state) && !lease.conn.is_outdated(env))
    }

    /// The session tracking settings after a login on this connection.
    #[inline]
    pub fn track_settings(&self) -> Option<Rc<SessionTrackSettings>> {
        let lease = self.lease.borrow();
        lease
            .as_ref()
            .map(|lease| Rc::clone(&lease.conn.track_settings))
    }

    /// Takes a statement, which leaves together with all others that are ready. `None`: the lane takes no more
    /// statements, or has not prepared this one.
    #[inline]
    pub fn submit(&self, submission: Submission<'_>) -> Option<LaneRequestId> {
        let mut lease = self.lease.borrow_mut();
        let conn = &mut lease.as_mut()?.conn;
        let mut queue = self.queue.borrow_mut();
        if !queue.is_open() {
            return None;
        }
        let command = match submission.load {
            Load::Query(_) => Command::QUERY,
            Load::Execute { .. } => Command::STMT_EXECUTE,
        };
        let (capabilities, sequences) = (conn.capabilities, conn.sequences());
        let reply = Reply::to(command, capabilities, sequences, submission.sequence)?
            .amended(Amendment::of_shared(capabilities))
            .withholding(match conn.backend.role {
                Some(Role::Replica) => Withholds::NoWrites,
                _ => Withholds::Nothing,
            });
        let lane_command = self.take_on(conn, submission.load)?;
        let follower = Following {
            reply,
            lane_command,
        };
        let request_id = queue.submit(submission.lane_request, follower, submission.stats);
        request_id.ok()
    }

    /// Makes a statement ready to leave. `None`: it is not prepared here.
    fn take_on(&self, conn: &mut BackendConn, load: Load<'_>) -> Option<LaneCommand> {
        let (key, execute, types, capabilities) = match load {
            Load::Query(packets) => {
                self.leave_soon(packets);
                return Some(LaneCommand::Query);
            }
            Load::Execute {
                key,
                execute,
                types,
                capabilities,
            } => (key, execute, types, capabilities),
        };
        let Lookup::Prepared(id) = conn.prepared.begin(key) else {
            return None;
        };
        if let Some(types) = &types {
            let (Binding::Seen | Binding::Send) = conn.prepared.bind(key, types);
        }
        let mut payload = self.payload.borrow_mut();
        payload.clear();
        Execute {
            statement_id: id.0,
            types: types.as_deref(),
            ..*execute
        }
        .encode(capabilities, &mut payload);
        put_packets(&mut self.about_to_leave(), 0, &payload);
        Some(LaneCommand::Execute(key.clone()))
    }

    /// Adds packets to those that leave in the next write.
    pub fn leave_soon(&self, packets: &[u8]) {
        self.about_to_leave().extend_from_slice(packets);
    }

    /// The buffer for packets that leave in the next write. Wakes the lane if the buffer is empty.
    fn about_to_leave(&self) -> RefMut<'_, Vec<u8>> {
        let ready = self.ready.borrow_mut();
        if ready.is_empty()
            && let Some(waker) = &*self.waker.borrow()
        {
            waker.wake_by_ref();
        }
        ready
    }

    /// A session withdraws its request. The rest of its reply is discarded. True if the server runs the
    /// statement now: then a kill would hit no other session's statement.
    pub fn leave(&self, request_id: LaneRequestId) -> bool {
        let left = self.queue.borrow_mut().leave(request_id);
        left.is_some_and(|left| left.is_head)
    }

    /// Sends all requests but the first elsewhere, and has the connection closed after the first. From now on what
    /// happens to the connection concerns no other session. Returns where to kill the statement.
    pub fn isolate(&self) -> Option<Running> {
        self.is_spoiled.set(true);
        self.clear();
        let lease = self.lease.borrow();
        let conn = &lease.as_ref()?.conn;
        Some(Running {
            backend: std::sync::Arc::clone(&conn.backend),
            thread_id: conn.thread_id,
        })
    }

    /// Ends the lane at once if its backend is one of these, which are disabled.
    pub fn ends_at(&self, disabled: &[route::BackendId]) {
        let lease = self.lease.try_borrow();
        let is_there = |lease: &HeldConnection| disabled.contains(&lease.conn.backend.id);
        if lease.is_ok_and(|lease| lease.as_ref().is_some_and(is_there)) {
            self.is_disabled.set(true);
            if let Some(waker) = &*self.waker.borrow() {
                waker.wake_by_ref();
            }
        }
    }

    /// Sends all requests behind the first elsewhere.
    fn clear(&self) {
        for lane_request in self.queue.borrow_mut().clear() {
            lane_request.end(LaneRequestEnd::Elsewhere);
        }
    }

    /// Runs the lane until no request is left.
    pub(crate) async fn run(&self, env: &LaneEnv) -> Result<(), ConnectionError> {
        let mut looks = interval_at(clock::now() + LOOK, LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        poll_fn(|context| {
            while looks.poll_tick(context).is_ready() {
                self.check_head(env);
            }
            self.poll(env, context)
        })
        .await
    }

    /// Gives back the connection of a lane that has ended.
    pub(crate) fn bring_back(&self, env: &LaneEnv, outcome: Result<(), ConnectionError>) {
        env.pool.env.store.return_bytes(self.ready.take());
        env.pool.env.store.return_bytes(self.payload.take());
        let Some(lease) = self.lease.take() else {
            return;
        };
        match outcome {
            Ok(()) if self.is_spoiled.get() => {
                env.pool.forget(lease, CloseReason::Ended);
            }
            Ok(()) => env.pool.give_back(lease),
            Err(broken) => {
                env.report(&lease.conn, &broken);
                env.pool.forget(lease, CloseReason::Broken);
                self.strand(&broken);
            }
        }
    }

    /// Checks the head. If it takes too long, no session submits behind it and none waits, and a head that no session wants is killed.
    fn check_head(&self, env: &LaneEnv) {
        let now = env.pool.env.now().0;
        if !self.queue.borrow().takes_too_long(now) {
            return;
        }
        self.queue.borrow_mut().shut();
        if self.queue.borrow().is_overdue(now) {
            tracing::debug!("a statement keeps its lane for long; those behind it go elsewhere");
            env.counts.note_stalled();
            self.clear();
        }
        if self.queue.borrow_mut().abandons_head(now) {
            tracing::debug!("a statement runs on a lane for nobody; it is killed");
            self.isolate();
            if let Some(lease) = &*self.lease.borrow() {
                kill_on(&env.pool, &lease.conn);
            }
        }
    }

    /// Ends all requests after the connection broke. A request whose client has no part of its reply runs elsewhere.
    fn strand(&self, broken: &ConnectionError) {
        let mut queue = self.queue.borrow_mut();
        let sequence = queue.head().and_then(|(_, it)| it.reply.next_sequence());
        let stranded = queue.break_off();
        drop(queue);
        for lane_request in stranded
            .partly_answered
            .into_iter()
            .chain(stranded.unanswered)
        {
            lane_request.end(match lane_request.has_some() {
                true => LaneRequestEnd::Broken(broken.to_string(), sequence),
                false => LaneRequestEnd::Elsewhere,
            });
        }
    }

    fn poll(&self, env: &LaneEnv, context: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        {
            let mut waker = self.waker.borrow_mut();
            if !waker
                .as_ref()
                .is_some_and(|it| it.will_wake(context.waker()))
            {
                *waker = Some(context.waker().clone());
            }
        }
        let mut lease = self.lease.borrow_mut();
        let Some(HeldConnection { conn, .. }) = &mut *lease else {
            return Poll::Ready(Ok(()));
        };
        if self.is_disabled.get() {
            return Poll::Ready(Err(ConnectionError::Disabled));
        }
        self.depart(env, conn, context);
        while self.queue.borrow().depth() > 0 {
            ready!(self.poll_client(context));
            ready!(self.poll_read(env, conn, context))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Sends all statements that are ready.
    fn depart(&self, env: &LaneEnv, conn: &mut BackendConn, context: &mut Context<'_>) {
        let mut ready = self.ready.borrow_mut();
        if ready.is_empty() {
            return;
        }
        let now = env.pool.env.now().0;
        if self.queue.borrow_mut().departs(now) {
            self.last_reply_at.set(now);
        }
        conn.send(&ready, context);
        ready.clear();
    }

    /// Waits until the first request's client has taken enough of its reply. Before, no more is read for it.
    fn poll_client(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut queue = self.queue.borrow_mut();
        match queue.head() {
            Some((Some(lane_request), _)) => lane_request.poll_room(UNSENT_BYTES_MAX, context),
            _ => Poll::Ready(()),
        }
    }

    /// Reads once from the backend, which may bring many replies.
    fn poll_read(
        &self,
        env: &LaneEnv,
        conn: &mut BackendConn,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), ConnectionError>> {
        // A backend that does not take all bytes yet must still be read from.
        let _ = conn.leg.poll_drain_or_break(context);
        let mut scratch = env.pool.env.scratch.borrow_mut();
        let mut buffer = ReadBuf::new(&mut scratch);
        ready!(Pin::new(&mut conn.leg.transport).poll_read(context, &mut buffer))?;
        let mut bytes = buffer.filled_mut();
        if bytes.is_empty() {
            return Poll::Ready(Err(ConnectionError::Closed));
        }
        let now = env.pool.env.now().0;
        let depth = self.queue.borrow().depth();
        let took = now.saturating_sub(self.last_reply_at.replace(now));
        let mut replies = 0;
        while !bytes.is_empty() {
            let taken = self.feed(conn, bytes, now, context)?;
            bytes = &mut bytes[taken..];
            let each = || took / u32::try_from(depth.max(1)).unwrap_or(1);
            replies += self.pass_ended(env, conn, now, each)?;
        }
        env.learn_depth(self.sub_pool, depth, replies, took);
        Poll::Ready(Ok(()))
    }

    /// Feeds the reply at the head of the queue. Returns how many bytes belonged to it.
    fn feed(
        &self,
        conn: &mut BackendConn,
        bytes: &mut [u8],
        now: Duration,
        context: &mut Context<'_>,
    ) -> Result<usize, ConnectionError> {
        let mut queue = self.queue.borrow_mut();
        // If a statement takes very long, an ERR that ends the connection is meant for that statement.
        let farewell = farewell(bytes).filter(|_| !queue.takes_too_long(now));
        queue.begins();
        let Some((
            lane_request,
            Following {
                reply,
                lane_command,
            },
        )) = queue.head()
        else {
            return Err(ConnectionError::Unexpected("it answers what nobody asked"));
        };
        if !reply.has_started()
            && let Some(number) = farewell
        {
            return Err(ConnectionError::Farewell(number));
        }
        let capabilities = conn.capabilities;
        let mut has_changed = false;
        let mut noted = Ok(());
        let taken = reply.feed(bytes, |piece| match (piece, lane_request) {
            (Piece::Pass(bytes), Some(lane_request)) => lane_request.pass(bytes, context),
            (Piece::Pass(bytes), None) if noted.is_ok() => noted = lane_command.note(bytes),
            (Piece::Pass(_), None) => {}
            (Piece::Changes(packet, _), lane_request) => {
                has_changed |= match lane_request {
                    Some(lane_request) => lane_request.pass_changes(packet, capabilities, context),
                    None => crate::lane_request::tells_changes(packet, capabilities),
                };
            }
        })?;
        noted?;
        if matches!(reply.progress(), Progress::File { .. }) {
            return Err(ConnectionError::Unexpected("it wants a file"));
        }
        if reply.withheld().is_some() {
            // The refused statement may have left state on the connection.
            self.is_spoiled.set(true);
            drop(queue);
            self.clear();
        } else if has_changed || reply.tally().has_unsent_changes {
            // Statements that were sent after this one may run in another state than their sessions'.
            conn.state.forget();
            drop(queue);
            self.clear();
        }
        Ok(taken)
    }

    /// Hands over the reply at the head of the queue, if it has ended. Returns how many replies have ended.
    fn pass_ended(
        &self,
        env: &LaneEnv,
        conn: &mut BackendConn,
        now: Duration,
        took: impl Fn() -> Duration,
    ) -> Result<usize, ConnectionError> {
        let mut queue = self.queue.borrow_mut();
        let Some((_, Following { reply, .. })) = queue.head() else {
            return Ok(0);
        };
        let Progress::Over(outcome) = reply.progress() else {
            return Ok(0);
        };
        let is_refused = reply.withheld().is_some();
        let done = Done {
            outcome,
            tally: *reply.tally(),
            next_sequence: reply.next_sequence().unwrap_or_default(),
            fingerprint: None,
            message: reply.take_message(),
        };
        let Some(ended) = queue.ends(now) else {
            return Ok(0);
        };
        drop(queue);
        let Ended {
            request,
            follower,
            sent_at,
        } = ended;
        self.run_lane_command(env, conn, follower.lane_command, &done)?;
        if let Some(lane_request) = request {
            if is_refused {
                lane_request.end(LaneRequestEnd::Refused);
                return Ok(1);
            }
            let lane_plan = LanePlan {
                took: took(),
                bytes: lane_request.bytes(),
                left: sent_at,
                ended: now,
            };
            lane_request.end(LaneRequestEnd::Over(done, lane_plan));
        }
        Ok(1)
    }
}

/// Whether a connection has the state that a session needs for a statement on a lane.
#[inline]
pub fn is_like(conn: &BackendConn, state: &SessionState) -> bool {
    restoration(state, &conn.state, &Needs::NONE) == Restoration::Nothing
}
