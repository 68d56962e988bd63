//! Describes the content of each event, as named values.

use crate::civil::CivilTime;
use crate::event::Event;
use crate::events::load::ExecuteLoadQuery;
use crate::events::mariadb_gtid::MariadbGtidEvent;
use crate::events::mysql_gtid::MysqlGtidEvent;
use crate::events::query::Query;
use crate::events::session_values::{IntegerPurpose, UserValue, UserVariable};
use crate::events::xa_prepare::Xid;
use crate::gtid_set::{MysqlGtid, Uuid};
use crate::header::EventHeader;
use crate::rows::{RowsEvent, RowsKind};
use crate::table_map::TableMap;
use crate::value::read_decimal;

use super::row::hex;
use super::shown::{Description, Shown};
use super::statement::{bare_text, query_text};

/// Returns the values of an event's header and body, without rows of rows events and without events of payloads.
pub fn describe(header: &EventHeader, event: &Event<'_>) -> Description {
    let type_name = header.event_type.to_string();
    let mut description = Description::default();
    if header.time > 0 {
        let time = CivilTime::of_seconds(u64::from(header.time));
        description = description.with("time", Shown::Text(format!("{time}Z")));
    }
    description = description
        .with("server_id", Shown::number(header.server_id))
        .with("type", Shown::Text(type_name));
    let flags: Vec<Shown> = header.flags.names().map(word).collect();
    let flags = Some(Shown::List(flags)).filter(|_| header.flags.0 != 0);
    description = description.with_some("flags", flags);
    body(description, event)
}

fn word(text: &str) -> Shown {
    Shown::Text(text.to_owned())
}

fn body(to: Description, event: &Event<'_>) -> Description {
    match event {
        Event::Query(query) => of_query(to, query),
        Event::ExecuteLoad(load) => of_load(to, load),
        Event::AnnotateRows(text) | Event::RowsQuery(text) => {
            to.with("query", Shown::Text(bare_text(text)))
        }
        Event::MysqlGtid(gtid) => of_mysql_gtid(to, gtid),
        Event::MariadbGtid(gtid) => of_mariadb_gtid(to, gtid),
        Event::PreviousGtids(set) => to.with("gtids", Shown::Text(set.to_string())),
        Event::GtidList(list) => {
            let gtids = list.gtids.iter().map(|gtid| Shown::Text(gtid.to_string()));
            to.with("gtids", Shown::List(gtids.collect()))
        }
        Event::TableMap(table) => of_table(to, table),
        Event::Rows(rows, table) => of_rows(to, rows, table.as_deref()),
        Event::RowsFragment(fragment) => to
            .with("fragment", Shown::number(fragment.number))
            .with("fragments", Shown::number(fragment.count)),
        Event::TransactionPayload(payload) => to
            .with("compressed", Shown::Flag(payload.is_compressed))
            .with("stored_bytes", Shown::number(payload.stored_bytes()))
            .with(
                "uncompressed_bytes",
                Shown::number(payload.uncompressed_bytes),
            ),
        Event::UserVariable(variable) => of_variable(to, variable),
        other => small_body(to, other),
    }
}

