//! A primary with two replicas, by GTID.

use std::time::Duration;

use crate::product::{PASSWORD, Product};
use crate::server::Server;
use crate::wait;

/// A primary and its replicas, caught up when it is handed out.
#[derive(Debug)]
pub struct Replicated {
    /// Takes writes.
    pub primary: Server,
    /// Follow it.
    pub replicas: Vec<Server>,
}

impl Replicated {
    /// Three of the distribution's MariaDB.
    pub fn mariadb() -> Self {
        Self::start(Product::MariaDb)
    }

    /// Three of MySQL 9.7.
    pub fn mysql() -> Self {
        Self::start(Product::MySql)
    }

    /// Three servers of `product`.
    pub fn start(product: Product) -> Self {
        let start = |id: u32| {
            let id = format!("--server-id={id}");
            let mut options = primary_options(product);
            options.push(&id);
            Server::start(product, &options)
        };
        let primary = start(1);
        let replicas = vec![start(2), start(3)];
        for replica in &replicas {
            follow(replica, primary.port());
        }
        let replicated = Self { primary, replicas };
        replicated.wait_caught_up();
        replicated
    }

    /// Waits until every replica has what the primary has.
    pub fn wait_caught_up(&self) {
        let position = self.primary.root().value(position(self.primary.product));
        for replica in &self.replicas {
            wait_reached(replica, &position);
        }
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

/// Waits until a replica has executed everything up to a GTID position of its primary.
pub fn wait_reached(replica: &Server, position: &str) {
    let limit = Duration::from_secs(30);
    let (ask, done) = if replica.product.is_mariadb() {
        (format!("SELECT MASTER_GTID_WAIT('{position}', 1)"), "0")
    } else {
        (
            format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{position}', 1)"),
            "0",
        )
    };
    let mut root = replica.root();
    wait::until(&format!("a replica reaches {position}"), limit, || {
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
