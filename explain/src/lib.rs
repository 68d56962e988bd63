//! Explains a session to its own client, and how servers run its statements.
//!
//! ```text
//!   EXPLAIN SESSION, RULES, LANES, TIMES ──► answers ──► a table for the client
//!   EXPLAIN ROUTE                        ──► route    ──► where a statement would go, and why
//!
//!   a statement whose plan is due         ──► plans    ──► EXPLAIN, by a session without a client
//!                                                        │
//!                                                        └─► schemas   the indexes of the schemas that it reads
//! ```
//!
//! A pooled session calls this crate by [`engine::session::Explainer`], and knows nothing of it.

mod answers;
mod plans;
mod route;
mod written;

use command::statement::Statement;
use command::text_table::TextTable;
use engine::session::{Explainer, PooledSession};
use sql::ProxyExplain;
use stats::statement_stats::Subject;

/// Explains pooled sessions.
pub struct SessionExplainer;

impl Explainer for SessionExplainer {
    fn answer(
        &self,
        session: &mut PooledSession,
        question: ProxyExplain,
        text: &[u8],
    ) -> TextTable {
        answers::answer(session, question, text)
    }

    #[cold]
    fn plan_later(&self, session: &PooledSession, due: &Subject, statement: &Statement<'_>) {
        plans::explain_later(session, due, statement);
    }
}
