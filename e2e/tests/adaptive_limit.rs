//! The limit of statements that run at once on a server: the admin port shows it and sets it. For the effect on
//! clients, with both families, see `simulation/tests/scenes/adaptive_limit.rs`.

use e2e::raw::{Address, Login, RawConn, Shape};
use e2e::{LeasedServer, Product, Proxy, Server, Settings, free_port, wait};

const READ: &str = "SELECT n FROM d.held";

/// A server with a table that the test locks, behind a proxy with a fixed limit.
struct Limited {
    proxy: Proxy,
    admin: Address,
    // Dropped after the proxy, because the next test gets the server.
    server: LeasedServer,
}

impl Limited {
    fn start(limit: i32) -> Self {
        let server = Server::lease(Product::MariaDb);
        let mut root = server.root();
        root.run("CREATE DATABASE d");
        for table in ["held", "free"] {
            root.run(&format!(
                "CREATE TABLE d.{table} (n INT PRIMARY KEY) ENGINE=InnoDB"
            ));
        }
        root.run("INSERT INTO d.held VALUES (7)");
        let port = free_port();
        let settings = Settings::pooled(&server, 50)
            .set("workers", 2)
            .set("routing.lanes", "off")
            .set("pool.timeout_wait", "60s")
            .set("pool.adaptive_limit_min", limit)
            .set("pool.adaptive_limit_max", limit)
            .set("pool.adaptive_limit_counts_for", "1h")
            .admin_on(port);
        Self {
            proxy: Proxy::start(&settings),
            admin: std::net::SocketAddr::from(([127, 0, 0, 1], port)).into(),
            server,
        }
    }

    fn admin(&self) -> RawConn {
        RawConn::connect(&self.admin, &Login::with("root", "all")).unwrap()
    }

    /// Waits until a column of the table of backends has this value.
    fn wait_for(&self, column: &str, value: &str) {
        let mut admin = self.admin();
        wait::until(column, wait::SOON, || {
            admin.value(&format!("SELECT {column} FROM backends")) == value
        });
    }

    /// This number of clients, whose statements run until the table is unlocked.
    fn running(&self, count: usize) -> (RawConn, Vec<RawConn>) {
        let mut holder = self.server.root();
        holder.run("LOCK TABLES d.held WRITE");
        let mut clients: Vec<_> = (0..count).map(|_| self.proxy.connect()).collect();
        for client in &mut clients {
            client.send_query(READ).unwrap();
        }
        (holder, clients)
    }

    /// A client that sends this statement.
    fn client(&self, sql: &str) -> RawConn {
        let mut client = self.proxy.connect();
        client.send_query(sql).unwrap();
        client
    }
}

fn answered(client: &mut RawConn, value: &str) {
    let reply = client.reply(Shape::Results);
    assert_eq!(reply.texts(), [[value]], "{reply:?}");
}

#[test]
fn new_transactions_wait_and_open_transactions_continue() {
    let limited = Limited::start(2);
    let mut inside = limited.proxy.connect();
    inside.run("BEGIN");
    inside.run("INSERT INTO d.free VALUES (1)");
    let (mut holder, mut clients) = limited.running(2);
    limited.wait_for("running", "2");
    let mut third = limited.client("SELECT 3");
    limited.wait_for("waiting_to_begin", "1");
    let mut killed = limited.client("SELECT 4");
    limited.wait_for("waiting_to_begin", "2");
    let leaving = limited.client("SELECT 5");
    limited.wait_for("waiting_to_begin", "3");
    // A statement of an open transaction does not wait.
    assert_eq!(inside.value("SELECT COUNT(*) FROM d.free"), "1");
    inside.run("COMMIT");
    drop(leaving);
    limited.wait_for("waiting_to_begin", "2");
    limited.admin().run(&format!("KILL QUERY {}", killed.id));
    let error = killed.reply(Shape::Results);
    assert_eq!(error.error().unwrap().code, 1317);
    limited.wait_for("waiting_to_begin", "1");
    holder.run("UNLOCK TABLES");
    for client in &mut clients {
        answered(client, "7");
    }
    answered(&mut third, "3");
    assert_eq!(killed.value("SELECT 6"), "6");
    limited.wait_for("running", "0");
    limited.wait_for("running_limit", "2");
    limited.proxy.assert_sound();
}

#[test]
fn the_adaptive_limit_is_changed_and_switched_off_while_statements_wait() {
    let limited = Limited::start(1);
    let (mut holder, mut clients) = limited.running(1);
    limited.wait_for("running", "1");
    let mut next = limited.client("SELECT 2");
    limited.wait_for("waiting_to_begin", "1");
    let set = |name: &str, value: &str| {
        let sql = format!("UPDATE settings SET value = '{value}' WHERE name = 'pool.{name}'");
        limited.admin().run(&sql);
    };
    set("adaptive_limit_max", "2");
    set("adaptive_limit_min", "2");
    answered(&mut next, "2");
    let mut more = [READ, READ].map(|sql| limited.client(sql));
    limited.wait_for("waiting_to_begin", "1");
    set("adaptive_limit", "false");
    limited.wait_for("waiting_to_begin", "0");
    assert_eq!(next.value("SELECT 3"), "3");
    holder.run("UNLOCK TABLES");
    for client in clients.iter_mut().chain(&mut more) {
        answered(client, "7");
    }
    limited.proxy.assert_sound();
}
