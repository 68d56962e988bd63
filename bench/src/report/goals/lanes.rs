//! Goals of shared lanes.

use super::super::comparison::EVEN;
use super::{Goal, Verdict};
use crate::results::{Comparison, Ratio, Ratios, Results, Summary};
use crate::run::backend::Kind;
use crate::run::contestant::names::{
    DIRECT, HAPROXY, LANES, LANES_2_WORKERS, PILOTFISH, PILOTFISH_2_WORKERS, PROXYSQL, RIVALS,
    title,
};
use crate::run::plan::{CPU_CLIENTS, Load, MIX_CLIENTS, SCRIPTS, THREADS};
use crate::run::sysbench::{Keys, PsMode, Script, Sysbench};

const SERVERS: [Kind; 2] = [Kind::MariaDb, Kind::MySql];

/// Clients at which rivals are met.
const RIVAL_CLIENTS: [usize; 3] = [16, 64, 256];

/// From so many threads on lanes shall not be behind the direct way.
const MANY_THREADS: usize = 64;

/// With so many threads transactions shall not be behind the direct way.
const MOST_THREADS: usize = 512;

pub fn all(results: &Results) -> Vec<Goal> {
    let mut goals = Vec::new();
    let mut point_selects = Vec::new();
    for server in SERVERS {
        point_selects.extend(many_clients(results, server));
        point_selects.push(some_clients(results, server));
        point_selects.push(one_client(results, server));
    }
    point_selects.push(proxy_cpu(results));
    let point_selects = point_selects.into_iter();
    goals.extend(point_selects.map(|goal| goal.explained_in("lanes")));
    for server in SERVERS {
        goals.push(sysbench_haproxy(results, server).explained_in("transactions"));
        goals.push(sysbench_cpu(results, server).explained_in("transactions"));
        goals.push(transactions_direct(results, server).explained_in("transactions"));
        goals.push(sysbench_direct(results, server).explained_in("lanes"));
        goals.push(sysbench_max(results, server).explained_in("the-longest-statement"));
        goals.push(mix(results, server).explained_in("the-longest-statement"));
    }
    goals.push(workers(results, PILOTFISH, PILOTFISH_2_WORKERS));
    goals.push(workers(results, LANES, LANES_2_WORKERS));
    let (here, missing): (Vec<_>, Vec<_>) = RIVALS
        .into_iter()
        .partition(|rival| is_here(results, rival));
    for rival in here {
        let goals_of = SERVERS.map(|server| ahead_of(results, rival, server));
        goals.extend(goals_of.map(|goal| goal.explained_in("rivals")));
    }
    if !missing.is_empty() {
        let names: Vec<&str> = missing.into_iter().map(title).collect();
        let text = format!("Point selects over lanes: ahead of {}", names.join(", "));
        goals.push(Goal {
            text,
            measured: "not found on this machine".to_owned(),
            verdict: Verdict::NotMeasured,
            reasons: "rivals",
        });
    }
    goals
}

fn is_here(results: &Results, contestant: &str) -> bool {
    results.about.versions.contains_key(contestant)
}

/// A ratio of point selects over lanes and a reference's.
fn point(
    results: &Results,
    server: Kind,
    clients: usize,
    (text, reference): (&str, &str),
    judge: impl Fn(&Ratios) -> Option<(bool, Ratio)>,
) -> Goal {
    let place = format!("{}, {clients} clients", server.title());
    let text = format!("Point selects over lanes, {place}: {text}");
    let comparison = results.comparison(server, "point", clients);
    Goal::of_one(&text, comparison, LANES, |ours| {
        let (reached, ratio) = judge(ours.against.get(reference)?)?;
        Some((reached, show(ratio)))
    })
}

