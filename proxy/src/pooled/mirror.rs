//! Statements that a rule sends to another cluster as well: one after the other, by a session of their
//! own beside the client's, whose replies nobody hears. The client's session never waits for it; what
//! is too much is dropped, and counted.

use std::cell::Cell;
use std::rc::Rc;

use pool::ClientStatements;
use route::ClusterId;
use route::rules::RuleIndex;
use session::state::{Changes, SessionState, Values};
use sql::{Facts, Kind};
use tokio::sync::mpsc;
use wire::execute::Execute;
use wire::query::Query;
use wire::{Command, StatusFlags};

use super::aboard::Riding;
use super::aftermath::Aftermath;
use super::begin::{STATEMENTS_MAX, rules};
use super::course::Course;
use super::incoming::{Inbox, Incoming};
use super::pump::Delivery;
use super::session::{After, CutOff, Pooled};
use super::statement::StatementKey;
use super::timing::Timing;
use crate::leg::Leg;
use crate::worker::Registered;

/// Statements of one session that wait to be mirrored.
const STATEMENTS_WAITING_MAX: usize = 1000;

/// Bytes of theirs.
const BYTES_WAITING_MAX: usize = 16 << 20;

/// What a session is to mirrors.
pub(crate) enum Reflection {
    /// It has none.
    None,
    /// It has one.
    Into(Mirror),
    /// It is one: no rule is asked about what it runs.
    Itself,
}

/// The way to the session beside.
pub(crate) struct Mirror {
    cluster: ClusterId,
    queue: mpsc::Sender<Item>,
    bytes: Rc<Cell<usize>>,
}

/// What a rule wants mirrored.
#[derive(Clone, Copy)]
pub(crate) struct Reflected {
    pub cluster: ClusterId,
    pub rule: RuleIndex,
}

/// One statement on its way.
struct Item {
    work: Work,
    /// The client's schema and variables at that time.
    values: Rc<Values>,
    bytes: usize,
}

enum Work {
    /// COM_QUERY, as packets.
    Query(Vec<u8>),
    /// COM_STMT_EXECUTE: the statement, its parameters, and what follows the id.
    Execute(StatementKey, u16, Vec<u8>),
}

impl Pooled {
    /// Sends a COM_QUERY's text to the mirror as well.
    pub(crate) fn mirror_query(&mut self, reflected: Reflected, facts: &Facts, text: &[u8]) {
        // Its file is the client's to send, once.
        if matches!(facts.kind, Kind::Load) {
            return self.not_mirrored(reflected);
        }
        let mut payload = Vec::new();
        let attributes = b"".as_slice();
        Query { attributes, text }.encode(self.capabilities, &mut payload);
        let mut packets = Vec::new();
        wire::write::put_packets(&mut packets, 0, &payload);
        let bytes = packets.len();
        self.reflect(reflected, Work::Query(packets), bytes);
    }

    /// Sends an execution to the mirror as well.
    pub(crate) fn mirror_execute(
        &mut self,
        key: &StatementKey,
        execute: &Execute<'_>,
        (count, types): (u16, Option<&[u8]>),
        long_data: &pool::LongData,
    ) {
        let Some(reflected) = self.order.as_ref().and_then(|it| it.mirror) else {
            return;
        };
        if !long_data.is_empty() {
            return self.not_mirrored(reflected);
        }
        let mut payload = Vec::new();
        Execute {
            statement_id: 0,
            flags: execute.flags & Execute::PARAMETER_COUNT_AVAILABLE,
            types,
            ..*execute
        }
        .encode(self.capabilities, &mut payload);
        let bytes = payload.len();
        let key = StatementKey {
            cluster: reflected.cluster,
            cursor: None,
            ..key.clone()
        };
        self.reflect(reflected, Work::Execute(key, count, payload), bytes);
    }

    fn reflect(&mut self, reflected: Reflected, work: Work, bytes: usize) {
        let is_there = match &self.reflection {
            Reflection::Into(mirror) => {
                mirror.cluster == reflected.cluster && !mirror.queue.is_closed()
            }
            Reflection::None => false,
            Reflection::Itself => return,
        };
        if !is_there {
            match self.new_mirror(reflected.cluster) {
                Some(mirror) => self.reflection = Reflection::Into(mirror),
                None => return self.not_mirrored(reflected),
            }
        }
        let Reflection::Into(mirror) = &self.reflection else {
            return;
        };
        let item = Item {
            work,
            values: Rc::clone(self.state.values()),
            bytes,
        };
        let has_room = mirror.bytes.get() + bytes <= BYTES_WAITING_MAX;
        if has_room && mirror.queue.try_send(item).is_ok() {
            mirror.bytes.set(mirror.bytes.get() + bytes);
        } else {
            self.not_mirrored(reflected);
        }
    }

