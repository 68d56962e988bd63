//! `proxy.response`: a script's answer instead of a server's.
//!
//! It uses the text protocol without DEPRECATE_EOF and without any newer flag: sessions with a script
//! negotiate only that.

use mlua::{Lua, Table, Value};
use wire::column::{ColumnDefinition, ColumnType};
use wire::reply::{OkPacket, put_eof};
use wire::write::{put_lenenc, put_lenenc_bytes};
use wire::{Capabilities, ErrPacket, StatusFlags};

use crate::arguments::type_name;
use crate::budget::Budget;
use crate::payloads::Payloads;

/// `proxy.response.type`.
const MYSQLD_PACKET_OK: f64 = 0.0;
const MYSQLD_PACKET_ERR: f64 = 255.0;
const MYSQLD_PACKET_RAW: f64 = 250.0;
/// The longest text of an ERR.
const ERRMSG_BYTES_MAX: usize = 512;
/// The byte that stands for NULL in a row.
const NULL: u8 = 0xfb;
/// latin1_swedish_ci, which MySQL Proxy sends for every column.
const COLLATION: u16 = 8;
const COLUMN_LENGTH: u32 = 32;
const PRI_KEY: u16 = 2;
const STRING: u8 = 254;
/// The most columns that a server sends (`MAX_FIELDS`).
const COLUMNS_MAX: usize = 4096;
const ER_UNKNOWN: u16 = 1105;
const SQLSTATE: [u8; 5] = *b"07000";

/// The answer's payloads, and warnings about values that were replaced by defaults.
///
/// # Errors
/// What is wrong in `proxy.response`, in words for the log.
pub(crate) fn encode(
    lua: &Lua,
    response: &Value,
    budget: &Budget,
) -> Result<(Payloads, Vec<String>), String> {
    let mut warnings = Vec::new();
    let payloads = put(lua, response, budget, &mut warnings)?;
    Ok((payloads, warnings))
}

/// Checks the budget: the answer counts as the script's memory, and making it as the script's time.
fn check(lua: &Lua, budget: &Budget, bytes: usize) -> Result<(), String> {
    budget.check(lua, bytes).map_err(|error| error.to_string())
}

fn put(
    lua: &Lua,
    response: &Value,
    budget: &Budget,
    warnings: &mut Vec<String>,
) -> Result<Payloads, String> {
    let response = match response {
        // The script has not used it so far: then it is an empty table.
        Value::Nil => &Value::Table(lua.create_table().map_err(|error| error.to_string())?),
        given => given,
    };
    let Value::Table(response) = response else {
        let found = type_name(response);
        return Err(format!("proxy.response has to be a table, is a {found}"));
    };
    let kind = number(lua, response, "type")?.ok_or("proxy.response.type is nil")?;
    let mut payloads = Payloads::default();
    if kind == MYSQLD_PACKET_OK {
        ok(lua, response, budget, &mut payloads, warnings)?;
    } else if kind == MYSQLD_PACKET_ERR {
        err(lua, response, &mut payloads)?;
    } else if kind == MYSQLD_PACKET_RAW {
        raw(lua, response, budget, &mut payloads)?;
    } else {
        return Err(format!(
            "proxy.response.type is {kind}; it is one of proxy.MYSQLD_PACKET_OK, _ERR and _RAW"
        ));
    }
    Ok(payloads)
}

/// An ERR packet's payload, with MySQL Proxy's number and SQLSTATE.
pub fn err_payload(text: &str) -> Vec<u8> {
    let mut payload = Vec::new();
    ErrPacket {
        number: ER_UNKNOWN,
        sqlstate: Some(SQLSTATE),
        text: text.as_bytes(),
    }
    .encode(&mut payload);
    payload
}

fn ok(
    lua: &Lua,
    response: &Table,
    budget: &Budget,
    payloads: &mut Payloads,
    warnings: &mut Vec<String>,
) -> Result<(), String> {
    if let Value::Table(resultset) = get(response, "resultset")? {
        return rows(lua, &resultset, budget, payloads, warnings);
    }
    let count = |key| -> Result<u64, String> {
        // A number that is too large becomes the largest possible.
        Ok(number(lua, response, key)?.unwrap_or_default() as u64)
    };
    let ok = OkPacket {
        affected_rows: count("affected_rows")?,
        last_insert_id: count("insert_id")?,
        status: StatusFlags::AUTOCOMMIT,
        warnings: 0,
    };
    payloads.put(|out| {
        out.push(wire::reply::OK);
        put_lenenc(out, ok.affected_rows);
        put_lenenc(out, ok.last_insert_id);
        out.extend_from_slice(&ok.status.0.to_le_bytes());
        out.extend_from_slice(&ok.warnings.to_le_bytes());
    });
    Ok(())
}

fn err(lua: &Lua, response: &Table, payloads: &mut Payloads) -> Result<(), String> {
    let code = number(lua, response, "errcode")?.unwrap_or_else(|| f64::from(ER_UNKNOWN));
    let mut sqlstate = SQLSTATE;
    if let Some(given) = text(lua, response, "sqlstate")? {
        sqlstate = [b' '; 5];
        for (to, from) in sqlstate.iter_mut().zip(given) {
            *to = from;
        }
    }
    let message = text(lua, response, "errmsg")?
        .unwrap_or_else(|| b"(lua) proxy.response.errmsg is nil".to_vec());
    let message = &message[..message.len().min(ERRMSG_BYTES_MAX)];
    payloads.put(|out| {
        ErrPacket {
            // Only the low 16 bits go to the client, as in MySQL Proxy.
            number: code as i64 as u16,
            sqlstate: Some(sqlstate),
            text: message,
        }
        .encode(out);
    });
    Ok(())
}

