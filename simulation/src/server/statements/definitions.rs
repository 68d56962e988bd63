//! CREATE, DROP, TRUNCATE: each commits what is open, and is a group of its own.

use std::rc::Rc;

use super::super::ast::{ColumnSpec, CreateTable, Definition, Name, TableName, WaitPolicy};
use super::super::diagnostics::Level;
use super::super::error::{SqlError, SqlResult};
use super::super::history::Change;
use super::super::locks::{Mode, Resource, Span};
use super::super::output::{Done, Outcome};
use super::super::session::Session;
use super::super::table::{Column, Shape, Table};
use super::super::value::Value;

impl Session {
    pub(super) async fn define(
        &mut self,
        definition: &Definition,
        text: &Rc<str>,
    ) -> SqlResult<Outcome> {
        let affected = match definition {
            Definition::CreateTable(create) if create.temporary => {
                self.create_temporary(create)?;
                0
            }
            Definition::CreateTable(create) => {
                self.begin_definition()?;
                self.create_table(create, text)?;
                0
            }
            Definition::DropTables {
                names,
                temporary,
                if_exists,
            } => {
                self.drop_tables(names, *temporary, *if_exists, text)
                    .await?;
                0
            }
            Definition::Truncate(name) => {
                self.truncate(name, text).await?;
                0
            }
            Definition::CreateSchema(name, if_not_exists) => {
                self.begin_definition()?;
                self.create_schema(name, *if_not_exists, text)?
            }
            Definition::DropSchema(name, if_exists) => {
                self.begin_definition()?;
                self.drop_schema(name, *if_exists, text)?
            }
        };
        Ok(Outcome::Done(Done {
            affected,
            ..Done::default()
        }))
    }

    fn begin_definition(&mut self) -> SqlResult<()> {
        self.commit_implicitly()?;
        self.check_write()?;
        match self.locked.has_read_lock {
            true => Err(self.family().read_lock()),
            false => Ok(()),
        }
    }

    /// Writes a change down as a group of its own.
    fn defined(&mut self, change: Change, text: &Rc<str>) {
        let statements = vec![Rc::clone(text)];
        let gtid = self
            .server
            .write_down(self.control.id, statements, vec![change]);
        self.tell_gtid(&gtid);
    }

    fn note(&mut self, error: &SqlError) {
        self.diagnostics
            .add(Level::Note, error.number, Rc::clone(&error.text));
    }

    fn create_table(&mut self, create: &CreateTable, text: &Rc<str>) -> SqlResult<()> {
        let family = self.family();
        let schema = self.schema_of(&create.name)?;
        if self.server.catalogue.schema(&schema).is_none() {
            return Err(family.unknown_schema(schema));
        }
        if self
            .server
            .catalogue
            .table(&schema, &create.name.name)
            .is_some()
        {
            let error = family.table_exists(&create.name.name);
            return match create.if_not_exists {
                true => {
                    self.note(&error);
                    Ok(())
                }
                false => Err(error),
            };
        }
        let shape = self.shape(create, schema)?;
        self.server.catalogue.put_table(shape.clone());
        self.defined(Change::CreateTable(shape), text);
        Ok(())
    }

    fn create_temporary(&mut self, create: &CreateTable) -> SqlResult<()> {
        let schema = self.schema_of(&create.name)?;
        if self.server.catalogue.schema(&schema).is_none() {
            return Err(self.family().unknown_schema(schema));
        }
        let name = (Rc::clone(&schema), Rc::clone(&create.name.name));
        if self.temporary.contains_key(&name) {
            let error = self.family().table_exists(&create.name.name);
            return match create.if_not_exists {
                true => {
                    self.note(&error);
                    Ok(())
                }
                false => Err(error),
            };
        }
        if !self.family().is_mariadb() {
            self.enter_tables();
        }
        let shape = self.shape(create, schema)?;
        let table = Table::new(self.server.catalogue.next_table(), shape);
        self.temporary.insert(name, Rc::new(table));
        self.tracker.changed();
        Ok(())
    }

    fn shape(&self, create: &CreateTable, schema: Name) -> SqlResult<Shape> {
        let family = self.family();
        let mut columns: Vec<Column> = Vec::with_capacity(create.columns.len());
        for spec in &create.columns {
            if columns
                .iter()
                .any(|it| it.name.eq_ignore_ascii_case(&spec.name))
            {
                return Err(family.same_column(&spec.name));
            }
            let is_key = create
                .primary_key
                .iter()
                .any(|it| it.eq_ignore_ascii_case(&spec.name));
            columns.push(column(spec, is_key));
        }
        let place = |name: &Name| {
            columns
                .iter()
                .position(|it| it.name.eq_ignore_ascii_case(name))
        };
        let mut key = Vec::with_capacity(create.primary_key.len());
        for name in &create.primary_key {
            let place = place(name).ok_or_else(|| {
                let text = format!("Key column '{name}' doesn't exist in table");
                SqlError::new(family, 1072, text)
            })?;
            key.push(place);
        }
        let is_numbered = |it: &usize| columns.get(*it).is_some_and(|it| it.auto_increment);
        if columns.iter().any(|it| it.auto_increment) && !key.first().is_some_and(is_numbered) {
            let text = "Incorrect table definition; there can be only one auto column and it must be defined as a key";
            return Err(SqlError::new(family, 1075, text));
        }
        Ok(Shape {
            schema,
            name: Rc::clone(&create.name.name),
            columns,
            key,
        })
    }

