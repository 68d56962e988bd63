//! SELECT.

use std::rc::Rc;

use super::super::ast::{Aggregate, Early, Expr, Locking, Name, Select, SelectItem, TableName};
use super::super::error::{SqlError, SqlResult};
use super::super::evaluate::{Computed, Context, Place};
use super::super::locks::Mode;
use super::super::output::{Outcome, Rows};
use super::super::result_column::ResultColumn;
use super::super::result_type::ResultType;
use super::super::session::Session;
use super::super::settings::Isolation;
use super::super::table::{Row, Table};
use super::super::value::Value;
use super::rows::Search;
use super::tables::Use;

impl Session {
    /// SELECT.
    pub(super) async fn select(
        &mut self,
        select: &Select,
        parameters: &[Value],
    ) -> SqlResult<Outcome> {
        let rows = self.select_rows(select, parameters).await?;
        self.diagnostics.found_rows = rows.rows.len() as u64;
        if select.into.is_empty() {
            return Ok(Outcome::Rows(rows));
        }
        self.select_into(&select.into, &rows)
    }

    /// SELECT … INTO @a.
    fn select_into(&mut self, names: &[Name], rows: &Rows) -> SqlResult<Outcome> {
        let family = self.family();
        if names.len() != rows.columns.len() {
            let text = "The used SELECT statements have a different number of columns";
            return Err(SqlError::new(family, 1222, text));
        }
        match &rows.rows[..] {
            [] => {
                let text = "No data - zero rows fetched, selected, or processed";
                self.diagnostics.warn(1329, text);
            }
            [row] => {
                for (name, value) in names.iter().zip(row.iter()) {
                    self.set_user_variable(name, value.clone());
                }
                self.tracker.changed();
            }
            _ => {
                let text = "Result consisted of more than one row";
                return Err(SqlError::new(family, 1172, text));
            }
        }
        Ok(Outcome::Done(super::super::output::Done {
            affected: rows.rows.len() as u64,
            ..Default::default()
        }))
    }

    /// The rows of a SELECT.
    pub(super) async fn select_rows(
        &mut self,
        select: &Select,
        parameters: &[Value],
    ) -> SqlResult<Rows> {
        let early = match select.early.is_empty() {
            true => Vec::new(),
            false => self.compute_for_rows(select, parameters).await?,
        };
        let bare = Context::bare(parameters, &early);
        let Some(name) = &select.from else {
            return self.select_without_table(select, &bare);
        };
        let alias = name.alias.as_ref().unwrap_or(&name.name);
        let table = self.table_to_read(name, select.locking).await?;
        let context = Context {
            table: Some((&table, alias)),
            ..bare
        };
        let search = Search {
            table: &table,
            filter: select.filter.as_ref(),
            context,
        };
        let mut rows = self.matching(select, name, &search).await?;
        let columns = self.columns(select, &context, alias)?;
        self.check_used_columns(select, &context)?;
        if self.diagnostics.no_index_used {
            let is_read = match self.family().is_mariadb() {
                true => reads_end_of_index(select, &table),
                false => reads_index(select, &table),
            };
            self.diagnostics.no_index_used = !is_read;
        }
        if has_aggregates(select) {
            self.check_groups(select, &table)?;
            let group = Context {
                group: Some(&rows),
                ..context
            };
            let row = self.project(select, &group)?;
            return Ok(Rows {
                columns,
                rows: vec![row],
            });
        }
        self.sort(&mut rows, &select.order, &context, |it| it)?;
        let (offset, count) = self.select_limits(select, &context)?;
        self.diagnostics.no_index_used &= count > 0;
        let mut projected = Vec::with_capacity(rows.len().min(count));
        for row in rows.iter().skip(offset).take(count) {
            projected.push(match is_whole(select) {
                true => Rc::clone(row),
                false => self.project(select, &context.of_row(row))?,
            });
        }
        Ok(Rows {
            columns,
            rows: projected,
        })
    }

