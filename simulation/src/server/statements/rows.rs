//! Which rows a statement is about: by their keys or by a look at all of them, with or without locks.

use std::rc::Rc;

use super::super::ast::{Expr, Limit, Operator, WaitPolicy};
use super::super::error::SqlResult;
use super::super::evaluate::{Context, Place};
use super::super::locks::{Mode, Resource, Span};
use super::super::session::Session;
use super::super::settings::Isolation;
use super::super::table::{Key, Row, Table, View};
use super::super::value::Value;

/// A row that was found.
pub type Found = (Key, Row);

/// What rows are looked for.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// In which table.
    pub table: &'a Rc<Table>,
    /// By what they are chosen.
    pub filter: Option<&'a Expr>,
    /// What the filter may refer to.
    pub context: Context<'a>,
}

impl Session {
    /// The rows that a view shows.
    ///
    /// # Errors
    /// What the filter says.
    pub fn read_rows(&mut self, search: &Search<'_>, view: View) -> SqlResult<Vec<Row>> {
        let table = search.table;
        let mut found = Vec::new();
        match self.keys(search)? {
            Some(keys) => found.extend(keys.iter().filter_map(|key| table.read(key, view))),
            None => table.scan(view, |_, row| found.push(Rc::clone(row))),
        }
        let Some(filter) = search.filter else {
            return Ok(found);
        };
        let context = search.context.at(Place::Where);
        let mut chosen = Vec::with_capacity(found.len());
        for row in found {
            let is_chosen = self.evaluate(filter, &context.of_row(&row))?.is_true();
            if is_chosen == Some(true) {
                chosen.push(row);
            }
        }
        self.check_names(search, chosen.is_empty())?;
        Ok(chosen)
    }

    /// The newest versions of the rows, each locked. All rows that are looked at stay locked.
    ///
    /// # Errors
    /// What the filter says, and what locks end with.
    pub async fn lock_rows(
        &mut self,
        search: &Search<'_>,
        mode: Mode,
        policy: WaitPolicy,
    ) -> SqlResult<Vec<Found>> {
        let table = search.table;
        let is_own = self.is_temporary(table);
        let keys = self.keys(search)?;
        let has_gaps = matches!(
            self.transaction.isolation,
            Isolation::RepeatableRead | Isolation::Serializable
        );
        let is_scan = keys.is_none();
        let keys = keys.unwrap_or_else(|| table.keys());
        let mut found = Vec::with_capacity(keys.len());
        let mut has_missed = is_scan;
        for key in keys {
            let resource = Resource::Row(table.id, key.clone());
            // What the transaction has locked before stays locked.
            let is_new = has_gaps || !self.server.locks.has(self.control.id, &resource);
            if !is_own
                && !self
                    .lock(&resource, mode, Span::Transaction, policy)
                    .await?
            {
                continue;
            }
            let Some(row) = table.read(&key, self.current_view()) else {
                has_missed = true;
                continue;
            };
            let context = search.context.at(Place::Where);
            let is_chosen = match search.filter {
                Some(filter) => self.evaluate(filter, &context.of_row(&row))?.is_true(),
                None => Some(true),
            };
            if is_chosen == Some(true) {
                found.push((key, row));
            } else if !has_gaps && is_new {
                self.server
                    .locks
                    .release(self.control.id, &resource, Span::Transaction);
            }
        }
        if has_missed && has_gaps && !is_own {
            let gaps = Resource::Gaps(table.id);
            self.lock(&gaps, Mode::Shared, Span::Transaction, WaitPolicy::Wait)
                .await?;
        }
        self.check_names(search, found.is_empty())?;
        Ok(found)
    }

    /// If no row was looked at, nobody has seen yet whether the filter's columns are there.
    fn check_names(&mut self, search: &Search<'_>, is_empty: bool) -> SqlResult<()> {
        let (Some(filter), true) = (search.filter, is_empty) else {
            return Ok(());
        };
        self.check_columns(filter, &search.context.at(Place::Where))
    }

