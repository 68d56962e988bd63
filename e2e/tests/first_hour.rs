//! Moving from another proxy, and the setup by `init`, with running servers.

use std::process::{Command, Output};

use e2e::raw::{Login, RawConn};
use e2e::{Cluster, Folder, PASSWORD, Product, Proxy, Server, Settings, free_port, program, wait};

fn run(arguments: &[&str]) -> Output {
    let command = Command::new(program()).args(arguments).output();
    command.expect("the program can be started")
}

fn told(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// A server with ProxySQL's tables answers in place of ProxySQL's admin port.
#[test]
fn the_import_reads_proxysqls_admin_port() {
    for product in [Product::MariaDb, Product::MySql] {
        let server = Server::lease(product);
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
            root.run(statement);
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

/// Asked about a replica, `init` finds the primary, creates the monitor account there, and writes a file with which the
/// proxy serves.
#[test]
fn init_finds_a_cluster_and_writes_a_file_that_serves() {
    for product in [Product::MariaDb, Product::MySql] {
        let cluster = Cluster::lease(product, 2);
        let folder = Folder::new("init");
        let file = folder.path().join("pilotfish.toml");
        let file = file.to_str().expect("a path of letters");
        let port = free_port();
        let listen = format!("127.0.0.1:{port}");
        let server = cluster.replicas[0].tcp().to_string();
        let arguments = [
            "init",
            &server,
            "--user",
            "app",
            "--password",
            PASSWORD,
            "--listen",
            &listen,
            "-o",
            file,
        ];
        let done = run(&arguments);
        let report = told(&done);
        assert!(done.status.success(), "{report}");
        for server in cluster.replicas.iter().chain([&cluster.primary]) {
            assert!(
                report.contains(&server.tcp().to_string()),
                "no {} in\n{report}",
                server.tcp()
            );
        }
        assert!(report.contains("takes writes, with GTIDs"), "{report}");
        assert!(
            report.contains("created the monitor account pilotfish"),
            "{report}"
        );
        assert_eq!(
            std::fs::read_to_string(file)
                .unwrap()
                .matches("role = \"auto\"")
                .count(),
            3
        );
        cluster.wait_caught_up();
        let probed = run(&["probe", "-c", file]);
        assert!(probed.status.success(), "{}", told(&probed));
        let nowhere = || format!("127.0.0.1:{}", free_port());
        let (admin, http) = (nowhere(), nowhere());
        let serving = [
            "--config",
            file,
            "--admin-address",
            &admin,
            "--http-address",
            &http,
        ];
        let proxy = Proxy::start_with(&serving);
        let address: std::net::SocketAddr = listen.parse().unwrap();
        let client = RawConn::connect(&address.into(), &Login::app());
        let mut client = client.unwrap_or_else(|error| panic!("{error}\n{}", proxy.log_tail()));
        client.run("SELECT 1");
        drop(client);
        proxy.stop();

        let again = run(&arguments);
        assert_eq!(again.status.code(), Some(1));
        assert!(
            told(&again).contains("is there already"),
            "{}",
            told(&again)
        );
    }
}

/// If the account may not create accounts, `init` writes a file, and prints the statements that create the monitor
/// account.
#[test]
fn init_without_privileges_writes_the_statements() {
    for product in [Product::MariaDb, Product::MySql] {
        let server = Server::lease(product);
        server.root().run("CREATE USER weak@'%' IDENTIFIED BY 'pw'");
        let folder = Folder::new("init");
        let file = folder.path().join("pilotfish.toml");
        let file = file.to_str().expect("a path of letters");
        let address = server.tcp().to_string();
        let done = run(&[
            "init",
            &address,
            "--user",
            "weak",
            "--password",
            "pw",
            "-o",
            file,
        ]);
        assert!(done.status.success(), "{}", told(&done));
        assert!(
            told(&done).contains("created no monitor account"),
            "{}",
            told(&done)
        );
        let text = std::fs::read_to_string(file).unwrap();
        assert!(
            text.contains("#   CREATE USER 'pilotfish'@'%' IDENTIFIED BY 'PASSWORD';"),
            "{text}"
        );
        assert!(text.contains("role = \"primary\""), "{text}");
        let refused = run(&[
            "init",
            &address,
            "--user",
            "weak",
            "--password",
            "other",
            "-o",
            "/nonexistent/file",
        ]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(
            told(&refused).contains("does not let weak in"),
            "{}",
            told(&refused)
        );
        let silent = run(&["init"]);
        assert!(
            told(&silent).contains("there is no terminal to ask on, so give"),
            "{}",
            told(&silent)
        );
    }
}

/// Runs each command for a running proxy once, with its output for people and its output for programs.
#[test]
fn commands_show_and_change_a_running_proxy() {
    for product in [Product::MariaDb, Product::MySql] {
        let admin = free_port();
        let (one, two) = (Server::lease(product), Server::lease(product));
        let settings = Settings::default()
            .backend_with(one.tcp(), &[("name", "\"db1\""), ("independent", "true")])
            .backend_with(two.tcp(), &[("name", "\"db2\""), ("independent", "true")])
            .account("app", PASSWORD)
            .rule("no drop", &[("kind", "\"DROP\""), ("refuse", "\"no\"")])
            .set("health.monitor_user", "app")
            .set("health.monitor_password", PASSWORD)
            .admin_on(admin);
        let proxy = Proxy::start(&settings);
        let file = proxy.config_file().display().to_string();
        let ask = |words: &[&str]| run(&[words, &["-c", &file]].concat());
        let code = |words: &[&str]| ask(words).status.code();
        let text = |words: &[&str]| told(&ask(words));
        let json = |words: &[&str]| -> serde_json::Value {
            let done = ask(&[words, &["--json"]].concat());
            serde_json::from_slice(&done.stdout)
                .unwrap_or_else(|error| panic!("{error}: {}", told(&done)))
        };

        wait::until("both backends are up", wait::SOON, || {
            code(&["status"]) == Some(0)
        });
        assert!(
            text(&["status"]).starts_with("All is well."),
            "{}",
            text(&["status"])
        );
        assert_eq!(json(&["status"])["backends"], 2);
        let backends = json(&["backends"]);
        assert_eq!(
            (&backends[0]["name"], &backends[1]["state"]),
            (&"db1".into(), &"up".into())
        );

        let mut client = proxy.connect();
        client.run("SELECT 'seen'");
        let sessions = json(&["sessions"]);
        assert_eq!(sessions[0]["user"], "app");
        assert!(!json(&["pools"]).as_array().unwrap().is_empty());
        let digests = json(&["digests"]);
        assert!(
            digests.to_string().to_lowercase().contains("select ?"),
            "{digests}"
        );
        assert!(text(&["rules"]).contains("no drop"));

        let drained = text(&["drain", "db2"]);
        assert!(drained.contains("the file does not have it"), "{drained}");
        assert_eq!(json(&["backends"])[1]["duty"], "draining");
        assert!(
            text(&["status"]).contains("1 drained or disabled"),
            "{}",
            text(&["status"])
        );
        let back = text(&["drain", "db2", "--undo"]);
        assert!(
            back.contains("db2 is no longer draining; the file has it"),
            "{back}"
        );
        assert_eq!(code(&["disable", "db2"]), Some(0));
        assert_eq!(json(&["backends"])[1]["duty"], "disabled");
        let nobody = ask(&["drain", "db3"]);
        assert_eq!(nobody.status.code(), Some(1));
        assert!(
            told(&nobody).contains("there is no backend \"db3\", only db1, db2"),
            "{}",
            told(&nobody)
        );

        assert_eq!(code(&["set", "limits.sessions_max", "77"]), Some(0));
        assert_eq!(
            json(&["settings", "sessions_max", "--changed"])[0]["value"],
            "77"
        );
        assert_eq!(code(&["set", "limits.sessions_max", "many"]), Some(1));
        assert_eq!(code(&["log-level", "debug"]), Some(0));
        assert_eq!(json(&["log-level"])[0]["value"], "debug");
        assert_eq!(code(&["reload"]), Some(0));
        assert!(json(&["backends"])[1]["duty"].is_null());

        let id = sessions[0]["id"].to_string();
        assert_eq!(code(&["kill", &id]), Some(0));
        wait::until("the session is gone", wait::SOON, || {
            json(&["sessions"]).as_array().unwrap().is_empty()
        });
        assert_eq!(code(&["kill", &id]), Some(1));
        assert!(
            !text(&["backends"]).contains('\x1b'),
            "there are no colours in a pipe"
        );

        proxy.stop();
        // The proxy's folder with the settings file is gone by now, so the command gets the address.
        let address = format!("127.0.0.1:{admin}");
        let gone = run(&[
            "status",
            "--address",
            &address,
            "--user",
            "root",
            "--password",
            "all",
        ]);
        assert_eq!(gone.status.code(), Some(3));
        assert!(
            told(&gone).contains("cannot connect to the admin port at"),
            "{}",
            told(&gone)
        );
    }
}
