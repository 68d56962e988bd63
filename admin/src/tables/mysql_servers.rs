//! The backends as ProxySQL's admin schema has them: changes wait until LOAD MYSQL SERVERS TO RUNTIME.

use config::{BackendAddress, BackendConfig, Edit};

use super::waiting::{cluster, hostgroup};
use crate::fault::Fault;
use crate::material::Material;
use crate::sheet::{
    Alterable, Altered, Asks, Cell, ColumnFacts, Row, Schema, Sheet, Table, Target, integer, text,
};

/// See the module.
pub static TABLE: Servers = Servers;

/// See the module.
pub struct Servers;

static ALTERABLE: Alterable = Alterable {
    target: Target::Memory(edit),
    aliases: &[],
    keys: Vec::new,
    place: None,
    title: |row| Ok(row.text("comment")),
};

const SHEET: Sheet<Server> = Sheet {
    schema: Schema::Main,
    name: "mysql_servers",
    about: "The backends by the names of ProxySQL; a hostgroup is a cluster. Rows can be changed, and changes wait \
            until LOAD MYSQL SERVERS TO RUNTIME.",
    asks: Asks::Waiting,
    columns: &[
        integer(
            "hostgroup_id",
            "The cluster's number; NULL: it is new.",
            |it| it.hostgroup.into(),
        ),
        text("hostname", "The host, or the path of a socket.", |it| {
            it.place().0.into()
        }),
        integer("port", "The port; 0 for a socket.", |it| {
            it.place().1.into()
        }),
        integer("gtid_port", "Not needed here: 0.", |_| 0_u32.into()),
        text(
            "status",
            "ONLINE, OFFLINE_SOFT (draining) or OFFLINE_HARD (disabled).",
            |it| match (it.config.disable, it.config.drain) {
                (true, _) => "OFFLINE_HARD".into(),
                (false, true) => "OFFLINE_SOFT".into(),
                (false, false) => "ONLINE".into(),
            },
        ),
        integer("weight", "Its share relative to the others'.", |it| {
            it.config.weight.into()
        }),
        integer(
            "compression",
            "The setting compression.backend says it: 0.",
            |_| 0_u32.into(),
        ),
        integer(
            "max_connections",
            "Sessions that it takes at most; NULL: no limit of its own.",
            |it| it.config.sessions_max.into(),
        ),
        integer(
            "max_replication_lag",
            "Seconds that it may lag; 0: no limit of its own.",
            |it| it.config.lag_max.map_or(0, |max| max.as_secs()).into(),
        ),
        integer(
            "use_ssl",
            "The setting backend_tls.mode says it: 0.",
            |_| 0_u32.into(),
        ),
        integer("max_latency_ms", "There is no such limit: 0.", |_| {
            0_u32.into()
        }),
        text("comment", "Its name here.", |it| {
            it.config.name.clone().into()
        }),
    ],
    items: |material| {
        let config = match &material.memory {
            Some(memory) => &memory.config,
            None => &material.config,
        };
        let server = |config: &BackendConfig| Server {
            hostgroup: hostgroup(material, &config.cluster),
            config: config.clone(),
        };
        config.backends.iter().map(server).collect()
    },
};

/// One backend, as it is configured.
pub struct Server {
    hostgroup: Option<u32>,
    config: BackendConfig,
}

impl Server {
    fn place(&self) -> (String, u16) {
        match &self.config.address {
            BackendAddress::Tcp { host, port } => (host.clone(), *port),
            BackendAddress::Unix(path) => (path.display().to_string(), 0),
        }
    }
}

impl Table for Servers {
    fn schema(&self) -> Schema {
        SHEET.schema
    }

    fn name(&self) -> &'static str {
        SHEET.name
    }

    fn about(&self) -> &'static str {
        SHEET.about
    }

    fn asks(&self) -> Asks {
        SHEET.asks
    }

    fn columns(&self) -> Vec<ColumnFacts> {
        SHEET.columns()
    }

    fn rows(&self, material: &Material) -> Vec<Vec<Cell>> {
        SHEET.rows(material)
    }

    fn unique(&self) -> &'static [&'static str] {
        &["hostgroup_id", "hostname", "port"]
    }

    fn alterable(&self) -> Option<&Alterable> {
        Some(&ALTERABLE)
    }
}

