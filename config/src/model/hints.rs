//! Hints, with which statements say themselves where they go.

use crate::Traits;
use crate::define::{choices, settings};

settings! {
    /// Hints: comments with which a statement says itself where it is to go. The proxy obeys no hints unless
    /// this or the account says so, because any client that can write a comment could choose. See
    /// [Rules](rules.md#hints).
    pub struct HintsConfig in [hints], "Hints" {
        /// Whose way of writing hints is understood, for accounts that say nothing else with
        /// `account.hints`.
        accepted: Vec<HintStyle> = Vec::new(), Traits::RELOAD;

        /// The meaning of ProxySQL's `hostgroup=N`: `"N: HINT"`, where the hint is written as
        /// Pilotfish's are. `"1: replica"`, `"20: cluster=archive, replica"`, `"30: backend=db3"`.
        hostgroups: Vec<String> = Vec::new(), Traits::RELOAD;
    }
}

choices! {
    /// A way of writing hints.
    pub enum HintStyle {
        /// `/* pilotfish: replica, timeout=2s */`
        Pilotfish = "pilotfish",
        /// `/* hostgroup=1 */`, `/* ;hostgroup=1;query_timeout=2000 */`
        ProxySql = "proxysql",
        /// `-- maxscale route to slave`
        MaxScale = "maxscale",
    }
}
