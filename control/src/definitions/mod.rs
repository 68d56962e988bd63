//! Which views, routines, triggers and defaults do more than read. The definitions come from one backend of each
//! cluster; what they do is published for the data plane.
//!
//! ```text
//!   schedule   when: at start, after a reload, after DDL that a worker has seen, now and then
//!   fetch      information_schema of one backend ──► objects with their definitions
//!   resolving  objects ──► what each does, together with what it names ──► route::ClusterDefinitions
//! ```

mod fetch;
mod resolving;
mod schedule;

pub(crate) use fetch::{FetchedDefinitions, Teachers, ask_all};
pub(crate) use schedule::Schedule;