fn many_clients(results: &Results, server: Kind) -> Vec<Goal> {
    let at_least = |reference, least: f64| {
        let text = format!("throughput ≥ {least:.2} × {}'s", title(reference));
        point(results, server, 128, (&text, reference), |ratios| {
            Some((ratios.per_second.median >= least, ratios.per_second))
        })
    };
    let mut goals = vec![at_least(DIRECT, 1.4), at_least(HAPROXY, 1.45)];
    if is_here(results, PROXYSQL) {
        goals.push(at_least(PROXYSQL, 1.5));
    }
    goals.extend([
        point(
            results,
            server,
            128,
            ("p99 ≤ 0.3 × direct's", DIRECT),
            |ratios| Some((ratios.p99.median <= 0.3, ratios.p99)),
        ),
        point(
            results,
            server,
            128,
            (
                "CPU of server and proxy ≤ 0.7 × direct's server alone",
                DIRECT,
            ),
            |ratios| Some((ratios.all_cpu?.median <= 0.7, ratios.all_cpu?)),
        ),
    ]);
    goals
}

fn some_clients(results: &Results, server: Kind) -> Goal {
    let what = ("throughput ≥ 1.0 × direct's", DIRECT);
    point(results, server, 16, what, |ratios| {
        Some((ratios.per_second.median >= 1.0, ratios.per_second))
    })
}

fn one_client(results: &Results, server: Kind) -> Goal {
    let text = format!(
        "p50 added to a point select with lanes on, {}, 1 client: ≤ HAProxy's",
        server.title()
    );
    let comparison = results.comparison(server, "point", 1);
    Goal::of_one(&text, comparison, LANES, |ours| {
        let theirs = comparison?.contestants.get(HAPROXY)?.p50_added_us?;
        let ours = ours.p50_added_us?;
        Some((
            ours <= theirs,
            format!("{ours:.1} µs, HAProxy {theirs:.1} µs"),
        ))
    })
}

fn proxy_cpu(results: &Results) -> Goal {
    let text = format!(
        "CPU of the proxy per point select over lanes, minimal backend, {CPU_CLIENTS} clients: ≤ 0.6 × \
         HAProxy's"
    );
    let comparison = results.comparison(Kind::Minimal, "point", CPU_CLIENTS);
    Goal::of_one(&text, comparison, LANES, |ours| {
        let ratio = ours.against.get(HAPROXY)?.proxy_cpu?;
        let measured = format!("{}: {:.2} µs", show(ratio), ours.proxy_cpu_us?.sum());
        Some((ratio.median <= 0.6, measured))
    })
}

/// The comparisons of sysbench that goals are about: their names, and what lanes had there.
fn sysbench(
    results: &Results,
    server: Kind,
    wanted: impl Fn(Script, usize) -> bool,
) -> Vec<(String, &Summary)> {
    let mut found = Vec::new();
    for script in SCRIPTS {
        for ps_mode in [PsMode::Disable, PsMode::Auto] {
            let keys = Keys::Special;
            let load = Load::Sysbench(Sysbench {
                script,
                ps_mode,
                keys,
            });
            let load = load.to_string();
            for threads in THREADS.into_iter().filter(|&count| wanted(script, count)) {
                let comparison = results.comparison(server, &load, threads);
                let ours = comparison.and_then(|all| all.contestants.get(LANES));
                found.extend(ours.map(|ours| (format!("{load}, {threads} threads"), ours)));
            }
        }
    }
    found
}

/// Decides by the cell that is farthest behind; `behind` grows with it. A cell with errors reaches
/// nothing.
fn by_worst(
    text: &str,
    cells: &[(String, &Summary)],
    limit: f64,
    behind: impl Fn(&Summary) -> Option<(f64, Ratio)>,
) -> Goal {
    let judged = cells.iter().filter_map(|(cell, ours)| {
        let (behind, ratio) = behind(ours)?;
        Some((cell, behind, ratio))
    });
    let judged: Vec<_> = judged.collect();
    let missed = judged.iter().filter(|(_, behind, _)| *behind > limit);
    let missed = missed.count();
    let errors: u64 = cells.iter().map(|(_, ours)| ours.errors.count()).sum();
    let worst = judged.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    Goal::of(
        text,
        worst.map(|(cell, _, ratio)| {
            let mut measured = format!(
                "{missed} of {} not; at worst {}: {cell}",
                judged.len(),
                show(*ratio)
            );
            if errors > 0 {
                measured += &format!("; {errors} errors");
            }
            (missed == 0 && errors == 0, measured)
        }),
    )
}

