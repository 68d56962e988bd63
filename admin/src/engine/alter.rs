//! INSERT, UPDATE and DELETE: they run over a filled table in the statement's own database, like a query. The
//! difference of the table's rows before and after becomes the change of the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use config::Edit;
use rusqlite::hooks::{Action, AuthAction, AuthContext, Authorization};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};

use super::{Limits, authorize, check_count, end_by, fill, listed, lock, open, table_indexes};
use crate::fault::Fault;
use crate::functions::Asker;
use crate::registry::TABLES;
use crate::table::{Alterable, Cell, ColumnFacts, Row, Table, Target};
use crate::table_input::TableInput;

/// A prepared statement that changes the configuration.
pub struct PreparedChange {
    database: Connection,
    text: String,
    read: BTreeSet<usize>,
    meant: Meant,
    /// The number of its placeholders.
    pub parameters: usize,
}

/// The table and columns that a statement would change.
#[derive(Debug, Clone, Default)]
struct Meant {
    table: usize,
    /// The columns that an UPDATE assigns.
    columns: BTreeSet<String>,
}

/// The changes that a statement results in.
#[derive(Debug)]
pub struct Alteration {
    /// The changes of the configuration.
    pub edits: Vec<Edit>,
    /// The number of rows that the statement touched.
    pub rows: usize,
    /// The table.
    pub table: &'static str,
}

/// Prepares a statement, and finds the table that it would change.
///
/// # Errors
/// SQLite does not understand the statement, or the table cannot be changed.
pub fn prepare(text: String, asker: &Asker) -> Result<PreparedChange, Fault> {
    let mut database = open(asker, &text)?;
    let read: Arc<Mutex<BTreeSet<usize>>> = Arc::default();
    let meant: Arc<Mutex<Option<Meant>>> = Arc::default();
    let (noted, aimed) = (Arc::clone(&read), Arc::clone(&meant));
    database.authorizer(Some(move |context: AuthContext<'_>| {
        authorize_change(&context, &aimed, &noted)
    }))?;
    let parameters = {
        let statement = database.prepare(&text)?;
        if statement.column_count() > 0 {
            return Err(Fault::syntax("The admin port does not know RETURNING"));
        }
        statement.parameter_count()
    };
    let meant = lock(&meant).take().ok_or_else(Fault::read_only)?;
    let read = std::mem::take(&mut *lock(&read));
    Ok(PreparedChange {
        database,
        text,
        read,
        meant,
        parameters,
    })
}

fn authorize_change(
    context: &AuthContext<'_>,
    meant: &Mutex<Option<Meant>>,
    read: &Mutex<BTreeSet<usize>>,
) -> Authorization {
    let (name, column) = match context.action {
        AuthAction::Insert { table_name } | AuthAction::Delete { table_name } => (table_name, None),
        AuthAction::Update {
            table_name,
            column_name,
        } => (table_name, Some(column_name)),
        _ => return authorize(context, read),
    };
    let schema = context.database_name.and_then(crate::table::Schema::named);
    let mut places = table_indexes(schema, name).into_iter();
    let Some(table) = places.find(|it| TABLES[*it].alterable().is_some()) else {
        return Authorization::Deny;
    };
    let mut meant = lock(meant);
    let meant = meant.get_or_insert_with(Meant::default);
    meant.table = table;
    meant.columns.extend(column.map(str::to_owned));
    Authorization::Allow
}

impl PreparedChange {
    /// The tables that the statement reads, and the table that it changes.
    pub fn tables(&self) -> Vec<&'static dyn Table> {
        let mut tables = self.read.clone();
        tables.insert(self.meant.table);
        listed(&tables)
    }

    /// The table that the statement would change.
    pub fn target(&self) -> &'static dyn Table {
        TABLES[self.meant.table]
    }

    /// Runs the statement over this data, with a value for each placeholder.
    ///
    /// # Errors
    /// The statement fails while it runs, or a change is not possible.
    pub fn run(
        mut self,
        input: &TableInput,
        values: Vec<Value>,
        limits: Limits,
    ) -> Result<Alteration, Fault> {
        check_count(&values, self.parameters)?;
        let tables = self.tables();
        fill(&mut self.database, &tables, input)?;
        let before = self.rows()?;
        let touched: Arc<Mutex<BTreeSet<i64>>> = Arc::default();
        let noted = Arc::clone(&touched);
        self.database
            .update_hook(Some(move |_: Action, _: &str, _: &str, row: i64| {
                lock(&noted).insert(row);
            }))?;
        end_by(&mut self.database, limits.deadline)?;
        let (aim, read) = (Mutex::default(), Mutex::default());
        self.database
            .authorizer(Some(move |context: AuthContext<'_>| {
                authorize_change(&context, &aim, &read)
            }))?;
        self.database
            .prepare(&self.text)?
            .execute(params_from_iter(values))?;
        self.database
            .authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
        let after = self.rows()?;
        let touched = std::mem::take(&mut *lock(&touched));
        self.alteration(&before, &after, &touched)
    }

    /// The rows of the table, by SQLite's rowid.
    fn rows(&self) -> Result<BTreeMap<i64, Vec<Cell>>, Fault> {
        let table = self.target();
        let select = format!(
            "SELECT rowid, * FROM \"{}\".\"{}\"",
            table.schema().name(),
            table.name()
        );
        let mut statement = self.database.prepare(&select)?;
        let columns = statement.column_count();
        let mut found = BTreeMap::new();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let cells = (1..columns).map(|index| Ok(cell(row.get_ref(index)?)));
            let cells: Result<Vec<Cell>, Fault> = cells.collect();
            found.insert(row.get(0)?, cells?);
        }
        Ok(found)
    }

    fn alteration(
        &self,
        before: &BTreeMap<i64, Vec<Cell>>,
        after: &BTreeMap<i64, Vec<Cell>>,
        touched: &BTreeSet<i64>,
    ) -> Result<Alteration, Fault> {
        let table = self.target();
        let how = table.alterable().ok_or_else(Fault::read_only)?;
        let columns = table.columns();
        let builder = EditBuilder {
            table,
            how,
            columns: &columns,
            assigned: &self.meant.columns,
        };
        let mut edits = Vec::new();
        let mut rows = 0;
        for (number, cells) in before {
            if !after.contains_key(number) {
                edits.push(builder.removal(cells)?);
                rows += 1;
            }
        }
        for (number, cells) in after {
            match before.get(number) {
                None => {
                    edits.push(builder.addition(cells)?);
                    rows += 1;
                }
                Some(before) if touched.contains(number) => {
                    edits.extend(builder.changed(before, cells)?);
                    rows += 1;
                }
                Some(_) => {}
            }
        }
        Ok(Alteration {
            edits,
            rows,
            table: table.name(),
        })
    }
}

