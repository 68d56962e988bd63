//! A backend connection that sessions take turns on.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pool::{BackendStatementId, Prepared, TypesSeen};
use route::Backend;
use session::state::ConnectionState;
use session::{Piece, Reply, Sequences};
use tokio::io::{AsyncRead, ReadBuf};
use wire::reply::ERR;
use wire::write::put_packets;
use wire::{Capabilities, Command, ErrorCode, Greeting, HEADER_BYTES};

use crate::connection_error::ConnectionError;
use crate::own_reply::own_command;
use crate::pending_answers::Owner;
use crate::pool_env::PoolEnv;
use crate::prepared_statement::StatementKey;
use crate::sub_pool::SubPool;
use link::leg::Leg;
use session::track_settings::SessionTrackSettings;

/// How long a backend has to close its side.
const TIMEOUT_FAREWELL: Duration = Duration::from_secs(1);

/// A connection in the pool.
pub type Connection = Box<BackendConn>;

/// A connection, whoever has it.
pub struct BackendConn {
    /// Its socket, and what waits to be sent.
    pub leg: Leg,
    /// Where it leads.
    pub backend: Arc<Backend>,
    /// Its id there.
    pub thread_id: u32,
    /// What it was logged in with.
    pub capabilities: Capabilities,
    /// What is known of the session that the server has there.
    pub state: ConnectionState,
    /// How it greeted: a later login on it answers the same scramble.
    pub greeting: Greeting,
    /// Whose it is.
    pub sub_pool: Rc<SubPool>,
    /// What its login would have told a client.
    pub track_settings: Rc<SessionTrackSettings>,
    /// What is prepared there, by COM_STMT_PREPARE.
    pub prepared: Prepared<StatementKey>,
    /// Whose last statement ran here, and who may still ask about it.
    pub owner: Option<Owner>,
    /// It has been told what no other session may have (COM_SET_OPTION).
    pub is_spoiled: bool,
    /// It was told to tell of every GTID that it writes (MySQL's `session_track_gtids`).
    pub tells_gtids: bool,
    /// Which changes it has.
    pub epochs: Epochs,
    /// Statements to be closed with the next command.
    closing: Vec<BackendStatementId>,
    /// Bytes read behind the end of a reply.
    inbox: Vec<u8>,
}

/// Up to which change of what all workers share a connection is as one that logs in now.
#[derive(Debug, Default)]
pub struct Epochs {
    /// How many changes of privileges there had been when its login began.
    pub trusted_at: Cell<u64>,
    /// The same of global variables.
    pub inherits_at: Cell<u64>,
    /// How often kept statements had been asked to be closed when its own were closed.
    pub kept_since: Cell<u64>,
}

impl BackendConn {
    /// One that has logged in. `ahead`: bytes that were read behind the login; `prepared_max`: how many statements are kept prepared.
    pub fn new(
        leg: Leg,
        ahead: Vec<u8>,
        sub_pool: Rc<SubPool>,
        capabilities: Capabilities,
        greeting: Greeting,
        prepared_max: usize,
    ) -> Self {
        Self {
            leg,
            backend: Arc::clone(&sub_pool.backend),
            thread_id: greeting.thread_id,
            sub_pool,
            track_settings: Rc::default(),
            capabilities,
            state: ConnectionState::unknown(),
            greeting,
            prepared: Prepared::new(prepared_max),
            owner: None,
            is_spoiled: false,
            tells_gtids: false,
            epochs: Epochs::default(),
            closing: Vec::new(),
            inbox: ahead,
        }
    }

    /// Whether its frames are compressed: each command then waits for the reply to the last.
    pub fn is_compressed(&self) -> bool {
        self.leg.transport.is_compressed()
    }

    /// How many answers its last session may still ask for.
    pub fn pending_answers_count(&self) -> u32 {
        let owner = self.owner.as_ref();
        u32::from(owner.is_some_and(Owner::is_pending))
    }

    /// How the ids of its packets are taken.
    pub fn sequences(&self) -> Sequences {
        match self.is_compressed() {
            true => Sequences::Renumbered,
            false => Sequences::Checked,
        }
    }

