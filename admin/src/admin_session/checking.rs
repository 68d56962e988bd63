//! Checks a change without making it: the whole resulting configuration is checked, and nothing
//! takes effect.

use rusqlite::types::Value;

use super::changing::rows_of;
use super::{AdminSession, Outcome};
use crate::editor::{EditOutcome, EditRequest};
use crate::engine::ResultRows;
use crate::fault::Fault;
use crate::statement::Statement;

/// The name of the column with a setting's current value.
const BEFORE: &str = "holds";

impl AdminSession {
    /// Which settings a statement would change, from which value to which, and when. Sets `warnings` to the warnings
    /// that the statement would have.
    ///
    /// # Errors
    /// The errors that the statement would have.
    pub async fn check(&mut self, text: &str, values: Vec<Value>) -> Result<ResultRows, Fault> {
        let statement = self.read(text).await?;
        let (_, differences) = self.check_changes(statement, values).await?;
        Ok(differences)
    }

    /// As [`Self::check`], for a statement that has been read already. Also returns the number of rows it would change.
    ///
    /// # Errors
    /// The errors that the statement would have.
    pub async fn check_changes(
        &mut self,
        statement: Statement,
        values: Vec<Value>,
    ) -> Result<(usize, ResultRows), Fault> {
        self.gather_changes();
        let outcome = self.gathered(statement, values).await;
        let edits = self.transaction.take().map(|it| it.edits);
        let rows = outcome?;
        let edits = edits.unwrap_or_default();
        if edits.is_empty() {
            return Ok((rows, rows_of(&[], BEFORE)));
        }
        let told = self
            .editor
            .ask(&self.asker.user, EditRequest::Check(edits))
            .await?;
        let EditOutcome::Checked(differences, warnings) = told else {
            return Ok((rows, rows_of(&[], BEFORE)));
        };
        self.warnings = warnings;
        Ok((rows, rows_of(&differences, BEFORE)))
    }

    async fn gathered(&mut self, statement: Statement, values: Vec<Value>) -> Result<usize, Fault> {
        let outcome = match statement {
            Statement::Change(text) => self.change(text, values).await?,
            Statement::Set(settings) => self.set(settings).await?,
            _ => {
                return Err(Fault::syntax(
                    "INSERT, UPDATE, DELETE and SET GLOBAL can be checked",
                ));
            }
        };
        match outcome {
            Outcome::Changed(rows) => Ok(rows),
            Outcome::Rows(..) | Outcome::Done => Ok(0),
        }
    }
}
