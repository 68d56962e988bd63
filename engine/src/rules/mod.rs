//! Rules and hints: what the operator, or a comment of the statement, wants done with a statement.
//!
//! The entry is `apply_rules`, which the pipeline calls in the step "rules". It first asks whether there is any rule, and
//! any hint that counts (`is_ruled`); without them that is all. It answers, refuses, delays or rewrites the statement. What
//! is left is the command's [`CommandPolicy`](command::command_policy::CommandPolicy), which later steps read. `end_policy`
//! ends the policy when the command has ended.
//!
//! Commands that are not a whole statement have entries of their own: COM_STMT_PREPARE (`rule_prepare`), a statement
//! that is too long to be held (`rule_large`), and commands that stand for a statement (`rule_command`,
//! `rule_replication`).

mod command_rules;
pub(crate) mod evaluate_rules;
mod make_policy;
pub(crate) mod prepared_rules;
