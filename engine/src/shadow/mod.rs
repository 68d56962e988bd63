//! Sessions without a client beside a client's session: for mirrored statements and for questions of scripts.

pub(crate) mod mirror;
pub(crate) mod script_query;
pub(crate) mod shadow_session;
