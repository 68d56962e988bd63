//! Connections that break (behaviours 22 to 24 and 49): a statement that can safely be repeated is repeated, and
//! the client does not notice. For all others the client gets an error, and no statement is executed twice.

use e2e::raw::{Execute, Login, Param, RawConn, ServerError, Shape};
use e2e::{Cut, LeasedServer, Product, Proxy, Relay, Server, Settings, wait};

const PRODUCTS: [Product; 2] = [Product::MariaDb, Product::MySql];

/// A server, a relay in front of it, and a pooled proxy in front of the relay.
struct Chain {
    proxy: Proxy,
    relay: Relay,
    // Dropped after the proxy, because the next test then gets the server.
    server: LeasedServer,
}

impl Chain {
    fn start(product: Product) -> Self {
        let server = Server::lease(product);
        let mut root = server.root();
        root.run("CREATE DATABASE d");
        root.run("USE d");
        root.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT)");
        root.run("CREATE TABLE counter (n INT)");
        root.run("INSERT INTO counter VALUES (0)");
        root.run(
            "CREATE FUNCTION f (x INT) RETURNS INT BEGIN INSERT INTO t (n) VALUES (x); \
             RETURN x; END",
        );
        root.run("CREATE PROCEDURE p (x INT) INSERT INTO t (n) VALUES (x)");
        let relay = Relay::start(server.tcp());
        let proxy = Proxy::start(&Settings::pooled_behind(&relay, product, 4));
        Self {
            proxy,
            relay,
            server,
        }
    }

    fn connect(&self) -> RawConn {
        let login = Login::app().schema("d");
        self.proxy.connect_as(&login)
    }

    /// How many rows have this number.
    fn count(&self, n: usize) -> String {
        let ask = format!("SELECT COUNT(*) FROM d.t WHERE n = {n}");
        self.server.root().value(&ask)
    }

    /// Asserts that the error names the backend and the cause.
    fn reported(&self, error: Option<&ServerError>, what: &str) {
        let error = error.unwrap_or_else(|| panic!("{what} was not reported"));
        let backend = self.relay.tcp().to_string();
        assert!(error.text.contains(&backend), "{what}: {error}");
        assert_eq!(error.state, "08S01", "{what}: {error}");
    }
}

/// Statements that insert a number once.
const INSERTS: &[&str] = &[
    "INSERT INTO t (n) VALUES ({n})",
    "REPLACE INTO t (n) VALUES ({n})",
    "CALL p({n})",
    "SELECT f({n})",
    "DO f({n})",
    "SET @x = f({n})",
    "INSERT INTO t (n) SELECT {n}; SELECT 1",
    "/* a comment */ (SELECT f({n}))",
    "WITH c AS (SELECT 1) SELECT f({n}) FROM c",
    "EXECUTE insert_it USING @n /* {n} */",
];

#[test]
fn nothing_is_executed_twice_when_its_reply_is_lost() {
    for product in PRODUCTS {
        let chain = Chain::start(product);
        let mut all = Vec::new();
        for (n, insert) in INSERTS.iter().enumerate() {
            for (cut, expected) in [(Cut::Unsent, "0"), (Cut::Unanswered, "1")] {
                let number = 1000 * n + 100 + usize::from(cut == Cut::Unanswered);
                let sql = insert.replace("{n}", &number.to_string());
                let mut conn = chain.connect();
                conn.run("PREPARE insert_it FROM 'INSERT INTO t (n) VALUES (?)'");
                conn.run(&format!("SET @n = {number}"));
                chain.relay.cut(cut, &sql);
                let cuts = chain.relay.cuts();
                let reply = conn.try_query(&sql).unwrap();
                assert_eq!(chain.relay.cuts(), cuts + 1, "{sql}: {cut:?}");
                chain.reported(reply.error(), &sql);
                // The statements before it may have been answered first. The insert runs soon, if it was sent.
                wait::until(&format!("{sql}: {cut:?}"), wait::SOON, || {
                    chain.count(number) == expected
                });
                all.push((number, expected));
            }
        }
        for (number, expected) in all {
            assert_eq!(chain.count(number), expected, "{number}");
        }
    }
}

#[test]
fn a_prepared_insert_is_not_executed_twice_when_its_reply_is_lost() {
    for product in PRODUCTS {
        let chain = Chain::start(product);
        let mut conn = chain.connect();
        let id = conn
            .prepare("INSERT INTO t (n) VALUES (CHAR_LENGTH(?))")
            .statement();
        conn.execute(&Execute::new(id, &[Param::Text("five!")]));
        chain.relay.cut(Cut::Unanswered, "sixsix");
        let execute = Execute::new(id, &[Param::Text("sixsix")]).payload(&conn);
        conn.try_send(&execute).unwrap();
        let reply = conn.try_reply(Shape::Results).unwrap();
        chain.reported(reply.error(), "EXECUTE");
        assert_eq!(chain.count(6), "1");
    }
}

