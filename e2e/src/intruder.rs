//! A second client that runs a statement between any two statements of the first client, over the one backend
//! connection that both clients share. State or replies that the first session leaves on the connection reach the
//! second session.

use std::time::Duration;

use crate::product::Product;
use crate::raw::{Address, Execute, Login, Param, RawConn, Shape, Transcript, command};
use crate::server::Server;
use crate::wait::SOON;

/// How long a statement of the intruder may take before the first client goes on. The first client is pinned then, and
/// the intruder's statement waits until the pin ends.
const PATIENCE: Duration = Duration::from_millis(100);

/// The schema of the intruder, which the first client does not use.
const SCHEMA: &str = "intruder";

/// The statements that the intruder repeats. They change state that a proxy can easily mix up between sessions, read
/// the intruder's own state, and do not pin.
const STATEMENTS: &[&str] = &[
    "SET NAMES latin1",
    "SET sql_mode = 'ANSI', time_zone = '-07:00', group_concat_max_len = 17, sql_safe_updates = 1",
    "SET @a = 'of the intruder', @b = -1, @c = NULL, @v = 0x00FF, @n = 1.50",
    "SELECT @a, @b, @c, HEX(@v), @n, DATABASE(), @@sql_mode, @@time_zone, @@character_set_client",
    "SELECT LAST_INSERT_ID(4711)",
    "SELECT LAST_INSERT_ID()",
    "USE mysql",
    "SELECT n FROM intruder.numbers ORDER BY n LIMIT 1",
    "SELECT n, t FROM intruder.numbers WHERE n < 0",
    "UPDATE intruder.numbers SET t = REVERSE(t) WHERE n IN (1, 2, 3)",
    "SELECT ROW_COUNT()",
    "SELECT CAST('not a number' AS SIGNED)",
    "SHOW WARNINGS",
    "SELECT nonsense",
    "SELECT @@session.group_concat_max_len, @@sql_safe_updates, DATABASE(), LAST_INSERT_ID()",
    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET foreign_key_checks = 0, unique_checks = 0, sql_select_limit = 2",
    "SELECT n FROM intruder.numbers ORDER BY n",
    "BEGIN; UPDATE intruder.numbers SET t = UPPER(t) WHERE n = 4; SELECT ROW_COUNT(); ROLLBACK",
    "SET sql_select_limit = DEFAULT, foreign_key_checks = 1, sql_mode = DEFAULT, time_zone = '+01:30'",
    "SET NAMES utf8mb4, unique_checks = DEFAULT, sql_safe_updates = 0, @a = 2, @b = 'ü'",
    "SELECT @a, @b, @c, @@unique_checks, @@foreign_key_checks, @@time_zone, @@sql_mode",
    "USE intruder",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
];

/// The replies to the intruder's statements on an unshared connection: in the first round, and in any later round.
#[derive(Clone, Debug)]
pub struct Expected([Vec<Transcript>; 2]);

/// The second client.
#[derive(Debug)]
pub struct Intruder {
    conn: RawConn,
    payloads: Vec<Vec<u8>>,
    expected: Expected,
    turns: usize,
    waiting: bool,
}

impl Intruder {
    /// Makes the intruder's schema, and records the replies without a proxy.
    pub fn prepare(server: &Server) -> Expected {
        let mut root = server.root();
        root.run(&format!("CREATE DATABASE IF NOT EXISTS {SCHEMA}"));
        root.run(&format!(
            "CREATE TABLE {SCHEMA}.numbers (n INT PRIMARY KEY, t VARCHAR(20))"
        ));
        root.run(&format!(
            "INSERT INTO {SCHEMA}.numbers VALUES (1, 'Anna'), (2, 'Otto'), (3, 'Reliefpfeiler'), (4, 'x')"
        ));
        let mut conn = log_in(server.product, &server.tcp().into());
        let payloads = payloads(&mut conn);
        let mut round = || {
            let of_one = |payload: &Vec<u8>| {
                conn.send(payload);
                conn.reply(Shape::Results);
                conn.transcript()
            };
            payloads.iter().map(of_one).collect::<Vec<_>>()
        };
        let expected = Expected([round(), round()]);
        assert!(expected.0[1] == round(), "its rounds are all alike");
        expected
    }

    /// Logs in at the first client's address.
    pub fn connect(product: Product, address: &Address, expected: Expected) -> Self {
        let mut conn = log_in(product, address);
        Self {
            payloads: payloads(&mut conn),
            conn,
            expected,
            turns: 0,
            waiting: false,
        }
    }

    /// Runs one statement. If the connection is not free, the statement stays pending.
    pub fn intrude(&mut self) {
        if self.waiting && !self.conn.is_answered_within(Duration::ZERO) {
            return;
        }
        self.finish();
        let payload = self.payloads[self.turns % self.payloads.len()].clone();
        self.conn.send(&payload);
        self.waiting = true;
        if self.conn.is_answered_within(PATIENCE) {
            self.finish();
        }
    }

    /// Whether a statement of the intruder has to wait. Some, such as SHOW WARNINGS, need no backend.
    pub fn is_kept_out(&mut self) -> bool {
        (0..3).any(|_| {
            self.intrude();
            self.waiting
        })
    }

    /// Waits until the intruder has run a statement.
    pub fn wait_let_in(&mut self) {
        self.intrude();
        self.finish();
    }

    /// Reads the pending reply, and compares it with the expected one.
    pub fn finish(&mut self) {
        if !std::mem::take(&mut self.waiting) {
            return;
        }
        self.conn.patience(SOON);
        self.conn.reply(Shape::Results);
        let (round, at) = (
            self.turns / self.payloads.len(),
            self.turns % self.payloads.len(),
        );
        let expected = &self.expected.0[round.min(1)][at];
        let seen = self.conn.transcript().of_values();
        expected
            .of_values()
            .assert_same(&seen, "the intruder, between the others");
        self.turns += 1;
    }

    /// How many statements the intruder has run.
    pub fn turns(&self) -> usize {
        self.turns
    }
}

fn log_in(product: Product, address: &Address) -> RawConn {
    let login = Login::app().schema(SCHEMA).collation(product.collation());
    RawConn::connect(address, &login).unwrap_or_else(|error| panic!("the intruder: {error}"))
}

/// The intruder's statements as commands, one prepared statement among them.
fn payloads(conn: &mut RawConn) -> Vec<Vec<u8>> {
    let sql = "SELECT ? + 1, @@sql_mode FROM numbers WHERE n = ?";
    let id = conn.unrecorded(|conn| conn.prepare(sql)).statement();
    let execute = Execute::new(id, &[Param::Int(41), Param::Int(3)]).payload(conn);
    let text = |sql: &&str| [&[command::QUERY], sql.as_bytes()].concat();
    let mut payloads: Vec<Vec<u8>> = STATEMENTS.iter().map(text).collect();
    payloads.insert(4, execute.clone());
    payloads.push(execute);
    payloads
}