/// Turns changes of a table's rows into changes of the configuration.
struct EditBuilder<'a> {
    table: &'static dyn Table,
    how: &'static Alterable,
    columns: &'a [ColumnFacts],
    assigned: &'a BTreeSet<String>,
}

impl EditBuilder<'_> {
    fn removal(&self, cells: &[Cell]) -> Result<Edit, Fault> {
        let title = self.title(cells)?;
        match self.how.target {
            Target::List(list) => Ok(Edit::Remove { list, title }),
            Target::Settings => Err(Fault::not_alterable(
                "Settings cannot be deleted; UPDATE settings SET value = NULL WHERE name = '…' sets one to its \
                 default",
            )),
        }
    }

    fn addition(&self, cells: &[Cell]) -> Result<Edit, Fault> {
        let Target::List(list) = self.how.target else {
            return Err(Fault::not_alterable(
                "Settings cannot be inserted, because each has a row; UPDATE settings SET value = '…' WHERE name = '…'",
            ));
        };
        let mut values = Vec::new();
        let mut place = None;
        for (column, cell) in self.columns.iter().zip(cells) {
            let Some(value) = text(cell) else {
                continue;
            };
            match self.meaning(column.name)? {
                Meaning::Place => place = Some(self.position(cell)?),
                Meaning::Key(key) => values.push((key.to_owned(), value)),
            }
        }
        Ok(Edit::Add {
            list,
            values,
            place,
        })
    }

    fn changed(&self, before: &[Cell], after: &[Cell]) -> Result<Option<Edit>, Fault> {
        let title = self.title(before)?;
        let mut values = Vec::new();
        let mut place = None;
        for (column, cell) in self.columns.iter().zip(after) {
            if !self.assigned.contains(column.name) {
                continue;
            }
            match self.meaning(column.name)? {
                Meaning::Place => place = Some(self.position(cell)?),
                Meaning::Key(key) => values.push((key.to_owned(), text(cell))),
            }
        }
        match self.how.target {
            Target::List(list) => Ok(Some(Edit::Change {
                list,
                title,
                values,
                place,
            })),
            Target::Settings => Ok(values.pop().map(|(_, value)| Edit::Set {
                setting: title,
                value,
            })),
        }
    }

    fn title(&self, cells: &[Cell]) -> Result<String, Fault> {
        let row = Row {
            columns: self.columns,
            cells,
        };
        (self.how.title)(&row).map_err(Fault::not_alterable)
    }

    fn meaning(&self, column: &'static str) -> Result<Meaning, Fault> {
        if self.how.position_column == Some(column) {
            return Ok(Meaning::Place);
        }
        match self.how.key(column) {
            Some(key) => Ok(Meaning::Key(key)),
            None => Err(Fault::not_alterable(format!(
                "Column '{column}' of {} shows a state, and cannot be set",
                self.table.name()
            ))),
        }
    }

    fn position(&self, cell: &Cell) -> Result<usize, Fault> {
        let place = match cell {
            Cell::Integer(place) => usize::try_from(*place).ok().filter(|it| *it > 0),
            _ => None,
        };
        place.ok_or_else(|| Fault::wrong_value("A rule's place is a whole number from 1"))
    }
}

/// What a column stands for in the configuration: a position in a list, or a setting.
enum Meaning {
    Place,
    Key(&'static str),
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Text(number.to_string()),
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            Cell::Text(String::from_utf8_lossy(text).into_owned())
        }
    }
}

fn text(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Null => None,
        Cell::Integer(number) => Some(number.to_string()),
        Cell::Text(text) => Some(text.clone()),
    }
}
