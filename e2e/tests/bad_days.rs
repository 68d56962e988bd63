//! Days on which servers fail: which failures only delay clients, and which errors clients get, in each way that the
//! proxy serves sessions.

use e2e::raw::{Execute, Login, Outcome, Param, RawConn, Reply, command};
use e2e::{
    Folder, LeasedServer, PASSWORD, Product, Proxy, Server, Settings, Signal, free_port, wait,
};

/// Makes a test for each server: MySQL and both versions of MariaDB.
macro_rules! on_all {
    ($($name:ident)+) => { $(
        mod $name {
            #[test]
            fn mariadb() {
                super::$name(e2e::Product::MariaDb);
            }

            #[test]
            fn mariadb_next() {
                super::$name(e2e::Product::MariaDbNext);
            }

            #[test]
            fn mysql() {
                super::$name(e2e::Product::MySql);
            }
        }
    )+ };
}

on_all! {
    writes_wait_while_the_primary_is_read_only
    writes_wait_for_a_read_only_primary_without_a_monitor_account
    a_write_within_a_transaction_gets_the_error_of_a_read_only_primary
    a_transaction_without_statements_survives_its_connection
    a_write_that_times_out_gets_the_reason_as_its_error
    a_login_waits_while_the_server_is_full
    error_1040_after_the_login_marks_the_server_as_full
    primaries_that_do_not_replicate_are_logged
}

/// An account that `read_only` applies to.
const WRITER: &str = "writer";

/// A server with an empty table `d.t`.
fn server(product: Product) -> LeasedServer {
    let server = Server::lease(product);
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

/// Settings with a long wait for a backend, for ways that are not pooled as well.
fn patient(server: &Server) -> Settings {
    Settings::in_front_of([server]).set("balance.timeout_backend_wait", "60s")
}

fn writer_login() -> Login {
    Login {
        passwords: vec![PASSWORD.into()],
        ..Login::user(WRITER)
    }
}

fn monitored(settings: Settings) -> Settings {
    settings
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD)
        .set("health.replication_interval", "50ms")
}

fn writer(proxy: &Proxy) -> RawConn {
    let mut conn = proxy.connect_as(&writer_login().schema("d"));
    conn.patience(wait::SOON * 2);
    conn
}

/// How the proxy serves sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// With one backend connection for each session.
    Own,
    /// With one backend connection for each session, through a script.
    Scripted,
    Pooled,
    /// Pooled, and reads use lanes.
    Lanes,
    /// Pooled, through a script.
    PooledScripted,
}

impl Way {
    const POOLED: [Way; 3] = [Way::Pooled, Way::Lanes, Way::PooledScripted];
    const ALL: [Way; 5] = [
        Way::Own,
        Way::Scripted,
        Way::Pooled,
        Way::Lanes,
        Way::PooledScripted,
    ];

    /// Adds the settings for this way. The script is written to the folder.
    fn of(self, settings: &Settings, folder: &Folder) -> Settings {
        let mut settings = settings.clone();
        if Way::POOLED.contains(&self) {
            settings = settings
                .account("app", PASSWORD)
                .account(WRITER, PASSWORD)
                .set("pool.backend_connections_max", 4);
        }
        match self {
            Way::Own | Way::Pooled => settings,
            Way::Lanes => settings.set("routing.lanes", "reads"),
            Way::Scripted | Way::PooledScripted => {
                let script = folder.write("script.lua", "function read_query(packet) end");
                settings.set("routing.script", &script)
            }
        }
    }
}

/// A connection to the admin port of a proxy with [`Settings::admin_on`].
fn admin(port: u16) -> RawConn {
    let login = Login {
        passwords: vec!["all".into()],
        ..Login::user("root")
    };
    let address: std::net::SocketAddr = ([127, 0, 0, 1], port).into();
    RawConn::connect(&address.into(), &login).expect("the admin port is open")
}

