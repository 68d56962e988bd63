//! Tables that are no comparison of throughput: idle sessions, rules, scripts, workers.

use std::fmt::Write;

use super::number::count;
use crate::results::{Idle, Insight, Results};
use crate::run::backend::Kind;
use crate::run::contestant::names::{
    ISOLATED, LANES, LANES_2_WORKERS, PILOTFISH, PILOTFISH_2_WORKERS, POOLED, RULED, SCRIPTED,
    title,
};
use crate::run::plan::CPU_CLIENTS;

/// Memory of sessions that do nothing.
pub fn idle(page: &mut String, idle: &[Idle]) {
    if idle.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "## Idle sessions\n\nSessions that logged in, selected one row and then did nothing; growth of \
         the proxy's resident memory.\n\n| | sessions | per session | of it anonymous | \
         backend connections | errors |\n|---|--:|--:|--:|--:|--:|"
    );
    for idle in idle {
        let sessions = count(idle.sessions as f64);
        let _ = writeln!(
            page,
            "| {} | {} | {:.2} KiB | {:.2} KiB | {} | {} |",
            title(&idle.contestant),
            match idle.proxies {
                1 => sessions,
                proxies => format!("{sessions} over {proxies} proxies"),
            },
            idle.bytes_per_session / 1024.0,
            idle.anon_bytes_per_session / 1024.0,
            idle.backend_connections
                .map_or("–".to_owned(), |connections| count(connections as f64)),
            idle.errors.count(),
        );
    }
    let _ = writeln!(page);
}

/// What rules cost a statement that none of them means.
pub fn rules(page: &mut String, results: &Results) {
    let heading = format!(
        "## Rules\n\nPoint selects before the minimal backend, {CPU_CLIENTS} clients, with rules of \
         which none matches: nine of ten by digest, the others by a regular expression.\n\n\
         | | CPU per query, µs | × without rules | errors |\n|---|--:|--:|--:|"
    );
    beside_the_pool(page, results, &RULED, &heading);
}

/// What a script costs a statement that its hook sees.
pub fn scripts(page: &mut String, results: &Results) {
    let heading = format!(
        "## Scripts\n\nPoint selects before the minimal backend, {CPU_CLIENTS} clients, with a script \
         whose `read_query` does nothing, reads the statement's tokens, or sends it itself.\n\n\
         | | CPU per query, µs | × without a script | errors |\n|---|--:|--:|--:|"
    );
    let names: Vec<_> = SCRIPTED.into_iter().chain([ISOLATED[0]]).collect();
    beside_the_pool(page, results, &names, &heading);
}

/// What the pool's contestants with something in a statement's way need.
fn beside_the_pool(page: &mut String, results: &Results, names: &[&'static str], heading: &str) {
    let comparison = results.comparison(Kind::Minimal, "point", CPU_CLIENTS);
    let of = |name: &'static str| Some((name, comparison?.contestants.get(name)?));
    let pools = POOLED[..1].iter().chain(names).copied();
    let pools: Vec<_> = pools.filter_map(of).collect();
    if pools.len() < 2 {
        return;
    }
    let _ = writeln!(page, "{heading}");
    for (name, summary) in pools {
        let cpu = summary.proxy_cpu_us.unwrap_or_default();
        let ratio = summary.against.get(POOLED[0]).and_then(|it| it.proxy_cpu);
        let _ = writeln!(
            page,
            "| {} | {:.1} ({:.1} + {:.1}) | {} | {} |",
            title(name),
            cpu.sum(),
            cpu.user,
            cpu.system,
            ratio.map_or("–".to_owned(), |ratio| format!("{:.2}", ratio.median)),
            summary.errors.count(),
        );
    }
    let _ = writeln!(page);
}

/// What a query costs one worker, and two.
pub fn workers(page: &mut String, results: &Results) {
    let comparison = results.comparison(Kind::Minimal, "point", CPU_CLIENTS);
    let pairs = [
        (PILOTFISH, PILOTFISH_2_WORKERS),
        (LANES, LANES_2_WORKERS),
        (ISOLATED[0], ISOLATED[1]),
    ];
    let rows: Vec<_> = pairs
        .into_iter()
        .filter_map(|(one, two)| {
            let contestants = &comparison?.contestants;
            let (single, double) = (contestants.get(one)?, contestants.get(two)?);
            let ratio = double.against.get(one)?.proxy_cpu?.median;
            Some((
                one,
                single.proxy_cpu_us?.sum(),
                double.proxy_cpu_us?.sum(),
                ratio,
            ))
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "## Workers\n\nPoint selects before the minimal backend, {CPU_CLIENTS} clients: the CPU of a query with \
         one worker and with two. The last column is the throughput that two workers would have in two cores \
         of their own. Load and backend share the cores with them, so throughput shows nothing.\n\n\
         | | 1 worker, µs | 2 workers, µs | two serve |\n|---|--:|--:|--:|"
    );
    for (name, single, double, ratio) in rows {
        let _ = writeln!(
            page,
            "| {} | {single:.1} | {double:.1} | {:.2} × |",
            title(name),
            2.0 / ratio
        );
    }
    let _ = writeln!(page);
}

/// What it costs to count digests, and to read them.
pub fn insight(page: &mut String, insight: Option<&Insight>) {
    let Some(insight) = insight else {
        return;
    };
    let digests = insight.rounds.iter().map(|it| it.digests).max();
    let errors: u64 = insight.rounds.iter().map(|it| it.errors).sum();
    let longest = insight.rounds.iter().map(|it| it.select_max_ms);
    let none = || "–".to_owned();
    let _ = writeln!(
        page,
        "## Insight\n\nThe pool of 8 before the minimal backend, {} clients: with digests and without, and while \
         `SELECT * FROM digests` reads {} rows once a second. Medians of {} rounds; {errors} errors.\n\n\
         | | found | goal |\n|---|--:|--:|",
        insight.clients,
        count(digests.unwrap_or_default() as f64),
        insight.rounds.len(),
    );
    for (what, found, goal) in [
        (
            "CPU added to a query",
            format!("{:.2} µs", insight.cpu_added_us),
            "≤ 0.3 µs",
        ),
        (
            "all digests read in",
            format!("{:.0} ms", insight.select_ms),
            "≤ 100 ms",
        ),
        (
            "the longest of these",
            format!("{:.0} ms", longest.fold(0.0, f64::max)),
            "–",
        ),
        (
            "the clients' p99 meanwhile",
            format!("{:.2} ×", insight.p99_ratio),
            "≤ 1.1 ×",
        ),
        (
            "their memory",
            format!("{:.1} MiB", insight.growth_bytes / f64::from(1 << 20)),
            "≤ 64 MiB",
        ),
        (
            "the dashboard, compressed",
            insight
                .page_bytes
                .map_or_else(none, |it| format!("{:.1} KB", it as f64 / 1000.0)),
            "≤ 300 KB",
        ),
        (
            "fetched in",
            insight
                .page_ms
                .map_or_else(none, |it| format!("{it:.1} ms")),
            "painted within 1 s",
        ),
    ] {
        let _ = writeln!(page, "| {what} | {found} | {goal} |");
    }
    let _ = writeln!(page);
}
