//! A backend's reply to an injected command, kept for `read_query_result`: its fields, its rows, its
//! first packet.
//!
//! The bytes are not trusted: a payload that cannot be decoded ends the rows with an error.

use mlua::{Lua, Table, UserData, Value};
use wire::column::ColumnDefinition;
use wire::reply::{EOF, EOF_BYTES_LIMIT, ERR, LOCAL_INFILE, OK, OkPacket, eof_status};
use wire::{Capabilities, ErrPacket, HEADER_BYTES, Reader, StatusFlags};

use crate::binary_rows::read_binary;
use crate::payloads::Payloads;
use crate::values::Form;

/// The byte that stands for NULL in a row.
const NULL: u8 = 0xfb;

/// The payloads of one reply, in order.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    payloads: Payloads,
    columns: usize,
    /// The forms of the columns' values, if the rows are in the binary protocol.
    forms: Option<Vec<Form>>,
}

impl UserData for Answer {}

impl Answer {
    /// An answer from a whole reply, without the packets' headers.
    pub fn new(payloads: Payloads) -> Self {
        let columns = payloads.at(0).map(columns_of).unwrap_or_default();
        // The count may be wrong: there are no more columns than definitions.
        let columns = columns.min(payloads.len().saturating_sub(1));
        Self {
            payloads,
            columns,
            forms: None,
        }
    }

    /// An answer from a reply to COM_STMT_EXECUTE, whose rows are in the binary protocol.
    pub fn of_execution(payloads: Payloads) -> Self {
        let answer = Self::new(payloads);
        let definitions = (1..=answer.columns).filter_map(|at| answer.payloads.at(at));
        let columns = definitions
            .map(|it| ColumnDefinition::decode(it, Capabilities::default()))
            .map_while(Result::ok);
        let forms = columns.map(|column| Form::of_column(&column)).collect();
        Self {
            forms: Some(forms),
            ..answer
        }
    }

    /// The reply's payloads.
    pub fn payloads(&self) -> &Payloads {
        &self.payloads
    }

    /// The index of the first row's payload; `None` if the reply is no result set.
    pub(crate) fn first_row(&self) -> Option<usize> {
        // The count, the definitions, the EOF.
        (self.columns > 0).then_some(self.columns + 2)
    }

    /// The number of rows of all results, and the bytes of their packets, including headers.
    pub fn rows_and_bytes(&self) -> (u64, u64) {
        let (mut rows, mut bytes) = (0, 0);
        let mut at = 0;
        while let Some(head) = self.payloads.at(at) {
            let columns = columns_of(head);
            let mut end = head;
            if columns > 0 {
                // The count, the definitions, the EOF.
                at = at.saturating_add(columns).saturating_add(2);
                let mut left = (at..).map_while(|at| self.payloads.at(at));
                end = loop {
                    match left.next() {
                        Some(payload) if !is_end(payload) => {
                            rows += 1;
                            bytes += (payload.len() + HEADER_BYTES) as u64;
                            at += 1;
                        }
                        Some(payload) => break payload,
                        None => return (rows, bytes),
                    }
                };
            }
            at += 1;
            if !is_followed(end) {
                break;
            }
        }
        (rows, bytes)
    }

    pub(crate) fn raw(&self) -> &[u8] {
        self.payloads.at(0).unwrap_or_default()
    }

    /// The ERR that is the reply, or that has ended its rows: text, number, SQLSTATE.
    pub(crate) fn error(&self, lua: &Lua) -> mlua::Result<(Value, Option<u16>, Value)> {
        let first = self.payloads.at(0).into_iter();
        let rows = self.first_row().into_iter().flat_map(|first| first..);
        let rows = rows.map_while(|at| self.payloads.at(at));
        let end = rows.skip_while(|payload| !is_end(payload)).take(1);
        let found = first.chain(end).find_map(|it| ErrPacket::decode(it).ok());
        let Some(error) = found else {
            return Ok((Value::Nil, None, Value::Nil));
        };
        let text = lua.create_string(error.text)?;
        let sqlstate = lua.create_string(error.sqlstate.unwrap_or(*b"HY000"))?;
        Ok((
            Value::String(text),
            Some(error.number),
            Value::String(sqlstate),
        ))
    }

    /// The columns, each with its names and its type.
    pub(crate) fn fields(&self, lua: &Lua) -> mlua::Result<Table> {
        let fields = lua.create_table_with_capacity(self.columns, 0)?;
        for at in 1..=self.columns {
            let payload = self.payloads.at(at).unwrap_or_default();
            let column = ColumnDefinition::decode(payload, Capabilities::default())
                .map_err(|error| mlua::Error::runtime(format!("field {at}: {error}")))?;
            fields.raw_push(field(lua, &column)?)?;
        }
        Ok(fields)
    }

    /// The row at a position, and the position of the next row; `nil` after the last row.
    pub(crate) fn row(&self, lua: &Lua, at: usize) -> mlua::Result<(Option<usize>, Value)> {
        let Some(payload) = self.payloads.at(at) else {
            return Ok((None, Value::Nil));
        };
        if is_end(payload) {
            return Ok((None, Value::Nil));
        }
        let row = lua.create_table_with_capacity(self.columns, 0)?;
        if let Some(forms) = &self.forms {
            read_binary(lua, payload, forms, &row)?;
            return Ok((Some(at + 1), Value::Table(row)));
        }
        let mut reader = Reader::new(payload);
        for column in 1..=self.columns {
            if reader.rest().first() == Some(&NULL) {
                let _ = reader.u8("NULL");
                continue;
            }
            let value = reader
                .lenenc_bytes("value")
                .map_err(|_| mlua::Error::runtime("row-data is invalid"))?;
            row.raw_set(column, lua.create_string(value)?)?;
        }
        Ok((Some(at + 1), Value::Table(row)))
    }
}

/// A column as scripts see it.
pub(crate) fn field(lua: &Lua, column: &ColumnDefinition<'_>) -> mlua::Result<Table> {
    let field = lua.create_table_with_capacity(0, 5)?;
    field.raw_set("name", lua.create_string(column.name)?)?;
    field.raw_set("org_name", lua.create_string(column.name_original)?)?;
    field.raw_set("table", lua.create_string(column.table)?)?;
    field.raw_set("org_table", lua.create_string(column.table_original)?)?;
    field.raw_set("type", column.kind.0)?;
    Ok(field)
}

/// How many columns follow a reply's first payload.
fn columns_of(first: &[u8]) -> usize {
    match first.first() {
        None | Some(&(OK | ERR | LOCAL_INFILE)) => 0,
        // The reply to COM_STATISTICS is a text, not a column count.
        _ => {
            let mut reader = Reader::new(first);
            let columns = reader.lenenc("column count").unwrap_or_default();
            match reader.is_empty() {
                true => usize::try_from(columns).unwrap_or_default(),
                false => 0,
            }
        }
    }
}

/// Whether another result follows this OK or EOF.
fn is_followed(end: &[u8]) -> bool {
    let status = match end.first() {
        Some(&OK) => OkPacket::decode(end).ok().map(|ok| ok.status),
        Some(&EOF) => eof_status(end).ok(),
        _ => None,
    };
    status.is_some_and(|status| status.contains(StatusFlags::MORE_RESULTS_EXISTS))
}

fn is_end(payload: &[u8]) -> bool {
    match payload.first() {
        None => true,
        Some(&ERR) => true,
        Some(&EOF) => payload.len() < EOF_BYTES_LIMIT,
        _ => false,
    }
}
