//! Runs statements in SQLite, each in an in-memory database of its own. The tables that a statement reads are found
//! while it is prepared, filled with data of one moment, and dropped after it.
//!
//! ```text
//!   text ─► prepare ─► which tables? ─► (the caller gathers them) ─► run ─► Rows
//! ```
//!
//! Statements may only read, except for changes of the one table that an INSERT, UPDATE or DELETE names. Time, memory,
//! rows and bytes are limited.

pub mod alter;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use net::clock;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};
use tokio::time::Instant;

use crate::fault::Fault;
use crate::functions::{self, Asker};
use crate::kept::{KEPT, KeptDatabase};
use crate::kept_table::SCHEMAS;
use crate::lone_having;
use crate::registry::TABLES;
use crate::table::{Cell, CellType, Schema, Table};
use crate::table_input::TableInput;

/// The most memory that SQLite takes for all statements together, in bytes.
const HEAP_BYTES_MAX: u64 = 256 << 20;

/// The longest value, in bytes.
const VALUE_BYTES_MAX: i32 = 4 << 20;

/// The longest pattern of LIKE and GLOB, in bytes. SQLite checks the time limit before and after a match only, and a
/// match may compare each byte of the longest value with each byte of the pattern.
const LIKE_BYTES_MAX: i32 = 200;

/// The largest result, in bytes.
const RESULT_BYTES_MAX: usize = 64 << 20;

/// How long a statement waits while the history's thread writes.
const TIMEOUT_BUSY: Duration = Duration::from_secs(2);

/// Instructions of SQLite's machine between two checks of the time limit: some 100 µs.
const PACE: i32 = 10_000;

/// A prepared SELECT.
pub struct PreparedSelect {
    database: Connection,
    text: String,
    tables: BTreeSet<usize>,
    /// The number of its placeholders.
    pub parameters: usize,
    /// The names of its result's columns.
    pub columns: Vec<String>,
}

/// The limits of a statement.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The moment at which the statement is interrupted.
    pub deadline: Instant,
    /// The most rows of its result.
    pub rows_max: usize,
}

/// The rows of a result.
#[derive(Debug, Default)]
pub struct ResultRows {
    /// Its columns.
    pub columns: Vec<(String, CellType)>,
    /// Its rows, each with a value for each column.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
}

/// Prepares a statement, and finds the tables that it reads.
///
/// # Errors
/// SQLite does not understand the statement, or it is not allowed here.
pub fn prepare(text: String, asker: &Asker) -> Result<PreparedSelect, Fault> {
    match prepare_as_written(text.clone(), asker) {
        Err(fault) if fault.text.starts_with(lone_having::REFUSAL) => {
            let text = lone_having::without_lone_having(&text).ok_or(fault)?;
            prepare_as_written(text, asker)
        }
        prepared => prepared,
    }
}

fn prepare_as_written(text: String, asker: &Asker) -> Result<PreparedSelect, Fault> {
    let mut database = open(asker, &text)?;
    let read: Arc<Mutex<BTreeSet<usize>>> = Arc::default();
    let noted = Arc::clone(&read);
    database.authorizer(Some(move |context: AuthContext<'_>| {
        authorize(&context, &noted)
    }))?;
    let (parameters, columns) = {
        let statement = database.prepare(&text)?;
        if !statement.readonly() || statement.column_count() == 0 {
            return Err(Fault::read_only());
        }
        let columns = statement.column_names();
        let columns = columns.into_iter().map(str::to_owned).collect();
        (statement.parameter_count(), columns)
    };
    let tables = std::mem::take(&mut *lock(&read));
    Ok(PreparedSelect {
        database,
        text,
        tables,
        parameters,
        columns,
    })
}

impl PreparedSelect {
    /// The tables that the statement reads.
    pub fn tables(&self) -> Vec<&'static dyn Table> {
        listed(&self.tables)
    }

    /// Runs the statement over this data, with a value for each placeholder.
    ///
    /// # Errors
    /// The statement fails while it runs, or exceeds a limit.
    pub fn run(
        mut self,
        input: &TableInput,
        values: Vec<Value>,
        limits: Limits,
    ) -> Result<ResultRows, Fault> {
        check_count(&values, self.parameters)?;
        let tables = self.tables();
        fill(&mut self.database, &tables, input)?;
        let read = Mutex::default();
        self.database
            .authorizer(Some(move |context: AuthContext<'_>| {
                authorize(&context, &read)
            }))?;
        end_by(&mut self.database, limits.deadline)?;
        let mut statement = self.database.prepare(&self.text)?;
        let mut result = Reading::new(self.columns.len());
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            if result.rows.len() >= limits.rows_max {
                return Err(Fault::too_large(format!(
                    "The result has more than {} rows (admin.rows_max); use LIMIT",
                    limits.rows_max
                )));
            }
            result.take(row)?;
        }
        drop(rows);
        drop(statement);
        Ok(result.finish(self.columns))
    }
}

