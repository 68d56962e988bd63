//! What is done with a command when something breaks, or when a server refuses it.

pub(crate) mod after_cut;
pub(crate) mod idle_transaction;
pub(crate) mod refused_reads;
pub(crate) mod refused_writes;
pub mod retry;
