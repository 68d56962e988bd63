//! Rules and hints about a command: what they say, and what follows from that before anything is sent.

pub mod evaluate_rules;
pub(crate) mod follow_policy;
pub(crate) mod prepared_rules;
