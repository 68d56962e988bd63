//! Events of a replication stream on their way to replicas and to readers of changes. Masked values do not pass a
//! filter, the filter's output is a valid binary log, and each change is JSON.

use std::time::{Instant, SystemTime};

use binlog::{Checksum, Event, EventFlags, EventHeader, EventType, Value, put_event};
use config::{FilterAction, FilteredChange, ReplicationFilterConfig, Secret};
use route::Family;
use system::Clock;

use crate::binlog::{LIMITS, first_event};
use crate::input::Input;

/// `family:1 filter:1`, then `type:1 flags:1 length:2 body`, again and again, behind a FORMAT_DESCRIPTION event of a real
/// server, through a filter.
pub fn filtered_events(data: &[u8]) {
    let mut input = Input::new(data);
    let is_mariadb = input.u8() & 1 == 1;
    let settings = settings(input.u8());
    let events = events(is_mariadb, &mut input);
    let clock = clock();
    ::replication::fuzzing::filter(
        &events,
        family(is_mariadb),
        &settings,
        &clock,
        LIMITS,
        &mut |event| {
            check(event, &settings);
        },
    );
}

/// `family:1`, then events in the same way, through the change feed.
pub fn changes(data: &[u8]) {
    let mut input = Input::new(data);
    let is_mariadb = input.u8() & 1 == 1;
    let events = events(is_mariadb, &mut input);
    ::replication::fuzzing::translate(&events, family(is_mariadb), LIMITS, &clock(), &mut |json| {
        assert!(
            serde_json::from_str::<serde_json::Value>(json).is_ok(),
            "{json}"
        );
    });
}

/// Returns a clock that stands still.
fn clock() -> Clock {
    Clock::new(Instant::now, || SystemTime::UNIX_EPOCH)
}

/// Decodes the input as each kind of answer of a Kafka broker.
pub fn kafka_answers(data: &[u8]) {
    ::kafka::fuzzing::answers(data);
}

fn family(is_mariadb: bool) -> Family {
    match is_mariadb {
        true => Family::MariaDb,
        false => Family::MySql,
    }
}

fn settings(number: u8) -> Vec<ReplicationFilterConfig> {
    let none = ReplicationFilterConfig::default();
    let names = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
    let masks = ReplicationFilterConfig {
        tables: names(&["shop.*"]),
        columns_null: names(&["d"]),
        columns_dropped: names(&["i"]),
        columns_constant: names(&["g=gone"]),
        columns_hashed: names(&["c"]),
        hash_key: Some(Secret::new("key")),
        ..none.clone()
    };
    let drops = ReplicationFilterConfig {
        action: Some(FilterAction::Drop),
        changes: vec![FilteredChange::Delete, FilteredChange::Ddl],
        ..none.clone()
    };
    let renames = ReplicationFilterConfig {
        tables: names(&["shop.*"]),
        rename_schema: Some("store".to_owned()),
        ..none
    };
    match number % 4 {
        0 => vec![masks],
        1 => vec![drops],
        2 => vec![renames],
        _ => vec![drops, masks],
    }
}

/// Checks that the masked columns of an event's rows have masked values.
fn check(event: &Event<'_>, settings: &[ReplicationFilterConfig]) {
    let Event::Rows(rows, Some(table)) = event else {
        return;
    };
    let is_masked = settings.iter().any(|it| !it.columns_null.is_empty());
    if !is_masked || !table.schema.eq_ignore_ascii_case("shop") {
        return;
    }
    let Ok(changes) = rows.changes(table, LIMITS) else {
        return;
    };
    for change in changes {
        let change = change.expect("the filter has read it");
        for row in [change.before, change.after].into_iter().flatten() {
            for (column, value) in table.columns.iter().zip(&row.values) {
                let name = column.name.as_deref().unwrap_or_default();
                match (name.to_ascii_lowercase().as_str(), value) {
                    ("d", value) => assert!(matches!(value, None | Some(Value::Null))),
                    ("i", value) => assert_eq!(*value, None),
                    _ => {}
                }
            }
        }
    }
}

fn events(is_mariadb: bool, input: &mut Input<'_>) -> Vec<Vec<u8>> {
    let mut events = vec![first_event(is_mariadb)];
    while !input.is_empty() {
        let header = EventHeader {
            time: 1,
            event_type: EventType(input.u8()),
            server_id: 1,
            length: 0,
            next_position: 0,
            flags: EventFlags(u16::from(input.u8())),
        };
        let length = usize::from(input.u16());
        let body = input.bytes(length);
        let mut bytes = Vec::new();
        put_event(&mut bytes, &header, body, Checksum::None).expect("it is short");
        events.push(bytes);
    }
    events
}
