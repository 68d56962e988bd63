//! Settings that had another name in the previous version. For one version the old name is accepted, with a warning
//! that names the new name.

use crate::{Fault, SourceLocation};

/// Old names and new ones.
const RENAMED: &[(&str, &str)] = &[
    ("balance.replicas", "routing.replicas"),
    ("balance.consistency", "routing.consistency"),
    (
        "balance.optimistic_transactions",
        "routing.optimistic_transactions",
    ),
    ("pool.session", "routing.session"),
    ("pool.lanes", "routing.lanes"),
    ("script.file", "routing.script"),
    ("listener.cluster", "listener.routing.cluster"),
    ("listener.replicas", "listener.routing.replicas"),
    ("listener.consistency", "listener.routing.consistency"),
    (
        "listener.optimistic_transactions",
        "listener.routing.optimistic_transactions",
    ),
    ("listener.session", "listener.routing.session"),
    ("listener.lanes", "listener.routing.lanes"),
    ("listener.script", "listener.routing.script"),
    ("account.cluster", "account.routing.cluster"),
    ("account.replicas", "account.routing.replicas"),
    ("account.consistency", "account.routing.consistency"),
    (
        "account.optimistic_transactions",
        "account.routing.optimistic_transactions",
    ),
    ("account.session", "account.routing.session"),
    ("account.lanes", "account.routing.lanes"),
    ("account.script", "account.routing.script"),
    ("rule.cluster", "rule.routing.cluster"),
    ("rule.role", "rule.routing.replicas"),
    ("rule.consistency", "rule.routing.consistency"),
    ("rule.session", "rule.routing.session"),
    ("rule.lanes", "rule.routing.lanes"),
    ("insight.digests", "statement_stats.digests"),
    ("insight.transparent", "statement_stats.transparent"),
    (
        "insight.digests_bytes_max",
        "statement_stats.digests_bytes_max",
    ),
    ("insight.slow_statements", "statement_stats.slow_statements"),
    (
        "insight.slow_statements_max",
        "statement_stats.slow_statements_max",
    ),
    ("insight.samples", "statement_stats.include_values"),
    ("insight.index_usage", "statement_stats.index_usage"),
    (
        "insight.explain_interval",
        "statement_stats.explain_interval",
    ),
    (
        "insight.explains_per_second_max",
        "statement_stats.explains_per_second_max",
    ),
    ("history.place", "statement_stats.history"),
    ("history.file", "statement_stats.history_file"),
    ("history.interval", "statement_stats.history_interval"),
    (
        "history.load_interval",
        "statement_stats.history_load_interval",
    ),
    ("history.retention", "statement_stats.history_retention"),
    ("history.digests_max", "statement_stats.history_digests_max"),
    ("history.bytes_max", "statement_stats.history_bytes_max"),
    ("digests.file", "statement_stats.plan_file"),
    ("digests.count_max", "statement_stats.plan_digests_max"),
    ("digests.interval", "statement_stats.plan_interval"),
    ("statement_stats.samples", "statement_stats.include_values"),
    ("log.sampled_statements", "log.sample_one_in"),
    ("slow_log.one_of", "slow_log.sample_one_in"),
    ("slow_log.values", "slow_log.include_values"),
    ("query_log.one_of", "query_log.sample_one_in"),
    ("query_log.values", "query_log.include_values"),
    ("profiling.one_of", "profiling.sample_one_in"),
    ("profiling.asks", "profiling.collect"),
    ("profiling.values", "profiling.include_values"),
    ("tracing.one_of", "tracing.sample_one_in"),
    ("tracing.values", "tracing.include_values"),
    ("rule.over", "rule.on_limit"),
    ("rule.watch", "rule.dry_run"),
];

/// The new name of a setting that had this one.
pub fn new_name(old: &str) -> Option<&'static str> {
    let mut names = RENAMED.iter();
    names.find(|(name, _)| *name == old).map(|(_, new)| *new)
}

/// Old names of settings, and their new names.
pub fn renamed() -> impl Iterator<Item = (&'static str, &'static str)> {
    RENAMED.iter().copied()
}

/// Whether a table had settings that are in another table now.
pub(crate) fn had_table(table: &str) -> bool {
    let tables = RENAMED.iter().filter_map(|(old, _)| old.split_once('.'));
    tables.map(|(of, _)| of).any(|of| of == table)
}

/// The warning about an option of the command line that has another name now.
pub fn old_option(option: &str, new: &str) -> Fault {
    warning(SourceLocation::COMMAND_LINE, option, new)
}

/// The warning about an old name.
pub(crate) fn warning(location: SourceLocation, old: &str, new: &str) -> Fault {
    let fault = Fault::new(location, old, "has another name now");
    fault.hint(format!(
        "write {new}; the next version knows it by that alone"
    ))
}
