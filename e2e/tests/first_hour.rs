//! Coming from another proxy, and setting up by asking: with servers that run.

use std::process::{Command, Output};

use e2e::{Product, Server, program};

fn run(arguments: &[&str]) -> Output {
    let command = Command::new(program()).args(arguments).output();
    command.expect("the program can be started")
}

fn told(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// A server with ProxySQL's tables answers as ProxySQL's admin port does.
#[test]
fn proxysql_is_taken_over_from_its_admin_port() {
    for product in Product::ALL {
        let server = Server::start(*product, &[]);
        let mut root = server.root();
        for statement in [
            "CREATE DATABASE main",
            "CREATE USER radmin@'%' IDENTIFIED BY 'pw'",
            "GRANT SELECT ON main.* TO radmin@'%'",
            "CREATE TABLE main.global_variables (variable_name VARCHAR(99), variable_value VARCHAR(99))",
            "INSERT INTO main.global_variables VALUES ('mysql-interfaces', '0.0.0.0:6033'), ('mysql-threads', '3')",
            "CREATE TABLE main.mysql_servers (hostgroup_id INT, hostname VARCHAR(99), port INT, status VARCHAR(9))",
            "INSERT INTO main.mysql_servers VALUES (1, 'db1', 3306, 'ONLINE'), (2, 'db2', 3306, 'ONLINE')",
            "CREATE TABLE main.mysql_replication_hostgroups (writer_hostgroup INT, reader_hostgroup INT)",
            "INSERT INTO main.mysql_replication_hostgroups VALUES (1, 2)",
            "CREATE TABLE main.mysql_users (username VARCHAR(99), password VARCHAR(99), default_hostgroup INT)",
            "INSERT INTO main.mysql_users VALUES ('app', 'secret', 1)",
        ] {
            root.query(statement);
        }
        let address = server.tcp().to_string();
        let done = run(&[
            "import",
            "proxysql",
            &address,
            "--user",
            "radmin",
            "--password",
            "pw",
        ]);
        let toml = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{}", told(&done));
        for line in [
            "workers = 3",
            "address = \"db2:3306\"",
            "user = \"app\"",
            "role = \"auto\"",
        ] {
            assert!(toml.contains(line), "no {line} in\n{toml}");
        }
        let refused = run(&[
            "import",
            "proxysql",
            &address,
            "--user",
            "radmin",
            "--password",
            "other",
        ]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(
            told(&refused).contains("does not let radmin in"),
            "{}",
            told(&refused)
        );
    }
}