#[test]
fn a_read_is_not_repeated_after_a_part_of_its_reply() {
    for product in PRODUCTS {
        let chain = Chain::start(product);
        let mut conn = chain.connect();
        let numbers: Vec<String> = (0..3000).map(|n| format!("SELECT {n} AS n")).collect();
        let sql = format!(
            "SELECT n, REPEAT('x', 100) FROM ({}) AS t",
            numbers.join(" UNION ALL ")
        );
        let whole = conn.run(&sql).texts();
        chain.relay.cut(Cut::PartlyAnswered, "REPEAT('x', 100)");
        match conn.try_query(&sql) {
            Ok(reply) => {
                let rows = reply.texts();
                assert!(rows.len() < whole.len());
                assert_eq!(rows[..], whole[..rows.len()]);
                chain.reported(reply.error(), "a broken result");
            }
            // The relay cut within a packet, so the proxy could only close the connection.
            Err(_) => chain
                .proxy
                .wait_logged(&[&chain.relay.tcp().to_string()])
                .clear(),
        }
    }
}

#[test]
fn a_batch_is_not_repeated_after_a_part_of_its_reply() {
    for product in PRODUCTS {
        let chain = Chain::start(product);
        let mut conn = chain.connect();
        let sql = "SELECT REPEAT('x', 300000); INSERT INTO t (n) VALUES (77); SELECT 2";
        chain.relay.cut(Cut::PartlyAnswered, "VALUES (77)");
        let reply = conn.try_query(sql);
        assert!(reply.map_or(true, |reply| reply.error().is_some()));
        assert!(["0", "1"].contains(&&*chain.count(77)));
        let cuts = chain.relay.cuts();
        chain.relay.cut(Cut::Unanswered, "VALUES (78)");
        let mut conn = chain.connect();
        let reply = conn.try_query("SELECT 1; INSERT INTO t (n) VALUES (78)");
        assert!(reply.map_or(true, |reply| reply.error().is_some()));
        assert_eq!(chain.relay.cuts(), cuts + 1);
        // The server may have sent its first answer before the cut.
        assert!(["0", "1"].contains(&&*chain.count(78)));
    }
}

/// Gives a session state that the proxy can restore on another connection.
fn furnished(conn: &mut RawConn) -> u32 {
    conn.run("SET @a = 5, sql_mode = 'ANSI', time_zone = '+03:00'");
    conn.run("SET NAMES latin1");
    conn.run("USE mysql");
    conn.prepare("SELECT ? + @a, @@sql_mode LIKE '%ANSI%', DATABASE()")
        .statement()
}

fn looks_furnished(conn: &mut RawConn, id: u32) {
    let ask =
        "SELECT @a, @@sql_mode LIKE '%ANSI%', @@time_zone, @@character_set_client, DATABASE()";
    assert_eq!(
        conn.run(ask).texts(),
        [["5", "1", "+03:00", "latin1", "mysql"]]
    );
    let reply = conn.execute(&Execute::new(id, &[Param::Int(1)]));
    assert!(reply.error().is_none(), "{:?}", reply.error());
}

#[test]
fn a_dead_pooled_connection_is_replaced_without_an_error() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        let proxy = Proxy::start(&Settings::pooled(&server, 2));
        let mut conn = proxy.connect();
        let id = furnished(&mut conn);
        let mut root = server.root();
        for _ in 0..20 {
            looks_furnished(&mut conn, id);
            let all = "SELECT id FROM information_schema.processlist WHERE user = 'app'";
            for row in root.run(all).texts() {
                root.run(&format!("KILL {}", row[0]));
            }
            // The server has ended the connections. The proxy may not know it yet.
            wait::until("they are gone", wait::SOON, || {
                root.run(all).texts().is_empty()
            });
        }
        looks_furnished(&mut conn, id);
    }
}

#[test]
fn a_server_restart_gives_no_error_to_sessions_without_a_connection() {
    for product in PRODUCTS {
        let mut server = Server::lease(product);
        // The backend may be marked as down, because the proxy may have probed it during the restart.
        let settings = Settings::pooled(&server, 2).set("balance.timeout_backend_wait", "30s");
        let proxy = Proxy::start(&settings);
        let mut conn = proxy.connect();
        let mut holding = proxy.connect();
        let id = furnished(&mut conn);
        holding.run("BEGIN");
        holding.run("SELECT 1");
        looks_furnished(&mut conn, id);
        server.shut_down();
        server.start_again();
        looks_furnished(&mut conn, id);
        // The transaction of the other session is lost, and its client gets an error.
        let reply = holding.try_query("SELECT 1");
        assert!(reply.map_or(true, |reply| reply.error().is_some()));
    }
}

#[test]
fn a_session_survives_its_backends_absence() {
    for product in PRODUCTS {
        let mut server = Server::lease(product);
        let settings = Settings::pooled(&server, 2).set("pool.timeout_wait", "1s");
        let proxy = Proxy::start(&settings);
        let mut conn = proxy.connect();
        let id = furnished(&mut conn);
        looks_furnished(&mut conn, id);
        server.kill();
        let reply = conn.query("SELECT 1");
        let error = reply.error().expect("there is nobody to ask");
        assert!(error.text.contains(&server.tcp().to_string()), "{error}");
        server.start_again();
        wait::until("it is served again", wait::SOON, || {
            conn.query("SELECT 1").error().is_none()
        });
        looks_furnished(&mut conn, id);
    }
}