fn sysbench_haproxy(results: &Results, server: Kind) -> Goal {
    let text = format!(
        "sysbench with lanes on, {}: never below HAProxy (by more than {:.0} %)",
        server.title(),
        EVEN * 100.0
    );
    let cells = sysbench(results, server, |_, _| true);
    by_worst(&text, &cells, EVEN, |ours| {
        let ratio = ours.against.get(HAPROXY)?.per_second;
        Some((1.0 - ratio.median, ratio))
    })
}

fn sysbench_cpu(results: &Results, server: Kind) -> Goal {
    let text = format!(
        "sysbench with lanes on, {}: the proxy never takes more CPU than HAProxy (by more than {:.0} %)",
        server.title(),
        EVEN * 100.0
    );
    let cells = sysbench(results, server, |_, _| true);
    by_worst(&text, &cells, EVEN, |ours| {
        let ratio = ours.against.get(HAPROXY)?.proxy_cpu?;
        Some((ratio.median - 1.0, ratio))
    })
}

fn transactions_direct(results: &Results, server: Kind) -> Goal {
    let text = format!(
        "sysbench transactions with lanes on, {}, {MOST_THREADS} threads: ≥ direct's",
        server.title()
    );
    let cells = sysbench(results, server, |script, threads| {
        matches!(script, Script::ReadOnly | Script::ReadWrite) && threads == MOST_THREADS
    });
    by_worst(&text, &cells, 0.0, |ours| {
        let ratio = ours.against.get(DIRECT)?.per_second;
        Some((1.0 - ratio.median, ratio))
    })
}

fn sysbench_direct(results: &Results, server: Kind) -> Goal {
    let text = format!(
        "sysbench point selects with lanes on, {}, from {MANY_THREADS} threads on: ≥ direct's",
        server.title()
    );
    let cells = sysbench(results, server, |script, threads| {
        script == Script::PointSelect && threads >= MANY_THREADS
    });
    by_worst(&text, &cells, 0.0, |ours| {
        let ratio = ours.against.get(DIRECT)?.per_second;
        Some((1.0 - ratio.median, ratio))
    })
}

fn sysbench_max(results: &Results, server: Kind) -> Goal {
    let text = format!(
        "sysbench with lanes on, {}: the longest takes ≤ 2 × direct's longest",
        server.title()
    );
    let cells = sysbench(results, server, |_, _| true);
    by_worst(&text, &cells, 2.0, |ours| {
        let ratio = ours.against.get(DIRECT)?.max?;
        Some((ratio.median, ratio))
    })
}

fn mix(results: &Results, server: Kind) -> Goal {
    let text = format!(
        "{MIX_CLIENTS} fast clients over lanes beside 4 with reads of 200 ms and 4 that fetch 50 MB \
         slowly, {}: their p99 ≤ 2 × what it is without these",
        server.title()
    );
    let of = |workload: &str, contestant: &str| -> Option<f64> {
        let comparison: &Comparison = results.comparison(server, workload, MIX_CLIENTS)?;
        let summary = comparison.contestants.get(contestant)?;
        (summary.rounds > 0).then_some(summary.latency_us.p99)
    };
    let times = |contestant| Some(of("mix", contestant)? / of("point", contestant)?);
    let comparison = results.comparison(server, "mix", MIX_CLIENTS);
    Goal::of_one(&text, comparison, LANES, |_| {
        let ratio = times(LANES)?;
        let others = [DIRECT, HAPROXY].into_iter().filter_map(|name| {
            let ratio = times(name)?;
            Some(format!(", {} {ratio:.2} ×", title(name)))
        });
        let (with, without) = (of("mix", LANES)?, of("point", LANES)?);
        let measured = format!(
            "{ratio:.2} ×: {with:.0} µs, without {without:.0} µs{}",
            others.collect::<String>()
        );
        Some((ratio <= 2.0, measured))
    })
}

