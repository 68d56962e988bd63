//! Days on which servers fail: what costs pooled clients nothing but time, and what each is told.

use e2e::raw::{Execute, Login, Outcome, Param, RawConn, Reply, command};
use e2e::{Folder, PASSWORD, Product, Proxy, Server, Settings, Signal, free_port, wait};

both! {
    writes_wait_while_the_primary_is_read_only
    writes_wait_for_a_read_only_primary_without_a_monitor_account
    a_write_within_a_transaction_hears_of_a_read_only_primary
    a_write_that_waits_in_vain_hears_the_reason
    a_login_waits_while_the_server_is_full
    each_command_for_a_server_that_is_down_hears_so_at_once
    primaries_that_do_not_replicate_are_told
}

/// An account that `read_only` holds for.
const WRITER: &str = "writer";

/// A server with an empty table `d.t`.
fn server(product: Product) -> Server {
    let server = Server::start(product, &[]);
    let mut root = server.root();
    root.run("CREATE DATABASE d");
    root.run("CREATE TABLE d.t (n INT)");
    root.run(&format!(
        "CREATE USER {WRITER}@'%' IDENTIFIED BY '{PASSWORD}'"
    ));
    root.run(&format!("GRANT ALL ON d.* TO {WRITER}@'%'"));
    server
}

fn pooled(server: &Server) -> Settings {
    Settings::pooled(server, 4)
        .account(WRITER, PASSWORD)
        .set("balance.timeout_backend_wait", "60s")
}

fn monitored(settings: Settings) -> Settings {
    settings
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD)
        .set("health.replication_interval", "50ms")
}

fn writer(proxy: &Proxy) -> RawConn {
    let login = Login {
        passwords: vec![PASSWORD.into()],
        ..Login::user(WRITER)
    };
    let mut conn = proxy.connect_as(&login.schema("d"));
    conn.patience(wait::SOON * 2);
    conn
}

fn read_only(server: &Server, value: u8) {
    server
        .root()
        .run(&format!("SET GLOBAL read_only = {value}"));
}

fn rows(server: &Server) -> String {
    server.root().value("SELECT COUNT(*) FROM d.t")
}

fn assert_ok(reply: &Reply) {
    assert!(
        matches!(reply.outcomes[..], [Outcome::Ok { .. }]),
        "{reply:?}"
    );
}

/// Writes in each way that a client has, of which each waits until the server takes writes again.
fn write_while_read_only(server: &Server, proxy: &Proxy) {
    let text = |conn: &mut RawConn| assert_ok(&conn.query("INSERT INTO t VALUES (1)"));
    let transaction = |conn: &mut RawConn| {
        for sql in [
            "START TRANSACTION READ WRITE",
            "INSERT INTO t VALUES (2)",
            "COMMIT",
        ] {
            assert_ok(&conn.query(sql));
        }
    };
    let prepared = |conn: &mut RawConn| {
        let id = conn.prepare("INSERT INTO t VALUES (?)").statement();
        assert_ok(&conn.execute(&Execute::new(id, &[Param::Int(3)])));
    };
    let implicit = |conn: &mut RawConn| {
        conn.run("SET autocommit = 0");
        assert_ok(&conn.query("INSERT INTO t VALUES (4)"));
        assert_ok(&conn.query("COMMIT"));
    };
    let ways: [&(dyn Fn(&mut RawConn) + Sync); 4] = [&text, &transaction, &prepared, &implicit];
    read_only(server, 1);
    std::thread::scope(|scope| {
        for way in ways {
            let mut conn = writer(proxy);
            scope.spawn(move || way(&mut conn));
        }
        // Reads go on meanwhile.
        let mut reader = writer(proxy);
        for _ in 0..20 {
            assert_eq!(reader.value("SELECT COUNT(*) FROM t"), "0");
        }
        read_only(server, 0);
    });
    assert_eq!(rows(server), ways.len().to_string());
}

fn writes_wait_while_the_primary_is_read_only(product: Product) {
    let server = server(product);
    let proxy = Proxy::start(&monitored(pooled(&server)));
    writer(&proxy).run("SELECT 1");
    write_while_read_only(&server, &proxy);
}

fn writes_wait_for_a_read_only_primary_without_a_monitor_account(product: Product) {
    let server = server(product);
    let proxy = Proxy::start(&pooled(&server));
    writer(&proxy).run("SELECT 1");
    write_while_read_only(&server, &proxy);
}

fn a_write_within_a_transaction_hears_of_a_read_only_primary(product: Product) {
    let server = server(product);
    let proxy = Proxy::start(&monitored(pooled(&server)));
    let mut conn = writer(&proxy);
    conn.run("BEGIN");
    conn.run("SELECT * FROM t");
    read_only(&server, 1);
    let reply = conn.query("INSERT INTO t VALUES (1)");
    assert_eq!(reply.error().expect("it is refused").code, 1290);
    conn.run("ROLLBACK");
    // Transactions wait, as soon as the worker knows.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            loop {
                conn.run("BEGIN");
                let reply = conn.query("INSERT INTO t VALUES (2)");
                match reply.error() {
                    None => break conn.run("COMMIT"),
                    Some(error) => assert_eq!(error.code, 1290),
                }
                conn.run("ROLLBACK");
            }
        });
        read_only(&server, 0);
        waiting.join().expect("it goes on");
    });
    assert_eq!(rows(&server), "1");
}

