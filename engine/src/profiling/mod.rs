//! Profiling: what a statement has cost its backend. The folder `injection` sends statements of the proxy's own before and
//! after a profiled statement.
//!
//! The entry is `choose_profile`, in the step "rules": a rule, a hint or chance chooses the statement. Chance is asked
//! first (`is_picked`), which costs one branch if profiling is off. When the statement has ended, `injection` has it
//! reported (`tell_profile`), or counted if nothing could be sent (`leaves_out`).

mod choose;
mod report;
