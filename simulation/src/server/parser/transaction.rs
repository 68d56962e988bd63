//! BEGIN, COMMIT and what else concerns transactions.

use std::rc::Rc;

use super::super::ast::{Access, Completion, Statement, TransactionStatement};
use super::super::error::SqlResult;
use super::Parser;

impl Parser<'_> {
    pub(super) fn transaction(&mut self) -> SqlResult<Statement> {
        if self.is("begin") && self.is_next("not") {
            return self.block();
        }
        let statement = match () {
            () if self.eat("begin") => {
                self.eat("work");
                TransactionStatement::Begin {
                    access: None,
                    snapshot: false,
                }
            }
            () if self.eat("start") => self.start()?,
            () if self.eat("commit") => {
                self.eat("work");
                TransactionStatement::Commit(self.completion()?)
            }
            () if self.eat("rollback") => self.rollback()?,
            () if self.eat("savepoint") => TransactionStatement::Savepoint(self.name()?),
            () => {
                self.expect("release")?;
                self.expect("savepoint")?;
                TransactionStatement::Release(self.name()?)
            }
        };
        Ok(Statement::Transaction(statement))
    }

    /// `BEGIN NOT ATOMIC …; END`: the statements are executed one after the other.
    fn block(&mut self) -> SqlResult<Statement> {
        if !self.reading.family.is_mariadb() {
            self.advance();
            return Err(self.error());
        }
        self.advance();
        self.advance();
        self.expect("atomic")?;
        let mut statements = Vec::new();
        while !self.eat("end") {
            statements.push(Rc::new(self.statement()?));
            self.expect_kind(sql::TokenKind::Semicolon)?;
        }
        Ok(Statement::Block(statements))
    }

    fn start(&mut self) -> SqlResult<TransactionStatement> {
        self.expect("transaction")?;
        let (mut access, mut snapshot) = (None, false);
        while !self.is_at_end() {
            match () {
                () if self.eat("with") => {
                    self.expect("consistent")?;
                    self.expect("snapshot")?;
                    snapshot = true;
                }
                () => access = Some(self.access()?),
            }
            if !self.eat_kind(sql::TokenKind::Comma) {
                break;
            }
        }
        Ok(TransactionStatement::Begin { access, snapshot })
    }

    /// READ ONLY, READ WRITE.
    pub(super) fn access(&mut self) -> SqlResult<Access> {
        self.expect("read")?;
        if self.eat("only") {
            return Ok(Access::ReadOnly);
        }
        self.expect("write")?;
        Ok(Access::ReadWrite)
    }

    fn rollback(&mut self) -> SqlResult<TransactionStatement> {
        self.eat("work");
        if !self.eat("to") {
            return Ok(TransactionStatement::Rollback(self.completion()?));
        }
        self.eat("savepoint");
        Ok(TransactionStatement::RollbackTo(self.name()?))
    }

    fn completion(&mut self) -> SqlResult<Completion> {
        let mut completion = Completion::Unsaid;
        if self.eat("and") {
            completion = match self.eat("no") {
                true => Completion::Nothing,
                false => Completion::Chain,
            };
            self.expect("chain")?;
        }
        if self.is("no") && self.is_next("release") {
            self.advance();
            self.advance();
            return Ok(match completion {
                Completion::Unsaid => Completion::Nothing,
                other => other,
            });
        }
        if self.is("release") && completion == Completion::Chain {
            return Err(self.error());
        }
        match self.eat("release") {
            true => Ok(Completion::Release),
            false => Ok(completion),
        }
    }
}
