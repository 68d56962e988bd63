//! What the proxy reports of a statement that was profiled: a row of a table, and a line of a file if there is one.

use std::sync::Arc;
use std::time::Duration;

use route::Backend;
use route::rules::Purpose;
use serde_json::{Map, Value};
use session::Outcome;

use crate::injection::timestamp::timestamp;
use crate::session::PooledSession;
use backend::exchange_outcome::Done;
use backend::injected_events::rows_examined;
use backend::injected_results::{
    Cost, Finding, Found, InjectionReport, Profile, ProfileReason, ProfiledEnding, collect_reports,
    without_own,
};
use command::injecting::Injecting;
use command::statement::Statement;
use stats::journal::{Entry, Log};
use stats::messages::{shown, shown_failure};
use stats::profiles::ProfileView;
use stats::table::{SAMPLE_BYTES_MAX, shortened};

impl PooledSession {
    /// Reports a statement that was profiled.
    pub(crate) fn tell_profile(
        &self,
        injecting: &mut Injecting,
        statement: &Statement<'_>,
        done: &Done,
        (taken, backend): (Duration, Option<&Backend>),
    ) {
        let counts = &self.env.shared.profiling;
        counts.is_profiled(injecting.sent, injecting.spent);
        let has_values = injecting.tells_values;
        if !has_values {
            injecting.after.iter_mut().for_each(redact);
        }
        let now = self.env.now().0;
        let view = self.profile_view(injecting, statement, done, (now, taken, backend));
        let settings = Arc::clone(&self.env.pool_env.settings.borrow());
        if settings.config.profiling.file.is_some() {
            self.write_profile(injecting, &view);
        }
        let insight = &self.env.relay.recorder.stats;
        insight.profiles.borrow_mut().note(Arc::new(view));
    }

    fn profile_view(
        &self,
        injecting: &Injecting,
        statement: &Statement<'_>,
        done: &Done,
        (at, taken, backend): (Duration, Duration, Option<&Backend>),
    ) -> ProfileView {
        let flags = self.sql_state.session().flags();
        let digest = sql::digest(statement.text(), flags);
        let values = injecting.tells_values;
        let text = values.then(|| statement.text_with_values(flags, self.client.capabilities()));
        let query = match text.flatten() {
            Some(text) => shortened(&text, SAMPLE_BYTES_MAX),
            None => shortened(digest.text(), SAMPLE_BYTES_MAX),
        };
        let (status, results) = told_of(injecting);
        let json = |it: serde_json::Result<String>| it.unwrap_or_default();
        let schema = self.sql_state.session().values().schema();
        ProfileView {
            at,
            session: self.identity.id(),
            command: statement.command_name(),
            chosen_by: Arc::clone(injecting.name()),
            account: self.identity.account().id().to_string(),
            schema: schema.map(|it| String::from_utf8_lossy(it).into_owned()),
            backend: backend.map(|it| it.name.clone()),
            digest: digest.hash(),
            query,
            tag: injecting.tag.clone(),
            taken,
            rows: done.tally.rows_before.saturating_add(done.tally.rows),
            affected_rows: done.tally.affected_rows,
            rows_examined: injecting.after.iter().find_map(examined),
            warnings: done.tally.warnings,
            error: match done.outcome {
                Outcome::Err(number) => Some(number),
                Outcome::Ok => None,
            },
            status: status.map(|it| json(serde_json::to_string(&it))),
            results: json(serde_json::to_string(&results)),
            sent: injecting.sent,
            cost: injecting.spent,
        }
    }

    fn write_profile(&self, injecting: &Injecting, view: &ProfileView) {
        let (status, results) = told_of(injecting);
        let profile = Profile {
            command: view.command,
            timestamp: timestamp(self.env.pool_env.system.clock.wall()),
            query: &view.query,
            digest: Some(format!("0x{:016X}", view.digest)),
            thread_id: view.session,
            exec_time: view.taken.as_micros() as f64 / 1000.0,
            reason: ProfileReason {
                rule: None,
                chosen_by: Some(&view.chosen_by),
            },
            user: view.account.clone(),
            schema: view.schema.clone(),
            backend: view.backend.as_deref(),
            ending: ProfiledEnding {
                error: view.error,
                rows: view.rows,
                affected_rows: view.affected_rows,
                warnings: view.warnings,
            },
            tags: view.tag.iter().map(ToString::to_string).collect(),
            cost: Some(Cost {
                statements: view.sent,
                microseconds: u64::try_from(view.cost.as_micros()).unwrap_or(u64::MAX),
            }),
            status,
            results,
        };
        match serde_json::to_string(&profile) {
            Ok(mut line) => {
                line.push('\n');
                let entry = Entry::Line(Log::Profiles, line.into());
                self.env.relay.recorder.journal.offer(entry);
            }
            Err(error) => tracing::error!(%error, "the proxy cannot write a profile to the log"),
        }
    }
}

/// The number of rows that the statement has examined, if that was asked and answered.
fn examined(found: &Found) -> Option<u64> {
    match (&found.purpose, &found.finding) {
        (Purpose::Events, Finding::Table(table)) => rows_examined(table),
        _ => None,
    }
}

/// The reported results of all injected statements.
fn told_of(injecting: &Injecting) -> (Option<Map<String, Value>>, Vec<InjectionReport<'_>>) {
    let how = injecting.injection.results;
    let (mut status, results) = collect_reports(&injecting.before, &injecting.after, how);
    if let Some(status) = &mut status {
        without_own(status, &injecting.before);
    }
    (status, results)
}

/// Removes from an answer what may contain values of the statement.
fn redact(found: &mut Found) {
    match (&found.purpose, &mut found.finding) {
        (Purpose::Warnings | Purpose::Errors, Finding::Table(table)) => table.redact(shown),
        (_, Finding::Failed(why)) => *why = shown_failure(why),
        _ => {}
    }
}
