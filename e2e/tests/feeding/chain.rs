//! A chain under load: a primary, the proxy, eight replicas. Each of the three kinds is killed meanwhile. In the end all
//! have the same rows and the same transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::*;

both! {
    all_links_of_a_chain_are_the_same_after_kills_under_load
}

const REPLICAS: u32 = 8;
const TABLES: u32 = 4;
const ROWS: u64 = 1000;
const WRITERS: u64 = 4;

/// How long the load lasts: `PILOTFISH_CHAIN_SECONDS`, or a minute in the night's run of all tests.
fn duration() -> Duration {
    let seconds = std::env::var("PILOTFISH_CHAIN_SECONDS").ok();
    let seconds = seconds.map(|it| it.parse().expect("PILOTFISH_CHAIN_SECONDS is a number"));
    Duration::from_secs(seconds.unwrap_or_else(|| e2e::sized(10, 60)))
}

/// What a kill of a server must not lose there.
fn durable(product: Product, id: u32) -> Server {
    let id = format!("--server-id={id}");
    let mut options = e2e::primary_options(product);
    options.extend([
        &*id,
        "--sync-binlog=1",
        "--innodb-flush-log-at-trx-commit=1",
    ]);
    options.push(match product.is_mariadb() {
        true => "--slave-parallel-threads=4",
        false => "--relay-log-recovery=ON",
    });
    Server::start(product, &options)
}

/// Writers on the primary, which come again after it was away.
struct Load {
    stops: Arc<AtomicBool>,
    commits: Arc<AtomicU64>,
    writers: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(primary: &Server) -> Self {
        let (stops, commits) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let writers = (0..WRITERS).map(|writer| {
            let (stops, commits) = (Arc::clone(&stops), Arc::clone(&commits));
            let address = Address::Tcp(primary.tcp());
            std::thread::spawn(move || {
                let mut number = writer;
                while !stops.load(Ordering::Acquire) {
                    let mut conn = None;
                    wait::until("the primary is there", wait::SOON, || {
                        conn = RawConn::connect(&address, &Login::app()).ok();
                        conn.is_some() || stops.load(Ordering::Acquire)
                    });
                    if let Some(conn) = &mut conn {
                        write_until(conn, &mut number, &stops, &commits);
                    }
                }
            })
        });
        Self {
            writers: writers.collect(),
            stops,
            commits,
        }
    }

    fn commits(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
    }

    /// Waits until so many more transactions are committed.
    fn goes_on(&self, more: u64) {
        let wanted = self.commits() + more;
        wait::until("the load goes on", wait::SOON, || self.commits() >= wanted);
    }

    fn end(self) -> u64 {
        self.stops.store(true, Ordering::Release);
        self.writers.into_iter().for_each(|it| it.join().unwrap());
        self.commits.load(Ordering::Acquire)
    }
}

/// Transactions of several statements, until the end or an error.
fn write_until(conn: &mut RawConn, number: &mut u64, stops: &AtomicBool, commits: &AtomicU64) {
    let mut run = |sql: &str| conn.try_query(sql).is_ok_and(|it| it.error().is_none());
    while !stops.load(Ordering::Acquire) {
        *number += WRITERS;
        // A step that meets all rows, and is no multiple of the number of writers.
        let row = (*number * 7919) % ROWS;
        let table = *number % u64::from(TABLES);
        let done = run("BEGIN")
            && run(&format!(
                "UPDATE chain.t{table} SET k = k + 1, c = REPEAT('x', {row} % 200) WHERE id = {row}"
            ))
            && run(&format!(
                "DELETE FROM chain.t{table} WHERE id = {}",
                ROWS + row
            ))
            && run(&format!(
                "INSERT INTO chain.t{table} VALUES ({}, {number}, UUID())",
                ROWS + row
            ))
            && run("COMMIT");
        match done {
            true => _ = commits.fetch_add(1, Ordering::AcqRel),
            // A deadlock, or the server is gone.
            false if run("ROLLBACK") => {}
            false => return,
        }
    }
}

fn all_links_of_a_chain_are_the_same_after_kills_under_load(product: Product) {
    let mut fed = Fed::with_primary(durable(product, 1));
    let mut proxy = fed.proxy();
    let mut root = fed.primary.root();
    root.run("CREATE DATABASE chain");
    for table in 0..TABLES {
        root.run(&format!(
            "CREATE TABLE chain.t{table} (id INT PRIMARY KEY, k BIGINT, c VARCHAR(300))"
        ));
        for row in 0..ROWS {
            root.run(&format!("INSERT INTO chain.t{table} VALUES ({row}, 0, '')"));
        }
    }
    let mut replicas: Vec<Server> = (0..REPLICAS).map(|it| durable(product, 10 + it)).collect();
    replicas.iter().for_each(|it| follow(it, fed.port));
    let load = Load::start(&fed.primary);
    let begun = Instant::now();
    let mut kills = 0_usize;
    while begun.elapsed() < duration() {
        load.goes_on(100);
        match kills % 3 {
            0 => {
                proxy.kill();
                load.goes_on(20);
                proxy = fed.proxy();
            }
            1 => {
                let index = kills % replicas.len();
                let replica = &mut replicas[index];
                replica.kill();
                load.goes_on(20);
                replica.start_again();
                start_replica(replica);
            }
            _ => {
                fed.primary.kill();
                fed.primary.start_again();
            }
        }
        kills += 1;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let commits = load.end();
    check_links(&fed, &replicas);
    println!(
        "chain, {}: {kills} kills, {commits} transactions in {seconds:.0} s, {REPLICAS} replicas are the same",
        product.name()
    );
    proxy.stop();
}

/// Rows, and GTIDs without holes.
fn check_links(fed: &Fed, replicas: &[Server]) {
    let product = fed.primary.product;
    let all = fed.primary.root().value(position(product));
    let tables: Vec<String> = (0..TABLES).map(|it| format!("chain.t{it}")).collect();
    let checksums = |server: &Server| {
        let statement = format!("CHECKSUM TABLE {}", tables.join(", "));
        server.root().run(&statement).texts()
    };
    let expected = checksums(&fed.primary);
    for replica in replicas {
        wait_caught_up(replica, &all);
        assert_eq!(checksums(replica), expected);
        // The clock of parallel replicas was counted on from one log file of the primary into the next.
        let log = std::fs::read_to_string(replica.folder().join("log")).unwrap();
        assert!(
            !log.contains("is inconsistent with that of a preceding one"),
            "{log}"
        );
        assert_eq!(executed(replica), all);
    }
}

fn executed(replica: &Server) -> String {
    replica.root().value(match replica.product.is_mariadb() {
        true => "SELECT @@GLOBAL.gtid_slave_pos",
        false => "SELECT @@GLOBAL.gtid_executed",
    })
}

/// Waits until a replica has everything, as long as it goes on: eight replicas have a lot to do.
fn wait_caught_up(replica: &Server, all: &str) {
    let mut had = executed(replica);
    while had != all {
        wait::until("a replica goes on", wait::SOON, || executed(replica) != had);
        had = executed(replica);
    }
}
