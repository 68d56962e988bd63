//! The clusters whose changes are followed.

use replication::StreamView;

use crate::table::{Asks, Cell, Schema, TableDefinition, columns};

/// See the module.
pub static TABLE: TableDefinition<StreamView> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "replication",
    about: "The streams of [[replication]]: where each stands, how fast it is, and what has gone wrong.",
    asks: Asks::Nothing,
    columns: columns! {
        text "stream", "Its name.", |it| (&it.name).into();
        text "cluster", "The cluster that it follows.", |it| (&it.cluster).into();
        text "source", "Which server of that it follows: primary or replica.", |it| it.from.into();
        text "backend", "The backend that it follows, or did last.", |it| it.backend.clone().into();
        integer "server_id", "Its id among the server's replicas.", |it| it.server_id.into();
        text "state",
            "connecting; reading: it reads what all objects are, before its first event; streaming; waiting: it has \
             failed, and tries again.", |it| it.state.name().into();
        text "position", "The transactions that it has had, a second old at most.", |it| (&it.position).into();
        text "last_gtid", "The last transaction since the start.", |it| it.last_gtid.clone().into();
        measure "delay" ["s"],
            "How long after it was written the last event has come; 0 while the server has nothing more to send.",
            |it| it.delay.into();
        integer "events", "Events since the stream was configured.", |it| it.events.into();
        measure "bytes" ["bytes"], "Bytes of these events.", |it| it.bytes.into();
        integer "transactions", "Transactions since the stream was configured.", |it| it.transactions.into();
        integer "changes", "Of these, so many statements have changed objects.", |it| it.changes.into();
        integer "events_dropped", "Events that the filters have dropped.", |it| it.events_dropped.into();
        integer "events_changed", "Events that the filters have changed.", |it| it.events_changed.into();
        integer "events_per_second", "Events a second, counted over five seconds.", |it| it.events_per_second.into();
        integer "bytes_per_second", "Bytes a second, counted over five seconds.", |it| it.bytes_per_second.into();
        integer "connects", "How often it has connected to a server.", |it| it.connects.into();
        integer "errors", "How often it has failed.", |it| it.errors.into();
        text "last_error", "Why it has failed last; NULL: it has not.", |it| it.last_error.clone().into();
        text "last_error_time", "When that was, in UTC.", |it| it.last_error_time.map_or(Cell::Null, utc);
    },
    items: |input| input.port.streams.views(),
};

pub(super) fn utc(micros: i64) -> Cell {
    let time = jiff::Timestamp::from_microsecond(micros).ok();
    let time = time.map(|time| time.strftime("%Y-%m-%d %H:%M:%S").to_string());
    time.into()
}
