//! Limits: of sessions, time, sizes, memory.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use e2e::raw::{Login, RawConn, ServerError, Shape};
use e2e::{Product, Proxy, Server, Settings, wait};

fn settings() -> Settings {
    Settings::in_front_of([Server::shared(Product::MariaDb)])
}

fn refusal(proxy: &Proxy) -> ServerError {
    RawConn::connect(&proxy.address(), &Login::app())
        .unwrap_err()
        .refusal()
}

#[test]
fn a_client_over_the_limit_of_sessions_is_refused() {
    let proxy = Proxy::start(&settings().set("limits.sessions_max", 2));
    let one = proxy.connect();
    let mut two = proxy.connect();
    let refused = refusal(&proxy);
    assert_eq!(refused.code, 1040);
    assert!(refused.text.contains("sessions_max"), "{refused}");
    two.run("SELECT 1");
    one.quit();
    wait::until("there is a place", wait::SOON, || {
        RawConn::connect(&proxy.address(), &Login::app()).is_ok()
    });
}

#[test]
fn a_client_over_a_backends_limit_is_refused() {
    let proxy = Proxy::start(&settings().set("limits.backend_sessions_max", 1));
    let one = proxy.connect();
    assert_eq!(refusal(&proxy).code, 1040);
    one.quit();
    wait::until("there is a place", wait::SOON, || {
        RawConn::connect(&proxy.address(), &Login::app()).is_ok()
    });
}

#[test]
fn a_client_over_the_limit_may_wait_for_a_place() {
    for limit in ["limits.sessions_max", "limits.backend_sessions_max"] {
        let settings = settings()
            .set(limit, 1)
            .set("limits.over_limit", "wait")
            .set("log.level", "debug");
        let proxy = Proxy::start(&settings.clone().set("limits.timeout_over_limit", "60s"));
        let one = proxy.connect();
        let address = proxy.address();
        let waiting = std::thread::spawn(move || {
            let mut conn = RawConn::connect(&address, &Login::app()).unwrap();
            conn.value("SELECT 'waited'")
        });
        proxy.wait_event("client_waits", &[&format!("limit={limit:?}")]);
        assert!(!waiting.is_finished());
        one.quit();
        assert_eq!(waiting.join().unwrap(), "waited");
        let proxy = Proxy::start(&settings.set("limits.timeout_over_limit", "200ms"));
        let _one = proxy.connect();
        assert_eq!(refusal(&proxy).code, 1040);
    }
}

#[test]
fn a_silent_client_is_cut_off() {
    let proxy = Proxy::start(&settings().set("limits.timeout_login", "300ms"));
    let mut stream = TcpStream::connect(proxy.tcp()).unwrap();
    stream.set_read_timeout(Some(wait::SOON)).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("timeout_login"), "{text}");
    proxy.wait_event("login_timeout", &["side=client"]);
}

#[test]
fn a_client_with_a_byte_at_a_time_is_cut_off() {
    let proxy = Proxy::start(&settings().set("limits.timeout_login", "2s"));
    let mut stream = TcpStream::connect(proxy.tcp()).unwrap();
    let mut writer = stream.try_clone().unwrap();
    std::thread::spawn(move || {
        for byte in [200, 0, 0, 1].into_iter().chain(std::iter::repeat(0)) {
            // The client is slow: that is what the test is about.
            std::thread::sleep(Duration::from_millis(50));
            if writer.write_all(&[byte]).is_err() {
                return;
            }
        }
    });
    stream.set_read_timeout(Some(wait::SOON)).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    proxy.wait_event("login_timeout", &["side=client"]);
    // On a busy machine others may take as long.
    wait::until("others are served", wait::SOON, || {
        RawConn::connect(&proxy.address(), &Login::app())
            .is_ok_and(|mut conn| conn.value("SELECT 1") == "1")
    });
}

#[test]
fn many_silent_clients_keep_nobody_out() {
    let proxy = Proxy::start(&settings().set("limits.timeout_login", "60s"));
    let silent: Vec<TcpStream> = (0..100)
        .map(|_| TcpStream::connect(proxy.tcp()).unwrap())
        .collect();
    let mut conn = proxy.connect();
    conn.run("SELECT 1");
    drop(silent);
}

/// A session that waits is not idle. One that is idle ends as its server would end it: MySQL says why, MariaDB
/// just closes.
fn an_idle_session_is_ended(product: Product, tls: bool, settings: fn(&Server) -> Settings) {
    let server = Server::shared(product);
    let mut root = server.root();
    let settings = || settings(server);
    let proxy = Proxy::start(&settings());
    let mut login = Login::app();
    login.tls = tls.then(Default::default);
    let mut conn = proxy.connect_as(&login);
    // A statement that takes longer is not idle.
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

/// All at once: each waits for seconds.
#[test]
fn an_idle_session_is_ended_as_by_its_server() {
    let ways: [fn(&Server) -> Settings; 3] = [
        |server| Settings::in_front_of([server]),
        |server| Settings::pooled(server, 2),
        |server| {
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/every_other.lua");
            Settings::in_front_of([server]).set("script.file", script)
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
    // Results have no such limit.
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
fn a_client_that_does_not_read_takes_no_memory() {
    let mut proxy = Proxy::start(&settings());
    let pid = proxy.process().pid();
    let login = Login::app();
    proxy.connect().run("SELECT 1");
    let before = memory_bytes(pid);
    // 20 sessions with 50 MB each on their way.
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
    // It is all still there.
    let reply = conns[7].reply(Shape::Results);
    assert_eq!(reply.text(0, 0).unwrap().len(), 50_000_000);
}

#[test]
fn a_big_upload_takes_no_memory() {
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