/// Adds the values of events that have few values.
fn small_body(to: Description, event: &Event<'_>) -> Description {
    match event {
        Event::FormatDescription(format) => to
            .with("server_version", Shown::Text(format.server_version()))
            .with("checksum", Shown::Text(format.checksum().name().to_owned()))
            .with("event_types", Shown::number(format.types_count())),
        Event::Rotate(rotate) => to
            .with("next_file", Shown::text(rotate.name))
            .with("next_file_position", Shown::number(rotate.position)),
        Event::Xid(xid) => to.with("xid", Shown::number(xid)),
        Event::XaPrepare(prepare) => to
            .with("xid", xa(&prepare.xid))
            .with("one_phase", Shown::Flag(prepare.is_one_phase)),
        Event::BinlogCheckpoint(name) => to.with("file", Shown::text(name)),
        Event::Heartbeat(heartbeat) => to
            .with("file", Shown::text(heartbeat.name))
            .with_some("position", heartbeat.position.map(Shown::number)),
        Event::Integer(integer) => {
            let name = match integer.purpose {
                IntegerPurpose::LastInsertId => "last_insert_id",
                IntegerPurpose::InsertId => "insert_id",
            };
            to.with(name, Shown::number(integer.value))
        }
        Event::Rand(first, second) => to
            .with("seed1", Shown::number(first))
            .with("seed2", Shown::number(second)),
        Event::LoadBlock(block, is_first) => to
            .with("file_id", Shown::number(block.file_id))
            .with("first", Shown::Flag(*is_first))
            .with("bytes", Shown::number(block.block.len())),
        Event::DeleteFile(id) => to.with("file_id", Shown::number(id)),
        Event::Incident(incident) => to
            .with("incident", Shown::number(incident.number))
            .with("message", Shown::text(incident.message)),
        Event::ViewChange(change) => to
            .with("view", Shown::text(change.view))
            .with("sequence", Shown::number(change.sequence))
            .with("entries", Shown::number(change.entries)),
        Event::Ignored => to.with("skipped", Shown::Flag(true)),
        _ => to,
    }
}

fn of_query(to: Description, query: &Query<'_>) -> Description {
    let status = &query.status;
    let schemas = status.schemas.iter().map(|it| Shown::text(it));
    let schemas = Some(Shown::List(schemas.collect())).filter(|_| !status.schemas.is_empty());
    let invoker = status.invoker.filter(|(user, _)| !user.is_empty());
    let invoker = invoker.map(|(user, host)| {
        let part = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Shown::Text(format!("{}@{}", part(user), part(host)))
    });
    to.with("thread_id", Shown::number(query.thread_id))
        .with("exec_time", Shown::number(query.seconds))
        .with("error_code", Shown::number(query.error_code))
        .with("schema", Shown::text(query.schema))
        .with_some("changed_schemas", schemas)
        .with_some("invoker", invoker)
        .with_some("time_zone", status.time_zone.map(Shown::text))
        .with_some("xid", status.xid.map(Shown::number))
        .with("query", Shown::Text(query_text(query)))
}

fn of_load(to: Description, load: &ExecuteLoadQuery<'_>) -> Description {
    of_query(to.with("file_id", Shown::number(load.file_id)), &load.query)
}

fn of_mysql_gtid(to: Description, event: &MysqlGtidEvent) -> Description {
    let gtid = if event.number == 0 && event.source.uuid == Uuid::default() {
        "ANONYMOUS".to_owned()
    } else {
        let (source, number) = (event.source.clone(), event.number);
        MysqlGtid { source, number }.to_string()
    };
    let micros = |micros: u64| {
        let time = CivilTime::of_seconds(micros / 1_000_000);
        Shown::Text(format!("{time}.{:06}Z", micros % 1_000_000))
    };
    let (last, sequence) = event.logical_clock.unzip();
    to.with("gtid", Shown::Text(gtid))
        .with_some("last_committed", last.map(Shown::number))
        .with_some("sequence_number", sequence.map(Shown::number))
        .with_some("immediate_commit", event.immediate_commit.map(micros))
        .with_some("original_commit", event.original_commit.map(micros))
        .with_some(
            "transaction_bytes",
            event.transaction_bytes.map(Shown::number),
        )
        .with_some(
            "immediate_version",
            event.immediate_version.map(Shown::number),
        )
        .with_some(
            "original_version",
            event.original_version.map(Shown::number),
        )
        .with("may_have_statements", Shown::Flag(event.flags & 1 != 0))
}

