//! Pooled sessions: logins answered by the proxy, backend connections lent for a statement or a
//! transaction.
//!
//! ```text
//!   enter ──► begin ──► session ──┬─ commands, prepared, query, kill, change_user
//!   (exam)    (OK)      (loop)    │      │
//!                                 │      ▼
//!                                 │   exchange ── make the connection like the session, send, pump
//!                                 │      │
//!                                 │      ▼
//!                                 └─ observe ── what changed; give back
//!   desk ── the worker's pool: check out, give back, open, ping, close
//! ```
//!
//! Beside the relay this is the other way to serve a session. What cannot be pooled is relayed.

mod aboard;
mod aftermath;
mod aim;
pub(crate) mod appeal;
mod asking;
pub(crate) mod begin;
pub(crate) mod beside;
pub(crate) mod broken;
mod bulk;
mod candidate;
pub(crate) mod ceilings;
mod change_over;
mod change_user;
pub(crate) mod choice;
mod commands;
pub(crate) mod conn;
pub(crate) mod course;
mod cursor;
mod cut_transaction;
mod defined;
pub(crate) mod desk;
mod diagnostics;
pub(crate) mod enter;
pub(crate) mod exchange;
mod execute;
mod explain;
mod explain_route;
mod explained;
pub(crate) mod explaining;
mod files;
pub(crate) mod globals;
pub(crate) mod greeting;
mod hand_over;
mod hold;
pub(crate) mod host_names;
mod idle;
mod inheriting;
mod injected_asks;
mod injected_events;
mod injected_results;
mod injected_settings;
mod injecting;
pub(crate) mod inquiry;
mod keeper;
mod kept;
pub(crate) mod kill;
mod known;
mod lane;
mod lane_statements;
pub(crate) mod lanes;
mod leaving;
pub(crate) mod limits;
mod mirror;
mod movable_transaction;
mod observe;
pub(crate) mod open;
mod optimism;
pub(crate) mod order;
mod other_commands;
pub(crate) mod pace;
mod parts;
mod pass_on;
pub(crate) mod people;
mod prefix;
mod prepared;
pub(crate) mod privileges;
mod profiling;
pub(crate) mod pump;
mod query;
mod read_only;
mod recall;
mod record;
pub(crate) mod refused;
mod relive;
mod replay;
mod resting;
mod ride;
mod ruled;
mod ruling;
mod saying;
pub(crate) mod session;
mod shelf;
pub(crate) mod sight;
mod sqlstates;
pub(crate) mod statement;
pub(crate) mod store;
mod texts;
pub(crate) mod times;
mod timing;
mod too_large;
mod turn;
mod unknown;
