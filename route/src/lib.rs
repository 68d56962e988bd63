//! Where a session goes: the backends as a snapshot, and the pure choice among them.
//!
//! No socket, no clock, no thread: time is an argument ([`Moment`]), chance is an argument
//! ([`Dice`]), and the same arguments give the same answer. The control plane makes each
//! [`Topology`] and hands it to the workers, who [`choose`] from it and send back [`Report`]s of
//! what they met.
#![forbid(unsafe_code)]

mod choose;
mod dice;
mod load;
mod moment;
mod report;
mod topology;

pub use choose::{Fallen, NoBackend, choose};
pub use dice::Dice;
pub use load::{Load, SessionSlot};
pub use moment::Moment;
pub use report::{KillReason, KillScope, Report};
pub use topology::{Backend, BackendId, Endpoint, Health, Policy, Role, Roles, Topology};
