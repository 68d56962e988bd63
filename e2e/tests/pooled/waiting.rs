//! Waiting for a connection (behaviour 48): in order, bounded in number and time, and with an error of
//! its own; and what locks a whole server pins too.

use e2e::raw::{RawConn, Shape, command};
use e2e::{Product, Proxy, Server, Settings};

const PRODUCTS: [Product; 2] = [Product::MariaDb, Product::MySql];

fn shared() -> &'static Server {
    Server::shared(Product::MariaDb)
}

/// Sends something, and lets the proxy hear of it before anything else is sent.
fn send(conn: &mut RawConn, beside: &mut RawConn, sql: &str) {
    conn.send_query(sql).unwrap();
    for _ in 0..3 {
        beside.command(command::PING, b"");
    }
}

#[test]
fn waiting_for_a_pinned_connection_ends_with_a_clear_error() {
    let settings = Settings::pooled(shared(), 1).set("pool.timeout_wait", "1s");
    let proxy = Proxy::start(&settings);
    let (mut one, mut two) = (proxy.connect(), proxy.connect());
    one.run("CREATE TEMPORARY TABLE mysql.tt (n INT)");
    let id = two.prepare("SELECT 1").error().map(|error| error.code);
    assert_eq!(id, Some(1040));
    let reply = two.query("SELECT 1");
    let error = reply.error().unwrap();
    assert_eq!((error.code, &*error.state), (1040, "08004"));
    let address = shared().tcp().to_string();
    for word in [&*address, "pool.timeout_wait", "1s"] {
        assert!(error.text.contains(word), "no {word} in: {error}");
    }
    // The session goes on, and what needs no connection is answered.
    assert!(two.command(command::PING, b"").error().is_none());
    one.run("DROP TEMPORARY TABLE mysql.tt");
    assert_eq!(two.value("SELECT 1"), "1");
}

#[test]
fn those_who_wait_are_served_in_order() {
    let proxy = Proxy::start(&Settings::pooled(shared(), 1));
    let mut root = shared().root();
    root.run("CREATE OR REPLACE DATABASE t_in_order");
    root.run("CREATE TABLE t_in_order.t (id INT PRIMARY KEY AUTO_INCREMENT, who INT)");
    let (mut first, mut beside) = (proxy.connect(), proxy.connect());
    first.run("BEGIN");
    let mut conns: Vec<RawConn> = (0..8).map(|_| proxy.connect()).collect();
    for (who, conn) in conns.iter_mut().enumerate() {
        let sql = format!("INSERT INTO t_in_order.t (who) VALUES ({who})");
        send(conn, &mut beside, &sql);
    }
    first.run("COMMIT");
    for conn in &mut conns {
        assert!(conn.reply(Shape::Results).error().is_none());
    }
    let order = root
        .run("SELECT who FROM t_in_order.t ORDER BY id")
        .texts()
        .concat();
    let expected: Vec<String> = (0..8).map(|who| who.to_string()).collect();
    assert_eq!(order, expected);
}

#[test]
fn only_so_many_may_wait() {
    let settings = Settings::pooled(shared(), 1).set("pool.waiters_max", 2);
    let proxy = Proxy::start(&settings);
    let (mut first, mut beside) = (proxy.connect(), proxy.connect());
    first.run("BEGIN");
    let mut conns: Vec<RawConn> = (0..3).map(|_| proxy.connect()).collect();
    for conn in &mut conns {
        send(conn, &mut beside, "SELECT 'waited'");
    }
    let reply = conns[2].reply(Shape::Results);
    let error = reply.error().unwrap();
    assert_eq!(error.code, 1040, "{error}");
    assert!(error.text.contains("pool.waiters_max"), "{error}");
    first.run("COMMIT");
    for conn in &mut conns[..2] {
        let reply = conn.reply(Shape::Results);
        assert_eq!(reply.texts(), [["waited"]]);
    }
}

#[test]
fn one_who_waits_and_leaves_is_passed_over() {
    let proxy = Proxy::start(&Settings::pooled(shared(), 1));
    let (mut first, mut beside) = (proxy.connect(), proxy.connect());
    first.run("BEGIN");
    let mut conns: Vec<RawConn> = (0..3).map(|_| proxy.connect()).collect();
    for conn in &mut conns {
        send(conn, &mut beside, "SELECT 'waited'");
    }
    drop(conns.remove(1));
    first.run("COMMIT");
    for conn in &mut conns {
        assert_eq!(conn.reply(Shape::Results).texts(), [["waited"]]);
    }
}

/// Nobody else's connection is touched, and what was killed is never sent.
#[test]
fn who_is_killed_while_it_waits_is_answered_at_once() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        let mut root = server.root();
        root.run("CREATE DATABASE d");
        root.run("CREATE TABLE d.t (n INT) ENGINE=InnoDB");
        let settings = Settings::pooled(&server, 1)
            .set("workers", 2)
            .set("pool.timeout_wait", "60s")
            .rule("late", &[("tag", "\"late\""), ("delay", "\"60s\"")]);
        let proxy = Proxy::start(&settings);
        let (mut holder, mut victim) = (proxy.connect(), proxy.connect());
        let mut killers = [proxy.connect(), proxy.connect()];
        holder.run("BEGIN");
        let waits = [
            "INSERT INTO d.t VALUES (1)",
            "INSERT INTO d.t VALUES (1) /* tag: late */",
        ];
        for sql in waits {
            for killer in &mut killers {
                send(&mut victim, killer, sql);
                // Whatever came first: a kill that finds nothing yet is repeated.
                while !victim.is_answered_within(std::time::Duration::from_millis(50)) {
                    killer.run(&format!("KILL QUERY {}", victim.id));
                }
                let error = victim.reply(Shape::Results).error().cloned().unwrap();
                assert_eq!((error.code, &*error.state), (1317, "70100"), "{error}");
            }
        }
        holder.run("COMMIT");
        assert_eq!(victim.value("SELECT COUNT(*) FROM d.t"), "0", "{product:?}");
        proxy.assert_sound();
    }
}

/// Everybody waits for one connection in turn: nobody for ever, whoever they are.
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

/// What a session may begin that nobody else may be let into, and what ends it.
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
fn what_nobody_else_may_be_let_into_pins_until_it_ends() {
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
