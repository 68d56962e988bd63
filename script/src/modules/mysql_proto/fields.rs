//! The keys of a packet's table.

use mlua::{IntoLua, Lua, Table, Value};

use super::packet_fault::PacketFault;
use crate::arguments::number_of;
use crate::fault::raise;

/// A packet's table, which is decoded from a packet or encoded into one.
pub(super) struct Fields<'a> {
    pub(super) lua: &'a Lua,
    pub(super) table: Table,
}

impl<'a> Fields<'a> {
    pub(super) fn new(lua: &'a Lua, table: Table) -> Self {
        Self { lua, table }
    }

    pub(super) fn set(&self, key: &str, value: impl IntoLua) -> Result<(), PacketFault> {
        Ok(self.table.raw_set(key, value)?)
    }

    /// Sets a string, unless it is empty.
    pub(super) fn set_text(&self, key: &str, text: &[u8]) -> Result<(), PacketFault> {
        match text {
            [] => Ok(()),
            text => self.set(key, self.lua.create_string(text)?),
        }
    }

    /// A string; a number counts as a string, too.
    pub(super) fn text(&self, key: &str) -> Result<Option<Vec<u8>>, PacketFault> {
        match self.table.get(key)? {
            Value::Nil => Ok(None),
            value @ (Value::String(_) | Value::Integer(_) | Value::Number(_)) => {
                let text = self.lua.coerce_string(value)?;
                Ok(text.map(|text| text.as_bytes().to_vec()))
            }
            _ => Err(self.wrong(key, "a string")),
        }
    }

    pub(super) fn text_or(&self, key: &str, default: &[u8]) -> Result<Vec<u8>, PacketFault> {
        Ok(self.text(key)?.unwrap_or_else(|| default.to_vec()))
    }

    /// A number without its fraction, or `None`. A negative number is in two's complement; a number that is
    /// too great becomes the greatest possible.
    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, PacketFault> {
        match self.table.get(key)? {
            Value::Nil => Ok(None),
            value => match number_of(self.lua, value) {
                Some(number) if number < 0.0 => Ok(Some((number as i64).cast_unsigned())),
                Some(number) => Ok(Some(number as u64)),
                None => Err(self.wrong(key, "a number")),
            },
        }
    }

    pub(super) fn number_or(&self, key: &str, default: u64) -> Result<u64, PacketFault> {
        Ok(self.number(key)?.unwrap_or(default))
    }

    fn wrong(&self, key: &str, wanted: &str) -> PacketFault {
        PacketFault::Lua(raise(self.lua, &format!(".{key} has to be {wanted}")))
    }
}