    fn not_mirrored(&self, reflected: Reflected) {
        let book = self.worker.book();
        book.counters.mirror_dropped(reflected.rule);
    }

    /// A session like this one on another cluster; none when there are too many sessions.
    fn new_mirror(&self, cluster: ClusterId) -> Option<Mirror> {
        let worker = &self.worker;
        let sessions_max = self.settings.config.limits.sessions_max;
        let place = worker.shared.enter(sessions_max)?;
        let registered = worker.register();
        let (queue, items) = mpsc::channel(STATEMENTS_WAITING_MAX);
        let bytes = Rc::new(Cell::new(0));
        let long_data_max = self.settings.config.pool.long_data_bytes_max;
        let double = Pooled {
            client: Leg::gone(),
            inbox: Inbox::default(),
            lent: None,
            worker: Rc::clone(worker),
            watch: Rc::clone(&registered.watch),
            settings: self.settings.clone(),
            account: self.account.clone(),
            login: Rc::clone(&self.login),
            kind: Rc::clone(&self.kind),
            mode: self.mode,
            capabilities: self.capabilities,
            login_capabilities: self.login_capabilities,
            state: SessionState::new(
                rules(&self.account, self.mode),
                Rc::clone(self.state.values()),
                self.state.flags(),
            ),
            statements: ClientStatements::new(
                STATEMENTS_MAX,
                usize::try_from(long_data_max).unwrap_or(usize::MAX),
            ),
            cursors: Vec::new(),
            sight: None,
            shows: None,
            has_shown: false,
            delivery: Delivery::AtOnce,
            unseen: Vec::new(),
            prepares_settings: false,
            changes: Changes::default(),
            timing: Timing::default(),
            status: StatusFlags::AUTOCOMMIT,
            aftermath: Rc::new(Aftermath::default()),
            wants_clear: false,
            running: None,
            cut_transaction: None,
            optimism: None,
            course: Course::elsewhere(&self.course, cluster),
            order: None,
            trace: None,
            reflection: Reflection::Itself,
            riding: Riding::default(),
            scripting: None,
            kill: None,
            scramble: self.scramble,
            greeting: Rc::clone(&self.greeting),
            header: self.header,
            listener: self.listener.clone(),
            client_privacy: self.client_privacy,
            client_tls: None,
            origin: self.origin.clone(),
            home: None,
            shelf: None,
            waiting_place: None,
            person: worker.shared.people.register(worker.index),
            place,
        };
        let left = Rc::clone(&bytes);
        tokio::task::spawn_local(run(double, registered, items, left));
        Some(Mirror {
            cluster,
            queue,
            bytes,
        })
    }
}

/// Runs what comes, until nothing comes any more.
async fn run(
    mut double: Pooled,
    registered: Registered,
    mut items: mpsc::Receiver<Item>,
    bytes: Rc<Cell<usize>>,
) {
    while let Some(item) = items.recv().await {
        bytes.set(bytes.get().saturating_sub(item.bytes));
        double.timing.comes(double.worker.surroundings.now().0);
        if double.state.values() != &item.values {
            double.state.swap_values(item.values);
        }
        let ran = double.run_reflected(item.work).await;
        let rested = match ran {
            Ok(After::Next) => double.rest().await,
            Ok(_) => break,
            Err(cut) => Err(cut),
        };
        if let Err(CutOff { failure, .. }) = rested {
            tracing::warn!(cause = failure.cause, user = %double.account.id(), "a mirror breaks off");
            double.drop_lent(pool::CloseReason::Broken);
            break;
        }
    }
    double.leave().await;
    drop(double);
    drop(registered);
}

impl Pooled {
    async fn run_reflected(&mut self, work: Work) -> Result<After, CutOff> {
        let command = |command, packets| Incoming {
            command,
            packets,
            sequence: 1,
            is_cut: false,
        };
        match work {
            Work::Query(packets) => {
                let incoming = command(Command::QUERY, packets);
                Box::pin(self.query(incoming)).await
            }
            Work::Execute(key, count, mut payload) => {
                let prepared = self.statements.prepare(key, count, 0, Rc::default());
                let Ok(id) = prepared else {
                    return Ok(After::Next);
                };
                if let Some(place) = payload.get_mut(1..5) {
                    place.copy_from_slice(&id.number().to_le_bytes());
                }
                let mut packets = Vec::new();
                wire::write::put_packets(&mut packets, 0, &payload);
                let incoming = command(Command::STMT_EXECUTE, packets);
                let after = Box::pin(self.execute(incoming)).await;
                self.statements.close(id);
                after
            }
        }
    }
}