    /// Whether all columns of an expression are there.
    ///
    /// # Errors
    /// 1054.
    pub fn check_columns(&self, of: &Expr, context: &Context<'_>) -> SqlResult<()> {
        match of {
            Expr::Column(table, name) => {
                self.find_column(context, table.as_deref(), name).map(drop)
            }
            Expr::Binary(_, left, right) | Expr::Like(left, right, _) => {
                self.check_columns(left, context)?;
                self.check_columns(right, context)
            }
            Expr::Not(inner)
            | Expr::Negative(inner)
            | Expr::IsNull(inner, _)
            | Expr::Collate(inner, _)
            | Expr::AssignUser(_, inner) => self.check_columns(inner, context),
            Expr::In(inner, list, _) => {
                self.check_columns(inner, context)?;
                list.iter()
                    .try_for_each(|it| self.check_columns(it, context))
            }
            Expr::Call(_, list) => list
                .iter()
                .try_for_each(|it| self.check_columns(it, context)),
            Expr::Aggregate(_, Some(inner)) => self.check_columns(inner, context),
            _ => Ok(()),
        }
    }

    /// The keys that a filter allows, if it names them; notes whether an index helps at all.
    fn keys(&mut self, search: &Search<'_>) -> SqlResult<Option<Vec<Key>>> {
        let shape = &search.table.shape;
        let Some(filter) = search.filter.filter(|_| !shape.key.is_empty()) else {
            self.diagnostics.no_index_used = true;
            return Ok(None);
        };
        let mut values: Vec<Option<Vec<Value>>> = vec![None; shape.key.len()];
        let mut helps = false;
        self.key_values(filter, search, &mut values, &mut helps)?;
        let Some(values) = values.into_iter().collect::<Option<Vec<_>>>() else {
            self.diagnostics.no_index_used = !helps;
            return Ok(None);
        };
        let mut keys: Vec<Key> = match &values[..] {
            [only] => only.iter().map(|it| Key::of(&[it])).collect(),
            // Several columns are looked up if each has one value.
            all => {
                let single = all.iter().map(|it| it.first().filter(|_| it.len() == 1));
                match single.collect::<Option<Vec<&Value>>>() {
                    Some(single) => vec![Key::of(&single)],
                    None => return Ok(None),
                }
            }
        };
        keys.sort();
        keys.dedup();
        Ok(Some(keys))
    }

