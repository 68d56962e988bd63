//! One behaviour of the proxy each, between scripted clients and a model of servers, on a virtual clock: limits, waits,
//! kills, rules and lanes. What a real server does is not tested here (`e2e/`), nor what nobody has thought of
//! (`tests/worlds.rs`).

#![allow(clippy::unwrap_used, clippy::panic)]

mod adaptive_limit;
mod clusters;
mod counts;
mod cuts;
mod idle_transactions;
mod kept_connections;
mod kill;
mod lanes;
mod limits;
mod logins;
mod rules;
mod waiting;
