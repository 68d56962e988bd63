//! Statements, executed: what every one begins and ends with, and which file does the rest.

mod change;
mod definitions;
mod early;
mod insert;
mod prepared;
mod rows;
mod select;
mod session_statements;
mod show;
mod store;
mod system_tables;
mod tables;
mod transactions;
mod variables;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use super::ast::{Early, Show, Statement};
use super::error::SqlResult;
use super::family::Family;
use super::locks::Span;
use super::options::Event;
use super::output::Outcome;
use super::parser::Parsed;
use super::session::Session;
use super::value::Value;
use super::waiting::Waited;

impl Session {
    /// Executes a statement.
    ///
    /// # Errors
    /// What it ends with. Its changes are taken back then.
    pub async fn execute(&mut self, parsed: &Parsed, parameters: &[Value]) -> SqlResult<Outcome> {
        self.begin_statement(&parsed.text).await?;
        let result = self.run(&parsed.statement, &parsed.text, parameters).await;
        self.end_statement();
        result
    }

    /// The connection is busy from here on.
    async fn begin_statement(&mut self, text: &Rc<str>) -> SqlResult<()> {
        *self.control.statement.borrow_mut() = Some(Rc::clone(text));
        let state = &self.server.state;
        state.statements.set(state.statements.get() + 1);
        let pause = state.per_statement.get();
        self.server.tell(&Event::Began {
            connection: self.control.id,
            statement: text,
            is_free: self.is_free(),
        });
        if !pause.is_zero() && self.sleep(pause).await == Waited::Killed {
            let result = self.check_killed();
            self.end_statement();
            return result;
        }
        Ok(())
    }

    /// Whether the session has nothing that binds its client to this connection.
    fn is_free(&self) -> bool {
        let is_locked = self.locked.is_locked || self.locked.has_read_lock;
        let has_names = self.server.locks.holds(self.control.id, Span::Name);
        !(self.transaction.is_open() || is_locked || has_names) && self.temporary.is_empty()
    }

    fn end_statement(&mut self) {
        *self.control.statement.borrow_mut() = None;
        self.control.forget_query_kill();
    }

    /// Executes a statement within another, too.
    async fn run(
        &mut self,
        statement: &Statement,
        text: &Rc<str>,
        parameters: &[Value],
    ) -> SqlResult<Outcome> {
        match leaves_conditions(self.family(), statement) {
            Leaves::Conditions => {}
            Leaves::OldConditions => self.diagnostics.are_stale = true,
            Leaves::Nothing => self.diagnostics.clear(),
        }
        self.diagnostics.are_shown = matches!(statement, Statement::Show(show) if shows_last(show));
        self.diagnostics.no_index_used = false;
        let mark = self.transaction.mark();
        let dispatched = self.dispatch(statement, text, parameters).await;
        let result = match self.with_room(statement, dispatched).await {
            // What was killed at its end says so, too.
            Ok(outcome) if self.control.killed().is_some() => self.check_killed().map(|()| outcome),
            other => other,
        };
        match result {
            Ok(outcome) => {
                self.finish(statement, text, mark, &outcome);
                Ok(outcome)
            }
            Err(error) => {
                self.undo_to(mark.min(self.transaction.mark()));
                if !self.transaction.is_open() {
                    self.roll_back();
                }
                self.diagnostics.fail(&error);
                self.diagnostics.row_count = -1;
                Err(error)
            }
        }
    }

    /// A statement that is a transaction of its own commits now.
    async fn with_room(
        &self,
        statement: &Statement,
        dispatched: SqlResult<Outcome>,
    ) -> SqlResult<Outcome> {
        if dispatched.is_ok() && !self.transaction.is_open() && uses_tables(statement) {
            self.await_room().await?;
        }
        dispatched
    }

    /// A statement has succeeded.
    fn finish(&mut self, statement: &Statement, text: &Rc<str>, mark: usize, outcome: &Outcome) {
        if self.diagnostics.are_stale && !self.family().is_mariadb() {
            self.diagnostics.clear();
        }
        if self.transaction.mark() > mark {
            self.note_statement(text);
        }
        if !self.transaction.is_open() && uses_tables(statement) {
            self.commit();
        }
        match outcome {
            Outcome::Rows(_) => {
                self.diagnostics.row_count = -1;
                if self.transaction.is_open() {
                    self.tracker.state.has_sent = true;
                }
            }
            Outcome::Done(done) => {
                self.diagnostics.row_count = i64::try_from(done.affected).unwrap_or(i64::MAX);
            }
        }
    }

