//! The page: what was measured on what, which goals were reached, the plots, every comparison.

use std::fmt::Write;

use super::comparison::{self, EVEN, verdict};
use super::goals::{REASONS, Verdict};
use super::number::count;
use super::{article, aside, goals, summary};
use crate::results::{About, Comparison, Results};
use crate::run::backend::Kind;
use crate::run::contestant::names::{LANES, PILOTFISH, title};
use crate::run::plan;

/// The whole page.
pub fn markdown(results: &Results, pictures: &[(&str, &str)], folder: &str) -> String {
    let mut page = String::from(INTRODUCTION);
    summary::write(&mut page, results);
    for (file, title) in pictures {
        let _ = writeln!(page, "![{title}]({folder}/{file})\n");
    }
    about(&mut page, &results.about);
    goal_table(&mut page, results);
    lost(&mut page, results);
    aside::idle(&mut page, &results.idle);
    aside::rules(&mut page, results);
    aside::scripts(&mut page, results);
    aside::workers(&mut page, results);
    aside::insight(&mut page, results.insight.as_ref());
    article::all(&mut page, results);
    for backend in Kind::ALL {
        let of_backend = results.comparisons.iter().filter(|comparison| {
            comparison.cell.backend == backend && !plan::is_of_articles(&comparison.cell)
        });
        let of_backend: Vec<&Comparison> = of_backend.collect();
        if !of_backend.is_empty() {
            comparison::section(&mut page, backend, &of_backend);
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
    let _ = writeln!(page, "## What was measured\n");
    let _ = writeln!(
        page,
        "Measured {} at commit {} on {}, {}, {}. Profile `{}`: {} rounds at most, windows of \
         {:.1} s, `sbtest1` with {} rows. Every proxy has one thread unless its name says more.",
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
        let why = match goal.verdict {
            Verdict::Missed => format!(" ([why]({REASONS}#{}))", goal.reasons),
            Verdict::Reached | Verdict::NotMeasured => String::new(),
        };
        let _ = writeln!(
            page,
            "| {} | {} | {}{why} |",
            goal.text, goal.measured, goal.verdict
        );
    }
    let _ = writeln!(page);
}

/// Names every comparison in which Pilotfish, with or without lanes, is behind HAProxy.
fn lost(page: &mut String, results: &Results) {
    let (mut all, mut lost) = (0, Vec::new());
    for comparison in &results.comparisons {
        for ours in [PILOTFISH, LANES] {
            let verdict = comparison.contestants.get(ours).and_then(verdict);
            all += usize::from(verdict.is_some());
            if let Some(verdict) = verdict.filter(|verdict| verdict.contains("behind")) {
                lost.push((&comparison.cell, title(ours), verdict));
            }
        }
    }
    if all == 0 {
        return;
    }
    let _ = writeln!(
        page,
        "In {} of {all} comparisons Pilotfish is behind HAProxy in throughput or CPU per query by \
         more than {:.0} %{}",
        lost.len(),
        EVEN * 100.0,
        if lost.is_empty() { "." } else { ":\n" },
    );
    for (cell, ours, verdict) in lost {
        let (backend, load) = (cell.backend.title(), &cell.workload);
        let _ = writeln!(
            page,
            "- {backend}, {load}, {} conn., {ours}: {verdict}",
            cell.connections
        );
    }
    let _ = writeln!(page);
}
