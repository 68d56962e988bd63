//! The state model of a session, against scripted and real servers.

mod asks;
mod begins;
mod calls;
mod inheriting;
mod line;
mod model;
mod names;
mod pins;
mod pool;
mod restoring;
mod servers;
mod stage;
mod texts;

use pilotfish_session::state::ValuesTable;
use system::Entropy;

/// A worker's table of session values, still empty.
fn values_table() -> ValuesTable {
    ValuesTable::new(Entropy::seeded(7).hash_keys().unwrap())
}
