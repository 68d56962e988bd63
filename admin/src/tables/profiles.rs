//! Profiles: the cost of statements on their backends.

use std::sync::Arc;

use stats::ProfileView;

use super::digests::hexadecimal;
use crate::table::{Asks, Schema, TableDefinition, columns, microseconds};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<ProfileRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "profiles",
    about: "Statements around which their backend was asked what they cost, the latest first, as many as \
            profiling.kept_max says of each worker.",
    asks: Asks::Insight,
    columns: columns! {
        text "ended", "When it was told, in UTC.", |it| it.ended.clone().into();
        integer "session", "The id of its session.", |it| it.profile.session.into();
        text "account", "The account of the statement.", |it| (&it.profile.account).into();
        text "db", "The default schema; NULL: none.", |it| it.profile.schema.clone().into();
        text "backend", "The backend that ran it.", |it| it.profile.backend.clone().into();
        text "command", "Query, Execute of what is prepared, or Bulk execute.", |it| it.profile.command.into();
        text "chosen_by", "The rule that has chosen it, or hint, or chance.", |it| (&*it.profile.chosen_by).into();
        text "tag", "The tag that a rule has set; NULL: none.", |it| it.profile.tag.as_deref().into();
        measure "backend_us" ["us"], "At the backend.", |it| microseconds(it.profile.taken);
        integer "rows_sent", "Rows of its results.", |it| it.profile.rows.into();
        integer "rows_examined",
            "Rows that its backend has looked at; NULL: profiling.collect has no \"events\", or it does not know.",
            |it| it.profile.rows_examined.into();
        integer "rows_affected", "Rows that it has changed.", |it| it.profile.affected_rows.into();
        integer "warnings", "The number of warnings.", |it| it.profile.warnings.into();
        integer "error", "The number of its error; NULL: none.", |it| it.profile.error.into();
        integer "sent", "Statements that the proxy has sent for it.", |it| it.profile.sent.into();
        measure "cost_us" ["us"], "How long these have taken.", |it| microseconds(it.profile.cost);
        text "digest", "The hash of its normalised text.", |it| hexadecimal(it.profile.digest).into();
        text "statement", "Its normalised text; as it was said, if profiling.include_values allows.",
            |it| (&it.profile.query).into();
        text "status", "The differences of SHOW SESSION STATUS as a JSON object; NULL: the proxy did not ask for it.",
            |it| it.profile.status.clone().into();
        text "results", "Other answers, a JSON array.", |it| (&it.profile.results).into();
    },
    items,
};

/// One profile.
pub struct ProfileRow {
    profile: Arc<ProfileView>,
    ended: String,
}

fn items(input: &TableInput) -> Vec<ProfileRow> {
    let statement_stats = &input.statement_stats;
    let profiles = statement_stats.profiles.iter();
    profiles
        .map(|profile| ProfileRow {
            ended: statement_stats.time(profile.at),
            profile: Arc::clone(profile),
        })
        .collect()
}
