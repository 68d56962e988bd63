//! The server itself: what all its connections share, and what a test may do to it.

use std::cell::{Cell, Ref, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::ast::KillScope;
use super::catalogue::Catalogue;
use super::control::{Control, End};
use super::error::{SqlError, SqlResult};
use super::family::Family;
use super::gtid::Gtid;
use super::history::{Change, Committed, History};
use super::locks::Locks;
use super::options::{Event, Options};
use super::parsed_texts::ParsedTexts;
use super::parser::{Parsed, Reading, parse};
use super::table::{Key, Table};
use super::value::Value;
use super::variables::{Definitions, VariableId};

/// A model of a MySQL or MariaDB server, on one thread.
pub struct Server {
    /// How it was set up.
    pub(super) options: Options,
    /// Its system variables.
    pub(super) definitions: Definitions,
    pub(super) globals: RefCell<Rc<Vec<Value>>>,
    pub(super) state: State,
    pub(super) catalogue: Catalogue,
    pub(super) locks: Locks,
    pub(super) history: History,
    pub(super) connections: Connections,
    pub(super) replication: Replication,
    parsed: RefCell<ParsedTexts>,
}

/// How the server is.
#[derive(Debug)]
pub(super) struct State {
    /// It takes connections.
    pub is_up: Cell<bool>,
    /// It is stopped by SIGSTOP.
    pub is_frozen: Cell<bool>,
    /// It refuses writes.
    pub is_read_only: Cell<bool>,
    /// It refuses writes of administrators, too (MySQL).
    pub is_super_read_only: Cell<bool>,
    /// Its disk is full.
    pub is_full: Cell<bool>,
    /// Commits that wait for room.
    pub waiting_commits: Cell<usize>,
    /// What every statement takes in addition.
    pub per_statement: Cell<Duration>,
    /// When it started.
    pub started: Cell<Instant>,
    /// How many statements it has executed.
    pub statements: Cell<u64>,
    /// How many salts it has made.
    pub salts: Cell<u64>,
}

/// The connections that are open.
#[derive(Debug, Default)]
pub(super) struct Connections {
    all: RefCell<BTreeMap<u32, Rc<Control>>>,
    last: Cell<u32>,
}

/// The source that a server follows, and the progress of replication.
pub(super) struct Replication {
    /// The source; none of a primary.
    pub source: RefCell<Option<Rc<Server>>>,
    /// Both threads run.
    pub is_running: Cell<bool>,
    /// How long after its commit a group is applied.
    pub delay: Cell<Duration>,
    /// How many groups of the source's log have come; none before the first look.
    pub received: Cell<Option<usize>>,
    /// Groups that have come and are not applied yet, the oldest first.
    pub relay: RefCell<std::collections::VecDeque<Committed>>,
    /// Tells the task of one source from that of the next.
    pub generation: Cell<u64>,
    /// Something of the above has changed.
    pub changed: Notify,
}

impl Server {
    /// A server that is up and empty.
    pub fn new(options: Options) -> Rc<Self> {
        let definitions = Definitions::of(options.family);
        let mut globals = definitions.initial();
        let wait = Value::Unsigned(options.wait_timeout.as_secs());
        let connections = Value::Unsigned(options.max_connections as u64);
        for (name, value) in [
            ("wait_timeout", wait),
            ("max_connections", connections),
            ("server_id", Value::Unsigned(options.server_id.into())),
            ("version", Value::text(options.family.version())),
        ] {
            if let Some(id) = definitions.id(name)
                && let Some(place) = Rc::make_mut(&mut globals).get_mut(usize::from(id))
            {
                *place = value;
            }
        }
        let catalogue = Catalogue::default();
        for schema in &options.schemas {
            catalogue.create_schema(schema);
        }
        Rc::new(Self {
            definitions,
            globals: RefCell::new(globals),
            state: State::new(),
            catalogue,
            locks: Locks::default(),
            history: History::new(options.family, options.server_id),
            connections: Connections::default(),
            replication: Replication::default(),
            parsed: RefCell::default(),
            options,
        })
    }

    /// Whether it takes connections.
    pub fn is_up(&self) -> bool {
        self.state.is_up.get()
    }

    /// Ends it like kill -9: every connection drops at once. What was not committed is gone, the rest stays.
    pub fn crash(&self) {
        self.state.is_up.set(false);
        self.connections.end_all(End::Dropped);
        self.replication.changed.notify_waiters();
    }

    /// Ends it in order: connections are told as real servers tell them, and end.
    pub fn shut_down(&self) {
        self.state.is_up.set(false);
        self.connections.end_all(End::ShutDown);
        self.replication.changed.notify_waiters();
    }

    /// Has it up again, with all that was committed.
    pub fn start(&self) {
        // Connections of before the restart that have not ended yet must not reach the new server.
        self.connections.end_all(End::Dropped);
        self.state.is_frozen.set(false);
        self.state.started.set(Instant::now());
        self.state.is_up.set(true);
        self.replication.changed.notify_waiters();
    }

    /// Stops it like SIGSTOP: nothing is read or answered until [`Server::thaw`].
    pub fn freeze(&self) {
        self.state.is_frozen.set(true);
    }

    /// Has it go on.
    pub fn thaw(&self) {
        self.state.is_frozen.set(false);
        self.connections.wake_all();
        self.replication.changed.notify_waiters();
    }

    /// Sets `read_only`, of MySQL also `super_read_only`.
    pub fn set_read_only(&self, on: bool) {
        self.state.is_read_only.set(on);
        self.state
            .is_super_read_only
            .set(on && !self.family().is_mariadb());
    }

    /// Sets `max_connections`.
    pub fn set_max_connections(&self, seats: usize) {
        self.set_global("max_connections", Value::Unsigned(seats as u64));
    }

    /// Has every statement take so long in addition.
    pub fn set_slow(&self, per_statement: Duration) {
        self.state.per_statement.set(per_statement);
    }

    /// While the disk is full, INSERT fails with ER_RECORD_FILE_FULL (1114): as with InnoDB, whose file for the
    /// table cannot grow. A commit that has written waits until the binary log can grow.
    pub fn fill_disk(&self, full: bool) {
        self.state.is_full.set(full);
    }

    /// KILL QUERY of what a connection executes.
    pub fn kill_statement(&self, connection: u32) {
        if let Some(control) = self.connections.get(connection) {
            control.kill(KillScope::Query);
        }
    }

    /// Whether a commit waits for room: a server does not become read-only before it is done.
    pub fn has_waiting_commits(&self) -> bool {
        self.state.waiting_commits.get() > 0
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.connections.all.borrow().len()
    }

    /// Every committed group in order.
    pub fn log(&self) -> Ref<'_, [Committed]> {
        self.history.log()
    }

    /// How it was set up.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Its family.
    pub fn family(&self) -> Family {
        self.options.family
    }

    /// All that it has executed, as `@@gtid_executed` or `@@gtid_binlog_pos` tells it.
    pub fn executed(&self) -> String {
        self.history.executed().to_string()
    }

    /// Whether what a connection executes waits: for a lock, or for time to pass.
    pub fn is_waiting(&self, connection: u32) -> bool {
        let control = self.connections.get(connection);
        control.is_some_and(|it| !it.state.get().is_empty()) || self.locks.is_waiting(connection)
    }

    pub(super) fn tell(&self, event: &Event<'_>) {
        if let Some(observer) = &self.options.observer {
            observer(event);
        }
    }

    /// The first statement of a text. Short texts are read once.
    pub(super) fn parse(&self, text: &[u8], reading: Reading) -> SqlResult<Rc<Parsed>> {
        if let Some(parsed) = self.parsed.borrow().get(text, reading) {
            return Ok(parsed);
        }
        let parsed = Rc::new(parse(text, reading)?);
        self.parsed.borrow_mut().note(text, reading, &parsed);
        Ok(parsed)
    }

    /// A global variable.
    pub(super) fn global(&self, name: &str) -> Value {
        let id = self.definitions.id(name);
        id.map_or(Value::Null, |id| self.global_of(id))
    }

    /// The same by its number.
    pub(super) fn global_of(&self, id: VariableId) -> Value {
        let value = self.globals.borrow().get(usize::from(id)).cloned();
        value.unwrap_or(Value::Null)
    }

    /// Sets a global variable.
    pub(super) fn set_global(&self, name: &str, value: Value) {
        match name {
            "read_only" => {
                let is_on = value.is_true() == Some(true);
                self.state.is_read_only.set(is_on);
                if !is_on {
                    self.state.is_super_read_only.set(false);
                }
            }
            "super_read_only" => {
                let is_on = value.is_true() == Some(true);
                self.state.is_super_read_only.set(is_on);
                if is_on {
                    self.state.is_read_only.set(true);
                }
            }
            _ => {}
        }
        if let Some(id) = self.definitions.id(name) {
            let mut globals = self.globals.borrow_mut();
            if let Some(place) = Rc::make_mut(&mut globals).get_mut(usize::from(id)) {
                *place = value;
            }
        }
    }

    /// Commits the rows that a transaction has changed, as one group; none if nothing has changed.
    pub(super) fn commit(
        &self,
        connection: u32,
        statements: Vec<Rc<str>>,
        rows: &[(Rc<Table>, Key)],
    ) -> Option<Gtid> {
        let at = self.history.next_commit();
        // With nobody looking at the past, only the newest version is kept.
        let oldest = self.history.oldest_view().unwrap_or(at);
        let mut changes = Vec::with_capacity(rows.len());
        for (table, key) in rows {
            if let Some(row) = table.commit(key, at, oldest) {
                let shape = &table.shape;
                let (schema, name) = (Rc::clone(&shape.schema), Rc::clone(&shape.name));
                changes.push(Change::Row(schema, name, key.clone(), row));
            }
        }
        (!changes.is_empty()).then(|| self.write_down(connection, statements, changes))
    }

    /// Writes a group down that has been made.
    pub(super) fn write_down(
        &self,
        connection: u32,
        statements: Vec<Rc<str>>,
        changes: Vec<Change>,
    ) -> Gtid {
        let gtid = self.history.next_gtid();
        self.history.push(Committed {
            gtid: gtid.clone(),
            connection,
            statements: Rc::from(statements),
            at: Instant::now(),
            changes: Rc::from(changes),
        });
        if self.options.observer.is_some() {
            let gtid = &gtid.to_string();
            self.tell(&Event::Committed { connection, gtid });
        }
        gtid
    }

    /// Refuses a write if the server is read-only.
    pub(super) fn check_read_only(&self, is_administrator: bool) -> SqlResult<()> {
        let family = self.family();
        let refused = |option: &str| Err(option_prevents(family, option));
        match is_administrator {
            false if self.state.is_read_only.get() => refused("--read-only"),
            _ if self.state.is_super_read_only.get() => refused("--super-read-only"),
            _ => Ok(()),
        }
    }
}