    async fn drop_tables(
        &mut self,
        names: &[TableName],
        temporary: bool,
        if_exists: bool,
        text: &Rc<str>,
    ) -> SqlResult<()> {
        let mut rest = Vec::with_capacity(names.len());
        let mut unknown = Vec::new();
        for name in names {
            let schema = self.schema_of(name)?;
            let key = (Rc::clone(&schema), Rc::clone(&name.name));
            if self.temporary.remove(&key).is_some() {
                self.tracker.changed();
            } else if temporary {
                unknown.push(format!("{schema}.{}", name.name));
            } else {
                rest.push((schema, Rc::clone(&name.name)));
            }
        }
        if !rest.is_empty() {
            self.begin_definition()?;
        }
        for (schema, name) in rest {
            let Some(table) = self.server.catalogue.table(&schema, &name) else {
                unknown.push(format!("{schema}.{name}"));
                continue;
            };
            self.lock_alone(&table).await?;
            if self.server.catalogue.drop_table(&schema, &name) {
                self.defined(Change::DropTable(schema, name), text);
            }
        }
        self.server
            .locks
            .release_all(self.control.id, Span::Transaction);
        if unknown.is_empty() {
            return Ok(());
        }
        let error = self.family().unknown_table(unknown.join(","));
        match if_exists {
            true => {
                self.note(&error);
                Ok(())
            }
            false => Err(error),
        }
    }

    /// Waits until nobody else uses a table.
    async fn lock_alone(&mut self, table: &Table) -> SqlResult<()> {
        let resource = Resource::Table(table.id);
        let span = Span::Transaction;
        self.lock(&resource, Mode::Exclusive, span, WaitPolicy::Wait)
            .await
            .map(drop)
    }

    async fn truncate(&mut self, name: &TableName, text: &Rc<str>) -> SqlResult<()> {
        let table = self.find_table(name)?;
        let shape = table.shape.clone();
        let key = (Rc::clone(&shape.schema), Rc::clone(&shape.name));
        if let Some(place) = self.temporary.get_mut(&key) {
            *place = Rc::new(Table::new(self.server.catalogue.next_table(), shape));
            return Ok(());
        }
        self.begin_definition()?;
        self.lock_alone(&table).await?;
        self.server.catalogue.put_table(shape.clone());
        self.defined(Change::CreateTable(shape), text);
        self.server
            .locks
            .release_all(self.control.id, Span::Transaction);
        Ok(())
    }

    /// Gives the number of rows that the family tells.
    fn create_schema(
        &mut self,
        name: &Name,
        if_not_exists: bool,
        text: &Rc<str>,
    ) -> SqlResult<u64> {
        if self.server.catalogue.create_schema(name) {
            self.defined(Change::CreateSchema(Rc::clone(name)), text);
            return Ok(1);
        }
        let message = format!("Can't create database '{name}'; database exists");
        let error = SqlError::new(self.family(), 1007, message);
        match if_not_exists {
            true => {
                self.note(&error);
                Ok(u64::from(!self.family().is_mariadb()))
            }
            false => Err(error),
        }
    }

    /// Gives the number of its tables.
    fn drop_schema(&mut self, name: &Name, if_exists: bool, text: &Rc<str>) -> SqlResult<u64> {
        if let Some(tables) = self.server.catalogue.drop_schema(name) {
            self.defined(Change::DropSchema(Rc::clone(name)), text);
            if self.schema().as_deref() == Some(&**name) {
                *self.control.schema.borrow_mut() = None;
                self.tracker.schema("");
            }
            return Ok(tables as u64);
        }
        let message = format!("Can't drop database '{name}'; database doesn't exist");
        let error = SqlError::new(self.family(), 1008, message);
        match if_exists {
            true => {
                self.note(&error);
                Ok(0)
            }
            false => Err(error),
        }
    }
}

fn column(spec: &ColumnSpec, is_key: bool) -> Column {
    let not_null = spec.not_null || is_key;
    let default = match &spec.default {
        Some(Value::Null) | None if !not_null => Some(Value::Null),
        Some(Value::Null) | None => None,
        Some(value) => Some(value.clone()),
    };
    Column {
        name: Rc::clone(&spec.name),
        kind: spec.kind,
        not_null,
        default,
        auto_increment: spec.auto_increment,
    }
}
