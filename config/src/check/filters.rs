//! Checks of replication filters: each has one action, for tables that the action can apply to.

use super::change_files::is_table;
use crate::load::written::Written;
use crate::setting::REPLICATION_FILTER;
use crate::{Config, Fault, ReplicationConfig, ReplicationFilterConfig};

/// The longest name of a schema or table, in characters.
const NAME_MAX: usize = 64;

/// Adds every fault of the filters.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let mut index = 0;
    for stream in &config.replications {
        for filter in &stream.filters {
            let check = FilterCheck {
                stream,
                filter,
                written,
                index,
            };
            faults.extend(check.faults());
            index += 1;
        }
    }
}

struct FilterCheck<'a> {
    stream: &'a ReplicationConfig,
    filter: &'a ReplicationFilterConfig,
    written: &'a Written,
    index: usize,
}

impl FilterCheck<'_> {
    fn faults(&self) -> Vec<Fault> {
        let filter = self.filter;
        let mut faults = Vec::new();
        if self.stream.relay_folder.is_none() {
            let fault = self.fault("tables", "needs a relay_folder in its [[replication]]");
            faults.push(fault.hint("relay_folder = \"/var/lib/pilotfish/relay\""));
        }
        for entry in &filter.tables {
            if !is_table(entry) {
                let fault = self.fault("tables", format!("\"{entry}\" is no table"));
                faults.push(fault.hint("write \"TABLE\" or \"SCHEMA.TABLE\""));
            }
        }
        let columns = [
            &filter.columns_dropped,
            &filter.columns_null,
            &filter.columns_constant,
            &filter.columns_hashed,
        ];
        let changes_tables = filter.rename_schema.is_some()
            || filter.rename_table.is_some()
            || columns.iter().any(|it| !it.is_empty());
        if filter.script.is_some() && (filter.action.is_some() || changes_tables) {
            let fault = self.fault("script", "stands beside settings for the same changes");
            faults.push(fault.hint("write two [[replication.filter]] tables"));
        }
        match (
            filter.action.is_some(),
            changes_tables || filter.script.is_some(),
        ) {
            (true, true) if filter.script.is_none() => {
                let fault = self.fault("action", "stands beside settings that change tables");
                faults.push(fault.hint("write two [[replication.filter]] tables"));
            }
            (false, false) => {
                let text = "the filter has no action and no script, and changes no tables";
                let fault = self.fault("tables", text);
                faults.push(fault.hint("action = \"drop\""));
            }
            (false, true) => self.conditions(&mut faults),
            (true, _) => {}
        }
        self.renames(&mut faults);
        self.columns(&columns, &mut faults);
        faults
    }

    /// A filter that changes a table must apply to all its changes, or the table's rows would be inconsistent.
    fn conditions(&self, faults: &mut Vec<Fault>) {
        let filter = self.filter;
        for (key, is_given) in [
            ("changes", !filter.changes.is_empty()),
            ("server_ids", !filter.server_ids.is_empty()),
            ("domains", !filter.domains.is_empty()),
        ] {
            if is_given {
                let fault = self.fault(key, "needs an action");
                faults.push(
                    fault.hint("a filter without an action is for all changes of its tables"),
                );
            }
        }
    }

    /// A rename must not make one table of two.
    fn renames(&self, faults: &mut Vec<Fault>) {
        let filter = self.filter;
        let wanted = filter.tables.iter().filter(|it| !it.starts_with('!'));
        let parts: Vec<_> = wanted.map(|it| it.split_once('.')).collect();
        let is_one = |name: &str| !name.contains('*');
        let schemas: Option<Vec<_>> = parts
            .iter()
            .map(|it| it.map(|(schema, _)| schema))
            .collect();
        let has_one_schema = schemas.is_some_and(|all| match all.split_first() {
            Some((first, others)) => is_one(first) && others.iter().all(|it| it == first),
            None => false,
        });
        if filter.rename_schema.is_some() && !has_one_schema {
            let fault = self.fault("rename_schema", "needs tables of one schema");
            faults.push(fault.hint("tables = [\"SCHEMA.*\"]"));
        }
        let is_one_table =
            matches!(parts[..], [Some((schema, table))] if is_one(schema) && is_one(table));
        if filter.rename_table.is_some() && !is_one_table {
            let fault = self.fault("rename_table", "needs one table");
            faults.push(fault.hint("tables = [\"SCHEMA.TABLE\"]"));
        }
        for (key, name) in [
            ("rename_schema", &filter.rename_schema),
            ("rename_table", &filter.rename_table),
        ] {
            let is_long = name
                .as_ref()
                .is_some_and(|it| it.chars().count() > NAME_MAX);
            if is_long {
                faults.push(self.fault(key, format!("must have at most {NAME_MAX} characters")));
            }
        }
    }

    fn columns(&self, columns: &[&Vec<String>; 4], faults: &mut Vec<Fault>) {
        let filter = self.filter;
        for entry in &filter.columns_constant {
            let has_name = entry
                .split_once('=')
                .is_some_and(|(name, _)| !name.is_empty());
            if !has_name {
                let fault = self.fault("columns_constant", format!("\"{entry}\" has no \"=\""));
                faults.push(fault.hint("write \"COLUMN=VALUE\""));
            }
        }
        if !filter.columns_hashed.is_empty() && filter.hash_key.is_none() {
            let fault = self.fault("columns_hashed", "needs hash_key");
            faults.push(fault.hint("hash_key = \"file:/etc/pilotfish/hash.key\""));
        }
        let name = |entry: &str| {
            entry
                .split('=')
                .next()
                .unwrap_or(entry)
                .to_ascii_lowercase()
        };
        let mut all: Vec<_> = columns
            .iter()
            .flat_map(|it| it.iter())
            .map(|it| name(it))
            .collect();
        all.sort_unstable();
        if let Some(twice) = all.windows(2).find(|pair| pair[0] == pair[1]) {
            let text = format!("column \"{}\" is given twice", twice[0]);
            faults.push(self.fault("tables", text));
        }
    }

    fn fault(&self, key: &str, text: impl Into<String>) -> Fault {
        let key = Written::of(REPLICATION_FILTER.name, self.index, key);
        self.written.fault(&key, text)
    }
}
