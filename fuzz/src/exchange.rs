//! Payloads of the command phase: each payload that can be read can be written and read again.
//!
//! ```text
//! capabilities:8 parameters:2 payload
//! ```

use wire::column::ColumnDefinition;
use wire::execute::{BulkExecute, Execute};
use wire::parameters::first_types;
use wire::query::Query;
use wire::reply::{OkHeader, OkPacket};
use wire::result::{ResultHead, TextRow, put_text_row};
use wire::session_track::{Change, OkTail, put_ok};
use wire::statement::{Fetch, LongData, PrepareOk, patch_statement_id, statement_id};
use wire::{Capabilities, Command, StatusFlags};

use crate::input::Input;

/// Input: a backend's payload, which is decoded as each kind of payload.
pub fn replies(data: &[u8]) {
    let mut input = Input::new(data);
    let capabilities = Capabilities(input.u64());
    input.u16();
    let payload = input.rest();
    ok(payload, capabilities);
    if let Ok(column) = ColumnDefinition::decode(payload, capabilities) {
        let again = written(|out| column.encode(capabilities, out));
        assert_eq!(ColumnDefinition::decode(&again, capabilities), Ok(column));
    }
    if let Ok(head) = ResultHead::decode(payload, capabilities) {
        let again = written(|out| head.encode(capabilities, out));
        assert_eq!(ResultHead::decode(&again, capabilities), Ok(head));
    }
    if let Ok(row) = TextRow::new(payload).collect::<Result<Vec<_>, _>>() {
        let again = written(|out| put_text_row(out, row.iter().copied()));
        let read: Result<Vec<_>, _> = TextRow::new(&again).collect();
        assert_eq!(read, Ok(row));
    }
    if let Ok(ok) = PrepareOk::decode(payload) {
        let mut again = written(|out| ok.encode(out));
        patch_statement_id(&mut again, !ok.statement_id);
        let statement_id = !ok.statement_id;
        assert_eq!(
            PrepareOk::decode(&again),
            Ok(PrepareOk { statement_id, ..ok })
        );
    }
}

fn ok(payload: &[u8], capabilities: Capabilities) {
    let (Ok(ok), Ok(tail)) = (
        OkPacket::decode(payload),
        OkTail::decode(payload, capabilities),
    ) else {
        return;
    };
    let changes: Vec<_> = tail.changes().collect();
    assert!(changes.len() <= payload.len());
    let last = changes.len().saturating_sub(1);
    assert!(
        changes.iter().take(last).all(Result::is_ok),
        "it ends there"
    );
    let changes: Vec<Change<'_>> = changes.into_iter().flatten().collect();
    let header = match payload[0] {
        0xfe => OkHeader::Eof,
        _ => OkHeader::Ok,
    };
    let changed = || changes.iter().copied();
    let again = written(|out| put_ok(out, header, capabilities, &ok, tail.info, changed()));
    let flag = StatusFlags::SESSION_STATE_CHANGED;
    let status = ok.status.with(flag, !changes.is_empty());
    assert_eq!(OkPacket::decode(&again), Ok(OkPacket { status, ..ok }));
    let read = OkTail::decode(&again, capabilities).expect("it was just written");
    assert_eq!(read.info, tail.info);
    assert!(read.changes().eq(changed().map(Ok)));
}

/// Input: a client's command, with the command byte first.
pub fn executions(data: &[u8]) {
    let mut input = Input::new(data);
    let capabilities = Capabilities(input.u64());
    let parameters = input.u16();
    let command = Command(input.u8());
    let arguments = input.rest();
    match command {
        Command::QUERY => query(arguments, capabilities),
        Command::STMT_EXECUTE => execute(arguments, capabilities, parameters),
        Command::STMT_BULK_EXECUTE => {
            if let Ok(bulk) = BulkExecute::decode(arguments) {
                assert_eq!(written(|out| bulk.encode(out))[1..], *arguments);
            }
        }
        Command::STMT_SEND_LONG_DATA => {
            if let Ok(long) = LongData::decode(arguments) {
                assert_eq!(written(|out| long.encode(out))[1..], *arguments);
            }
        }
        Command::STMT_FETCH => {
            if let Ok(fetch) = Fetch::decode(arguments) {
                assert!(arguments.starts_with(&written(|out| fetch.encode(out))[1..]));
            }
        }
        _ => {
            let _ = statement_id(arguments);
        }
    }
}

fn query(arguments: &[u8], capabilities: Capabilities) {
    if let Ok(query) = Query::decode(arguments, capabilities) {
        let again = written(|out| query.encode(capabilities, out));
        assert_eq!(again[1..], *arguments);
    }
}

fn execute(arguments: &[u8], capabilities: Capabilities, parameters: u16) {
    let Ok(execute) = Execute::decode(arguments, capabilities, parameters) else {
        return;
    };
    if let Some(types) = execute.types {
        let count = execute.parameter_count;
        assert_eq!(first_types(types, count, capabilities), Ok(types));
        assert!(first_types(types, usize::from(parameters), capabilities).is_ok());
    }
    let other = Execute {
        statement_id: !execute.statement_id,
        types: None,
        ..execute
    };
    for execute in [execute, other] {
        let again = written(|out| execute.encode(capabilities, out));
        let read = Execute::decode(&again[1..], capabilities, parameters);
        assert_eq!(read, Ok(execute));
        assert_eq!(statement_id(&again[1..]), Ok(execute.statement_id));
    }
}

fn written(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out);
    out
}
