//! Sessions without a client beside a client's session: they run mirrored statements (folder `mirror`) and statements that
//! scripts send elsewhere.

mod script_query;
mod shadow_session;
