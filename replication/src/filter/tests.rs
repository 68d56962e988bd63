//! Filters on binary log files of real servers (`binlog/tests/captures`).

mod captured;
mod policies;
mod scripts;
mod statements;

use config::{FilterAction, FilteredChange, ReplicationFilterConfig, Secret};

/// A filter that drops these kinds of changes of these tables.
fn drops(tables: &[&str], changes: &[FilteredChange]) -> ReplicationFilterConfig {
    ReplicationFilterConfig {
        action: Some(FilterAction::Drop),
        changes: changes.to_vec(),
        ..on(tables)
    }
}

/// A filter for these tables without an action.
fn on(tables: &[&str]) -> ReplicationFilterConfig {
    ReplicationFilterConfig {
        tables: tables.iter().map(|it| (*it).to_owned()).collect(),
        hash_key: Some(Secret::new("a key")),
        ..ReplicationFilterConfig::default()
    }
}

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|it| (*it).to_owned()).collect()
}