/// Waits until the admin table `backends` has this state for the only backend.
fn wait_state(admin: &mut RawConn, state: &str) {
    wait::until(&format!("the backend is {state}"), wait::SOON, || {
        admin.value("SELECT state FROM backends") == state
    });
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

type Writes<'a> = &'a (dyn Fn(&mut RawConn) + Sync);

/// Writes in each way that a client can. Each write waits until the server is not read-only any more.
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
    // The session has only sent BEGIN when the server becomes read-only.
    let begun = |conn: &mut RawConn| {
        assert_ok(&conn.query("INSERT INTO t VALUES (5)"));
        assert_ok(&conn.query("COMMIT"));
    };
    let ways: [(&str, Writes<'_>); 5] = [
        ("DO 1", &text),
        ("DO 1", &transaction),
        ("DO 1", &prepared),
        ("DO 1", &implicit),
        ("BEGIN", &begun),
    ];
    let conns = ways.map(|(before, way)| {
        let mut conn = writer(proxy);
        conn.run(before);
        (conn, way)
    });
    read_only(server, 1);
    std::thread::scope(|scope| {
        for (mut conn, way) in conns {
            scope.spawn(move || way(&mut conn));
        }
        // Reads continue meanwhile.
        let mut reader = writer(proxy);
        for _ in 0..20 {
            assert_eq!(reader.value("SELECT COUNT(*) FROM t"), "0");
        }
        read_only(server, 0);
    });
    assert_eq!(rows(server), ways.len().to_string());
    server.root().run("DELETE FROM d.t");
}

fn writes_wait_while_the_primary_is_read_only(product: Product) {
    let server = server(product);
    let folder = Folder::new("ways");
    for way in Way::POOLED {
        println!("{way:?}");
        let proxy = Proxy::start(&way.of(&monitored(patient(&server)), &folder));
        writer(&proxy).run("SELECT 1");
        write_while_read_only(&server, &proxy);
    }
}

fn writes_wait_for_a_read_only_primary_without_a_monitor_account(product: Product) {
    let server = server(product);
    let proxy = Proxy::start(&pooled(&server));
    writer(&proxy).run("SELECT 1");
    write_while_read_only(&server, &proxy);
}

fn a_write_within_a_transaction_gets_the_error_of_a_read_only_primary(product: Product) {
    let server = server(product);
    let proxy = Proxy::start(&monitored(pooled(&server)));
    let mut conn = writer(&proxy);
    conn.run("BEGIN");
    conn.run("SELECT * FROM t");
    read_only(&server, 1);
    let reply = conn.query("INSERT INTO t VALUES (1)");
    assert_eq!(reply.error().expect("it is refused").code, 1290);
    conn.run("ROLLBACK");
    // As soon as the worker knows that the server is read-only, transactions wait.
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

/// The server closes the connection between BEGIN and the next statement. Only a transaction that has read data is
/// lost.
fn a_transaction_without_statements_survives_its_connection(product: Product) {
    let server = server(product);
    let proxy = Proxy::start(&pooled(&server));
    let mut conn = writer(&proxy);
    let mut lose = |statements: &[&str]| {
        statements.iter().for_each(|sql| {
            conn.run(sql);
        });
        let mut root = server.root();
        let sql = format!("SELECT id FROM information_schema.processlist WHERE user = '{WRITER}'");
        let ids = root.run(&sql).texts();
        assert_eq!(ids.len(), 1);
        root.run(&format!("KILL {}", ids[0][0]));
        wait::until("the connection is gone", wait::SOON, || {
            root.run(&sql).texts().iter().all(|row| row != &ids[0])
        });
        if statements.len() == 1 {
            proxy.wait_event("transaction_moves", &[]);
        }
        let reply = conn.query("INSERT INTO t VALUES (1)");
        conn.run(if reply.error().is_none() {
            "COMMIT"
        } else {
            "ROLLBACK"
        });
        reply.error().map(|error| error.code)
    };
    assert_eq!(lose(&["BEGIN"]), None);
    assert_eq!(rows(&server), "1");
    assert_ne!(lose(&["BEGIN", "SELECT * FROM t"]), None);
    assert_eq!(rows(&server), "1");
}

fn a_write_that_times_out_gets_the_reason_as_its_error(product: Product) {
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
    // The statement that ends read-only mode does not wait.
    proxy.connect().run("SET GLOBAL read_only = 0");
    wait::until("it takes writes again", wait::SOON, || {
        conn.query("INSERT INTO t VALUES (1)").error().is_none()
    });
    assert_eq!(rows(&server), "1");
}

/// In each way a login waits, as for a full pool, and the admin table shows why.
fn a_login_waits_while_the_server_is_full(product: Product) {
    let server = Server::lease_set(product, &[("max_connections", "10")]);
    let folder = Folder::new("ways");
    for way in Way::ALL {
        println!("{way:?}");
        let port = free_port();
        let settings = patient(&server).set("pool.timeout_wait", "60s");
        let proxy = Proxy::start(&way.of(&settings, &folder).admin_on(port));
        let mut admin = admin(port);
        wait_state(&mut admin, "up");
        let mut root = server.root();
        let held = fill(&server, &Login::app());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let mut conn = proxy.connect();
                conn.value("SELECT 7")
            });
            proxy.wait_event("server_full", &[]);
            wait_state(&mut admin, "full");
            drop(held);
            assert_eq!(waiting.join().expect("it gets in"), "7");
        });
        wait_state(&mut admin, "up");
        assert_eq!(root.value("SELECT 1"), "1");
    }
}

