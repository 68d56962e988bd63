//! Outages that sessions survive: many clients move money between accounts over few connections, while the server is
//! killed and comes back. With a wait for the backend, no read fails and no session ends. Acknowledged writes exist
//! once, writes reported as not executed do not exist, and no write exists twice.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use e2e::raw::{Address, Execute, Login, Outcome, Param, RawConn, Reply, ServerError};
use e2e::{Dice, Product, Proxy, Server, Settings, sized, wait};

const CLIENTS: u64 = 16;
const CONNECTIONS: i32 = 8;
const ACCOUNTS: u64 = 60;
const KILLS: usize = 6;
/// The number of acknowledged writes between two kills, of all clients together.
const DONE_BETWEEN_KILLS: usize = 250;
/// A server may need time to recover.
const BACK_WITHIN: Duration = Duration::from_secs(60);

/// A commit is in the log's file before it is acknowledged, so it survives the process.
const SURVIVING: &[&str] = &[
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-doublewrite=ON",
];

/// The fate of a write, as far as the client knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Done,
    Refused,
    Unknown,
}

/// The kind of statement that got an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// A statement of a transaction, except its COMMIT.
    InTransaction,
    /// A COMMIT, or a write outside a transaction.
    Writing,
}

/// What all clients know together.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    done: AtomicUsize,
    errors: AtomicUsize,
}

/// One client, and the fates of its writes.
struct Client<'a> {
    shared: &'a Shared,
    address: &'a Address,
    conn: RawConn,
    /// The prepared INSERT into `notes`; none before its first use.
    note: Option<u32>,
    backend: &'a str,
    dice: Dice,
    name: u64,
    count: usize,
    transfers: HashMap<String, Fate>,
    notes: HashMap<String, Fate>,
}

type Fates = HashMap<String, Fate>;

impl<'a> Client<'a> {
    fn connect(shared: &'a Shared, address: &'a Address, backend: &'a str, name: u64) -> Self {
        Self {
            shared,
            address,
            conn: log_in(address),
            note: None,
            backend,
            dice: Dice::new(name),
            name,
            count: 0,
            transfers: Fates::new(),
            notes: Fates::new(),
        }
    }

