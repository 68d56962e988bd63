//! The tables of row events with all that their rows need: as the server sends them, or by the schema history.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use binlog::TableMap;
use config::ReplicationFilterConfig;

use super::columns::{DeclaredColumn, complete, declared_columns, is_complete};
use super::error::ChangeError;
use super::history::{History, Moment};

/// The most tables whose columns are remembered.
const TABLES_MAX: usize = 10_000;

/// How long, and how often, the history is waited for.
const WAIT: Duration = Duration::from_millis(100);
const WAITS_MAX: u32 = 300;

/// What is known of tables.
pub struct KnownTables {
    history: History,
    filters: Vec<ReplicationFilterConfig>,
    /// By schema and name. DDL empties it.
    declared: HashMap<(String, String), Arc<[DeclaredColumn]>>,
}

impl KnownTables {
    /// Nothing is known yet. The filters of the stream may give tables other names than the history has.
    pub fn new(history: History, filters: Vec<ReplicationFilterConfig>) -> Self {
        Self {
            history,
            filters,
            declared: HashMap::new(),
        }
    }

    /// A statement has changed objects.
    pub fn forget(&mut self) {
        self.declared.clear();
    }

    /// The table with names, signs, character sets and labels.
    ///
    /// # Errors
    /// Neither the server nor the history tells them; `is_gone` says that nobody waits for them any more.
    pub fn complete(
        &mut self,
        map: &Arc<TableMap>,
        moment: Moment<'_>,
        is_gone: &dyn Fn() -> bool,
    ) -> Result<Arc<TableMap>, ChangeError> {
        if is_complete(map) {
            return Ok(Arc::clone(map));
        }
        let key = (map.schema.clone(), map.table.clone());
        if let Some(declared) = self.declared.get(&key)
            && let Some(table) = complete(map, declared)
        {
            return Ok(Arc::new(table));
        }
        let declared = self.declared_at(map, moment, is_gone)?;
        let table = declared.as_deref().and_then(|it| complete(map, it));
        let (Some(declared), Some(table)) = (declared, table) else {
            return Err(ChangeError::UnknownColumns(format!("{}.{}", key.0, key.1)));
        };
        if self.declared.len() >= TABLES_MAX {
            self.forget();
        }
        self.declared.insert(key, declared);
        Ok(Arc::new(table))
    }

    /// The columns by the history. It may be behind the relay within one transaction (CREATE TABLE … SELECT), because
    /// the stream asks the server after it has written the transaction.
    fn declared_at(
        &self,
        map: &TableMap,
        moment: Moment<'_>,
        is_gone: &dyn Fn() -> bool,
    ) -> Result<Option<Arc<[DeclaredColumn]>>, ChangeError> {
        if self.is_renamed(map) {
            return Ok(None);
        }
        for _ in 0..WAITS_MAX {
            let position = self.history.position()?;
            let found = self
                .history
                .definition_at((&map.schema, &map.table), moment)?;
            let is_behind = position
                .zip(moment.gtid)
                .is_some_and(|(position, gtid)| !position.contains(gtid));
            if !is_behind || found.is_some() && !moment.has_changes {
                let declared = found.as_deref().and_then(declared_columns);
                return Ok(declared.map(Into::into));
            }
            if is_gone() {
                return Err(ChangeError::Gone);
            }
            std::thread::sleep(WAIT);
        }
        Ok(None)
    }

    /// Whether a filter may have given the table its name: then the history knows it by another one.
    fn is_renamed(&self, map: &TableMap) -> bool {
        let is = |name: &Option<String>, own: &str| {
            name.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(own))
        };
        let mut filters = self.filters.iter();
        filters.any(|it| is(&it.rename_schema, &map.schema) || is(&it.rename_table, &map.table))
    }
}
