//! Clients' questions about the previous statement: the list of warnings and errors, counts, the last insert id.

pub(crate) mod fetch_pending;
pub(crate) mod previous_statement;
