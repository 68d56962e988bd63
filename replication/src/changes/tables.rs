//! The tables of row events with all that their rows need: as the server sends them, or by the schema history.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use binlog::TableMap;
use config::ReplicationFilterConfig;
use route::Family;

use super::columns::{DeclaredTable, complete, declared_table, is_complete, may_have_native};
use super::error::ChangeError;
use super::history::{DefinitionLookup, History, Moment};

/// The most tables whose columns are remembered.
const TABLES_MAX: usize = 10_000;

/// How long, and how often, the history is waited for.
const WAIT: Duration = Duration::from_millis(100);
const WAITS_MAX: u32 = 300;

/// What is known of tables.
pub struct TableCache {
    history: History,
    filters: Vec<ReplicationFilterConfig>,
    /// By schema and name; none if the history does not know the table. DDL empties it.
    declared: HashMap<(String, String), Option<Arc<DeclaredTable>>>,
}

impl TableCache {
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
    /// Neither the server nor the history tells them; `is_closed` says that nobody waits for them any more.
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

    /// The table, whose names the server has sent, with the types that the server does not tell from bytes, if the
    /// history knows them. Without them the values are told as bytes.
    fn with_natives(
        &mut self,
        map: &Arc<TableMap>,
        moment: Moment<'_>,
        is_closed: &dyn Fn() -> bool,
    ) -> Result<Arc<TableMap>, ChangeError> {
        let known = self.by_history(map, moment, is_closed)?;
        Ok(known.unwrap_or_else(|| Arc::clone(map)))
    }

    /// The table by its definition; none if the history has none that fits.
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

    /// The columns by the history. It may be behind the relay within one transaction (CREATE TABLE … SELECT), because
    /// the stream asks the server after it has written the transaction.
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

    /// Whether a filter may have given the table its name: then the history knows it by another one.
    fn is_renamed(&self, map: &TableMap) -> bool {
        let is = |name: &Option<String>, own: &str| {
            name.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(own))
        };
        let mut filters = self.filters.iter();
        filters.any(|it| is(&it.rename_schema, &map.schema) || is(&it.rename_table, &map.table))
    }
}