/// The tables at these indexes of the registry.
fn listed(places: &BTreeSet<usize>) -> Vec<&'static dyn Table> {
    let places = places.iter();
    places
        .filter_map(|place| TABLES.get(*place).copied())
        .collect()
}

/// Whether there is a value for each placeholder.
fn check_count(values: &[Value], parameters: usize) -> Result<(), Fault> {
    match values.len() == parameters {
        true => Ok(()),
        false => Err(Fault::wrong_arguments(
            "The statement has more placeholders than values",
        )),
    }
}

/// Makes SQLite interrupt the statement at the deadline.
fn end_by(database: &mut Connection, deadline: Instant) -> Result<(), Fault> {
    database.progress_handler(PACE, Some(move || clock::now() >= deadline))?;
    Ok(())
}

/// Fills these tables. The authorizer of statements does not apply here.
fn fill(
    database: &mut Connection,
    tables: &[&'static dyn Table],
    input: &TableInput,
) -> Result<(), Fault> {
    database.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
    let is_read = |kept: &KeptDatabase| tables.iter().any(|table| table.home() == kept.home);
    for kept in KEPT.iter().filter(|kept| is_read(kept)) {
        if let Some(source) = kept.source(input) {
            attach(database, kept.home, &source)?;
        }
    }
    let schemas = KeptDatabase::named(SCHEMAS).and_then(|kept| kept.source(input));
    functions::define_schema_at(database, schemas)?;
    let tables = tables
        .iter()
        .filter(|table| KeptDatabase::named(table.home()).is_none());
    let filling = database.unchecked_transaction()?;
    for table in tables {
        let columns = table.columns().len();
        let marks = vec!["?"; columns].join(", ");
        let mut insert = filling.prepare(&format!(
            "INSERT INTO \"{}\".\"{}\" VALUES ({marks})",
            table.home(),
            table.name()
        ))?;
        for row in table.rows(input) {
            insert.execute(params_from_iter(row))?;
        }
    }
    filling.commit()?;
    Ok(())
}

/// Attaches a database file whose rows are read where they are.
fn attach(database: &Connection, home: &str, source: &str) -> Result<(), Fault> {
    database.execute_batch(&format!("DETACH \"{home}\""))?;
    database.execute(&format!("ATTACH ? AS \"{home}\""), [source])?;
    Ok(database.busy_timeout(TIMEOUT_BUSY)?)
}

/// A result while its rows are read.
struct Reading {
    rows: Vec<Vec<Option<Vec<u8>>>>,
    /// The type of each column's values so far; `None`: only NULLs.
    kinds: Vec<Option<CellType>>,
    bytes: usize,
}

impl Reading {
    fn new(columns: usize) -> Self {
        Self {
            rows: Vec::new(),
            kinds: vec![None; columns],
            bytes: 0,
        }
    }

    fn take(&mut self, row: &rusqlite::Row<'_>) -> Result<(), Fault> {
        let mut values = Vec::with_capacity(self.kinds.len());
        for (index, kind) in self.kinds.iter_mut().enumerate() {
            let value = match row.get_ref(index)? {
                ValueRef::Null => None,
                ValueRef::Integer(value) => {
                    *kind = Some(kind.unwrap_or(CellType::Integer));
                    Some(value.to_string().into_bytes())
                }
                ValueRef::Real(value) => {
                    let is_number = value.is_finite() && *kind != Some(CellType::Text);
                    *kind = Some(match is_number {
                        true => CellType::Fraction,
                        false => CellType::Text,
                    });
                    Some(value.to_string().into_bytes())
                }
                ValueRef::Text(value) | ValueRef::Blob(value) => {
                    *kind = Some(CellType::Text);
                    Some(value.to_vec())
                }
            };
            self.bytes += value.as_ref().map_or(1, |value| value.len() + 9);
            values.push(value);
        }
        self.rows.push(values);
        match self.bytes > RESULT_BYTES_MAX {
            true => Err(Fault::too_large("The result is too large; use LIMIT")),
            false => Ok(()),
        }
    }

    fn finish(self, names: Vec<String>) -> ResultRows {
        let columns = names.into_iter().zip(&self.kinds);
        let columns = columns.map(|(name, kind)| (name, kind.unwrap_or(CellType::Text)));
        ResultRows {
            columns: columns.collect(),
            rows: self.rows,
        }
    }
}

/// A database with the tables that a text names, all empty. SQLite looks names up in the current schema
/// first.
fn open(asker: &Asker, text: &str) -> Result<Connection, Fault> {
    let database = Connection::open_in_memory()?;
    database.execute_batch(&format!(
        "PRAGMA temp_store = MEMORY; PRAGMA hard_heap_limit = {HEAP_BYTES_MAX};"
    ))?;
    let homes = KEPT.iter().map(|kept| kept.home);
    let homes = homes.map(|home| format!("ATTACH ':memory:' AS \"{home}\";\n"));
    let mut definitions: String = homes.collect();
    let mut schemas = Schema::ALL;
    schemas.sort_by_key(|schema| *schema != asker.schema);
    for schema in schemas {
        // SQLite has a schema of this name from the start.
        if schema != Schema::Main {
            definitions.push_str(&format!("ATTACH ':memory:' AS \"{}\";\n", schema.name()));
        }
    }
    let text = text.to_ascii_lowercase();
    for table in TABLES {
        if !text.contains(&table.name().to_ascii_lowercase()) {
            continue;
        }
        let columns = table.columns();
        let columns: Vec<_> = columns
            .iter()
            .map(|column| format!("\"{}\" {}", column.name, column.sqlite()))
            .collect();
        definitions.push_str(&format!(
            "CREATE TABLE \"{}\".\"{}\" ({});\n",
            table.home(),
            table.name(),
            columns.join(", ")
        ));
    }
    database.execute_batch(&definitions)?;
    functions::define(&database, asker)?;
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 2 << 20),
        (Limit::SQLITE_LIMIT_COLUMN, 500),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
        (Limit::SQLITE_LIMIT_VDBE_OP, 250_000),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LIKE_BYTES_MAX),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        database.set_limit(limit, value)?;
    }
    Ok(database)
}

