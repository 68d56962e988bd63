//! SET.

use std::rc::Rc;

use sql::TokenKind;

use super::super::ast::{Assignment, Expr, Scope, Statement, TransactionScope};
use super::super::error::SqlResult;
use super::super::value::Value;
use super::Parser;

impl Parser<'_> {
    pub(super) fn set(&mut self) -> SqlResult<Statement> {
        self.expect("set")?;
        if let Some(scope) = self.transaction_scope() {
            let assignments = self.list(|it| it.characteristic(scope))?;
            return Ok(Statement::Set(assignments, Vec::new()));
        }
        let mut scope = Scope::Unsaid;
        let assignments = self.list(|it| {
            // A word before one variable holds for those behind it.
            scope = it.scope().unwrap_or(scope);
            it.assignment(scope)
        })?;
        Ok(Statement::Set(assignments, self.take_early()))
    }

    fn scope(&mut self) -> Option<Scope> {
        if self.token.kind != TokenKind::Word || self.peek().kind != TokenKind::Word {
            return None;
        }
        match () {
            () if self.eat("global") => Some(Scope::Global),
            () if self.eat("session") || self.eat("local") => Some(Scope::Session),
            () => None,
        }
    }

    fn transaction_scope(&mut self) -> Option<TransactionScope> {
        if self.eat("transaction") {
            return Some(TransactionScope::Next);
        }
        if !self.is_next("transaction") {
            return None;
        }
        let scope = match () {
            () if self.eat("session") || self.eat("local") => TransactionScope::Session,
            () if self.eat("global") => TransactionScope::Global,
            () => return None,
        };
        self.advance();
        Some(scope)
    }

    fn characteristic(&mut self, scope: TransactionScope) -> SqlResult<Assignment> {
        if !self.eat_all(&["isolation", "level"])? {
            return Ok(Assignment::Access(scope, self.access()?));
        }
        let level = match () {
            () if self.eat("serializable") => "SERIALIZABLE",
            () if self.eat("repeatable") => {
                self.expect("read")?;
                "REPEATABLE-READ"
            }
            () => {
                self.expect("read")?;
                match self.eat("uncommitted") {
                    true => "READ-UNCOMMITTED",
                    false => {
                        self.expect("committed")?;
                        "READ-COMMITTED"
                    }
                }
            }
        };
        Ok(Assignment::Isolation(scope, Rc::from(level)))
    }

    fn assignment(&mut self, scope: Scope) -> SqlResult<Assignment> {
        match self.token.kind {
            TokenKind::UserVariable => {
                let name = self.user_variable();
                self.assign_sign()?;
                return Ok(Assignment::User(name, self.expression()?));
            }
            TokenKind::SystemVariable => {
                let (scope, name) = self.system_name()?;
                self.assign_sign()?;
                return Ok(Assignment::System(scope, name, self.setting()?));
            }
            _ => {}
        }
        if self.is("names") && self.peek().kind != TokenKind::Equal {
            self.advance();
            return self.names();
        }
        if self.is("charset") || self.is("character") && self.is_next("set") {
            self.eat("character");
            self.advance();
            let charset = self.charset()?;
            return Ok(Assignment::CharacterSet(charset));
        }
        let name = self.take_variable()?;
        self.assign_sign()?;
        // Only `@@x` leaves open whether the next transaction is meant.
        let scope = match scope {
            Scope::Unsaid => Scope::Session,
            other => other,
        };
        Ok(Assignment::System(scope, name, self.setting()?))
    }

    fn take_variable(&mut self) -> SqlResult<Rc<str>> {
        match self.token.kind {
            TokenKind::Word | TokenKind::Quoted => {
                Ok(Rc::from(self.take_name().to_ascii_lowercase()))
            }
            _ => Err(self.error()),
        }
    }

    fn assign_sign(&mut self) -> SqlResult<()> {
        match self.eat_kind(TokenKind::Assign) {
            true => Ok(()),
            false => self.expect_kind(TokenKind::Equal),
        }
    }

    /// The value of a variable: an expression, or a word that stands for itself; none for DEFAULT.
    fn setting(&mut self) -> SqlResult<Option<Expr>> {
        if self.eat("default") {
            return Ok(None);
        }
        let follows = self.peek().kind;
        let is_alone = matches!(
            follows,
            TokenKind::End | TokenKind::Comma | TokenKind::Semicolon
        );
        let is_plain = !["null", "true", "false", "current_user"]
            .iter()
            .any(|it| self.is(it));
        if self.token.kind == TokenKind::Word && is_alone && is_plain {
            let word = self.take_name();
            return Ok(Some(Expr::Literal(Value::text(word.as_bytes()))));
        }
        self.expression().map(Some)
    }

    fn names(&mut self) -> SqlResult<Assignment> {
        let charset = self.charset()?;
        let collation = match self.eat("collate") {
            true => Some(self.name_or_string()?),
            false => None,
        };
        Ok(Assignment::Names(charset, collation))
    }

    fn charset(&mut self) -> SqlResult<Option<Expr>> {
        if self.eat("default") {
            return Ok(None);
        }
        match self.token.kind {
            TokenKind::Word | TokenKind::String => {
                let name = self.name_or_string()?;
                Ok(Some(Expr::Literal(Value::text(name.as_bytes()))))
            }
            TokenKind::Binary => self.expression().map(Some),
            _ => Err(self.error()),
        }
    }
}
