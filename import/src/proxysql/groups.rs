//! Host groups, and the cluster and role that each of them becomes.

use std::collections::{BTreeMap, BTreeSet};

use super::tables::{Row, Tables};
use crate::output::{Origin, Output};

/// The meaning of a host group in Pilotfish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The cluster.
    pub cluster: String,
    /// The role of its backends: `primary`, `replica` or `any`.
    pub role: &'static str,
}

/// All host groups.
pub struct Groups {
    targets: BTreeMap<u64, Target>,
    /// Clusters in which the proxy detects the roles of the servers.
    monitored: BTreeSet<String>,
    /// Pairs of writer and reader host groups that only the rules show.
    inferred: Vec<(u64, u64)>,
}

/// Tables that pair host groups.
const TOPOLOGIES: &[&str] = &[
    "mysql_replication_hostgroups",
    "mysql_galera_hostgroups",
    "mysql_group_replication_hostgroups",
    "mysql_aws_aurora_hostgroups",
];

impl Groups {
    /// The host groups of all tables.
    pub fn of(tables: &Tables) -> Self {
        let mut groups = Self {
            targets: BTreeMap::new(),
            monitored: BTreeSet::new(),
            inferred: Vec::new(),
        };
        let used = used(tables);
        let pairs: Vec<_> = TOPOLOGIES.iter().flat_map(|it| tables.rows(it)).collect();
        for row in &pairs {
            groups.add_topology(row, pairs.len() == 1);
        }
        groups.infer(tables, &used);
        let lone = groups.targets.is_empty() && used.len() == 1;
        for group in used {
            let cluster = if lone {
                "main".to_owned()
            } else {
                format!("hg{group}")
            };
            groups.targets.entry(group).or_insert(Target {
                cluster,
                role: "primary",
            });
        }
        groups
    }

    fn add_topology(&mut self, row: &Row, is_only: bool) {
        let Some(writer) = row.number("writer_hostgroup") else {
            return;
        };
        let taken = |name: &str| self.targets.values().any(|it| it.cluster == name);
        let comment = row.get("comment").filter(|it| is_name(it) && !taken(it));
        let cluster = match comment {
            Some(comment) => comment.to_owned(),
            None if is_only => "main".to_owned(),
            None => format!("hg{writer}"),
        };
        let mut put = |group: Option<u64>, role| {
            if let Some(group) = group {
                let target = Target {
                    cluster: cluster.clone(),
                    role,
                };
                self.targets.entry(group).or_insert(target);
            }
        };
        put(Some(writer), "primary");
        put(row.number("reader_hostgroup"), "replica");
        put(row.number("backup_writer_hostgroup"), "primary");
        put(row.number("offline_hostgroup"), "replica");
        self.monitored.insert(cluster);
    }

    /// Infers a pair of host groups from a rule that sends `^SELECT` from the users' host group to another one.
    fn infer(&mut self, tables: &Tables, used: &BTreeSet<u64>) {
        let mut defaults: BTreeMap<u64, usize> = BTreeMap::new();
        for user in tables.rows("mysql_users") {
            *defaults
                .entry(user.number("default_hostgroup").unwrap_or(0))
                .or_default() += 1;
        }
        let most = defaults
            .iter()
            .max_by_key(|(_, count)| **count)
            .map(|(group, _)| *group);
        let Some(writer) = most.or(used.first().copied()) else {
            return;
        };
        let is_free = |it: &u64| !self.targets.contains_key(it);
        let readers: BTreeSet<u64> = tables
            .rows("mysql_query_rules")
            .filter(|rule| rule.truth("active", true) && is_plain_select(rule))
            .filter_map(|rule| rule.number("destination_hostgroup"))
            .filter(|group| *group != writer && is_free(group))
            .collect();
        if readers.is_empty() || !is_free(&writer) {
            return;
        }
        let cluster = "main".to_owned();
        for reader in readers {
            let shared = addresses(tables, writer)
                .intersection(&addresses(tables, reader))
                .count()
                > 0;
            let role = if shared { "any" } else { "replica" };
            self.targets.insert(
                reader,
                Target {
                    cluster: cluster.clone(),
                    role,
                },
            );
            self.inferred.push((writer, reader));
        }
        self.targets.insert(
            writer,
            Target {
                cluster,
                role: "primary",
            },
        );
    }

    /// The meaning of a host group.
    pub fn target(&self, group: u64) -> Option<&Target> {
        self.targets.get(&group)
    }

    /// Whether the proxy detects the roles of a cluster's servers.
    pub fn has_monitored_roles(&self, cluster: &str) -> bool {
        self.monitored.contains(cluster)
    }

    /// Whether a cluster has replicas of its own.
    pub fn has_replicas(&self, cluster: &str) -> bool {
        self.targets
            .values()
            .any(|it| it.cluster == cluster && it.role != "primary")
    }

    /// Whether several clusters are needed.
    pub fn are_several(&self) -> bool {
        let clusters: BTreeSet<_> = self.targets.values().map(|it| &it.cluster).collect();
        clusters.len() > 1
    }