    /// Whether it can be used: the other side has neither closed nor spoken while it lay idle, as far as
    /// this worker has heard. What came before the client's command has been heard of.
    pub fn is_alive(&self) -> bool {
        let socket = self.leg.transport.socket();
        self.inbox.is_empty()
            && self.leg.is_drained()
            && socket.is_some_and(|socket| socket.is_silent())
    }

    /// Whether its privileges or the global variables have changed since it logged in: it is not for
    /// sessions any more.
    #[inline]
    pub fn is_outdated(&self, env: &PoolEnv) -> bool {
        self.has_old_privileges(env) || self.has_old_variables(env)
    }

    /// Whether it has inherited other values than a connection that logs in now.
    #[inline]
    fn has_old_variables(&self, env: &PoolEnv) -> bool {
        let globals = &env.shared.globals;
        let (then, now) = (self.epochs.inherits_at.get(), globals.now());
        if then == now {
            return false;
        }
        let is_old = globals.have_changed(self.backend.id, then);
        if !is_old {
            self.epochs.inherits_at.set(now);
        }
        is_old
    }

    #[inline]
    fn has_old_privileges(&self, env: &PoolEnv) -> bool {
        let privileges = &env.shared.privileges;
        let now = privileges.now();
        if self.epochs.trusted_at.get() == now {
            return false;
        }
        let is_old =
            privileges.have_changed(&self.sub_pool.login.user, self.epochs.trusted_at.get());
        if !is_old {
            self.epochs.trusted_at.set(now);
        }
        is_old
    }

    /// Whether it can be lent: it lives, and is as one that logs in now.
    pub fn is_fit(&self, env: &PoolEnv) -> bool {
        self.is_alive() && !self.is_outdated(env)
    }

    /// Sends commands, as far as the kernel takes them; the rest leaves while replies are awaited.
    pub fn send(&mut self, packets: &[u8], context: &mut Context<'_>) {
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
    pub fn has(&self, key: &StatementKey, types: &TypesSeen) -> bool {
        let is_mysql = matches!(self.state.server(), sql::Server::MySql(_));
        self.prepared.id(key).is_some() && (!is_mysql || self.prepared.has_seen_only(key, types))
    }

    /// A statement that nobody needs here any more.
    pub fn close_statement(&mut self, id: BackendStatementId) {
        self.closing.push(id);
    }

    /// What was prepared here is gone, and nobody has anything to ask any more.
    pub fn forget_all(&mut self) {
        self.prepared.clear();
        self.closing.clear();
        self.owner = None;
        self.tells_gtids = false;
    }

    /// Says COM_QUIT and closes, within a bound of time.
    pub async fn send_quit(&mut self) {
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
    pub fn poll_feed(
        &mut self,
        env: &PoolEnv,
        reply: &mut Reply,
        context: &mut Context<'_>,
        sink: impl FnMut(Piece<'_>),
    ) -> Poll<Result<(), ConnectionError>> {
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
        let mut scratch = env.scratch.borrow_mut();
        let mut buffer = ReadBuf::new(&mut scratch);
        ready!(Pin::new(&mut self.leg.transport).poll_read(context, &mut buffer))?;
        let bytes = buffer.filled_mut();
        if bytes.is_empty() {
            return Poll::Ready(Err(ConnectionError::Closed));
        }
        if !reply.has_started()
            && let Some(number) = farewell(bytes)
            && bytes.get(3) == Some(&0)
            && !self.leg.transport.is_compressed()
        {
            // No reply begins with this sequence id: it was said before anything was asked.
            return Poll::Ready(Err(ConnectionError::Farewell(number)));
        }
        let taken = reply.feed(bytes, sink)?;
        self.inbox.extend_from_slice(&bytes[taken..]);
        Poll::Ready(Ok(()))
    }
}

/// The error by which a server ends a connection, if that is what comes instead of a reply: KILL, a
/// shutdown, `wait_timeout`. It says nothing about the statement, which was not executed.
pub fn farewell(bytes: &[u8]) -> Option<u16> {
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
