//! The servers of the examples: a primary and two replicas, used by one example after the other.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use e2e::raw::RawConn;
use e2e::{Cluster, Product, wait};

const SHOP: &str = include_str!("shop.sql");

/// The account by which replicas follow, because examples may change all other accounts.
const REPLICATION: &str = "replication";

/// The number of replicas.
const REPLICAS: u32 = 2;

/// The maximum number of clusters of a product. Further examples wait.
const CLUSTERS_MAX: usize = 2;

/// The clusters of all examples.
#[derive(Debug)]
struct Pool {
    /// The clusters that wait for the next example.
    waiting: Vec<Cluster>,
    /// The products of the clusters that examples use now.
    lent: Vec<Product>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool {
    waiting: Vec::new(),
    lent: Vec::new(),
});

/// Signalled when an example has returned a cluster.
static RETURNED: Condvar = Condvar::new();

/// A cluster lent to one example. It is not used again if the example has failed.
#[derive(Debug)]
pub struct Servers {
    product: Product,
    cluster: Option<Cluster>,
}

impl Servers {
    /// A cluster in the state of `shop.sql`.
    pub fn lend(product: Product) -> Self {
        let cluster = Pool::take(product);
        let mut servers = Self { product, cluster };
        let cluster = servers.cluster.get_or_insert_with(|| start(product));
        restore(cluster);
        servers
    }

    pub fn cluster(&self) -> &Cluster {
        self.cluster.as_ref().expect("it is there until the drop")
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let mut pool = Pool::lock();
        if let Some(index) = pool.lent.iter().position(|it| *it == self.product) {
            pool.lent.swap_remove(index);
        }
        if !std::thread::panicking() {
            pool.waiting.extend(self.cluster.take());
        }
        RETURNED.notify_all();
    }
}

impl Pool {
    fn lock() -> MutexGuard<'static, Self> {
        POOL.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a free place. Returns a waiting cluster, or `None` if the example must start one.
    fn take(product: Product) -> Option<Cluster> {
        let is_full = |pool: &mut Self| {
            let lent = pool.lent.iter().filter(|it| **it == product);
            lent.count() >= CLUSTERS_MAX
        };
        let pool = RETURNED.wait_while(Self::lock(), is_full);
        let mut pool = pool.unwrap_or_else(PoisonError::into_inner);
        pool.lent.push(product);
        let found = pool.waiting.iter().position(|it| it.product() == product)?;
        Some(pool.waiting.swap_remove(found))
    }
}

fn start(product: Product) -> Cluster {
    let cluster = Cluster::start(product, REPLICAS);
    let mut root = cluster.primary.root();
    root.run(&format!(
        "CREATE USER {REPLICATION} IDENTIFIED BY '{REPLICATION}'"
    ));
    root.run(&format!("GRANT REPLICATION SLAVE ON *.* TO {REPLICATION}"));
    cluster.wait_caught_up();
    for (index, replica) in cluster.replicas.iter().enumerate() {
        cluster.stop_replication(index);
        let (statement, option) = match product {
            Product::MySql => ("CHANGE REPLICATION SOURCE", "source"),
            Product::MariaDb | Product::MariaDbNext => ("CHANGE MASTER", "master"),
        };
        replica.root().run(&format!(
            "{statement} TO {option}_user = '{REPLICATION}', {option}_password = '{REPLICATION}'"
        ));
        cluster.start_replication(index);
    }
    cluster
}

/// Removes the objects that an example has made, and makes the shop schema.
fn restore(cluster: &Cluster) {
    let mut root = cluster.primary.root();
    end_sessions(&mut root);
    for schema in names(
        &mut root,
        "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN \
         ('mysql', 'sys', 'information_schema', 'performance_schema')",
    ) {
        root.run(&format!("DROP DATABASE `{schema}`"));
    }
    let others = format!(
        "SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user \
         WHERE user NOT IN ('root', '{REPLICATION}') AND user NOT LIKE '%.%'"
    );
    for account in names(&mut root, &others) {
        root.run(&format!("DROP USER {account}"));
    }
    for statement in SHOP.split(";\n").filter(|it| !it.trim().is_empty()) {
        root.run(statement);
    }
    root.run(match cluster.product() {
        Product::MySql => "GRANT REPLICATION CLIENT, CONNECTION_ADMIN ON *.* TO monitor@'%'",
        Product::MariaDb | Product::MariaDbNext => {
            "GRANT SLAVE MONITOR, BINLOG MONITOR, CONNECTION ADMIN ON *.* TO monitor@'%'"
        }
    });
    cluster.wait_caught_up();
}

/// Waits until the sessions of the last example's proxy, which has ended, are gone.
fn end_sessions(root: &mut RawConn) {
    let others = "SELECT id FROM information_schema.processlist \
        WHERE id <> CONNECTION_ID() AND command NOT IN ('Daemon', 'Binlog Dump', 'Binlog Dump GTID')";
    wait::until("the last example's sessions have ended", wait::SOON, || {
        names(root, others).is_empty()
    });
}

fn names(conn: &mut RawConn, sql: &str) -> Vec<String> {
    conn.run(sql).texts().into_iter().flatten().collect()
}
