//! The proxy answers a plain BEGIN and sends it with the transaction's first statement. A client can notice this
//! only by the time that it takes. Failures on the way: `simulation/tests/scenes/deferred_begin.rs`.

use e2e::raw::{Execute, Login, Param, RawConn, Transcript, capability, command};
use e2e::{Cut, LeasedServer, PASSWORD, Product, Proxy, Relay, Server, Settings, Site};

/// EXPLAIN SESSION's description of a transaction whose BEGIN was not sent to a server.
const DEFERRED: &str = "open; no server has its BEGIN yet";

const READ: &str = "SELECT n FROM t ORDER BY n";

shared!(an_empty_deferred_transaction_gets_the_servers_replies on mariadb, mysql);
fn an_empty_deferred_transaction_gets_the_servers_replies(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    for asked in [0, capability::SESSION_TRACK] {
        for without in [0, capability::DEPRECATE_EOF] {
            let login = site.login().and(asked).without(without);
            let mut conn = site.connect_as(&login);
            conn.run("DROP TABLE IF EXISTS t");
            conn.run("CREATE TABLE t (n INT PRIMARY KEY)");
            // Before a session's first SELECT, the servers' FOUND_ROWS() is that of another session.
            conn.run("SELECT 1");
            for sql in [
                "BEGIN",
                "COMMIT",
                "START TRANSACTION",
                "begin work",
                "/* now */ ROLLBACK WORK",
                "COMMIT",
                "BEGIN",
                "SELECT ROW_COUNT(), FOUND_ROWS(), @@warning_count, LAST_INSERT_ID()",
                "SHOW WARNINGS",
                "COMMIT AND NO CHAIN NO RELEASE",
                "SELECT ROW_COUNT()",
                "BEGIN",
                "COMMIT AND CHAIN",
                "INSERT INTO t VALUES (1)",
                "ROLLBACK",
                "SET autocommit = 0",
                "BEGIN",
                "ROLLBACK",
                "BEGIN",
                "INSERT INTO t VALUES (2)",
                "COMMIT",
                "SET autocommit = 1",
                "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
                "BEGIN",
                "COMMIT",
                "SET sql_mode = DEFAULT",
                // A failed statement and its warning list, then a transaction.
                "SELECT nonsense",
                "BEGIN",
                "SHOW WARNINGS",
                "COMMIT",
                "SHOW COUNT(*) WARNINGS",
            ] {
                conn.query(sql);
                conn.command(command::PING, b"");
            }
            transcript.extend(conn.transcript());
        }
    }
    transcript
}

shared!(a_deferred_set_autocommit_gets_the_servers_replies on mariadb, mysql);
fn a_deferred_set_autocommit_gets_the_servers_replies(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    for asked in [0, capability::SESSION_TRACK] {
        let mut conn = site.connect_as(&site.login().and(asked));
        conn.run("CREATE TABLE IF NOT EXISTS t (n INT PRIMARY KEY)");
        for track in ["0", "1"] {
            conn.run(&format!("SET session_track_state_change = {track}"));
            conn.run("SELECT 1");
            for sql in [
                "SET autocommit = 0",
                "SELECT ROW_COUNT(), @@autocommit",
                "SHOW WARNINGS",
                "SET autocommit = 1",
                "SET @@session.autocommit = OFF",
                "INSERT INTO t VALUES (1)",
                "ROLLBACK",
                "SET autocommit = 0",
                "BEGIN",
                "COMMIT",
                "SET autocommit = 1",
                "SET SESSION autocommit = false",
                READ,
                "COMMIT",
                "SET autocommit = DEFAULT",
                "SET autocommit = 0, @a = 1",
                "SET autocommit = 1",
                "BEGIN",
                "SET autocommit = 0",
                "ROLLBACK",
                "SET autocommit = 'nonsense'",
                "SET autocommit = 1",
            ] {
                conn.query(sql);
                conn.command(command::PING, b"");
            }
        }
        transcript.extend(conn.transcript());
    }
    transcript
}

shared!(the_first_statement_after_a_deferred_begin_runs_within_the_transaction on mariadb, mysql);
fn the_first_statement_after_a_deferred_begin_runs_within_the_transaction(
    site: &Site,
) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT PRIMARY KEY)");
    conn.run("INSERT INTO t VALUES (1)");
    for first in [
        READ,
        "SELECT n FROM t FOR UPDATE",
        "SELECT nonsense",
        "SELECT n FROM missing",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t VALUES (2)",
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET @a = 1, time_zone = '+02:00'",
        "SET autocommit = 1",
        "SAVEPOINT here",
        "SELECT @a := n FROM t",
        "SELECT 1; INSERT INTO t VALUES (2)",
        "PREPARE s FROM 'INSERT INTO t VALUES (2)'; EXECUTE s",
        "CREATE TABLE IF NOT EXISTS u (n INT)",
        "LOCK TABLES t WRITE",
        "XA START 'x'",
        "DO 1",
        "USE mysql",
    ] {
        conn.run("BEGIN");
        conn.query(first);
        conn.command(command::PING, b"");
        conn.query("INSERT INTO t VALUES (3)");
        conn.query(READ);
        conn.query("ROLLBACK");
        conn.query("XA END 'x'");
        conn.query("XA ROLLBACK 'x'");
        conn.run("UNLOCK TABLES");
        conn.run(&format!("USE {}", site.schema));
        conn.run("DELETE FROM t WHERE n > 1");
        conn.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        conn.run(READ);
    }
    conn.transcript()
}

