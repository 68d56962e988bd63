//! Which files of the client a backend may ask for: those that the client's texts name.

use session::Files;
use sql::{Facts, StatementKind, Uses};

use crate::session::PooledSession;

/// Names of files in prepared texts that a session keeps.
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
        let mut files = sql::local_files(text, self.sql_state.session.flags());
        match facts.kind {
            StatementKind::Prepare => {
                let mut known = std::mem::take(&mut self.sql_state.prepared_files).into_vec();
                let room = NAMES_MAX.saturating_sub(known.len());
                known.extend(files.iter().take(room).cloned());
                self.sql_state.prepared_files = known.into_boxed_slice();
            }
            StatementKind::Execute => files.extend(self.sql_state.prepared_files.iter().cloned()),
            _ => {}
        }
        Files::Named(files)
    }
}
