//! The sandbox for a new user: the real binary with real servers, from the first line that it
//! prints to the removal of its last file. Needs a MariaDB server on this machine.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use config::{BackendAddress, BackendTlsMode, Secret};
use control::{BackendClient, ClientOptions, ResultBounds, ResultSet, StatementResult};
use system::Entropy;
use wire::bound_values::BoundValue;

/// A time that no step exceeds on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Bounds that no result in these tests exceeds.
const ENOUGH: ResultBounds = ResultBounds {
    rows: 10_000,
    bytes: 1 << 24,
};

/// A running sandbox, and the information in its guide.
struct Sandbox {
    process: Child,
    output: Lines<BufReader<ChildStdout>>,
    folder: PathBuf,
    /// The addresses of the proxy and of each server, and the servers' process ids.
    addresses: HashMap<String, SocketAddr>,
    /// The address of the dashboard in the guide.
    dashboard: Option<String>,
    pids: Vec<u32>,
}

impl Sandbox {
    /// Starts a sandbox in `folder` and reads its guide.
    fn start(folder: &Path, replicas: u32, options: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_pilotfish"))
            .args(["sandbox", "--listen", &port.to_string()])
            .args(["--replicas", &replicas.to_string(), "--folder"])
            .arg(folder)
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut sandbox = Self {
            process,
            output,
            folder: folder.to_owned(),
            addresses: HashMap::new(),
            dashboard: None,
            pids: Vec::new(),
        };
        sandbox.read_guide();
        sandbox
    }

    /// Reads lines such as `  primary    127.0.0.1:40807  pid 27042` up to the end of the guide.
    fn read_guide(&mut self) {
        for line in self.output.by_ref() {
            let line = line.unwrap();
            let words: Vec<_> = line.split_whitespace().collect();
            match words[..] {
                [name, address] if address.parse::<SocketAddr>().is_ok() => {
                    self.addresses
                        .insert(name.to_owned(), address.parse().unwrap());
                }
                [name, address, "pid", pid] => {
                    self.addresses
                        .insert(name.to_owned(), address.parse().unwrap());
                    self.pids.push(pid.parse().unwrap());
                }
                [page] if page.starts_with("http://") => {
                    assert_eq!(page, self.dashboard.as_deref().unwrap());
                    return;
                }
                ["http", page] => self.dashboard = Some(page.to_owned()),
                _ => (),
            }
        }
        panic!("the sandbox ended before its guide did");
    }

    /// A connection to the proxy or a server with the account `app`.
    async fn connect(&self, name: &str) -> BackendClient {
        log_in(self.addresses[name], "app", Some("demo")).await
    }

    /// A connection to the admin port.
    async fn administrator(&self) -> BackendClient {
        log_in(self.addresses["admin"], "admin", None).await
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let kill = Command::new("sh")
            .args(["-c", "kill -s \"$0\" \"$1\"", name, &pid])
            .status();
        assert!(kill.unwrap().success());
    }

    /// Whether a process of the sandbox still runs. Another process may have got its id meanwhile.
    fn has_servers(&self) -> bool {
        let folder = self.folder.display().to_string();
        self.pids.iter().any(|pid| {
            fs::read_to_string(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.contains(&folder))
        })
    }
}

/// If a test fails half-way, this stops the sandbox's processes.
impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Logs in as a user whose password is its name.
async fn log_in(address: SocketAddr, user: &str, schema: Option<&str>) -> BackendClient {
    let options = ClientOptions {
        address: BackendAddress::Tcp {
            host: address.ip().to_string(),
            port: address.port(),
        },
        user: user.to_owned(),
        password: Secret::new(user),
        schema: schema.map(str::to_owned),
        tls: BackendTlsMode::Off,
        timeout: PATIENCE,
    };
    let entropy = Entropy::seeded(7);
    BackendClient::connect(&options, &entropy).await.unwrap()
}

/// The rows of a result. NULL is empty.
fn texts(result: ResultSet) -> Vec<Vec<String>> {
    let text = |value: Option<Vec<u8>>| String::from_utf8(value.unwrap_or_default()).unwrap();
    let rows = result.rows.into_iter();
    rows.map(|row| row.into_iter().map(text).collect())
        .collect()
}

/// Runs a statement and returns its rows.
async fn rows(client: &mut BackendClient, statement: &str) -> Vec<Vec<String>> {
    texts(client.query(statement, ENOUGH).await.unwrap())
}

/// Runs a statement and returns its only value.
async fn value(client: &mut BackendClient, statement: &str) -> String {
    let mut rows = rows(client, statement).await;
    assert_eq!(rows.len(), 1, "{statement}");
    rows.swap_remove(0).swap_remove(0)
}

