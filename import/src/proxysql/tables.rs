//! ProxySQL's tables, from a file or from the admin port.

use std::collections::BTreeMap;

use crate::libconfig::{self, Setting, Value};
use crate::output::{Origin, Output};
use crate::source::Refusal;

/// The tables that are read from an admin port.
pub const ADMIN_TABLES: &[&str] = &[
    "global_variables",
    "mysql_servers",
    "mysql_users",
    "mysql_query_rules",
    "mysql_query_rules_fast_routing",
    "mysql_replication_hostgroups",
    "mysql_group_replication_hostgroups",
    "mysql_galera_hostgroups",
    "mysql_aws_aurora_hostgroups",
    "mysql_hostgroup_attributes",
    "mysql_servers_ssl_params",
    "mysql_firewall_whitelist_rules",
    "scheduler",
    "proxysql_servers",
    "restapi_routes",
    "pgsql_servers",
    "clickhouse_users",
];

/// Names in the file that differ from the names in the tables.
const SYNONYMS: &[(&str, &str)] = &[
    ("address", "hostname"),
    ("host", "hostname"),
    ("hostgroup", "hostgroup_id"),
    ("user", "username"),
    ("flag_in", "flagIN"),
    ("flag_out", "flagOUT"),
    ("flagin", "flagIN"),
    ("flagout", "flagOUT"),
];

/// A row of an admin table: the table's name, and the columns that are not NULL.
pub type AdminRow = (String, Vec<(String, String)>);

/// A row.
#[derive(Debug, Default)]
pub struct Row {
    /// Its line in the file.
    pub line: Option<usize>,
    columns: Vec<(Option<usize>, String, String)>,
}

/// A variable, with its prefix: `mysql-threads`.
#[derive(Debug)]
pub struct Variable {
    /// Its line in the file.
    pub line: Option<usize>,
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// All tables and variables.
#[derive(Debug, Default)]
pub struct Tables {
    tables: BTreeMap<String, Vec<Row>>,
    /// Variables, in their order.
    pub variables: Vec<Variable>,
}

impl Row {
    /// A column's value, unless it is NULL or empty.
    pub fn get(&self, column: &str) -> Option<&str> {
        let found = self
            .columns
            .iter()
            .rev()
            .find(|(_, name, _)| name == column);
        found
            .map(|(_, _, value)| value.as_str())
            .filter(|it| !it.is_empty())
    }

    /// A column as a number.
    pub fn number(&self, column: &str) -> Option<u64> {
        self.get(column)?.trim().parse().ok()
    }

    /// Whether a column is true; `default` if it has no value.
    pub fn truth(&self, column: &str, default: bool) -> bool {
        self.get(column)
            .map_or(default, |it| matches!(it, "1" | "true"))
    }

    /// The place of a column, for notes.
    pub fn origin(&self, table: &str, column: &str) -> Origin {
        let found = self
            .columns
            .iter()
            .rev()
            .find(|(_, name, _)| name == column);
        let (line, value) = found.map_or((None, ""), |(line, _, value)| (*line, value));
        Origin::new(line.or(self.line), &format!("{table}.{column}"), value)
    }

    /// Every column that has a value.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns
            .iter()
            .filter(|(.., value)| !value.is_empty())
            .map(|(_, name, _)| name.as_str())
    }
}

impl Tables {
    /// Reads the tables from a file.
    ///
    /// # Errors
    /// The first place that cannot be read.
    pub fn of_file(text: &str) -> Result<Self, Refusal> {
        let mut tables = Self::default();
        for Setting { name, line, value } in libconfig::read(text)? {
            match value {
                Value::Scalar(value) => tables.variables.push(Variable {
                    line: Some(line),
                    name,
                    value,
                }),
                Value::Group(settings) => tables.add_variables(&name, settings),
                Value::List(values) => {
                    let rows = values
                        .into_iter()
                        .filter_map(|(line, value)| row(line, value));
                    tables.tables.entry(name).or_default().extend(rows);
                }
            }
        }
        Ok(tables)
    }