    /// What is computed before the rows. If a function fails that waits, the columns were sent already.
    async fn compute_for_rows(
        &mut self,
        select: &Select,
        parameters: &[Value],
    ) -> SqlResult<Vec<Computed>> {
        let computed = self.compute_early(&select.early, parameters).await;
        let waits = select.early.iter().any(|it| matches!(it, Early::Call(..)));
        let is_late = computed
            .as_ref()
            .is_err_and(|error| waits || error.number == 1242);
        if is_late && select.from.is_none() {
            let kinds = self.kinds_of_early(&select.early)?;
            let bare = Context::bare(parameters, &kinds);
            self.sent_columns = self.columns(select, &bare, &Rc::from(""))?;
        }
        computed
    }

    /// The types of what is computed before the rows, without the values.
    fn kinds_of_early(&mut self, early: &[Early]) -> SqlResult<Vec<Computed>> {
        let mut kinds = Vec::with_capacity(early.len());
        for early in early {
            let small = ResultType::small(self.family(), 0);
            let kind = match early {
                Early::Call(..) => small,
                Early::Subquery(select) => {
                    let columns = self.columns_of_select(select)?;
                    columns.first().map_or(small, |it| it.kind)
                }
            };
            let value = Value::Null;
            kinds.push(Computed { value, kind });
        }
        Ok(kinds)
    }

    async fn table_to_read(&mut self, name: &TableName, locking: Locking) -> SqlResult<Rc<Table>> {
        if self.is_system(name) {
            return self.system_table(name);
        }
        let how = match locking {
            Locking::None => Use::Read,
            Locking::Share(_) => Use::ReadAndLock,
            Locking::Update(_) => {
                if !self.is_temporary_name(name) {
                    self.server.check_read_only(self.is_administrator())?;
                }
                Use::ReadAndLock
            }
        };
        self.open_table(name, how).await
    }

    /// The rows that WHERE lets pass, locked if that is asked for.
    async fn matching(
        &mut self,
        select: &Select,
        name: &TableName,
        search: &Search<'_>,
    ) -> SqlResult<Vec<Row>> {
        let is_serializable = self.transaction.isolation == Isolation::Serializable;
        let shares = is_serializable && self.transaction.is_open();
        let (mode, policy) = match select.locking {
            Locking::Update(policy) => (Mode::Exclusive, policy),
            Locking::Share(policy) => (Mode::Shared, policy),
            Locking::None if shares => (Mode::Shared, super::super::ast::WaitPolicy::Wait),
            Locking::None => {
                let view = match self.is_system(name) {
                    true => self.current_view(),
                    false => self.view(),
                };
                return self.read_rows(search, view);
            }
        };
        let found = self.lock_rows(search, mode, policy).await?;
        Ok(found.into_iter().map(|it| it.1).collect())
    }

    fn select_without_table(&mut self, select: &Select, context: &Context<'_>) -> SqlResult<Rows> {
        if select.columns.contains(&SelectItem::All) {
            return Err(SqlError::new(self.family(), 1096, "No tables used"));
        }
        let is_chosen = match &select.filter {
            Some(filter) => {
                let context = context.at(Place::Where);
                self.evaluate(filter, &context)?.is_true() == Some(true)
            }
            None => true,
        };
        let (offset, count) = self.select_limits(select, context)?;
        let mut rows = Vec::new();
        let single: [Row; 1] = [Rc::from([])];
        let context = match has_aggregates(select) {
            true => Context {
                group: Some(if is_chosen { &single } else { &[] }),
                ..*context
            },
            false => *context,
        };
        if (is_chosen || has_aggregates(select)) && offset == 0 && count > 0 {
            let row = self.project(select, &context);
            if row.as_ref().is_err_and(|error| error.number == 1690) {
                self.sent_columns = self.columns(select, &context, &Rc::from(""))?;
            }
            rows.push(row?);
        } else {
            self.check_used_columns(select, &context)?;
        }
        // The type of a variable is that after the statement.
        let columns = self.columns(select, &context, &Rc::from(""))?;
        Ok(Rows { columns, rows })
    }

