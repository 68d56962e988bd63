//! The text as a document. Comments, order and spelling stay unchanged, except at changed settings.

use std::fmt;

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike, Value};

use crate::Fault;

use super::faults::fault;

/// The document, see the module.
pub struct Document(DocumentMut);

impl Document {
    /// Reads a text.
    pub fn read(text: &str) -> Result<Self, Vec<Fault>> {
        let read = text.parse::<DocumentMut>();
        read.map(Self)
            .map_err(|error| fault("the file", format!("is no TOML: {}", error.message())))
    }

    /// Sets a key of a section; with an empty section, above all tables.
    pub fn put(&mut self, section: &str, key: &str, value: Value) {
        if section.is_empty() {
            return put(self.0.as_table_mut(), key, value);
        }
        let item = self.0.entry(section).or_insert_with(|| {
            let mut table = Table::new();
            table.decor_mut().set_prefix("\n");
            Item::Table(table)
        });
        if let Some(table) = item.as_table_like_mut() {
            put(table, key, value);
        }
    }

    /// Removes a key from a section.
    pub fn take_out(&mut self, section: &str, key: &str) {
        if section.is_empty() {
            self.0.remove(key);
        } else if let Some(table) = self.0.get_mut(section).and_then(Item::as_table_like_mut) {
            table.remove(key);
        }
    }

    /// Sets a key of a table of a list.
    pub fn put_in(&mut self, list: &str, index: usize, key: &str, value: Value) {
        if let Some(table) = self.tables(list).get_mut(index) {
            put_dotted(table, key, value);
        }
    }

    /// Removes a key from a table of a list.
    pub fn take_out_of(&mut self, list: &str, index: usize, key: &str) {
        let Some(table) = self.tables(list).get_mut(index) else {
            return;
        };
        let Some((name, key)) = key.split_once('.') else {
            table.remove(key);
            return;
        };
        let Some(inner) = table.get_mut(name).and_then(Item::as_table_like_mut) else {
            return;
        };
        inner.remove(key);
        if inner.is_empty() {
            table.remove(name);
        }
    }

    /// Adds a table to a list, at a place (counted from 1) or at the end.
    pub fn add(&mut self, list: &str, mut table: Table, place: Option<usize>) {
        table.decor_mut().set_prefix("\n");
        self.tables(list).push(table);
        if let Some(place) = place {
            let last = self.tables(list).len() - 1;
            self.move_to(list, last, place);
        }
    }

    /// Removes a table from a list.
    pub fn remove(&mut self, list: &str, index: usize) {
        let tables = self.tables(list);
        if index < tables.len() {
            tables.remove(index);
        }
        if tables.is_empty() {
            self.0.remove(list);
        }
    }

    /// Moves a table of a list to a place, counted from 1. After this the list's tables stand together.
    pub fn move_to(&mut self, list: &str, index: usize, place: usize) {
        let tables = self.tables(list);
        if index >= tables.len() {
            return;
        }
        let first = tables.iter().filter_map(Table::position).min();
        let table = tables.remove(index);
        let place = place.saturating_sub(1).min(tables.len());
        tables.insert(place, table);
        // Tables are written by their positions. Tables with the same position are written in their order.
        for table in tables.iter_mut() {
            stand_at(table, first);
        }
    }

    /// The tables of a list, also if the file writes them inline.
    fn tables(&mut self, list: &str) -> &mut ArrayOfTables {
        let item = self.0.entry(list).or_insert_with(empty);
        if !item.is_array_of_tables() {
            let written = std::mem::take(item);
            let tables = written.into_array_of_tables().unwrap_or_default();
            *item = Item::ArrayOfTables(tables);
            let tables = item.as_array_of_tables_mut().into_iter();
            for table in tables.flat_map(ArrayOfTables::iter_mut) {
                table.decor_mut().set_prefix("\n");
            }
        }
        item.as_array_of_tables_mut()
            .expect("it has just been made one")
    }
}

fn empty() -> Item {
    Item::ArrayOfTables(ArrayOfTables::new())
}

/// Sets the position at which a table and the tables below it are written.
fn stand_at(table: &mut Table, position: Option<isize>) {
    table.set_position(position);
    for (_, item) in table.iter_mut() {
        if let Some(within) = item.as_table_mut() {
            stand_at(within, position);
        }
        let below = item.as_array_of_tables_mut().into_iter();
        for below in below.flat_map(ArrayOfTables::iter_mut) {
            stand_at(below, position);
        }
    }
}

/// Sets a key, or a key of a table within the table, `routing.cluster`.
pub fn put_dotted(table: &mut Table, key: &str, value: Value) {
    let Some((name, key)) = key.split_once('.') else {
        return put(table, key, value);
    };
    let inner = table.entry(name).or_insert_with(|| {
        let mut inner = Table::new();
        inner.set_dotted(true);
        Item::Table(inner)
    });
    if let Some(inner) = inner.as_table_like_mut() {
        put(inner, key, value);
    }
}

/// Sets a key. The text around its old value, for example a comment, stays.
fn put(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => {
            table.insert(key, Item::Value(value));
        }
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
