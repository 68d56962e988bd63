//! The proxy as the source of replicas: primary, proxy, two replicas.

use std::path::{Path, PathBuf};

use e2e::raw::{Address, Login, RawConn};
use e2e::{
    Folder, LeasedServer, PASSWORD, Product, Proxy, Server, Settings, follow, free_port, position,
    wait, wait_reached,
};

mod chain;
mod changes;
pub(crate) mod disk;
mod filters;
mod semi_sync;
mod switch;
mod versions;

both! {
    replicas_continue_after_restarts_and_kills_of_the_proxy
    a_replica_begins_where_its_backup_ended
}

/// The password of the account with which the proxy replicates.
const SECRET: &str = "a password";

const PAGE: &str = include_str!("../../docs/manual/src/feeding-replicas.md");

/// The settings of the manual's page, with files in this folder and the account of these replicas.
fn write_config(primary: &Server, folder: &Path, port: u16, admin: u16) -> PathBuf {
    let page = PAGE.split("```toml\n").nth(1).unwrap();
    let page = page.split("```").next().unwrap();
    std::fs::write(folder.join("replication.password"), SECRET).unwrap();
    std::fs::write(folder.join("replica.password"), PASSWORD).unwrap();
    let place = folder.to_str().unwrap();
    let page = page
        .replace("/var/lib/pilotfish", place)
        .replace("/etc/pilotfish", place)
        .replace("\":3307\"", &format!("\"127.0.0.1:{port}\""))
        .replace("\"replica\"", "\"app\"");
    let own = Settings::in_front_of([primary]).admin_on(admin).to_toml();
    let text = format!("{own}\n{page}");
    let config = folder.join("pilotfish.toml");
    std::fs::write(&config, text).unwrap();
    config
}

/// A server, and a proxy that keeps its transactions for replicas.
struct Fed {
    primary: LeasedServer,
    config: PathBuf,
    port: u16,
    admin: u16,
    _folder: Folder,
}

impl Fed {
    fn new(product: Product) -> Self {
        Self::with_primary(start(product, 1))
    }

    fn with_primary(primary: LeasedServer) -> Self {
        let product = primary.product;
        let mut root = primary.root();
        root.run("SET sql_log_bin = 0");
        root.run(&format!(
            "CREATE USER pilotfish_repl IDENTIFIED BY '{SECRET}'"
        ));
        root.run(
            "GRANT REPLICATION SLAVE, SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO pilotfish_repl",
        );
        if product.is_mariadb() {
            root.run("GRANT BINLOG MONITOR ON *.* TO pilotfish_repl");
        }
        // The relay begins at the begin of the log, so that replicas can start without data.
        root.run(match product.is_mariadb() {
            true => "RESET MASTER",
            false => "RESET BINARY LOGS AND GTIDS",
        });
        let folder = Folder::new("files");
        std::fs::create_dir(folder.path().join("relay")).unwrap();
        let (port, admin) = (free_port(), free_port());
        let config = write_config(&primary, folder.path(), port, admin);
        Self {
            primary,
            config,
            port,
            admin,
            _folder: folder,
        }
    }

    fn proxy(&self) -> Proxy {
        serve(&self.config, self.port)
    }

    /// A new replica.
    fn replica(&self, id: u32) -> LeasedServer {
        let replica = start(self.primary.product, id);
        follow(&replica, self.port);
        replica
    }

    /// Waits until the admin port shows replicas in these states, and that each of them was sent data.
    fn wait_shown(&self, states: &[&str]) {
        let address = Address::Tcp(([127, 0, 0, 1], self.admin).into());
        let mut admin = RawConn::connect(&address, &Login::with("root", "all")).unwrap();
        wait::until("the replicas are shown", wait::SOON, || {
            let select = "SELECT state FROM fed_replicas WHERE cluster = 'main' AND events > 10 AND bytes > 10000 \
                          AND file = 'pilotfish.000002' AND position > 4 AND client LIKE 'app from 127.0.0.1:%'";
            admin.run(select).texts().concat() == states
        });
    }

    fn write(&self, from: u32, to: u32) {
        self.write_in(&mut self.primary.root(), from, to);
    }

    /// Writes rows with GTIDs that have a tag, on MySQL.
    fn write_tagged(&self, from: u32, to: u32) {
        let mut root = self.primary.root();
        if !self.primary.product.is_mariadb() {
            root.run("SET gtid_next = 'AUTOMATIC:blue'");
        }
        self.write_in(&mut root, from, to);
    }

    fn write_in(&self, root: &mut RawConn, from: u32, to: u32) {
        for number in from..to {
            root.run(&format!(
                "INSERT INTO shop.orders VALUES ({number}, REPEAT('x', 3000))"
            ));
            root.run(&format!(
                "UPDATE shop.orders SET note = 'changed' WHERE id = {number} - 3"
            ));
        }
    }

    /// Waits until the replicas have all transactions, and compares their table with the primary's.
    fn check(&self, replicas: &[&Server]) {
        let all = self.primary.root().value(position(self.primary.product));
        let checksum = |server: &Server| {
            let reply = server.root().run("CHECKSUM TABLE shop.orders");
            reply.text(0, 1).unwrap()
        };
        for replica in replicas {
            wait_reached(replica, &all);
            assert_eq!(checksum(replica), checksum(&self.primary));
        }
    }
}

/// A proxy with this file, whose listener for replicas has begun to serve.
fn serve(config: &Path, port: u16) -> Proxy {
    let config = config.to_str().unwrap();
    let proxy = Proxy::start_with(&["--config", config, "--listen", "127.0.0.1:{port}"]);
    // The proxy refuses replicas until the relay has a file.
    let address = Address::Tcp(([127, 0, 0, 1], port).into());
    wait::until("the relay begins", wait::SOON, || {
        RawConn::connect(&address, &Login::app()).is_ok()
    });
    proxy
}

