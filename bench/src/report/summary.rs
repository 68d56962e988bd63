//! What the figures say, in plain sentences: the beginning of the page.

use std::fmt::Write;

use super::comparison::{EVEN, verdict};
use crate::results::{Comparison, Ratios, Results, Summary};
use crate::run::backend::Kind;
use crate::run::contestant::names::{DIRECT, HAPROXY, LANES, PILOTFISH, POOLED};
use crate::run::plan::CPU_CLIENTS;

const SERVERS: [Kind; 2] = [Kind::MariaDb, Kind::MySql];

/// Writes the sentences whose figures were measured.
pub fn write(page: &mut String, results: &Results) {
    let mut lines = vec![transparent(results), pooled(results)];
    lines.extend(SERVERS.map(|server| lanes(results, server)));
    lines.extend(SERVERS.map(|server| transactions(results, server)));
    lines.extend([
        rows(results),
        connect(results),
        idle(results),
        behind(results),
    ]);
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(page, "## In short\n");
    for line in lines {
        let _ = writeln!(page, "- {line}");
    }
    let _ = writeln!(page);
}

fn summary<'a>(comparison: Option<&'a Comparison>, contestant: &str) -> Option<&'a Summary> {
    let found = comparison?.contestants.get(contestant)?;
    (found.rounds > 0).then_some(found)
}

fn against<'a>(summary: &'a Summary, reference: &str) -> Option<&'a Ratios> {
    summary.against.get(reference)
}

fn transparent(results: &Results) -> Option<String> {
    let comparison = results.comparison(Kind::Minimal, "point", CPU_CLIENTS);
    let ours = summary(comparison, PILOTFISH)?;
    let ratios = against(ours, HAPROXY)?;
    Some(format!(
        "A transparent session takes {:.2} × the CPU of HAProxy for a point select ({:.1} µs) and reaches {:.2} × its \
         throughput ({CPU_CLIENTS} clients, minimal backend).",
        ratios.proxy_cpu?.median,
        ours.proxy_cpu_us?.sum(),
        ratios.per_second.median,
    ))
}

fn pooled(results: &Results) -> Option<String> {
    let comparison = results.comparison(Kind::Minimal, "point", CPU_CLIENTS);
    let ours = summary(comparison, POOLED[0])?;
    Some(format!(
        "A pooled session takes {:.2} × that of a transparent one: {:.1} µs, with {CPU_CLIENTS} clients over eight \
         connections.",
        against(ours, PILOTFISH)?.proxy_cpu?.median,
        ours.proxy_cpu_us?.sum(),
    ))
}

fn lanes(results: &Results, server: Kind) -> Option<String> {
    let ours = summary(results.comparison(server, "point", 128), LANES)?;
    let (direct, haproxy) = (against(ours, DIRECT)?, against(ours, HAPROXY)?);
    Some(format!(
        "Over shared lanes 128 clients of {} read {:.2} × as fast as over direct connections and {:.2} × as fast as through \
         HAProxy. Server and proxy together take {:.2} × the CPU of the server alone.",
        server.title(),
        direct.per_second.median,
        haproxy.per_second.median,
        direct.all_cpu?.median,
    ))
}

/// sysbench's transactions, all numbers of threads and both protocols.
fn transactions(results: &Results, server: Kind) -> Option<String> {
    let cells = results.comparisons.iter().filter(|comparison| {
        let workload = &comparison.cell.workload;
        comparison.cell.backend == server
            && (workload.contains("oltp_read_only") || workload.contains("oltp_read_write"))
    });
    let ratios: Vec<&Ratios> = cells
        .filter_map(|comparison| against(summary(Some(comparison), LANES)?, HAPROXY))
        .collect();
    let range = |figure: &dyn Fn(&Ratios) -> Option<f64>| {
        let all: Vec<f64> = ratios.iter().filter_map(|it| figure(it)).collect();
        let least = all.iter().copied().reduce(f64::min)?;
        let most = all.iter().copied().reduce(f64::max)?;
        Some(format!("{least:.2} to {most:.2} ×"))
    };
    Some(format!(
        "sysbench's transactions in pooled sessions reach {} the throughput of HAProxy on {} and take {} its CPU.",
        range(&|it| Some(it.per_second.median))?,
        server.title(),
        range(&|it| it.proxy_cpu.map(|ratio| ratio.median))?,
    ))
}

fn rows(results: &Results) -> Option<String> {
    let ours = summary(
        results.comparison(Kind::Minimal, "rows:10000", 8),
        PILOTFISH,
    )?;
    let ratios = against(ours, HAPROXY)?;
    Some(format!(
        "Results of 10,000 rows pass {:.2} × as fast as through HAProxy, for {:.2} × the CPU.",
        ratios.per_second.median, ratios.proxy_cpu?.median,
    ))
}

fn connect(results: &Results) -> Option<String> {
    let comparison = results.comparison(Kind::MySql, "connect", 8);
    let transparent = against(summary(comparison, PILOTFISH)?, HAPROXY)?;
    let pooled = against(summary(comparison, POOLED[0])?, DIRECT)?;
    Some(format!(
        "Connecting to MySQL, one query and closing: transparent sessions reach {:.2} × the rate of HAProxy, pooled ones \
         {:.2} × the rate of direct connections.",
        transparent.per_second.median, pooled.per_second.median,
    ))
}

fn idle(results: &Results) -> Option<String> {
    let of = |contestant| {
        let found = results.idle.iter().find(|it| it.contestant == contestant)?;
        Some((found.bytes_per_session / 1024.0, found.sessions))
    };
    let ((transparent, sessions), (pooled, _)) = (of(PILOTFISH)?, of(POOLED[0])?);
    Some(format!(
        "An idle session takes {transparent:.1} KiB of the proxy's memory, a pooled one {pooled:.1} KiB ({sessions} sessions)."
    ))
}

fn behind(results: &Results) -> Option<String> {
    let verdicts = results.comparisons.iter().flat_map(|comparison| {
        [PILOTFISH, LANES].map(|ours| comparison.contestants.get(ours).and_then(verdict))
    });
    let verdicts: Vec<_> = verdicts.flatten().collect();
    let behind = verdicts.iter().filter(|it| it.contains("behind")).count();
    (!verdicts.is_empty()).then(|| {
        format!(
            "In {behind} of {} comparisons Pilotfish is behind HAProxy by more than {:.0} %, in throughput or CPU. \
             [What was tried and did not pay](benchmarks/leads.md) has the reasons.",
            verdicts.len(),
            EVEN * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_without_figures_are_left_out() {
        let mut page = String::new();
        write(&mut page, &Results::of(Vec::new()));
        assert_eq!(page, "");
        let mut results = Results::of(Vec::new());
        for contestant in [PILOTFISH, POOLED[0]] {
            results.idle.push(crate::results::Idle {
                contestant: contestant.to_owned(),
                sessions: 10_000,
                bytes_per_session: 4096.0,
                anon_bytes_per_session: 0.0,
                errors: crate::load::Errors::default(),
                backend_connections: None,
                proxies: 1,
            });
        }
        write(&mut page, &results);
        assert_eq!(
            page,
            "## In short\n\n- An idle session takes 4.0 KiB of the proxy's memory, a pooled one 4.0 KiB (10000 sessions).\n\n"
        );
    }
}