fn raw(
    lua: &Lua,
    response: &Table,
    budget: &Budget,
    payloads: &mut Payloads,
) -> Result<(), String> {
    let Value::Table(packets) = get(response, "packets")? else {
        return Err("proxy.response.packets has to be a table".to_owned());
    };
    for packet in packets.sequence_values::<Value>() {
        let packet = packet.map_err(|error| error.to_string())?;
        let at = payloads.len() + 1;
        let bytes = coerced(lua, packet)
            .ok_or_else(|| format!("proxy.response.packets[{at}] has to be a string"))?;
        check(lua, budget, taken(payloads) + bytes.len())?;
        payloads.put(|out| out.extend_from_slice(&bytes));
    }
    match payloads.is_empty() {
        true => Err("proxy.response.packets is empty".to_owned()),
        false => Ok(()),
    }
}

fn rows(
    lua: &Lua,
    resultset: &Table,
    budget: &Budget,
    payloads: &mut Payloads,
    warnings: &mut Vec<String>,
) -> Result<(), String> {
    let Value::Table(fields) = get(resultset, "fields")? else {
        return Err("proxy.response.resultset.fields has to be a table".to_owned());
    };
    // The first nil ends the fields; entries after it are ignored.
    let columns = fields
        .sequence_values::<Value>()
        .take(COLUMNS_MAX + 1)
        .count();
    if columns == 0 {
        return Err("proxy.response.resultset.fields is empty".to_owned());
    }
    if columns > COLUMNS_MAX {
        return Err(format!(
            "proxy.response.resultset.fields has more than {COLUMNS_MAX} entries"
        ));
    }
    payloads.put(|out| put_lenenc(out, columns as u64));
    for at in 1..=columns {
        field(lua, &fields, at, payloads, warnings)?;
    }
    payloads.put(|out| put_eof(out, StatusFlags::AUTOCOMMIT, 0));
    match get(resultset, "rows")? {
        Value::Nil => {}
        Value::Table(rows) => {
            for (at, row) in rows.sequence_values::<Value>().enumerate() {
                let row = row.map_err(|error| error.to_string())?;
                let payload = self::row(lua, row, at + 1, columns, budget, taken(payloads))?;
                payloads.put(|out| out.extend_from_slice(&payload));
            }
        }
        _ => return Err("proxy.response.resultset.rows has to be a table".to_owned()),
    }
    payloads.put(|out| put_eof(out, StatusFlags::AUTOCOMMIT, 0));
    Ok(())
}

fn field(
    lua: &Lua,
    fields: &Table,
    at: usize,
    payloads: &mut Payloads,
    warnings: &mut Vec<String>,
) -> Result<(), String> {
    let at_field = || format!("proxy.response.resultset.fields[{at}]");
    let Ok(Value::Table(field)) = fields.raw_get::<Value>(at) else {
        return Err(format!("{} has to be a table", at_field()));
    };
    let name = text(lua, &field, "name")?.unwrap_or_else(|| {
        warnings.push(format!("{}.name is nil", at_field()));
        b"no-field-name".to_vec()
    });
    let kind = number(lua, &field, "type")?.unwrap_or_else(|| {
        let text = format!("{}.type is nil: taken for MYSQL_TYPE_STRING", at_field());
        warnings.push(text);
        f64::from(STRING)
    });
    let column = ColumnDefinition {
        flags: PRI_KEY,
        ..ColumnDefinition::new(&name, ColumnType(kind as u8), COLLATION, COLUMN_LENGTH)
    };
    payloads.put(|out| column.encode(Capabilities::default(), out));
    Ok(())
}

fn row(
    lua: &Lua,
    row: Value,
    at: usize,
    columns: usize,
    budget: &Budget,
    taken: usize,
) -> Result<Vec<u8>, String> {
    let Value::Table(row) = row else {
        return Err(format!(
            "proxy.response.resultset.rows[{at}] has to be a table"
        ));
    };
    let mut payload = Vec::new();
    for column in 1..=columns {
        let value = row
            .raw_get::<Value>(column)
            .map_err(|error| error.to_string())?;
        match coerced(lua, value) {
            Some(bytes) => {
                // Strings end at the first NUL, as in MySQL Proxy.
                let end = bytes.iter().position(|byte| *byte == 0);
                let bytes = &bytes[..end.unwrap_or(bytes.len())];
                check(lua, budget, taken + payload.len() + bytes.len())?;
                put_lenenc_bytes(&mut payload, bytes);
            }
            None => payload.push(NULL),
        }
    }
    check(lua, budget, taken + payload.len())?;
    Ok(payload)
}

/// Bytes that payloads take, including their offsets.
fn taken(payloads: &Payloads) -> usize {
    payloads.bytes() + payloads.len() * size_of::<usize>()
}

fn get(table: &Table, key: &str) -> Result<Value, String> {
    table.raw_get(key).map_err(|error| error.to_string())
}

/// A number, or a string that reads as a number.
fn number(lua: &Lua, table: &Table, key: &str) -> Result<Option<f64>, String> {
    let value = get(table, key)?;
    lua.coerce_number(value).map_err(|error| error.to_string())
}

fn text(lua: &Lua, table: &Table, key: &str) -> Result<Option<Vec<u8>>, String> {
    Ok(coerced(lua, get(table, key)?))
}

/// The bytes of a string, or of a number as Lua writes it; `None` for other values.
fn coerced(lua: &Lua, value: Value) -> Option<Vec<u8>> {
    match value {
        Value::String(string) => Some(string.as_bytes().to_vec()),
        value @ (Value::Integer(_) | Value::Number(_)) => {
            let string = lua.coerce_string(value).ok()??;
            Some(string.as_bytes().to_vec())
        }
        _ => None,
    }
}