/// A new replica with the primary's data at this position, like a restored backup.
fn restored(product: Product, id: u32, at: &str, statements: &[&str]) -> LeasedServer {
    let replica = start(product, id);
    let mut root = replica.root();
    root.run("SET sql_log_bin = 0");
    for statement in statements {
        root.run(statement);
    }
    for statement in match replica.product.is_mariadb() {
        true => vec![
            "RESET MASTER".to_owned(),
            format!("SET GLOBAL gtid_slave_pos = '{at}'"),
        ],
        false => vec![
            "RESET BINARY LOGS AND GTIDS".to_owned(),
            format!("SET GLOBAL gtid_purged = '{at}'"),
        ],
    } {
        root.run(&statement);
    }
    replica
}

fn start(product: Product, id: u32) -> LeasedServer {
    let id = format!("--server-id={id}");
    let mut options = e2e::primary_options(product);
    options.push(&id);
    Server::lease_with(product, &options)
}

fn replicas_continue_after_restarts_and_kills_of_the_proxy(product: Product) {
    let fed = Fed::new(product);
    let proxy = fed.proxy();
    fed.primary.root().run("CREATE DATABASE shop");
    for create in [
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, note TEXT)",
        "CREATE TABLE shop.large (id INT PRIMARY KEY, note LONGTEXT)",
    ] {
        fed.primary.root().run(create);
    }
    fed.write(0, 20);
    let (one, mut other) = (fed.replica(2), fed.replica(3));
    fed.check(&[&one, &other]);
    // The transactions arrive live, from two log files of the primary.
    fed.write_tagged(20, 30);
    fed.primary.root().run("FLUSH BINARY LOGS");
    fed.write(30, 40);
    fed.check(&[&one, &other]);
    // A replica of MySQL logs this if the clock of parallel execution goes backward within one file.
    let log = std::fs::read_to_string(one.folder().join("log")).unwrap();
    let is_told = log.contains("is inconsistent with that of a preceding one");
    assert!(!is_told, "{log}");
    fed.wait_shown(&["live", "live"]);

    // A stopped replica continues by GTID, behind an event of two packets.
    other.kill();
    let large = "INSERT INTO shop.large VALUES (1, REPEAT('x', 17000000))";
    fed.primary.root().run(large);
    fed.write(40, 50);
    fed.write_tagged(50, 60);
    fed.wait_shown(&["live"]);
    other.start_again();
    start_replica(&other);
    fed.check(&[&one, &other]);

    // The killed proxy continues, and then both replicas do.
    proxy.kill();
    fed.write(60, 80);
    let proxy = fed.proxy();
    fed.check(&[&one, &other]);
    fed.write(80, 90);
    fed.check(&[&one, &other]);

    // A replica that begins now gets all transactions from the files.
    let late = fed.replica(4);
    fed.check(&[&late]);
    for replica in [&one, &other, &late] {
        let length = "SELECT LENGTH(note) FROM shop.large";
        assert_eq!(replica.root().value(length), "17000000");
    }
    proxy.stop();
}

/// The relay begins at the end of the primary's log, so a replica needs a backup that is newer than that.
fn a_replica_begins_where_its_backup_ended(product: Product) {
    let fed = Fed::new(product);
    let schema = [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, note TEXT)",
        "INSERT INTO shop.orders VALUES (1, 'in the backup')",
    ];
    for statement in schema {
        fed.primary.root().run(statement);
    }
    let at = fed.primary.root().value(position(product));
    let text = std::fs::read_to_string(&fed.config).unwrap();
    let other = "[[account]]\nuser = \"plain\"\npassword = \"plain\"\n";
    std::fs::write(&fed.config, format!("{text}\n{other}")).unwrap();
    let proxy = fed.proxy();
    // An account for clients is not valid for replicas.
    let address = Address::Tcp(([127, 0, 0, 1], fed.port).into());
    let refused = RawConn::connect(&address, &Login::with("plain", "plain"));
    assert_eq!(refused.unwrap_err().refusal().code, 1045);

    // No transaction has been written since the backup, so the relay is empty.
    let early = restored(product, 2, &at, &schema);
    follow(&early, fed.port);
    fed.write(10, 20);
    fed.check(&[&early]);

    // A backup from the relay's begin is enough later on, too.
    let late = restored(product, 3, &at, &schema);
    follow(&late, fed.port);
    fed.check(&[&early, &late]);

    // An older backup is not enough: the replica stops with an error.
    let older = restored(product, 4, "", &[]);
    follow(&older, fed.port);
    wait::until("the replica is refused", wait::SOON, || is_refused(&older));
    proxy.stop();
}

/// Whether a replica has stopped with error 1236, after which it does not connect again.
fn is_refused(replica: &Server) -> bool {
    let status = match replica.product.is_mariadb() {
        true => "SHOW SLAVE STATUS",
        false => "SELECT last_error_message FROM performance_schema.replication_connection_status",
    };
    let reply = replica.root().run(status);
    let fields = reply.results().flat_map(|rows| rows.fields(0));
    let mut texts = fields.flatten().map(|it| String::from_utf8(it).unwrap());
    texts.any(|it| it.contains("fatal error 1236"))
}

/// Starts replication, which may have started with the server already.
fn start_replica(replica: &Server) {
    replica.root().run(match replica.product.is_mariadb() {
        true => "START SLAVE",
        false => "START REPLICA",
    });
}
