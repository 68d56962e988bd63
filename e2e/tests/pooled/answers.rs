//! LAST_INSERT_ID() and similar values that only one connection knows, while the session continues on another
//! connection: other sessions were faster, more connections are idle than the proxy compares, the session needs
//! another kind of connection by now, or the connection is gone.

use e2e::raw::{Execute, Login, RawConn, Shape, Transcript, command};
use e2e::{LeasedServer, Product, Proxy, Server, Settings, wait};

both! {
    diagnostics_survive_a_wait_for_another_connection
    last_insert_id_is_found_among_many_idle_connections
    last_insert_id_survives_com_set_option
    sql_select_limit_0_does_not_hide_pending_answers
    diagnostics_of_a_killed_connection_are_reported_as_lost
    the_transaction_status_after_an_error_is_correct
}

/// Sets LAST_INSERT_ID() to a value that no OK packet contains.
const SET: &str = "DO LAST_INSERT_ID(9)";

const ASK: &str = "SELECT LAST_INSERT_ID()";

/// A server with tables that can be locked, behind a proxy.
struct Site {
    proxy: Proxy,
    // Dropped after the proxy, because the next test then gets the server.
    server: LeasedServer,
}

impl Site {
    fn start(product: Product, connections: i32) -> Self {
        let server = Server::lease(product);
        let mut root = server.root();
        root.run("CREATE DATABASE d");
        for table in ["one", "two", "three"] {
            root.run(&format!("CREATE TABLE d.{table} (n INT PRIMARY KEY)"));
            root.run(&format!("INSERT INTO d.{table} VALUES (1)"));
        }
        let settings = Settings::pooled(&server, connections).set("pool.timeout_wait", "60s");
        let proxy = Proxy::start(&settings);
        Self { server, proxy }
    }

    fn client(&self) -> RawConn {
        self.proxy.connect_as(&Login::app().schema("d"))
    }

    /// Locks a table. Statements that read it wait until the returned connection is closed.
    fn locked(&self, table: &str) -> RawConn {
        let mut root = self.server.root();
        root.run(&format!("LOCK TABLES d.{table} WRITE"));
        root
    }

    /// Waits until so many statements wait for this table.
    fn wait_for(&self, count: usize, table: &str) {
        let mut root = self.server.root();
        let waits = |row: &&Vec<String>| {
            row[6].contains("lock") && row[7].ends_with(&format!("FROM {table}"))
        };
        wait::until(&format!("{count} wait for {table}"), wait::SOON, || {
            let all = root.run("SHOW FULL PROCESSLIST").texts();
            all.iter().filter(waits).count() == count
        });
    }
}

/// A statement that waits for a table.
fn read(table: &str) -> String {
    format!("SELECT n FROM {table}")
}

#[track_caller]
fn answered(client: &mut RawConn) {
    let reply = client.reply(Shape::Results);
    assert!(reply.error().is_none(), "{:?}", reply.error());
}

/// The session's connection goes to a waiting session, and the session itself waits for another connection. Before
/// that, the proxy must fetch the session's pending answer.
fn diagnostics_survive_a_wait_for_another_connection(product: Product) {
    let site = Site::start(product, 2);
    let (mut client, mut before, mut behind) = (site.client(), site.client(), site.client());
    let [one, two, three] = ["one", "two", "three"].map(|table| site.locked(table));
    before.send_query(&read("one")).unwrap();
    site.wait_for(1, "one");
    // The client sends its next command before the first one is answered.
    client
        .send_query("SELECT LAST_INSERT_ID(9) FROM two")
        .unwrap();
    client.send_query(ASK).unwrap();
    site.wait_for(1, "two");
    behind.send_query(&read("three")).unwrap();
    let mut beside = site.client();
    for _ in 0..3 {
        beside.command(command::PING, b"");
    }
    drop(two);
    answered(&mut client);
    site.wait_for(1, "three");
    drop(one);
    answered(&mut before);
    assert_eq!(client.reply(Shape::Results).texts(), [["9"]]);
    drop(three);
    answered(&mut behind);
    assert_eq!(client.value(ASK), "9");
    site.proxy.assert_sound();
}

/// More connections are idle than the proxy compares.
fn last_insert_id_is_found_among_many_idle_connections(product: Product) {
    const OTHERS: usize = 24;
    let site = Site::start(product, OTHERS as i32 + 1);
    let mut client = site.client();
    let mut others: Vec<_> = (0..OTHERS).map(|_| site.client()).collect();
    let mut at_once = |count: usize, meanwhile: &mut dyn FnMut()| {
        let lock = site.locked("one");
        for other in &mut others[..count] {
            other.send_query(&read("one")).unwrap();
        }
        site.wait_for(count, "one");
        meanwhile();
        drop(lock);
        for other in &mut others[..count] {
            answered(other);
        }
    };
    at_once(OTHERS, &mut || {
        client.run(SET);
    });
    // No other session takes the client's connection, and later all connections are used.
    client.run(SET);
    at_once(OTHERS, &mut || {});
    assert_eq!(client.value(ASK), "9");
    site.proxy.assert_sound();
}

