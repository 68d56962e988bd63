//! The replicas that the proxy feeds.

use replication::ReplicaView;

use super::replication::utc;
use crate::table::{Asks, Schema, TableDefinition, columns};

/// See the module.
pub static TABLE: TableDefinition<ReplicaView> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "fed_replicas",
    about: "The replicas that get their transactions from this proxy now: listeners with serves = \"replication\".",
    asks: Asks::Nothing,
    columns: columns! {
        text "cluster", "The cluster whose transactions the replica gets.", |it| (&it.cluster).into();
        text "replica", "The replica's server_uuid (MySQL) or server_id (MariaDB).", |it| (&it.identity).into();
        text "client", "The account and the address that it has connected with.", |it| (&it.name).into();
        text "since", "When its stream began, in UTC.", |it| utc(it.since);
        text "state", "live: the replica has been sent everything that the proxy has; catching_up: it has not.",
            |it| state(it).into();
        text "file", "The relay file of the last event that was sent.", |it| (&it.file).into();
        integer "position", "The position in the file at which that event ends, in bytes.", |it| it.position.into();
        integer "events", "Events that were sent since the stream began.", |it| it.events.into();
        measure "bytes" ["bytes"], "Bytes that were sent since the stream began.", |it| it.bytes.into();
    },
    items: |input| input.port.streams.feeds().views(),
};

fn state(replica: &ReplicaView) -> &'static str {
    match replica.is_live {
        true => "live",
        false => "catching_up",
    }
}
