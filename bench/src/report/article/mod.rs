//! The tables of five articles, re-created point by point and set beside the articles' own figures.
//! Each article is a file: its figures, what it measured, what differs here.

mod operations;
mod proxies;
mod replicas;
mod response;
mod tiproxy;

use std::fmt::Write;

use super::number::count;
use crate::results::{Results, Summary};
use crate::run::backend::Kind;
use crate::run::contestant::names::{DIRECT, order, title};
use crate::run::plan::Load;

/// Of the articles' tables those that were measured.
pub fn all(page: &mut String, results: &Results) {
    let mut text = String::new();
    proxies::write(&mut text, results);
    tiproxy::write(&mut text, results);
    response::write(&mut text, results);
    replicas::write(&mut text, results);
    operations::write(&mut text, results);
    if text.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "## Five articles, re-created\n\n{INTRODUCTION}\n\n{text}"
    );
}

const INTRODUCTION: &str = "\
Other authors have published figures about proxies for MySQL, on their machines and years apart. The \
same loads were run here. **Compare the figures of one row only within the article or within this \
machine.** Here load, proxy and server share two cores and the loopback interface; in the articles \
each had more. The servers are years apart. A run here takes a second or two and is done once; in \
the articles it took minutes. sysbench does not warm up. `sbtest1` is one table of the size named \
above. Every proxy has one thread. A proxy of an article that is not installed on this machine has \
no column under *here*; MySQL Router stands in as a proxy that speaks the protocol. The ratio × is against the \
direct way of the same row. A run that failed or had errors says so in its cell. A run that is \
missing says so too: there was no time, or the proxy did not start (see *left out* above).";

/// A table of an article's figures and ours.
struct Sheet {
    title: &'static str,
    /// What the first column counts.
    first: &'static str,
    backend: Kind,
    /// The article's contestants.
    theirs: &'static [&'static str],
    rows: Vec<Row>,
    /// What is shown of one of ours.
    figure: fn(&Summary) -> String,
}

struct Row {
    label: String,
    /// One for each of the article's contestants.
    theirs: Vec<String>,
    load: Load,
    connections: usize,
}

impl Sheet {
    /// Whether anything of it was measured.
    fn is_measured(&self, results: &Results) -> bool {
        !self.contestants(results).is_empty()
    }

    /// Whom we have figures of.
    fn contestants<'a>(&self, results: &'a Results) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            let load = row.load.to_string();
            let comparison = results.comparison(self.backend, &load, row.connections);
            let measured = comparison
                .into_iter()
                .flat_map(|all| all.contestants.keys());
            names.extend(measured.map(String::as_str));
        }
        names.sort_by_key(|name| (order(name), *name));
        names.dedup();
        names
    }

    fn write(&self, page: &mut String, results: &Results) {
        let names = self.contestants(results);
        let theirs = self.theirs.iter().map(|name| format!("article: {name}"));
        let ours = names.iter().map(|name| format!("here: {}", title(name)));
        let heads: Vec<String> = theirs.chain(ours).collect();
        let _ = writeln!(
            page,
            "{}\n\n| {} | {} |\n|---|{}",
            self.title,
            self.first,
            heads.join(" | "),
            "--:|".repeat(heads.len())
        );
        for row in &self.rows {
            let load = row.load.to_string();
            let comparison = results.comparison(self.backend, &load, row.connections);
            let ours = names.iter().map(|name| {
                let summary = comparison.and_then(|all| all.contestants.get(*name));
                summary.map_or("**lost**".to_owned(), |summary| self.cell(summary))
            });
            let cells: Vec<String> = row.theirs.iter().cloned().chain(ours).collect();
            let _ = writeln!(page, "| {} | {} |", row.label, cells.join(" | "));
        }
        let _ = writeln!(page);
    }

    fn cell(&self, summary: &Summary) -> String {
        let errors = summary.errors.count();
        match (summary.rounds, errors) {
            (0, _) => "**failed**".to_owned(),
            (_, 0) => (self.figure)(summary),
            _ => format!("{}, **{errors} errors**", (self.figure)(summary)),
        }
    }
}

/// A heading, what is to be known, and the tables; nothing when none of them was measured.
fn section(page: &mut String, results: &Results, heading: &str, text: &str, sheets: &[Sheet]) {
    if !sheets.iter().any(|sheet| sheet.is_measured(results)) {
        return;
    }
    let _ = writeln!(page, "### {heading}\n\n{text}\n");
    for sheet in sheets.iter().filter(|sheet| sheet.is_measured(results)) {
        sheet.write(page, results);
    }
}

/// A figure, and how many times the first of its row it is.
fn with_ratio(value: f64, ratio: Option<f64>) -> String {
    let figure = count(value);
    ratio.map_or(figure.clone(), |ratio| format!("{figure} ({ratio:.2} ×)"))
}

/// The throughput's ratio to the direct way's.
fn speed_ratio(summary: &Summary) -> Option<f64> {
    let ratios = summary.against.get(DIRECT)?;
    Some(ratios.per_second.median)
}

/// Milliseconds of microseconds.
fn milliseconds(micros: f64) -> String {
    format!("{:.2} ms", micros / 1000.0)
}

/// What a process used, as a percentage of one core.
fn cpu_percent(cpu_us: f64, summary: &Summary) -> String {
    format!("{:.0} %", cpu_us * summary.per_second / 10_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Errors;
    use crate::results::{Cell, Comparison};
    use crate::run::contestant::names::HAPROXY;
    use crate::run::plan::article::{PROXIES_SLAP, SERVER};

    fn row(connections: usize) -> Row {
        Row {
            label: connections.to_string(),
            theirs: vec!["7".to_owned()],
            load: PROXIES_SLAP,
            connections,
        }
    }

    #[test]
    fn a_row_that_was_lost_or_had_errors_says_so_beside_the_articles_own() {
        let measured = |rounds, failed| Summary {
            rounds,
            per_second: 5.0,
            errors: Errors {
                failed,
                ..Errors::default()
            },
            ..Summary::default()
        };
        let sheet = Sheet {
            title: "Figures:",
            first: "clients",
            backend: SERVER,
            theirs: &["it"],
            rows: vec![row(1), row(2)],
            figure: |summary| count(summary.per_second),
        };
        let cell = |connections, contestants: &[(&str, Summary)]| Comparison {
            cell: Cell {
                backend: SERVER,
                workload: PROXIES_SLAP.to_string(),
                connections,
            },
            contestants: contestants
                .iter()
                .map(|(name, summary)| ((*name).to_owned(), summary.clone()))
                .collect(),
        };
        let comparisons = [
            cell(1, &[(DIRECT, measured(1, 0)), (HAPROXY, measured(1, 2))]),
            cell(2, &[(HAPROXY, measured(0, 1))]),
        ];
        let mut page = String::new();
        sheet.write(&mut page, &Results::of(comparisons.into()));
        let rows: Vec<&str> = page.lines().skip(2).take(4).collect();
        assert_eq!(
            rows,
            [
                "| clients | article: it | here: direct | here: HAProxy |",
                "|---|--:|--:|--:|",
                "| 1 | 7 | 5 | 5, **2 errors** |",
                "| 2 | 7 | **lost** | **failed** |",
            ]
        );
    }
}