/// After COM_SET_OPTION the session needs another kind of connection.
fn last_insert_id_survives_com_set_option(product: Product) {
    let site = Site::start(product, 4);
    let mut client = site.client();
    for option in [1u16, 0] {
        client.run(SET);
        client.command(command::SET_OPTION, &option.to_le_bytes());
        assert_eq!(client.value(ASK), "9");
    }
    site.proxy.assert_sound();
}

/// The proxy's own query for the session's pending answers returns its row, whatever the session has set.
fn sql_select_limit_0_does_not_hide_pending_answers(product: Product) {
    let site = Site::start(product, 1);
    let (mut client, mut other) = (site.client(), site.client());
    // Before the limit is set, because MySQL's DO would do nothing with it.
    client.run(SET);
    client.run("SET sql_select_limit = 0");
    other.run("SELECT 1");
    client.run("SET @id = LAST_INSERT_ID(), @text = REPEAT('x', 1 + 1)");
    other.run("SELECT 1");
    client.run("SET sql_select_limit = DEFAULT");
    other.run("SELECT 1");
    assert_eq!(client.run("SELECT @id, @text").texts(), [["9", "xx"]]);
    site.proxy.assert_sound();
}

/// The connection is killed while it is idle. A statement that needs the lost value gets an error.
fn diagnostics_of_a_killed_connection_are_reported_as_lost(product: Product) {
    let site = Site::start(product, 1);
    let mut root = site.server.root();
    let mut client = site.client();
    let prepared = client.prepare(ASK).statement();
    client.run("CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT)");
    let mut lose = |client: &mut RawConn| {
        client.run(SET);
        let all = root.run("SHOW FULL PROCESSLIST").texts();
        for row in all.iter().filter(|row| row[1] == "app") {
            root.run(&format!("KILL {}", row[0]));
        }
        wait::until("its connection is gone", wait::SOON, || {
            let all = root.run("SHOW FULL PROCESSLIST").texts();
            all.iter().all(|row| row[1] != "app")
        });
    };
    lose(&mut client);
    for ask in [ASK, "INSERT INTO counted (n) VALUES (@@last_insert_id)"] {
        let reply = client.query(ask);
        assert_eq!(reply.error().expect(ask).code, 1105, "{ask}");
    }
    let reply = client.execute(&Execute::new(prepared, &[]));
    assert_eq!(reply.error().expect(ASK).code, 1105);
    assert_eq!(client.value("SELECT COUNT(*) FROM counted"), "0");
    // A later statement gives the session a new value.
    client.run("INSERT INTO counted (n) VALUES (7)");
    assert_eq!(client.value(ASK), "1");
    lose(&mut client);
    client.run(SET);
    assert_eq!(client.value(ASK), "9");
    site.proxy.assert_sound();
}

/// A failed statement may have begun a transaction, and its error packet does not say so.
fn the_transaction_status_after_an_error_is_correct(product: Product) {
    let site = Site::start(product, 2);
    let login = Login::app()
        .schema("d")
        .without(e2e::raw::capability::DEPRECATE_EOF);
    let ask = "SELECT n FROM one";
    let play = |mut conn: RawConn| {
        let mut all = Transcript::default();
        for fail in [
            "INSERT INTO one VALUES (1)",
            "INSERT INTO one (nothing) VALUES (1)",
            "INSERT INTO nowhere VALUES (1)",
            "INSERT INTO one VALUES (1, 2)",
            "INSERT INTO one VALUES (NULL)",
            "INSERT INTO one (n) SELECT m FROM two",
            "SELECT n FROM one UNION SELECT 1, 2",
        ] {
            // The temporary table pins the session, so the proxy does not ask for the transaction status on its own.
            conn.run("CREATE TEMPORARY TABLE mine (n INT)");
            conn.prepare(ask);
            conn.run("SET autocommit = 0");
            for _ in 0..2 {
                assert!(conn.query(fail).error().is_some());
                conn.prepare(ask);
                conn.command(command::PING, b"");
            }
            conn.run("SET autocommit = 1");
            conn.run("DROP TEMPORARY TABLE mine");
            all.note(fail);
            all.extend(conn.transcript());
        }
        all
    };
    let address = site.server.tcp().into();
    let direct = play(RawConn::connect(&address, &login).unwrap());
    let proxied = play(site.proxy.connect_as(&login));
    direct.assert_same(&proxied, "pooled");
    site.proxy.assert_sound();
}
