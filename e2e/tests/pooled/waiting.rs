//! Clients of several accounts take turns on one connection, and statements that lock a whole server pin, too. The
//! order of waiting clients, the limits of their number and time, and their error:
//! `simulation/tests/scenes/waiting.rs`.

use e2e::raw::{RawConn, Shape, command};
use e2e::{Product, Proxy, Server, Settings};

const PRODUCTS: [Product; 2] = [Product::MariaDb, Product::MySql];

/// Sends a statement, and waits until the proxy has read it.
fn send(conn: &mut RawConn, beside: &mut RawConn, sql: &str) {
    conn.send_query(sql).unwrap();
    for _ in 0..3 {
        beside.command(command::PING, b"");
    }
}

/// All clients take turns on one connection. None waits for ever, whichever account it has.
#[test]
fn clients_of_several_accounts_take_turns() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        let settings = Settings::pooled(&server, 2).set("workers", 2);
        let proxy = Proxy::start(&settings.set("pool.timeout_wait", "60s"));
        let accounts = [
            e2e::raw::Login::app(),
            e2e::raw::Login::with("other", "another password"),
            e2e::raw::Login::with("nopass", ""),
        ];
        std::thread::scope(|scope| {
            for n in 0..12 {
                let (proxy, login) = (&proxy, accounts[n % 3].clone());
                let next = accounts[(n + 1) % 3].clone();
                scope.spawn(move || {
                    let mut conn = proxy.connect_as(&login);
                    for round in 0..60 {
                        let user = conn.value("SELECT CURRENT_USER()");
                        let expected = if round % 2 == 0 { &login } else { &next };
                        assert_eq!(user, format!("{}@%", expected.user));
                        let other = if round % 2 == 0 { &next } else { &login };
                        conn.change_user(other).unwrap();
                    }
                });
            }
        });
    }
}

/// Statements that begin exclusive state, and the statements that end it.
fn pairs(product: Product) -> Vec<(&'static str, &'static str)> {
    let mut pairs = vec![
        ("BEGIN", "COMMIT"),
        (
            "SET autocommit = 0; SELECT * FROM d.t",
            "SET autocommit = 1",
        ),
        ("LOCK TABLES d.t WRITE", "UNLOCK TABLES"),
        ("FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"),
        ("FLUSH TABLES d.t WITH READ LOCK", "UNLOCK TABLES"),
        ("SELECT GET_LOCK('l', 1)", "SELECT RELEASE_LOCK('l')"),
        ("SELECT GET_LOCK('l', 1)", "DO RELEASE_ALL_LOCKS()"),
        (
            "CREATE TEMPORARY TABLE d.tt (n INT)",
            "DROP TEMPORARY TABLE d.tt",
        ),
        ("HANDLER d.t OPEN AS h", "HANDLER h CLOSE"),
        ("XA START 'x'", "XA END 'x'; XA ROLLBACK 'x'"),
    ];
    pairs.extend(match product {
        Product::MySql => &[("LOCK INSTANCE FOR BACKUP", "UNLOCK INSTANCE")][..],
        _ => &[
            ("BACKUP LOCK d.t", "BACKUP UNLOCK"),
            ("BACKUP STAGE START", "BACKUP STAGE END"),
        ],
    });
    pairs
}

#[test]
fn exclusive_session_state_pins_until_it_ends() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        let mut root = server.root();
        root.run("CREATE DATABASE d");
        root.run("CREATE TABLE d.t (n INT)");
        let proxy = Proxy::start(&Settings::pooled(&server, 1));
        let (mut one, mut two, mut beside) = (proxy.connect(), proxy.connect(), proxy.connect());
        for (begin, end) in pairs(product) {
            one.run(begin);
            send(&mut two, &mut beside, "SELECT CONNECTION_ID()");
            one.run("SELECT 1 FROM DUAL WHERE 0");
            let let_in = two.is_answered_within(std::time::Duration::from_millis(50));
            assert!(!let_in, "{product:?}: another was let in after {begin}");
            one.run(end);
            let reply = two.reply(Shape::Results);
            assert!(
                reply.error().is_none(),
                "{product:?}: {begin} was not ended by {end}"
            );
        }
    }
}
