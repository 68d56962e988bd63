//! Every comparison: contestants row by row, and how ours stand.

use std::fmt::Write;

use super::number::{capitalised, count, one_line};
use crate::results::{Comparison, Ratio, Summary};
use crate::run::backend::Kind;
use crate::run::contestant::names::{
    DIRECT, HAPROXY, KERNEL, LANES, PILOTFISH, is_pooled, order, title,
};

/// Differences smaller than this share are called even.
pub const EVEN: f64 = 0.02;

/// All comparisons on a kind of backend, those of one load in a table.
pub fn section(page: &mut String, backend: Kind, comparisons: &[&Comparison]) {
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
        "| load | | per second | × direct | × HAProxy | p50 | p95 | p99 | max | proxy CPU | backend CPU | both | memory | |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|"
    );
    for comparison in comparisons {
        let cell = &comparison.cell;
        let load = match cell.workload.strip_prefix("rows:") {
            Some(rows) => format!("{rows} rows, {} conn.", cell.connections),
            None => format!("{} conn.", cell.connections),
        };
        let mut contestants: Vec<_> = comparison.contestants.iter().collect();
        contestants.sort_by_key(|(name, _)| order(name));
        let mib = result_mib(&cell.workload);
        for (name, summary) in contestants {
            row(page, (&load, mib), name, summary);
        }
    }
    let _ = writeln!(page);
}

/// How large one result is, in MiB; none for single rows. A row of `sbtest1` has a key of five digits and 119 bytes,
/// each behind its length, and a packet header.
fn result_mib(workload: &str) -> Option<f64> {
    const ROW_BYTES: f64 = 4.0 + 1.0 + 5.0 + 1.0 + 119.0;
    let number = |text: &str| text.parse::<f64>().ok();
    match workload.split_once(':')? {
        ("rows", rows) => Some(number(rows)? * ROW_BYTES / 1048576.0),
        ("value", mib) => number(mib),
        _ => None,
    }
}

/// A row of a load, whose results are so large.
fn row(page: &mut String, (load, mib): (&str, Option<f64>), name: &str, summary: &Summary) {
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
    let notes = notes(name, summary);
    let mut per_second = count(summary.per_second);
    if let Some(mib) = mib {
        let _ = write!(per_second, " ({:.0} MiB/s)", summary.per_second * mib);
    }
    let _ = writeln!(
        page,
        "| {load} | {} | {per_second} | {} | {} | {} | {} | {} | {} | {cpu} | {:.1} | {:.1} | {memory} | {} |",
        title(name),
        ratio(DIRECT),
        ratio(HAPROXY),
        count(latency.p50),
        count(latency.p95),
        count(latency.p99),
        count(latency.max),
        summary.backend_cpu_us.sum(),
        summary.all_cpu_us(),
        notes.join("; "),
    );
}

/// What is said behind a row.
fn notes(name: &str, summary: &Summary) -> Vec<String> {
    let mut notes = Vec::new();
    if matches!(name, PILOTFISH | KERNEL | LANES) {
        notes.extend(verdict(summary));
    }
    if let (HAPROXY | PILOTFISH | KERNEL, Some(added)) = (name, summary.machine_added_us) {
        notes.push(format!("adds {added:.1} µs of the machine's time"));
    }
    if is_pooled(name) || name == LANES {
        notes.extend(against_transparent(summary));
    }
    if let Some(connections) = summary.backend_connections {
        notes.push(format!("{connections} backend connections at most"));
    }
    if let Some(beside) = summary.beside {
        let (reads, megabytes) = (beside.reads, beside.bytes as f64 / 1e6);
        notes.push(format!("beside them {reads} slow reads, {megabytes:.0} MB"));
    }
    if summary.errors.deadlocks > 0 {
        let deadlocks = count(summary.errors.deadlocks as f64);
        notes.push(format!("{deadlocks} deadlocks"));
    }
    if summary.errors.count() > 0 {
        let first = summary.errors.first.as_deref().unwrap_or("unknown");
        notes.push(format!(
            "**{} errors**: {}",
            summary.errors.count(),
            one_line(first)
        ));
    }
    notes
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
        "held" => "Point selects in an open transaction, text protocol",
        "value:50" => "A value of 50 MiB",
        "connect" => "Connect, query, close",
        "mix" => {
            "Point selects beside 4 clients with reads of 200 ms and 4 that fetch 50 MB slowly"
        }
        "tls-point" => {
            "Point selects over TLS of the client, which HAProxy passes through and Pilotfish ends"
        }
        "tls-connect" => "Connect over TLS, query, close",
        "constant" => "SELECT 1111, text protocol",
        "log-in" => "Connect, log in, close",
        "prepare" => "COM_STMT_PREPARE",
        "paced" => "Point selects, one a second from each client",
        "reset" => "COM_RESET_CONNECTION, on a direct connection",
        "restore" => "SET of three session variables, on a direct connection",
        sysbench => sysbench,
    };
    let unit = match family {
        "connect" | "tls-connect" | "log-in" => "sessions per second, latency of a whole session",
        "rows" | "value:50" => "results per second",
        "reset" | "restore" => "per second",
        _ if family.contains("read_") => "queries per second, latency of a whole transaction",
        _ => "queries per second",
    };
    format!("{words} ({unit}; times in µs, CPU per query, of the proxy as user + system)")
}

/// How a contestant stands against HAProxy; none when HAProxy was not measured beside it.
pub fn verdict(summary: &Summary) -> Option<String> {
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
