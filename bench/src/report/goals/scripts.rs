//! Goals of scripts.

use super::Goal;
use super::lanes::workers;
use crate::results::{Comparison, Results};
use crate::run::backend::Kind;
use crate::run::contestant::names::{ISOLATED, POOLED, SCRIPTED};
use crate::run::plan::CPU_CLIENTS;

/// What each of [`SCRIPTED`] does, and how many microseconds that may add.
const ADDED_MAX_US: [(&str, f64); 3] = [
    ("an empty read_query", 1.5),
    ("a read_query that reads the statement's tokens", 5.0),
    ("a read_query that sends the statement itself", 5.0),
];

/// The goals of scripts.
pub fn all(results: &Results) -> Vec<Goal> {
    let comparison = results.comparison(Kind::Minimal, "point", CPU_CLIENTS);
    let scripts = SCRIPTED.into_iter().zip(ADDED_MAX_US);
    let goals = scripts
        .map(|(name, (what, most))| added(comparison, name, what, most).explained_in("scripts"));
    let isolated = workers(results, ISOLATED[0], ISOLATED[1]);
    goals.chain([isolated]).collect()
}

fn added(comparison: Option<&Comparison>, name: &str, what: &str, most: f64) -> Goal {
    let text = format!(
        "CPU that {what} adds to a point select, pooled, minimal backend, {CPU_CLIENTS} clients: \
         ≤ {most} µs"
    );
    Goal::of_one(&text, comparison, name, |ours| {
        let without = comparison?.contestants.get(POOLED[0])?.proxy_cpu_us?.sum();
        let added = ours.proxy_cpu_us?.sum() - without;
        Some((added <= most, format!("{added:.2} µs to {without:.2} µs")))
    })
}