/// Servers reserve a last connection for administrators. Another account that gets it is refused after its login.
fn error_1040_after_the_login_marks_the_server_as_full(product: Product) {
    let server = Server::lease_set(product, &[("max_connections", "10")]);
    server.root().run(&format!(
        "CREATE USER {WRITER}@'%' IDENTIFIED BY '{PASSWORD}'"
    ));
    let folder = Folder::new("ways");
    for way in Way::ALL {
        println!("{way:?}");
        let port = free_port();
        let settings = patient(&server).set("pool.timeout_wait", "60s");
        let proxy = Proxy::start(&way.of(&settings, &folder).admin_on(port));
        let mut admin = admin(port);
        wait_state(&mut admin, "up");
        let held = fill(&server, &writer_login());
        if !Way::POOLED.contains(&way) {
            // Only the client has the credentials for another login.
            let refused = RawConn::connect(&proxy.address(), &writer_login());
            assert_eq!(refused.expect_err("it is full").refusal().code, 1040);
            wait_state(&mut admin, "full");
            continue;
        }
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let mut conn = proxy.connect_as(&writer_login());
                conn.patience(wait::SOON * 2);
                conn.value("SELECT 7")
            });
            proxy.wait_event("server_full", &[]);
            wait_state(&mut admin, "full");
            drop(held);
            assert_eq!(waiting.join().expect("it gets in"), "7");
        });
        wait_state(&mut admin, "up");
    }
}

/// Opens connections until the server refuses this account.
fn fill(server: &Server, login: &Login) -> Vec<RawConn> {
    let address = server.tcp().into();
    let next = || RawConn::connect(&address, login).ok();
    std::iter::from_fn(next).collect()
}

/// One command waits for `health.timeout_down`; the next ones fail at once. All servers behave the same when they are
/// stopped, so one product is enough.
#[test]
fn each_command_for_a_server_that_is_down_fails_at_once() {
    let server = Server::start(Product::MariaDb, &[]);
    let folder = Folder::new("ways");
    let settings = Settings::in_front_of([&server]).set("health.timeout_down", "12s");
    let settings = monitored(settings).set("health.timeout_connect", "5s");
    let sites = Way::ALL.map(|way| Idle::before(way, &way.of(&settings, &folder)));
    server.process().signal(Signal::STOP);
    std::thread::scope(|scope| {
        for site in sites {
            scope.spawn(|| site.hear());
        }
    });
    server.process().signal(Signal::CONT);
}

