//! `pilotfish.statement`: the proxy's own facts about a statement.

use std::cell::RefCell;

use mlua::{Lua, LuaString, Table};
use sql::{Access, Analysis, Facts, Flags};

/// Adds the function, which returns a table of facts for a statement's text.
pub(crate) fn share(lua: &Lua, host: &Table) -> mlua::Result<()> {
    // All statements are analysed in the same memory.
    let analysis = RefCell::<Analysis>::default();
    let statement = move |lua: &Lua, text: LuaString| {
        let mut analysis = analysis.borrow_mut();
        analysis.read(&text.as_bytes(), Flags::default());
        facts_table(lua, &analysis, &text.as_bytes())
    };
    host.raw_set("statement", lua.create_function(statement)?)
}

fn facts_table(lua: &Lua, analysis: &Analysis, text: &[u8]) -> mlua::Result<Table> {
    let Analysis { facts, digest } = analysis;
    let table = lua.create_table()?;
    table.raw_set("kind", facts.kind.to_string())?;
    table.raw_set("access", access(facts.access))?;
    table.raw_set("digest", lua.create_string(digest.text())?)?;
    table.raw_set("uses", set(lua, facts.uses.names())?)?;
    table.raw_set("effects", set(lua, facts.effects.names())?)?;
    table.raw_set("marks", set(lua, facts.marks.names())?)?;
    table.raw_set("tables", tables(lua, facts, text)?)?;
    Ok(table)
}

const fn access(access: Access) -> &'static str {
    match access {
        Access::Session => "session",
        Access::Read => "read",
        Access::Unsure => "unsure",
        Access::Write => "write",
    }
}

/// A set as a table: names in lower case, each with the value `true`.
fn set(lua: &Lua, names: impl Iterator<Item = &'static str>) -> mlua::Result<Table> {
    let set = lua.create_table()?;
    for name in names {
        set.raw_set(name.to_ascii_lowercase(), true)?;
    }
    Ok(set)
}

fn tables(lua: &Lua, facts: &Facts, text: &[u8]) -> mlua::Result<Table> {
    let tables = lua.create_table()?;
    for mention in facts.tables() {
        let table = lua.create_table()?;
        let schema = mention.schema.name(text);
        if !schema.is_empty() {
            table.raw_set("schema", lua.create_string(&*schema)?)?;
        }
        table.raw_set("name", lua.create_string(&*mention.name.name(text))?)?;
        tables.raw_push(table)?;
    }
    Ok(tables)
}
