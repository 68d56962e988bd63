//! Clients that read a binary log through an ordinary listener: they read from a replica, and are disconnected between
//! two transactions when the replica's role changes.

use std::path::Path;
use std::process::{Child, Stdio};

use e2e::{
    Cluster, Folder, PASSWORD, Product, Proxy, Server, Settings, follow, set_read_only,
    take_writes, wait,
};

both! {
    a_reader_leaves_a_replica_that_becomes_the_primary
    a_rule_sends_readers_to_a_replica
}

/// The server's own tool, which reads the binary log by GTID and prints it into a file.
struct Reader {
    tool: Child,
    output: std::path::PathBuf,
}

impl Reader {
    /// Begins after this GTID, or at the begin of the log without one.
    fn start(product: Product, proxy: &Proxy, behind: &str, output: &Path) -> Self {
        let name = match product.is_mariadb() {
            true => "mariadb-binlog",
            false => "mysqlbinlog",
        };
        let mut tool = product.command(name);
        tool.args(["--no-defaults", "--host=127.0.0.1", "--user=app"])
            .arg(format!("--port={}", proxy.port()))
            .arg(format!("--password={PASSWORD}"))
            .args(["--verbose", "--base64-output=decode-rows", "--stop-never"]);
        if product.is_mariadb() {
            tool.args(["--read-from-remote-server", "--skip-ssl"]);
            tool.arg(format!("--start-position={behind}"));
        } else {
            tool.args(["--read-from-remote-source=BINLOG-DUMP-GTIDS"]);
            tool.args(["--ssl-mode=DISABLED", "--get-server-public-key"]);
            tool.arg(format!("--exclude-gtids={behind}"));
        }
        let file = std::fs::File::create(output).unwrap();
        let tool = tool
            .arg("binlog.000001")
            .stdout(file)
            .stderr(Stdio::inherit());
        Self {
            tool: tool.spawn().unwrap(),
            output: output.to_owned(),
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.output).unwrap()).into_owned()
    }

    /// Waits until the reader has printed a row.
    fn wait_row(&self, number: u32) {
        let row = format!("###   @1={number}\n");
        wait::until(&format!("row {number} is read"), wait::SOON, || {
            self.text().contains(&row)
        });
    }

    /// Waits for the reader's end, and checks that it has printed complete transactions only. Returns the last GTID.
    fn wait_ended(&mut self, product: Product) -> String {
        wait::until("the tool has ended", wait::SOON, || {
            self.tool.try_wait().unwrap().is_some()
        });
        let text = self.text();
        let count = |word: &str| text.lines().filter(|it| it.starts_with(word)).count();
        let (begun, ended) = match product.is_mariadb() {
            true => (count("START TRANSACTION"), count("COMMIT")),
            false => (count("BEGIN"), count("COMMIT")),
        };
        assert!(begun == ended && begun > 3, "{begun} {ended} {text}");
        let mut gtids = text.lines().filter_map(|line| match product.is_mariadb() {
            true => line
                .split_once("GTID ")
                .map(|(_, it)| it.split(' ').next().unwrap()),
            false => line
                .strip_prefix("SET @@SESSION.GTID_NEXT= '")
                .and_then(|it| it.split('\'').next()),
        });
        let last = gtids.rfind(|it| *it != "AUTOMATIC");
        last.unwrap_or_else(|| panic!("{text}")).to_owned()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.tool.kill();
        let _ = self.tool.wait();
    }
}

fn settings(cluster: &Cluster) -> Settings {
    let own = Settings::default()
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD)
        .set("health.monitor_interval", "100ms")
        .set("health.replication_interval", "100ms");
    [&cluster.primary, &cluster.replicas[0]]
        .iter()
        .fold(own, |own, server| {
            own.backend_with(server.tcp(), &[("role", "\"auto\"")])
        })
}

/// Three rows in one transaction.
fn write(server: &Server, number: u32) {
    let mut root = server.root();
    root.run("BEGIN");
    for row in 0..3 {
        root.run(&format!(
            "INSERT INTO shop.orders VALUES ({})",
            number * 3 + row
        ));
    }
    root.run("COMMIT");
}

fn is_dumping(server: &Server) -> bool {
    let processes = "SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%' \
                     AND user = 'app' AND command NOT LIKE '%replica%'";
    let other = "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_command LIKE 'Binlog Dump%'";
    let text = match server.product.is_mariadb() {
        true => processes,
        false => other,
    };
    server.root().value(text) != "0"
}

/// The GTID before the first transaction that the test writes.
fn begin(cluster: &Cluster) -> String {
    let product = cluster.product();
    let mut root = cluster.primary.root();
    root.run("CREATE DATABASE shop");
    let behind = root.value(e2e::position(product));
    root.run("CREATE TABLE shop.orders (id INT PRIMARY KEY)");
    for number in 0..5 {
        write(&cluster.primary, number);
    }
    cluster.wait_caught_up();
    behind.replace('\n', "")
}

fn a_reader_leaves_a_replica_that_becomes_the_primary(product: Product) {
    let mut cluster = Cluster::lease(product, 1);
    let behind = begin(&cluster);
    let account = [
        ("password", format!("\"{PASSWORD}\"")),
        ("replication", "true".to_owned()),
        ("routing.replicas", "\"replica\"".to_owned()),
    ];
    let account: Vec<_> = account
        .iter()
        .map(|(key, value)| (*key, value.as_str()))
        .collect();
    let proxy = Proxy::start(&settings(&cluster).account_with("app", &account));
    let folder = Folder::new("files");
    let output = |name| folder.path().join(name);
    let mut reader = Reader::start(product, &proxy, &behind, &output("one"));
    reader.wait_row(14);
    assert!(is_dumping(&cluster.replicas[0]));
    write(&cluster.primary, 5);
    reader.wait_row(17);

    set_read_only(&cluster.primary);
    cluster.wait_caught_up();
    cluster.stop_replication(0);
    take_writes(&cluster.replicas[0]);
    let line = proxy.wait_event("binlog_reader_moved", &["user=\"app\""]);
    assert!(line.contains("between two transactions"), "{line}");
    let last = reader.wait_ended(product);

    // The reader continues from the server that is the replica now.
    follow(&cluster.primary, cluster.replicas[0].port());
    write(&cluster.replicas[0], 6);
    let behind = match product.is_mariadb() {
        true => last,
        // All transactions of the source up to this one.
        false => match last.split_once(':') {
            Some((source, number)) => format!("{source}:1-{number}"),
            None => last,
        },
    };
    let next = Reader::start(product, &proxy, &behind, &output("two"));
    next.wait_row(20);
    assert!(!next.text().contains("###   @1=17\n"));
    assert!(is_dumping(&cluster.primary));
    cluster.primary.kill();
    proxy.stop();
}

fn a_rule_sends_readers_to_a_replica(product: Product) {
    let cluster = Cluster::lease(product, 1);
    let behind = begin(&cluster);
    let password = format!("\"{PASSWORD}\"");
    let account = [("password", password.as_str()), ("replication", "true")];
    let rule = [("user", "[\"app\"]"), ("routing.replicas", "\"replica\"")];
    let settings = settings(&cluster).account_with("app", &account);
    let proxy = Proxy::start(&settings.rule("readers", &rule));
    let folder = Folder::new("files");
    let reader = Reader::start(product, &proxy, &behind, &folder.path().join("one"));
    reader.wait_row(14);
    assert!(is_dumping(&cluster.replicas[0]));
    proxy.stop();
}
