//! UPDATE and DELETE.

use std::rc::Rc;

use wire::Capabilities;

use super::super::ast::{Delete, Expr, Name, Update, WaitPolicy};
use super::super::error::SqlResult;
use super::super::evaluate::{Context, Place};
use super::super::locks::{Mode, Resource, Span};
use super::super::output::{Done, Outcome};
use super::super::session::Session;
use super::super::table::{Row, Table};
use super::super::value::Value;
use super::rows::{Found, Search};
use super::tables::Use;

impl Session {
    /// UPDATE.
    pub(super) async fn update(
        &mut self,
        update: &Update,
        parameters: &[Value],
    ) -> SqlResult<Outcome> {
        let table = self.open_table(&update.table, Use::Write).await?;
        let early = self.compute_early(&update.early, parameters).await?;
        let alias = update.table.alias.as_ref().unwrap_or(&update.table.name);
        let context = Context {
            table: Some((&table, alias)),
            ..Context::bare(parameters, &early)
        };
        let mut places = Vec::with_capacity(update.assignments.len());
        for (name, value) in &update.assignments {
            let place = context.at(match self.family().is_mariadb() {
                true => Place::Update,
                false => Place::Fields,
            });
            places.push((self.find_column(&place, None, name)?, value));
            self.check_columns(value, &place)?;
        }
        let search = Search {
            table: &table,
            filter: update.filter.as_ref(),
            context,
        };
        let mut found = self
            .lock_rows(&search, Mode::Exclusive, WaitPolicy::Wait)
            .await?;
        self.sort(&mut found, &update.order, &context, |it| &it.1)?;
        let (_, count) = self.limits(update.limit.as_ref(), &context)?;
        found.truncate(count);
        let matched = found.len() as u64;
        let id_before = self.diagnostics.last_insert_id;
        let mut changed = 0;
        for (at, row) in found.iter().enumerate() {
            let values = self.changed_values(&table, &places, &row.1, &context, at + 1)?;
            if values[..] != row.1[..] {
                changed += 1;
                self.replace_row(&table, row, Rc::from(values)).await?;
            }
        }
        let finds = self.login.capabilities.contains(Capabilities::FOUND_ROWS);
        let set_id = self.diagnostics.last_insert_id;
        Ok(Outcome::Done(Done {
            affected: if finds { matched } else { changed },
            insert_id: if set_id == id_before { 0 } else { set_id },
            info: format!(
                "Rows matched: {matched}  Changed: {changed}  Warnings: {}",
                self.diagnostics.warnings()
            ),
        }))
    }

    fn changed_values(
        &mut self,
        table: &Table,
        places: &[(usize, &Expr)],
        row: &[Value],
        context: &Context<'_>,
        number: usize,
    ) -> SqlResult<Vec<Value>> {
        let mut values = row.to_vec();
        for (place, value) in places {
            let value = self.evaluate(value, &context.of_row(&values))?;
            if let Some(column) = table.shape.columns.get(*place) {
                values[*place] = self.store(table, column, value, number)?;
            }
        }
        Ok(values)
    }

    /// Puts a row in place of another, which may have another key.
    async fn replace_row(
        &mut self,
        table: &Rc<Table>,
        (key, before): &Found,
        row: Row,
    ) -> SqlResult<()> {
        let same_key = table
            .shape
            .key
            .iter()
            .all(|it| row.get(*it) == before.get(*it));
        if same_key {
            self.change_row(table, key, Some(row));
            return Ok(());
        }
        let new_key = table.key_of(&row);
        if !self.is_temporary(table) {
            let resource = Resource::Row(table.id, new_key.clone());
            self.lock(
                &resource,
                Mode::Exclusive,
                Span::Transaction,
                WaitPolicy::Wait,
            )
            .await?;
        }
        if new_key != *key && table.read(&new_key, self.current_view()).is_some() {
            return Err(self.duplicate(table, &row));
        }
        self.change_row(table, key, None);
        self.change_row(table, &new_key, Some(row));
        Ok(())
    }

    /// DELETE.
    pub(super) async fn delete(
        &mut self,
        delete: &Delete,
        parameters: &[Value],
    ) -> SqlResult<Outcome> {
        let table = self.open_table(&delete.table, Use::Write).await?;
        let early = self.compute_early(&delete.early, parameters).await?;
        let alias: &Name = delete.table.alias.as_ref().unwrap_or(&delete.table.name);
        let context = Context {
            table: Some((&table, alias)),
            ..Context::bare(parameters, &early)
        };
        let search = Search {
            table: &table,
            filter: delete.filter.as_ref(),
            context,
        };
        let mut found = self
            .lock_rows(&search, Mode::Exclusive, WaitPolicy::Wait)
            .await?;
        self.sort(&mut found, &delete.order, &context, |it| &it.1)?;
        let (_, count) = self.limits(delete.limit.as_ref(), &context)?;
        found.truncate(count);
        for (key, _) in &found {
            self.change_row(&table, key, None);
        }
        Ok(Outcome::Done(Done {
            affected: found.len() as u64,
            ..Done::default()
        }))
    }
}
