//! The indexes of the schemas that a plan's tables are in.

use std::rc::Rc;
use std::sync::Arc;

use super::planner::Planner;
use stats::plans::reading::Line;
use stats::plans::schema;

/// The schemas of a plan's tables, without the servers' own schemas.
pub(super) fn schemas_of(lines: &[Line]) -> Vec<String> {
    const OWN: [&str; 4] = ["information_schema", "performance_schema", "mysql", "sys"];
    let named = lines
        .iter()
        .filter_map(|line| Some(&line.table.as_ref()?.0));
    let mut schemas: Vec<String> = named
        .filter(|it| !it.is_empty() && !OWN.iter().any(|own| own.eq_ignore_ascii_case(it)))
        .cloned()
        .collect();
    schemas.sort_unstable();
    schemas.dedup();
    schemas
}

impl Planner {
    /// Reads a schema's indexes, unless they are known.
    pub(super) async fn read_schema(&mut self, cluster: &Arc<str>, schema: &str) {
        let env = Rc::clone(&self.session.env);
        let plans = &env.relay.recorder.plans;
        let now = env.now().0;
        let interval = env
            .pool_env
            .settings
            .borrow()
            .config
            .statement_stats
            .explain_interval;
        let account = self.session.identity.account().id().to_string();
        let whose = (cluster, schema, account.as_str());
        let epoch = env.pool_env.shared.definitions_epoch();
        if !self.session.held.has_connection() || !plans.claim_schema(whose, (now, epoch), interval)
        {
            return;
        }
        let [indexes, keys] =
            schema::questions(schema, self.session.sql_state.session().flags().server);
        let came = match self.ask_schema(&indexes).await {
            // Indexes that are cut off look like other indexes, and these may look like duplicates.
            Ok(indexes) if indexes.iter().count() >= schema::ROWS_MAX => Err(format!(
                "the schema has {} columns of indexes or more: none are looked at",
                schema::ROWS_MAX
            )),
            Ok(indexes) => {
                // Without the keys, only the remark that an index serves one is missing.
                let keys = self.ask_schema(&keys).await.unwrap_or_default();
                Ok(schema::indexes(&indexes, &keys))
            }
            Err(refusal) => Err(refusal),
        };
        plans.note_schema(whose, came);
    }
}
