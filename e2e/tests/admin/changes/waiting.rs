//! Changes that wait for a LOAD, as ProxySQL's do.

use e2e::{Product, Server, Settings, wait};

use super::super::{Watched, refused, rows};
use super::{changes, told, value, warnings};

#[test]
fn the_habits_of_proxysql_work_where_they_mean_the_same() {
    let watched = Watched::alone();
    let (mut root, mut other) = (watched.root(), watched.root());
    root.run("USE main");
    let names = "SELECT group_concat(comment, ' ') FROM";
    let first = root.value("SELECT comment FROM mysql_servers");
    root.run("INSERT INTO mysql_servers (hostgroup_id, hostname, port, comment) VALUES (0, '127.0.0.1', 3307, 'b')");
    root.run("INSERT INTO mysql_servers VALUES (0, '::1', 3308, 0, 'OFFLINE_SOFT', 5, 0, 100, 0, 0, 0, 'c')");
    root.run("REPLACE INTO mysql_servers (hostgroup_id, hostname, port, weight, comment) VALUES (0, '127.0.0.1', 3307, 9, 'd')");
    // Everybody sees what waits, and nothing of it holds.
    assert_eq!(
        other.value(&format!("{names} mysql_servers")),
        format!("{first} c d")
    );
    assert_eq!(
        other.value(&format!("{names} runtime_mysql_servers")),
        first
    );
    assert!(
        changes(&mut root)
            .iter()
            .all(|row| row[3] == "at LOAD … TO RUNTIME")
    );
    assert!(told(&mut root, "SAVE MYSQL SERVERS TO DISK").contains("LOAD MYSQL SERVERS"));
    root.run("LOAD MYSQL SERVERS TO RUNTIME");
    assert_eq!(
        other.value(&format!("{names} runtime_mysql_servers")),
        format!("{first} c d")
    );
    let seen =
        "SELECT name, address, weight, draining, sessions_max FROM backends WHERE name = 'c'";
    assert_eq!(
        other.run(seen).texts(),
        [["c", "[::1]:3308", "5", "1", "100"]]
    );
    // A list may be empty as long as it waits.
    root.run("DELETE FROM mysql_servers");
    assert_eq!(refused(&mut root, "LOAD MYSQL SERVERS TO RUNTIME"), 1231);
    root.run("SAVE MYSQL SERVERS TO MEMORY");
    assert_eq!(root.value("SELECT count(*) FROM mysql_servers"), "3");
    root.run("UPDATE mysql_servers SET status = 'ONLINE', weight = weight + 1 WHERE port = 3308");
    root.run("DELETE FROM mysql_servers WHERE hostname = '127.0.0.1' AND port = 3307");
    root.run("LOAD MYSQL SERVERS TO RUN");
    root.run("SAVE MYSQL SERVERS TO DISK");
    assert!(changes(&mut root).is_empty());
    let text = std::fs::read_to_string(watched.proxy.config_file()).unwrap();
    assert!(
        text.contains("name = \"c\"") && !text.contains("name = \"d\""),
        "{text}"
    );
    for statement in [
        "LOAD MYSQL USERS TO RUNTIME",
        "SAVE MYSQL VARIABLES TO DISK",
    ] {
        root.run(statement);
    }
    for (sql, code, words) in [
        (
            "SELECT * FROM mysql_query_rules_fast_routing",
            1146,
            "`rules`",
        ),
        (
            "UPDATE mysql_servers SET use_ssl = 1",
            1231,
            "backend_tls.mode",
        ),
        (
            "UPDATE mysql_servers SET status = 'SHUNNED'",
            1231,
            "OFFLINE_HARD",
        ),
        (
            "UPDATE mysql_servers SET hostgroup_id = 7",
            1231,
            "INSERT INTO backends",
        ),
        (
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES (0, '::1', 3308)",
            1062,
            "",
        ),
        ("UPDATE runtime_mysql_servers SET weight = 1", 1142, ""),
        ("LOAD MYSQL SERVERS FROM DISK", 1064, "REVERT"),
    ] {
        assert_eq!(refused(&mut root, sql), code, "{sql}");
        assert!(told(&mut root, sql).contains(words), "{sql}");
    }
    assert_eq!(
        refused(&mut watched.look(), "DELETE FROM mysql_servers"),
        1142
    );
    assert_eq!(
        refused(&mut watched.look(), "LOAD MYSQL SERVERS TO RUNTIME"),
        1142
    );
}

