//! Limits of time, sizes and memory. Limits of sessions, and the time that a login may take: `simulation/tests/scenes/`.

use e2e::raw::{Login, RawConn, Shape};
use e2e::{Product, Proxy, Server, Settings, wait};

fn settings() -> Settings {
    Settings::in_front_of([Server::shared(Product::MariaDb)])
}

/// A session with a running statement is not idle. An idle session ends as on its server: MySQL sends an error, MariaDB
/// only closes the connection.
fn an_idle_session_is_ended(product: Product, tls: bool, settings: fn(&Server) -> Settings) {
    let server = Server::shared(product);
    let mut root = server.root();
    let settings = || settings(server);
    let proxy = Proxy::start(&settings());
    let mut login = Login::app();
    login.tls = tls.then(Default::default);
    let mut conn = proxy.connect_as(&login);
    // A session whose statement takes longer than the limit is not idle.
    let words = format!("SLEEP(4 + 0 * {})", proxy.port());
    conn.send_query(&format!("SELECT {words}")).unwrap();
    let ask = format!(
        "SELECT COUNT(*) FROM information_schema.processlist \
         WHERE info LIKE '%{words}%' AND id <> CONNECTION_ID()"
    );
    wait::until("it runs", wait::SOON, || root.value(&ask) == "1");
    proxy.reload(&settings().set("limits.timeout_idle", "1s"));
    let reply = conn.reply(Shape::Results);
    assert!(reply.error().is_none(), "{:?}", reply.error());
    conn.patience(wait::SOON);
    match conn.packet_of_any_order() {
        Ok(last) => {
            assert_eq!(u16::from_le_bytes([last[1], last[2]]), 4031);
            assert_eq!(product, Product::MySql);
        }
        Err(error) => {
            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "it is closed");
            assert!(product.is_mariadb());
        }
    }
    assert!(conn.is_closed_by_server());
    proxy.wait_event("idle_timeout", &[]);
}

/// The cases run in parallel, because each waits for seconds.
#[test]
fn an_idle_session_ends_with_the_servers_error() {
    let ways: [fn(&Server) -> Settings; 3] = [
        |server| Settings::in_front_of([server]),
        |server| Settings::pooled(server, 2),
        |server| {
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/every_other.lua");
            Settings::in_front_of([server]).set("routing.script", script)
        },
    ];
    std::thread::scope(|scope| {
        for product in [Product::MariaDb, Product::MySql] {
            for way in ways {
                for tls in [false, true] {
                    scope.spawn(move || an_idle_session_is_ended(product, tls, way));
                }
            }
        }
    });
}

#[test]
fn a_payload_over_the_limit_is_refused() {
    let proxy = Proxy::start(&settings().set("limits.packet_bytes_max", 2000));
    let mut conn = proxy.connect();
    conn.run(&format!("SELECT '{}'", "x".repeat(1900)));
    let reply = conn.try_query(&format!("SELECT '{}'", "x".repeat(2100)));
    let error = reply.unwrap().error().unwrap().clone();
    assert_eq!(error.code, 1153);
    assert!(error.text.contains("packet_bytes_max"), "{error}");
    assert!(conn.is_closed_by_server());
    // The limit does not apply to results.
    assert_eq!(
        proxy.connect().value("SELECT LENGTH(REPEAT('x', 5000))"),
        "5000"
    );
    proxy.connect().run("SELECT REPEAT('x', 5000)");
}

/// Resident memory of a process, in bytes.
fn memory_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

#[test]
fn a_client_that_does_not_read_uses_little_memory() {
    let mut proxy = Proxy::start(&settings());
    let pid = proxy.process().pid();
    let login = Login::app();
    proxy.connect().run("SELECT 1");
    let before = memory_bytes(pid);
    // 20 sessions, each with a result of 50 MB that the client does not read.
    let mut conns: Vec<RawConn> = (0..20).map(|_| proxy.connect_as(&login)).collect();
    for conn in &mut conns {
        conn.send_query("SELECT REPEAT('x', 50000000)").unwrap();
    }
    let mut one = proxy.connect();
    for _ in 0..20 {
        one.run("SELECT SLEEP(0.05)");
    }
    let grown = memory_bytes(pid).saturating_sub(before);
    assert!(
        grown < 20 << 20,
        "{grown} bytes for 20 sessions that do not read"
    );
    // The result is still complete.
    let reply = conns[7].reply(Shape::Results);
    assert_eq!(reply.text(0, 0).unwrap().len(), 50_000_000);
}

#[test]
fn a_big_upload_uses_little_memory() {
    let mut proxy = Proxy::start(&settings());
    let pid = proxy.process().pid();
    let mut conn = proxy.connect();
    conn.run("SELECT 1");
    let before = memory_bytes(pid);
    let sql = format!("SELECT LENGTH('{}')", "x".repeat(100_000_000));
    assert_eq!(conn.value(&sql), "100000000");
    let grown = memory_bytes(pid).saturating_sub(before);
    assert!(grown < 10 << 20, "{grown} bytes");
}
