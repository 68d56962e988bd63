//! The page: what was measured on what, which goals were reached, the plots, every comparison.

use std::fmt::Write;

use super::goals;
use super::plot::{Plot, title};
use crate::results::{About, Comparison, Idle, Ratio, Results, Summary};
use crate::run::POOLED_CLIENTS;
use crate::run::backend::Kind;
use crate::run::contestant::{DIRECT, HAPROXY, PILOTFISH, POOLED, RULED, is_pooled};

/// Differences smaller than this share are called even.
const EVEN: f64 = 0.02;

/// The whole page.
pub fn markdown(results: &Results, plots: &[Plot], folder: &str) -> String {
    let mut page = String::from(INTRODUCTION);
    about(&mut page, &results.about);
    goal_table(&mut page, results);
    lost(&mut page, results);
    for plot in plots {
        let _ = writeln!(page, "![{}]({folder}/{})\n", plot.title, plot.file);
    }
    idle_table(&mut page, &results.idle);
    rules_table(&mut page, results);
    for backend in [Kind::Minimal, Kind::MariaDb, Kind::MySql] {
        let of_backend: Vec<&Comparison> = results
            .comparisons
            .iter()
            .filter(|comparison| comparison.cell.backend == backend)
            .collect();
        if !of_backend.is_empty() {
            comparisons(&mut page, backend, &of_backend);
        }
    }
    page.truncate(page.trim_end().len());
    page + "\n"
}

const INTRODUCTION: &str = "\
# Benchmarks

This page is written by `make bench`; the figures are in `benchmarks/results.json`, and
`bench/README.md` says what is measured how. Contestants, load and backend share one machine and the
loopback, so absolute figures say little elsewhere. The figures to quote are the ratios: contestants
take turns, and a ratio is taken within a round before the median over the rounds.

";

fn about(page: &mut String, about: &About) {
    let _ = writeln!(
        page,
        "Measured {} at commit {} on {}, {}, {}. Profile `{}`: {} rounds, windows of {:.1} s, \
         `sbtest1` with {} rows. Every proxy has one thread.",
        about.date,
        about.commit,
        about.machine,
        about.kernel,
        about.distribution,
        about.profile,
        about.rounds,
        about.window_seconds,
        count(about.table_rows as f64),
    );
    let share = about.foreign_cpu * 100.0;
    let _ = writeln!(
        page,
        "Other processes took {share:.0} % of the machine's time (median of all runs)."
    );
    if about.foreign_cpu > 0.1 {
        let _ = writeln!(
            page,
            "**The machine was not quiet: take these figures with care.**"
        );
    }
    let _ = writeln!(page);
    for (name, version) in &about.versions {
        let _ = writeln!(page, "- {}: {version}", title(name));
    }
    for missing in &about.left_out {
        let _ = writeln!(page, "- left out: {missing}");
    }
    let _ = writeln!(page);
}

fn goal_table(page: &mut String, results: &Results) {
    let _ = writeln!(page, "## Goals\n\n| goal | measured | |\n|---|---|---|");
    for goal in goals::all(results) {
        let _ = writeln!(
            page,
            "| {} | {} | {} |",
            goal.text, goal.measured, goal.verdict
        );
    }
    let _ = writeln!(page);
}

/// Names every comparison in which Pilotfish is behind HAProxy.
fn lost(page: &mut String, results: &Results) {
    let ours = results.comparisons.iter().filter_map(|comparison| {
        let ours = comparison.contestants.get(PILOTFISH)?;
        Some((comparison, verdict(ours)?))
    });
    let (lost, kept): (Vec<_>, Vec<_>) = ours.partition(|(_, verdict)| verdict.contains("behind"));
    if lost.is_empty() && kept.is_empty() {
        return;
    }
    let all = lost.len() + kept.len();
    let _ = writeln!(
        page,
        "In {} of {all} comparisons Pilotfish is behind HAProxy in throughput or CPU per query by \
         more than {:.0} %{}",
        lost.len(),
        EVEN * 100.0,
        if lost.is_empty() { "." } else { ":\n" },
    );
    for (comparison, verdict) in lost {
        let cell = &comparison.cell;
        let (backend, load) = (cell.backend.title(), &cell.workload);
        let _ = writeln!(
            page,
            "- {backend}, {load}, {} conn.: {verdict}",
            cell.connections
        );
    }
    let _ = writeln!(page);
}

/// How a contestant stands against HAProxy; none when HAProxy was not measured beside it.
fn verdict(summary: &Summary) -> Option<String> {
    let ratios = summary.against.get(HAPROXY)?;
    let mut words = vec![word("throughput", ratios.per_second, 1.0)];
    if let Some(cpu) = ratios.proxy_cpu {
        words.push(word("CPU", cpu, -1.0));
    }
    Some(words.join(", "))
}

/// How a pool stands against the transparent session.
fn against_transparent(summary: &Summary) -> Option<String> {
    let ratios = summary.against.get(PILOTFISH)?;
    let mut text = format!("{:.2} × transparent", ratios.per_second.median);
    if let Some(cpu) = ratios.proxy_cpu {
        let _ = write!(text, ", CPU {:.2} ×", cpu.median);
    }
    Some(text)
}

/// `better` is 1 where more is better and -1 where less is.
fn word(what: &str, ratio: Ratio, better: f64) -> String {
    let lead = (ratio.median - 1.0) * better;
    let place = if lead > EVEN {
        "ahead"
    } else if lead < -EVEN {
        "**behind**"
    } else {
        "even"
    };
    let Ratio { median, min, max } = ratio;
    format!("{what} {place} ({median:.2} ×, rounds {min:.2}–{max:.2})")
}

