//! How sessions end between two commands, and killed ones within a statement: as on a server, which closes the
//! connection without an error that nobody has asked for.

use e2e::raw::RawConn;
use e2e::{Product, Proxy, Server, Settings, Signal, wait};

const PRODUCTS: [Product; 2] = [Product::MariaDb, Product::MySql];

const SLEEP: &str = "SELECT SLEEP(60) FROM (SELECT 1 UNION SELECT 2) AS two";

/// What a session has made of itself before it is idle.
const BEFORE: [&[&str]; 4] = [
    &[],
    &["SELECT 1"],
    &["BEGIN", "SELECT 1"],
    &["CREATE TEMPORARY TABLE mysql.of_ones_own (n INT)"],
];

/// A proxy whose sessions have a connection each, one whose sessions share them, and the server itself.
fn sites(server: &Server) -> Vec<Proxy> {
    [Settings::in_front_of([server]), Settings::pooled(server, 6)]
        .map(|settings| Proxy::start(&settings))
        .into()
}

#[track_caller]
fn ends_without_a_word(conn: &mut RawConn) {
    conn.patience(wait::SOON);
    let error = conn.packet_of_any_order().expect_err("it hears nothing");
    assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "it is closed");
    assert!(conn.is_closed_by_server());
}

fn wait_sleeping(server: &Server, count: usize) {
    let ask = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'";
    let mut root = server.root();
    wait::until("it sleeps", wait::SOON, || {
        root.value(ask) == count.to_string()
    });
}

#[test]
fn a_killed_idle_session_hears_nothing() {
    for product in PRODUCTS {
        let server = Server::start(product, &[]);
        for before in BEFORE {
            let (mut direct, mut killer) = (server.connect(""), server.connect(""));
            before.iter().for_each(|it| drop(direct.run(it)));
            killer.run(&format!("KILL {}", direct.id));
            ends_without_a_word(&mut direct);
        }
        for proxy in sites(&server) {
            for before in BEFORE {
                let (mut victim, mut killer) = (proxy.connect(), proxy.connect());
                before.iter().for_each(|it| drop(victim.run(it)));
                killer.run(&format!("KILL {}", victim.id));
                ends_without_a_word(&mut victim);
            }
        }
    }
}

/// A session with a connection of its own hears which backend has closed that: the proxy has not seen the KILL.
#[test]
fn a_pooled_session_that_is_killed_within_a_statement_hears_nothing() {
    for product in PRODUCTS {
        let server = Server::start(product, &[]);
        let proxy = Proxy::start(&Settings::pooled(&server, 6));
        let sessions = || (proxy.connect(), proxy.connect());
        for (mut victim, mut killer) in [sessions(), (server.connect(""), server.connect(""))] {
            victim.send_query("DO SLEEP(60)").unwrap();
            wait_sleeping(&server, 1);
            killer.run(&format!("KILL {}", victim.id));
            ends_without_a_word(&mut victim);
            wait_sleeping(&server, 0);
        }
    }
}

#[test]
fn a_session_that_kills_itself_hears_what_a_server_says() {
    for product in PRODUCTS {
        let server = Server::start(product, &[]);
        let told = |conn: &mut RawConn| {
            let reply = conn.query("KILL CONNECTION_ID()");
            let error = reply.error().unwrap().to_string();
            ends_without_a_word(conn);
            error
        };
        let directly = told(&mut server.connect(""));
        for proxy in sites(&server) {
            assert_eq!(told(&mut proxy.connect()), directly, "{product:?}");
        }
    }
}

#[test]
fn a_transaction_that_is_idle_when_the_proxy_stops_hears_nothing() {
    for product in PRODUCTS {
        let server = Server::start(product, &[]);
        for settings in [
            Settings::in_front_of([&server]),
            Settings::pooled(&server, 6),
        ] {
            let mut proxy = Proxy::start(&settings.set("timeout_drain", "300ms"));
            let mut conn = proxy.connect();
            conn.run("BEGIN");
            conn.run("SELECT 1");
            proxy.signal(Signal::TERM);
            ends_without_a_word(&mut conn);
            let status = proxy.process().wait_ended(wait::SOON);
            assert!(status.success(), "{status}");
        }
    }
}

#[test]
fn the_admin_port_kills_without_a_word() {
    for product in PRODUCTS {
        let server = Server::start(product, &[]);
        let port = e2e::free_port();
        let proxy = Proxy::start(&Settings::pooled(&server, 6).admin_on(port));
        let mut victim = proxy.connect();
        victim.run("SELECT 1");
        let address = e2e::raw::Address::from(std::net::SocketAddr::from(([127, 0, 0, 1], port)));
        let login = e2e::raw::Login::with("root", "all");
        let mut admin = RawConn::connect(&address, &login).unwrap();
        admin.run(&format!("KILL {}", victim.id));
        ends_without_a_word(&mut victim);
    }
}

/// KILL QUERY of a statement, and of a session that is idle.
#[test]
fn a_killed_statement_ends_as_on_a_server() {
    for product in PRODUCTS {
        let server = Server::start(product, &[]);
        for proxy in sites(&server) {
            let (mut victim, mut killer) = (proxy.connect(), proxy.connect());
            killer.run(&format!("KILL QUERY {}", victim.id));
            assert_eq!(victim.value("SELECT 'idle'"), "idle");
            victim.send_query(SLEEP).unwrap();
            wait_sleeping(&server, 1);
            killer.run(&format!("KILL QUERY {}", victim.id));
            let reply = victim.reply(e2e::raw::Shape::Results);
            let error = reply.error().unwrap();
            assert_eq!((error.code, &*error.state), (1317, "70100"), "{product:?}");
            assert_eq!(error.text, "Query execution was interrupted");
            assert_eq!(victim.value("SELECT 'alive'"), "alive");
        }
    }
}
