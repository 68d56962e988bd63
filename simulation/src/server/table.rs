//! Tables whose rows have versions: a reader sees what was committed when its view began, and its own changes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::ast::{ColumnKind, Name};
use super::value::Value;

/// The values of a row, in the order of its table's columns.
pub type Row = Rc<[Value]>;

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub kind: ColumnKind,
    /// Whether NULL is refused.
    pub not_null: bool,
    /// What a row without a value gets; none if a value must be given.
    pub default: Option<Value>,
    /// Whether rows without a value get the next number.
    pub auto_increment: bool,
}

/// What a table is called and looks like.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The schema.
    pub schema: Name,
    /// The table.
    pub name: Name,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The columns of its primary key; none: rows are told apart by hidden numbers.
    pub key: Vec<usize>,
}

/// By what a row is found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// An integer, or the hidden number of a row.
    Number(i128),
    /// Several columns, or a text.
    Parts(Rc<[KeyPart]>),
}

/// A column's part of a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyPart {
    /// NULL, which only a value that does not fit becomes.
    Null,
    /// A number.
    Number(i128),
    /// A text in small letters.
    Text(Box<[u8]>),
}

/// Who reads, and what it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The connection, which sees its own changes.
    pub owner: u32,
    /// Commits up to this number are seen.
    pub at: u64,
    /// Whether the uncommitted changes of others are seen (READ UNCOMMITTED).
    pub is_dirty: bool,
}

/// All versions of a row.
#[derive(Debug, Default)]
struct Chain {
    /// Each with the number of the commit, the oldest first; none stands for a deleted row.
    committed: Vec<(u64, Option<Row>)>,
    /// What a transaction has made of it and not committed.
    pending: Option<(u32, Option<Row>)>,
}

/// What a transaction had made of a row before a change: none if it had not changed it.
pub type Before = Option<Option<Row>>;

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Tells it apart from all others, also of the same name.
    pub id: u64,
    /// What it looks like.
    pub shape: Shape,
    rows: RefCell<BTreeMap<Key, Chain>>,
    next_number: Cell<u64>,
    next_hidden: Cell<i128>,
}

impl Chain {
    fn seen(&self, view: View) -> Option<&Row> {
        if let Some((owner, row)) = &self.pending
            && (*owner == view.owner || view.is_dirty)
        {
            return row.as_ref();
        }
        let found = self.committed.iter().rev().find(|(at, _)| *at <= view.at);
        found.and_then(|(_, row)| row.as_ref())
    }

    fn is_gone(&self) -> bool {
        let is_alive = |it: &(u64, Option<Row>)| it.1.is_some();
        self.pending.is_none() && !self.committed.iter().any(is_alive)
    }
}

impl Table {
    /// An empty table.
    pub fn new(id: u64, shape: Shape) -> Self {
        Self {
            id,
            shape,
            rows: RefCell::default(),
            next_number: Cell::new(1),
            next_hidden: Cell::new(1),
        }
    }

    /// The number of a column, whose name may be written in any case.
    pub fn column(&self, name: &str) -> Option<usize> {
        let columns = &self.shape.columns;
        columns
            .iter()
            .position(|it| it.name.eq_ignore_ascii_case(name))
    }

    /// The column that is numbered by the table.
    pub fn numbered(&self) -> Option<usize> {
        self.shape.columns.iter().position(|it| it.auto_increment)
    }

    /// The next number of AUTO_INCREMENT, which is used up.
    pub fn take_number(&self) -> u64 {
        let number = self.next_number.get();
        self.next_number.set(number + 1);
        number
    }

    /// A row has this number: the next one is greater.
    pub fn note_number(&self, number: u64) {
        let next = self.next_number.get().max(number.saturating_add(1));
        self.next_number.set(next);
    }

    /// The key of a row; a new hidden one if the table has no primary key.
    pub fn key_of(&self, row: &[Value]) -> Key {
        if self.shape.key.is_empty() {
            let key = self.next_hidden.get();
            self.next_hidden.set(key + 1);
            return Key::Number(key);
        }
        let values: Vec<&Value> = self
            .shape
            .key
            .iter()
            .filter_map(|it| row.get(*it))
            .collect();
        Key::of(&values)
    }

    /// What a reader sees of a row.
    pub fn read(&self, key: &Key, view: View) -> Option<Row> {
        self.rows.borrow().get(key)?.seen(view).cloned()
    }

    /// All rows that a reader sees, in the order of their keys.
    pub fn scan(&self, view: View, mut each: impl FnMut(&Key, &Row)) {
        for (key, chain) in self.rows.borrow().iter() {
            if let Some(row) = chain.seen(view) {
                each(key, row);
            }
        }
    }

    /// The keys of all rows, also of those that somebody has not committed yet.
    pub fn keys(&self) -> Vec<Key> {
        self.rows.borrow().keys().cloned().collect()
    }

