//! Prepared statements: the client's commands, and the server's answer to PREPARE.

use wire::execute::Execute;
use wire::statement::{PrepareOk, statement_id};
use wire::{Capabilities, Command};

use super::fields::Fields;
use super::packet_fault::PacketFault;
use super::parameter;

/// The bytes after the command's byte.
fn behind(packet: &[u8], command: Command) -> Result<&[u8], PacketFault> {
    packet
        .strip_prefix(&[command.0])
        .ok_or(PacketFault::Malformed)
}

pub(super) fn from_prepare(fields: &Fields<'_>, packet: &[u8]) -> Result<(), PacketFault> {
    fields.set_text("stmt_text", behind(packet, Command::STMT_PREPARE)?)
}

pub(super) fn from_prepare_ok(fields: &Fields<'_>, packet: &[u8]) -> Result<(), PacketFault> {
    let answer = PrepareOk::decode(packet)?;
    fields.set("stmt_id", answer.statement_id)?;
    fields.set("num_columns", answer.columns)?;
    fields.set("num_params", answer.parameters)?;
    fields.set("warnings", answer.warnings)
}

pub(super) fn from_close(fields: &Fields<'_>, packet: &[u8]) -> Result<(), PacketFault> {
    let id = statement_id(behind(packet, Command::STMT_CLOSE)?)?;
    fields.set("stmt_id", id)
}

pub(super) fn id_of_execute(packet: &[u8]) -> Result<u32, PacketFault> {
    Ok(statement_id(behind(packet, Command::STMT_EXECUTE)?)?)
}

/// Decodes an execution. Sessions with scripts do not negotiate query attributes, so the layout has none.
pub(super) fn from_execute(
    fields: &Fields<'_>,
    packet: &[u8],
    count: u16,
) -> Result<(), PacketFault> {
    let arguments = behind(packet, Command::STMT_EXECUTE)?;
    let execute = Execute::decode(arguments, Capabilities(0), count)?;
    fields.set("stmt_id", execute.statement_id)?;
    fields.set("flags", execute.flags)?;
    fields.set("iteration_count", execute.iterations)?;
    fields.set("new_params_bound", execute.types.is_some())?;
    match execute.types {
        Some(_) => fields.set("params", parameter::all(fields.lua, &execute)?),
        None => Ok(()),
    }
}