shared!(commands_after_a_deferred_begin_run_within_the_transaction on mariadb, mysql);
fn commands_after_a_deferred_begin_run_within_the_transaction(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT PRIMARY KEY)");
    let insert = conn.prepare("INSERT INTO t VALUES (?)").statement();
    let read = conn.prepare("SELECT n FROM t WHERE n > ?").statement();
    conn.run("BEGIN");
    conn.execute(&Execute::new(insert, &[Param::Int(1)]));
    conn.run("ROLLBACK");
    conn.run("BEGIN");
    conn.execute(&Execute::new(read, &[Param::Int(0)]));
    conn.execute(&Execute::new(insert, &[Param::Int(2)]));
    conn.run("ROLLBACK");
    conn.run("BEGIN");
    let other = conn.prepare("INSERT INTO t VALUES (3 + ?)").statement();
    conn.execute(&Execute::new(other, &[Param::Int(0)]));
    conn.close_statement(other);
    conn.run("ROLLBACK");
    conn.run("BEGIN");
    conn.command(command::INIT_DB, site.schema.as_bytes());
    conn.run("INSERT INTO t VALUES (4)");
    conn.run("ROLLBACK");
    conn.run(READ);
    for ends in [command::RESET_CONNECTION, command::INIT_DB] {
        conn.run("BEGIN");
        conn.command(ends, site.schema.as_bytes());
        conn.command(command::PING, b"");
        conn.run("INSERT INTO t SELECT 5 + COUNT(*) FROM t");
        conn.run("ROLLBACK");
        conn.run(READ);
    }
    conn.run("BEGIN");
    conn.change_user(&site.login()).unwrap();
    conn.run("INSERT INTO t VALUES (9)");
    conn.run("ROLLBACK");
    conn.run(READ);
    conn.transcript()
}

shared!(the_transaction_status_of_replies_is_unchanged_by_a_deferred_begin on mariadb, mysql);
fn the_transaction_status_of_replies_is_unchanged_by_a_deferred_begin(site: &Site) -> Transcript {
    let login = site.login().and(capability::SESSION_TRACK);
    let mut conn = site.connect_as(&login);
    conn.run("CREATE TABLE t (n INT PRIMARY KEY)");
    for info in ["OFF", "STATE", "CHARACTERISTICS"] {
        conn.run(&format!("SET session_track_transaction_info = '{info}'"));
        for sql in [
            "BEGIN",
            READ,
            "COMMIT",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            "COMMIT",
            "START TRANSACTION READ ONLY",
            "COMMIT",
            "START TRANSACTION READ WRITE",
            "INSERT INTO t VALUES (1)",
            "ROLLBACK",
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "BEGIN",
            "COMMIT",
            "SET SESSION TRANSACTION READ ONLY",
            "BEGIN",
            "COMMIT",
            "SET SESSION TRANSACTION READ WRITE",
            "BEGIN",
            "SET session_track_transaction_info = 'STATE'",
            READ,
            "COMMIT",
            "SET completion_type = CHAIN",
            "BEGIN",
            "COMMIT",
            "INSERT INTO t VALUES (2)",
            "ROLLBACK AND NO CHAIN",
            "SET completion_type = NO_CHAIN",
        ] {
            conn.query(sql);
        }
    }
    conn.transcript()
}

/// A server, a relay in front of it, a pooled proxy in front of the relay, and a client that has used a connection
/// before.
struct Chain {
    conn: RawConn,
    proxy: Proxy,
    relay: Relay,
    // Dropped after the proxy, because the next test then gets the server.
    server: LeasedServer,
}

impl Chain {
    fn start(product: Product, settings: impl FnOnce(Settings) -> Settings) -> Self {
        let server = Server::lease(product);
        let mut root = server.root();
        for sql in [
            "CREATE DATABASE d",
            "CREATE TABLE d.t (n INT PRIMARY KEY) ENGINE = InnoDB",
            "INSERT INTO d.t VALUES (1)",
        ] {
            root.run(sql);
        }
        let relay = Relay::start(server.tcp());
        let common = Settings::pooled_behind(&relay, product, 4)
            .set("workers", 1)
            .set("pool.defer_begin", true);
        let proxy = Proxy::start(&settings(common.set("accounts.explain", true)));
        let mut conn = proxy.connect_as(&Login::with("app", PASSWORD).schema("d"));
        for _ in 0..3 {
            conn.run(READ);
        }
        Self {
            conn,
            proxy,
            relay,
            server,
        }
    }

    fn told(&mut self, item: &str) -> String {
        let rows = self.conn.run("EXPLAIN SESSION").texts();
        let row = rows.into_iter().find(|row| row[0] == item);
        row.unwrap_or_else(|| panic!("no {item}")).remove(1)
    }