fn option_prevents(family: Family, option: &str) -> SqlError {
    family.option_prevents(option, family.product())
}

impl State {
    fn new() -> Self {
        Self {
            is_up: Cell::new(true),
            is_frozen: Cell::new(false),
            is_read_only: Cell::new(false),
            is_super_read_only: Cell::new(false),
            is_full: Cell::new(false),
            waiting_commits: Cell::new(0),
            per_statement: Cell::new(Duration::ZERO),
            started: Cell::new(Instant::now()),
            statements: Cell::new(0),
            salts: Cell::new(0),
        }
    }
}

impl Connections {
    /// A new one, with the next id.
    pub fn open(&self) -> Rc<Control> {
        let id = self.last.get() + 1;
        self.last.set(id);
        let control = Rc::new(Control::new(id));
        self.all.borrow_mut().insert(id, Rc::clone(&control));
        control
    }

    /// One has ended.
    pub fn close(&self, id: u32) {
        self.all.borrow_mut().remove(&id);
    }

    /// One by its id.
    pub fn get(&self, id: u32) -> Option<Rc<Control>> {
        self.all.borrow().get(&id).cloned()
    }

    /// All, by their ids.
    pub fn all(&self) -> Vec<Rc<Control>> {
        self.all.borrow().values().cloned().collect()
    }

    fn end_all(&self, end: End) {
        self.all().iter().for_each(|it| it.end(end));
    }

    fn wake_all(&self) {
        self.all().iter().for_each(|it| it.wake());
    }
}

impl Default for Replication {
    fn default() -> Self {
        Self {
            source: RefCell::default(),
            is_running: Cell::new(false),
            delay: Cell::new(Duration::ZERO),
            received: Cell::new(None),
            relay: RefCell::default(),
            generation: Cell::new(0),
            changed: Notify::new(),
        }
    }
}
