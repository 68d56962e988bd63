//! A primary and its replicas: real replication by GTID, which can be stopped, started and delayed.

use crate::product::{PASSWORD, Product};
use crate::proxy::Settings;
use crate::server::Server;
use crate::wait;

/// A primary and its read-only replicas. The replicas have caught up when a test gets the cluster. `@@server_id` tells
/// the servers apart: the primary's is 1, the first replica's 2, and so on.
#[derive(Debug)]
pub struct Cluster {
    /// Takes writes.
    pub primary: Server,
    /// They follow the primary.
    pub replicas: Vec<Server>,
}

impl Cluster {
    /// Starts a primary and this number of replicas of a product.
    pub fn start(product: Product, replicas: u32) -> Self {
        Self::start_with(product, replicas, &[])
    }

    /// Starts all of its servers with more options for their command lines.
    pub fn start_with(product: Product, replicas: u32, more: &[&str]) -> Self {
        let start = |id: u32| {
            let id = format!("--server-id={id}");
            let mut options = primary_options(product);
            options.extend(more);
            options.push(&id);
            Server::start(product, &options)
        };
        let cluster = Self {
            primary: start(1),
            replicas: (0..replicas).map(|index| start(2 + index)).collect(),
        };
        for replica in &cluster.replicas {
            follow(replica, cluster.primary.port());
            set_read_only(replica);
        }
        cluster.replicas.iter().for_each(wait_connected);
        cluster.wait_caught_up();
        cluster
    }

    /// A cluster of one server without replicas.
    pub(crate) fn alone(primary: Server) -> Self {
        Self {
            primary,
            replicas: Vec::new(),
        }
    }

    /// Makes the table that `SELECT name FROM d.whoami` reads the answering server's name from: `primary`, `replica1`
    /// and so on. Runs these statements in schema `d`, too.
    pub fn tell_apart(&self, statements: &[&str]) {
        let mut root = self.primary.root();
        root.run("CREATE DATABASE d");
        root.run("CREATE TABLE d.whoami (name VARCHAR(20))");
        root.run("INSERT INTO d.whoami VALUES ('primary')");
        for statement in statements {
            root.run(statement);
        }
        self.wait_caught_up();
        for (server, number) in self.replicas.iter().zip(1..) {
            take_writes(server);
            let mut root = server.root();
            root.run("SET sql_log_bin = 0");
            root.run(&format!("UPDATE d.whoami SET name = 'replica{number}'"));
            set_read_only(server);
        }
    }

    /// Which product its servers are.
    pub fn product(&self) -> Product {
        self.primary.product
    }

    /// The primary's GTID position: everything that the primary has executed.
    pub fn position(&self) -> String {
        self.primary.root().value(position(self.product()))
    }

    /// Waits until every replica has executed everything that the primary has executed.
    pub fn wait_caught_up(&self) {
        let position = self.position();
        for replica in &self.replicas {
            wait_reached(replica, &position);
        }
    }

    /// Stops a replica's replication. The replica still serves the data that it has.
    pub fn stop_replication(&self, replica: usize) {
        stop_replication(&self.replicas[replica]);
    }

    /// Starts a replica's replication again.
    pub fn start_replication(&self, replica: usize) {
        start_replication(&self.replicas[replica]);
    }

    /// Makes a replica execute each transaction this number of seconds after the primary; 0: at once.
    pub fn delay(&self, replica: usize, seconds: u32) {
        let server = &self.replicas[replica];
        stop_replication(server);
        server.root().run(&match server.product.is_mariadb() {
            true => format!("CHANGE MASTER TO master_delay = {seconds}"),
            false => format!("CHANGE REPLICATION SOURCE TO source_delay = {seconds}"),
        });
        start_replication(server);
    }
}

impl Settings {
    /// The settings of most tests with a cluster: backends `primary`, `replica1`, `replica2` and so on with their
    /// roles, and short probe intervals.
    pub fn of_cluster(cluster: &Cluster) -> Self {
        let primary = [("name", "\"primary\"")];
        let settings = Self::default()
            .backend_with(cluster.primary.tcp(), &primary)
            .set("health.monitor_user", "app")
            .set("health.monitor_password", PASSWORD)
            .set("health.monitor_interval", "100ms");
        let replicas = cluster.replicas.iter().zip(1..);
        replicas.fold(settings, |settings, (server, number)| {
            let name = format!("\"replica{number}\"");
            let more = [("name", name.as_str()), ("role", "\"replica\"")];
            settings.backend_with(server.tcp(), &more)
        })
    }
}

