//! BEGIN, COMMIT, ROLLBACK, savepoints.

use super::super::ast::{Access, Completion, TransactionStatement};
use super::super::error::SqlResult;
use super::super::locks::Span;
use super::super::output::Outcome;
use super::super::session::Session;
use super::super::settings::Isolation;
use super::super::transaction::Begun;

impl Session {
    pub(super) async fn transact(
        &mut self,
        statement: &TransactionStatement,
    ) -> SqlResult<Outcome> {
        if let TransactionStatement::Begin { .. } | TransactionStatement::Commit(_) = statement {
            self.check_commit()?;
            if let Err(error) = self.await_room().await {
                self.roll_back();
                return Err(error);
            }
        }
        match statement {
            TransactionStatement::Begin { access, snapshot } => {
                self.begin_by(*access, *snapshot)?
            }
            TransactionStatement::Commit(completion) => {
                let before = self.characteristics_of_now();
                self.commit();
                self.complete(*completion, before);
            }
            TransactionStatement::Rollback(completion) => {
                let before = self.characteristics_of_now();
                self.roll_back();
                self.complete(*completion, before);
            }
            TransactionStatement::Savepoint(name) => {
                if self.transaction.is_open() || !self.settings.autocommit {
                    self.savepoint(name);
                }
            }
            TransactionStatement::RollbackTo(name) => {
                if !self.roll_back_to(name) {
                    return Err(self.family().no_such_savepoint(name));
                }
            }
            TransactionStatement::Release(name) => {
                if !self.release_savepoints(name) {
                    return Err(self.family().no_such_savepoint(name));
                }
            }
        }
        Ok(Outcome::done())
    }

    /// A transaction that has written cannot commit while the server is read-only.
    fn check_commit(&self) -> SqlResult<()> {
        match self.transaction.mark() > 0 {
            true => self.server.check_read_only(self.is_administrator()),
            false => Ok(()),
        }
    }

    fn characteristics_of_now(&self) -> (Isolation, Access) {
        (self.transaction.isolation, self.transaction.access)
    }

    /// What follows the end of a transaction.
    fn complete(&mut self, completion: Completion, before: (Isolation, Access)) {
        let completion = match (completion, self.settings.completion) {
            (Completion::Unsaid, 1) => Completion::Chain,
            (Completion::Unsaid, 2) => Completion::Release,
            (other, _) => other,
        };
        match completion {
            Completion::Chain => {
                self.transaction.next = (Some(before.0), None);
                let is_other = before.0 != self.settings.isolation;
                let access = (before.1 == Access::ReadOnly).then_some(Access::ReadOnly);
                self.begin(Begun::Explicitly, Some(before.1));
                self.tell_begin(is_other.then_some(before.0), access, false);
            }
            Completion::Release => self.is_over = true,
            Completion::Unsaid | Completion::Nothing => {}
        }
    }

    fn begin_by(&mut self, access: Option<Access>, snapshot: bool) -> SqlResult<()> {
        if access == Some(Access::ReadWrite) {
            self.server.check_read_only(self.is_administrator())?;
        }
        let next = self.transaction.next;
        self.check_commit()?;
        self.commit();
        if self.locked.is_locked {
            self.release_tables();
        }
        self.transaction.next = next;
        self.begin(Begun::Explicitly, access);
        let sees_past = matches!(
            self.transaction.isolation,
            Isolation::RepeatableRead | Isolation::Serializable
        );
        match (snapshot, sees_past) {
            (true, true) => {
                self.open_view();
            }
            (true, false) if !self.family().is_mariadb() => {
                let text = "InnoDB: WITH CONSISTENT SNAPSHOT was ignored because this phrase can only be used with \
                            REPEATABLE READ isolation level.";
                self.diagnostics.warn(138, text);
            }
            (true, false) | (false, _) => {}
        }
        self.tracker.state.has_read = snapshot;
        let access = access.or(next.1);
        self.tell_begin(next.0, access, snapshot);
        Ok(())
    }

    /// Tells how the same transaction begins elsewhere.
    fn tell_begin(&mut self, isolation: Option<Isolation>, access: Option<Access>, snapshot: bool) {
        self.tracker.state.is_explicit = true;
        let mut text = String::new();
        if let Some(isolation) = isolation {
            text.push_str("SET TRANSACTION ISOLATION LEVEL ");
            text.push_str(isolation.words());
            text.push_str("; ");
        }
        text.push_str("START TRANSACTION");
        if snapshot {
            text.push_str(" WITH CONSISTENT SNAPSHOT");
        }
        let comma = if snapshot { "," } else { "" };
        match access {
            Some(Access::ReadOnly) => text.push_str(&format!("{comma} READ ONLY")),
            Some(Access::ReadWrite) => text.push_str(&format!("{comma} READ WRITE")),
            None => {}
        }
        text.push(';');
        self.tracker.characteristics(text);
    }

    /// What statements do first that change tables: they commit, and end LOCK TABLES of nothing.
    pub(super) fn commit_implicitly(&mut self) -> SqlResult<()> {
        self.check_commit()?;
        self.commit();
        self.server
            .locks
            .release_all(self.control.id, Span::Transaction);
        Ok(())
    }
}
