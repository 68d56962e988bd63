//! The script of a filter. Its function `on_change(change)` is called for each changed row, and for each statement
//! that changes objects. The function drops the change, edits it, or lets it pass.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use binlog::{
    Column, EditedRows, EventHeader, ImageEdit, Limits, Row, RowChange, RowFate, RowsEvent,
    RowsKind, TableMap, Value,
};
use config::{FilteredChange, ScriptConfig};
use script::mlua::{self, Function, Lua, Table, Value as LuaValue};
use system::Clock;

use super::error::FilterError;
use crate::position::Gtid;
use crate::script_file::ScriptFile;

/// The function that is called.
const FUNCTION: &str = "on_change";

/// Lua's numbers represent all integers up to this one exactly.
const NUMBER_MAX: u64 = 1 << 53;

/// A script, and the interpreter that runs it.
pub struct FilterScript {
    file: PathBuf,
    script: ScriptFile,
}

/// The event that contains a change.
#[derive(Debug, Clone, Copy)]
pub struct ScriptEvent<'a> {
    /// The event's header.
    pub header: &'a EventHeader,
    /// The GTID of the transaction.
    pub gtid: &'a Gtid,
}

/// A statement that changes objects.
#[derive(Debug, Clone, Copy)]
pub struct ScriptStatement<'a> {
    /// The kind of change.
    pub change: FilteredChange,
    /// The objects: schema and name.
    pub objects: &'a [(String, String)],
    /// The statement's text.
    pub text: &'a str,
}

/// The script's decision about a statement.
#[derive(Debug, PartialEq, Eq)]
pub enum StatementVerdict {
    /// The statement passes unchanged.
    Pass,
    /// The statement is dropped.
    Drop,
    /// The statement passes with this text.
    Text(String),
}

/// A table whose rows go through a script.
pub struct ScriptTable {
    script: Arc<FilterScript>,
    table: Arc<TableMap>,
    /// The index of each column, by its name.
    columns: HashMap<Vec<u8>, usize>,
}

impl FilterScript {
    /// Creates a script. [`Self::load`] reads its file.
    ///
    /// # Errors
    /// The Lua interpreter cannot be created.
    pub fn new(file: PathBuf, settings: &ScriptConfig, clock: &Clock) -> Result<Self, FilterError> {
        let script = ScriptFile::new(settings, clock);
        let script = script.map_err(|text| FilterError::Script {
            file: file.clone(),
            text,
        })?;
        Ok(Self { file, script })
    }

    /// Reads the file if it has changed.
    ///
    /// # Errors
    /// The file is not a script with that function.
    pub fn load(&self) -> Result<(), FilterError> {
        let loaded = self.script.load(&self.file, FUNCTION);
        loaded.map_err(|text| self.fault(text))
    }

    /// Calls the script for a statement.
    ///
    /// # Errors
    /// The script fails.
    pub fn statement(
        &self,
        event: ScriptEvent<'_>,
        statement: ScriptStatement<'_>,
    ) -> Result<StatementVerdict, FilterError> {
        let called = self.script.call(FUNCTION, |lua, function| {
            let kind = statement.change.to_string();
            let first = statement.objects.first();
            let (schema, name) = first.map_or(("", ""), |(schema, name)| (schema, name));
            let change = event.table(lua, &kind, (schema, name))?;
            change.raw_set("statement", statement.text)?;
            let objects = statement.objects.iter().map(|(a, b)| qualified(a, b));
            let objects: Vec<String> = objects.filter(|it| !it.is_empty()).collect();
            change.raw_set("objects", objects)?;
            if is_dropped(function, &change)? {
                return Ok(StatementVerdict::Drop);
            }
            match change.raw_get("statement")? {
                LuaValue::String(text) => {
                    let text = text.to_string_lossy().to_string();
                    Ok(match text == statement.text {
                        true => StatementVerdict::Pass,
                        false => StatementVerdict::Text(text),
                    })
                }
                other => Err(fault(format!(
                    "change.statement is a {}",
                    other.type_name()
                ))),
            }
        });
        called.map_err(|text| self.fault(text))
    }

    fn fault(&self, text: String) -> FilterError {
        FilterError::Script {
            file: self.file.clone(),
            text,
        }
    }
}

