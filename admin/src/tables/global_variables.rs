//! Settings by the names that ProxySQL has for them, where they mean the same: changes wait until LOAD MYSQL
//! VARIABLES TO RUNTIME.

use config::manual::plain;
use config::{Config, Edit, Kind};

use super::waiting::{Waiting, alterable, awaited};
use crate::fault::Fault;
use crate::material::Material;
use crate::sheet::{Altered, Asks, Cell, Column, Schema, Sheet, text};

/// See the module.
pub static TABLE: Waiting<Item> = Waiting {
    sheet: Sheet {
        schema: Schema::Main,
        name: "global_variables",
        about: "Settings by the names of ProxySQL, where they mean the same; all of them are in settings. Values can be \
                changed, and changes wait until LOAD MYSQL VARIABLES TO RUNTIME.",
        asks: Asks::Waiting,
        columns: COLUMNS,
        items: |material| items(awaited(material)),
    },
    alterable: alterable(edit),
    unique: &["variable_name"],
    order: |_, _| {},
};

/// The same as they hold.
pub static RUNTIME: Sheet<Item> = Sheet {
    schema: Schema::Main,
    name: "runtime_global_variables",
    about: "Settings as they hold by the names of ProxySQL, where they mean the same.",
    asks: Asks::Nothing,
    columns: COLUMNS,
    items: |material| items(&material.config),
};

const COLUMNS: &[Column<Item>] = &[
    text("variable_name", "Its name there.", |it| it.variable.into()),
    text(
        "variable_value",
        "What it is; no password is shown: NULL.",
        |it| it.value.clone(),
    ),
];

/// ProxySQL's name and ours.
const VARIABLES: [(&str, &str); 18] = [
    ("admin-mysql_ifaces", "admin.address"),
    ("mysql-auditlog_filename", "audit_log.file"),
    ("mysql-connect_timeout_client", "limits.timeout_login"),
    ("mysql-connect_timeout_server", "health.timeout_connect"),
    ("mysql-connect_timeout_server_max", "pool.timeout_wait"),
    ("mysql-connection_max_age_ms", "pool.age_max"),
    ("mysql-eventslog_filename", "query_log.file"),
    ("mysql-interfaces", "listen"),
    ("mysql-long_query_time", "insight.slow_statements"),
    ("mysql-max_allowed_packet", "limits.packet_bytes_max"),
    ("mysql-max_connections", "limits.sessions_max"),
    ("mysql-max_stmts_per_connection", "pool.prepared_max"),
    ("mysql-monitor_password", "health.monitor_password"),
    ("mysql-monitor_username", "health.monitor_user"),
    ("mysql-ping_interval_server_msec", "pool.ping_interval"),
    ("mysql-query_digests", "insight.digests"),
    ("mysql-threads", "workers"),
    ("mysql-wait_timeout", "limits.timeout_idle"),
];

/// The variable of this name, in whatever case.
pub fn variable(name: &str) -> Option<&'static str> {
    let mut variables = VARIABLES.iter();
    let found = variables.find(|(variable, _)| variable.eq_ignore_ascii_case(name));
    found.map(|(variable, _)| *variable)
}

/// One variable.
pub struct Item {
    variable: &'static str,
    value: Cell,
}

fn items(config: &Config) -> Vec<Item> {
    let items = VARIABLES.iter().filter_map(|(variable, name)| {
        let setting = config::settings().find(|it| it.name == *name)?;
        let shown = plain(&(setting.show)(config));
        let value = match setting.kind {
            // How long a password is, is nobody's matter either.
            _ if name.ends_with("password") => Cell::Null,
            Kind::Duration => milliseconds(&shown).map_or(Cell::Null, |it| it.to_string().into()),
            Kind::Size => bytes(&shown).map_or(Cell::Null, |it| it.to_string().into()),
            Kind::List(_) => shown
                .trim_matches(['[', ']'])
                .replace('"', "")
                .replace(", ", ";")
                .into(),
            _ => shown.into(),
        };
        Some(Item { variable, value })
    });
    items.collect()
}

/// A duration as it is shown, in milliseconds.
fn milliseconds(shown: &str) -> Option<u128> {
    config::read_duration(shown).map(|it| it.as_millis())
}

/// A size as it is shown, in bytes.
fn bytes(shown: &str) -> Option<u64> {
    let (number, unit) = shown.split_at(
        shown
            .find(|it: char| !it.is_ascii_digit())
            .unwrap_or(shown.len()),
    );
    let shift = match unit {
        "" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_shl(shift)
}

fn edit(altered: &Altered<'_>, _: &Material) -> Result<Edit, Fault> {
    let (Some(before), Some(after)) = (&altered.before, &altered.after) else {
        return Err(Fault::not_alterable(
            "These are the variables that mean a setting here; they are neither added nor taken out. All settings are in \
             settings",
        ));
    };
    if altered.assigned.contains("variable_name") {
        return Err(Fault::not_alterable("variable_name cannot be set"));
    }
    let name = before.text("variable_name");
    let found = VARIABLES.iter().find(|(variable, _)| *variable == name);
    let setting = found.and_then(|(_, name)| config::settings().find(|it| it.name == *name));
    let Some(setting) = setting else {
        return Err(Fault::not_alterable(format!(
            "There is no variable {name} here"
        )));
    };
    let value = after.text("variable_value");
    if setting.kind == Kind::Secret && value.is_empty() {
        return Err(Fault::wrong_value(format!(
            "{name} is shown as NULL and cannot be taken away here: give one, or alter the table settings"
        )));
    }
    let is_number = !value.is_empty() && value.bytes().all(|it| it.is_ascii_digit());
    let value = match setting.kind {
        Kind::Duration if is_number => format!("{value}ms"),
        Kind::List(_) => value.replace(';', ", "),
        _ => value,
    };
    Ok(Edit::Set {
        setting: setting.name.to_owned(),
        value: Some(value).filter(|it| !it.is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_is_a_setting_in_the_units_of_there() {
        let items = items(&Config::default());
        assert_eq!(items.len(), VARIABLES.len());
        let value = |name: &str| {
            let item = items.iter().find(|it| it.variable == name);
            item.map(|it| it.value.clone())
        };
        let text = |text: &str| Some(Cell::Text(text.to_owned()));
        assert_eq!(value("mysql-connect_timeout_client"), text("10000"));
        assert_eq!(value("mysql-max_allowed_packet"), text("1073741824"));
        assert_eq!(value("mysql-max_connections"), text("20000"));
        assert_eq!(value("mysql-interfaces"), text("0.0.0.0:4040"));
        assert_eq!(value("mysql-query_digests"), text("true"));
        assert_eq!(value("mysql-monitor_password"), Some(Cell::Null));
    }
}
