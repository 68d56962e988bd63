//! A bank whose clients move money in every way that a client can write, and read over replicas that lag. A client must
//! see its own writes; the checker counts the reads that do not.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use e2e::raw::{Execute, Login, Param, RawConn, capability};
use e2e::{
    Cluster, Dice, PASSWORD, Product, Proxy, Settings, set_read_only, sized, take_writes, wait,
};

const CLIENTS: usize = 32;
const ROUNDS: i64 = 24;
const ACCOUNTS: u64 = 8;

/// The sum of all balances, which never changes.
const MONEY: &str = "8000";

/// How many reads there were, and which of them were stale.
#[derive(Default)]
struct Books {
    reads: AtomicUsize,
    from_replicas: AtomicUsize,
    stale: Mutex<Vec<String>>,
    /// The last write of each client that the server has acknowledged.
    finished: Mutex<Vec<i64>>,
    is_over: AtomicBool,
}

impl Books {
    fn finish(&self, client: usize, n: i64) {
        self.finished.lock().unwrap()[client] = n;
    }

    fn finished(&self, client: usize) -> i64 {
        self.finished.lock().unwrap()[client]
    }

    fn read(&self, how: &str, expected: i64, found: i64, from: &str) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if from != "primary" {
            self.from_replicas.fetch_add(1, Ordering::Relaxed);
        }
        if found < expected {
            let text = format!("{how}: {found} instead of {expected} from {from}");
            self.stale.lock().unwrap().push(text);
        }
    }
}

/// The ways of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    Alone,
    Transfer,
    Prepared,
    PreparedInText,
    Called,
    CalledInVain,
    ByFunction,
    Together,
    WithoutAutocommit,
    Replaced,
    BehindALook,
    Distributed,
    Chained,
    ImplicitlyCommitted,
}

const WRITES: [Write; 14] = [
    Write::Alone,
    Write::Transfer,
    Write::Prepared,
    Write::PreparedInText,
    Write::Called,
    Write::CalledInVain,
    Write::ByFunction,
    Write::Together,
    Write::WithoutAutocommit,
    Write::Replaced,
    Write::BehindALook,
    Write::Distributed,
    Write::Chained,
    Write::ImplicitlyCommitted,
];

/// A client with its own row.
struct Client<'a> {
    conn: RawConn,
    books: &'a Books,
    number: usize,
    dice: Dice,
    /// The client's prepared write and read.
    statements: (u32, u32),
}

impl<'a> Client<'a> {
    fn new(proxy: &Proxy, books: &'a Books, number: usize) -> Self {
        let mut login = Login::app()
            .schema("bank")
            .and(capability::MULTI_STATEMENTS);
        // Without DEPRECATE_EOF, a reply that ends with rows has no room for the GTID of the write.
        if number.is_multiple_of(3) {
            login = login.without(capability::DEPRECATE_EOF);
        }
        let mut conn = proxy.connect_as(&login);
        let write = conn.prepare("UPDATE own SET n = ? WHERE client = ?");
        let read = conn.prepare("SELECT n, name FROM own, whoami WHERE client = ?");
        let statements = (write.statement(), read.statement());
        Self {
            conn,
            books,
            number,
            dice: Dice::new(number as u64),
            statements,
        }
    }

