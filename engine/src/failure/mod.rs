//! The treatment of a command when a connection breaks, or when a server refuses the command.

pub(crate) mod after_cut;
pub(crate) mod idle_transaction;
pub(crate) mod refused_reads;
pub(crate) mod refused_writes;
pub mod retry;