    /// Changes a row for a connection that has it locked. Gives what [`Table::undo`] takes.
    pub fn change(&self, key: &Key, owner: u32, row: Option<Row>) -> Before {
        let mut rows = self.rows.borrow_mut();
        let chain = rows.entry(key.clone()).or_default();
        chain
            .pending
            .replace((owner, row))
            .map(|(_, before)| before)
    }

    /// Takes back a change.
    pub fn undo(&self, key: &Key, owner: u32, before: Before) {
        let mut rows = self.rows.borrow_mut();
        let Some(chain) = rows.get_mut(key) else {
            return;
        };
        chain.pending = before.map(|row| (owner, row));
        if chain.is_gone() {
            rows.remove(key);
        }
    }

    /// Commits what is pending of a row under a number. Versions that nobody sees any more are forgotten: no view
    /// is older than `oldest`. Gives the row, if something was pending.
    pub fn commit(&self, key: &Key, at: u64, oldest: u64) -> Option<Option<Row>> {
        let mut rows = self.rows.borrow_mut();
        let chain = rows.get_mut(key)?;
        let (_, row) = chain.pending.take()?;
        chain.put(at, oldest, row.clone());
        if chain.is_gone() {
            rows.remove(key);
        }
        Some(row)
    }

    /// Puts a row that was committed elsewhere.
    pub fn apply(&self, key: &Key, at: u64, oldest: u64, row: Option<Row>) {
        if let (Key::Number(number), true) = (key, self.shape.key.is_empty()) {
            self.next_hidden
                .set(self.next_hidden.get().max(*number + 1));
        }
        if let (Some(numbered), Some(row)) = (self.numbered(), &row)
            && let Some(number) = row.get(numbered)
        {
            self.note_number(u64::try_from(number.to_int()).unwrap_or(0));
        }
        let mut rows = self.rows.borrow_mut();
        let chain = rows.entry(key.clone()).or_default();
        chain.put(at, oldest, row);
        if chain.is_gone() {
            rows.remove(key);
        }
    }
}

impl Chain {
    fn put(&mut self, at: u64, oldest: u64, row: Option<Row>) {
        let needed = self.committed.iter().rposition(|(at, _)| *at <= oldest);
        let is_seen_by_all = at <= oldest;
        match needed {
            _ if is_seen_by_all => self.committed.clear(),
            Some(first) => drop(self.committed.drain(..first)),
            None => {}
        }
        self.committed.push((at, row));
    }
}

impl Key {
    /// The key that these values make.
    pub fn of(values: &[&Value]) -> Self {
        match values {
            [value] => match KeyPart::of(value) {
                KeyPart::Number(number) => Self::Number(number),
                part => Self::Parts(Rc::from([part])),
            },
            _ => Self::Parts(values.iter().map(|it| KeyPart::of(it)).collect()),
        }
    }
}

impl KeyPart {
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(number) => Self::Number((*number).into()),
            Value::Unsigned(number) => Self::Number((*number).into()),
            Value::Decimal(digits, _) => Self::Number(*digits),
            Value::Double(number) => Self::Number(*number as i128),
            Value::Text(bytes) => {
                let folded = bytes.trim_ascii_end().to_ascii_lowercase();
                Self::Text(folded.into_boxed_slice())
            }
            Value::Binary(bytes) => Self::Text((**bytes).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let column = Column {
            name: Rc::from("id"),
            kind: ColumnKind::Integer(4, false),
            not_null: true,
            default: None,
            auto_increment: false,
        };
        Table::new(
            1,
            Shape {
                schema: Rc::from("d"),
                name: Rc::from("t"),
                columns: vec![column],
                key: vec![0],
            },
        )
    }

    fn view(owner: u32, at: u64) -> View {
        View {
            owner,
            at,
            is_dirty: false,
        }
    }

    #[test]
    fn a_read_view_has_the_commits_before_it_and_its_own_changes() {
        let table = table();
        let row: Row = Rc::from([Value::Int(7)]);
        let key = table.key_of(&row);
        assert_eq!(table.change(&key, 1, Some(Rc::clone(&row))), None);
        assert!(table.read(&key, view(1, 0)).is_some());
        assert!(table.read(&key, view(2, 9)).is_none());
        table.commit(&key, 5, 4);
        assert!(table.read(&key, view(2, 4)).is_none());
        assert!(table.read(&key, view(2, 5)).is_some());
        assert_eq!(table.change(&key, 1, None), None);
        table.commit(&key, 6, 5);
        assert!(table.read(&key, view(2, 5)).is_some());
        assert!(table.read(&key, view(2, 6)).is_none());
    }

    #[test]
    fn a_rollback_restores_the_earlier_rows() {
        let table = table();
        let key = Key::Number(7);
        let first = table.change(&key, 1, Some(Rc::from([Value::Int(7)])));
        let second = table.change(&key, 1, None);
        table.undo(&key, 1, second);
        assert!(table.read(&key, view(1, 0)).is_some());
        table.undo(&key, 1, first);
        assert!(table.keys().is_empty());
    }
}
