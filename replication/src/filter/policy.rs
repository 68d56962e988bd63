//! The policy of the settings: which changes pass, and which tables have another form on replicas.

use std::sync::Arc;

use config::{FilterAction, FilteredChange, ReplicationFilterConfig, ScriptConfig};
use route::Family;
use route::rules::Tables;
use system::Clock;

use super::error::FilterError;
use super::script::FilterScript;

/// All filters of a stream.
pub struct Policy {
    actions: Vec<ActionFilter>,
    tables: Vec<TableChange>,
    scripts: Vec<(Tables, Arc<FilterScript>)>,
}

/// The origin of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeOrigin {
    /// The id of the server that executed the change first.
    pub server_id: u32,
    /// The domain of its GTID (MariaDB).
    pub domain: Option<u32>,
}

/// A filter that keeps or drops changes.
struct ActionFilter {
    tables: Tables,
    settings: ReplicationFilterConfig,
    drops: bool,
}

/// A filter that changes the form of tables.
pub struct TableChange {
    /// The tables that it applies to.
    pub tables: Tables,
    /// The filter's settings.
    pub settings: ReplicationFilterConfig,
}

impl Policy {
    /// Creates the policy from the settings.
    ///
    /// # Errors
    /// The settings do not fit the family.
    pub fn new(
        settings: &[ReplicationFilterConfig],
        script_settings: &ScriptConfig,
        clock: &Clock,
        family: Family,
    ) -> Result<Self, FilterError> {
        let mut policy = Self {
            actions: Vec::new(),
            tables: Vec::new(),
            scripts: Vec::new(),
        };
        for settings in settings {
            if family == Family::MySql && !settings.domains.is_empty() {
                return Err(FilterError::Domains);
            }
            let tables = Tables::new(&settings.tables);
            if let Some(file) = &settings.script {
                let script = FilterScript::new(file.clone(), script_settings, clock)?;
                policy.scripts.push((tables, Arc::new(script)));
                continue;
            }
            let settings = settings.clone();
            match settings.action {
                Some(action) => policy.actions.push(ActionFilter {
                    tables,
                    settings,
                    drops: action == FilterAction::Drop,
                }),
                None => policy.tables.push(TableChange { tables, settings }),
            }
        }
        Ok(policy)
    }

    /// Whether the policy has any filter.
    pub fn filters(&self) -> bool {
        !self.actions.is_empty() || !self.tables.is_empty() || !self.scripts.is_empty()
    }

    /// Reads the scripts whose files have changed.
    ///
    /// # Errors
    /// A file is not a valid script.
    pub fn load_scripts(&self) -> Result<(), FilterError> {
        self.scripts
            .iter()
            .try_for_each(|(_, script)| script.load())
    }

    /// Returns the script that gets the changes of an object: the first filter with a script that matches the object.
    pub fn script(&self, schema: &str, name: &str) -> Option<&Arc<FilterScript>> {
        let mut scripts = self.scripts.iter();
        let found = scripts.find(|(tables, _)| tables.has(schema, name));
        found.map(|(_, script)| script)
    }

    /// Whether a filter may change the values of a table's rows.
    pub fn changes_rows(&self, schema: &str, name: &str) -> bool {
        self.table_change(schema, name).is_some() || self.script(schema, name).is_some()
    }

    /// Whether replicas get a change of an object. The first matching filter decides.
    pub fn passes(
        &self,
        change: FilteredChange,
        (schema, name): (&str, &str),
        origin: ChangeOrigin,
    ) -> bool {
        let first = self.actions.iter().find(|action| {
            action.is_from(origin) && action.is_for(change) && action.tables.has(schema, name)
        });
        first.is_none_or(|action| !action.drops)
    }

    /// Returns the filter that changes a table's form, if there is one.
    pub fn table_change(&self, schema: &str, name: &str) -> Option<&TableChange> {
        self.tables.iter().find(|it| it.tables.has(schema, name))
    }

    /// Returns schema and name of a table on replicas, if a filter renames it.
    pub fn renamed(&self, schema: &str, name: &str) -> Option<(String, String)> {
        let settings = &self.table_change(schema, name)?.settings;
        if settings.rename_schema.is_none() && settings.rename_table.is_none() {
            return None;
        }
        let other =
            |setting: &Option<String>, own: &str| setting.as_deref().unwrap_or(own).to_owned();
        Some((
            other(&settings.rename_schema, schema),
            other(&settings.rename_table, name),
        ))
    }

    /// Whether a filter may drop or edit some change of a table.
    pub fn is_concerned(&self, schema: &str, name: &str, origin: ChangeOrigin) -> bool {
        let is_dropped = |action: &&ActionFilter| {
            action.drops && action.is_from(origin) && action.tables.has(schema, name)
        };
        self.changes_rows(schema, name) || self.actions.iter().any(|it| is_dropped(&it))
    }
}

impl ActionFilter {
    fn is_from(&self, origin: ChangeOrigin) -> bool {
        let Self { settings, .. } = self;
        let is_server =
            settings.server_ids.is_empty() || settings.server_ids.contains(&origin.server_id);
        let is_domain = settings.domains.is_empty()
            || origin
                .domain
                .is_some_and(|it| settings.domains.contains(&it));
        is_server && is_domain
    }

    fn is_for(&self, change: FilteredChange) -> bool {
        self.settings.changes.is_empty() || self.settings.changes.contains(&change)
    }
}