/// Runs a statement and returns its only value as a number.
async fn number(client: &mut BackendClient, statement: &str) -> u64 {
    value(client, statement).await.parse().unwrap()
}

#[tokio::test]
async fn a_write_through_the_proxy_reaches_every_replica_and_ctrl_c_removes_everything() {
    let scratch = tempfile::tempdir().unwrap();
    let mut sandbox = Sandbox::start(&scratch.path().join("s"), 2, &[]);
    assert_eq!(sandbox.pids.len(), 3);

    let mut client = sandbox.connect("proxy").await;
    assert_eq!(number(&mut client, "SELECT count(*) FROM city").await, 22);
    let insert = "INSERT INTO city (name, country, population) VALUES ('Pilotfish', 'PRT', 7)";
    client.run(insert).await.unwrap();
    let written = value(&mut client, "SELECT @@last_gtid").await;
    for name in ["replica-1", "replica-2"] {
        let mut replica = sandbox.connect(name).await;
        let wait = replica
            .prepare("SELECT MASTER_GTID_WAIT(?, ?)")
            .await
            .unwrap();
        let values = [
            BoundValue::Text(written.as_bytes()),
            BoundValue::Unsigned(PATIENCE.as_secs()),
        ];
        let arrived = replica.execute(&wait, &values, ENOUGH).await.unwrap();
        let StatementResult::Rows(arrived) = arrived else {
            panic!("{name}: {arrived:?}");
        };
        assert_eq!(texts(arrived), [["0"]], "{name} does not follow");
        replica.close(wait).await.unwrap();
        let question = "SELECT population FROM city WHERE name = 'Pilotfish'";
        assert_eq!(number(&mut replica, question).await, 7, "{name}");
        let refused = replica.run("DELETE FROM city").await.unwrap_err();
        assert!(refused.to_string().contains("read-only"), "{refused}");
    }

    sandbox.signal("INT");
    let rest: Vec<_> = sandbox.output.by_ref().map(Result::unwrap).collect();
    assert!(sandbox.process.wait().unwrap().success());
    assert_eq!(rest.last().unwrap(), "sandbox: everything is removed");
    assert!(!sandbox.folder.exists());
    assert!(!sandbox.has_servers());
}

#[tokio::test]
async fn clients_share_connections_to_the_primary_but_for_those_of_the_transparent_listener() {
    const CLIENTS: u64 = 12;
    let scratch = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&scratch.path().join("s"), 0, &[]);
    let mut past_the_proxy = sandbox.connect("primary").await;
    let mut admin = sandbox.administrator().await;
    let mut stay = Vec::new();
    let mut seen = Vec::new();
    for door in ["proxy", "transparent"] {
        for _ in 0..CLIENTS {
            let mut client = sandbox.connect(door).await;
            assert_eq!(number(&mut client, "SELECT 1").await, 1);
            stay.push(client);
        }
        let connections =
            "SELECT count(*) - 1 FROM information_schema.processlist WHERE user = 'app'";
        seen.push(number(&mut past_the_proxy, connections).await);
        let sessions = "SELECT count(*) FROM sessions WHERE user = 'app'";
        assert_eq!(number(&mut admin, sessions).await, stay.len() as u64);
    }
    assert!((1..CLIENTS).contains(&seen[0]), "{seen:?}");
    assert_eq!(seen[1] - seen[0], CLIENTS, "{seen:?}");
}

#[tokio::test]
async fn the_history_of_schemas_has_a_change_and_the_command_for_it_finds_its_settings() {
    let scratch = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&scratch.path().join("s"), 0, &["--schema-history"]);
    let mut admin = sandbox.administrator().await;
    until(
        &mut admin,
        "SELECT count(*) FROM replication WHERE state = 'streaming'",
    )
    .await;
    let mut client = sandbox.connect("proxy").await;
    let alter = "ALTER TABLE city ADD COLUMN mayor VARCHAR(40)";
    client.run(alter).await.unwrap();
    until(
        &mut admin,
        "SELECT count(*) FROM schema_changes WHERE object = 'city' AND kind = 'ALTER TABLE'",
    )
    .await;
    let output = Command::new(env!("CARGO_BIN_EXE_pilotfish"))
        .args(["schema", "diff", "main", "--schema", "demo"])
        .args(["--from", "2000-01-01", "-c"])
        .arg(sandbox.folder.join("pilotfish.toml"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("mayor"), "{text}{errors}");
}

