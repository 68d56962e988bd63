//! Settings that were removed. For one version a file may still contain them: they are accepted, with a warning that
//! names the replacement.

use crate::{Fault, SourceLocation};

/// Tables, keys in them, and the replacement. Versions after the next will not accept them.
const RETIRED: &[(&[&str], &[&str], &str)] = &[(
    &["slow_log", "query_log", "audit_log", "profiling"],
    &["bytes_max", "files_max"],
    "files grow until logrotate or the like moves them and sends SIGUSR1",
)];

/// The warning about a removed setting.
pub(crate) fn retired(location: &SourceLocation, table: &str, key: &str) -> Option<Fault> {
    let is_meant = |(tables, keys, _): &&(&[&str], &[&str], &str)| {
        tables.contains(&table) && keys.contains(&key)
    };
    let (_, _, instead) = RETIRED.iter().find(is_meant)?;
    let fault = Fault::new(
        location.clone(),
        format!("{table}.{key}"),
        "is not read any more",
    );
    Some(fault.hint(*instead))
}