/// What two workers serve, by what they cost.
pub(super) fn workers(results: &Results, one: &str, two: &str) -> Goal {
    let text = format!(
        "1 → 2 workers by CPU per query, {}, minimal backend, {CPU_CLIENTS} clients: ≥ 1.9 ×",
        title(one)
    );
    let comparison = results.comparison(Kind::Minimal, "point", CPU_CLIENTS);
    Goal::of_one(&text, comparison, two, |double| {
        let ratio = double.against.get(one)?.proxy_cpu?.median;
        Some((2.0 / ratio >= 1.9, format!("{:.2} ×", 2.0 / ratio)))
    })
    .explained_in("two-workers")
}

fn ahead_of(results: &Results, rival: &str, server: Kind) -> Goal {
    let text = format!(
        "Point selects over lanes, {}, 16, 64 and 256 clients: ahead of {} in throughput, CPU per query \
         and p99",
        server.title(),
        title(rival)
    );
    let met = RIVAL_CLIENTS.into_iter().filter_map(|clients| {
        let comparison = results.comparison(server, "point", clients)?;
        let ours = comparison.contestants.get(LANES)?;
        Some((clients, ours, ours.against.get(rival)?))
    });
    let met: Vec<_> = met.collect();
    let each = met.iter().map(|(clients, ours, ratios)| {
        let cpu = ratios.all_cpu.map_or(f64::NAN, |ratio| ratio.median);
        let (speed, p99) = (ratios.per_second.median, ratios.p99.median);
        let reached = speed > 1.0 && cpu < 1.0 && p99 < 1.0 && ours.errors.count() == 0;
        let measured = format!("{clients}: {speed:.2} ×, {cpu:.2} ×, {p99:.2} ×");
        (reached, measured)
    });
    let (reached, measured): (Vec<bool>, Vec<String>) = each.unzip();
    let judged = (!met.is_empty()).then(|| {
        let reached = reached.len() == RIVAL_CLIENTS.len() && !reached.contains(&false);
        (reached, measured.join("; "))
    });
    Goal::of(&text, judged)
}

fn show(ratio: Ratio) -> String {
    let Ratio { median, min, max } = ratio;
    format!("{median:.2} × (rounds {min:.2}–{max:.2})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Errors;

    fn of_lanes(per_second: f64, errors: u64) -> Summary {
        let even = |median| Ratio {
            median,
            min: median,
            max: median,
        };
        let mut summary = Summary {
            rounds: 1,
            errors: Errors {
                failed: errors,
                ..Errors::default()
            },
            ..Summary::default()
        };
        summary.against.insert(
            HAPROXY.to_owned(),
            Ratios {
                per_second: even(per_second),
                p50: even(1.0),
                p99: even(1.0),
                proxy_cpu: None,
                all_cpu: None,
                max: None,
            },
        );
        summary
    }

    fn judged(cells: &[Summary]) -> Goal {
        let named = cells.iter().enumerate();
        let named: Vec<_> = named
            .map(|(cell, it)| (format!("cell {cell}"), it))
            .collect();
        by_worst("never below", &named, EVEN, |ours| {
            let ratio = ours.against.get(HAPROXY)?.per_second;
            Some((1.0 - ratio.median, ratio))
        })
    }

    #[test]
    fn the_cell_that_is_farthest_behind_decides_and_is_named() {
        let goal = judged(&[of_lanes(1.3, 0), of_lanes(0.8, 0), of_lanes(0.9, 0)]);
        assert_eq!(goal.verdict, Verdict::Missed);
        assert!(goal.measured.starts_with("2 of 3 not; at worst 0.80 ×"));
        assert!(goal.measured.ends_with("cell 1"));
        assert_eq!(judged(&[of_lanes(0.99, 0)]).verdict, Verdict::Reached);
        assert_eq!(judged(&[]).verdict, Verdict::NotMeasured);
    }

    #[test]
    fn goal_is_missed_if_a_cell_has_errors() {
        let goal = judged(&[of_lanes(1.3, 0), of_lanes(1.3, 1)]);
        assert_eq!(goal.verdict, Verdict::Missed);
        assert!(goal.measured.ends_with("1 errors"));
    }
}
