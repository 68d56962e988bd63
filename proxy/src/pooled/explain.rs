//! EXPLAIN SESSION and its like: what the proxy knows of a session, told to its own client.

pub(crate) mod explain_route;
pub(crate) mod explainable;
pub(crate) mod plans;

use route::rules::Then;
use route::{Explanation, Written};
use sql::ProxyExplain;
use wire::column::{ColumnDefinition, ColumnType};
use wire::{Capabilities, StatusFlags};

use super::session::PooledSession;
use stats::spread::Spreads;

/// A result whose values are all texts.
pub(crate) struct TextTable {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Option<String>>>,
}

impl TextTable {
    pub(crate) fn new(columns: &[&'static str]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row<const N: usize>(&mut self, values: [&str; N]) {
        let values = values.iter().map(|value| Some((*value).to_owned()));
        self.rows.push(values.collect());
    }

    /// What was found of a statement.
    pub(crate) fn of(explanation: &Explanation) -> Self {
        let mut answer = Self::new(&["step", "subject", "finding"]);
        for finding in explanation.findings() {
            answer.row([finding.step, &finding.subject, &finding.text]);
        }
        answer
    }

    /// As packets that begin with `sequence`.
    fn packets(&self, sequence: u8, capabilities: Capabilities, status: StatusFlags) -> Vec<u8> {
        /// `utf8mb4_general_ci`, which every server knows.
        const COLLATION: u16 = 45;
        let columns: Vec<ColumnDefinition<'_>> = (self.columns.iter())
            .map(|name| {
                ColumnDefinition::new(name.as_bytes(), ColumnType::VAR_STRING, COLLATION, 1 << 16)
            })
            .collect();
        let rows = self.rows.iter().map(|row| {
            let values = row.iter();
            values.map(|value| value.as_ref().map(|text| text.as_bytes()))
        });
        let mut packets = Vec::new();
        wire::result::put_text_result(
            &mut packets,
            sequence,
            capabilities,
            &columns,
            rows,
            status,
            0,
        );
        packets
    }
}

impl PooledSession {
    /// Whether the session's client may ask about the proxy.
    pub(crate) fn may_ask(&self) -> bool {
        let account = self.identity.account.explains;
        account.unwrap_or(self.settings.config.accounts.explain)
    }

    /// Tells the client a table of the proxy's own.
    pub(crate) fn say_answer(&mut self, sequence: u8, answer: &TextTable) {
        let sequence = self
            .client
            .leg
            .transport
            .frame_sequence()
            .unwrap_or(sequence);
        let packets = answer.packets(sequence, self.client.capabilities, self.client.status);
        if let Some(subject) = &mut self.command.subject {
            subject.answer.rows += answer.rows.len() as u64;
        }
        self.say_packets(&packets);
    }

    /// The answer to what a statement's text asks.
    pub(crate) fn explain(&mut self, inquiry: ProxyExplain, text: &[u8]) -> TextTable {
        match inquiry {
            ProxyExplain::Session => self.explain_session(),
            ProxyExplain::Rules => self.explain_rules(),
            ProxyExplain::Lanes => self.explain_lanes(),
            ProxyExplain::Times => self.explain_times(),
            ProxyExplain::Route(begin) => {
                let text = text.get(begin..).unwrap_or_default();
                TextTable::of(&self.explain_route(text))
            }
        }
    }

    fn transaction_in_words(&self) -> String {
        let words = transaction(self.client.status);
        match &self.routing.optimism {
            None if self.is_begin_deferred() => format!("{words}; no server has its BEGIN yet"),
            Some(optimism) => {
                let reads = optimism.reads.len();
                format!("{words}, at a replica until it writes; reads to be repeated then: {reads}")
            }
            None => words.to_owned(),
        }
    }

    /// What has become of the statements of all sessions, since the start.
    fn explain_lanes(&self) -> TextTable {
        let mut answer = TextTable::new(&["what", "why", "statements"]);
        for (what, why, count) in self.worker.shared.lane_counts.sums() {
            answer.row([what, &why, &count.to_string()]);
        }
        answer
    }

    /// How long statements have waited here and backends have taken for them, since the start.
    fn explain_times(&self) -> TextTable {
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
        for sum in self.worker.shared.times.sums() {
            let [waited, taken] = [&sum.waited, &sum.taken].map(in_microseconds);
            let count = sum.waited.count().to_string();
            answer.row([
                &sum.cluster,
                &sum.backend,
                sum.way.name(),
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

    /// What is known of the session, an item a row.
    fn explain_session(&self) -> TextTable {
        let mut answer = TextTable::new(&["item", "value"]);
        let state = &self.sql_state.session;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        answer.row(["id", &self.identity.registered.id().to_string()]);
        answer.row(["account", &self.identity.account.id().to_string()]);
        answer.row(["mode", &format!("{:?}", self.mode).to_lowercase()]);
        let schema = state.values().schema().map(text);
        answer.row(["schema", schema.as_deref().unwrap_or("(none)")]);
        answer.row(["transaction", &self.transaction_in_words()]);
        let pins = self.pins();
        let pins = match pins.is_empty() {
            true => "(none)".to_owned(),
            false => pins.to_string(),
        };
        answer.row(["pins", &pins]);
        match &self.held.lease {
            Some(lent) => {
                answer.row(["connection", &lent.conn.backend.name]);
                answer.row(["connection id", &lent.conn.thread_id.to_string()]);
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
            &self.sql_state.statements.len().to_string(),
        ]);
        answer.row(["open cursors", &self.sql_state.cursors.len().to_string()]);
        answer.row(["reads must see", &shown(&self.must_see())]);
        answer
    }
}

impl PooledSession {
    /// The rules, each with how often it has matched since the start, by all workers.
    fn explain_rules(&self) -> TextTable {
        let columns = [
            "rule",
            "watches",
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
        let rule_set = self.worker.rule_set();
        let tallies = self.worker.shared.tallies.sum();
        for (_, rule) in rule_set.compiled.rules.iter() {
            let tally = tallies.iter().find(|it| it.name == rule.name);
            let tally = tally.cloned().unwrap_or_default();
            let watches = match rule.then {
                Then::Watch => "yes",
                Then::Stop | Then::Continue => "no",
            };
            answer.row([
                &rule.name,
                watches,
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
}

/// Average, median, 99th percentile and the longest.
fn in_microseconds(times: &Spreads) -> [String; 4] {
    [
        times.average(),
        times.percentile(50),
        times.percentile(99),
        times.max(),
    ]
    .map(|time| time.as_micros().to_string())
}

/// What must be seen, in words.
pub(crate) fn shown(written: &Written) -> String {
    match written {
        Written::Nothing => "nothing in particular".to_owned(),
        Written::UpTo(position) => position.to_string(),
        Written::Unknown => "a write whose position nobody knows".to_owned(),
    }
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
