//! Which views, routines, triggers and defaults do more than read: asked of one backend of each cluster, judged by
//! their definitions, posted for the data plane.
//!
//! ```text
//!   schedule   when: at start, after a reload, after DDL that a worker has seen, now and then
//!   asking     information_schema of one backend ──► objects with their definitions
//!   resolving  objects ──► what each does, together with what it names ──► route::Known
//! ```

mod fetch;
mod resolving;
mod schedule;

pub(crate) use fetch::{FetchedDefinitions, Teachers, ask_all};
pub(crate) use schedule::Schedule;
