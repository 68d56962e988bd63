//! Checks of change files: each needs a stream that keeps its transactions, and its own path.

use std::collections::HashSet;

use crate::load::written::Written;
use crate::setting::CHANGE_FILE;
use crate::{Config, Fault};

/// Adds every fault of the change files.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let files = config.replications.iter();
    let files = files.flat_map(|stream| stream.change_files.iter().map(move |it| (stream, it)));
    let mut paths = HashSet::new();
    for (index, (stream, file)) in files.enumerate() {
        let fault = |key: &str, text: String| {
            written.fault(&Written::of(CHANGE_FILE.name, index, key), text)
        };
        if stream.relay_folder.is_none() {
            let text = "needs a relay_folder in its [[replication]]".to_owned();
            let fault = fault("path", text);
            faults.push(fault.hint("relay_folder = \"/var/lib/pilotfish/relay\""));
        }
        let is_written = written.has(&Written::of(CHANGE_FILE.name, index, "path"));
        if file.path.file_name().is_none() && is_written {
            faults.push(fault("path", "must name a file".to_owned()));
        } else if is_written && !paths.insert(&file.path) {
            let text = format!("\"{}\" is given twice", file.path.display());
            faults.push(fault("path", text).hint("give each change file a path of its own"));
        }
        for entry in &file.tables {
            if !is_table(entry) {
                let fault = fault("tables", format!("\"{entry}\" is no table"));
                faults.push(fault.hint("write \"TABLE\" or \"SCHEMA.TABLE\""));
            }
        }
    }
}

/// Whether an entry of `tables` names a table, or tables with `*`.
pub(super) fn is_table(entry: &str) -> bool {
    let name = entry.strip_prefix('!').unwrap_or(entry);
    let is_named = name.split('.').all(|part| !part.trim().is_empty());
    is_named && name.split('.').count() <= 2
}
