//! What Pilotfish must reach, and whether it did.

mod lanes;
mod pooled;
mod scripts;

use std::fmt;

use crate::results::{Comparison, Results, Summary};
use crate::run::backend::Kind;
use crate::run::contestant::names::{HAPROXY, KERNEL, PILOTFISH};
use crate::run::plan::{VALUE_CLIENTS, VALUE_MIB};

/// A goal and what became of it.
pub struct Goal {
    pub text: String,
    /// What was measured, in the goal's own terms.
    pub measured: String,
    pub verdict: Verdict,
    /// The section of [`REASONS`] that says what holds it back.
    pub reasons: &'static str,
}

/// The page of reasons, seen from the page of benchmarks.
pub const REASONS: &str = "benchmarks/reasons.md";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Reached,
    Missed,
    NotMeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reached => "reached",
            Self::Missed => "**not reached**",
            Self::NotMeasured => "not measured",
        })
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.text, self.verdict, self.measured)
    }
}

/// All goals, in the order in which they are shown.
pub fn all(results: &Results) -> Vec<Goal> {
    let mut goals = vec![
        cpu_per_query(results).explained_in("transparent-sessions"),
        latency_added(results).explained_in("transparent-sessions"),
        machine_time_added(results).explained_in("sessions-in-the-kernel"),
    ];
    let backends = [Kind::Minimal, Kind::MariaDb, Kind::MySql];
    let large = backends.map(|backend| large_results(results, backend));
    let large_cpu = backends.map(|backend| large_results_cpu(results, backend));
    let servers = [Kind::MariaDb, Kind::MySql];
    let value = servers.map(|server| large_value(results, server));
    let value_cpu = servers.map(|server| large_value_cpu(results, server));
    let large = large.into_iter().chain(large_cpu);
    let large = large.chain(value).chain(value_cpu);
    goals.extend(large.map(|goal| goal.explained_in("large-results")));
    let connects = servers.map(|backend| connect(results, backend));
    goals.extend(connects.map(|goal| goal.explained_in("connecting")));
    goals.push(idle_memory(results).explained_in("memory"));
    goals.extend(pooled::all(results));
    goals.extend(scripts::all(results));
    goals.extend(lanes::all(results));
    goals
}

fn cpu_per_query(results: &Results) -> Goal {
    let text = "CPU per point select, minimal backend, 64 connections: ≤ 0.9 × HAProxy's";
    let comparison = results.comparison(Kind::Minimal, "point", 64);
    Goal::against_haproxy(text, comparison, |ours, theirs| {
        let ratio = ours.against.get(HAPROXY)?.proxy_cpu?.median;
        let (ours, theirs) = (ours.proxy_cpu_us?.sum(), theirs.proxy_cpu_us?.sum());
        let measured = format!("{ratio:.3} ×: {ours:.2} µs, HAProxy {theirs:.2} µs");
        Some((ratio <= 0.9, measured))
    })
}

fn latency_added(results: &Results) -> Goal {
    let text = "p50 added to a point select, minimal backend, 1 connection: ≤ HAProxy's";
    let comparison = results.comparison(Kind::Minimal, "point", 1);
    Goal::against_haproxy(text, comparison, |ours, theirs| {
        let (ours, theirs) = (ours.p50_added_us?, theirs.p50_added_us?);
        let measured = format!("{ours:.1} µs, HAProxy {theirs:.1} µs");
        Some((ours <= theirs, measured))
    })
}

/// Sessions that the kernel joins cost the proxy nothing, and the kernel's threads something.
fn machine_time_added(results: &Results) -> Goal {
    let text = "Machine time that sessions in the kernel add to a point select, minimal backend, 64 connections: ≤ 0.6 × \
                HAProxy's";
    let comparison = results.comparison(Kind::Minimal, "point", 64);
    let haproxy = comparison.and_then(|it| it.contestants.get(HAPROXY)?.machine_added_us);
    Goal::of_one(text, comparison, KERNEL, |ours| {
        let (ours, theirs) = (ours.machine_added_us?, haproxy?);
        let measured = format!("{ours:.1} µs, HAProxy {theirs:.1} µs");
        Some((ours <= 0.6 * theirs, measured))
    })
}

fn large_results(results: &Results, backend: Kind) -> Goal {
    let what = "Throughput of results of 10,000 rows";
    let text = format!("{what}, {}, 8 connections: ≥ HAProxy's", backend.title());
    let comparison = results.comparison(backend, "rows:10000", 8);
    Goal::against_haproxy(&text, comparison, |ours, theirs| {
        let ratio = ours.against.get(HAPROXY)?.per_second.median;
        let (ours, theirs) = (ours.per_second, theirs.per_second);
        let measured = format!("{ratio:.3} ×: {ours:.0}/s, HAProxy {theirs:.0}/s");
        Some((ratio >= 1.0, measured))
    })
}

fn large_results_cpu(results: &Results, backend: Kind) -> Goal {
    let what = "CPU of the proxy for a result of 10,000 rows";
    let text = format!("{what}, {}, 8 connections: ≤ HAProxy's", backend.title());
    let comparison = results.comparison(backend, "rows:10000", 8);
    Goal::against_haproxy(&text, comparison, |ours, theirs| {
        let ratio = ours.against.get(HAPROXY)?.proxy_cpu?.median;
        let (ours, theirs) = (ours.proxy_cpu_us?.sum(), theirs.proxy_cpu_us?.sum());
        let measured = format!("{ratio:.3} ×: {ours:.0} µs, HAProxy {theirs:.0} µs");
        Some((ratio <= 1.0, measured))
    })
}

