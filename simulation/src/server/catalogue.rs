//! The schemas and tables of a server.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::ast::Name;
use super::table::{Shape, Table};

/// Schemas by their names, with their tables by their names.
#[derive(Debug, Default)]
pub struct Catalogue {
    schemas: RefCell<BTreeMap<Name, BTreeMap<Name, Rc<Table>>>>,
    tables_made: Cell<u64>,
}

/// Schemas that every server has.
const OWN: [&str; 3] = ["information_schema", "mysql", "performance_schema"];

impl Catalogue {
    /// A schema's name, as it was made; MySQL and MariaDB tell large and small letters apart here.
    pub fn schema(&self, name: &str) -> Option<Name> {
        if let Some(own) = OWN.iter().find(|it| it.eq_ignore_ascii_case(name)) {
            return Some(Rc::from(*own));
        }
        self.schemas
            .borrow()
            .get_key_value(name)
            .map(|(name, _)| Rc::clone(name))
    }

    /// Makes a schema; whether it was not there.
    pub fn create_schema(&self, name: &str) -> bool {
        let is_new = self.schema(name).is_none();
        if is_new {
            self.schemas
                .borrow_mut()
                .insert(Rc::from(name), BTreeMap::new());
        }
        is_new
    }

    /// Removes a schema; the number of its tables, if it was there.
    pub fn drop_schema(&self, name: &str) -> Option<usize> {
        self.schemas.borrow_mut().remove(name).map(|it| it.len())
    }

    /// A table.
    pub fn table(&self, schema: &str, name: &str) -> Option<Rc<Table>> {
        self.schemas.borrow().get(schema)?.get(name).cloned()
    }

    /// The number of the next table.
    pub fn next_table(&self) -> u64 {
        self.tables_made.set(self.tables_made.get() + 1);
        self.tables_made.get()
    }

    /// Puts an empty table where the shape says, instead of one that is there.
    pub fn put_table(&self, shape: Shape) -> Rc<Table> {
        let table = Rc::new(Table::new(self.next_table(), shape));
        let mut schemas = self.schemas.borrow_mut();
        let tables = schemas.entry(Rc::clone(&table.shape.schema)).or_default();
        tables.insert(Rc::clone(&table.shape.name), Rc::clone(&table));
        table
    }

    /// Removes a table; whether it was there.
    pub fn drop_table(&self, schema: &str, name: &str) -> bool {
        let mut schemas = self.schemas.borrow_mut();
        schemas
            .get_mut(schema)
            .is_some_and(|it| it.remove(name).is_some())
    }

    /// The names of all schemas.
    pub fn schemas(&self) -> Vec<Name> {
        let made: Vec<Name> = self.schemas.borrow().keys().cloned().collect();
        let mut all: Vec<Name> = OWN.iter().map(|it| Rc::from(*it)).chain(made).collect();
        all.sort();
        all
    }

    /// The names of a schema's tables.
    pub fn tables(&self, schema: &str) -> Vec<Name> {
        let schemas = self.schemas.borrow();
        schemas
            .get(schema)
            .map(|it| it.keys().cloned().collect())
            .unwrap_or_default()
    }
}