    async fn dispatch(
        &mut self,
        statement: &Statement,
        text: &Rc<str>,
        parameters: &[Value],
    ) -> SqlResult<Outcome> {
        match statement {
            Statement::Select(select) => self.select(select, parameters).await,
            Statement::Insert(insert) => self.insert(insert, parameters).await,
            Statement::Update(update) => self.update(update, parameters).await,
            Statement::Delete(delete) => self.delete(delete, parameters).await,
            Statement::Transaction(statement) => self.transact(statement).await,
            Statement::Set(assignments, early) => self.set(assignments, early, parameters).await,
            Statement::Definition(definition) => self.define(definition, text).await,
            Statement::LockTables(tables) => self.lock_tables(tables).await,
            Statement::UnlockTables => self.unlock_tables(),
            Statement::ReadLock => self.read_lock().await,
            Statement::Execute(name, values) => self.execute_named(name, values).await,
            Statement::ExecuteImmediate(text) => self.execute_immediate(text).await,
            Statement::Do(values, early) => self.do_values(values, early, parameters).await,
            Statement::Empty => Ok(Outcome::done()),
            Statement::Block(statements) => {
                for statement in statements {
                    self.nested(statement, text, &[]).await?;
                }
                Ok(Outcome::done())
            }
            other => self.session_statement(other),
        }
    }

    /// Executes a statement that another one holds.
    fn nested<'a>(
        &'a mut self,
        statement: &'a Statement,
        text: &'a Rc<str>,
        parameters: &'a [Value],
    ) -> Pin<Box<dyn Future<Output = SqlResult<Outcome>> + 'a>> {
        Box::pin(self.run(statement, text, parameters))
    }
}

/// Whether a statement ends with the end of its transaction if no other was begun.
fn uses_tables(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Select(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Do(..)
            | Statement::Set(..)
    )
}

fn shows_last(show: &Show) -> bool {
    matches!(
        show,
        Show::Warnings(_) | Show::Errors(_) | Show::CountWarnings | Show::CountErrors
    )
}

/// What a statement leaves of the conditions of the one before.
enum Leaves {
    /// They are as before.
    Conditions,
    /// They may still be asked for, but are not counted as the statement's own.
    OldConditions,
    /// They are gone.
    Nothing,
}

/// MariaDB keeps conditions until a statement has tables, or conditions of its own.
fn leaves_conditions(family: Family, statement: &Statement) -> Leaves {
    let has_no_table = match statement {
        Statement::Show(show) if shows_last(show) => return Leaves::Conditions,
        Statement::Show(show) => matches!(show, Show::ReplicaStatus(_) | Show::Processlist(_)),
        Statement::Select(select) if select.from.is_none() && asks_counts(select) => true,
        Statement::Select(select) => {
            let is_subquery = |it: &Early| matches!(it, Early::Subquery(_));
            family.is_mariadb() && select.from.is_none() && !select.early.iter().any(is_subquery)
        }
        Statement::Set(..)
        | Statement::Do(..)
        | Statement::Transaction(_)
        | Statement::Use(_)
        | Statement::Kill(..)
        | Statement::Prepare(..)
        | Statement::Deallocate(_)
        | Statement::Execute(..)
        | Statement::UnlockTables
        | Statement::Flush => family.is_mariadb(),
        _ => false,
    };
    match has_no_table {
        true => Leaves::OldConditions,
        false => Leaves::Nothing,
    }
}

/// `SELECT @@warning_count, @@error_count` and the like.
fn asks_counts(select: &super::ast::Select) -> bool {
    use super::ast::{Expr, SelectItem};
    let is_count = |it: &SelectItem| match it {
        SelectItem::Value(Expr::System(_, name), _) => {
            matches!(&**name, "warning_count" | "error_count")
        }
        _ => false,
    };
    select.columns.iter().any(is_count)
}
