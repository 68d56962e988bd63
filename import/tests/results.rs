//! The results of single settings in the test configurations.

use std::time::Duration;

use config::{BalancePolicy, Consistency, ReplicaUse, Role, SessionMode};
use pilotfish_import::{ADMIN_TABLES, Imported, Level, Product, Source, import_admin_tables};

use super::{loaded, named, on_this_machine};

/// Whether a note of this level names the setting and gives the reason.
fn tells(imported: &Imported, level: Level, setting: &str, reason: &str) -> bool {
    let found = imported
        .notes
        .iter()
        .any(|it| it.level == level && it.setting.contains(setting) && it.reason.contains(reason));
    assert!(
        found,
        "no note on {setting}: {reason}\n{:#?}",
        imported.notes
    );
    found
}

#[test]
fn a_pair_of_host_groups_is_a_cluster_and_its_rules_name_roles() {
    let config = loaded(&named(Product::ProxySql, "02"));
    assert!(
        config
            .backends
            .iter()
            .all(|it| it.cluster == "shop" && it.role == Role::Auto)
    );
    let account = &config.configured_accounts[0];
    assert_eq!(
        (account.user.as_str(), account.routing.replicas),
        ("app", Some(ReplicaUse::Primary))
    );
    let rules: Vec<_> = config
        .rules
        .iter()
        .map(|it| (it.name.as_str(), it.routing.replicas, it.stop))
        .collect();
    assert_eq!(
        rules,
        [
            ("default query timeout", None, false),
            ("rule 100", Some(ReplicaUse::Primary), true),
            ("rule 200", Some(ReplicaUse::Replica), true),
        ]
    );
    assert_eq!(config.health.monitor_user.as_deref(), Some("monitor"));
    assert_eq!(config.pool.backend_connections_max, 200);
    assert_eq!(config.admin_accounts.len(), 2);
}

#[test]
fn a_rule_that_goes_on_stands_behind_those_that_would_replace_it() {
    let imported = named(Product::ProxySql, "03");
    let config = loaded(&imported);
    let names: Vec<_> = config.rules.iter().map(|it| it.name.as_str()).collect();
    // The third comes last in ProxySQL and replaces what the others say, unless the second has ended it.
    assert_eq!(names, ["rule 2", "rule 3", "rule 1"]);
    assert_eq!(config.rules[2].routing.replicas, Some(ReplicaUse::Any));
    let roles: Vec<_> = config.backends.iter().map(|it| it.role).collect();
    assert_eq!(roles, [Role::Primary, Role::Replica, Role::Replica]);
    tells(
        &imported,
        Level::Differs,
        "hostgroups 0 and 1",
        "one cluster",
    );
}

#[test]
fn chains_of_flags_are_unfolded() {
    let imported = named(Product::ProxySql, "08");
    let config = loaded(&imported);
    let rules: Vec<_> = config.rules.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        rules,
        [
            "rule 1 after rule 101",
            "rule 1 after rule 102",
            "rule 1",
            "rule 2 after rule 201",
            "rule 2",
            "rule 400"
        ]
    );
    let inner = &config.rules[0];
    assert_eq!(
        (inner.user.as_slice(), inner.routing.replicas),
        (&["web".to_owned()][..], Some(ReplicaUse::Primary))
    );
    assert_eq!(config.rules[4].timeout, Some(Duration::from_secs(600)));
    tells(
        &imported,
        Level::Unneeded,
        "rule 301",
        "no rule leads to flagIN = 300",
    );
    tells(
        &imported,
        Level::Lost,
        "rule 401",
        "two rules of the chain have a match_digest",
    );
}

#[test]
fn settings_without_a_counterpart_are_reported_with_line_and_alternative() {
    let imported = named(Product::ProxySql, "07");
    tells(&imported, Level::Lost, "cache_ttl", "no result cache");
    tells(&imported, Level::Lost, "rule 13", "another dialect");
    tells(&imported, Level::Lost, "rule 14", "hash");
    tells(&imported, Level::Lost, "rule 16", "negated");
    tells(
        &imported,
        Level::Lost,
        "replace_pattern = INSERT",
        "the rule has none",
    );
    tells(&imported, Level::Unneeded, "rule 18", "not active");
    tells(
        &imported,
        Level::Lost,
        "mysql_firewall_whitelist_users",
        "no firewall table",
    );
    let cached = imported
        .notes
        .iter()
        .find(|it| it.setting.contains("cache_ttl"))
        .unwrap();
    assert!(cached.line.is_some() && cached.nearest.is_some());
    let config = loaded(&imported);
    let rule = |name: &str| config.rules.iter().find(|it| it.name == name).unwrap();
    assert_eq!(rule("rule 10").rewrite.as_deref(), Some("USE INDEX (${1})"));
    assert_eq!(
        rule("rule 11").answer_message.as_deref(),
        Some("DROP is not allowed; $5 fine")
    );
    let lock = rule("rule 17");
    assert_eq!(lock.routing.session, Some(SessionMode::Transparent));
    assert_eq!(lock.digest_regex.as_deref(), Some("(?-i)^LOCK"));
}