    /// A column beside an aggregate is refused by ONLY_FULL_GROUP_BY.
    fn check_groups(&self, select: &Select, table: &Table) -> SqlResult<()> {
        if self.family().is_mariadb()
            || !self
                .variable_text("sql_mode")
                .contains("ONLY_FULL_GROUP_BY")
        {
            return Ok(());
        }
        for (item, number) in select.columns.iter().zip(1..) {
            let mut found = Vec::new();
            if let SelectItem::Value(value, _) = item {
                outside_aggregates(value, &mut found);
            }
            if let Some(name) = found.first() {
                let shape = &table.shape;
                let text = format!(
                    "In aggregated query without GROUP BY, expression #{number} of SELECT list contains nonaggregated \
                     column '{}.{}.{name}'; this is incompatible with sql_mode=only_full_group_by",
                    shape.schema, shape.name
                );
                return Err(SqlError::new(self.family(), 1140, text));
            }
        }
        Ok(())
    }

    /// LIMIT, or `sql_select_limit` if there is none.
    fn select_limits(
        &mut self,
        select: &Select,
        context: &Context<'_>,
    ) -> SqlResult<(usize, usize)> {
        if select.limit.is_none() && self.settings.select_limit != u64::MAX {
            let limit = usize::try_from(self.settings.select_limit).unwrap_or(usize::MAX);
            return Ok((0, limit));
        }
        self.limits(select.limit.as_ref(), context)
    }

    fn check_used_columns(&self, select: &Select, context: &Context<'_>) -> SqlResult<()> {
        for item in &select.columns {
            if let SelectItem::Value(value, _) = item {
                self.check_columns(value, context)?;
            }
        }
        let context = context.at(Place::Order);
        let mut order = select.order.iter();
        order.try_for_each(|it| self.check_columns(&it.0, &context))
    }

    fn project(&mut self, select: &Select, context: &Context<'_>) -> SqlResult<Row> {
        let mut values = Vec::with_capacity(select.columns.len());
        for item in &select.columns {
            match item {
                SelectItem::All => values.extend(context.row.unwrap_or_default().iter().cloned()),
                SelectItem::Value(value, _) => values.push(self.evaluate(value, context)?),
            }
        }
        Ok(Rc::from(values))
    }

    /// The columns that a SELECT will have, before it is executed.
    ///
    /// # Errors
    /// 1046, 1054, 1146.
    pub fn columns_of_select(&mut self, select: &Select) -> SqlResult<Vec<ResultColumn>> {
        let bare = Context::bare(&[], &[]);
        let Some(name) = &select.from else {
            return self.columns(select, &bare, &Rc::from(""));
        };
        let table = match self.is_system(name) {
            true => self.system_table(name)?,
            false => self.find_table(name)?,
        };
        let alias = name.alias.as_ref().unwrap_or(&name.name);
        let context = Context {
            table: Some((&table, alias)),
            ..bare
        };
        if let Some(filter) = &select.filter {
            self.check_columns(filter, &context.at(Place::Where))?;
        }
        self.check_used_columns(select, &context)?;
        self.columns(select, &context, alias)
    }

    /// The columns of the result.
    fn columns(
        &self,
        select: &Select,
        context: &Context<'_>,
        alias: &Name,
    ) -> SqlResult<Vec<ResultColumn>> {
        let mut columns = Vec::with_capacity(select.columns.len());
        for item in &select.columns {
            match (item, context.table) {
                (SelectItem::All, Some((table, _))) => {
                    let all = table.shape.columns.iter();
                    columns
                        .extend(all.map(|it| ResultColumn::of_table(table, alias, it, &it.name)));
                }
                (SelectItem::All, None) => {}
                (SelectItem::Value(Expr::Column(of, name), title), Some((table, _))) => {
                    let at = self.find_column(context, of.as_deref(), name)?;
                    let column = table.shape.columns.get(at);
                    columns
                        .extend(column.map(|it| ResultColumn::of_table(table, alias, it, title)));
                }
                (SelectItem::Value(value, title), _) => {
                    let kind = self.type_of(value, context);
                    columns.push(ResultColumn::new(Rc::clone(title), kind));
                }
            }
        }
        Ok(columns)
    }
}

