//! `mysql.proto`: 17 functions that turn payloads of packets into tables and back. `wire` has the layouts. This
//! module adds the names, defaults and oddities that scripts expect.
//!
//! A packet that cannot be decoded raises `mysql.proto: <function>() failed`. In decoded tables an empty string
//! is not set.

mod fields;
mod login;
mod master_info;
mod outcome;
mod packet_fault;
mod parameter;
mod statement;

use mlua::{Lua, Table};

use self::fields::Fields;
use self::packet_fault::PacketFault;
use super::context::{ModuleContext, describe};
use crate::arguments::{Arguments, function};

/// Fills a table from a payload.
type Decode = fn(&Fields<'_>, &[u8]) -> Result<(), PacketFault>;

/// Makes a payload of a table.
type Encode = fn(&Fields<'_>) -> Result<Vec<u8>, PacketFault>;

const DECODERS: [(&str, Decode); 8] = [
    ("from_err_packet", outcome::from_err),
    ("from_ok_packet", outcome::from_ok),
    ("from_eof_packet", outcome::from_eof),
    ("from_challenge_packet", login::from_challenge),
    ("from_masterinfo_string", master_info::from_text),
    ("from_stmt_prepare_packet", statement::from_prepare),
    ("from_stmt_prepare_ok_packet", statement::from_prepare_ok),
    ("from_stmt_close_packet", statement::from_close),
];

const ENCODERS: [(&str, Encode); 6] = [
    ("to_err_packet", outcome::to_err),
    ("to_ok_packet", outcome::to_ok),
    ("to_eof_packet", outcome::to_eof),
    ("to_challenge_packet", login::to_challenge),
    ("to_response_packet", login::to_response),
    ("to_masterinfo_string", master_info::to_text),
];

pub(super) fn open(lua: &Lua, _: &ModuleContext) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    for (name, decode) in DECODERS {
        let decode = move |arguments: &Arguments<'_>| {
            let packet = arguments.string(1)?;
            decoded(arguments.lua(), name, &packet, decode)
        };
        module.set(name, function(lua, name, decode)?)?;
    }
    for (name, encode) in ENCODERS {
        let encode = move |arguments: &Arguments<'_>| {
            let lua = arguments.lua();
            let packet = encode(&Fields::new(lua, arguments.table(1)?));
            lua.create_string(packet.map_err(|fault| fault.raised(lua, name))?)
        };
        module.set(name, function(lua, name, encode)?)?;
    }
    let name = "from_response_packet";
    module.set(
        name,
        function(lua, name, move |it| from_response(it, name))?,
    )?;
    let name = "from_stmt_execute_packet";
    module.set(name, function(lua, name, move |it| from_execute(it, name))?)?;
    let name = "stmt_id_from_stmt_execute_packet";
    module.set(
        name,
        function(lua, name, move |arguments| {
            let packet = arguments.string(1)?;
            let id = statement::id_of_execute(&packet.as_bytes());
            id.map_err(|fault| fault.raised(arguments.lua(), name))
        })?,
    )?;
    describe(&module, "MySQL's packets")?;
    lua.globals().set("proto", &module)?;
    Ok(module)
}

fn decoded(
    lua: &Lua,
    name: &str,
    packet: &mlua::LuaString,
    decode: impl Fn(&Fields<'_>, &[u8]) -> Result<(), PacketFault>,
) -> mlua::Result<Table> {
    let fields = Fields::new(lua, lua.create_table()?);
    let decoded = decode(&fields, &packet.as_bytes());
    decoded.map_err(|fault| fault.raised(lua, name))?;
    Ok(fields.table)
}

/// `from_response_packet(packet, server_capabilities)`; without the second argument, the server counts as
/// having all capabilities of the client.
fn from_response(arguments: &Arguments<'_>, name: &str) -> mlua::Result<Table> {
    let packet = arguments.string(1)?;
    let server = arguments.integer_if_any(2)?.map(|flags| flags as u32);
    decoded(arguments.lua(), name, &packet, |fields, packet| {
        login::from_response(fields, packet, server)
    })
}

/// `from_stmt_execute_packet(packet, parameters)`
fn from_execute(arguments: &Arguments<'_>, name: &str) -> mlua::Result<Table> {
    let packet = arguments.string(1)?;
    let count = u16::try_from(arguments.integer(2)?)
        .map_err(|_| arguments.bad(2, "a number of parameters is from 0 to 65535"))?;
    decoded(arguments.lua(), name, &packet, |fields, packet| {
        statement::from_execute(fields, packet, count)
    })
}
