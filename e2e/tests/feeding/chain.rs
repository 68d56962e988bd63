//! A chain under load: a primary, the proxy, eight replicas. Each of the three kinds is killed meanwhile. In the
//! end all servers have the same rows and the same transactions.

use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::*;

both! {
    all_links_of_a_chain_are_the_same_after_kills_under_load
}

const REPLICAS: u32 = 8;
const TABLES: u32 = 4;
const ROWS: u32 = 1000;
const WRITERS: u32 = 4;

/// How long the load lasts: `PILOTFISH_CHAIN_SECONDS`, or a minute in the nightly run of all tests.
fn duration() -> Duration {
    let seconds = std::env::var("PILOTFISH_CHAIN_SECONDS").ok();
    let seconds = seconds.map(|it| it.parse().expect("PILOTFISH_CHAIN_SECONDS is a number"));
    Duration::from_secs(seconds.unwrap_or_else(|| e2e::sized(10, 60)))
}

/// A server that loses no committed transaction if it is killed.
fn durable(product: Product, id: u32) -> LeasedServer {
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
    Server::lease_with(product, &options)
}

/// sysbench's reads and writes on the primary. It ends when the primary is killed, and then starts again.
struct Load {
    stops: Arc<AtomicBool>,
    runs: JoinHandle<()>,
    primary: Address,
    product: Product,
}

impl Load {
    /// Makes the tables, and starts the load.
    fn start(primary: &Server) -> Self {
        let port = primary.port();
        let prepared = sysbench(port, "prepare").output();
        let prepared = prepared.expect("sysbench is installed: run e2e/provision.sh first");
        assert!(prepared.status.success(), "{prepared:?}");
        let stops = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stops);
        let runs = std::thread::spawn(move || {
            let stops = || asked.load(Ordering::Acquire);
            while !stops() {
                wait::until("the primary is there", wait::SOON, || {
                    stops() || TcpStream::connect(("127.0.0.1", port)).is_ok()
                });
                let mut command = sysbench(port, "run");
                command.stdout(Stdio::null()).stderr(Stdio::null());
                let mut run = command.spawn().expect("sysbench is installed");
                wait::until("sysbench ends", Duration::MAX, || {
                    if stops() {
                        // sysbench may have ended already.
                        let _ = run.kill();
                    }
                    run.try_wait().unwrap().is_some()
                });
            }
        });
        Self {
            stops,
            runs,
            primary: Address::Tcp(primary.tcp()),
            product: primary.product,
        }
    }

    /// The number of transactions that the primary has logged; `None` if it does not answer.
    fn transactions(&self) -> Option<u64> {
        let mut conn = RawConn::connect(&self.primary, &Login::app()).ok()?;
        let reply = conn.try_query(position(self.product)).ok()?;
        let text = reply.text(0, 0)?;
        text.rsplit(['-', ':']).next()?.parse().ok()
    }

    /// Waits until the primary has logged so many more transactions.
    fn goes_on(&self, more: u64) {
        let now = || wait::for_some("the primary answers", wait::SOON, || self.transactions());
        let wanted = now() + more;
        wait::until("the load goes on", wait::SOON, || now() >= wanted);
    }

    fn end(self) {
        self.stops.store(true, Ordering::Release);
        self.runs.join().unwrap();
    }
}

/// A sysbench command with four tables and four threads.
fn sysbench(port: u16, task: &str) -> Command {
    let mut command = Command::new("sysbench");
    command
        .args([
            "oltp_read_write",
            "--db-driver=mysql",
            "--mysql-host=127.0.0.1",
        ])
        .arg(format!("--mysql-port={port}"))
        .args(["--mysql-user=app", &format!("--mysql-password={PASSWORD}")])
        .args(["--mysql-db=chain", "--time=0", "--events=0"])
        .args([format!("--tables={TABLES}"), format!("--table-size={ROWS}")])
        .args([&format!("--threads={WRITERS}"), task]);
    command
}

fn all_links_of_a_chain_are_the_same_after_kills_under_load(product: Product) {
    let mut fed = Fed::with_primary(durable(product, 1));
    let mut proxy = fed.proxy();
    let mut root = fed.primary.root();
    root.run("CREATE DATABASE chain");
    let mut replicas: Vec<LeasedServer> =
        (0..REPLICAS).map(|it| durable(product, 10 + it)).collect();
    replicas.iter().for_each(|it| follow(it, fed.port));
    let load = Load::start(&fed.primary);
    load.goes_on(1);
    let before = load.transactions().unwrap();
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
    let all = load.transactions().unwrap() - before;
    load.end();
    let ended = Instant::now();
    check_links(&fed, &replicas);
    println!(
        "chain, {}: {kills} kills, {all} transactions that write in {seconds:.0} s; {:.0} s later {REPLICAS} replicas are \
         the same",
        product.name(),
        ended.elapsed().as_secs_f64()
    );
    proxy.stop();
}

/// Checks that all servers have the same rows, and the replicas all GTIDs.
fn check_links(fed: &Fed, replicas: &[LeasedServer]) {
    let product = fed.primary.product;
    let all = fed.primary.root().value(position(product));
    let tables: Vec<String> = (1..=TABLES).map(|it| format!("chain.sbtest{it}")).collect();
    let checksums = |server: &Server| {
        let statement = format!("CHECKSUM TABLE {}", tables.join(", "));
        server.root().run(&statement).texts()
    };
    let expected = checksums(&fed.primary);
    for replica in replicas {
        wait_caught_up(replica, &all);
        assert_eq!(checksums(replica), expected);
        // The logical clock of parallel replicas continued from one log file of the primary to the next.
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

/// Waits until a replica has all transactions, as long as it makes progress: eight replicas take long.
fn wait_caught_up(replica: &Server, all: &str) {
    let mut had = executed(replica);
    while had != all {
        wait::until("a replica goes on", wait::SOON, || executed(replica) != had);
        had = executed(replica);
    }
}
