//! Rows of the binary protocol, as tables.

use mlua::{Lua, Table};
use wire::binary_row::BinaryRow;

use crate::values::Form;

/// A row of the binary protocol.
pub(crate) fn read_binary(
    lua: &Lua,
    payload: &[u8],
    forms: &[Form],
    row: &Table,
) -> mlua::Result<()> {
    let read = BinaryRow::new(payload, forms.len());
    let mut read = read.map_err(mlua::Error::external)?;
    for (at, form) in (1..).zip(forms) {
        row.raw_set(at, form.read_next(lua, &mut read)?)?;
    }
    Ok(())
}