    /// The values for `hints.hostgroups`: `"20: cluster=archive, replica"`.
    pub fn hints(&self) -> Vec<String> {
        let several = self.are_several();
        let hint = |(group, target): (&u64, &Target)| match (several, target.role) {
            (false, "any") => format!("{group}: cluster={}", target.cluster),
            (false, role) => format!("{group}: {role}"),
            (true, "any") => format!("{group}: cluster={}", target.cluster),
            (true, role) => format!("{group}: cluster={}, {role}", target.cluster),
        };
        self.targets.iter().map(hint).collect()
    }

    /// Adds notes about differences of the host groups.
    pub fn note_groups(&self, tables: &Tables, output: &mut Output<'_>) {
        for (writer, reader) in &self.inferred {
            let origin = Origin::named(None, format!("hostgroups {writer} and {reader}"));
            let reason = "the rules show that one has the primary and the other the replicas, so both are one cluster";
            output.differs(
                &origin,
                reason,
                "if they do not replicate, give their backends different clusters",
            );
        }
        for table in TOPOLOGIES {
            for row in tables.rows(table) {
                note_topology(table, row, output);
            }
        }
        note_attributes(tables, output);
    }
}

fn note_topology(table: &str, row: &Row, output: &mut Output<'_>) {
    for column in row.names() {
        let origin = row.origin(table, column);
        match column {
            "writer_hostgroup" | "reader_hostgroup" | "comment" | "active" | "check_type" => {}
            "backup_writer_hostgroup" | "offline_hostgroup" => output.unneeded(
                &origin,
                "a cluster has one primary at a time, and takes another writable server when it fails",
            ),
            "max_writers" if row.number(column) != Some(1) => output.differs(
                &origin,
                "with role = \"auto\" one writable server is the primary",
                "give the roles by hand: role = \"primary\" and independent = true for each writer",
            ),
            "max_writers" => {}
            "writer_is_also_reader" => output.unneeded(&origin, "reads go to the primary when no replica is left"),
            "max_transactions_behind" => {
                output.lost(&origin, "lag is counted in seconds", "balance.lag_max = \"2s\"");
            }
            "domain_name" | "aurora_port" | "new_reader_weight" => output.lost(
                &origin,
                "new servers are not found by themselves",
                "write every server as a [[backend]], and reload",
            ),
            "max_lag_ms" | "min_lag_ms" | "lag_num_checks" => {
                output.lost(&origin, "lag is counted in whole seconds", "balance.lag_max = \"1s\"");
            }
            _ => output.unneeded(&origin, "the proxy has its own times for looking at servers, in [health]"),
        }
    }
}

fn note_attributes(tables: &Tables, output: &mut Output<'_>) {
    const TABLE: &str = "mysql_hostgroup_attributes";
    for row in tables.rows(TABLE) {
        for column in row.names() {
            let origin = row.origin(TABLE, column);
            match column {
                "hostgroup_id" | "comment" | "autocommit" => {}
                "init_connect" => output.lost(
                    &origin,
                    "no statement is sent when a connection is opened",
                    "the server's own init_connect, or account settings of the application",
                ),
                "multiplex" => output.lost(
                    &origin,
                    "a cluster has no mode of its own",
                    "account.routing.session or rule.routing.session",
                ),
                "throttle_connections_per_sec" => {
                    output.lost(
                        &origin,
                        "the rate is the same for all backends",
                        "pool.opens_per_second",
                    );
                }
                _ => output.lost(
                    &origin,
                    "clusters have no settings of their own",
                    "[routing] and [pool] hold for all",
                ),
            }
        }
    }
}

/// Every host group that has a server.
fn used(tables: &Tables) -> BTreeSet<u64> {
    let servers = tables
        .rows("mysql_servers")
        .map(|it| it.number("hostgroup_id").unwrap_or(0));
    servers.collect()
}

fn addresses(tables: &Tables, group: u64) -> BTreeSet<(String, String)> {
    let of = |row: &Row| {
        let host = row.get("hostname").unwrap_or("").to_owned();
        (host, row.get("port").unwrap_or("3306").to_owned())
    };
    let rows = tables.rows("mysql_servers");
    rows.filter(|it| it.number("hostgroup_id").unwrap_or(0) == group)
        .map(of)
        .collect()
}

/// Whether a rule matches every SELECT.
fn is_plain_select(rule: &Row) -> bool {
    let pattern = rule
        .get("match_digest")
        .or(rule.get("match_pattern"))
        .unwrap_or("");
    let pattern = pattern.trim_start_matches("(?i)").to_ascii_uppercase();
    let rest = pattern
        .strip_prefix("^SELECT")
        .or_else(|| pattern.strip_prefix("^\\S*SELECT"));
    rest.is_some_and(|it| !it.contains("UPDATE") && !it.contains("FROM"))
}

/// Whether a word can be a cluster's name.
pub fn is_name(text: &str) -> bool {
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-' | b'.');
    !text.is_empty() && text.len() <= 40 && text.bytes().all(is_letter)
}
