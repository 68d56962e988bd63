//! Hosts whose logins failed, and whether the proxy refuses them for it.

use std::net::IpAddr;

use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<HostErrorsRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "host_errors",
    about: "Hosts whose last logins failed, and whether they are blocked by limits.connect_errors_max; FLUSH HOSTS \
            empties it.",
    asks: Asks::Nothing,
    columns: columns! {
        text "host", "The client's address.", |it| it.host.to_string().into();
        integer "errors", "How many logins have failed in a row.", |it| it.errors.into();
        integer "blocked", "1 if the proxy refuses this host with error 1129.", |it| it.is_blocked.into();
    },
    items,
};

/// One host.
pub struct HostErrorsRow {
    host: IpAddr,
    errors: u32,
    is_blocked: bool,
}

fn items(input: &TableInput) -> Vec<HostErrorsRow> {
    let max = input.config.limits.connect_errors_max;
    let all = input.data_plane.host_errors().all().into_iter();
    all.map(|(host, errors)| HostErrorsRow {
        host,
        errors,
        is_blocked: max.is_some_and(|max| errors >= max),
    })
    .collect()
}
