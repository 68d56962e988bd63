//! One file for each command of a client, or for a few that are alike.

pub(crate) mod change_user;
pub(crate) mod change_user_passthrough;
pub(crate) mod client_files;
pub(crate) mod cursor;
pub(crate) mod encode;
pub(crate) mod execute;
pub(crate) mod long_text;
pub(crate) mod memory;
pub(crate) mod other_commands;
pub(crate) mod pipeline;
pub(crate) mod prepared;
pub(crate) mod query;
pub(crate) mod run_command;
pub(crate) mod session_commands;
pub(crate) mod sql_prepared;
pub(crate) mod too_large;
pub(crate) mod unknown_statements;