/// Waits until a number is not 0.
async fn until(client: &mut BackendClient, question: &str) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while number(client, question).await == 0 {
        assert!(std::time::Instant::now() < deadline, "{question}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn the_sandbox_load_fills_the_admin_tables_and_keeps_the_row_count() {
    let scratch = tempfile::tempdir().unwrap();
    let mut sandbox = Sandbox::start(&scratch.path().join("s"), 1, &["--load"]);
    let mut admin = sandbox.administrator().await;
    let deadline = std::time::Instant::now() + PATIENCE;
    for (what, question) in [
        (
            "digests of reads at the replica",
            "SELECT count(*) >= 4 FROM digests WHERE account LIKE '%load%' AND backend = 'replica-1'",
        ),
        (
            "writes at the primary",
            "SELECT count(*) > 0 FROM digests WHERE backend = 'primary' AND rows_affected > 0",
        ),
        (
            "errors of two kinds",
            "SELECT count(DISTINCT number) = 2 FROM errors WHERE number IN (1062, 1146)",
        ),
        (
            "slow statements",
            "SELECT count(*) > 0 FROM slow_statements",
        ),
        (
            "sessions",
            "SELECT count(*) > 0 FROM sessions WHERE user = 'load'",
        ),
    ] {
        while number(&mut admin, question).await != 1 {
            assert!(std::time::Instant::now() < deadline, "no {what}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    let mut client = sandbox.connect("proxy").await;
    assert_eq!(number(&mut client, "SELECT count(*) FROM city").await, 22);

    sandbox.signal("INT");
    let rest: Vec<_> = sandbox.output.by_ref().map(Result::unwrap).collect();
    assert!(sandbox.process.wait().unwrap().success());
    assert_eq!(rest.last().unwrap(), "sandbox: everything is removed");
}

#[tokio::test]
async fn statements_of_the_first_mysql_proxy_article_give_its_listings() {
    let scratch = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&scratch.path().join("s"), 1, &[]);
    let mut admin = sandbox.administrator().await;
    let mut client = sandbox.connect("proxy").await;
    let text = "UPDATE city SET population = population + 1 WHERE id = 1";
    client.run("BEGIN").await.unwrap();
    client.run(text).await.unwrap();

    let question = "select * from proxy_connections";
    let connections = admin.query(question, ENOUGH).await.unwrap();
    assert_eq!(connections.names, ["id", "type", "state", "db"]);
    let id = client.thread_id().to_string();
    let proxy = [id.as_str(), "proxy", "idle", "demo"];
    let server = [id.as_str(), "server", "idle", ""];
    assert_eq!(texts(connections), [proxy, server]);

    // After COMMIT, the session holds no backend connection.
    client.run("COMMIT").await.unwrap();
    assert_eq!(rows(&mut admin, question).await, [proxy]);

    let options = rows(&mut admin, "select * from proxy_config").await;
    let expected = [
        ("admin.address", "admin"),
        ("proxy.address", "proxy"),
        ("proxy.backend_addresses[0]", "primary"),
        ("proxy.backend_addresses[1]", "replica-1"),
    ];
    let expected = expected.map(|(option, name)| {
        let address = sandbox.addresses[name].to_string();
        [option.to_owned(), address]
    });
    assert_eq!(options[..4], expected);
    assert_eq!(options[4], ["repclient.master_address", ""]);
    // `admin.address` is also the name of a setting.
    let settings = number(&mut admin, "SELECT count(*) FROM settings").await;
    assert_eq!(options.len() as u64 - 4, settings);
    let password = options.iter().find(|row| row[0] == "admin.password");
    assert!(!password.unwrap()[1].contains("admin"), "{password:?}");
}

/// The statements are those of the article. The schema is a smaller `world`, whose texts are UTF-8.
#[tokio::test]
async fn statements_of_the_first_mysql_proxy_article_give_its_index_usage() {
    let scratch = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&scratch.path().join("s"), 1, &[]);
    let mut admin = sandbox.administrator().await;
    let mut client = sandbox.connect("proxy").await;
    for statement in [
        "SELECT * FROM City WHERE id = 1",
        "SELECT * FROM City WHERE id = 2",
        "SELECT name FROM Country WHERE code = 'DEU'",
        "SELECT name FROM Country WHERE continent = 'Asia'",
    ] {
        rows(&mut client, statement).await;
    }
    let expected = [
        ["demo.city.PRIMARY", "2", "4", "4.0000"],
        ["demo.country.PRIMARY", "1", "12", "12.0000"],
        ["demo.country.by_continent", "1", "1", "1.0000"],
    ];
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let result = admin.query("select * from index_usage", ENOUGH).await;
        let result = result.unwrap();
        let names = result.names.join(" ");
        let mut used = texts(result);
        used.sort();
        if used == expected {
            assert_eq!(names, "name used max_used_key_len avg_used_key_len");
            return;
        }
        assert!(std::time::Instant::now() < deadline, "{used:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn the_statement_of_the_first_mysql_proxy_article_gives_its_profile() {
    let scratch = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&scratch.path().join("s"), 0, &[]);
    let mut admin = sandbox.administrator().await;
    let mut client = sandbox.connect("proxy").await;
    let file = scratch.path().join("profiles.log");
    let values = "UPDATE settings SET value = 'true' WHERE name = 'profiling.include_values'";
    let log = format!(
        "UPDATE settings SET value = '{}' WHERE name = 'profiling.file'",
        file.display()
    );
    let rule = "INSERT INTO rules (rule, regex, profile, set_tag) \
                VALUES ('cost', '^SELECT MAX', 1, 'query-cost')";
    for change in [values, &log, rule] {
        admin.run(change).await.unwrap();
    }
    let query = "SELECT MAX(population), continent FROM Country GROUP BY continent";
    assert_eq!(rows(&mut client, query).await.len(), 6);
    let deadline = std::time::Instant::now() + PATIENCE;
    let line = loop {
        let text = fs::read_to_string(&file).unwrap_or_default();
        if let Some((line, _)) = text.split_once('\n') {
            break line.to_owned();
        }
        assert!(std::time::Instant::now() < deadline, "no profile");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let profile: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(profile["command"], "Query", "{line}");
    assert_eq!(profile["query"], query, "{line}");
    assert_eq!(profile["thread_id"], client.thread_id(), "{line}");
    assert_eq!(profile["tags"], serde_json::json!(["query-cost"]), "{line}");
    assert!(profile["timestamp"].as_str().unwrap().starts_with("20"));
    assert!(profile["exec_time"].as_f64().unwrap() > 0.0, "{line}");
    let status = profile["status"].as_object().unwrap();
    for (name, expected) in [
        ("Com_select", Some(1)),
        ("Questions", Some(1)),
        ("Bytes_sent", None),
    ] {
        let counted = status.get(name).and_then(serde_json::Value::as_i64);
        assert!(counted.is_some(), "{name}: {line}");
        assert!(expected.is_none() || counted == expected, "{name}: {line}");
    }
}

/// Each sandbox looks for free ports while the other sandbox's servers start.
#[tokio::test]
async fn two_sandboxes_at_once_have_ports_of_their_own() {
    let scratch = tempfile::tempdir().unwrap();
    let start = |name: &str| {
        let folder = scratch.path().join(name);
        std::thread::spawn(move || Sandbox::start(&folder, 0, &[]))
    };
    let sandboxes = [start("a"), start("b")].map(|it| it.join().unwrap());
    for sandbox in &sandboxes {
        let mut admin = sandbox.administrator().await;
        let question = "SELECT address FROM listeners WHERE purpose = 'clients'";
        let expected = sandbox.addresses["proxy"].to_string();
        // The transparent listener is in the second row.
        assert_eq!(rows(&mut admin, question).await[0], [expected]);
    }
    let [one, other] = sandboxes.each_ref().map(|it| &it.addresses["admin"]);
    assert_ne!(one, other);
}

#[test]
fn a_sandbox_that_is_killed_leaves_nothing_behind() {
    let scratch = tempfile::tempdir().unwrap();
    let mut sandbox = Sandbox::start(&scratch.path().join("s"), 1, &[]);
    sandbox.process.kill().unwrap();
    sandbox.process.wait().unwrap();
    // The cleaner is no longer a child of this process, so the test cannot wait for its end.
    let deadline = std::time::Instant::now() + PATIENCE;
    while sandbox.folder.exists() || sandbox.has_servers() {
        assert!(std::time::Instant::now() < deadline, "something is left");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_that_does_not_start_shows_its_log_and_leaves_nothing_behind() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("s");
    let server = scratch.path().join("mysqld");
    fs::write(
        &server,
        "#!/bin/sh\ncase $1 in --version) echo 'mysqld  Ver 9.7.0 for Linux';;\n\
         *) echo 'the disk is on fire' >&2; exit 7;; esac\n",
    )
    .unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_pilotfish"))
        .args(["sandbox", "--listen", &port.to_string(), "--folder"])
        .arg(&folder)
        .arg("--server")
        .arg(&server)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("exit status: 7") && said.contains("the disk is on fire"),
        "{said}"
    );
    assert!(!folder.exists());
}