fn a_write_that_waits_in_vain_hears_the_reason(product: Product) {
    let server = server(product);
    let settings = monitored(pooled(&server)).set("balance.timeout_backend_wait", "300ms");
    let proxy = Proxy::start(&settings);
    let mut conn = writer(&proxy);
    read_only(&server, 1);
    wait::until(
        "the proxy knows that the primary is read-only",
        wait::SOON,
        || {
            let reply = conn.query("INSERT INTO t VALUES (1)");
            let error = reply.error().expect("it is refused");
            assert!(matches!(error.code, 1290 | 1429), "{error}");
            error.code == 1429 && error.text.contains("read-only")
        },
    );
    assert_eq!(conn.value("SELECT COUNT(*) FROM t"), "0");
    // What makes it take writes again does not wait.
    proxy.connect().run("SET GLOBAL read_only = 0");
    wait::until("it takes writes again", wait::SOON, || {
        conn.query("INSERT INTO t VALUES (1)").error().is_none()
    });
    assert_eq!(rows(&server), "1");
}

/// Pooled and with a connection of its own, a login waits as it does for a full pool.
fn a_login_waits_while_the_server_is_full(product: Product) {
    let server = Server::start(product, &["--max-connections=10"]);
    let settings = Settings::in_front_of([&server]).set("pool.timeout_wait", "60s");
    let settings = [settings.clone(), settings.account("app", PASSWORD)];
    for settings in settings {
        let proxy = Proxy::start(&settings);
        let mut root = server.root();
        let held = fill(&server);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let mut conn = proxy.connect();
                conn.value("SELECT 7")
            });
            proxy.wait_event("server_full", &[]);
            drop(held);
            assert_eq!(waiting.join().expect("it gets in"), "7");
        });
        assert_eq!(root.value("SELECT 1"), "1");
    }
}

/// Connections up to the last that the server gives.
fn fill(server: &Server) -> Vec<RawConn> {
    let login = Login::app();
    let address = server.tcp().into();
    let next = || RawConn::connect(&address, &login).ok();
    std::iter::from_fn(next).collect()
}

/// After `health.timeout_down` was waited once, the others do not wait for it again.
fn each_command_for_a_server_that_is_down_hears_so_at_once(product: Product) {
    let server = Server::start(product, &[]);
    let settings = Settings::in_front_of([&server]).set("health.timeout_down", "5s");
    let settings = monitored(settings).set("health.timeout_connect", "1s");
    for settings in [settings.clone(), settings.account("app", PASSWORD)] {
        let proxy = Proxy::start(&settings);
        let connect = |number: usize| {
            let mut conn = proxy.connect();
            conn.run(&format!("SELECT GET_LOCK('l{number}', 1)"));
            conn
        };
        let mut conns: Vec<RawConn> = (0..10).map(connect).collect();
        server.process().signal(Signal::STOP);
        let (first, others) = conns.split_first_mut().expect("there are ten");
        first.patience(wait::SOON);
        let reply = first.command(command::QUERY, b"DO 1");
        assert_eq!(reply.error().expect("it is given up").code, 1158);
        // Each of these would wait for five seconds.
        for conn in others {
            conn.patience(std::time::Duration::from_secs(3));
            let reply = conn.command(command::QUERY, b"DO 2");
            assert_eq!(reply.error().expect("it is told so").code, 1158);
        }
        server.process().signal(Signal::CONT);
        proxy.wait_event("backend_up_again", &[]);
    }
}

fn primaries_that_do_not_replicate_are_told(product: Product) {
    let servers = [Server::start(product, &[]), Server::start(product, &[])];
    let settings = monitored(Settings::in_front_of(&servers)).admin_on(free_port());
    let proxy = Proxy::start(&settings);
    proxy.wait_event("independent_writers", &[&servers[1].tcp().to_string()]);
    drop(proxy);
    let meant = [("independent", "true")];
    let settings = Settings::default();
    let settings = monitored(
        servers
            .iter()
            .fold(settings, |it, server| it.backend_with(server.tcp(), &meant)),
    );
    let proxy = Proxy::start(&settings);
    proxy.wait_event("ready", &[]);
    assert_eq!(proxy.count_events("independent_writers"), 0);
}

/// Whoever starts the program looks at standard error, wherever the log goes.
#[test]
fn a_start_that_fails_is_told_on_standard_error_beside_a_log_file() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let folder = Folder::new("failed-start");
    let log = folder.join("own.log");
    let settings = Settings::default()
        .backend("127.0.0.1:9")
        .listener_with(format!("127.0.0.1:{port}"), &[])
        .set("log.file", log.display().to_string().as_str());
    let file = folder.write("pilotfish.toml", settings.to_toml());
    let file = file.display().to_string();
    let (status, told) = Proxy::run_to_the_end(&["--config", &file]);
    assert_eq!(status.code(), Some(1), "{told}");
    assert!(told.contains(&port.to_string()), "{told}");
    assert!(
        std::fs::read_to_string(log)
            .unwrap()
            .contains(&port.to_string())
    );
}
