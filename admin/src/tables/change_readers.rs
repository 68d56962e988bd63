//! The readers of the change feed.

use replication::ChangeReaderView;

use super::replication::utc;
use crate::table::{Asks, Schema, TableDefinition, columns};

/// See the module.
pub static TABLE: TableDefinition<ChangeReaderView> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "change_readers",
    about: "Those who get the change feed now: clients over HTTP, the files of [[replication.change_file]], and the clusters of [[replication.kafka]].",
    asks: Asks::Nothing,
    columns: columns! {
        text "way", "http: a client; file: a change file; kafka: topics of Kafka.", |it| it.transport.name().into();
        text "reader", "The account and the address of the client, the file, or the topic and the brokers.",
            |it| (&it.name).into();
        text "cluster", "The cluster whose changes it gets.", |it| (&it.cluster).into();
        text "tables", "The tables that it wants; empty for all.", |it| (&it.tables).into();
        text "since", "When it began, in UTC.", |it| utc(it.since);
        text "state",
            "live: it has got everything that the proxy has; catching_up: it has not; waiting: it has failed, and \
             tries again.", |it| it.state.name().into();
        text "position", "The transactions that it has got.", |it| (&it.position).into();
        integer "events", "Changes that it has got since it began.", |it| it.events.into();
        measure "bytes" ["bytes"], "Bytes that it has got since it began.", |it| it.bytes.into();
        measure "delay" ["s"], "How long before it was read the last transaction was written; 0 while it is live.",
            |it| it.delay.into();
        text "last_error", "Why it has failed.", |it| it.last_error.clone().into();
    },
    items: |input| input.port.streams.change_readers().views(),
};