    fn write(&mut self, how: Write, n: i64) {
        let me = self.number;
        let update = format!("UPDATE own SET n = {n} WHERE client = {me}");
        let run = |conn: &mut RawConn, all: &[&str]| {
            for sql in all {
                conn.run(sql);
            }
        };
        let conn = &mut self.conn;
        match how {
            Write::Alone => run(conn, &[&update]),
            Write::Transfer => {
                let (from, to) = (self.dice.roll(ACCOUNTS), self.dice.roll(ACCOUNTS));
                // Always in the same order, so that two transactions never wait for each other.
                let mut moves = [(from, -1), (to, 1)];
                moves.sort_unstable();
                conn.run("BEGIN");
                for (account, much) in moves {
                    conn.run(&format!(
                        "UPDATE account SET balance = balance + {much} WHERE id = {account}"
                    ));
                }
                run(conn, &[&update, "COMMIT"]);
            }
            Write::Prepared => {
                let params = [Param::Int(n), Param::Int(me as i64)];
                let reply = conn.execute(&Execute::new(self.statements.0, &params));
                assert!(reply.error().is_none(), "{:?}", reply.error());
            }
            Write::PreparedInText => run(
                conn,
                &[
                    &format!("PREPARE s FROM '{update}'"),
                    "EXECUTE s",
                    "DEALLOCATE PREPARE s",
                ],
            ),
            Write::Called => run(conn, &[&format!("CALL put({me}, {n})")]),
            Write::CalledInVain => {
                let reply = conn.query(&format!("CALL put_and_fail({me}, {n})"));
                assert_eq!(reply.error().unwrap().code, 1644);
            }
            Write::ByFunction => run(conn, &[&format!("SELECT put_by_function({me}, {n})")]),
            Write::Together => run(conn, &[&format!("SELECT 1; {update}; SELECT 2")]),
            Write::WithoutAutocommit => run(
                conn,
                &[
                    "SET autocommit = 0",
                    &update,
                    "COMMIT",
                    "SET autocommit = 1",
                ],
            ),
            Write::Replaced => run(conn, &[&format!("REPLACE INTO own VALUES ({me}, {n})")]),
            Write::BehindALook => run(
                conn,
                &[
                    "CREATE TEMPORARY TABLE mine (n INT)",
                    "SHOW SESSION VARIABLES LIKE 'session_track%'",
                    &update,
                    "DROP TEMPORARY TABLE mine",
                ],
            ),
            Write::Distributed => run(
                conn,
                &[
                    &format!("XA START 'x{me}'"),
                    &update,
                    &format!("XA END 'x{me}'"),
                    &format!("XA COMMIT 'x{me}' ONE PHASE"),
                ],
            ),
            Write::Chained => run(conn, &["BEGIN", &update, "COMMIT AND CHAIN", "ROLLBACK"]),
            Write::ImplicitlyCommitted => run(conn, &["BEGIN", &update, "BEGIN", "ROLLBACK"]),
        }
        self.books.finish(me, n);
    }

    /// Reads a client's row in one of the ways of reading.
    fn read(&mut self, after: Write, whose: usize) {
        let expected = self.books.finished(whose);
        let select = format!("SELECT n, name FROM own, whoami WHERE client = {whose}");
        let way = self.dice.roll(4);
        let (found, from) = match way {
            0 => self.read_prepared(whose),
            1 => {
                self.conn.run("START TRANSACTION READ ONLY");
                let row = first(&self.conn.run(&select).texts());
                self.conn.run("COMMIT");
                row
            }
            _ => first(&self.conn.run(&select).texts()),
        };
        let who = if whose == self.number {
            "its own"
        } else {
            "another's"
        };
        let how = format!("{who} {after:?}, read in way {way}");
        self.books.read(&how, expected, found, &from);
        if self.dice.once_in(4) {
            assert_eq!(self.conn.value("SELECT SUM(balance) FROM account"), MONEY);
        }
    }

    fn read_prepared(&mut self, whose: usize) -> (i64, String) {
        let params = [Param::Int(whose as i64)];
        let reply = self.conn.execute(&Execute::new(self.statements.1, &params));
        let rows = reply.results().next().expect("it has rows");
        // The row has a header, a bitmap of NULLs, the number, the name's length, and the name.
        let row = &rows.rows[0];
        let number = i64::from_le_bytes(row[2..10].try_into().unwrap());
        (number, String::from_utf8_lossy(&row[11..]).into_owned())
    }
}

fn first(rows: &[Vec<String>]) -> (i64, String) {
    let row = &rows[0];
    (row[0].parse().unwrap(), row[1].clone())
}

fn make_bank(cluster: &Cluster) {
    let mut root = cluster.primary.root();
    root.run("CREATE DATABASE bank");
    root.run("USE bank");
    for sql in [
        "CREATE TABLE own (client INT PRIMARY KEY, n BIGINT)",
        "CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT)",
        "CREATE TABLE whoami (name VARCHAR(20))",
        "INSERT INTO whoami VALUES ('primary')",
        "CREATE PROCEDURE put(c INT, v BIGINT) UPDATE own SET n = v WHERE client = c",
        "CREATE PROCEDURE put_and_fail(c INT, v BIGINT) BEGIN \
         UPDATE own SET n = v WHERE client = c; \
         SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'it is written'; END",
        "CREATE FUNCTION put_by_function(c INT, v BIGINT) RETURNS BIGINT MODIFIES SQL DATA BEGIN \
         UPDATE own SET n = v WHERE client = c; RETURN v; END",
    ] {
        root.run(sql);
    }
    for id in 0..ACCOUNTS {
        root.run(&format!("INSERT INTO account VALUES ({id}, 1000)"));
    }
    for client in 0..CLIENTS {
        root.run(&format!("INSERT INTO own VALUES ({client}, 0)"));
    }
    cluster.wait_caught_up();
    for (server, number) in cluster.replicas.iter().zip(1..) {
        take_writes(server);
        let mut root = server.root();
        root.run("SET sql_log_bin = 0");
        root.run(&format!("UPDATE bank.whoami SET name = 'replica{number}'"));
        set_read_only(server);
    }
}

