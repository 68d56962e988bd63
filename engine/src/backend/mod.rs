//! Backend connections that sessions share by turns: they are opened, acquired, restored, kept, closed.

pub(crate) mod acquire;
pub(crate) mod inherit_globals;
pub(crate) mod kept_statements;
pub(crate) mod lease;
