//! Transactions of a session: they begin, see, change, and end.

use std::rc::Rc;

use super::ast::{Access, Name};
use super::gtid::Gtid;
use super::locks::Span;
use super::session::Session;
use super::settings::{GtidTracking, Isolation};
use super::table::{Key, Row, Table, View};
use super::transaction::{Begun, Undo};
use super::value::Value;

impl Session {
    /// Begins a transaction, or the one of a single statement.
    pub fn begin(&mut self, begun: Begun, access: Option<Access>) {
        let (isolation, next_access) = match begun {
            Begun::Not => (self.transaction.next.0, self.transaction.next.1),
            _ => std::mem::take(&mut self.transaction.next),
        };
        self.transaction.begun = begun;
        self.transaction.isolation = isolation.unwrap_or(self.settings.isolation);
        self.transaction.access = access.or(next_access).unwrap_or(self.settings.access);
    }

    /// Before a statement that uses tables: a transaction begins by itself if autocommit is off, or one for the
    /// statement only.
    pub fn enter_tables(&mut self) {
        if self.transaction.is_open() || self.transaction.is_entered {
            return;
        }
        self.transaction.is_entered = true;
        match self.settings.autocommit {
            true => self.begin(Begun::Not, None),
            false => {
                self.begin(Begun::Implicitly, None);
                self.tracker.state.is_implicit = true;
            }
        }
    }

    /// What a read without locks sees.
    pub fn view(&mut self) -> View {
        let (owner, is_dirty) = (self.control.id, false);
        let history = &self.server.history;
        match self.transaction.isolation {
            Isolation::ReadUncommitted => View {
                owner,
                at: history.now(),
                is_dirty: true,
            },
            Isolation::ReadCommitted => View {
                owner,
                at: history.now(),
                is_dirty,
            },
            Isolation::RepeatableRead | Isolation::Serializable => {
                let at = match self.transaction.is_open() {
                    true => self.open_view(),
                    // Nothing is committed while the statement runs.
                    false => history.now(),
                };
                View {
                    owner,
                    at,
                    is_dirty,
                }
            }
        }
    }

    /// What a read with locks sees: all that is committed.
    pub fn current_view(&self) -> View {
        View {
            owner: self.control.id,
            at: self.server.history.now(),
            is_dirty: false,
        }
    }

    /// The view of the transaction, which begins now if it has not.
    pub fn open_view(&mut self) -> u64 {
        match self.transaction.view {
            Some(at) => at,
            None => {
                let at = self.server.history.open_view();
                self.transaction.view = Some(at);
                at
            }
        }
    }

    /// Changes a row that is locked.
    pub fn change_row(&mut self, table: &Rc<Table>, key: &Key, row: Option<Row>) {
        let before = table.change(key, self.control.id, row);
        self.transaction.changes.push(Undo {
            table: Rc::clone(table),
            key: key.clone(),
            before,
        });
        self.control.weight.set(self.control.weight.get() + 1);
    }

    /// Writes down the text of a statement that has changed something.
    pub fn note_statement(&mut self, text: &Rc<str>) {
        self.transaction.statements.push(Rc::clone(text));
    }

    /// Takes back the changes behind a mark.
    pub fn undo_to(&mut self, mark: usize) {
        while self.transaction.changes.len() > mark {
            if let Some(undo) = self.transaction.changes.pop() {
                undo.table.undo(&undo.key, self.control.id, undo.before);
            }
        }
    }

    /// Sets a savepoint; one of the same name is gone.
    pub fn savepoint(&mut self, name: &Name) {
        self.transaction
            .savepoints
            .retain(|it| !it.0.eq_ignore_ascii_case(name));
        let mark = self.transaction.mark();
        self.transaction.savepoints.push((Rc::clone(name), mark));
    }

    /// Forgets a savepoint and those behind it; whether it was there.
    pub fn release_savepoints(&mut self, name: &Name) -> bool {
        let found = self.transaction.find_savepoint(name);
        if let Some(at) = found {
            self.transaction.savepoints.truncate(at);
        }
        found.is_some()
    }

    /// Goes back to a savepoint; whether it was there.
    pub fn roll_back_to(&mut self, name: &Name) -> bool {
        let Some(at) = self.transaction.find_savepoint(name) else {
            return false;
        };
        let mark = self.transaction.savepoints.get(at).map_or(0, |it| it.1);
        self.undo_to(mark);
        self.transaction.savepoints.truncate(at + 1);
        true
    }

    /// Commits; the GTID of what was written, if something was.
    pub fn commit(&mut self) -> Option<Gtid> {
        let changes = std::mem::take(&mut self.transaction.changes);
        let statements = std::mem::take(&mut self.transaction.statements);
        let mut rows: Vec<(Rc<Table>, Key)> = Vec::with_capacity(changes.len());
        let mut own: Vec<(Rc<Table>, Key)> = Vec::new();
        for undo in changes {
            let schema = &undo.table.shape.schema;
            let name = (Rc::clone(schema), Rc::clone(&undo.table.shape.name));
            let is_temporary = self
                .temporary
                .get(&name)
                .is_some_and(|it| it.id == undo.table.id);
            let list = if is_temporary { &mut own } else { &mut rows };
            list.push((undo.table, undo.key));
        }
        for (table, key) in &own {
            table.commit(key, 0, u64::MAX);
        }
        let gtid = match rows.is_empty() {
            true => None,
            false => self.server.commit(self.control.id, statements, &rows),
        };
        if let Some(gtid) = &gtid {
            self.tell_gtid(gtid);
        }
        self.end_transaction();
        gtid
    }

    /// A group of this session was written down.
    pub fn tell_gtid(&mut self, gtid: &Gtid) {
        let text = gtid.to_string();
        if self.family().is_mariadb() {
            let tracking = &self.settings.tracking;
            self.tracker
                .follow_variable(tracking, "last_gtid", text.as_bytes().to_vec());
            self.put_last_gtid(text);
            return;
        }
        match self.settings.tracking.gtids {
            GtidTracking::Off => {}
            GtidTracking::Own => self.tracker.gtids(text),
            GtidTracking::All => self.tracker.gtids(self.server.executed()),
        }
    }

    fn put_last_gtid(&mut self, text: String) {
        if let Some(id) = self.server.definitions.id("last_gtid") {
            self.variables.set(id, Value::text(text));
        }
    }

    /// Rolls back.
    pub fn roll_back(&mut self) {
        self.undo_to(0);
        self.end_transaction();
    }

    fn end_transaction(&mut self) {
        if let Some(at) = self.transaction.view.take() {
            self.server.history.close_view(at);
        }
        self.server
            .locks
            .release_all(self.control.id, Span::Transaction);
        self.control.weight.set(0);
        let is_locked = self.tracker.state.is_locked;
        self.tracker.state = Default::default();
        self.tracker.state.is_locked = is_locked;
        if self.transaction.is_open() || self.transaction.is_entered {
            self.tracker.end_characteristics();
            self.transaction.next = (None, None);
        }
        self.transaction.is_entered = false;
        self.transaction.begun = Begun::Not;
        self.transaction.savepoints.clear();
        self.transaction.statements.clear();
    }
}
