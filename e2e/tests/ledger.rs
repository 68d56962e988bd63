//! A ledger in which no row may be doubled, and no acknowledged row may be missing, while the backend is killed again
//! and again. Besides, sysbench over few connections.

use std::collections::HashMap;
use std::io;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use e2e::raw::{Execute, Login, Param, RawConn, Reply, ServerError, Shape, command};
use e2e::{Dice, Product, Proxy, Server, Settings, sized, wait};

const PRODUCTS: [Product; 2] = [Product::MariaDb, Product::MySql];

/// The number of clients. The next value is their number of backend connections.
const CLIENTS: u64 = 24;
const CONNECTIONS: i32 = 8;

/// How often the backend is killed and brought back.
const KILLS: usize = 5;

/// The fate of a token, as far as its client knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The server said that it is written.
    Acknowledged,
    /// The transaction was rolled back, or never committed.
    Withdrawn,
    /// An error came instead of an answer.
    Unknown,
}

/// How a statement was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Yes,
    /// There was no backend, so the statement was not executed.
    No,
    /// The connection was lost, so the statement may have been executed.
    Perhaps,
}

impl Said {
    fn fate(self) -> Fate {
        match self {
            Self::Yes => Fate::Acknowledged,
            Self::No => Fate::Withdrawn,
            Self::Perhaps => Fate::Unknown,
        }
    }
}

/// What all clients know together.
#[derive(Default)]
struct Books {
    next: AtomicU64,
    acknowledged: AtomicU64,
    fates: Mutex<HashMap<u64, Fate>>,
    stop: AtomicBool,
    errors: Mutex<HashMap<String, usize>>,
}

impl Books {
    fn token(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn enter(&self, token: u64, fate: Fate) {
        let acknowledged = u64::from(fate == Fate::Acknowledged);
        self.acknowledged.fetch_add(acknowledged, Ordering::Relaxed);
        self.fates.lock().unwrap().insert(token, fate);
    }

    /// Checks that the error names the backend, and has an SQLSTATE for a lost or missing connection.
    fn excuse(&self, backend: &str, during: &str, error: &ServerError) -> Said {
        assert!(error.text.contains(backend), "{during}: {error}");
        let said = match error.state.as_str() {
            "08S01" => Said::Perhaps,
            // No connection could be opened, or no connection became free.
            "08001" | "08004" => Said::No,
            _ => panic!("{during}: {error}"),
        };
        let text = error.text.replace(|char: char| char.is_ascii_digit(), "");
        *self.errors.lock().unwrap().entry(text).or_default() += 1;
        said
    }
}

fn make_ledger(server: &Server) {
    let mut root = server.root();
    root.run("CREATE DATABASE d");
    root.run("USE d");
    // The key is not unique, so that a doubled write shows and is not refused.
    root.run("CREATE TABLE ledger (id INT PRIMARY KEY AUTO_INCREMENT, token BIGINT, KEY (token))");
    root.run("CREATE TABLE account (id INT PRIMARY KEY, n BIGINT)");
    root.run("INSERT INTO account VALUES (0, 0), (1, 0), (2, 0), (3, 0)");
}

/// A client, which connects anew when its connection is lost.
struct Client<'a> {
    proxy: &'a Proxy,
    backend: String,
    books: &'a Books,
    conn: Option<(RawConn, u32)>,
}

