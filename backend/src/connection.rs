//! A backend connection that sessions share in turn.

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

/// How long a backend may take to close its side.
const TIMEOUT_FAREWELL: Duration = Duration::from_secs(1);

/// A connection in the pool.
pub type Connection = Box<BackendConn>;

/// A pooled backend connection, idle or leased.
pub struct BackendConn {
    /// The socket, and the bytes that wait to be sent.
    pub leg: Leg,
    /// The backend that it is connected to.
    pub backend: Arc<Backend>,
    /// The connection's id at the backend.
    pub thread_id: u32,
    /// The capabilities that its login agreed on.
    pub capabilities: Capabilities,
    /// The known state of the server's session.
    pub state: ConnectionState,
    /// The backend's greeting: a later login on this connection answers the same scramble.
    pub greeting: Greeting,
    /// The sub-pool that it belongs to.
    pub sub_pool: Rc<SubPool>,
    /// The session variables that the server would have reported to a client at login.
    pub track_settings: Rc<SessionTrackSettings>,
    /// The statements that are prepared here with COM_STMT_PREPARE.
    pub prepared: Prepared<StatementKey>,
    /// The session whose last statement ran here, and which may still ask about it.
    pub owner: Option<Owner>,
    /// Whether it was given an option that no other session may have (COM_SET_OPTION).
    pub is_spoiled: bool,
    /// Whether the server reports each GTID that it writes here (MySQL's `session_track_gtids`).
    pub tells_gtids: bool,
    /// Which changes of the shared state this connection includes.
    pub epochs: Epochs,
    /// Statements to be closed with the next command.
    closing: Vec<BackendStatementId>,
    /// Bytes that were read after the end of a reply.
    inbox: Vec<u8>,
}

/// Up to which change of the shared state a connection equals one that logs in now.
#[derive(Debug, Default)]
pub struct Epochs {
    /// How many changes of privileges there had been when the login began.
    pub trusted_at: Cell<u64>,
    /// How many changes of global variables there had been when the login began.
    pub inherits_at: Cell<u64>,
    /// How often workers had been asked to close kept statements when this connection last closed its kept statements.
    pub kept_since: Cell<u64>,
}

impl BackendConn {
    /// Returns a connection that has logged in. `ahead`: bytes read after the login; `prepared_max`: how many
    /// statements are kept prepared.
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

    /// Whether its frames are compressed. If so, each command has to wait for the reply to the last one.
    pub fn is_compressed(&self) -> bool {
        self.leg.transport.is_compressed()
    }

    /// How many answers its last session may still ask for.
    pub fn pending_answers_count(&self) -> u32 {
        let owner = self.owner.as_ref();
        u32::from(owner.is_some_and(Owner::is_pending))
    }

    /// How the sequence ids of its packets are treated.
    pub fn sequences(&self) -> Sequences {
        match self.is_compressed() {
            true => Sequences::Renumbered,
            false => Sequences::Checked,
        }
    }

    /// Whether the connection can be used: the backend has neither closed it nor sent anything while it was
    /// idle, as far as this worker knows. Bytes that came before the client's command are known by now.
    pub fn is_alive(&self) -> bool {
        let socket = self.leg.transport.socket();
        self.inbox.is_empty()
            && self.leg.is_drained()
            && socket.is_some_and(|socket| socket.is_silent())
    }

    /// Whether privileges or global variables have changed since it logged in. If so, it may serve no session any more.
    #[inline]
    pub fn is_outdated(&self, env: &PoolEnv) -> bool {
        self.has_old_privileges(env) || self.has_old_variables(env)
    }

    /// Whether it has inherited other values than a connection that logs in now would have.
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

    /// Whether it can be leased: it is alive, and it equals a connection that logs in now.
    pub fn is_fit(&self, env: &PoolEnv) -> bool {
        self.is_alive() && !self.is_outdated(env)
    }

    /// Sends commands, as far as the kernel takes them. The rest is sent while the proxy waits for replies.
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

    /// Whether a statement is prepared here and fits a client that has used these parameter types:
    /// MySQL converts parameters to types that other clients have used before.
    pub fn has(&self, key: &StatementKey, types: &TypesSeen) -> bool {
        let is_mysql = matches!(self.state.server(), sql::Server::MySql(_));
        self.prepared.id(key).is_some() && (!is_mysql || self.prepared.has_seen_only(key, types))
    }

    /// Closes a statement that no session needs here any more, with the next command.
    pub fn close_statement(&mut self, id: BackendStatementId) {
        self.closing.push(id);
    }

    /// Forgets the prepared statements and the pending answers, because the server has dropped them.
    pub fn forget_all(&mut self) {
        self.prepared.clear();
        self.closing.clear();
        self.owner = None;
        self.tells_gtids = false;
    }

    /// Sends COM_QUIT and closes the connection, within a time limit.
    pub async fn send_quit(&mut self) {
        self.leg.transport.begin_command();
        self.leg.append(&own_command(Command::QUIT, b""));
        let farewell = async {
            self.leg.drained().await?;
            self.leg.transport.close().await
        };
        // A time-out changes nothing: the connection is given up anyway.
        let _ = tokio::time::timeout(TIMEOUT_FAREWELL, farewell).await;
    }

    /// Reads the next bytes of a reply. Ready with `Ok` when bytes were read.
    pub fn poll_feed(
        &mut self,
        env: &PoolEnv,
        reply: &mut Reply,
        context: &mut Context<'_>,
        sink: impl FnMut(Piece<'_>),
    ) -> Poll<Result<(), ConnectionError>> {
        // If the backend does not take the rest of the command yet, its answer must still be read.
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
            // No reply begins with this sequence id: the server sent it before the command.
            return Poll::Ready(Err(ConnectionError::Farewell(number)));
        }
        let taken = reply.feed(bytes, sink)?;
        self.inbox.extend_from_slice(&bytes[taken..]);
        Poll::Ready(Ok(()))
    }
}

/// Returns the error with which a server ends a connection, if that comes in place of a reply: KILL, a
/// shutdown, `wait_timeout`. The error says nothing about the statement, which was not executed.
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