/// Sessions that were idle before their server hangs.
struct Idle {
    way: Way,
    proxy: Proxy,
    /// Each of these sessions keeps its backend connection.
    holders: Vec<RawConn>,
    /// If pooled, this session has no backend connection.
    free: RawConn,
}

impl Idle {
    fn before(way: Way, settings: &Settings) -> Self {
        let proxy = Proxy::start(&settings.clone().set("pool.backend_connections_max", 20));
        let hold = |number: usize| {
            let mut conn = proxy.connect();
            conn.run(&format!("SELECT GET_LOCK('{way:?}{number}', 1)"));
            conn
        };
        let holders = (0..10).map(hold).collect();
        let mut free = proxy.connect();
        assert_eq!(free.value("SELECT 1"), "1");
        Self {
            way,
            proxy,
            holders,
            free,
        }
    }

    fn hear(mut self) {
        let (first, others) = self.holders.split_first_mut().expect("there are ten");
        first.patience(wait::SOON);
        // A signal may take a moment to stop all threads of the server.
        let code = loop {
            let reply = first.command(command::QUERY, b"DO 1");
            if let Some(error) = reply.error() {
                break error.code;
            }
        };
        assert_eq!(code, 1158, "{:?}", self.way);
        // A command that waited for the timeout would take twelve seconds.
        let soon = std::time::Duration::from_secs(8);
        for conn in others {
            conn.patience(soon);
            let reply = conn.command(command::QUERY, b"DO 2");
            let code = reply.error().expect("it is told so").code;
            assert_eq!(code, 1158, "{:?}", self.way);
        }
        if Way::POOLED.contains(&self.way) {
            self.free.patience(soon);
            let reply = self.free.command(command::QUERY, b"SELECT 1");
            let code = reply.error().expect("it is told so").code;
            assert_eq!(code, 1429, "{:?}", self.way);
        }
        self.proxy.assert_sound();
    }
}

/// A full, a drained, an unknown and a down backend have different states. The names are the proxy's own, so one server
/// is enough.
#[test]
fn each_state_of_a_backend_has_its_own_name() {
    let server = Server::lease(Product::MariaDb);
    // This backend accepts connections and sends nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("the loopback has ports");
    let unknown = silent.local_addr().expect("it is bound");
    let down = format!("127.0.0.1:{}", free_port());
    let port = free_port();
    // Clients go to the first backend's cluster.
    let other = ("cluster", "\"other\"");
    let settings = Settings::default()
        .backend_with(server.tcp(), &[("name", "\"a\""), ("sessions_max", "1")])
        .backend_with(unknown, &[("name", "\"b\""), other])
        .backend_with(down, &[("name", "\"c\""), other])
        .backend_with(
            format!("unix:{}", server.socket().display()),
            &[("name", "\"d\""), ("drain", "true")],
        )
        .set("health.timeout_connect", "300s")
        .admin_on(port);
    let proxy = Proxy::start(&settings);
    let mut admin = admin(port);
    let mut wait_told = |expected: [[&str; 4]; 4]| {
        wait::until(&format!("{expected:?}"), wait::SOON, || {
            let sql = "SELECT name, state, draining, cause IS NOT NULL FROM backends";
            admin.run(sql).texts() == expected
        });
    };
    let [b, c, d] = [
        ["b", "unknown", "0", "0"],
        ["c", "down", "0", "1"],
        ["d", "up", "1", "0"],
    ];
    wait_told([["a", "up", "0", "0"], b, c, d]);
    let conn = proxy.connect();
    wait_told([["a", "full", "0", "0"], b, c, d]);
    drop(conn);
    wait_told([["a", "up", "0", "0"], b, c, d]);
}

fn primaries_that_do_not_replicate_are_logged(product: Product) {
    let servers = [Server::lease(product), Server::lease(product)];
    let settings =
        monitored(Settings::in_front_of(servers.iter().map(|it| &**it))).admin_on(free_port());
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

/// A person who starts the program looks at standard error, wherever the log goes.
#[test]
fn a_failed_start_is_reported_on_standard_error_and_in_the_log_file() {
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