impl Client<'_> {
    /// The connection and its prepared insert; none if there is no backend.
    fn conn(&mut self) -> Option<&mut (RawConn, u32)> {
        if self.conn.is_none() {
            let login = Login::app().schema("d");
            let mut conn = RawConn::connect(&self.proxy.address(), &login).ok()?;
            let sql = "INSERT INTO ledger (token) VALUES (?)";
            conn.send(&[&[command::STMT_PREPARE], sql.as_bytes()].concat());
            let reply = conn.try_reply(Shape::Prepared).ok()?;
            match reply.error() {
                Some(error) => _ = self.books.excuse(&self.backend, "PREPARE", error),
                None => self.conn = Some((conn, reply.statement())),
            }
        }
        self.conn.as_mut()
    }

    /// Runs a statement.
    fn say(&mut self, sql: &str) -> Said {
        let Some((conn, _)) = self.conn() else {
            return Said::No;
        };
        let reply = conn.try_query(sql);
        self.heard(sql, reply)
    }

    fn insert(&mut self, token: u64) -> Said {
        let Some((conn, id)) = self.conn() else {
            return Said::No;
        };
        let execute = Execute::new(*id, &[Param::Int(i64::try_from(token).unwrap())]);
        let payload = execute.payload(conn);
        let sent = conn.try_send(&payload);
        let reply = sent.and_then(|()| conn.try_reply(Shape::Results));
        self.heard("EXECUTE", reply)
    }

    fn heard(&mut self, what: &str, reply: io::Result<Reply>) -> Said {
        match reply {
            Ok(reply) => match reply.error() {
                None => Said::Yes,
                Some(error) => self.books.excuse(&self.backend, what, error),
            },
            Err(_) => {
                self.conn = None;
                Said::Perhaps
            }
        }
    }

    /// Writes one token, in a transaction or alone.
    fn write(&mut self, dice: &mut Dice) -> Fate {
        let token = self.books.token();
        let fate = match dice.roll(3) {
            0 => self
                .say(&format!("INSERT INTO ledger (token) VALUES ({token})"))
                .fate(),
            1 => self.insert(token).fate(),
            _ => self.transact(token, dice),
        };
        self.books.enter(token, fate);
        fate
    }

    fn transact(&mut self, token: u64, dice: &mut Dice) -> Fate {
        let account = dice.roll(4);
        let update = format!("UPDATE account SET n = n + 1 WHERE id = {account}");
        if self.say("BEGIN") != Said::Yes {
            return Fate::Withdrawn;
        }
        if self.insert(token) != Said::Yes || self.say(&update) != Said::Yes {
            // An error may leave the transaction open. Closing the connection ends it.
            self.conn = None;
            return Fate::Withdrawn;
        }
        if dice.once_in(5) {
            self.say("ROLLBACK");
            return Fate::Withdrawn;
        }
        self.say("COMMIT").fate()
    }

    /// A read outside a transaction returns its result, or an error.
    fn read(&mut self, dice: &mut Dice) {
        let n = dice.roll(1000);
        let backend = self.backend.clone();
        let books = self.books;
        let Some((conn, _)) = self.conn() else { return };
        match conn.try_query(&format!("SELECT {n}, COUNT(*) >= 0 FROM ledger")) {
            Ok(reply) => match reply.error() {
                None => assert_eq!(reply.texts(), [[n.to_string(), "1".to_owned()]]),
                Some(error) => _ = books.excuse(&backend, "SELECT", error),
            },
            Err(_) => self.conn = None,
        }
    }

    fn live(&mut self, seed: u64) {
        let mut dice = Dice::new(seed);
        while !self.books.stop.load(Ordering::Relaxed) {
            let fate = self.write(&mut dice);
            self.read(&mut dice);
            if fate != Fate::Acknowledged {
                // There may be no backend yet, so the client does not ask in a tight loop.
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// Compares the replies of the clients with the rows of the table.
fn audit(server: &Server, books: &Books) {
    let mut root = server.root();
    let rows = root
        .run("SELECT token, COUNT(*) FROM d.ledger GROUP BY token")
        .texts();
    let written: HashMap<u64, u64> = rows
        .iter()
        .map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap()))
        .collect();
    let fates = books.fates.lock().unwrap();
    let mut counts = HashMap::new();
    for (token, fate) in fates.iter() {
        let times = written.get(token).copied().unwrap_or(0);
        *counts
            .entry(format!("{fate:?}, {times} times"))
            .or_insert(0) += 1;
        match fate {
            Fate::Acknowledged => assert_eq!(times, 1, "token {token} was acknowledged"),
            Fate::Withdrawn => assert_eq!(times, 0, "token {token} was withdrawn"),
            Fate::Unknown => assert!(times <= 1, "token {token} is there {times} times"),
        }
    }
    assert!(written.keys().all(|token| fates.contains_key(token)));
    println!("{counts:?}\n{:#?}", books.errors.lock().unwrap());
    let acknowledged = fates.values().filter(|fate| **fate == Fate::Acknowledged);
    assert!(
        acknowledged.count() > 500,
        "too few were written to say anything"
    );
}

/// Stops the clients when it is dropped, even after a panic.
struct AtTheEnd<'a>(&'a AtomicBool);