/// `SELECT *`
fn is_whole(select: &Select) -> bool {
    matches!(&select.columns[..], [SelectItem::All])
}

fn has_aggregates(select: &Select) -> bool {
    select.columns.iter().any(|it| match it {
        SelectItem::All => false,
        SelectItem::Value(value, _) => is_aggregate(value),
    })
}

fn is_aggregate(of: &Expr) -> bool {
    match of {
        Expr::Aggregate(..) => true,
        Expr::Not(inner)
        | Expr::Negative(inner)
        | Expr::IsNull(inner, _)
        | Expr::Collate(inner, _)
        | Expr::AssignUser(_, inner) => is_aggregate(inner),
        Expr::Binary(_, left, right) => is_aggregate(left) || is_aggregate(right),
        Expr::Call(_, arguments) => arguments.iter().any(is_aggregate),
        _ => false,
    }
}

/// The columns of an expression that stand outside of aggregates.
fn outside_aggregates<'a>(of: &'a Expr, found: &mut Vec<&'a Name>) {
    match of {
        Expr::Column(_, name) => found.push(name),
        Expr::Not(inner)
        | Expr::Negative(inner)
        | Expr::IsNull(inner, _)
        | Expr::Collate(inner, _)
        | Expr::AssignUser(_, inner) => outside_aggregates(inner, found),
        Expr::Binary(_, left, right) | Expr::Like(left, right, _) => {
            outside_aggregates(left, found);
            outside_aggregates(right, found);
        }
        Expr::In(inner, list, _) => {
            outside_aggregates(inner, found);
            list.iter().for_each(|it| outside_aggregates(it, found));
        }
        Expr::Call(_, list) => list.iter().for_each(|it| outside_aggregates(it, found)),
        _ => {}
    }
}

/// The columns that an aggregate or an expression looks at.
fn used<'a>(of: &'a Expr, found: &mut Vec<&'a Name>) {
    match of {
        Expr::Aggregate(_, Some(inner)) => outside_aggregates(inner, found),
        other => outside_aggregates(other, found),
    }
}

/// Whether MySQL reads the primary key as an index: if that has all columns that are used, or the wanted order.
fn reads_index(select: &Select, table: &Table) -> bool {
    let is_key = |name: &Name| {
        table
            .column(name)
            .is_some_and(|it| table.shape.key.contains(&it))
    };
    let mut names = Vec::new();
    for item in &select.columns {
        match item {
            SelectItem::All => names.extend(table.shape.columns.iter().map(|it| &it.name)),
            SelectItem::Value(value, _) => used(value, &mut names),
        }
    }
    select.filter.iter().for_each(|it| used(it, &mut names));
    select.order.iter().for_each(|it| used(&it.0, &mut names));
    let is_ordered = match &select.order[..] {
        [(Expr::Column(_, name), _)] => is_key(name),
        _ => false,
    };
    !table.shape.key.is_empty() && (names.iter().all(|it| is_key(it)) || is_ordered)
}

/// Whether MariaDB looks at an end of the primary key only: `SELECT MAX(id) FROM t`.
fn reads_end_of_index(select: &Select, table: &Table) -> bool {
    let first = table.shape.key.first().copied();
    let is_end = |it: &SelectItem| match it {
        SelectItem::Value(Expr::Aggregate(Aggregate::Max | Aggregate::Min, Some(of)), _) => {
            matches!(&**of, Expr::Column(_, name) if table.column(name) == first)
        }
        _ => false,
    };
    first.is_some() && select.filter.is_none() && select.columns.iter().all(is_end)
}
