//! The configuration as MySQL Proxy's first admin port showed it: its own names for where things listen and
//! stand, then every setting.

use config::ListenAddress;

use crate::material::Material;
use crate::sheet::{Asks, Schema, Sheet, text};

use super::settings;

/// See the module.
pub static TABLE: Sheet<Item> = Sheet {
    schema: Schema::Pilotfish,
    name: "proxy_config",
    about: "The configuration as MySQL Proxy 0.5 showed it: addresses under its names, then every setting.",
    asks: Asks::Nothing,
    columns: &[
        text("option", "Its name.", |it| it.option.clone().into()),
        text("value", "What it is.", |it| it.value.clone().into()),
    ],
    items,
};

/// One of them.
pub struct Item {
    option: String,
    value: String,
}

fn items(material: &Material) -> Vec<Item> {
    let config = &material.config;
    let listed = |addresses: &[ListenAddress]| {
        let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        addresses.join(",")
    };
    let mut items = vec![
        Item {
            option: "admin.address".to_owned(),
            value: listed(&config.admin.address),
        },
        Item {
            option: "proxy.address".to_owned(),
            value: listed(&config.listen),
        },
    ];
    let backends = config.backends.iter().enumerate();
    items.extend(backends.map(|(index, backend)| Item {
        option: format!("proxy.backend_addresses[{index}]"),
        value: backend.address.to_string(),
    }));
    // Said above, as it was said there.
    let others = settings::items(material).into_iter();
    let others = others.filter(|setting| setting.name != "admin.address");
    items.extend(others.map(|setting| Item {
        option: setting.name,
        value: setting.value,
    }));
    items
}
