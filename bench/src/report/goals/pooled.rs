//! Goals of pooled sessions.

use super::Goal;
use crate::results::Results;
use crate::run::backend::Kind;
use crate::run::contestant::names::{DIRECT, LANES, PILOTFISH, POOLED, title};
use crate::run::plan::{CPU_CLIENTS, PACED_CLIENTS};

/// The goals of pooled sessions.
pub fn all(results: &Results) -> Vec<Goal> {
    let mut goals: Vec<Goal> = POOLED
        .map(|pool| pooled_cpu(results, pool).explained_in("pooled-sessions"))
        .into();
    goals.push(held_cpu(results).explained_in("transactions"));
    goals.push(pooled_connect(results).explained_in("connecting"));
    let paced = [Kind::MariaDb, Kind::MySql].map(|backend| paced(results, backend));
    goals.extend(paced.map(|goal| goal.explained_in("pooled-sessions")));
    goals.push(pooled_idle(results).explained_in("memory"));
    goals
}

fn pooled_cpu(results: &Results, pool: &str) -> Goal {
    let text = format!(
        "CPU per point select, {}, minimal backend, {CPU_CLIENTS} clients: ≤ 1.25 × the \
         transparent session's",
        title(pool)
    );
    let comparison = results.comparison(Kind::Minimal, "point", CPU_CLIENTS);
    Goal::of_one(&text, comparison, pool, |ours| {
        let ratio = ours.against.get(PILOTFISH)?.proxy_cpu?.median;
        let measured = format!("{ratio:.3} ×: {:.2} µs", ours.proxy_cpu_us?.sum());
        Some((ratio <= 1.25, measured))
    })
}

fn held_cpu(results: &Results) -> Goal {
    let text = format!(
        "CPU per point select in an open transaction, pooled session, minimal backend, {CPU_CLIENTS} clients: ≤ 1.05 × the \
         transparent session's"
    );
    let comparison = results.comparison(Kind::Minimal, "held", CPU_CLIENTS);
    Goal::of_one(&text, comparison, LANES, |ours| {
        let ratio = ours.against.get(PILOTFISH)?.proxy_cpu?.median;
        let measured = format!("{ratio:.3} ×: {:.2} µs", ours.proxy_cpu_us?.sum());
        Some((ratio <= 1.05, measured))
    })
}

fn pooled_connect(results: &Results) -> Goal {
    let pool = POOLED[0];
    let text = format!(
        "Connect, query, close, {}, MySQL, 8 clients: ≥ 1.5 × the direct rate",
        title(pool)
    );
    let comparison = results.comparison(Kind::MySql, "connect", 8);
    Goal::of_one(&text, comparison, pool, |ours| {
        let ratio = ours.against.get(DIRECT)?.per_second.median;
        let (proxy, backend) = (ours.proxy_cpu_us?.sum(), ours.backend_cpu_us.sum());
        let measured = format!(
            "{ratio:.2} ×: {:.0}/s; of a session the proxy has {proxy:.0} µs of CPU and the backend \
             {backend:.0} µs, the load has the rest of the machine (see bench/README.md)",
            ours.per_second
        );
        Some((ratio >= 1.5, measured))
    })
}

fn paced(results: &Results, backend: Kind) -> Goal {
    let pool = POOLED[1];
    let text = format!(
        "{PACED_CLIENTS} clients that ask once a second, {}, {}: ≤ 20 backend connections, none \
         waits 100 ms",
        title(pool),
        backend.title()
    );
    let comparison = results.comparison(backend, "paced", PACED_CLIENTS);
    Goal::of_one(&text, comparison, pool, |ours| {
        let connections = ours.backend_connections?;
        let longest_ms = ours.latency_us.max / 1000.0;
        let measured = format!("{connections} connections, the longest waits {longest_ms:.1} ms");
        Some((connections <= 20 && longest_ms < 100.0, measured))
    })
}

fn pooled_idle(results: &Results) -> Goal {
    let pool = POOLED[0];
    let text = "Memory of the proxy per idle pooled session, 10,000 sessions: ≤ 4 KiB, and no \
                backend connection of its own";
    let idle = results.idle.iter().find(|idle| idle.contestant == pool);
    Goal::of(
        text,
        idle.map(|idle| {
            let kib = idle.bytes_per_session / 1024.0;
            let connections = idle.backend_connections.unwrap_or_default();
            let reached = kib <= 4.0 && connections <= 8 && idle.errors.count() == 0;
            let measured = format!(
                "{kib:.2} KiB with {} sessions over {connections} connections",
                idle.sessions
            );
            (reached, measured)
        }),
    )
}
