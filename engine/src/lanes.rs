//! Statements of a pooled session on the shared lanes of its worker: which may use one, and what the session keeps of them.

pub(crate) mod lane_use;
pub(crate) mod rerun_for_diagnostics;
pub(crate) mod run_on_lane;
pub(crate) mod try_lane;
