//! INSERT, UPDATE, DELETE.

use sql::TokenKind;

use super::super::ast::{Delete, Expr, Insert, Name, Statement, Update};
use super::super::error::SqlResult;
use super::Parser;

/// Columns and the rows of their values.
type Rows = (Vec<Name>, Vec<Vec<Option<Expr>>>);

impl Parser<'_> {
    pub(super) fn insert(&mut self) -> SqlResult<Statement> {
        self.expect("insert")?;
        let ignore = self.eat("ignore");
        self.eat("into");
        let table = self.plain_table_name()?;
        let (columns, rows) = match self.eat("set") {
            true => self.set_row()?,
            false => self.rows()?,
        };
        let on_duplicate = match self.eat_all(&["on", "duplicate", "key", "update"])? {
            true => self.list(Self::column_assignment)?,
            false => Vec::new(),
        };
        Ok(Statement::Insert(Insert {
            table,
            columns,
            rows,
            ignore,
            on_duplicate,
            early: self.take_early(),
        }))
    }

    fn set_row(&mut self) -> SqlResult<Rows> {
        let pairs = self.list(|it| {
            let name = it.name()?;
            it.expect_kind(TokenKind::Equal)?;
            Ok((name, it.value()?))
        })?;
        let (columns, values) = pairs.into_iter().unzip();
        Ok((columns, vec![values]))
    }

    fn rows(&mut self) -> SqlResult<Rows> {
        let columns = match self.token.kind {
            TokenKind::Open if self.peek().kind == TokenKind::Close => {
                self.advance();
                self.advance();
                Vec::new()
            }
            TokenKind::Open => self.enclosed(Self::name)?,
            _ => Vec::new(),
        };
        if !self.eat("values") {
            self.expect("value")?;
        }
        let rows = self.list(|it| {
            it.expect_kind(TokenKind::Open)?;
            let values = match it.token.kind {
                TokenKind::Close => Vec::new(),
                _ => it.list(Self::value)?,
            };
            it.expect_kind(TokenKind::Close)?;
            Ok(values)
        })?;
        Ok((columns, rows))
    }

    /// An expression or DEFAULT.
    fn value(&mut self) -> SqlResult<Option<Expr>> {
        match self.eat("default") {
            true => Ok(None),
            false => self.expression().map(Some),
        }
    }

    fn column_assignment(&mut self) -> SqlResult<(Name, Expr)> {
        let name = self.name()?;
        self.expect_kind(TokenKind::Equal)?;
        Ok((name, self.expression()?))
    }

    pub(super) fn update(&mut self) -> SqlResult<Statement> {
        self.expect("update")?;
        let table = self.table_name()?;
        self.expect("set")?;
        Ok(Statement::Update(Update {
            table,
            assignments: self.list(Self::column_assignment)?,
            filter: self.filter()?,
            order: self.order()?,
            limit: self.limit()?,
            early: self.take_early(),
        }))
    }

    pub(super) fn delete(&mut self) -> SqlResult<Statement> {
        self.expect("delete")?;
        // Tables may stand here; the model knows one, behind FROM.
        if !self.is("from") {
            self.name()?;
            return Err(self.error());
        }
        self.advance();
        Ok(Statement::Delete(Delete {
            table: self.table_name()?,
            filter: self.filter()?,
            order: self.order()?,
            limit: self.limit()?,
            early: self.take_early(),
        }))
    }
}
