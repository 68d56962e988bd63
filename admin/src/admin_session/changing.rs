//! Changes by an admin session: each at once, or those between BEGIN and COMMIT together. Each time the whole resulting
//! configuration is checked; it takes effect as a whole, or not at all.

use std::sync::Arc;

use config::{AdminRole, Config, Edit};
use rusqlite::types::Value;
use tokio::sync::OwnedMutexGuard;

use super::AdminSession;
use super::aside::aside;
use super::outcome::Outcome;
use super::transaction::Transaction;
use crate::editor::{Difference, EditOutcome, EditRequest, Refused};
use crate::engine::ResultRows;
use crate::engine::alter::{self, Alteration};
use crate::fault::Fault;
use crate::table::CellType;

/// How often a statement is tried if another change, by a transaction or in the file, came first.
const ATTEMPTS: usize = 5;

/// The most changes that a transaction may gather.
const EDITS_MAX: usize = 10_000;

impl AdminSession {
    /// Whether changes are allowed, by the current configuration.
    pub(super) fn may_change(&self) -> bool {
        let name = self.asker.name();
        let admins = self.data_plane.settings().config.admins();
        let is_admin =
            |it: &config::AdminAccountConfig| it.user == name && it.role == AdminRole::Admin;
        self.role == AdminRole::Admin && admins.iter().any(is_admin)
    }

    pub(super) fn check_allowed(&self, what: &str) -> Result<(), Fault> {
        match self.may_change() {
            true => Ok(()),
            false => Err(Fault::not_allowed(what)),
        }
    }

    pub(super) fn check_role(&self) -> Result<(), Fault> {
        match self.may_change() {
            true => Ok(()),
            false => Err(Fault::read_only_user(&self.asker.user)),
        }
    }

    /// Refuses a change to a user with a reading role before the statement is read; writes it to the audit log.
    ///
    /// # Errors
    /// The role does not allow it.
    pub fn check_change(&self, what: &str) -> Result<(), Fault> {
        let checked = self.check_role();
        if let Err(fault) = &checked {
            self.audit(what, Some(fault));
        }
        checked
    }

    /// Waits for the lock of changes. A change inside a transaction needs none, because it is only gathered.
    async fn lock_for_change(&self) -> Option<OwnedMutexGuard<()>> {
        match self.transaction {
            Some(_) => None,
            None => Some(self.editor.lock_for_change().await),
        }
    }

    /// Runs INSERT, UPDATE or DELETE.
    pub(super) async fn change(
        &mut self,
        text: String,
        values: Vec<Value>,
    ) -> Result<Outcome, Fault> {
        self.check_role()?;
        let _turn = self.lock_for_change().await;
        for _ in 0..ATTEMPTS {
            let asker = self.asker.clone();
            let again = text.clone();
            let prepared = aside(move || alter::prepare(again, &asker)).await?;
            let input = self.gather_now(&prepared.tables()).await;
            let basis = Arc::clone(&input.config);
            let (limits, values) = (self.limits(), values.clone());
            let altered = aside(move || prepared.run(&input, values, limits)).await?;
            let Alteration { edits, rows, table } = altered;
            if edits.is_empty() {
                self.warnings
                    .extend((rows == 0).then(|| nothing_meant(table)));
                return Ok(Outcome::Changed(rows));
            }
            match self.take(edits, basis).await {
                Ok(()) => return Ok(Outcome::Changed(rows)),
                Err(Refused::Outdated) => {}
                Err(refused) => return Err(refused.into()),
            }
        }
        Err(Fault::overtaken())
    }

    /// Runs SET GLOBAL.
    pub(super) async fn set(
        &mut self,
        settings: Vec<(String, Option<String>)>,
    ) -> Result<Outcome, Fault> {
        self.check_role()?;
        let edits = settings.into_iter();
        let edits: Vec<_> = edits
            .map(|(setting, value)| Edit::Set { setting, value })
            .collect();
        let _turn = self.lock_for_change().await;
        for _ in 0..ATTEMPTS {
            let basis = Arc::clone(&self.data_plane.settings().config);
            match self.take(edits.clone(), basis).await {
                Ok(()) => return Ok(Outcome::Changed(0)),
                Err(Refused::Outdated) => {}
                Err(refused) => return Err(refused.into()),
            }
        }
        Err(Fault::overtaken())
    }