#[test]
fn what_waits_is_forgotten_aloud_and_never_stands_in_the_way() {
    let watched = Watched::alone();
    let (mut root, mut other) = (watched.root(), watched.root());
    let waiting = "SELECT count(*) FROM main.mysql_servers WHERE weight = 7";
    let forgotten = "SELECT text FROM events WHERE subject LIKE 'LOAD %' ORDER BY id DESC LIMIT 1";
    root.run(
        "INSERT INTO backends (name, address) VALUES ('b', '127.0.0.1:1'), ('c', '127.0.0.1:2')",
    );
    root.run("SAVE");
    root.run("UPDATE main.mysql_servers SET weight = 7 WHERE comment = 'b'");
    assert_eq!(other.value(waiting), "1");
    // What it was about is gone: whoever asks first is told what there is.
    other.run("DELETE FROM backends WHERE name = 'b'");
    assert!(changes(&mut root).iter().all(|row| row[3] == "now"));
    assert!(root.value(forgotten).contains("(1): they fit no more"));
    root.run("REVERT");
    assert!(warnings(&mut root).is_empty());

    // Another's change between BEGIN and COMMIT is told as COMMIT would.
    root.run("BEGIN");
    root.run("UPDATE backends SET weight = 3 WHERE name = 'b'");
    other.run("DELETE FROM backends WHERE name = 'b'");
    assert_eq!(refused(&mut root, "SHOW CHANGES"), 1213);
    root.run("ROLLBACK");

    root.run("UPDATE main.mysql_servers SET weight = 7");
    root.run("REVERT");
    assert!(warnings(&mut root)[0].contains("(2): the file holds again"));
    assert_eq!(root.value(waiting), "0");
    root.run("UPDATE main.mysql_servers SET weight = 7");
    watched.proxy.signal(e2e::Signal::HUP);
    wait::until("the file is read again", wait::SOON, || {
        let told = rows(
            &mut other,
            "SELECT user FROM events WHERE text LIKE '%(3): the file holds again'",
        );
        !told.is_empty()
    });
    assert_eq!(root.value(waiting), "0");
}

#[test]
fn rules_of_one_statement_stand_by_their_numbers() {
    let watched = Watched::alone();
    let mut root = watched.root();
    root.run("USE main");
    let add = |ids: &str| {
        let rows: Vec<_> = ids
            .split(' ')
            .map(|id| {
                format!("({id}, 1, '^SELECT (.) (?P<what>.)', 'SELECT $, \\\\1, \\\\g<what>', 1)")
            })
            .collect();
        format!(
            "INTO mysql_query_rules (rule_id, active, match_pattern, replace_pattern, apply) VALUES {}",
            rows.join(", ")
        )
    };
    root.run(&format!("INSERT {}", add("10")));
    root.run(&format!("INSERT {}", add("30 5 7 20 NULL NULL")));
    root.run(&format!("REPLACE {}", add("7 30 6")));
    // What is shown means what it was made of.
    root.run(
        "UPDATE mysql_query_rules SET replace_pattern = replace_pattern || ' ' WHERE rule_id < 20",
    );
    root.run("LOAD MYSQL QUERY RULES TO RUNTIME");
    let names =
        root.value("SELECT group_concat(rule, ' ') FROM (SELECT rule FROM rules ORDER BY place)");
    assert_eq!(names, "5 6 7 10 20 30 31 32");
    let templates = rows(&mut root, "SELECT DISTINCT trim(rewrite) AS it FROM rules");
    let templates: Vec<_> = templates.iter().map(|row| &*row["it"]).collect();
    assert_eq!(templates, ["SELECT $$, ${1}, ${what}"]);
}

