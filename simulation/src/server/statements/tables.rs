//! Tables by their names, and the locks of whole tables.

use std::rc::Rc;

use super::super::ast::{Access, Name, TableLock, TableName, WaitPolicy};
use super::super::error::{SqlError, SqlResult};
use super::super::locks::{Mode, Resource, Span};
use super::super::output::Outcome;
use super::super::session::Session;
use super::super::table::Table;

/// What a statement does to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It reads.
    Read,
    /// It reads and locks what it reads.
    ReadAndLock,
    /// It writes.
    Write,
}

impl Session {
    /// The schema that a table's name means.
    ///
    /// # Errors
    /// 1046.
    pub fn schema_of(&self, name: &TableName) -> SqlResult<Name> {
        match &name.schema {
            Some(schema) => Ok(Rc::clone(schema)),
            None => self.schema().ok_or_else(|| self.family().no_schema()),
        }
    }

    /// A table by its name: a temporary one hides one that everybody sees.
    ///
    /// # Errors
    /// 1046, 1146.
    pub fn find_table(&self, name: &TableName) -> SqlResult<Rc<Table>> {
        let schema = self.schema_of(name)?;
        if !self.temporary.is_empty()
            && let Some(table) = self.temporary_table(&schema, &name.name)
        {
            return Ok(table);
        }
        let catalogue = &self.server.catalogue;
        let found = catalogue.table(&schema, &name.name);
        found.ok_or_else(|| {
            match self.family().is_mariadb() || catalogue.schema(&schema).is_some() {
                true => self.family().no_such_table(schema, &name.name),
                false => self.family().unknown_schema(schema),
            }
        })
    }

    /// A temporary table.
    pub fn temporary_table(&self, schema: &Name, name: &Name) -> Option<Rc<Table>> {
        let key = (Rc::clone(schema), Rc::clone(name));
        self.temporary.get(&key).cloned()
    }

    /// Whether a name is that of a temporary table.
    pub fn is_temporary_name(&self, name: &TableName) -> bool {
        let found = self.find_table(name);
        found.is_ok_and(|table| self.is_temporary(&table))
    }

    /// Whether a table is this session's alone.
    pub fn is_temporary(&self, table: &Table) -> bool {
        !self.temporary.is_empty() && self.temporary.values().any(|it| it.id == table.id)
    }

    /// A table that a statement uses, with what has to be checked and locked before.
    ///
    /// # Errors
    /// 1046, 1099, 1100, 1146, 1205, 1223, 1290, 1792.
    pub async fn open_table(&mut self, name: &TableName, how: Use) -> SqlResult<Rc<Table>> {
        let table = self.find_table(name)?;
        let is_temporary = self.is_temporary(&table);
        if !is_temporary {
            self.check_locked(&table, how)?;
        }
        if how == Use::Write && !is_temporary {
            self.check_write()?;
        }
        self.enter_tables();
        if how == Use::ReadAndLock && self.transaction.access == Access::ReadOnly {
            return Err(self.read_only_transaction());
        }
        if is_temporary {
            return Ok(table);
        }
        self.note_use(how);
        self.lock_definition(&table, how).await?;
        // It may have been dropped meanwhile.
        let same = self.find_table(name)?;
        Ok(same)
    }

    /// Whether LOCK TABLES lets a statement use a table.
    fn check_locked(&self, table: &Table, how: Use) -> SqlResult<()> {
        let family = self.family();
        if self.locked.has_read_lock && how == Use::Write {
            return Err(family.read_lock());
        }
        if !self.locked.is_locked {
            return Ok(());
        }
        let name = &table.shape.name;
        match self.locked.tables.get(&table.id) {
            None => Err(family.not_locked(name)),
            Some(TableLock::Read) if how == Use::Write => Err(family.not_locked_for_write(name)),
            Some(_) => Ok(()),
        }
    }

    /// Whether the transaction and the server take writes.
    ///
    /// # Errors
    /// 1290, 1792.
    pub fn check_write(&self) -> SqlResult<()> {
        let transaction = &self.transaction;
        let access = match transaction.is_open() {
            true => transaction.access,
            false => transaction.next.1.unwrap_or(self.settings.access),
        };
        self.server.check_read_only(self.is_administrator())?;
        match access {
            Access::ReadOnly => Err(self.read_only_transaction()),
            Access::ReadWrite => Ok(()),
        }
    }

    fn read_only_transaction(&self) -> SqlError {
        let family = self.family();
        family.read_only_transaction(if family.is_mariadb() { "" } else { "." })
    }

    fn note_use(&mut self, how: Use) {
        if !self.transaction.is_open() {
            return;
        }
        let state = &mut self.tracker.state;
        match how {
            Use::Read => state.has_read = true,
            Use::ReadAndLock | Use::Write => state.has_written = true,
        }
    }

    /// Keeps a table from being changed by others while it is used.
    async fn lock_definition(&mut self, table: &Table, how: Use) -> SqlResult<()> {
        let resource = Resource::Table(table.id);
        let mode = match how {
            Use::Read => Mode::Read,
            Use::ReadAndLock | Use::Write => Mode::Write,
        };
        let id = self.control.id;
        let is_short = how == Use::Read && !self.transaction.is_open();
        if is_short && self.server.locks.is_free(id, &resource, mode) {
            return Ok(());
        }
        if how == Use::Write {
            self.lock(
                &Resource::Everything,
                Mode::Write,
                Span::Transaction,
                WaitPolicy::Wait,
            )
            .await?;
        }
        self.lock(&resource, mode, Span::Transaction, WaitPolicy::Wait)
            .await?;
        Ok(())
    }

    /// LOCK TABLES: ends a transaction, and takes the locks of before back.
    pub(super) async fn lock_tables(
        &mut self,
        tables: &[(TableName, TableLock)],
    ) -> SqlResult<Outcome> {
        self.commit();
        self.release_tables();
        let mut found = Vec::with_capacity(tables.len());
        for (name, lock) in tables {
            found.push((self.find_table(name)?, *lock));
        }
        if found.iter().any(|it| it.1 == TableLock::Write) {
            self.check_write()?;
        }
        for (table, lock) in &found {
            let mode = match lock {
                TableLock::Read => Mode::Keep,
                TableLock::Write => Mode::Exclusive,
            };
            let resource = Resource::Table(table.id);
            let locked = self
                .lock(&resource, mode, Span::Tables, WaitPolicy::Wait)
                .await;
            if let Err(error) = locked {
                self.release_tables();
                return Err(error);
            }
        }
        self.locked.tables = found
            .iter()
            .map(|(table, lock)| (table.id, *lock))
            .collect();
        self.locked.is_locked = true;
        self.tracker.state.is_locked = true;
        Ok(Outcome::done())
    }

    /// UNLOCK TABLES: ends a transaction if LOCK TABLES was in force.
    pub(super) fn unlock_tables(&mut self) -> SqlResult<Outcome> {
        if self.locked.is_locked {
            self.commit();
        }
        self.release_tables();
        Ok(Outcome::done())
    }

    /// Takes all locks of tables back.
    pub fn release_tables(&mut self) {
        self.server.locks.release_all(self.control.id, Span::Tables);
        self.locked = Default::default();
        self.tracker.state.is_locked = false;
    }

    /// FLUSH TABLES WITH READ LOCK.
    pub(super) async fn read_lock(&mut self) -> SqlResult<Outcome> {
        self.commit();
        self.lock(
            &Resource::Everything,
            Mode::Keep,
            Span::Tables,
            WaitPolicy::Wait,
        )
        .await?;
        self.locked.has_read_lock = true;
        Ok(Outcome::done())
    }
}
