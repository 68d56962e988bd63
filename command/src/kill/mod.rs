//! KILL as values: the target of a KILL, and how the proxy asks a server about it. What a session does with that is
//! `engine::kill`.

pub mod kill_among;
pub mod kill_statement;
pub mod kill_target;
pub mod killed_user;
pub mod prepared_text;
pub mod target_number;
