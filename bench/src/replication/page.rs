//! The page of what replication costs.

use std::fmt::Write;
use std::process::Command;

use super::chain::{Chain, Way, Window};
use super::{Figures, REPLICAS, Workload};
use crate::run::backend::Kind;
use crate::run::machine;
use crate::run::process::version_line;

const INTRODUCTION: &str = "\
# Benchmarks of replication

This page is written by `pilotfish-bench replication`; `bench/README.md` says what is measured how. Figures are processor time
of one process, so other processes blur them little.

";

/// What following must reach, in megabytes of events a second of one core.
const FOLLOW_MIN: f64 = 200.0;

/// The same of telling changes as JSON.
const JSON_MIN: f64 = 40.0;

/// The most processor time of feeding replicas, as a share of a server's.
const FEED_MAX: f64 = 0.25;

/// The least throughput of a primary with the proxy and eight replicas behind it, as a share of that with one ordinary
/// replica. The rest is the spread of the windows.
const CHAIN_MIN: f64 = 0.98;

/// The whole page.
pub fn markdown(all: &[(Kind, Figures)]) -> String {
    let mut page = String::from(INTRODUCTION);
    // Writing to a string cannot fail.
    let _ = writeln!(
        page,
        "Measured {} at commit {} on {}, {}, {}.\n",
        machine::date(),
        machine::commit(),
        machine::machine(),
        machine::kernel(),
        machine::distribution()
    );
    for (kind, _) in all {
        let _ = writeln!(page, "- {}: {}", kind.title(), kind.version());
    }
    if let Some(program) = crate::run::contestant::pilotfish::program() {
        let version = version_line(Command::new(program).arg("--version"));
        let _ = writeln!(page, "- Pilotfish: {version}");
    }
    page.push_str("\n## Goals\n\n| goal | measured | |\n|---|---|---|\n");
    for (kind, figures) in all {
        for workload in &figures.workloads {
            goals(&mut page, *kind, workload);
        }
        let ratio = figures.chain.ratio(Way::Chain);
        let _ = writeln!(
            page,
            "| Transactions of a primary with the proxy and {REPLICAS} replicas behind it, {}: ≥ {CHAIN_MIN} × those with one \
             ordinary replica | {ratio:.3} ×; {:.3} × while its replicas are stopped | {} |",
            kind.title(),
            figures.chain.ratio(Way::ProxyAlone),
            verdict(ratio >= CHAIN_MIN)
        );
    }
    for (kind, figures) in all {
        let _ = writeln!(
            page,
            "\n## {}\n\n| transactions of | 4,096 rows | 4 rows |\n|---|--:|--:|",
            kind.title()
        );
        for (name, value) in ROWS {
            let cells = figures.workloads.iter().map(value);
            let cells: Vec<String> = cells.collect();
            let _ = writeln!(page, "| {name} | {} |", cells.join(" | "));
        }
        let _ = writeln!(
            page,
            "\nOne transaction of {:.0} MB was relayed to {REPLICAS} replicas and told as JSON. The most memory of the \
             proxy grew by {:.1} MB.",
            megabytes(figures.large_transaction_bytes),
            megabytes(figures.large_transaction_growth_bytes)
        );
        chain(&mut page, &figures.chain);
    }
    page
}

fn goals(page: &mut String, kind: Kind, workload: &Workload) {
    let title = format!("{}, transactions of {}", kind.title(), workload.name);
    let rate = |seconds: f64| megabytes(workload.bytes) / seconds;
    let ratio = workload.proxy / workload.server;
    for (goal, measured, is_reached) in [
        (
            format!("Following without decoding rows, {title}: ≥ {FOLLOW_MIN:.0} MB/s a core"),
            format!("{:.0} MB/s", rate(workload.follow)),
            rate(workload.follow) >= FOLLOW_MIN,
        ),
        (
            format!("Changes as JSON, {title}: ≥ {JSON_MIN:.0} MB/s a core"),
            format!("{:.0} MB/s", rate(workload.json)),
            rate(workload.json) >= JSON_MIN,
        ),
        (
            format!(
                "CPU of following and feeding {REPLICAS} replicas, {title}: ≤ {FEED_MAX} × a relaying server's"
            ),
            format!(
                "{ratio:.2} ×: {:.2} s, the server {:.2} s",
                workload.proxy, workload.server
            ),
            ratio <= FEED_MAX,
        ),
    ] {
        let _ = writeln!(page, "| {goal} | {measured} | {} |", verdict(is_reached));
    }
}

fn verdict(is_reached: bool) -> &'static str {
    if is_reached {
        "reached"
    } else {
        "**not reached**"
    }
}

/// The windows of all ways, and what each takes for a transaction.
fn chain(page: &mut String, chain: &Chain) {
    let _ = writeln!(
        page,
        "\nThe primary's transactions a second under sysbench's oltp_read_write, in windows of {} s. All replicas had all {:.0} s \
         after the last window.\n\n| with one ordinary replica | with the proxy and {REPLICAS} replicas | with the proxy, whose \
         replicas are stopped |\n|--:|--:|--:|",
        chain.window_seconds, chain.catches_up
    );
    for windows in &chain.rounds {
        let [ordinary, proxy, alone] = windows.map(|window| window.per_second);
        let _ = writeln!(page, "| {ordinary:.0} | {proxy:.0} | {alone:.0} |");
    }
    let _ = writeln!(
        page,
        "\nProcessor time for a transaction, in µs:\n\n| | the primary | the proxy | all replicas |\n|---|--:|--:|--:|"
    );
    for (name, way) in [
        ("one ordinary replica", Way::Ordinary),
        ("the proxy and its replicas", Way::Chain),
        ("the proxy, whose replicas are stopped", Way::ProxyAlone),
    ] {
        let Window {
            primary_us,
            proxy_us,
            replicas_us,
            ..
        } = chain.mean(way);
        let _ = writeln!(
            page,
            "| {name} | {primary_us:.0} | {proxy_us:.0} | {replicas_us:.0} |"
        );
    }
}

type Value = fn(&Workload) -> String;

const ROWS: [(&str, Value); 12] = [
    ("transactions", |it| it.transactions.to_string()),
    ("events", |it| it.events.to_string()),
    ("bytes of events, MB", |it| {
        format!("{:.0}", megabytes(it.bytes))
    }),
    ("following, s of CPU", |it| format!("{:.2}", it.follow)),
    ("following into relay files, s of CPU", |it| {
        format!("{:.2}", it.follow_relay)
    }),
    ("changes as JSON, s of CPU", |it| format!("{:.2}", it.json)),
    ("the JSON, MB", |it| {
        format!("{:.0}", megabytes(it.json_bytes))
    }),
    ("proxy that feeds 8 replicas, s of CPU", |it| {
        format!("{:.2}", it.proxy)
    }),
    ("server that feeds 8 replicas, s of CPU", |it| {
        format!("{:.2}", it.server)
    }),
    ("primary in front of the proxy, s of CPU", |it| {
        format!("{:.2}", it.primary_of_proxy)
    }),
    ("primary in front of the server, s of CPU", |it| {
        format!("{:.2}", it.primary_of_server)
    }),
    ("until all replicas have all, s: proxy; server", |it| {
        format!("{:.1}; {:.1}", it.proxy_seconds, it.server_seconds)
    }),
];

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
