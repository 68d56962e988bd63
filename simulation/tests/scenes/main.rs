//! One behaviour of the proxy each, between scripted clients and a model of servers, on a virtual clock: limits, waits,
//! kills, rules, lanes, where statements go, and what moves with a session. What a real server does is not tested here
//! (`e2e/`), nor what nobody has thought of (`tests/worlds.rs`).

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

/// No texts.
const NOTHING: [&str; 0] = [];

/// A rule of the configuration.
fn rule(name: &str, lines: &str) -> String {
    format!("[[rule]]\nname = \"{name}\"\n{lines}\n")
}