    /// Reads the tables from an admin port's rows.
    ///
    /// # Errors
    /// There are too many rows.
    pub fn of_admin(rows: &[AdminRow]) -> Result<Self, Refusal> {
        if rows.len() > 500_000 {
            return Err(Refusal::whole(
                "the tables have more than 500000 rows",
                "import from a file",
            ));
        }
        let mut tables = Self::default();
        for (table, columns) in rows {
            let column = |wanted: &str| {
                columns
                    .iter()
                    .find(|(name, _)| name == wanted)
                    .map(|(_, it)| it.clone())
            };
            if table == "global_variables" {
                if let (Some(name), Some(value)) =
                    (column("variable_name"), column("variable_value"))
                {
                    tables.variables.push(Variable {
                        line: None,
                        name,
                        value,
                    });
                }
                continue;
            }
            let columns = columns
                .iter()
                .map(|(name, value)| (None, synonym(name), value.clone()));
            let row = Row {
                line: None,
                columns: columns.collect(),
            };
            tables.tables.entry(table.clone()).or_default().push(row);
        }
        Ok(tables)
    }

    fn add_variables(&mut self, group: &str, settings: Vec<Setting>) {
        let prefix = group.strip_suffix("_variables").unwrap_or(group);
        for Setting { name, line, value } in settings {
            let Value::Scalar(value) = value else {
                continue;
            };
            let is_whole = name.starts_with("mysql-") || name.starts_with("admin-");
            let name = if is_whole {
                name
            } else {
                format!("{prefix}-{name}")
            };
            self.variables.push(Variable {
                line: Some(line),
                name,
                value,
            });
        }
    }

    /// The rows of a table.
    pub fn rows(&self, table: &str) -> impl Iterator<Item = &Row> {
        self.tables.get(table).into_iter().flatten()
    }

    /// The value of a variable: the last one counts.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables
            .iter()
            .rev()
            .find(|it| it.name == name)
            .map(|it| it.value.as_str())
    }

    /// Adds notes about tables that no other module translates.
    pub fn note_other_tables(&self, output: &mut Output<'_>) {
        for (table, rows) in &self.tables {
            let Some(row) = rows.first() else { continue };
            let (reason, nearest) = match table.as_str() {
                "mysql_servers"
                | "mysql_users"
                | "mysql_query_rules"
                | "mysql_replication_hostgroups"
                | "mysql_group_replication_hostgroups"
                | "mysql_galera_hostgroups"
                | "mysql_aws_aurora_hostgroups"
                | "mysql_hostgroup_attributes" => continue,
                "scheduler" => (
                    "Pilotfish starts no programs; roles, lag and Galera's states are read by the proxy itself",
                    "leave checkers out; run other programs by cron or systemd timers, over the admin port",
                ),
                "proxysql_servers" => (
                    "proxies do not copy their configuration to one another",
                    "give every proxy the same file, and reload it",
                ),
                "mysql_servers_ssl_params" => (
                    "TLS towards backends is the same for all of them",
                    "one backend_tls.ca file may hold several authorities",
                ),
                "mysql_query_rules_fast_routing" => (
                    "there is no table of users and schemas",
                    "account.routing.cluster for users, a [[rule]] with schema and cluster for schemas",
                ),
                name if name.starts_with("mysql_firewall") => (
                    "there is no firewall table",
                    "[[rule]] with digest for what is allowed, and a last rule with refuse",
                ),
                "restapi_routes" => (
                    "there are no routes of one's own",
                    "the HTTP port has all tables as JSON",
                ),
                name if name.starts_with("pgsql") => {
                    ("Pilotfish does not speak PostgreSQL's protocol", "")
                }
                name if name.starts_with("clickhouse") => {
                    ("Pilotfish does not speak to ClickHouse", "")
                }
                _ => ("this import does not know the table", ""),
            };
            let origin = Origin::named(row.line, format!("{table} ({} rows)", rows.len()));
            output.lost(&origin, reason, nearest);
        }
    }
}

fn row(line: usize, value: Value) -> Option<Row> {
    let Value::Group(settings) = value else {
        return None;
    };
    let columns = settings.into_iter().filter_map(|it| match it.value {
        Value::Scalar(value) => Some((Some(it.line), synonym(&it.name), value)),
        _ => None,
    });
    Some(Row {
        line: Some(line),
        columns: columns.collect(),
    })
}

fn synonym(name: &str) -> String {
    let found = SYNONYMS.iter().find(|(other, _)| *other == name);
    found.map_or(name, |(_, own)| own).to_owned()
}