#[test]
fn users_rules_and_variables_wait_as_proxysqls_do_each_for_its_own_load() {
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 4);
    let watched = Watched::start(settings.set("workers", 2));
    let (mut root, mut other) = (watched.root(), watched.root());
    root.run("USE main");
    root.run(
        "INSERT INTO mysql_users (username, password, active, default_hostgroup, max_connections) \
         VALUES ('batch', 'its password', 1, 0, 10)",
    );
    let hash = "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19";
    root.run(&format!(
        "INSERT INTO mysql_users (username, password, fast_forward) VALUES ('hashed', '{hash}', 1)"
    ));
    root.run(
        "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, replace_pattern, apply, comment) \
         VALUES (20, 1, '^SELECT (\\\\d+) AS turned$', 'SELECT -\\\\1 AS turned', 1, 'turn')",
    );
    root.run(
        "INSERT INTO mysql_query_rules (rule_id, active, username, client_addr, match_digest, error_msg, apply) \
         VALUES (10, 1, 'app', '127.0.%', '^DROP', 'not here', 1)",
    );
    root.run(
        "UPDATE global_variables SET variable_value = '5000' \
         WHERE variable_name = 'mysql-connect_timeout_client'",
    );
    // Everybody sees what waits, and nothing of it holds.
    let users = "SELECT group_concat(username, ' ') FROM";
    let mine = "WHERE username IN ('batch', 'hashed')";
    let rules = "SELECT group_concat(rule_id, ' ') FROM";
    assert_eq!(
        other.value(&format!("{users} mysql_users {mine}")),
        "batch hashed"
    );
    assert_eq!(
        other.value(&format!("{users} runtime_mysql_users {mine}")),
        ""
    );
    assert_eq!(other.value(&format!("{rules} mysql_query_rules")), "10 20");
    assert_eq!(
        other.value(&format!("{rules} runtime_mysql_query_rules")),
        ""
    );
    assert_eq!(value(&mut other, "limits.timeout_login"), "1m");
    assert!(told(&mut root, "SAVE MYSQL USERS TO DISK").contains("TO RUNTIME"));

    // Each module is loaded, or given up, by itself.
    root.run("LOAD MYSQL QUERY RULES TO RUNTIME");
    assert_eq!(
        other.value(&format!("{rules} runtime_mysql_query_rules")),
        "10 20"
    );
    assert_eq!(
        other.value(&format!("{users} runtime_mysql_users {mine}")),
        ""
    );
    let mut client = watched.proxy.connect();
    assert_eq!(client.value("SELECT 7 AS turned"), "-7");
    assert_eq!(refused(&mut client, "DROP TABLE nowhere.nothing"), 1227);
    root.run("SAVE MYSQL VARIABLES TO MEMORY");
    let login = "SELECT variable_value FROM global_variables \
         WHERE variable_name = 'mysql-connect_timeout_client'";
    assert_eq!(root.value(login), "60000");
    root.run("SET mysql-connect_timeout_client = 7000");
    let both = "SELECT @@mysql-connect_timeout_client, @@limits.timeout_login";
    assert_eq!(root.run(both).texts(), [["7000", "1m"]]);
    assert_eq!(refused(&mut root, "SET mysql-connect_timeout = 1"), 1193);
    root.run("LOAD MYSQL VARIABLES TO RUNTIME");
    assert_eq!(value(&mut other, "limits.timeout_login"), "7s");
    let compared =
        "SELECT name FROM settings WHERE name = 'LIMITS.Timeout_Login' AND value > 5 AND value < 8";
    assert_eq!(other.value(compared), "limits.timeout_login");
    root.run("LOAD MYSQL USERS TO RUNTIME");
    assert_eq!(
        other.value(&format!("{users} runtime_mysql_users {mine}")),
        "batch hashed"
    );
    assert!(changes(&mut root).iter().all(|row| row[3] == "now"));

    root.run("UPDATE mysql_query_rules SET rule_id = 5, apply = 0 WHERE comment = 'turn'");
    root.run("DELETE FROM mysql_query_rules WHERE rule_id = 10");
    root.run("UPDATE mysql_users SET password = 'another', use_ssl = 1 WHERE username = 'hashed'");
    root.run("DELETE FROM mysql_users WHERE username = 'batch'");
    root.run("LOAD MYSQL QUERY RULES TO RUN");
    root.run("LOAD MYSQL USERS TO RUN");
    let seen = "SELECT rule_id, apply, comment FROM runtime_mysql_query_rules";
    assert_eq!(other.run(seen).texts(), [["5", "0", "turn"]]);
    root.run("SAVE MYSQL USERS TO DISK");
    let text = std::fs::read_to_string(watched.proxy.config_file()).unwrap();
    assert!(
        text.contains("name = \"5 turn\"") && !text.contains("batch"),
        "{text}"
    );
    assert!(text.contains("another") && !text.contains(hash), "{text}");

    // No password comes out, by whichever table.
    for table in [
        "mysql_users",
        "runtime_mysql_users",
        "accounts",
        "settings",
        "global_variables",
        "events",
    ] {
        let shown = format!("{:?}", root.run(&format!("SELECT * FROM {table}")).texts());
        for secret in ["another", "its password", hash] {
            assert!(!shown.contains(secret), "{table}: {shown}");
        }
    }
    for (sql, code, words) in [
        ("UPDATE mysql_users SET active = 0", 1231, "deleted"),
        (
            "UPDATE mysql_users SET schema_locked = 1",
            1231,
            "no such lock",
        ),
        (
            "UPDATE mysql_users SET transaction_persistent = 0",
            1231,
            "stays",
        ),
        ("UPDATE mysql_users SET frontend = 0", 1231, "backend_user"),
        (
            "UPDATE mysql_users SET attributes = '{}'",
            1231,
            "no meaning",
        ),
        (
            "UPDATE mysql_users SET default_hostgroup = 7",
            1231,
            "no hostgroup",
        ),
        (
            "INSERT INTO mysql_users (username) VALUES ('app')",
            1062,
            "",
        ),
        (
            "UPDATE mysql_query_rules SET cache_ttl = 5",
            1231,
            "no cache",
        ),
        ("UPDATE mysql_query_rules SET flagIN = 5", 1231, "order"),
        (
            "UPDATE mysql_query_rules SET multiplex = 2",
            1231,
            "multiplex",
        ),
        (
            "UPDATE mysql_query_rules SET client_addr = '10.1%'",
            1231,
            "10.%",
        ),
        ("UPDATE mysql_query_rules SET re_modifiers = ''", 0, ""),
        (
            "UPDATE mysql_query_rules SET re_modifiers = 'GLOBAL'",
            1231,
            "(?-i)",
        ),
        (
            "INSERT INTO mysql_query_rules (rule_id) VALUES (1)",
            1231,
            "active",
        ),
        (
            "UPDATE main.global_variables SET variable_name = 'x' WHERE variable_name = 'mysql-threads'",
            1348,
            "variable_name",
        ),
        (
            "INSERT INTO global_variables VALUES ('mysql-x', '1')",
            1348,
            "settings",
        ),
        ("DELETE FROM global_variables", 1348, "settings"),
        ("UPDATE runtime_mysql_users SET active = 0", 1142, ""),
    ] {
        if code == 0 {
            root.run(sql);
            continue;
        }
        assert_eq!(refused(&mut root, sql), code, "{sql}");
        assert!(
            told(&mut root, sql).contains(words),
            "{sql}: {}",
            told(&mut root, sql)
        );
    }
    for sql in [
        "UPDATE mysql_users SET use_ssl = 0",
        "LOAD MYSQL USERS TO RUNTIME",
    ] {
        assert_eq!(refused(&mut watched.look(), sql), 1142, "{sql}");
    }
}
