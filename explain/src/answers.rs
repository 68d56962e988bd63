//! EXPLAIN SESSION, EXPLAIN TIMES and others: what the proxy knows of a session, for the session's own client.

use route::Explanation;
use route::rules::Then;
use sql::ProxyExplain;
use wire::StatusFlags;

use crate::route::explain_route;
use crate::written::shown;
use command::text_table::TextTable;
use engine::session::PooledSession;
use stats::spread::Spreads;

/// Answers the question in a statement's text.
pub(crate) fn answer(
    session: &mut PooledSession,
    question: ProxyExplain,
    text: &[u8],
) -> TextTable {
    match question {
        ProxyExplain::Session => explain_session(session),
        ProxyExplain::Rules => explain_rules(session),
        ProxyExplain::Lanes => explain_lanes(session),
        ProxyExplain::Times => explain_times(session),
        ProxyExplain::Route(begin) => {
            let text = text.get(begin..).unwrap_or_default();
            findings(&explain_route(session, text))
        }
    }
}

fn transaction_in_words(session: &PooledSession) -> String {
    let words = transaction(session.client.status());
    match session.routing.optimistic() {
        None if session.is_begin_deferred() => format!("{words}; no server has its BEGIN yet"),
        Some(optimistic_state) => {
            let reads = optimistic_state.reads.len();
            format!("{words}, at a replica until it writes; reads to be repeated then: {reads}")
        }
        None => words.to_owned(),
    }
}

/// How many statements of all sessions have used lanes, and why others have not, since the start.
fn explain_lanes(session: &PooledSession) -> TextTable {
    let mut answer = TextTable::new(&["what", "why", "statements"]);
    for (what, why, count) in session.env.shared.lane_counts.sums() {
        answer.row([what, &why, &count.to_string()]);
    }
    answer
}

/// How long statements have waited in the proxy, and backends have taken for them, since the start.
fn explain_times(session: &PooledSession) -> TextTable {
    let mut answer = TextTable::new(&[
        "cluster",
        "backend",
        "way",
        "statements",
        "waited_avg",
        "waited_p50",
        "waited_p99",
        "waited_max",
        "backend_avg",
        "backend_p50",
        "backend_p99",
        "backend_max",
    ]);
    for sum in session.env.shared.times.sums() {
        let [waited, taken] = [&sum.waited, &sum.taken].map(in_microseconds);
        let count = sum.waited.count().to_string();
        answer.row([
            &sum.cluster,
            &sum.backend,
            sum.path.name(),
            &count,
            &waited[0],
            &waited[1],
            &waited[2],
            &waited[3],
            &taken[0],
            &taken[1],
            &taken[2],
            &taken[3],
        ]);
    }
    answer
}

/// The state of the session, one item in each row.
fn explain_session(session: &PooledSession) -> TextTable {
    let mut answer = TextTable::new(&["item", "value"]);
    let state = session.sql_state.session();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    answer.row(["id", &session.identity.id().to_string()]);
    answer.row(["account", &session.identity.account().id().to_string()]);
    answer.row(["mode", &format!("{:?}", session.mode).to_lowercase()]);
    let schema = state.values().schema().map(text);
    answer.row(["schema", schema.as_deref().unwrap_or("(none)")]);
    answer.row(["transaction", &transaction_in_words(session)]);
    let pins = session.pins();
    let pins = match pins.is_empty() {
        true => "(none)".to_owned(),
        false => pins.to_string(),
    };
    answer.row(["pins", &pins]);
    match session.held.connection() {
        Some(conn) => {
            answer.row(["connection", &conn.backend.name]);
            answer.row(["connection id", &conn.thread_id.to_string()]);
        }
        None => answer.row(["connection", "(none: one is taken for each statement)"]),
    }
    for (name, value) in state.values().variables() {
        answer.row([&format!("variable {}", text(name)), &text(value)]);
    }
    for (name, value) in state.user_variables() {
        let value = value.map_or_else(|| "(on its connection)".to_owned(), text);
        answer.row([&format!("user variable @{}", text(name)), &value]);
    }
    let held = state.held();
    for name in held.temporary_tables() {
        answer.row(["temporary table", &text(name)]);
    }
    for name in held.locks() {
        answer.row(["lock", &text(name)]);
    }
    for name in held.handlers() {
        answer.row(["handler", &text(name)]);
    }
    for name in held.prepared() {
        answer.row(["prepared from text", &text(name)]);
    }
    answer.row([
        "prepared statements",
        &session.sql_state.statements().len().to_string(),
    ]);
    answer.row([
        "open cursors",
        &session.sql_state.cursor_count().to_string(),
    ]);
    answer.row(["reads must see", &shown(&session.must_see())]);
    answer
}

/// The rules, with how often each has matched since the start, in all workers.
fn explain_rules(session: &PooledSession) -> TextTable {
    let columns = [
        "rule",
        "dry_run",
        "matched",
        "unfit",
        "queued",
        "refused",
        "mirror_dropped",
        "injected",
        "injected_failed",
        "not_understood",
    ];
    let mut answer = TextTable::new(&columns);
    let rule_set = session.env.rule_set();
    let tallies = session.env.shared.tallies.sum();
    for (_, rule) in rule_set.compiled.rules.iter() {
        let tally = tallies.iter().find(|it| it.name == rule.name);
        let tally = tally.cloned().unwrap_or_default();
        let dry_run = match rule.then {
            Then::DryRun => "yes",
            Then::Stop | Then::Continue => "no",
        };
        answer.row([
            &rule.name,
            dry_run,
            &tally.matched.to_string(),
            &tally.unfit.to_string(),
            &tally.queued.to_string(),
            &tally.refused.to_string(),
            &tally.mirror_dropped.to_string(),
            &tally.injected.to_string(),
            &tally.injected_failed.to_string(),
            &tally.not_understood.to_string(),
        ]);
    }
    answer
}

/// The findings about a statement.
fn findings(explanation: &Explanation) -> TextTable {
    let mut answer = TextTable::new(&["step", "subject", "finding"]);
    for finding in explanation.findings() {
        answer.row([finding.step, &finding.subject, &finding.text]);
    }
    answer
}

/// The average, the median, the 99th percentile and the longest time.
fn in_microseconds(times: &Spreads) -> [String; 4] {
    [
        times.average(),
        times.percentile(50),
        times.percentile(99),
        times.max(),
    ]
    .map(|time| time.as_micros().to_string())
}

fn transaction(status: StatusFlags) -> &'static str {
    let is_open = status.contains(StatusFlags::IN_TRANS);
    let is_read_only = status.contains(StatusFlags::IN_TRANS_READONLY);
    match (is_open, is_read_only) {
        (true, true) => "open, read only",
        (true, false) => "open",
        (false, _) if status.contains(StatusFlags::AUTOCOMMIT) => "none",
        (false, _) => "none; autocommit is off",
    }
}
