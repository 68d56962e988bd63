//! Backend connections that sessions take turns on: opened, lent, restored, kept, closed.

pub(crate) mod acquire;
pub(crate) mod connection;
pub(crate) mod held;
pub(crate) mod inherit_globals;
pub(crate) mod kept_statements;
pub(crate) mod open;
pub(crate) mod pool_maintenance;
pub(crate) mod release;
pub(crate) mod shared_store;
pub(crate) mod sub_pool;
pub(crate) mod wait_slot;
pub(crate) mod worker_pool;