/// One replica stops and starts again and again; the other one is always late.
fn lag(cluster: &Cluster, books: &Books, delay: u32) {
    let some_have_read = || {
        let before = books.reads.load(Ordering::Relaxed);
        wait::until("some have read", Duration::from_secs(60), || {
            books.is_over.load(Ordering::Relaxed)
                || books.reads.load(Ordering::Relaxed) > before + CLIENTS
        });
    };
    cluster.delay(1, delay);
    while !books.is_over.load(Ordering::Relaxed) {
        cluster.stop_replication(0);
        some_have_read();
        cluster.start_replication(0);
        some_have_read();
    }
}

/// Plays the bank at a level of consistency. `whose` selects the row that a client reads.
fn play(product: Product, level: &str, whose: impl Fn(usize, &mut Dice) -> usize + Sync) -> Books {
    let cluster = Cluster::lease(product, 2);
    make_bank(&cluster);
    let settings = Settings::of_cluster(&cluster)
        .account_with(
            "app",
            &[
                ("password", &format!("{PASSWORD:?}")),
                ("unpin", "[\"routines\"]"),
            ],
        )
        .set("workers", 2)
        .set("routing.consistency", level)
        .set("balance.timeout_consistency", "50ms")
        .set("health.replication_interval", "50ms");
    let proxy = Proxy::start(&settings);
    let books = Books {
        finished: Mutex::new(vec![0; CLIENTS]),
        ..Books::default()
    };
    // On a busy machine a read may come a second after the write before it.
    let delay = if level == "none" { 60 } else { 1 };
    std::thread::scope(|scope| {
        let lagging = scope.spawn(|| lag(&cluster, &books, delay));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (proxy, books, whose) = (&proxy, &books, &whose);
                scope.spawn(move || bank(Client::new(proxy, books, number), whose))
            })
            .collect();
        let ended: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        books.is_over.store(true, Ordering::Relaxed);
        lagging.join().unwrap();
        for end in ended {
            end.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    for replica in 0..2 {
        cluster.delay(replica, 0);
    }
    cluster.wait_caught_up();
    let mut last = proxy.connect_as(&Login::app().schema("bank"));
    last.run("UPDATE own SET n = 0 WHERE client = 0");
    wait::until("a replica is read again", Duration::from_secs(60), || {
        let row = last.run("SELECT n, name FROM own, whoami WHERE client = 0");
        let is_new = row.text(0, 0).as_deref() == Some("0");
        assert!(is_new || level == "none", "{row:?}");
        row.text(0, 1).as_deref() != Some("primary")
    });
    for server in [&cluster.primary, &cluster.replicas[0], &cluster.replicas[1]] {
        let sum = server.root().value("SELECT SUM(balance) FROM bank.account");
        assert_eq!(sum, MONEY);
    }
    books
}

fn bank(mut client: Client, whose: impl Fn(usize, &mut Dice) -> usize) {
    for n in 1..=sized(ROUNDS / 3, ROUNDS) {
        let how = WRITES[client.dice.index(WRITES.len())];
        client.write(how, n);
        for _ in 0..2 {
            let whose = whose(client.number, &mut client.dice);
            client.read(how, whose);
        }
    }
}

/// Prints and returns a summary of the reads.
fn told(books: &Books) -> String {
    let mut text = format!(
        "{} reads, {} of them from replicas, {} stale",
        books.reads.load(Ordering::Relaxed),
        books.from_replicas.load(Ordering::Relaxed),
        books.stale.lock().unwrap().len()
    );
    for stale in books.stale.lock().unwrap().iter().take(20) {
        let _ = write!(text, "\n  {stale}");
    }
    println!("{text}");
    text
}

fn no_read_is_older_than_the_sessions_own_writes(product: Product) {
    let books = play(product, "session", |me, _| me);
    let told = told(&books);
    assert!(books.stale.lock().unwrap().is_empty(), "{told}");
}

fn no_read_is_older_than_any_finished_write(product: Product) {
    let books = play(product, "global", |_, dice| dice.index(CLIENTS));
    let told = told(&books);
    assert!(books.stale.lock().unwrap().is_empty(), "{told}");
}

/// Shows that the checker can find stale reads.
fn without_consistency_old_rows_are_read(product: Product) {
    let books = play(product, "none", |me, _| me);
    let told = told(&books);
    assert!(!books.stale.lock().unwrap().is_empty(), "{told}");
}

both! {
    no_read_is_older_than_the_sessions_own_writes
    no_read_is_older_than_any_finished_write
    without_consistency_old_rows_are_read
}
