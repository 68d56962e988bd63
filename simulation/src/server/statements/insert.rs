//! INSERT.

use std::rc::Rc;

use super::super::ast::{Expr, Insert, Name, WaitPolicy};
use super::super::error::{SqlError, SqlResult};
use super::super::evaluate::{Context, Place};
use super::super::locks::{Mode, Resource, Span};
use super::super::output::{Done, Outcome};
use super::super::session::Session;
use super::super::table::{Column, Key, Row, Table};
use super::super::value::Value;
use super::tables::Use;

/// What has become of the rows so far.
#[derive(Default)]
struct Tally {
    inserted: u64,
    changed: u64,
    passed_over: u64,
    /// The first number that the table has made.
    first_number: u64,
    /// The number of a row that brought its own.
    own_number: u64,
    /// The number of a row that was changed instead.
    changed_number: u64,
}

impl Session {
    /// INSERT.
    pub(super) async fn insert(
        &mut self,
        insert: &Insert,
        parameters: &[Value],
    ) -> SqlResult<Outcome> {
        let table = self.open_table(&insert.table, Use::Write).await?;
        let early = self.compute_early(&insert.early, parameters).await?;
        let context = Context {
            table: Some((&table, &insert.table.name)),
            ..Context::bare(parameters, &early)
        };
        let places = self.places(insert, &table, &context)?;
        if self.server.state.is_full.get() {
            return Err(self.family().table_full(&table.shape.name));
        }
        let fits = |values: &Vec<Option<Expr>>| {
            values.len() == places.len() || values.is_empty() && insert.columns.is_empty()
        };
        if let Some(at) = insert.rows.iter().position(|it| !fits(it)) {
            return Err(self.family().value_count(at + 1));
        }
        let mut tally = Tally::default();
        for (at, values) in insert.rows.iter().enumerate() {
            let row = self.new_row(&table, &places, values, &context, at + 1, &mut tally)?;
            self.put_row(insert, &table, row, &context, &mut tally)
                .await?;
        }
        Ok(Outcome::Done(self.inserted(insert, &tally)))
    }

    /// The columns that values are for.
    fn places(
        &self,
        insert: &Insert,
        table: &Table,
        context: &Context<'_>,
    ) -> SqlResult<Vec<usize>> {
        if insert.columns.is_empty() {
            return Ok((0..table.shape.columns.len()).collect());
        }
        let context = context.at(match self.family().is_mariadb() {
            true => Place::Insert,
            false => Place::Fields,
        });
        let place = |name: &Name| self.find_column(&context, None, name);
        insert.columns.iter().map(place).collect()
    }

    fn new_row(
        &mut self,
        table: &Table,
        places: &[usize],
        values: &[Option<Expr>],
        context: &Context<'_>,
        number: usize,
        tally: &mut Tally,
    ) -> SqlResult<Row> {
        let columns = &table.shape.columns;
        let mut given: Vec<Option<Value>> = vec![None; columns.len()];
        for (place, value) in places.iter().zip(values) {
            let value = match value {
                Some(value) => Some(self.evaluate(value, context)?),
                None => None,
            };
            if let Some(given) = given.get_mut(*place) {
                *given = value;
            }
        }
        let mut row = vec![Value::Null; columns.len()];
        // A number is only used up if everything else is right.
        for is_numbered in [false, true] {
            for (at, column) in columns.iter().enumerate() {
                if column.auto_increment == is_numbered {
                    let value = given.get_mut(at).and_then(Option::take);
                    row[at] = self.new_value(table, column, value, number, tally)?;
                }
            }
        }
        Ok(Rc::from(row))
    }

    fn new_value(
        &mut self,
        table: &Table,
        column: &Column,
        value: Option<Value>,
        number: usize,
        tally: &mut Tally,
    ) -> SqlResult<Value> {
        if column.auto_increment {
            return self.numbered(table, column, value, number, tally);
        }
        match (value, &column.default) {
            (Some(value), _) => self.store(table, column, value, number),
            (None, Some(default)) => Ok(default.clone()),
            (None, None) if !column.not_null => Ok(Value::Null),
            (None, None) => {
                let error = self.family().no_default(&column.name);
                match self.settings.is_strict {
                    true => Err(error),
                    false => {
                        self.diagnostics.warn(error.number, error.text);
                        self.store(table, column, Value::text(""), number)
                    }
                }
            }
        }
    }