    /// Finds `column = value` and `column IN (…)` among the conditions that must all hold.
    fn key_values(
        &mut self,
        filter: &Expr,
        search: &Search<'_>,
        values: &mut [Option<Vec<Value>>],
        helps: &mut bool,
    ) -> SqlResult<()> {
        let (column, list) = match filter {
            Expr::Binary(Operator::And, left, right) => {
                self.key_values(left, search, values, helps)?;
                return self.key_values(right, search, values, helps);
            }
            Expr::Binary(operator, left, right) => {
                let (column, value) = match (&**left, &**right) {
                    (Expr::Column(_, column), value) | (value, Expr::Column(_, column)) => {
                        (column, value)
                    }
                    _ => return Ok(()),
                };
                *helps |= self.is_first_of_key(search, column)
                    && (is_ordered(*operator) || self.excludes(*operator));
                if *operator != Operator::Equal {
                    return Ok(());
                }
                (column, std::slice::from_ref(value))
            }
            Expr::Not(inner) => {
                if let Expr::Binary(Operator::Equal, left, _) = &**inner
                    && let Expr::Column(_, column) = &**left
                {
                    *helps |=
                        self.is_first_of_key(search, column) && self.excludes(Operator::NotEqual);
                }
                return Ok(());
            }
            Expr::In(operand, list, false) => match &**operand {
                Expr::Column(_, column) => (column, &list[..]),
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        let table = search.table;
        let at = table.column(column);
        let part = table.shape.key.iter().position(|it| Some(*it) == at);
        let Some(place) = part.and_then(|part| values.get_mut(part)) else {
            return Ok(());
        };
        if !list.iter().all(is_constant) {
            return Ok(());
        }
        let mut all = Vec::with_capacity(list.len());
        for value in list {
            let value = self.evaluate(value, &search.context)?;
            all.push(self.as_key(table, at.unwrap_or_default(), value));
        }
        *place = Some(all);
        Ok(())
    }

    /// A value as the column of a key holds it, if it is to be equal.
    fn as_key(&self, table: &Table, column: usize, value: Value) -> Value {
        use super::super::ast::ColumnKind;
        let kind = table.shape.columns.get(column).map(|it| it.kind);
        match (kind, &value) {
            (Some(ColumnKind::Integer(..)), Value::Text(_) | Value::Double(_)) => {
                Value::Int(value.to_int())
            }
            _ => value,
        }
    }

    /// MySQL looks at both sides of a value by an index.
    fn excludes(&self, operator: Operator) -> bool {
        operator == Operator::NotEqual && !self.family().is_mariadb()
    }

    fn is_first_of_key(&self, search: &Search<'_>, column: &str) -> bool {
        let first = search.table.shape.key.first().copied();
        first.is_some() && search.table.column(column) == first
    }

    /// LIMIT's numbers: how many rows are passed over, and how many are given at most.
    ///
    /// # Errors
    /// What the expressions say.
    pub fn limits(
        &mut self,
        limit: Option<&Limit>,
        context: &Context<'_>,
    ) -> SqlResult<(usize, usize)> {
        let Some(limit) = limit else {
            return Ok((0, usize::MAX));
        };
        let mut number = |it: &Expr| -> SqlResult<usize> {
            let value = self.evaluate(it, context)?;
            Ok(match value {
                Value::Unsigned(number) => usize::try_from(number).unwrap_or(usize::MAX),
                other => usize::try_from(other.to_int()).unwrap_or(0),
            })
        };
        let offset = limit.offset.as_ref().map_or(Ok(0), &mut number)?;
        Ok((offset, number(&limit.count)?))
    }

    /// Sorts rows.
    ///
    /// # Errors
    /// What the expressions say.
    pub fn sort<T>(
        &mut self,
        rows: &mut Vec<T>,
        order: &[(Expr, bool)],
        context: &Context<'_>,
        row_of: impl Fn(&T) -> &[Value],
    ) -> SqlResult<()> {
        if order.is_empty() {
            return Ok(());
        }
        let context = context.at(Place::Order);
        let mut keyed = Vec::with_capacity(rows.len());
        for row in rows.drain(..) {
            let mut keys = Vec::with_capacity(order.len());
            for (expression, is_descending) in order {
                let value = self.evaluate(expression, &context.of_row(row_of(&row)))?;
                keys.push((value, *is_descending));
            }
            keyed.push((keys, row));
        }
        keyed.sort_by(|(one, _), (two, _)| {
            let pairs = one.iter().zip(two);
            let mut orderings = pairs.map(|((one, is_descending), (two, _))| {
                let ordering = one.compare(two);
                let ordering = ordering.unwrap_or_else(|| two.is_null().cmp(&one.is_null()));
                match is_descending {
                    true => ordering.reverse(),
                    false => ordering,
                }
            });
            orderings
                .find(|it| it.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        rows.extend(keyed.into_iter().map(|it| it.1));
        Ok(())
    }
}

/// Whether an index helps to find rows by such a comparison.
fn is_ordered(operator: Operator) -> bool {
    use Operator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NullSafeEqual};
    matches!(
        operator,
        Equal | NullSafeEqual | Less | LessOrEqual | Greater | GreaterOrEqual
    )
}

/// Whether an expression has the same value for all rows.
fn is_constant(of: &Expr) -> bool {
    match of {
        Expr::Literal(_)
        | Expr::Parameter(_)
        | Expr::User(_)
        | Expr::System(..)
        | Expr::Early(_) => true,
        Expr::Negative(inner) => is_constant(inner),
        Expr::Binary(_, left, right) => is_constant(left) && is_constant(right),
        Expr::Call(_, arguments) => arguments.iter().all(is_constant),
        _ => false,
    }
}