/// The options of a server that replicates by GTID.
pub fn primary_options(product: Product) -> Vec<&'static str> {
    let mut options = vec![
        "--log-bin=binlog",
        "--log-slave-updates=ON",
        "--relay-log=relay",
    ];
    if product == Product::MySql {
        options.retain(|option| !option.starts_with("--log-slave"));
        options.extend(["--gtid-mode=ON", "--enforce-gtid-consistency=ON"]);
    }
    options
}

/// Makes `replica` replicate from the server (or the proxy) at a port of 127.0.0.1.
pub fn follow(replica: &Server, port: u16) {
    let mut root = replica.root();
    if replica.product.is_mariadb() {
        root.run(&format!(
            "CHANGE MASTER TO master_host='127.0.0.1', master_port={port}, master_user='app', \
             master_password='{PASSWORD}', master_use_gtid=slave_pos, master_connect_retry=1"
        ));
        root.run("START SLAVE");
    } else {
        root.run(&format!(
            "CHANGE REPLICATION SOURCE TO source_host='127.0.0.1', source_port={port}, \
             source_user='app', source_password='{PASSWORD}', source_auto_position=1, \
             get_source_public_key=1, source_connect_retry=1"
        ));
        root.run("START REPLICA");
    }
}

/// Lets only replication write to a server. (On MariaDB, an account with READ ONLY ADMIN writes as well; `app` has it.)
pub fn set_read_only(server: &Server) {
    server.root().run(match server.product.is_mariadb() {
        true => "SET GLOBAL read_only = 1",
        false => "SET GLOBAL super_read_only = 1",
    });
}

/// Makes a server accept writes.
pub fn take_writes(server: &Server) {
    server.root().run(match server.product.is_mariadb() {
        true => "SET GLOBAL read_only = 0",
        false => "SET GLOBAL super_read_only = 0, read_only = 0",
    });
}

fn stop_replication(replica: &Server) {
    let is_mariadb = replica.product.is_mariadb();
    replica.root().run(match is_mariadb {
        true => "STOP SLAVE",
        false => "STOP REPLICA",
    });
}

/// Starts replication, and returns when the replica is connected to its primary.
fn start_replication(replica: &Server) {
    let is_mariadb = replica.product.is_mariadb();
    replica.root().run(match is_mariadb {
        true => "START SLAVE",
        false => "START REPLICA",
    });
    wait_connected(replica);
}

/// Waits until a replica is connected to its primary. The wait for an empty position does not need a connection.
fn wait_connected(replica: &Server) {
    wait::until("a replica is connected", wait::SOON, || {
        is_connected(replica)
    });
}

/// Whether a replica is connected to its primary.
pub(crate) fn is_connected(replica: &Server) -> bool {
    /// The columns `Slave_IO_Running` and `Replica_IO_Running`.
    const IO_RUNNING: usize = 10;
    let status = match replica.product.is_mariadb() {
        true => "SHOW SLAVE STATUS",
        false => "SHOW REPLICA STATUS",
    };
    replica.root().run(status).text(0, IO_RUNNING).as_deref() == Some("Yes")
}

/// Waits until a replica has executed everything up to a GTID position of its primary.
pub fn wait_reached(replica: &Server, position: &str) {
    let (ask, done) = if replica.product.is_mariadb() {
        (format!("SELECT MASTER_GTID_WAIT('{position}', 1)"), "0")
    } else {
        (
            format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{position}', 1)"),
            "0",
        )
    };
    let mut root = replica.root();
    wait::until(&format!("a replica reaches {position}"), wait::SOON, || {
        root.value(&ask) == done
    });
}

/// The statement that tells a primary's GTID position.
pub fn position(product: Product) -> &'static str {
    match product {
        Product::MySql => "SELECT @@global.gtid_executed",
        Product::MariaDb | Product::MariaDbNext => "SELECT @@global.gtid_binlog_pos",
    }
}