fn value_cell(results: &Results, server: Kind) -> Option<&Comparison> {
    results.comparison(server, &format!("value:{VALUE_MIB}"), VALUE_CLIENTS)
}

fn large_value(results: &Results, server: Kind) -> Goal {
    let title = server.title();
    let text = format!(
        "Throughput of a value of {VALUE_MIB} MiB, {title}, {VALUE_CLIENTS} connections: ≥ HAProxy's"
    );
    Goal::against_haproxy(&text, value_cell(results, server), |ours, theirs| {
        let ratio = ours.against.get(HAPROXY)?.per_second.median;
        let mib = |summary: &Summary| summary.per_second * VALUE_MIB as f64;
        let (ours, theirs) = (mib(ours), mib(theirs));
        let measured = format!("{ratio:.3} ×: {ours:.0} MiB/s, HAProxy {theirs:.0} MiB/s");
        Some((ratio >= 1.0, measured))
    })
}

fn large_value_cpu(results: &Results, server: Kind) -> Goal {
    let title = server.title();
    let text = format!(
        "CPU of the proxy for a value of {VALUE_MIB} MiB, {title}, {VALUE_CLIENTS} connections: ≤ HAProxy's"
    );
    Goal::against_haproxy(&text, value_cell(results, server), |ours, theirs| {
        let ratio = ours.against.get(HAPROXY)?.proxy_cpu?.median;
        let ms = |summary: &Summary| Some(summary.proxy_cpu_us?.sum() / 1000.0);
        let (ours, theirs) = (ms(ours)?, ms(theirs)?);
        let measured = format!("{ratio:.3} ×: {ours:.1} ms, HAProxy {theirs:.1} ms");
        Some((ratio <= 1.0, measured))
    })
}

fn connect(results: &Results, backend: Kind) -> Goal {
    let what = "Connect, query, close, transparent";
    let text = format!("{what}, {}, 8 clients: ≥ HAProxy's rate", backend.title());
    let comparison = results.comparison(backend, "connect", 8);
    Goal::against_haproxy(&text, comparison, |ours, theirs| {
        let ratio = ours.against.get(HAPROXY)?.per_second.median;
        let (ours, theirs) = (ours.per_second, theirs.per_second);
        let measured = format!("{ratio:.3} ×: {ours:.0}/s, HAProxy {theirs:.0}/s");
        Some((ratio >= 1.0, measured))
    })
}

fn idle_memory(results: &Results) -> Goal {
    let text = "Memory of the proxy per idle session, 10,000 sessions: ≤ 4.3 KiB";
    Goal::of(
        text,
        results
            .idle
            .iter()
            .find(|idle| idle.contestant == PILOTFISH)
            .map(|idle| {
                let kib = idle.bytes_per_session / 1024.0;
                let reached = kib <= 4.3 && idle.errors.count() == 0;
                (
                    reached,
                    format!("{kib:.2} KiB with {} sessions", idle.sessions),
                )
            }),
    )
}

impl Goal {
    /// The same goal; what holds it back stands in that section of [`REASONS`].
    fn explained_in(self, section: &'static str) -> Self {
        Self {
            reasons: section,
            ..self
        }
    }

    /// A goal that `judge` decides from both contestants' figures. Figures that came with errors
    /// reach nothing.
    fn against_haproxy(
        text: &str,
        comparison: Option<&Comparison>,
        judge: impl Fn(&Summary, &Summary) -> Option<(bool, String)>,
    ) -> Self {
        let measured = comparison.and_then(|comparison| {
            let ours = comparison.contestants.get(PILOTFISH)?;
            let theirs = comparison.contestants.get(HAPROXY)?;
            match (ours.errors.count(), judge(ours, theirs)?) {
                (0, judged) => Some(judged),
                (errors, (_, measured)) => Some((false, format!("{errors} errors; {measured}"))),
            }
        });
        Self::of(text, measured)
    }

    /// A goal that `judge` decides from one contestant's figures. Figures that came with errors
    /// reach nothing.
    fn of_one(
        text: &str,
        comparison: Option<&Comparison>,
        contestant: &str,
        judge: impl Fn(&Summary) -> Option<(bool, String)>,
    ) -> Self {
        let measured = comparison.and_then(|comparison| {
            let ours = comparison.contestants.get(contestant)?;
            match (ours.errors.count(), judge(ours)?) {
                (0, judged) => Some(judged),
                (errors, (_, measured)) => Some((false, format!("{errors} errors; {measured}"))),
            }
        });
        Self::of(text, measured)
    }

    fn of(text: &str, measured: Option<(bool, String)>) -> Self {
        let (verdict, measured) = match measured {
            Some((true, measured)) => (Verdict::Reached, measured),
            Some((false, measured)) => (Verdict::Missed, measured),
            None => (Verdict::NotMeasured, "–".to_owned()),
        };
        Self {
            text: text.to_owned(),
            measured,
            verdict,
            reasons: "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the page of reasons is found from this crate.
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/benchmarks/reasons.md");

    #[test]
    fn each_goal_names_a_section_of_the_page_of_reasons() {
        let page = std::fs::read_to_string(PAGE).expect("the page of reasons");
        let titles = page.lines().filter_map(|line| line.strip_prefix("## "));
        let sections: Vec<String> = titles
            .map(|title| title.to_lowercase().replace(' ', "-"))
            .collect();
        for goal in all(&Results::of(Vec::new())) {
            let has_section = sections.iter().any(|section| section == goal.reasons);
            assert!(has_section, "{}: {:?}", goal.text, goal.reasons);
        }
    }
}