    /// How many round trips these statements take. Each of them is answered.
    fn round_trips(&mut self, statements: &[&str]) -> usize {
        let before = self.relay.round_trips();
        for sql in statements {
            self.conn.run(sql);
        }
        self.relay.round_trips() - before
    }

    fn rows(&self) -> String {
        self.server.root().value("SELECT COUNT(*) FROM d.t")
    }
}

both! {
    a_begin_costs_no_round_trip
    a_deferred_begin_is_logged_and_counted
    a_connection_that_breaks_before_the_first_statement_costs_nothing
    pending_diagnostics_of_another_session_survive_a_begin
}

fn a_begin_costs_no_round_trip(product: Product) {
    let mut chain = Chain::start(product, |settings| settings);
    assert_eq!(chain.round_trips(&["BEGIN", "COMMIT"]), 0);
    assert_eq!(chain.round_trips(&["BEGIN", READ, "COMMIT"]), 2);
    let id = chain
        .conn
        .prepare("SELECT n FROM t WHERE n = ?")
        .statement();
    chain.conn.execute(&Execute::new(id, &[Param::Int(1)]));
    let before = chain.relay.round_trips();
    chain.conn.run("BEGIN");
    chain.conn.execute(&Execute::new(id, &[Param::Int(1)]));
    chain.conn.run("COMMIT");
    assert_eq!(chain.relay.round_trips() - before, 2);
    // A write waits for the OK to BEGIN.
    let write = ["BEGIN", "INSERT INTO t VALUES (2)", "COMMIT"];
    assert_eq!(chain.round_trips(&write), 3);
    assert_eq!(chain.rows(), "2");
    // The `SET autocommit` goes to the connection alone before a write only, until it has succeeded once.
    let off = ["SET autocommit = 0", READ, "COMMIT", "SET autocommit = 1"];
    assert_eq!(chain.round_trips(&off), 3);
    let mut chain = Chain::start(product, |settings| settings.set("pool.defer_begin", false));
    assert_eq!(chain.round_trips(&["BEGIN", "COMMIT"]), 2);
    assert_eq!(chain.round_trips(&["BEGIN", READ, "COMMIT"]), 3);
}

fn a_deferred_begin_is_logged_and_counted(product: Product) {
    let mut chain = Chain::start(product, |settings| settings);
    chain.conn.run("BEGIN");
    assert_eq!(chain.told("transaction"), DEFERRED);
    assert!(chain.told("connection").starts_with("(none"));
    assert_eq!(chain.told("pins"), "(none)");
    chain.conn.run(READ);
    assert_eq!(chain.told("transaction"), "open");
    assert_eq!(chain.told("pins"), "transaction");
    chain.conn.run("COMMIT");
    assert_eq!(chain.told("transaction"), "none");
    // The number of BEGIN statements that the server has got.
    let count = "SHOW GLOBAL STATUS LIKE 'Com_begin'";
    let begun = chain.server.root().run(count).texts();
    chain.conn.run("BEGIN");
    chain.conn.run("ROLLBACK");
    assert_eq!(chain.server.root().run(count).texts(), begun);
}

fn a_connection_that_breaks_before_the_first_statement_costs_nothing(product: Product) {
    let mut chain = Chain::start(product, |settings| settings);
    for (cut, first) in [
        (Cut::Unsent, READ),
        (Cut::Unanswered, READ),
        (Cut::Unsent, "INSERT INTO t VALUES (2)"),
        (Cut::Unanswered, "INSERT INTO t VALUES (2)"),
    ] {
        chain.conn.run("BEGIN");
        chain.relay.cut(cut, "START TRANSACTION");
        let cuts = chain.relay.cuts();
        chain.conn.run(first);
        assert_eq!(chain.relay.cuts(), cuts + 1, "{cut:?} {first}");
        chain.conn.run("INSERT INTO t VALUES (3)");
        chain.conn.run("ROLLBACK");
        assert_eq!(chain.rows(), "1", "{cut:?} {first}");
    }
}

fn pending_diagnostics_of_another_session_survive_a_begin(product: Product) {
    let mut chain = Chain::start(product, |settings| {
        settings.set("pool.backend_connections_max", 1)
    });
    let login = Login::with("app", PASSWORD).schema("d");
    let mut other = chain.proxy.connect_as(&login);
    chain.server.root().run("INSERT INTO d.t VALUES (2), (3)");
    for begin in ["BEGIN", "SET autocommit = 0"] {
        let id = chain
            .conn
            .prepare("SELECT SQL_CALC_FOUND_ROWS n FROM t LIMIT 1")
            .statement();
        chain.conn.execute(&Execute::new(id, &[]));
        // The other session takes over the connection, and the proxy fetches the first session's pending answers.
        other.run(READ);
        chain.conn.run(begin);
        assert_eq!(chain.conn.value("SELECT FOUND_ROWS()"), "3", "{begin}");
        chain.conn.run("ROLLBACK");
    }
}