/// SQLite functions that access things outside the database.
const FORBIDDEN: [&str; 2] = ["load_extension", "fts3_tokenizer"];

/// Table-valued functions that statements may use.
const MADE: [&str; 2] = ["json_each", "json_tree"];

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a statement may do an action. Tables of the registry that it reads are noted in `read`.
fn authorize(context: &AuthContext<'_>, read: &Mutex<BTreeSet<usize>>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Function { function_name } => {
            match FORBIDDEN
                .iter()
                .any(|it| function_name.eq_ignore_ascii_case(it))
            {
                true => Authorization::Deny,
                false => Authorization::Allow,
            }
        }
        AuthAction::Read {
            table_name,
            column_name,
        } => {
            // If no column of a table is read, SQLite may not name its schema.
            let schema = context.database_name.and_then(Schema::named);
            let found = table_indexes(schema, table_name);
            lock(read).extend(&found);
            // SQLite reports the name of a `WITH` table only if no column of it is read.
            let is_own = column_name.is_empty();
            // Tables behind a view in an attached database.
            let kept = context.database_name.and_then(KeptDatabase::named);
            let is_kept = kept.is_some_and(|kept| kept.is_read_by(context.accessor));
            match !found.is_empty() || is_own || is_kept || MADE.contains(&table_name) {
                true => Authorization::Allow,
                false => Authorization::Deny,
            }
        }
        _ => Authorization::Deny,
    }
}

/// The indexes of the tables of a name in the registry; there can be several only if the schema is unknown.
fn table_indexes(schema: Option<Schema>, name: &str) -> Vec<usize> {
    let is_it = |it: &&dyn Table| {
        it.name().eq_ignore_ascii_case(name) && schema.is_none_or(|schema| schema == it.schema())
    };
    let tables = TABLES.iter().enumerate();
    let found = tables.filter_map(|(index, table)| is_it(table).then_some(index));
    found.collect()
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
        }))
    }
}

#[cfg(test)]
mod tests;
