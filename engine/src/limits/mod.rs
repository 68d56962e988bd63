//! Limits of rules, hints and scripts on a statement. The pipeline needs them at two moments:
//!
//! - In the step "rules", `pass_limit` waits until a limit of a rule lets the statement in, or refuses the statement. The
//!   policy of the command keeps the place in the limit until the reply has ended.
//! - In the steps "lane" and "run", `alarm` kills a statement that runs for longer than it may.
//!
//! Each costs one branch if no limit concerns the statement.

mod alarm;
mod pass_limit;
