//! PREPARE, EXECUTE, DEALLOCATE as text.

use std::rc::Rc;

use super::super::ast::{Expr, Name, Show, Statement, TransactionStatement};
use super::super::error::{SqlError, SqlResult};
use super::super::evaluate::Context;
use super::super::family::Family;
use super::super::output::{Done, Outcome};
use super::super::parser::{Parsed, Reading};
use super::super::session::Session;
use super::super::value::Value;

impl Session {
    /// Reads a text that is to be prepared.
    ///
    /// # Errors
    /// 1064 and what else a text can get.
    pub fn read_prepared(&self, text: &[u8]) -> SqlResult<Rc<Parsed>> {
        let reading = Reading {
            family: self.family(),
            flags: self.settings.flags,
            is_prepared: true,
        };
        let parsed = self.server.parse(text, reading)?;
        match is_unsupported(self.family(), &parsed.statement) {
            true => {
                let text = "This command is not supported in the prepared statement protocol yet";
                Err(SqlError::new(self.family(), 1295, text))
            }
            false => Ok(parsed),
        }
    }

    pub(super) fn prepare_named(&mut self, name: &Name, text: &Expr) -> SqlResult<Outcome> {
        let text = self.evaluate(text, &Context::bare(&[], &[]))?;
        // What had the name is gone, also if the new text makes no sense.
        let name = name.to_ascii_lowercase();
        self.prepared.by_name.remove(&name);
        let parsed = self.read_prepared(&text.to_bytes())?;
        self.prepared.by_name.insert(name, parsed);
        self.tracker.changed();
        Ok(Outcome::Done(Done {
            info: "Statement prepared".to_owned(),
            ..Done::default()
        }))
    }

    pub(super) async fn execute_named(
        &mut self,
        name: &Name,
        values: &[Expr],
    ) -> SqlResult<Outcome> {
        let family = self.family();
        let found = self
            .prepared
            .by_name
            .get(&name.to_ascii_lowercase())
            .cloned();
        let parsed = found.ok_or_else(|| family.unknown_statement(name, "EXECUTE"))?;
        if usize::from(parsed.parameters) != values.len() {
            return Err(family.wrong_arguments("EXECUTE"));
        }
        let mut parameters: Vec<Value> = Vec::with_capacity(values.len());
        for value in values {
            parameters.push(self.evaluate(value, &Context::bare(&[], &[]))?);
        }
        self.nested(&parsed.statement, &parsed.text, &parameters)
            .await
    }

    /// EXECUTE IMMEDIATE (MariaDB).
    pub(super) async fn execute_immediate(&mut self, text: &Expr) -> SqlResult<Outcome> {
        let text = self.evaluate(text, &Context::bare(&[], &[]))?;
        let parsed = self.read_prepared(&text.to_bytes())?;
        if parsed.parameters > 0 {
            return Err(self.family().wrong_arguments("EXECUTE"));
        }
        self.nested(&parsed.statement, &parsed.text, &[]).await
    }

    pub(super) fn deallocate(&mut self, name: &Name) -> SqlResult<Outcome> {
        match self.prepared.by_name.remove(&name.to_ascii_lowercase()) {
            Some(_) => {
                self.tracker.changed();
                Ok(Outcome::done())
            }
            None => Err(self.family().unknown_statement(name, "DEALLOCATE PREPARE")),
        }
    }
}

/// Statements that a family does not prepare.
fn is_unsupported(family: Family, statement: &Statement) -> bool {
    use TransactionStatement::{Begin, Release, RollbackTo, Savepoint};
    if matches!(
        statement,
        Statement::Prepare(..) | Statement::Execute(..) | Statement::Deallocate(_)
    ) {
        return true;
    }
    if family.is_mariadb() {
        return false;
    }
    match statement {
        Statement::Transaction(it) => {
            matches!(it, Begin { .. } | Savepoint(_) | RollbackTo(_) | Release(_))
        }
        Statement::Use(_) | Statement::LockTables(_) | Statement::UnlockTables => true,
        Statement::Show(show) => matches!(
            show,
            Show::Warnings(_) | Show::Errors(_) | Show::CountWarnings | Show::CountErrors
        ),
        _ => false,
    }
}
