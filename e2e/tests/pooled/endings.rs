//! How sessions end between two commands, and how killed sessions end within a statement: as on a server, which
//! closes the connection without an ERR packet that answers no command.

use e2e::raw::RawConn;
use e2e::{Product, Proxy, Server, Settings, Signal, wait};

const PRODUCTS: [Product; 2] = [Product::MariaDb, Product::MySql];

const SLEEP: &str = "SELECT SLEEP(60) FROM (SELECT 1 UNION SELECT 2) AS two";

/// The state that a session has before it is idle.
const BEFORE: [&[&str]; 4] = [
    &[],
    &["SELECT 1"],
    &["BEGIN", "SELECT 1"],
    &["CREATE TEMPORARY TABLE mysql.of_ones_own (n INT)"],
];

/// A proxy whose sessions have a connection each, a proxy whose sessions share connections, and the server itself.
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
fn a_killed_idle_session_gets_no_packet() {
    for product in PRODUCTS {
        let server = Server::lease(product);
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

/// Kills by a client of the proxy, and by a client of the server, whose KILL the proxy does not see. The latter
/// ends only sessions that share no connection.
#[test]
fn a_session_that_is_killed_within_a_statement_gets_no_packet() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/every_other.lua");
        let pooled = Proxy::start(&Settings::pooled(&server, 6));
        let own = [
            Settings::in_front_of([&*server]),
            Settings::in_front_of([&*server]).set("routing.script", script),
        ]
        .map(|settings| Proxy::start(&settings));
        let by_server = || server.connect("");
        let mut pairs = vec![
            (by_server(), by_server()),
            (pooled.connect(), pooled.connect()),
        ];
        for proxy in &own {
            pairs.push((proxy.connect(), proxy.connect()));
            pairs.push((proxy.connect(), by_server()));
        }
        for (victim, killer) in &mut pairs {
            victim.send_query("DO SLEEP(60)").unwrap();
            wait_sleeping(&server, 1);
            killer.run(&format!("KILL {}", victim.id));
            ends_without_a_word(victim);
            wait_sleeping(&server, 0);
        }
        // The log says which side closed the connection.
        own[0].wait_event("backend_lost", &["side=backend"]);
    }
}

/// The state of a pinned session is lost with its connection, so the session ends as on the server.
#[test]
fn a_pinned_session_whose_idle_connection_is_killed_gets_no_packet() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        let proxy = Proxy::start(&Settings::pooled(&server, 6));
        let mut victim = proxy.connect();
        victim.run("CREATE TEMPORARY TABLE mysql.of_ones_own (n INT)");
        let own = "SELECT id FROM information_schema.processlist WHERE user = 'app'";
        let mut root = server.root();
        for row in root.run(own).texts() {
            root.run(&format!("KILL {}", row[0]));
        }
        ends_without_a_word(&mut victim);
        proxy.wait_event("held_backend_lost", &["of_ones_own"]);
    }
}

#[test]
fn a_session_that_kills_itself_gets_the_servers_error() {
    for product in PRODUCTS {
        let server = Server::lease(product);
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
fn an_idle_transaction_gets_no_packet_if_the_proxy_stops() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        for settings in [
            Settings::in_front_of([&*server]),
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
fn a_session_that_the_admin_port_kills_gets_no_packet() {
    for product in PRODUCTS {
        let server = Server::lease(product);
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

/// KILL QUERY of a running statement, and of an idle session.
#[test]
fn a_killed_statement_ends_as_on_a_server() {
    for product in PRODUCTS {
        let server = Server::lease(product);
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
