//! Replies as lines that can be compared: without what differs from server to server by nature.

use wire::column::ColumnDefinition;
use wire::reply::OkPacket;
use wire::session_track::{Change, OkTail};
use wire::{Capabilities, ErrPacket, StatusFlags};

/// An OK packet, as a line.
pub(super) fn ok(payload: &[u8], capabilities: Capabilities, of_rows: bool) -> String {
    let Ok(packet) = OkPacket::decode(payload) else {
        return "an OK packet that makes no sense".to_owned();
    };
    let mut line = match of_rows {
        true => String::from("end"),
        false => format!(
            "ok affected={} id={}",
            packet.affected_rows, packet.last_insert_id
        ),
    };
    line.push_str(&format!(
        " {} warnings={}",
        flags(packet.status),
        packet.warnings
    ));
    if let Ok(tail) = OkTail::decode(payload, capabilities) {
        if !tail.info.is_empty() {
            line.push_str(&format!(" info=\"{}\"", String::from_utf8_lossy(tail.info)));
        }
        let changes = tail.changes().filter_map(Result::ok);
        let mut changes: Vec<String> = changes.filter_map(|it| change(&it)).collect();
        changes.sort();
        if !changes.is_empty() {
            line.push_str(&format!(" [{}]", changes.join(", ")));
        }
    }
    line
}

/// The line of an EOF packet.
pub(super) fn eof(status: StatusFlags, warnings: u16) -> String {
    format!("end {} warnings={warnings}", flags(status))
}

fn flags(status: StatusFlags) -> String {
    // Whether there is something to tell is seen by what is told.
    let status = status.with(StatusFlags::SESSION_STATE_CHANGED, false);
    let names = format!("{status:?}").replace(", ", "|");
    names
        .chars()
        .filter(|it| !matches!(it, '{' | '}' | '"'))
        .collect()
}

fn change(of: &Change<'_>) -> Option<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(match of {
        Change::Variable { name, .. } if *name == b"statement_id" => return None,
        Change::Variable { name, .. } if *name == b"last_gtid" => "last_gtid=…".to_owned(),
        Change::Variable { name, value } => format!("{}={}", text(name), text(value)),
        Change::Schema(name) => format!("schema={}", text(name)),
        Change::StateChanged(is) => format!("changed={is}"),
        Change::Gtids(_) => "gtids=…".to_owned(),
        Change::TransactionCharacteristics(statements) => {
            format!("characteristics=\"{}\"", text(statements))
        }
        Change::TransactionState(state) => format!("state={}", text(state)),
        Change::Unknown { kind, .. } => format!("change {kind}"),
    })
}

/// An ERR packet, as a line.
pub(super) fn error(payload: &[u8]) -> String {
    match ErrPacket::decode(payload) {
        Ok(error) => {
            let state = error
                .sqlstate
                .map(|it| String::from_utf8_lossy(&it).into_owned());
            format!(
                "error {} ({}) {}",
                error.number,
                state.unwrap_or_default(),
                String::from_utf8_lossy(error.text)
            )
        }
        Err(_) => "an ERR packet that makes no sense".to_owned(),
    }
}

/// A column, as part of a line.
pub(super) fn column(payload: &[u8], capabilities: Capabilities) -> String {
    let Ok(column) = ColumnDefinition::decode(payload, capabilities) else {
        return "a column that makes no sense".to_owned();
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut shown = format!("{} {:?}", text(column.name), column.kind);
    if column.flags & ColumnDefinition::UNSIGNED != 0 {
        shown.push_str(" unsigned");
    }
    // What SHOW reads from is the server's own affair.
    let is_own = column.schema.ends_with(b"_schema") || column.schema.is_empty();
    if !column.table_original.is_empty() && !is_own {
        shown.push_str(&format!(
            " of {}.{} as {}",
            text(column.table_original),
            text(column.name_original),
            text(column.table)
        ));
    }
    shown
}
