//! Which files of the client a backend may ask for: those that the client's texts name.

use session::Files;
use sql::{Facts, StatementKind, Uses};

use crate::session::PooledSession;

/// The most names of files in prepared texts that a session keeps.
const NAMES_MAX: usize = 256;

impl PooledSession {
    /// The files that a statement may have its backend ask for. An EXECUTE may mean each file that a PREPARE has
    /// named.
    pub(crate) fn files_named(&mut self, facts: &Facts, text: &[u8]) -> Files {
        let is_dynamic = matches!(
            facts.kind,
            StatementKind::Prepare | StatementKind::Execute | StatementKind::ExecuteImmediate
        );
        if !is_dynamic && !facts.uses.has(Uses::CLIENT_FILE) {
            return Files::NONE;
        }
        let mut files = sql::local_files(text, self.sql_state.session().flags());
        match facts.kind {
            StatementKind::Prepare => {
                self.sql_state.note_prepared_files(&files, NAMES_MAX);
            }
            StatementKind::Execute => files.extend_from_slice(self.sql_state.prepared_files()),
            _ => {}
        }
        Files::Named(files)
    }
}