impl ScriptTable {
    /// Prepares a table of the log for the script.
    ///
    /// # Errors
    /// The server sends no names of columns.
    pub fn new(script: Arc<FilterScript>, table: Arc<TableMap>) -> Result<Self, FilterError> {
        if !table.has_names() {
            return Err(FilterError::NoNames(qualified(&table.schema, &table.table)));
        }
        let names = table.columns.iter().enumerate();
        let names = names.filter_map(|(index, it)| Some((it.name.clone()?.into_bytes(), index)));
        Ok(Self {
            columns: names.collect(),
            script,
            table,
        })
    }

    /// Calls the script for each row of an event, and returns the edited rows.
    ///
    /// # Errors
    /// The event is damaged, the script fails, or a column cannot hold a new value.
    pub fn edit(
        &self,
        event: ScriptEvent<'_>,
        rows: &RowsEvent<'_>,
        limits: Limits,
    ) -> Result<EditedRows, FilterError> {
        rows.edit(&self.table, limits, |row| {
            let kind = rows.kind;
            let called = self.script.script.call(FUNCTION, |lua, function| {
                self.row(lua, function, (event, kind), row)
            });
            called.map_err(|text| self.script.fault(text))
        })
    }

    fn row(
        &self,
        lua: &Lua,
        function: &Function,
        (event, kind): (ScriptEvent<'_>, RowsKind),
        row: &RowChange<'_>,
    ) -> mlua::Result<RowFate> {
        let change = match kind {
            RowsKind::Write => FilteredChange::Insert,
            RowsKind::Update | RowsKind::PartialUpdate => FilteredChange::Update,
            RowsKind::Delete => FilteredChange::Delete,
        };
        let name = (self.table.schema.as_str(), self.table.table.as_str());
        let change = event.table(lua, &change.to_string(), name)?;
        for (key, image) in images(row) {
            if let Some(image) = image {
                change.raw_set(key, self.image(lua, image)?)?;
            }
        }
        if is_dropped(function, &change)? {
            return Ok(RowFate::Drop);
        }
        let [before, after] = images(row).map(|(key, image)| match image {
            None => Ok(ImageEdit::new()),
            Some(image) => match change.raw_get(key)? {
                LuaValue::Table(values) => self.edited(key, &values, image),
                other => Err(fault(format!("change.{key} is a {}", other.type_name()))),
            },
        });
        Ok(RowFate::Change {
            before: before?,
            after: after?,
        })
    }

    /// Returns a Lua table with the values of a row image, by column name. NULL becomes nil.
    fn image(&self, lua: &Lua, image: &Row<'_>) -> mlua::Result<Table> {
        let values = lua.create_table()?;
        for (column, value) in self.table.columns.iter().zip(&image.values) {
            let Some(value) = value else { continue };
            if matches!(value, Value::JsonChanges(_)) {
                return Err(fault(format!(
                    "column \"{}\" changes in part; set binlog_row_value_options = '' on the server",
                    name_of(column)
                )));
            }
            let value = lua_value(lua, value)?;
            values.raw_set(name_of(column), value)?;
        }
        Ok(values)
    }

    /// Returns the columns whose values the script has changed.
    fn edited(&self, key: &str, values: &Table, image: &Row<'_>) -> mlua::Result<ImageEdit> {
        let mut edit = ImageEdit::new();
        for (index, column) in self.table.columns.iter().enumerate() {
            let Some(Some(old)) = image.values.get(index) else {
                continue;
            };
            let name = name_of(column);
            let refused =
                |reason: &str| fault(format!("change.{key}.{name} cannot be so: {reason}"));
            let new = text_of(&values.raw_get(name)?).map_err(|reason| refused(&reason))?;
            if new.as_deref() == old.to_bytes().as_deref() {
                continue;
            }
            let Some(new) = new else {
                if !column.is_nullable {
                    return Err(refused("the column is NOT NULL"));
                }
                edit.push((index, None));
                continue;
            };
            let mut bytes = Vec::new();
            let put = column.put_value(&mut bytes, &new);
            put.map_err(refused)?;
            edit.push((index, Some(bytes)));
        }
        self.check_names(key, values, image)?;
        Ok(edit)
    }

    /// Fails if the script has set a column that does not exist: that may be a misspelt name of a column to mask.
    fn check_names(&self, key: &str, values: &Table, image: &Row<'_>) -> mlua::Result<()> {
        for pair in values.pairs::<LuaValue, LuaValue>() {
            let (name, _) = pair?;
            let bytes = match &name {
                LuaValue::String(name) => name.as_bytes().to_vec(),
                other => other.to_string()?.into_bytes(),
            };
            let index = self.columns.get(&bytes);
            let has = |index: &usize| image.values.get(*index).is_some_and(Option::is_some);
            let shown = String::from_utf8_lossy(&bytes);
            let table = qualified(&self.table.schema, &self.table.table);
            match index {
                None => {
                    let text = format!("change.{key}.{shown}: table {table} has no such column");
                    return Err(fault(text));
                }
                Some(index) if !has(index) => {
                    let text = format!(
                        "change.{key}.{shown}: the binary log does not have this column of the row"
                    );
                    return Err(fault(text));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

impl ScriptEvent<'_> {
    /// Returns a Lua table with the fields that all changes have.
    fn table(&self, lua: &Lua, kind: &str, (schema, name): (&str, &str)) -> mlua::Result<Table> {
        let change = lua.create_table()?;
        change.raw_set("type", kind)?;
        change.raw_set("schema", schema)?;
        change.raw_set("table", name)?;
        change.raw_set("time", f64::from(self.header.time))?;
        change.raw_set("server_id", f64::from(self.header.server_id))?;
        change.raw_set("gtid", self.gtid.to_string())?;
        Ok(change)
    }
}

fn images<'r, 'a>(row: &'r RowChange<'a>) -> [(&'static str, Option<&'r Row<'a>>); 2] {
    [
        ("before", row.before.as_ref()),
        ("after", row.after.as_ref()),
    ]
}

/// Calls the function. Returns whether the function drops the change.
fn is_dropped(function: &Function, change: &Table) -> mlua::Result<bool> {
    match function.call(change)? {
        LuaValue::Nil | LuaValue::Boolean(true) => Ok(false),
        LuaValue::Boolean(false) => Ok(true),
        other => Err(fault(format!(
            "{FUNCTION} has returned a {}; it returns false to drop the change, and nothing to keep it",
            other.type_name()
        ))),
    }
}

fn fault(text: String) -> mlua::Error {
    mlua::Error::RuntimeError(text)
}

fn name_of(column: &Column) -> &str {
    column.name.as_deref().unwrap_or_default()
}

fn qualified(schema: &str, name: &str) -> String {
    match name.is_empty() {
        true => schema.to_owned(),
        false => format!("{schema}.{name}"),
    }
}

/// Turns a value into a Lua number if that loses nothing, otherwise into a Lua string.
fn lua_value(lua: &Lua, value: &Value<'_>) -> mlua::Result<LuaValue> {
    let Some(bytes) = value.to_bytes() else {
        return Ok(LuaValue::Nil);
    };
    let is_number = match value {
        Value::Signed(number) | Value::SignUnknown { signed: number, .. } => {
            number.unsigned_abs() <= NUMBER_MAX
        }
        Value::Unsigned(number) | Value::Bits(number, _) => *number <= NUMBER_MAX,
        Value::Float(_) | Value::Double(_) => true,
        _ => false,
    };
    let number = str::from_utf8(&bytes).ok().and_then(|it| it.parse().ok());
    match number.filter(|_| is_number) {
        Some(number) => Ok(LuaValue::Number(number)),
        None => Ok(LuaValue::String(lua.create_string(&*bytes)?)),
    }
}

/// Turns a script's value into the text that a column takes.
fn text_of(value: &LuaValue) -> Result<Option<Vec<u8>>, String> {
    Ok(Some(match value {
        LuaValue::Nil => return Ok(None),
        LuaValue::String(text) => text.as_bytes().to_vec(),
        LuaValue::Integer(number) => number.to_string().into_bytes(),
        LuaValue::Number(number) => number.to_string().into_bytes(),
        LuaValue::Boolean(is) => vec![b'0' + u8::from(*is)],
        other => return Err(format!("a {} is no value", other.type_name())),
    }))
}
