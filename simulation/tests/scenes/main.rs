//! Scenes: each tests one behaviour of the proxy between scripted clients and a model of servers, on a virtual clock.
//! Subjects are limits, waits, kills, rules, lanes, routing and session state. Tests with real servers are in `e2e/`;
//! `tests/worlds.rs` searches for behaviour that no test names.

#![allow(clippy::unwrap_used, clippy::panic)]

mod adaptive_limit;
mod bulk_executions;
mod clusters;
mod counts;
mod cursors;
mod cuts;
mod deferred_begin;
mod idle_transactions;
mod injected_statements;
mod kept_connections;
mod kill;
mod lanes;
mod limits;
mod local_files;
mod logins;
mod mirror;
mod optimistic_transactions;
mod profiling;
mod read_only_primaries;
mod reading_transactions;
mod rules;
mod scripts;
mod session_commands;
mod session_state;
mod splitting;
mod timeouts;
mod waiting;

/// An empty list of texts.
const NOTHING: [&str; 0] = [];

/// Returns a rule's table for the configuration.
fn rule(name: &str, lines: &str) -> String {
    format!("[[rule]]\nname = \"{name}\"\n{lines}\n")
}