    /// Adds the changes to the transaction; outside a transaction, makes them take effect.
    async fn take(&mut self, edits: Vec<Edit>, basis: Arc<Config>) -> Result<(), Refused> {
        self.changed = edits.iter().flat_map(Edit::names).collect();
        let Some(transaction) = &self.transaction else {
            self.warnings = self.applied(EditRequest::Apply { edits, basis }).await?;
            return Ok(());
        };
        if transaction.edits.len() + edits.len() > EDITS_MAX {
            let text = format!("A transaction may have {EDITS_MAX} changes");
            return Err(Refused::Because(vec![text]));
        }
        let edits = [transaction.edits.clone(), edits].concat();
        let view = EditRequest::View(edits.clone());
        if let EditOutcome::View(view) = self.editor.ask(&self.asker.user, view).await?
            && let Some(transaction) = &mut self.transaction
        {
            transaction.edits = edits;
            transaction.view = Some(view);
        }
        Ok(())
    }

    pub(super) async fn applied(&self, what: EditRequest) -> Result<Vec<String>, Refused> {
        match self.editor.ask(&self.asker.user, what).await? {
            EditOutcome::Done(warnings) => Ok(warnings),
            EditOutcome::View(_) | EditOutcome::Differences(_) | EditOutcome::Checked(..) => {
                Ok(Vec::new())
            }
        }
    }

    /// Runs BEGIN. As on servers, changes that were gathered before take effect.
    pub(super) async fn begin(&mut self) -> Result<Outcome, Fault> {
        if self.recent.is_some() {
            let text = "A request takes one statement; use a connection to the admin port for a transaction";
            return Err(Fault::syntax(text));
        }
        let outcome = self.commit().await?;
        self.gather_changes();
        Ok(outcome)
    }

    /// Begins to gather changes instead of making them take effect.
    pub(super) fn gather_changes(&mut self) {
        self.transaction = Some(Transaction {
            basis: Arc::clone(&self.data_plane.settings().config),
            edits: Vec::new(),
            view: None,
        });
    }

    /// Runs COMMIT: all changes take effect, or none.
    pub(super) async fn commit(&mut self) -> Result<Outcome, Fault> {
        if let Some(Transaction { basis, edits, .. }) = self.transaction.take()
            && !edits.is_empty()
        {
            self.check_role()?;
            self.changed = edits.iter().flat_map(Edit::names).collect();
            self.warnings = self.applied(EditRequest::Apply { edits, basis }).await?;
        }
        Ok(Outcome::Changed(0))
    }

    /// Runs SAVE or REVERT.
    pub(super) async fn done(&mut self, name: &str, what: EditRequest) -> Result<Outcome, Fault> {
        self.check_role()?;
        if self.transaction.is_some() {
            let text = format!("{name} cannot run in a transaction; COMMIT or ROLLBACK first");
            return Err(Fault::syntax(text));
        }
        self.warnings = self.applied(what).await?;
        Ok(Outcome::Changed(0))
    }

    /// Runs SHOW CHANGES.
    pub(super) async fn differences(&self) -> Result<ResultRows, Fault> {
        let transaction = self.transaction.as_ref();
        let edits = transaction.map(|it| it.edits.clone()).unwrap_or_default();
        let told = self
            .editor
            .ask(&self.asker.user, EditRequest::Compare(edits))
            .await?;
        let EditOutcome::Differences(differences) = told else {
            return Ok(ResultRows::default());
        };
        Ok(rows_of(&differences, "in_file"))
    }
}

/// Differences as rows of a result; `before` is the name of the column with the old values.
pub fn rows_of(differences: &[Difference], before: &str) -> ResultRows {
    let columns = ["setting", before, "becomes", "takes_effect"];
    let value = |text: &str| Some(config::manual::plain(text).into_bytes());
    let row = |it: &Difference| {
        vec![
            value(&it.change.setting),
            it.change.from.as_deref().and_then(value),
            it.change.to.as_deref().and_then(value),
            value(it.when.name()),
        ]
    };
    ResultRows {
        columns: columns
            .map(|name| (name.to_owned(), CellType::Text))
            .to_vec(),
        rows: differences.iter().map(row).collect(),
    }
}

/// The message if a statement matched no row of a table.
fn nothing_meant(table: &str) -> String {
    let elsewhere = match table {
        "admin_accounts" => "; the user of admin.username is in settings",
        _ => "",
    };
    format!("No row of {table} matches, and nothing has changed{elsewhere}")
}
