//! The schema and the system variables as one value: immutable, interned, so that equal states are one pointer.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::rc::{Rc, Weak};

use sql::{Flags, Schema};
use system::HashKeys;

use super::baseline::Baseline;

/// A variable and its value, both as the trackers report them, the name in lower case.
pub(super) type Variable = (Rc<[u8]>, Rc<[u8]>);

/// The schema and the variables that were set since login. Compare with [`Rc::ptr_eq`]: a worker has
/// one [`ValuesTable`], which holds each value once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Values {
    schema: Option<Rc<[u8]>>,
    /// The class of the schema.
    class: Schema,
    /// Sorted by name.
    variables: Vec<Variable>,
}

impl Values {
    /// The default schema.
    pub fn schema(&self) -> Option<&[u8]> {
        self.schema.as_deref()
    }

    /// A variable's value, if it was set since login.
    pub fn variable(&self, name: &[u8]) -> Option<&[u8]> {
        self.entry(name).map(|value| &**value)
    }

    /// The variables that were set, sorted by name.
    pub fn variables(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.variables
            .iter()
            .map(|(name, value)| (&**name, &**value))
    }

    /// Returns the flags for reading statements: these values on top of the values after login.
    pub fn flags(&self, baseline: &Baseline) -> Flags {
        let mode = self.variable(b"sql_mode");
        let client = self.variable(b"character_set_client");
        let flags = match (mode, client) {
            (None, None) => baseline.flags(),
            (mode, client) => baseline.flags_with(mode, client),
        };
        self.at_home(flags)
    }

    /// The flags with the class of this schema.
    pub(super) fn at_home(&self, flags: Flags) -> Flags {
        let schema = self.class;
        Flags { schema, ..flags }
    }

    pub(super) fn entry(&self, name: &[u8]) -> Option<&Rc<[u8]>> {
        let index = self.index(name).ok()?;
        self.variables.get(index).map(|(_, value)| value)
    }

    pub(super) fn set_schema(&mut self, name: &[u8]) {
        self.schema = (!name.is_empty()).then(|| Rc::from(name));
        self.class = Schema::of_name(name);
    }

    pub(super) fn set(&mut self, name: &[u8], value: Rc<[u8]>) {
        match self.index(name) {
            Ok(index) => self.variables[index].1 = value,
            Err(index) => self.variables.insert(index, (Rc::from(name), value)),
        }
    }

    pub(super) fn unset(&mut self, name: &[u8]) {
        if let Ok(index) = self.index(name) {
            self.variables.remove(index);
        }
    }

    fn index(&self, name: &[u8]) -> Result<usize, usize> {
        self.variables
            .binary_search_by(|(known, _)| (**known).cmp(name))
    }
}

/// A worker's values, each once. Values that are no longer used are forgotten.
#[derive(Debug)]
pub struct ValuesTable {
    fresh: Rc<Values>,
    known: RefCell<HashMap<u64, Vec<Weak<Values>>>>,
    keys: HashKeys,
    /// The number of entries at which unused values are removed.
    sweep_at: RefCell<usize>,
}

const SWEEP_MIN: usize = 64;

impl ValuesTable {
    /// Has the values of a fresh login. Clients choose values, so the table hashes them with these keys.
    pub fn new(keys: HashKeys) -> Self {
        let table = Self {
            fresh: Rc::new(Values::default()),
            known: RefCell::default(),
            keys,
            sweep_at: RefCell::new(SWEEP_MIN),
        };
        let hash = table.hash(&table.fresh);
        let fresh = Rc::downgrade(&table.fresh);
        table.known.borrow_mut().insert(hash, vec![fresh]);
        table
    }

    /// The values of a fresh login without a schema.
    pub fn fresh(&self) -> Rc<Values> {
        Rc::clone(&self.fresh)
    }

    /// The values of a fresh login with this schema.
    pub fn in_schema(&self, schema: &[u8]) -> Rc<Values> {
        let mut values = Values::default();
        values.set_schema(schema);
        self.intern(values)
    }

    /// Returns values with one variable changed.
    pub fn with(&self, values: &Values, name: &[u8], value: &[u8]) -> Rc<Values> {
        let mut values = values.clone();
        values.set(name, Rc::from(value));
        self.intern(values)
    }

    /// The one copy of these values.
    pub(super) fn intern(&self, values: Values) -> Rc<Values> {
        let hash = self.hash(&values);
        let mut known = self.known.borrow_mut();
        let bucket = known.entry(hash).or_default();
        if let Some(same) = bucket
            .iter()
            .filter_map(Weak::upgrade)
            .find(|v| **v == values)
        {
            return same;
        }
        let values = Rc::new(values);
        bucket.push(Rc::downgrade(&values));
        self.sweep(&mut known);
        values
    }

    /// The number of values that are in use.
    pub fn count(&self) -> usize {
        let known = self.known.borrow();
        let alive = known.values().flatten().filter(|v| v.strong_count() > 0);
        alive.count()
    }

    fn hash(&self, values: &Values) -> u64 {
        self.keys.hash_one(values)
    }

    fn sweep(&self, known: &mut HashMap<u64, Vec<Weak<Values>>>) {
        let mut sweep_at = self.sweep_at.borrow_mut();
        if known.len() < *sweep_at {
            return;
        }
        known.retain(|_, bucket| {
            bucket.retain(|values| values.strong_count() > 0);
            !bucket.is_empty()
        });
        *sweep_at = SWEEP_MIN.max(known.len() * 2);
    }
}

/// Calls `each` with the name of every variable that differs and the value it should have; none for
/// the value after login. Both lists are sorted.
pub(super) fn differences<'a>(
    wanted: &'a Values,
    present: &'a Values,
    mut each: impl FnMut(&'a [u8], Option<&'a [u8]>),
) {
    let mut present = present.variables().peekable();
    for (name, value) in wanted.variables() {
        while let Some((other, _)) = present.next_if(|(other, _)| *other < name) {
            each(other, None);
        }
        let is_there = present.next_if(|(other, _)| *other == name);
        if is_there.is_none_or(|(_, other)| other != value) {
            each(name, Some(value));
        }
    }
    present.for_each(|(other, _)| each(other, None));
}
