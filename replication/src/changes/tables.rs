//! The tables of row events with all facts that their rows need, from the server's events or from the schema history.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use binlog::TableMap;
use config::ReplicationFilterConfig;
use route::Family;

use super::columns::{DeclaredTable, complete, declared_table, is_complete, may_have_native};
use super::error::ChangeError;
use super::history::{DefinitionLookup, History, Moment};

/// The maximum number of tables in the cache.
const TABLES_MAX: usize = 10_000;

/// How long one wait for the history is, and how many waits there may be.
const WAIT: Duration = Duration::from_millis(100);
const WAITS_MAX: u32 = 300;

/// The known definitions of tables.
pub struct TableCache {
    history: History,
    filters: Vec<ReplicationFilterConfig>,
    /// By schema and name; none if the history does not know the table. A statement that changes objects empties it.
    declared: HashMap<(String, String), Option<Arc<DeclaredTable>>>,
}

impl TableCache {
    /// An empty cache. With the stream's filters, tables may have other names than in the history.
    pub fn new(history: History, filters: Vec<ReplicationFilterConfig>) -> Self {
        Self {
            history,
            filters,
            declared: HashMap::new(),
        }
    }

    /// Empties the cache, because a statement has changed objects.
    pub fn forget(&mut self) {
        self.declared.clear();
    }

    /// Returns the table with names, signs, character sets and labels.
    ///
    /// # Errors
    /// Neither the server nor the history knows them; or `is_closed` returns true, because the reader is gone.
    pub fn complete(
        &mut self,
        map: &Arc<TableMap>,
        moment: Moment<'_>,
        is_closed: &dyn Fn() -> bool,
    ) -> Result<Arc<TableMap>, ChangeError> {
        if is_complete(map) {
            return match self.history.family() {
                Family::MariaDb if may_have_native(map) => {
                    self.with_natives(map, moment, is_closed)
                }
                _ => Ok(Arc::clone(map)),
            };
        }
        match self.by_history(map, moment, is_closed)? {
            Some(table) => Ok(table),
            None => {
                let (schema, table) = (&map.schema, &map.table);
                Err(ChangeError::UnknownColumns(format!("{schema}.{table}")))
            }
        }
    }

    /// Returns a table whose names the server has sent. The history adds the types that the server sends as plain
    /// bytes. If the history does not know them, the values stay bytes.
    fn with_natives(
        &mut self,
        map: &Arc<TableMap>,
        moment: Moment<'_>,
        is_closed: &dyn Fn() -> bool,
    ) -> Result<Arc<TableMap>, ChangeError> {
        let known = self.by_history(map, moment, is_closed)?;
        Ok(known.unwrap_or_else(|| Arc::clone(map)))
    }

    /// Returns the table with its definition in the history; none if no definition fits.
    fn by_history(
        &mut self,
        map: &TableMap,
        moment: Moment<'_>,
        is_closed: &dyn Fn() -> bool,
    ) -> Result<Option<Arc<TableMap>>, ChangeError> {
        let key = (map.schema.clone(), map.table.clone());
        let fitting = |declared: &Option<Arc<DeclaredTable>>| {
            let declared = declared.as_deref()?;
            complete(map, declared).map(Arc::new)
        };
        if let Some(declared) = self.declared.get(&key) {
            let table = fitting(declared);
            if declared.is_none() || table.is_some() {
                return Ok(table);
            }
        }
        let declared = self.declared_at(map, moment, is_closed)?;
        let table = fitting(&declared);
        if self.declared.len() >= TABLES_MAX {
            self.forget();
        }
        self.declared
            .insert(key, declared.filter(|_| table.is_some()));
        Ok(table)
    }

    /// Returns the definition in the history. Within one transaction (CREATE TABLE … SELECT) the history may be behind
    /// the relay files, because the stream writes the transaction first, and asks the server for the definition then.
    fn declared_at(
        &self,
        map: &TableMap,
        moment: Moment<'_>,
        is_closed: &dyn Fn() -> bool,
    ) -> Result<Option<Arc<DeclaredTable>>, ChangeError> {
        if self.is_renamed(map) {
            return Ok(None);
        }
        for _ in 0..WAITS_MAX {
            let position = self.history.position()?;
            let name = (map.schema.as_str(), map.table.as_str());
            let found = self
                .history
                .definition_at(name, moment, position.as_ref())?;
            let is_behind = position
                .zip(moment.gtid)
                .is_some_and(|(position, gtid)| !position.contains(gtid));
            match found {
                DefinitionLookup::Is(text) if !is_behind || !moment.has_changes => {
                    return Ok(declared_table(&text).map(Arc::new));
                }
                DefinitionLookup::Unknown if !is_behind => return Ok(None),
                _ => {}
            }
            if is_closed() {
                return Err(ChangeError::Gone);
            }
            std::thread::sleep(WAIT);
        }
        Ok(None)
    }

    /// Whether a filter may have renamed the table. Then the history knows the table by another name.
    fn is_renamed(&self, map: &TableMap) -> bool {
        let is = |name: &Option<String>, own: &str| {
            name.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(own))
        };
        let mut filters = self.filters.iter();
        filters.any(|it| is(&it.rename_schema, &map.schema) || is(&it.rename_table, &map.table))
    }
}
