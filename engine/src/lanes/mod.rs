//! Lanes: statements of many sessions on one backend connection.
//!
//! There are two entries, because a lane may exist before a session waits for a connection, or be made afterwards.
//! `try_lane`, in the step "lane", runs a statement on a lane that exists. `try_new_lane`, behind the step "acquire", makes a
//! lane of the connection that the session has waited for. If lanes are off, `try_lane` ends at its first check, and
//! `try_new_lane` costs one branch.
//!
//! Behind the reply, `learn` notes how long a statement took that may use a lane the next time. If the client then asks
//! about a statement that was on a lane, `rerun_unheard` runs it again on a connection of the session's own.

mod rerun_for_diagnostics;
mod run_on_lane;
pub(crate) mod try_lane;
