//! What a server has committed: the log of groups, their GTIDs, and the views that still look at the past.

use std::cell::{Cell, Ref, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::ast::Name;
use super::control::Control;
use super::family::Family;
use super::gtid::{Executed, Gtid};
use super::table::{Key, Row, Shape};

/// A group of changes that was committed at once.
#[derive(Clone, Debug)]
pub struct Committed {
    /// Its id.
    pub gtid: Gtid,
    /// The connection that committed it; 0 at a replica.
    pub connection: u32,
    /// The statements that have changed something, in their order.
    pub statements: Rc<[Name]>,
    /// When it was committed at the server where it began.
    pub at: Instant,
    /// What it has changed.
    pub changes: Rc<[Change]>,
}

/// A change that a replica makes as well.
#[derive(Clone, Debug)]
pub enum Change {
    /// A row has this value; none: it is deleted.
    Row(Name, Name, Key, Option<Row>),
    /// There is an empty table.
    CreateTable(Shape),
    /// There is no such table.
    DropTable(Name, Name),
    /// There is a schema.
    CreateSchema(Name),
    /// There is no such schema.
    DropSchema(Name),
}

/// The past of a server.
#[derive(Debug)]
pub struct History {
    family: Family,
    server_id: u32,
    /// `@@server_uuid`.
    pub uuid: Rc<str>,
    log: RefCell<Vec<Committed>>,
    executed: RefCell<Executed>,
    applied: RefCell<Executed>,
    commits: Cell<u64>,
    views: RefCell<BTreeMap<u64, u32>>,
    waiting: RefCell<Vec<Rc<Control>>>,
    /// Wakes replicas after each commit.
    pub committed: Notify,
}

impl History {
    /// That of a new server.
    pub fn new(family: Family, server_id: u32) -> Self {
        Self {
            family,
            server_id,
            uuid: Rc::from(format!("3e11fa47-71ca-11e1-9e33-c80a{server_id:08x}")),
            log: RefCell::default(),
            executed: RefCell::default(),
            applied: RefCell::default(),
            commits: Cell::new(0),
            views: RefCell::default(),
            waiting: RefCell::default(),
            committed: Notify::new(),
        }
    }

    /// Every committed group in order.
    pub fn log(&self) -> Ref<'_, [Committed]> {
        Ref::map(self.log.borrow(), Vec::as_slice)
    }

    /// MySQL: all GTIDs that were executed here. MariaDB: the position in the binary log.
    pub fn executed(&self) -> Ref<'_, Executed> {
        self.executed.borrow()
    }

    /// MariaDB: the position up to which a source's groups were applied.
    pub fn applied(&self) -> Ref<'_, Executed> {
        self.applied.borrow()
    }

    /// The number of the last commit: what a view that begins now sees.
    pub fn now(&self) -> u64 {
        self.commits.get()
    }

    /// The number of a commit that begins.
    pub fn next_commit(&self) -> u64 {
        self.commits.set(self.commits.get() + 1);
        self.commits.get()
    }

    /// Opens a view. Row versions that it sees are kept until it is closed.
    pub fn open_view(&self) -> u64 {
        let at = self.now();
        *self.views.borrow_mut().entry(at).or_default() += 1;
        at
    }

    /// A view ends.
    pub fn close_view(&self, at: u64) {
        let mut views = self.views.borrow_mut();
        if let Some(count) = views.get_mut(&at) {
            *count -= 1;
            if *count == 0 {
                views.remove(&at);
            }
        }
    }

    /// The oldest view, if there is one.
    pub fn oldest_view(&self) -> Option<u64> {
        self.views.borrow().keys().next().copied()
    }

    /// The GTID of the next group that is committed here.
    pub fn next_gtid(&self) -> Gtid {
        match self.family {
            Family::MariaDb => {
                let last = self.executed.borrow().sequence();
                let last = last.max(self.applied.borrow().sequence());
                Gtid::MariaDb(0, self.server_id, last + 1)
            }
            Family::MySql => {
                let number = self.executed.borrow().next(&self.uuid);
                Gtid::MySql(Rc::clone(&self.uuid), number)
            }
        }
    }

    /// Appends a group that was committed on this server.
    pub fn push(&self, group: Committed) {
        self.executed.borrow_mut().add(&group.gtid);
        self.log.borrow_mut().push(group);
        self.tell();
    }

    /// Appends a group that came from a source.
    pub fn push_applied(&self, group: Committed) {
        self.applied.borrow_mut().add(&group.gtid);
        self.push(group);
    }

    /// A connection waits for groups: it is woken after each.
    pub fn wait_for_groups(&self, control: &Rc<Control>) {
        let mut waiting = self.waiting.borrow_mut();
        if !waiting.iter().any(|it| Rc::ptr_eq(it, control)) {
            waiting.push(Rc::clone(control));
        }
    }

    /// A connection does not wait any more.
    pub fn stop_waiting(&self, control: &Rc<Control>) {
        self.waiting
            .borrow_mut()
            .retain(|it| !Rc::ptr_eq(it, control));
    }

    fn tell(&self) {
        self.committed.notify_waiters();
        self.waiting.borrow().iter().for_each(|it| it.wake());
    }
}