    fn live(mut self) -> (Fates, Fates) {
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.count += 1;
            let key = format!("{}.{}", self.name, self.count);
            match self.dice.roll(20) {
                0..8 => self.read(&key),
                8..14 => {
                    let fate = self.transfer(&key);
                    self.note_done(fate);
                    self.transfers.insert(key, fate);
                }
                14..17 => {
                    let fate = self.insert(&key);
                    self.note_done(fate);
                    self.notes.insert(key, fate);
                }
                17..19 => {
                    let fate = self.insert_prepared(&key);
                    self.note_done(fate);
                    self.notes.insert(key, fate);
                }
                _ => {
                    std::mem::replace(&mut self.conn, log_in(self.address)).quit();
                    self.note = None;
                }
            }
        }
        (self.transfers, self.notes)
    }

    fn note_done(&self, fate: Fate) {
        if fate == Fate::Done {
            self.shared.done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs a read outside a transaction, which must succeed. Checks by its key that the reply is the client's own.
    fn read(&mut self, key: &str) {
        let sql = format!("SELECT '{key}', COUNT(*), SUM(balance) FROM accounts");
        let reply = self.query(&sql);
        if let Some(error) = reply.error() {
            panic!("{sql}: {error}");
        }
        assert_eq!(
            reply.texts(),
            [[
                key.to_owned(),
                ACCOUNTS.to_string(),
                (ACCOUNTS * 1000).to_string()
            ]]
        );
    }

    fn query(&mut self, sql: &str) -> Reply {
        self.conn
            .try_query(sql)
            .unwrap_or_else(|error| panic!("{sql}: the session has ended: {error}"))
    }

    /// Runs a statement within a transaction; none if the transaction was cut off.
    fn step(&mut self, sql: &str) -> Option<Reply> {
        let reply = self.query(sql);
        match reply.error() {
            None => Some(reply),
            Some(error) => {
                self.cut(sql, error, Doing::InTransaction);
                // The transaction has ended, and the session continues.
                self.conn.run("ROLLBACK");
                None
            }
        }
    }

    fn transfer(&mut self, key: &str) -> Fate {
        let from = self.dice.roll(ACCOUNTS);
        let to = (from + 1 + self.dice.roll(ACCOUNTS - 1)) % ACCOUNTS;
        let amount = i64::try_from(self.dice.roll(50)).unwrap();
        let begin = ["BEGIN", "START TRANSACTION"][usize::from(self.dice.roll(2) == 0)];
        if self.step(begin).is_none() {
            return Fate::Refused;
        }
        let look = format!("SELECT '{key}', id FROM accounts WHERE id = {from}");
        let Some(reply) = self.step(&look) else {
            return Fate::Refused;
        };
        assert_eq!(reply.texts(), [[key.to_owned(), from.to_string()]]);
        // In the order of their ids, so that transactions never wait in a circle.
        let mut changes = [(from, -amount), (to, amount)];
        changes.sort_unstable();
        for (id, by) in changes {
            let sql = format!("UPDATE accounts SET balance = balance + {by} WHERE id = {id}");
            let Some(reply) = self.step(&sql) else {
                return Fate::Refused;
            };
            assert!(is_ok(&reply), "{reply:?}");
        }
        let entry = format!("INSERT INTO ledger VALUES (NULL, '{key}', {from}, {to}, {amount})");
        if self.step(&entry).is_none() {
            return Fate::Refused;
        }
        if self.dice.roll(8) == 0 {
            self.step("ROLLBACK");
            return Fate::Refused;
        }
        let reply = self.query("COMMIT");
        match reply.error().cloned() {
            None => Fate::Done,
            Some(error) => {
                let fate = self.cut("COMMIT", &error, Doing::Writing);
                self.conn.run("ROLLBACK");
                fate
            }
        }
    }

    fn insert(&mut self, key: &str) -> Fate {
        let sql = format!("INSERT INTO notes VALUES (NULL, '{key}')");
        let reply = self.query(&sql);
        self.fate(&sql, &reply)
    }

    fn insert_prepared(&mut self, key: &str) -> Fate {
        let sql = "INSERT INTO notes VALUES (NULL, ?)";
        let id = match self.note {
            Some(id) => id,
            None => {
                let reply = self.conn.prepare(sql);
                assert!(reply.error().is_none(), "{:?}", reply.error());
                *self.note.insert(reply.statement())
            }
        };
        let reply = self.conn.execute(&Execute::new(id, &[Param::Text(key)]));
        self.fate(sql, &reply)
    }

    fn fate(&self, sql: &str, reply: &Reply) -> Fate {
        match reply.error() {
            Some(error) => self.cut(sql, error, Doing::Writing),
            None => {
                let affected = match reply.outcomes[..] {
                    [Outcome::Ok { affected, .. }] => affected,
                    _ => panic!("{sql}: another's reply: {reply:?}"),
                };
                assert_eq!(affected, 1, "{sql}");
                Fate::Done
            }
        }
    }

    /// Checks that the error names the backend, and says whether the statement may have been executed.
    fn cut(&self, sql: &str, error: &ServerError, doing: Doing) -> Fate {
        self.shared.errors.fetch_add(1, Ordering::Relaxed);
        assert_eq!(error.state, "08S01", "{sql}: {error}");
        assert!(error.text.contains(self.backend), "{sql}: {error}");
        let may_have = error.text.contains("may have been executed");
        let has_not = error.text.contains("was not executed");
        let rolled_back = error.text.contains("the transaction is rolled back");
        match doing {
            Doing::InTransaction => {
                assert!(rolled_back || has_not, "{sql}: {error}");
                Fate::Refused
            }
            Doing::Writing => {
                assert!(may_have || rolled_back || has_not, "{sql}: {error}");
                match may_have {
                    true => Fate::Unknown,
                    false => Fate::Refused,
                }
            }
        }
    }
}

fn log_in(address: &Address) -> RawConn {
    let login = Login::app().schema("t_outage");
    let conn = RawConn::connect(address, &login);
    let mut conn = conn.unwrap_or_else(|error| panic!("no login: {error}"));
    conn.patience(BACK_WITHIN * 2);
    conn
}

fn is_ok(reply: &Reply) -> bool {
    matches!(reply.outcomes[..], [Outcome::Ok { .. }])
}

fn prepare(server: &Server) {
    let mut root = server.root();
    root.run("CREATE DATABASE t_outage");
    root.run("CREATE TABLE t_outage.accounts (id INT PRIMARY KEY, balance BIGINT)");
    // The keys are not unique, so that a doubled write shows.
    root.run(
        "CREATE TABLE t_outage.ledger (n BIGINT AUTO_INCREMENT PRIMARY KEY, entry VARCHAR(40), \
         source INT, target INT, amount BIGINT)",
    );
    root.run(
        "CREATE TABLE t_outage.notes (n BIGINT AUTO_INCREMENT PRIMARY KEY, entry VARCHAR(40))",
    );
    let accounts: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id},1000)")).collect();
    root.run(&format!(
        "INSERT INTO t_outage.accounts VALUES {}",
        accounts.join(",")
    ));
}

