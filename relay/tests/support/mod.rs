//! A relayed session after its login, with a script on each side.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use auth::{Accounts, Privacy};
use config::{Config, ListenerConfig};
use dialogues::backends::backend;
use dialogues::environment::{Environment, client_address};
use dialogues::memory_network::{End, ROOM};
use dialogues::peer::{CAPABILITIES, Peer, SCRAMBLE, greeting};
use link::dialogue::Legs;
use link::failure::Failure;
use link::packets::PacketStream;
use link::session_end::SessionEnd;
use link::transport::Transport;
use login::connect::Greeted;
use login::relayed_login::Agreement;
use net::Socket;
use net::clock::Clock;
use pilotfish_relay::relay_env::{RelayEnv, SessionContext};
use pilotfish_relay::relayed_session::RelayedSession;
use pilotfish_relay::worker_joins::WorkerJoins;
use registry::session_control::SessionControl;
use registry::session_info::{SessionInfo, SessionKind};
use registry::worker_sessions::{Registered, WorkerSessions};
use route::{Backend, Dice};
use stats::journal::Journal;
use stats::recorder::StatementRecorder;
use stats::statement_stats::StatementStats;
use stats::traces::Traces;
use wire::column::{ColumnDefinition, ColumnType};
use wire::result::put_text_result;
use wire::{Greeting, StatusFlags};

/// The thread id of each session's connection on the backend.
pub const THREAD_ID: u32 = 17;

/// The environment of the sessions.
pub struct World {
    pub environment: Environment,
    pub relay: Rc<RelayEnv>,
}

/// A session that begins, the ends for its two scripts, and its registration.
pub struct Stage {
    pub session: Box<RelayedSession>,
    pub app: Peer,
    pub db: Peer,
    pub registered: Registered,
}

impl World {
    pub fn plain() -> Self {
        Self::new(Config::default(), Accounts::default())
    }

    pub fn new(config: Config, accounts: Accounts) -> Self {
        let environment = Environment::new(config, vec![backend(1)], accounts);
        let (pool, login) = (&environment.pool, &environment.login);
        let (journal, _) = Journal::new();
        let (traces, _) = Traces::new();
        let keys = pool.system.entropy.hash_keys().unwrap();
        let stats = StatementStats::new(&environment.current().config, keys);
        let clock = Clock::stopped();
        let relay = Rc::new(RelayEnv {
            pool: Rc::clone(pool),
            login: Rc::clone(login),
            clock: clock.clone(),
            sessions: Rc::new(WorkerSessions::new(Arc::clone(&login.session_registry))),
            origins: Arc::default(),
            recorder: Rc::new(StatementRecorder {
                stats: Rc::new(stats),
                plans: Arc::default(),
                journal,
                traces,
                dice: Rc::new(RefCell::new(Dice::new(7))),
                clock,
            }),
            times: Rc::new(backend_times(&environment)),
            joins: Rc::new(WorkerJoins::new(None, Arc::default())),
        });
        Self { environment, relay }
    }

    /// The backend of all sessions.
    pub fn backend(&self) -> Arc<Backend> {
        let topology = self.environment.pool.topology.borrow();
        Arc::clone(&topology.backends[0])
    }

    /// The registration of a new session.
    pub fn register(&self) -> Registered {
        let registered = self.relay.sessions.register();
        registered.control.introduce(SessionInfo {
            id: 5,
            client: client_address(),
            listener: Arc::new(ListenerConfig::default()),
            began: self.environment.pool.now(),
            user: "app".into(),
            schema: "shop".into(),
            kind: SessionKind::Relayed,
            thread_id: THREAD_ID,
            timeout_idle_transaction: None,
            account: None,
        });
        registered
    }

    /// A session after its login, with `room` bytes of buffer towards the client.
    pub fn stage_with(&self, greeting: Greeting, room: usize) -> Stage {
        let (near_app, app) = self.environment.client_ends(room);
        let (near_db, db) = End::pair(client_address(), client_address(), ROOM);
        let registered = self.register();
        let session = begin(self, &registered.control, near_app, near_db, greeting);
        Stage {
            session: Box::new(session),
            app: Peer::new(app),
            db: Peer::new(db),
            registered,
        }
    }

    pub fn stage(&self) -> Stage {
        self.stage_with(greeting(THREAD_ID), ROOM)
    }
}

fn backend_times(environment: &Environment) -> backend::times::Times {
    backend::times::Times::new(Rc::clone(&environment.pool), Arc::default())
}

fn begin(
    world: &World,
    control: &Rc<SessionControl>,
    client: End,
    backend: End,
    greeting: Greeting,
) -> RelayedSession {
    let settings = world.environment.current();
    let context = SessionContext {
        env: &world.relay,
        control,
        settings: &settings,
    };
    let stream = |end: End| PacketStream::new(Transport::from(Socket::from(end)), 0);
    let permit = world.relay.login.shared.enter(usize::MAX).unwrap();
    let greeted = greeted(world, stream(backend), greeting);
    RelayedSession::begin(context, stream(client), greeted, agreement(), permit).unwrap()
}

/// A backend that has greeted and admitted a client.
pub fn greeted(world: &World, stream: PacketStream, greeting: Greeting) -> Greeted {
    let backend = world.backend();
    Greeted {
        slot: backend.begin().unwrap(),
        backend,
        stream,
        greeting,
        payload: Vec::new(),
    }
}

pub fn agreement() -> Agreement {
    let open = Privacy::Open;
    Agreement {
        capabilities: CAPABILITIES,
        status: StatusFlags::AUTOCOMMIT,
        client_compression: None,
        backend_compression: None,
        legs: Legs {
            client: open,
            backend: open,
        },
        scramble: SCRAMBLE.to_vec(),
        registration: None,
    }
}

/// Runs a session and returns how it ended. Both of its connections are closed then.
pub async fn run(session: Box<RelayedSession>, world: &World) -> Result<SessionEnd, Failure> {
    session.run(&world.relay).await
}

/// A result of one column and this number of rows, in packets from sequence id 1 on.
pub fn result(rows: usize, value: &[u8]) -> Vec<u8> {
    let mut packets = Vec::new();
    let column = ColumnDefinition::new(b"it", ColumnType::VAR_STRING, 45, 64);
    let rows = (0..rows).map(|_| [Some(value)]);
    let status = StatusFlags::AUTOCOMMIT;
    put_text_result(&mut packets, 1, CAPABILITIES, &[column], rows, status, 0);
    packets
}

/// The payload of an OK within a transaction.
pub const OK_IN_TRANSACTION: &[u8] = &[0, 0, 0, 3, 0, 0, 0];

pub const QUIT: &[u8] = &[1];