impl Drop for AtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn nothing_is_written_twice_or_lost(product: Product) {
    let mut server = Server::lease(product);
    make_ledger(&server);
    let settings = Settings::pooled(&server, CONNECTIONS).set("workers", 2);
    let proxy = Proxy::start(&settings);
    let books = Books::default();
    let backend = server.tcp().to_string();
    std::thread::scope(|scope| {
        for seed in 0..CLIENTS {
            let (proxy, books, backend) = (&proxy, &books, backend.clone());
            scope.spawn(move || {
                let mut client = Client {
                    proxy,
                    backend,
                    books,
                    conn: None,
                };
                client.live(seed);
            });
        }
        let _end = AtTheEnd(&books.stop);
        let written = || books.acknowledged.load(Ordering::Relaxed);
        let more = |by: u64| {
            let from = written();
            wait::until("more is written", wait::SOON, || written() > from + by);
        };
        more(300);
        for _ in 0..sized(2, KILLS) {
            server.kill();
            server.start_again();
            more(300);
        }
    });
    audit(&server, &books);
    proxy.assert_sound();
}

#[test]
fn nothing_is_written_twice_or_lost_on_mariadb() {
    nothing_is_written_twice_or_lost(Product::MariaDb);
}

#[test]
fn nothing_is_written_twice_or_lost_on_mysql() {
    nothing_is_written_twice_or_lost(Product::MySql);
}

/// Runs sysbench until it has executed this many transactions. Returns its output.
fn sysbench(proxy: &Proxy, options: &[&str]) -> String {
    let output = Command::new("sysbench")
        .arg("oltp_read_write")
        .args(["--mysql-host=127.0.0.1", "--mysql-db=sbtest"])
        .args(["--mysql-user=nopass", "--tables=4", "--table-size=1000"])
        .arg(format!("--mysql-port={}", proxy.port()))
        .args(options)
        .output()
        .expect("sysbench is installed: run e2e/provision.sh first");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{options:?}\n{text}\n{errors}\n{}",
        proxy.log_tail()
    );
    text
}

#[test]
fn sysbench_has_no_error_with_sixty_four_threads_over_eight_connections() {
    for product in PRODUCTS {
        let server = Server::start(product, &[]);
        server.root().run("CREATE DATABASE sbtest");
        let settings = Settings::pooled(&server, CONNECTIONS).set("workers", 2);
        let proxy = Proxy::start(&settings.set("pool.timeout_wait", "30s"));
        sysbench(&proxy, &["prepare"]);
        for mode in ["--db-ps-mode=auto", "--db-ps-mode=disable"] {
            let events = format!("--events={}", sized(500, 1500));
            let text = sysbench(&proxy, &["--threads=64", &events, "--time=0", mode, "run"]);
            let line = |name: &str| text.lines().find(|line| line.contains(name));
            let reconnects = line("reconnects:").expect("it says so");
            assert!(reconnects.contains(" 0 "), "{text}");
            println!("{product:?} {mode}: {:?}", line("transactions:"));
        }
        let all = "SHOW GLOBAL STATUS LIKE 'Max_used_connections'";
        let max: i32 = server.root().run(all).text(0, 1).unwrap().parse().unwrap();
        assert!(max <= CONNECTIONS + 3, "{max} connections at once");
    }
}
