//! The facts that a server tells about itself and about the servers that replicate with it.

use std::collections::BTreeSet;

use crate::admin_client::{AdminAddress, AdminClient, Cell};

/// One server.
#[derive(Clone, Debug)]
pub struct FoundServer {
    /// The address at which the proxy reaches it.
    pub address: AdminAddress,
    /// Its kind and version; `None` if it did not answer.
    pub identity: Option<Identity>,
    /// Why it did not answer.
    pub fault: Option<String>,
}

/// The kind and version of a server.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Whether it is MariaDB.
    pub is_mariadb: bool,
    /// Its version.
    pub version: String,
    /// Whether it refuses writes.
    pub is_read_only: bool,
    /// Whether transactions have GTIDs.
    pub has_gtids: bool,
}

/// All servers that were found; the primary comes first.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The servers.
    pub servers: Vec<FoundServer>,
    /// The number of client accounts.
    pub accounts: Option<u64>,
}

/// The most servers that are asked.
const SERVERS_MAX: usize = 64;

impl Findings {
    /// Asks the server, then the servers that it names, and so on.
    ///
    /// # Errors
    /// The first server does not answer.
    pub fn of(address: &AdminAddress) -> Result<Self, String> {
        let mut waiting = vec![address.clone()];
        let mut seen = BTreeSet::new();
        let mut servers: Vec<FoundServer> = Vec::new();
        let mut accounts = None;
        while let Some(next) = waiting.pop() {
            if !seen.insert(next.to_string()) || servers.len() >= SERVERS_MAX {
                continue;
            }
            let mut client = AdminClient::new(&next, "").map_err(|error| error.to_string())?;
            let identity = match client.query("SELECT VERSION()") {
                Ok(_) => Identity::of(&mut client),
                Err(error) if servers.is_empty() => return Err(error.to_string()),
                Err(error) => {
                    servers.push(FoundServer {
                        address: next,
                        identity: None,
                        fault: Some(error.to_string()),
                    });
                    continue;
                }
            };
            accounts = accounts.or_else(|| count_accounts(&mut client));
            waiting.extend(neighbours(&mut client, &next));
            servers.push(FoundServer {
                address: next,
                identity: Some(identity),
                fault: None,
            });
        }
        // The server that takes writes comes first, then those that answer.
        servers.sort_by_key(|it| {
            it.identity
                .as_ref()
                .map_or(2, |it| u8::from(it.is_read_only))
        });
        Ok(Self { servers, accounts })
    }

    /// The server that takes writes.
    pub fn primary(&self) -> &FoundServer {
        &self.servers[0]
    }

    /// Servers that answered.
    pub fn reached(&self) -> impl Iterator<Item = &FoundServer> {
        self.servers.iter().filter(|it| it.identity.is_some())
    }
}

impl Identity {
    fn of(client: &mut AdminClient) -> Self {
        let mut value = |sql: &str| {
            let row = first_row(client, sql);
            row.and_then(|it| it.into_iter().next())
                .map(|(_, value)| value)
                .unwrap_or_default()
        };
        let version = value("SELECT VERSION()");
        let is_mariadb = version.contains("MariaDB");
        let has_gtids = match is_mariadb {
            // MariaDB numbers every transaction that it logs.
            true => value("SELECT @@log_bin") == "1",
            false => value("SELECT @@gtid_mode").starts_with("ON"),
        };
        let is_read_only = !matches!(value("SELECT @@read_only").as_str(), "0" | "OFF" | "");
        Self {
            is_mariadb,
            version,
            is_read_only,
            has_gtids,
        }
    }

    /// `MariaDB 11.8.2`.
    pub fn title(&self) -> String {
        let family = if self.is_mariadb { "MariaDB" } else { "MySQL" };
        let number = self.version.split(['-', '+']).next().unwrap_or("");
        format!("{family} {number}")
    }
}

/// The number of accounts that may log in; `None` if the account may not count them.
fn count_accounts(client: &mut AdminClient) -> Option<u64> {
    let sql = "SELECT COUNT(*) FROM mysql.user WHERE user NOT IN ('', 'mysql.sys', 'mysql.session', \
               'mysql.infoschema', 'mariadb.sys')";
    first_row(client, sql)?.into_iter().next()?.1.parse().ok()
}

