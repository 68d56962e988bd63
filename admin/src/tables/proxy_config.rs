//! The configuration as MySQL Proxy's first admin port showed it: its own names for the addresses of listeners
//! and backends, then every setting.

use config::ListenAddress;

use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

use super::settings;

/// See the module.
pub static TABLE: TableDefinition<ProxyConfigRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "proxy_config",
    about: "The configuration as MySQL Proxy 0.5 showed it: addresses under its names, then every setting.",
    asks: Asks::Nothing,
    columns: columns! {
        text "option", "Its name.", |it| it.option.clone().into();
        text "value", "The value of the option.", |it| it.value.clone().into();
    },
    items,
};

/// One option and its value.
pub struct ProxyConfigRow {
    option: String,
    value: String,
}

fn items(input: &TableInput) -> Vec<ProxyConfigRow> {
    let config = &input.config;
    let listed = |addresses: &[ListenAddress]| {
        let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        addresses.join(",")
    };
    let row = |option: &str, value: String| ProxyConfigRow {
        option: option.to_owned(),
        value,
    };
    let mut items = vec![
        row("admin.address", listed(&config.admin.address)),
        row("proxy.address", listed(&config.listen)),
    ];
    for (index, backend) in config.backends.iter().enumerate() {
        let option = format!("proxy.backend_addresses[{index}]");
        items.push(row(&option, backend.address.to_string()));
    }
    let streams = input.port.streams.views();
    let followed = streams.first().and_then(|stream| stream.backend.as_deref());
    let mut backends = config.backends.iter();
    let followed = followed.and_then(|name| backends.find(|it| it.name == name));
    let followed = followed.map_or_else(String::new, |it| it.address.to_string());
    items.push(row("repclient.master_address", followed));
    // `admin.address` is left out, because it is above under MySQL Proxy's name.
    let others = settings::items(input).into_iter();
    let others = others.filter(|setting| setting.name != "admin.address");
    items.extend(others.map(|setting| row(&setting.name, setting.value)));
    items
}
