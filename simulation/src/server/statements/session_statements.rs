//! Statements that concern the session and need no wait: USE, KILL, SHOW, SIGNAL.

use std::rc::Rc;

use super::super::ast::{Expr, KillScope, Name, Statement};
use super::super::error::{SqlError, SqlResult};
use super::super::evaluate::Context;
use super::super::output::Outcome;
use super::super::session::Session;

impl Session {
    pub(super) fn session_statement(&mut self, statement: &Statement) -> SqlResult<Outcome> {
        match statement {
            Statement::Use(name) => {
                self.use_schema(name)?;
                Ok(Outcome::done())
            }
            Statement::Flush => {
                self.commit_implicitly()?;
                Ok(Outcome::done())
            }
            Statement::Prepare(name, text) => self.prepare_named(name, text),
            Statement::Deallocate(name) => self.deallocate(name),
            Statement::Show(show) => self.show(show),
            Statement::Kill(scope, id) => self.kill(*scope, id),
            Statement::Signal(state, number, text) => {
                self.signal(*state, number.as_ref(), text.as_ref())
            }
            _ => Err(self.family().unknown_command()),
        }
    }

    /// USE and COM_INIT_DB.
    ///
    /// # Errors
    /// 1049.
    pub fn use_schema(&mut self, name: &str) -> SqlResult<()> {
        let found = self.server.catalogue.schema(name);
        let schema = found.ok_or_else(|| self.family().unknown_schema(name))?;
        self.tracker.schema(&schema);
        *self.control.schema.borrow_mut() = Some(schema);
        Ok(())
    }

    fn kill(&mut self, scope: KillScope, id: &Expr) -> SqlResult<Outcome> {
        let family = self.family();
        let id = self.evaluate(id, &Context::bare(&[], &[]))?.to_int();
        let found = u32::try_from(id)
            .ok()
            .and_then(|id| self.server.connections.get(id));
        let victim = found.ok_or_else(|| family.no_such_thread(id))?;
        let is_own = *victim.user.borrow() == self.login.user;
        if !is_own && !self.is_administrator() {
            return Err(family.kill_denied(id));
        }
        victim.kill(scope);
        if victim.id == self.control.id {
            self.is_over = scope == KillScope::Connection;
            return Err(super::super::session::killed(family, scope));
        }
        Ok(Outcome::done())
    }

    fn signal(
        &mut self,
        state: [u8; 5],
        number: Option<&Expr>,
        text: Option<&Expr>,
    ) -> SqlResult<Outcome> {
        let context = Context::bare(&[], &[]);
        let number = match number {
            Some(number) => self.evaluate(number, &context)?.to_int(),
            None => 1644,
        };
        let text: Name = match text {
            Some(text) => Rc::from(self.evaluate(text, &context)?.to_text()),
            None => Rc::from("Unhandled user-defined exception condition"),
        };
        Err(SqlError {
            number: u16::try_from(number).unwrap_or(1644),
            state,
            text,
        })
    }
}