fn idle_table(page: &mut String, idle: &[Idle]) {
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
        let _ = writeln!(
            page,
            "| {} | {} | {:.2} KiB | {:.2} KiB | {} | {} |",
            title(&idle.contestant),
            count(idle.sessions as f64),
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
fn rules_table(page: &mut String, results: &Results) {
    let comparison = results.comparison(Kind::Minimal, "point", POOLED_CLIENTS);
    let of = |name: &'static str| Some((name, comparison?.contestants.get(name)?));
    let pools = POOLED[..1].iter().chain(&RULED).copied();
    let pools: Vec<_> = pools.filter_map(of).collect();
    if pools.len() < 2 {
        return;
    }
    let _ = writeln!(
        page,
        "## Rules\n\nPoint selects before the minimal backend, {POOLED_CLIENTS} clients, with rules of \
         which none matches: nine of ten by digest, the others by a regular expression.\n\n\
         | | CPU per query, µs | × without rules | errors |\n|---|--:|--:|--:|"
    );
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

fn comparisons(page: &mut String, backend: Kind, comparisons: &[&Comparison]) {
    let _ = writeln!(page, "## {}\n", capitalised(backend.title()));
    let mut families: Vec<&str> = Vec::new();
    for comparison in comparisons {
        let family = family(&comparison.cell.workload);
        if !families.contains(&family) {
            families.push(family);
        }
    }
    for wanted in families {
        let _ = writeln!(page, "### {}\n", describe(wanted));
        table(
            page,
            comparisons
                .iter()
                .filter(|comparison| family(&comparison.cell.workload) == wanted),
        );
    }
}

fn table<'a>(page: &mut String, comparisons: impl Iterator<Item = &'a &'a Comparison>) {
    let _ = writeln!(
        page,
        "| load | | per second | × direct | × HAProxy | p50 | p95 | p99 | max | proxy CPU | backend CPU | memory | |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|"
    );
    for comparison in comparisons {
        let cell = &comparison.cell;
        let load = match cell.workload.strip_prefix("rows:") {
            Some(rows) => format!("{rows} rows, {} conn.", cell.connections),
            None => format!("{} conn.", cell.connections),
        };
        let mut contestants: Vec<_> = comparison.contestants.iter().collect();
        contestants.sort_by_key(|(name, _)| {
            let mut pools = POOLED.iter().chain(&RULED);
            let pool = pools.position(|pool| pool == name);
            (*name != DIRECT, *name == PILOTFISH || pool.is_some(), pool)
        });
        for (name, summary) in contestants {
            row(page, &load, name, summary);
        }
    }
    let _ = writeln!(page);
}

fn row(page: &mut String, load: &str, name: &str, summary: &Summary) {
    let latency = summary.latency_us;
    let ratio = |reference: &str| {
        let ratios = summary.against.get(reference);
        ratios.map_or("–".to_owned(), |ratios| {
            format!("{:.2}", ratios.per_second.median)
        })
    };
    let cpu = summary.proxy_cpu_us.map_or("–".to_owned(), |cpu| {
        format!("{:.1} ({:.1} + {:.1})", cpu.sum(), cpu.user, cpu.system)
    });
    let memory = summary.proxy_rss_bytes.map_or("–".to_owned(), |bytes| {
        format!("{:.1} MiB", bytes as f64 / 1048576.0)
    });
    let mut notes = Vec::new();
    if name == PILOTFISH {
        notes.extend(verdict(summary));
    }
    if is_pooled(name) {
        notes.extend(against_transparent(summary));
    }
    if let Some(connections) = summary.backend_connections {
        notes.push(format!("{connections} backend connections at most"));
    }
    if summary.errors.count() > 0 {
        let first = summary.errors.first.as_deref().unwrap_or("unknown");
        notes.push(format!(
            "**{} errors**: {}",
            summary.errors.count(),
            one_line(first)
        ));
    }
    let _ = writeln!(
        page,
        "| {load} | {} | {} | {} | {} | {} | {} | {} | {} | {cpu} | {:.1} | {memory} | {} |",
        title(name),
        count(summary.per_second),
        ratio(DIRECT),
        ratio(HAPROXY),
        count(latency.p50),
        count(latency.p95),
        count(latency.p99),
        count(latency.max),
        summary.backend_cpu_us.sum(),
        notes.join("; "),
    );
}

/// What loads are shown in one table.
fn family(workload: &str) -> &str {
    if workload.starts_with("rows:") {
        "rows"
    } else {
        workload
    }
}

fn describe(family: &str) -> String {
    let words = match family {
        "point" => "Point selects, text protocol",
        "prepared" => "Point selects, prepared statement",
        "rows" => "Results of many rows",
        "connect" => "Connect, query, close",
        "paced" => "Point selects, one a second from each client",
        "reset" => "COM_RESET_CONNECTION, on a direct connection",
        "restore" => "SET of three session variables, on a direct connection",
        sysbench => sysbench,
    };
    let unit = match family {
        "connect" => "sessions per second, latency of a whole session",
        "rows" => "results per second",
        "reset" | "restore" => "per second",
        _ if family.contains("read_only") => "queries per second, latency of a whole transaction",
        _ => "queries per second",
    };
    format!("{words} ({unit}; times in µs, CPU per query, of the proxy as user + system)")
}

/// A whole number with separators; one decimal for small ones.
fn count(value: f64) -> String {
    if value < 100.0 && value.fract() != 0.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().replace('|', "/")
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