/// What a changed row means for `[[backend]]`.
fn edit(altered: &Altered<'_>, material: &Material) -> Result<Edit, Fault> {
    let list = config::BACKEND.name;
    match (&altered.before, &altered.after) {
        (Some(before), None) => Ok(Edit::Remove {
            list,
            title: before.text("comment"),
        }),
        (Some(before), Some(after)) => Ok(Edit::Change {
            list,
            title: before.text("comment"),
            values: changed(after, altered, material)?,
            place: None,
        }),
        (None, Some(after)) => Ok(Edit::Add {
            list,
            values: added(after, material)?,
            place: None,
        }),
        (None, None) => Err(Fault::not_alterable("Nothing has become of this row")),
    }
}

type Value = (String, Option<String>);

fn changed(
    after: &Row<'_>,
    altered: &Altered<'_>,
    material: &Material,
) -> Result<Vec<Value>, Fault> {
    let mut values = Vec::new();
    for column in altered.assigned {
        values.extend(value(column, after, material)?);
    }
    Ok(values)
}

/// A row that has come: what it does not say is left to the defaults, and a role that can be found out is.
fn added(after: &Row<'_>, material: &Material) -> Result<Vec<(String, String)>, Fault> {
    let mut values = Vec::new();
    for column in SHEET.columns {
        let name = column.name();
        // Either says the whole address.
        if name == "port" || (name != "hostname" && after.text(name).is_empty()) {
            continue;
        }
        let said = value(name, after, material)?.into_iter();
        values.extend(said.filter_map(|(key, value)| Some((key, value?))));
    }
    if material.config.health.monitor_user.is_some() {
        values.push(("role".to_owned(), "auto".to_owned()));
    }
    Ok(values)
}

/// What one column means.
fn value(column: &str, row: &Row<'_>, material: &Material) -> Result<Vec<Value>, Fault> {
    let text = row.text(column);
    let said = |key: &str, value: Option<String>| Ok(vec![(key.to_owned(), value)]);
    let is = |key: &str, is_so: bool| (key.to_owned(), is_so.then(|| "true".to_owned()));
    let off = |drains, is_disabled| Ok(vec![is("drain", drains), is("disable", is_disabled)]);
    let given = || Some(text.clone()).filter(|it| !it.is_empty());
    match column {
        "hostgroup_id" => said("cluster", Some(cluster(&text, material)?)),
        "hostname" | "port" => said("address", Some(address(row))),
        "status" => match &*text.to_ascii_uppercase() {
            "ONLINE" => off(false, false),
            "OFFLINE_SOFT" => off(true, false),
            "OFFLINE_HARD" => off(false, true),
            _ => Err(Fault::wrong_value(format!(
                "status is ONLINE, OFFLINE_SOFT or OFFLINE_HARD here, not {text:?}"
            ))),
        },
        "weight" => said("weight", given()),
        "max_connections" => said("sessions_max", given()),
        "max_replication_lag" => said("lag_max", given().filter(|it| it != "0")),
        "comment" => said("name", given()),
        _ if text.is_empty() || text == "0" => Ok(Vec::new()),
        "use_ssl" => Err(elsewhere(column, "backend_tls.mode")),
        "compression" => Err(elsewhere(column, "compression.backend")),
        _ => Err(Fault::wrong_value(format!(
            "{column} has no meaning here and can be 0 only"
        ))),
    }
}

fn elsewhere(column: &str, setting: &str) -> Fault {
    Fault::wrong_value(format!(
        "{column} can be 0 only: the setting {setting} says it for all backends"
    ))
}

fn address(row: &Row<'_>) -> String {
    let (host, port) = (row.text("hostname"), row.text("port"));
    if host.starts_with('/') {
        return host;
    }
    let host = match host.contains(':') && !host.starts_with('[') {
        true => format!("[{host}]"),
        false => host,
    };
    match &*port {
        "" => host,
        port => format!("{host}:{port}"),
    }
}