fn of_mariadb_gtid(to: Description, event: &MariadbGtidEvent<'_>) -> Description {
    let names = [
        (MariadbGtidEvent::FLAG_STANDALONE, "standalone"),
        (MariadbGtidEvent::FLAG_GROUP_COMMIT_ID, "group_commit"),
        (MariadbGtidEvent::FLAG_TRANSACTIONAL, "transactional"),
        (MariadbGtidEvent::FLAG_ALLOW_PARALLEL, "allow_parallel"),
        (MariadbGtidEvent::FLAG_WAITED, "waited"),
        (MariadbGtidEvent::FLAG_DDL, "ddl"),
        (MariadbGtidEvent::FLAG_PREPARED_XA, "xa_prepared"),
        (MariadbGtidEvent::FLAG_COMPLETED_XA, "xa_completed"),
    ];
    let extra = [
        (MariadbGtidEvent::EXTRA_START_ALTER, "alter_started"),
        (MariadbGtidEvent::EXTRA_COMMIT_ALTER, "alter_committed"),
        (MariadbGtidEvent::EXTRA_ROLLBACK_ALTER, "alter_rolled_back"),
    ];
    let set = names.iter().filter(|(flag, _)| event.flags & flag != 0);
    let extra = extra
        .iter()
        .filter(|(flag, _)| event.extra_flags & flag != 0);
    let flags = set.chain(extra).map(|(_, name)| word(name));
    to.with("gtid", Shown::Text(event.gtid.to_string()))
        .with("gtid_flags", Shown::List(flags.collect()))
        .with_some("commit_id", event.commit_id.map(Shown::number))
        .with_some("xid", event.xid.as_ref().map(xa))
        .with_some("alter_start", event.alter_start.map(Shown::number))
        .with_some("thread_id", event.thread_id.map(Shown::number))
}

fn xa(xid: &Xid<'_>) -> Shown {
    let description = Description::default()
        .with("format", Shown::number(xid.format))
        .with("global", Shown::Text(hex(xid.global)))
        .with("branch", Shown::Text(hex(xid.branch)));
    Shown::Object(description)
}

fn of_table(to: Description, table: &TableMap) -> Description {
    to.with("table_id", Shown::number(table.id))
        .with("schema", Shown::Text(table.schema.clone()))
        .with("table", Shown::Text(table.table.clone()))
        .with("columns", Shown::number(table.columns.len()))
}

fn of_rows(to: Description, rows: &RowsEvent<'_>, table: Option<&TableMap>) -> Description {
    let operation = match rows.kind {
        RowsKind::Write => "insert",
        RowsKind::Update | RowsKind::PartialUpdate => "update",
        RowsKind::Delete => "delete",
    };
    let name = |of: fn(&TableMap) -> &str| table.map(|it| word(of(it)));
    to.with("operation", word(operation))
        .with("table_id", Shown::number(rows.table_id))
        .with_some("schema", name(|it| &it.schema))
        .with_some("table", name(|it| &it.table))
        .with("ends_statement", Shown::Flag(rows.ends_statement()))
}

fn of_variable(to: Description, variable: &UserVariable<'_>) -> Description {
    let value = match variable.value {
        None => Shown::Null,
        Some(UserValue::Text(bytes, collation)) => {
            let collation = u16::try_from(collation).ok();
            match crate::encoding::text(bytes, collation) {
                Some(text) => Shown::Text(text.into_owned()),
                None => Shown::Text(hex(bytes)),
            }
        }
        Some(UserValue::Real(bits)) => Shown::Text(format!("{:?}", f64::from_bits(bits))),
        Some(UserValue::Integer(value, true)) => Shown::number(value),
        Some(UserValue::Integer(value, false)) => Shown::number(value.cast_signed()),
        Some(UserValue::Decimal(precision, scale, bytes)) => {
            let mut reader = wire::Reader::new(bytes);
            let digits = read_decimal(&mut reader, precision.into(), scale.into());
            digits.map_or_else(|_| Shown::Text(hex(bytes)), Shown::Text)
        }
    };
    to.with("variable", Shown::text(variable.name))
        .with("value", value)
}
