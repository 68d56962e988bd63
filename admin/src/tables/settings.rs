//! Every setting, with its value and its default.

use config::manual::plain;
use config::{
    ACCOUNT, ADMIN_ACCOUNT, AccountConfig, AdminAccountConfig, BACKEND, BackendConfig, Config,
    LISTENER, ListenerConfig, RULE, RuleConfig, Section,
};

use crate::defined::Defined;
use crate::table::{Alterable, Asks, Schema, TableDefinition, Target, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: Defined<SettingRow> = Defined {
    table: SHEET,
    alterable: Alterable {
        target: Target::Settings,
        aliases: &[],
        keys: || vec!["value"],
        position_column: None,
        title: |row| Ok(row.text("name")),
    },
    definition: None,
};

const SHEET: TableDefinition<SettingRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "settings",
    about: "Every setting, as it holds now; values can be changed. They are written as in the file; secrets are \
            hidden.",
    asks: Asks::Nothing,
    columns: columns! {
        text "name", "Its name, as in the manual; of lists with the item's name.", |it| it.name.clone().into();
        text "value", "The value of the setting.", |it| it.value.clone().into();
        text "default_value", "The default value of the setting.", |it| it.default.clone().into();
        integer "is_default", "Whether the two are the same.", |it| (it.value == it.default).into();
        text "section", "The heading that it has in the manual.", |it| it.section.into();
        text "applies", "When a change takes effect.", |it| it.applies.into();
        text "about", "The purpose of the setting.", |it| it.about.clone().into();
    },
    items,
};

/// One setting.
pub struct SettingRow {
    /// Its name.
    pub name: String,
    /// The value; secrets are hidden.
    pub value: String,
    default: String,
    section: &'static str,
    applies: &'static str,
    about: String,
}

/// All settings; of lists, only those that differ from their default.
pub fn items(input: &TableInput) -> Vec<SettingRow> {
    let config: &Config = &input.config;
    let default = Config::default();
    let mut items = Vec::new();
    for (section, setting) in config::sections_and_settings() {
        items.push(SettingRow {
            section: section.title,
            name: setting.name.to_owned(),
            value: plain(&(setting.show)(config)),
            default: plain(&(setting.show)(&default)),
            applies: setting.traits.applies.describe(),
            about: setting.about(),
        });
    }
    for it in &config.backends {
        let bare = BackendConfig::new(it.address.clone(), it.role);
        of_list(&BACKEND, &it.name, it, &bare, &mut items);
    }
    for it in &config.listeners {
        let bare = ListenerConfig::default();
        of_list(&LISTENER, &it.address.to_string(), it, &bare, &mut items);
    }
    for it in &config.configured_accounts {
        let bare = AccountConfig::default();
        of_list(&ACCOUNT, &it.title(), it, &bare, &mut items);
    }
    for it in &config.rules {
        of_list(&RULE, &it.name, it, &RuleConfig::default(), &mut items);
    }
    for it in &config.admin_accounts {
        let bare = AdminAccountConfig::default();
        of_list(&ADMIN_ACCOUNT, &it.user, it, &bare, &mut items);
    }
    items
}

/// The settings of one item of a list: those that are not at their default.
fn of_list<T>(section: &Section<T>, title: &str, item: &T, bare: &T, items: &mut Vec<SettingRow>) {
    let differs = |it: &&config::Setting<T>| it.traits.required || !(it.same)(item, bare);
    for setting in section.settings.iter().filter(differs) {
        items.push(SettingRow {
            section: section.title,
            name: format!("{}[{title}].{}", section.name, setting.key),
            value: plain(&(setting.show)(item)),
            default: plain(&(setting.show)(bare)),
            applies: setting.traits.applies.describe(),
            about: setting.about(),
        });
    }
}
