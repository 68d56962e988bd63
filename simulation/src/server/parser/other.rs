//! Statements of all other kinds: SHOW, KILL, PREPARE, LOCK TABLES and so on.

use std::rc::Rc;

use sql::TokenKind;

use super::super::ast::{
    Expr, Filter, KillScope, ReplicaStatusForm, Scope, Show, Statement, TableLock, TableName,
};
use super::super::error::SqlResult;
use super::super::value::Value;
use super::Parser;

impl Parser<'_> {
    pub(super) fn other(&mut self) -> SqlResult<Statement> {
        Ok(match () {
            () if self.eat("use") => Statement::Use(self.name()?),
            () if self.eat("do") => {
                let values = self.list(Self::expression)?;
                Statement::Do(values, self.take_early())
            }
            () if self.eat("show") => Statement::Show(self.show()?),
            () if self.eat("kill") => self.kill()?,
            () if self.eat("prepare") => {
                let name = self.name()?;
                self.expect("from")?;
                Statement::Prepare(name, self.expression()?)
            }
            () if self.eat_all(&["load", "data", "local", "infile"])? => {
                let file = self.string()?.to_text();
                self.eat_all(&["into", "table"])?;
                Statement::Load(Rc::from(file), self.plain_table_name()?)
            }
            () if self.is("execute") => self.execute()?,
            () if self.eat("deallocate") => {
                self.expect("prepare")?;
                Statement::Deallocate(self.name()?)
            }
            () if self.eat("lock") => self.lock_tables()?,
            () if self.eat("unlock") => {
                if !self.eat("tables") {
                    self.expect("table")?;
                }
                Statement::UnlockTables
            }
            () if self.eat("flush") => self.flush()?,
            () if self.eat("signal") => self.signal()?,
            () => return Err(self.error()),
        })
    }

    fn execute(&mut self) -> SqlResult<Statement> {
        self.advance();
        if self.reading.family.is_mariadb() && self.eat("immediate") {
            return Ok(Statement::ExecuteImmediate(self.expression()?));
        }
        let name = self.name()?;
        let values = match self.eat("using") {
            true => self.list(Self::expression)?,
            false => Vec::new(),
        };
        Ok(Statement::Execute(name, values))
    }

    fn kill(&mut self) -> SqlResult<Statement> {
        if self.reading.family.is_mariadb() {
            let _ = self.eat("soft") || self.eat("hard");
        }
        let scope = match self.eat("query") {
            true => KillScope::Query,
            false => {
                self.eat("connection");
                KillScope::Connection
            }
        };
        Ok(Statement::Kill(scope, self.expression()?))
    }

    fn flush(&mut self) -> SqlResult<Statement> {
        if self.eat("tables") && self.eat_all(&["with", "read", "lock"])? {
            return Ok(Statement::ReadLock);
        }
        let others = ["logs", "privileges", "status", "local"];
        others.iter().for_each(|it| {
            self.eat(it);
        });
        Ok(Statement::Flush)
    }

    fn lock_tables(&mut self) -> SqlResult<Statement> {
        if !self.eat("tables") {
            self.expect("table")?;
        }
        Ok(Statement::LockTables(self.list(Self::locked_table)?))
    }

    fn locked_table(&mut self) -> SqlResult<(TableName, TableLock)> {
        let table = self.table_name()?;
        if self.eat("read") {
            self.eat("local");
            return Ok((table, TableLock::Read));
        }
        self.expect("write")?;
        Ok((table, TableLock::Write))
    }

    /// `SIGNAL SQLSTATE '…' SET MYSQL_ERRNO = …, MESSAGE_TEXT = …`.
    fn signal(&mut self) -> SqlResult<Statement> {
        self.expect("sqlstate")?;
        self.eat("value");
        let state = self.string()?.to_bytes();
        let state = <[u8; 5]>::try_from(state).map_err(|_| self.error())?;
        let (mut number, mut text) = (None, None);
        if self.eat("set") {
            self.list(|it| {
                let is_number = it.eat("mysql_errno");
                if !is_number {
                    it.expect("message_text")?;
                }
                it.expect_kind(TokenKind::Equal)?;
                let value = Some(it.expression()?);
                match is_number {
                    true => number = value,
                    false => text = value,
                }
                Ok(())
            })?;
        }
        Ok(Statement::Signal(state, number, text))
    }

    fn show(&mut self) -> SqlResult<Show> {
        let scope = match () {
            () if self.eat("global") => Scope::Global,
            () if self.eat("session") || self.eat("local") => Scope::Session,
            () => Scope::Unsaid,
        };
        match () {
            () if self.eat("variables") => return Ok(Show::Variables(scope, self.like()?)),
            () if self.eat("status") => return Ok(Show::Status(scope, self.like()?)),
            () if scope != Scope::Unsaid => return Err(self.error()),
            () => {}
        }
        Ok(match () {
            () if self.eat("warnings") => Show::Warnings(self.limit()?),
            () if self.eat("errors") => Show::Errors(self.limit()?),
            () if self.eat("count") => self.show_count()?,
            () if self.eat_all(&["full", "processlist"])? => Show::Processlist(true),
            () if self.eat("processlist") => Show::Processlist(false),
            () if self.eat("tables") => Show::Tables,
            () if self.eat("databases") => Show::Databases,
            () if self.eat("grants") => Show::Grants,
            () if self.eat_all(&["columns", "from"])? => Show::Columns(self.plain_table_name()?),
            () => Show::ReplicaStatus(self.replica_status()?),
        })
    }

    fn show_count(&mut self) -> SqlResult<Show> {
        self.expect_kind(TokenKind::Open)?;
        self.expect_kind(TokenKind::Star)?;
        self.expect_kind(TokenKind::Close)?;
        if self.eat("warnings") {
            return Ok(Show::CountWarnings);
        }
        self.expect("errors")?;
        Ok(Show::CountErrors)
    }

    fn replica_status(&mut self) -> SqlResult<ReplicaStatusForm> {
        let is_mariadb = self.reading.family.is_mariadb();
        if self.eat_all(&["replica", "status"])? {
            return Ok(ReplicaStatusForm::Replica);
        }
        if is_mariadb && self.eat("all") {
            if !self.eat("slaves") {
                self.expect("replicas")?;
            }
            self.expect("status")?;
            return Ok(ReplicaStatusForm::AllSlaves);
        }
        if !is_mariadb {
            return Err(self.error());
        }
        self.expect("slave")?;
        self.expect("status")?;
        Ok(ReplicaStatusForm::Slave)
    }

    fn like(&mut self) -> SqlResult<Filter> {
        if self.eat("like") {
            let pattern = self.string()?.to_text();
            return Ok(Filter::Like(Rc::from(pattern)));
        }
        if !self.eat("where") {
            return Ok(Filter::All);
        }
        self.expect("variable_name")?;
        let texts = match self.eat("in") {
            true => self.enclosed(Self::expression)?,
            false => {
                self.expect_kind(TokenKind::Equal)?;
                vec![self.expression()?]
            }
        };
        let name = |text: &Expr| match text {
            Expr::Literal(value @ Value::Text(_)) => Some(Rc::from(value.to_text())),
            _ => None,
        };
        let names = texts.iter().map(name).collect::<Option<_>>();
        names.map(Filter::Named).ok_or_else(|| self.error())
    }
}
