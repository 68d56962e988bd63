//! Backend connections that sessions take turns on: opened, lent, restored, kept, closed.

pub(crate) mod acquire;
pub(crate) mod inherit_globals;
pub(crate) mod kept_statements;
pub(crate) mod lease;