/// The servers that a server names: its primary, its replicas, and the members of its group.
fn neighbours(client: &mut AdminClient, own: &AdminAddress) -> Vec<AdminAddress> {
    let mut found = Vec::new();
    let get = |row: &[(String, String)], names: &[&str]| {
        let value = row.iter().find(|(name, _)| names.contains(&name.as_str()));
        value.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    for sql in [
        "SHOW REPLICA STATUS",
        "SHOW ALL SLAVES STATUS",
        "SHOW SLAVE STATUS",
    ] {
        let rows = all_rows(client, sql);
        for row in &rows {
            let host = get(row, &["Source_Host", "Master_Host"]);
            let port = get(row, &["Source_Port", "Master_Port"]);
            found.push((host, port));
        }
        if !rows.is_empty() {
            break;
        }
    }
    found.extend(replicas(client, own));
    let members = "SELECT MEMBER_HOST, MEMBER_PORT FROM performance_schema.replication_group_members \
                   WHERE MEMBER_HOST <> ''";
    for row in all_rows(client, members) {
        found.push((get(&row, &["MEMBER_HOST"]), get(&row, &["MEMBER_PORT"])));
    }
    for row in all_rows(client, "SHOW STATUS LIKE 'wsrep_incoming_addresses'") {
        let addresses = get(&row, &["Value"]);
        let pairs = addresses
            .split(',')
            .filter_map(|it| it.trim().rsplit_once(':'));
        found.extend(pairs.map(|(host, port)| (host.to_owned(), port.to_owned())));
    }
    let usable = found.into_iter().filter_map(|(host, port)| {
        let port = port.parse().ok().filter(|it| *it != 0)?;
        let is_known = !host.is_empty() && host != "AUTO";
        is_known.then(|| same_user_at(own, same_machine(&host, own), port))
    });
    usable.collect()
}

/// The replicas of a server. A replica that reports no host is taken to be at the host that its connection comes from.
fn replicas(client: &mut AdminClient, own: &AdminAddress) -> Vec<(String, String)> {
    let mut rows = all_rows(client, "SHOW REPLICAS");
    if rows.is_empty() {
        rows = all_rows(client, "SHOW SLAVE HOSTS");
    }
    let threads = "SELECT DISTINCT SUBSTRING_INDEX(HOST, ':', 1) AS host FROM information_schema.PROCESSLIST \
                   WHERE COMMAND LIKE 'Binlog Dump%'";
    let hosts: Vec<String> = all_rows(client, threads)
        .into_iter()
        .filter_map(|it| it.into_iter().next())
        .map(|(_, host)| host)
        .collect();
    let get = |row: &[(String, String)], name: &str| {
        row.iter()
            .find(|(it, _)| it == name)
            .map(|(_, value)| value.clone())
            .unwrap_or_default()
    };
    let replica = |row: Vec<(String, String)>| {
        let host = match (get(&row, "Host"), hosts.as_slice()) {
            (host, _) if !host.is_empty() => host,
            (_, [one]) => one.clone(),
            _ => return None,
        };
        Some((same_machine(&host, own).to_owned(), get(&row, "Port")))
    };
    rows.into_iter().filter_map(replica).collect()
}

/// Replaces a server's `localhost` by the host name of that server.
fn same_machine<'a>(host: &'a str, own: &'a AdminAddress) -> &'a str {
    match host {
        "localhost" | "127.0.0.1" | "::1" if own.port.is_some() => &own.host,
        host => host,
    }
}

/// The address of another server, with the same user.
fn same_user_at(address: &AdminAddress, host: &str, port: u16) -> AdminAddress {
    AdminAddress {
        host: host.to_owned(),
        port: Some(port),
        ..address.clone()
    }
}

/// Asks for the first row of a statement; `None` if the server refuses it.
fn first_row(client: &mut AdminClient, sql: &str) -> Option<Vec<(String, String)>> {
    all_rows(client, sql).into_iter().next()
}

/// Asks for all rows, each value with its column's name.
fn all_rows(client: &mut AdminClient, sql: &str) -> Vec<Vec<(String, String)>> {
    let Ok(answer) = client.query(sql) else {
        return Vec::new();
    };
    let named = |row: &Vec<Cell>| {
        let cells = answer
            .columns
            .iter()
            .cloned()
            .zip(row.iter().map(|it| it.text().to_owned()));
        cells.collect()
    };
    answer.rows.iter().map(named).collect()
}