/// The keys of `table`, with the number of rows of each.
fn entries(root: &mut RawConn, table: &str) -> HashMap<String, usize> {
    let sql = format!("SELECT entry, COUNT(*) FROM t_outage.{table} GROUP BY entry");
    let rows = root.run(&sql).texts();
    rows.into_iter()
        .map(|row| (row[0].clone(), row[1].parse().unwrap()))
        .collect()
}

fn check(root: &mut RawConn, table: &str, fates: &Fates) {
    let there = entries(root, table);
    for (key, fate) in fates {
        let count = there.get(key).copied().unwrap_or(0);
        let is_right = match fate {
            Fate::Done => count == 1,
            Fate::Refused => count == 0,
            Fate::Unknown => count <= 1,
        };
        assert!(is_right, "{table}: {key} is there {count} times, {fate:?}");
    }
    let unasked = there.keys().find(|key| !fates.contains_key(*key));
    assert!(unasked.is_none(), "{table}: nobody asked for {unasked:?}");
    let of = |fate| fates.values().filter(|it| **it == fate).count();
    println!(
        "{table}: {} acknowledged, {} refused, {} unknown",
        of(Fate::Done),
        of(Fate::Refused),
        of(Fate::Unknown)
    );
}

/// Checks that each balance is the sum of its entries.
fn check_balances(root: &mut RawConn) {
    let sum = root.value("SELECT SUM(balance) FROM t_outage.accounts");
    assert_eq!(sum, (ACCOUNTS * 1000).to_string());
    let wrong = root.run(
        "SELECT id, balance FROM t_outage.accounts WHERE balance <> 1000 \
         + (SELECT COALESCE(SUM(amount), 0) FROM t_outage.ledger WHERE target = id) \
         - (SELECT COALESCE(SUM(amount), 0) FROM t_outage.ledger WHERE source = id)",
    );
    assert!(wrong.texts().is_empty(), "{:?}", wrong.texts());
}

fn sessions_outlast_kills(product: Product) {
    let kills = sized(2, KILLS);
    let mut server = Server::start(product, SURVIVING);
    prepare(&server);
    let settings = Settings::pooled(&server, CONNECTIONS)
        .set("workers", 2)
        .set("pool.timeout_wait", "60s")
        .set("balance.timeout_backend_wait", "60s");
    let proxy = Proxy::start(&settings);
    let (address, backend) = (proxy.address(), server.tcp().to_string());
    let shared = Shared::default();
    let fates: Vec<(Fates, Fates)> = std::thread::scope(|scope| {
        let live = |name| Client::connect(&shared, &address, &backend, name).live();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|name| scope.spawn(move || live(name)))
            .collect();
        // A client ends early only if one of its checks has failed.
        let is_over = || clients.iter().any(|client| client.is_finished());
        let more = || {
            let from = shared.done.load(Ordering::Relaxed);
            wait::until("writes are acknowledged", BACK_WITHIN, || {
                is_over() || shared.done.load(Ordering::Relaxed) > from + DONE_BETWEEN_KILLS
            });
        };
        more();
        for _ in 0..kills {
            if is_over() {
                break;
            }
            server.kill();
            server.start_again();
            more();
        }
        shared.stop.store(true, Ordering::Relaxed);
        let ended = clients.into_iter().map(|client| client.join());
        ended
            .map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let (transfers, notes): (Vec<Fates>, Vec<Fates>) = fates.into_iter().unzip();
    let mut root = server.root();
    check(
        &mut root,
        "ledger",
        &transfers.into_iter().flatten().collect(),
    );
    check(&mut root, "notes", &notes.into_iter().flatten().collect());
    check_balances(&mut root);
    let errors = shared.errors.load(Ordering::Relaxed);
    println!("{errors} errors in {kills} kills");
    assert!(errors > 0, "no statement was cut");
}

#[test]
fn sessions_survive_kills_of_mariadb() {
    sessions_outlast_kills(Product::MariaDb);
}

#[test]
fn sessions_survive_kills_of_mysql() {
    sessions_outlast_kills(Product::MySql);
}
