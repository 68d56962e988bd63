//! `pilotfish.rows`: functions of a script that see each row on its way to the client, change it or drop it.

use mlua::{Lua, Table, Value};
use wire::Capabilities;
use wire::column::ColumnDefinition;
use wire::result::TextRow;
use wire::write::put_lenenc_bytes;

use crate::binary_rows::read_binary;
use crate::scripts::Scripts;
use crate::values::Form;

/// The byte that stands for NULL in a row of the text protocol.
const NULL: u8 = 0xfb;

/// The functions for the rows of one command.
#[derive(Clone)]
pub struct Rows {
    scripts: Scripts,
    session: Table,
    functions: Table,
}

/// The functions for the rows of one result.
pub struct ResultRows {
    rows: Rows,
    fields: Table,
    forms: Vec<Form>,
    is_binary: bool,
}

impl Rows {
    pub(crate) fn new(scripts: Scripts, session: Table, functions: Table) -> Self {
        Self {
            scripts,
            session,
            functions,
        }
    }

    /// Begins a result with these definitions of columns.
    ///
    /// # Errors
    /// A definition is malformed.
    pub fn begin(
        &self,
        definitions: &[Vec<u8>],
        capabilities: Capabilities,
        is_binary: bool,
    ) -> Result<ResultRows, String> {
        let lua = self.scripts.lua();
        let fields = lua.create_table().map_err(|error| error.to_string())?;
        let mut forms = Vec::with_capacity(definitions.len());
        for payload in definitions {
            let column = ColumnDefinition::decode(payload, capabilities);
            let column = column.map_err(|error| format!("a column's definition: {error}"))?;
            forms.push(Form::of_column(&column));
            let field = crate::answer::field(lua, &column);
            let pushed = field.and_then(|field| fields.raw_push(field));
            pushed.map_err(|error| error.to_string())?;
        }
        Ok(ResultRows {
            rows: self.clone(),
            fields,
            forms,
            is_binary,
        })
    }
}

impl ResultRows {
    /// Rewrites a row by the functions; `None`: the row is dropped.
    ///
    /// # Errors
    /// A function has failed, or has returned no row; the error is logged.
    pub fn rewrite(&self, payload: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let Rows {
            scripts,
            session,
            functions,
        } = &self.rows;
        let rewritten = scripts.within(|lua| {
            let row = self.read(lua, payload)?;
            let rewrite = &scripts.functions().queries.rewrite_row;
            let arguments = (session, functions, row, &self.fields);
            let Some(row) = rewrite.call::<Option<Table>>(arguments)? else {
                return Ok(None);
            };
            self.put(&row).map(Some)
        });
        rewritten.map_err(|fault| {
            let line = format!("(rows) {fault}");
            scripts.log(crate::Level::Critical, &line);
            fault.message
        })
    }

    fn read(&self, lua: &Lua, payload: &[u8]) -> mlua::Result<Table> {
        let row = lua.create_table_with_capacity(self.forms.len(), 0)?;
        match self.is_binary {
            true => read_binary(lua, payload, &self.forms, &row)?,
            false => {
                for (at, value) in (1..=self.forms.len()).zip(TextRow::new(payload)) {
                    if let Some(value) = value.map_err(mlua::Error::external)? {
                        row.raw_set(at, lua.create_string(value)?)?;
                    }
                }
            }
        }
        Ok(row)
    }

    fn put(&self, row: &Table) -> mlua::Result<Vec<u8>> {
        let mut values = Vec::with_capacity(self.forms.len());
        for at in 1..=self.forms.len() {
            values.push(row.raw_get::<Value>(at)?);
        }
        let mut out = Vec::new();
        if self.is_binary {
            wire::result::put_binary_header(&mut out, values.iter().map(Value::is_nil));
        }
        for (at, (value, form)) in values.iter().zip(&self.forms).enumerate() {
            let put = match (value, self.is_binary) {
                (Value::Nil, true) => Ok(()),
                (Value::Nil, false) => {
                    out.push(NULL);
                    Ok(())
                }
                (value, true) => form.put(&mut out, value),
                (value, false) => {
                    crate::values::text_of(value).map(|text| put_lenenc_bytes(&mut out, &text))
                }
            };
            put.map_err(|cause| mlua::Error::runtime(format!("value {}: {cause}", at + 1)))?;
        }
        Ok(out)
    }
}