#[test]
fn several_pairs_are_several_clusters() {
    let imported = named(Product::ProxySql, "06");
    let config = loaded(&imported);
    let accounts: Vec<_> = config
        .configured_accounts
        .iter()
        .map(|it| (it.user.as_str(), it.routing.cluster.as_deref()))
        .collect();
    assert_eq!(
        accounts,
        [
            ("eu", Some("one")),
            ("us", Some("two")),
            ("report", Some("two"))
        ]
    );
    assert_eq!(
        config.configured_accounts[1].routing.session,
        Some(SessionMode::Transparent)
    );
    let mirror = config.rules.iter().find(|it| it.name == "rule 3").unwrap();
    assert_eq!(mirror.mirror.as_deref(), Some("two"));
    assert_eq!(mirror.networks[0].to_string(), "10.20.0.0/16");
    assert_eq!(config.routing.session, SessionMode::Transparent);
    tells(&imported, Level::Lost, "report: password", "reference");
    tells(&imported, Level::Lost, "rule 5", "does not listen");
}

#[test]
fn passwords_are_in_no_note() {
    for product in Product::ALL {
        for file in super::configurations(*product) {
            let imported =
                super::taken_over(*product, &std::fs::read_to_string(&file).unwrap()).unwrap();
            let notes = format!("{:?}", imported.notes);
            for secret in ["secret", "m0n", "monit0r", "radmin:", "pw\"", "client's"] {
                assert!(
                    !notes.contains(secret),
                    "{}: {secret}: {notes}",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn the_admin_port_and_the_file_give_the_same_result() {
    let row = |table: &str, columns: &[(&str, &str)]| {
        let columns = columns
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        (table.to_owned(), columns.collect())
    };
    let rows = [
        row(
            "global_variables",
            &[
                ("variable_name", "mysql-interfaces"),
                ("variable_value", "0.0.0.0:6033"),
            ],
        ),
        row(
            "mysql_servers",
            &[
                ("hostgroup_id", "10"),
                ("hostname", "a"),
                ("port", "3306"),
                ("status", "ONLINE"),
            ],
        ),
        row(
            "mysql_servers",
            &[
                ("hostgroup_id", "20"),
                ("hostname", "b"),
                ("port", "3306"),
                ("status", "ONLINE"),
            ],
        ),
        row(
            "mysql_replication_hostgroups",
            &[("writer_hostgroup", "10"), ("reader_hostgroup", "20")],
        ),
        row(
            "mysql_users",
            &[
                ("username", "app"),
                ("password", "p"),
                ("default_hostgroup", "10"),
            ],
        ),
    ];
    assert!(
        rows.iter()
            .all(|(table, _)| ADMIN_TABLES.contains(&table.as_str()))
    );
    let source = Source {
        name: "127.0.0.1:6032",
        text: "",
        has_file: &on_this_machine,
    };
    let config = loaded(&import_admin_tables(&source, &rows).unwrap());
    assert_eq!(config.backends.len(), 2);
    assert_eq!(
        config.configured_accounts[0].routing.replicas,
        Some(ReplicaUse::Primary)
    );
}

#[test]
fn routers_of_maxscale_become_settings_of_listeners() {
    let config = loaded(&named(Product::MaxScale, "01"));
    let listeners: Vec<_> = config
        .listeners
        .iter()
        .map(|it| {
            (
                it.address.to_string(),
                it.routing.replicas,
                it.routing.session,
            )
        })
        .collect();
    assert_eq!(
        listeners,
        [
            (
                "0.0.0.0:4008".to_owned(),
                Some(ReplicaUse::Replica),
                Some(SessionMode::Transparent)
            ),
            ("0.0.0.0:4006".to_owned(), Some(ReplicaUse::Split), None),
        ]
    );
    assert!(config.accounts.learn);
    let imported = named(Product::MaxScale, "02");
    let config = loaded(&imported);
    assert_eq!(
        config.listeners[0].routing.consistency,
        Some(Consistency::Session)
    );
    assert_eq!(config.balance.lag_max, Duration::from_secs(5));
    assert_eq!(
        config.health.replication_interval,
        Duration::from_millis(300)
    );
    tells(
        &imported,
        Level::Lost,
        "auto_failover",
        "promotes no server",
    );
    tells(
        &imported,
        Level::Lost,
        "transaction_replay",
        "not run a second time",
    );
    let imported = named(Product::MaxScale, "04");
    let clusters: Vec<_> = loaded(&imported)
        .backends
        .iter()
        .map(|it| it.cluster.clone())
        .collect();
    assert_eq!(clusters, ["mon-A", "mon-A", "mon-B"]);
}

#[test]
fn filters_of_maxscale_become_rules_of_their_listeners() {
    let imported = named(Product::MaxScale, "05");
    let config = loaded(&imported);
    let rules: Vec<_> = config.rules.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(rules, ["fix", "named", "named 2", "slow"]);
    assert!(config.rules.iter().all(|it| it.listener.len() == 1));
    assert_eq!(config.rules[0].rewrite.as_deref(), Some("ENGINE=${1}"));
    assert_eq!(config.rules[1].backend.as_deref(), Some("s2"));
    assert_eq!(config.rules[3].rate, Some(500.0));
    tells(&imported, Level::Lost, "[cache]", "no result cache");
    tells(
        &imported,
        Level::Unneeded,
        "[unused]",
        "no listener's service",
    );
    let imported = named(Product::MaxScale, "06");
    tells(&imported, Level::Lost, "[mon] password", "encrypted");
}

#[test]
fn backup_servers_of_haproxy_become_later_backends_in_ordered_balancing() {
    let config = loaded(&named(Product::Haproxy, "02"));
    assert_eq!(config.balance.policy, BalancePolicy::Ordered);
    let names: Vec<_> = config.backends.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["mariadb-1", "mariadb-2", "mariadb-3"]);
}

#[test]
fn a_port_for_reads_and_a_port_for_writes_are_one_cluster() {
    let imported = named(Product::Haproxy, "04");
    let config = loaded(&imported);
    let listeners: Vec<_> = config
        .listeners
        .iter()
        .map(|it| (it.address.to_string(), it.routing.replicas))
        .collect();
    assert_eq!(
        listeners,
        [
            ("0.0.0.0:3306".to_owned(), Some(ReplicaUse::Primary)),
            ("0.0.0.0:3307".to_owned(), Some(ReplicaUse::Replica)),
        ]
    );
    tells(&imported, Level::Differs, "mysql-read", "standby server");
    let config = loaded(&named(Product::Haproxy, "05"));
    assert!(config.backends.iter().all(|it| it.role == Role::Auto));
    assert_eq!(config.health.monitor_user.as_deref(), Some("haproxy"));
    let imported = named(Product::Haproxy, "08");
    assert_eq!(loaded(&imported).backends.len(), 1);
    tells(
        &imported,
        Level::Lost,
        "listen postgres",
        "does not look like MySQL",
    );
}

#[test]
fn roles_of_router_destinations_become_roles_here() {
    let imported = named(Product::MysqlRouter, "01");
    let config = loaded(&imported);
    let listeners: Vec<_> = config
        .listeners
        .iter()
        .map(|it| it.routing.replicas)
        .collect();
    assert_eq!(
        listeners,
        [Some(ReplicaUse::Primary), Some(ReplicaUse::Replica)]
    );
    assert_eq!(config.backends.len(), 3);
    tells(&imported, Level::Lost, "bootstrap_x_rw", "classic protocol");
    tells(&imported, Level::Lost, "[metadata_cache] user", "key store");
    let config = loaded(&named(Product::MysqlRouter, "02"));
    assert_eq!(
        config.listeners[0].routing.replicas,
        Some(ReplicaUse::Split)
    );
    assert!(config.accounts.learn);
    let config = loaded(&named(Product::MysqlRouter, "05"));
    assert_eq!(config.balance.policy, BalancePolicy::Ordered);
}

#[test]
fn options_of_mysql_proxy_become_settings() {
    let imported = named(Product::MysqlProxy, "03");
    let config = loaded(&imported);
    assert_eq!(config.health.timeout_connect, Duration::from_millis(2500));
    assert_eq!(config.workers, 4);
    tells(
        &imported,
        Level::Lost,
        "proxy-write-timeout",
        "no limit of this kind",
    );
    let config = loaded(&named(Product::MysqlProxy, "04"));
    assert_eq!(config.routing.replicas, ReplicaUse::Any);
    let imported = named(Product::MysqlProxy, "01");
    tells(
        &imported,
        Level::Differs,
        "proxy-lua-script",
        "routing.script stays a comment",
    );
}

#[test]
fn the_replication_client_of_mysql_proxy_is_named() {
    let imported = named(Product::MysqlProxy, "08");
    tells(&imported, Level::Lost, "replicant", "a process of its own");
    tells(&imported, Level::Lost, "plugins", "no plugin \"debug\"");
}