    /// The value of a column with AUTO_INCREMENT.
    fn numbered(
        &mut self,
        table: &Table,
        column: &Column,
        value: Option<Value>,
        row: usize,
        tally: &mut Tally,
    ) -> SqlResult<Value> {
        let given = value.filter(|it| !it.is_null());
        let keeps_zero = self
            .variable_text("sql_mode")
            .contains("NO_AUTO_VALUE_ON_ZERO");
        let given = given.filter(|it| keeps_zero || it.to_double() != 0.0);
        if let Some(value) = given {
            let stored = self.store(table, column, value, row)?;
            let number = u64::try_from(stored.to_int()).unwrap_or(0);
            table.note_number(number);
            tally.own_number = number;
            return Ok(stored);
        }
        let number = match self.diagnostics.next_insert_id.take() {
            Some(number) => {
                table.note_number(number);
                number
            }
            None => table.take_number(),
        };
        if tally.first_number == 0 {
            tally.first_number = number;
        }
        self.store(table, column, Value::Unsigned(number), row)
    }

    async fn put_row(
        &mut self,
        insert: &Insert,
        table: &Rc<Table>,
        row: Row,
        context: &Context<'_>,
        tally: &mut Tally,
    ) -> SqlResult<()> {
        let key = table.key_of(&row);
        let is_own = self.is_temporary(table);
        if !is_own {
            let id = self.control.id;
            let gaps = Resource::Gaps(table.id);
            if !self.server.locks.is_free(id, &gaps, Mode::Insert) {
                self.lock(&gaps, Mode::Insert, Span::Transaction, WaitPolicy::Wait)
                    .await?;
            }
            let resource = Resource::Row(table.id, key.clone());
            self.lock(
                &resource,
                Mode::Exclusive,
                Span::Transaction,
                WaitPolicy::Wait,
            )
            .await?;
        }
        let Some(there) = table.read(&key, self.current_view()) else {
            self.change_row(table, &key, Some(row));
            tally.inserted += 1;
            return Ok(());
        };
        let error = self.duplicate(table, &row);
        if !insert.on_duplicate.is_empty() {
            return self.update_duplicate(insert, table, (&key, &there), &row, context, tally);
        }
        if insert.ignore {
            self.diagnostics.warn(error.number, error.text);
            tally.passed_over += 1;
            return Ok(());
        }
        Err(error)
    }

    /// The error that a key is there already.
    pub(super) fn duplicate(&self, table: &Table, row: &[Value]) -> SqlError {
        let parts = table.shape.key.iter().filter_map(|it| row.get(*it));
        let parts: Vec<String> = parts.map(Value::to_text).collect();
        let key = match self.family().is_mariadb() {
            true => "PRIMARY".to_owned(),
            false => format!("{}.PRIMARY", table.shape.name),
        };
        self.family().duplicate(parts.join("-"), key)
    }

    /// ON DUPLICATE KEY UPDATE of a row that is there.
    fn update_duplicate(
        &mut self,
        insert: &Insert,
        table: &Rc<Table>,
        (key, there): (&Key, &Row),
        refused: &Row,
        context: &Context<'_>,
        tally: &mut Tally,
    ) -> SqlResult<()> {
        let mut values = there.to_vec();
        for (name, value) in &insert.on_duplicate {
            let place = self.find_column(&context.at(Place::Update), None, name)?;
            let inner = Context {
                refused: Some(refused),
                ..context.of_row(&values)
            };
            let value = self.evaluate(value, &inner)?;
            if let Some(column) = table.shape.columns.get(place) {
                values[place] = self.store(table, column, value, 1)?;
            }
        }
        if values[..] != there[..] {
            if let Some(number) = table.numbered().and_then(|at| values.get(at)) {
                tally.changed_number = u64::try_from(number.to_int()).unwrap_or(0);
            }
            self.change_row(table, key, Some(Rc::from(values)));
            tally.changed += 1;
        }
        Ok(())
    }

    fn inserted(&mut self, insert: &Insert, tally: &Tally) -> Done {
        if tally.first_number > 0 && tally.inserted > 0 {
            self.diagnostics.last_insert_id = tally.first_number;
        }
        let insert_id = match (tally.inserted, tally.first_number) {
            (0, _) => tally.changed_number,
            (_, 0) => tally.own_number,
            (_, first) => first,
        };
        let rows = insert.rows.len() as u64;
        let info = match rows {
            0 | 1 => String::new(),
            _ => format!(
                "Records: {rows}  Duplicates: {}  Warnings: {}",
                tally.passed_over + tally.changed,
                self.diagnostics.warnings()
            ),
        };
        Done {
            affected: tally.inserted + 2 * tally.changed,
            insert_id,
            info,
        }
    }
}
