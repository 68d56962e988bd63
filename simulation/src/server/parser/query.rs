//! SELECT.

use std::rc::Rc;

use sql::TokenKind;

use super::super::ast::{Expr, Limit, Locking, Name, Select, SelectItem, TableName, WaitPolicy};
use super::super::error::SqlResult;
use super::super::value::Value;
use super::Parser;

impl Parser<'_> {
    /// SELECT, also in parentheses.
    pub(super) fn select(&mut self) -> SqlResult<Select> {
        if self.eat_kind(TokenKind::Open) {
            let select = self.select()?;
            self.expect_kind(TokenKind::Close)?;
            return Ok(select);
        }
        self.expect("select")?;
        for word in ["sql_no_cache", "sql_calc_found_rows", "all"] {
            self.eat(word);
        }
        let columns = self.list(Self::select_item)?;
        let mut into = self.into()?;
        let from = match self.eat("from") {
            true if self.eat("dual") => None,
            true => Some(self.table_name()?),
            false => None,
        };
        let filter = self.filter()?;
        let order = self.order()?;
        let limit = self.limit()?;
        if into.is_empty() {
            into = self.into()?;
        }
        let locking = self.locking()?;
        Ok(Select {
            columns,
            from,
            filter,
            order,
            limit,
            locking,
            into,
            early: self.take_early(),
        })
    }

    /// A table, with an alias.
    pub(super) fn table_name(&mut self) -> SqlResult<TableName> {
        let mut table = self.plain_table_name()?;
        let is_alias = self.eat("as")
            || self.token.kind == TokenKind::Quoted
            || self.token.kind == TokenKind::Word && !self.is_clause();
        if is_alias {
            table.alias = Some(self.name()?);
        }
        Ok(table)
    }

    /// A table without an alias.
    pub(super) fn plain_table_name(&mut self) -> SqlResult<TableName> {
        let first = self.name()?;
        let (schema, name) = match self.eat_kind(TokenKind::Dot) {
            true => (Some(first), self.take_name()),
            false => (None, first),
        };
        Ok(TableName {
            schema,
            name,
            alias: None,
        })
    }

    /// Whether a clause begins that may follow a table.
    fn is_clause(&self) -> bool {
        const CLAUSES: [&str; 14] = [
            "where", "order", "limit", "for", "lock", "into", "set", "values", "value", "read",
            "write", "on", "local", "end",
        ];
        CLAUSES.iter().any(|it| self.is(it))
    }

    fn select_item(&mut self) -> SqlResult<SelectItem> {
        if self.eat_kind(TokenKind::Star) {
            return Ok(SelectItem::All);
        }
        if self.is_all_of_table() {
            self.take_name();
            self.advance();
            self.advance();
            return Ok(SelectItem::All);
        }
        let start = self.token.span.start as usize;
        let value = self.expression()?;
        let title = self.title(&value, start);
        Ok(SelectItem::Value(value, title))
    }

    /// `t.*`
    fn is_all_of_table(&self) -> bool {
        let is_name = matches!(self.token.kind, TokenKind::Word | TokenKind::Quoted);
        let mut lexer = self.lexer;
        is_name && lexer.token().kind == TokenKind::Dot && lexer.token().kind == TokenKind::Star
    }

    /// The alias, or what the servers make of an expression.
    fn title(&mut self, value: &Expr, start: usize) -> Name {
        let end = self.last_end;
        if self.eat("as") {
            return self.name_or_string().unwrap_or_else(|_| Rc::from(""));
        }
        let is_alias = match self.token.kind {
            TokenKind::Quoted | TokenKind::String => true,
            TokenKind::Word => {
                !self.is_clause() && !self.is("from") && !super::is_reserved(self.bytes())
            }
            _ => false,
        };
        if is_alias && let Ok(name) = self.name_or_string() {
            return name;
        }
        match value {
            Expr::Column(_, name) => Rc::clone(name),
            Expr::Literal(Value::Text(text)) if self.ends_with_quote(end) => {
                Rc::from(String::from_utf8_lossy(text))
            }
            Expr::Literal(Value::Null) => Rc::from("NULL"),
            _ => {
                let text = self.text.get(start..end).unwrap_or_default();
                // A sign that says nothing is not part of the expression.
                let text = text.strip_prefix(b"+").unwrap_or(text);
                Rc::from(String::from_utf8_lossy(text))
            }
        }
    }

    fn ends_with_quote(&self, end: usize) -> bool {
        let last = end.checked_sub(1).and_then(|at| self.text.get(at));
        matches!(last, Some(b'\'' | b'"'))
    }

    pub(super) fn filter(&mut self) -> SqlResult<Option<Expr>> {
        match self.eat("where") {
            true => self.expression().map(Some),
            false => Ok(None),
        }
    }

    pub(super) fn order(&mut self) -> SqlResult<Vec<(Expr, bool)>> {
        if !self.eat_all(&["order", "by"])? {
            return Ok(Vec::new());
        }
        self.list(|it| {
            let value = it.expression()?;
            let is_descending = it.eat("desc");
            if !is_descending {
                it.eat("asc");
            }
            Ok((value, is_descending))
        })
    }

    pub(super) fn limit(&mut self) -> SqlResult<Option<Limit>> {
        if !self.eat("limit") {
            return Ok(None);
        }
        let first = self.expression()?;
        if self.eat_kind(TokenKind::Comma) {
            let count = self.expression()?;
            return Ok(Some(Limit {
                offset: Some(first),
                count,
            }));
        }
        let offset = match self.eat("offset") {
            true => Some(self.expression()?),
            false => None,
        };
        Ok(Some(Limit {
            offset,
            count: first,
        }))
    }

    fn into(&mut self) -> SqlResult<Vec<Name>> {
        if !self.eat("into") {
            return Ok(Vec::new());
        }
        self.list(|it| match it.token.kind {
            TokenKind::UserVariable => Ok(it.user_variable()),
            _ => Err(it.error()),
        })
    }

    fn locking(&mut self) -> SqlResult<Locking> {
        if self.eat_all(&["lock", "in", "share", "mode"])? {
            return Ok(Locking::Share(self.wait_policy()?));
        }
        if !self.eat("for") {
            return Ok(Locking::None);
        }
        if self.eat("update") {
            return Ok(Locking::Update(self.wait_policy()?));
        }
        match !self.reading.family.is_mariadb() && self.eat("share") {
            true => Ok(Locking::Share(self.wait_policy()?)),
            false => Err(self.error()),
        }
    }

    fn wait_policy(&mut self) -> SqlResult<WaitPolicy> {
        if self.eat("nowait") {
            return Ok(WaitPolicy::Fail);
        }
        match self.eat_all(&["skip", "locked"])? {
            true => Ok(WaitPolicy::Skip),
            false => Ok(WaitPolicy::Wait),
        }
    }
}
