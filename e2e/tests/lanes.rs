//! Shared lanes: reads of many sessions are in flight on one connection, and each session gets its own replies.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use e2e::raw::{Execute, Login, Outcome, Param, RawConn, Reply, Shape};
use e2e::{Dice, LeasedServer, PASSWORD, Product, Proxy, Server, Settings, wait};

/// The number of rows in each table. The key of a row determines its value.
pub(crate) const ROWS: u32 = 500;

/// A server with two tables of the same rows, behind a proxy with lanes.
pub(crate) struct Site {
    pub proxy: Proxy,
    // Dropped after the proxy, because the next test gets the server.
    pub server: LeasedServer,
}

impl Site {
    fn start(product: Product, connections: i32) -> Self {
        let server = Server::lease(product);
        Self::at(server, connections, |settings| settings)
    }

    /// A site with this server, and with more settings.
    pub(crate) fn at(
        server: LeasedServer,
        connections: i32,
        more: impl FnOnce(Settings) -> Settings,
    ) -> Self {
        let address = server.tcp();
        Self::behind(server, address, connections, more)
    }

    /// Like [`Self::at`], with another address of the server for the proxy.
    pub(crate) fn behind(
        server: LeasedServer,
        address: SocketAddr,
        connections: i32,
        more: impl FnOnce(Settings) -> Settings,
    ) -> Self {
        let mut root = server.root();
        root.run("CREATE DATABASE d");
        root.run("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(40))");
        root.run("CREATE TABLE d.held (id INT PRIMARY KEY, v VARCHAR(40))");
        for table in ["t", "held"] {
            let rows: Vec<_> = (0..ROWS)
                .map(|id| format!("({id}, '{}')", told(id)))
                .collect();
            root.run(&format!("INSERT INTO d.{table} VALUES {}", rows.join(",")));
        }
        let settings = Settings::default()
            .backend(address)
            .account_with("app", &[("password", &format!("{PASSWORD:?}"))])
            .set("workers", 1)
            .set("pool.backend_connections_max", connections)
            .set("pool.opens_per_second", 1000)
            .set("pool.opens_burst", 100)
            .set("accounts.explain", true)
            .set("routing.lanes", "reads")
            .set("pool.timeout_wait", "60s");
        let proxy = Proxy::start(&more(settings));
        Self { proxy, server }
    }

    pub(crate) fn client(&self) -> RawConn {
        client(&self.proxy)
    }

    pub(crate) fn counts(&self) -> HashMap<(String, String), u64> {
        counts(&self.proxy)
    }

    pub(crate) fn count(&self, what: &str) -> u64 {
        count(&self.proxy, what)
    }

    /// Runs reads of both tables until they are known to be short.
    pub(crate) fn teach(&self) {
        let mut client = self.client();
        known(&mut client, "t");
        known(&mut client, "held");
    }
}

pub(crate) fn client(proxy: &Proxy) -> RawConn {
    proxy.connect_as(&Login::app().schema("d"))
}

/// The counts of EXPLAIN LANES, by outcome and reason.
fn counts(proxy: &Proxy) -> HashMap<(String, String), u64> {
    let rows = client(proxy).run("EXPLAIN LANES").texts();
    let count = |row: Vec<String>| {
        let count = row[2].parse().unwrap();
        ((row[0].clone(), row[1].clone()), count)
    };
    rows.into_iter().map(count).collect()
}

pub(crate) fn count(proxy: &Proxy, what: &str) -> u64 {
    let counts = counts(proxy);
    let of_it = counts.iter().filter(|((it, _), _)| it == what);
    of_it.map(|(_, count)| count).sum()
}

/// The value of EXPLAIN ROUTE about lanes.
pub(crate) fn lane_of(client: &mut RawConn, statement: &str) -> String {
    let rows = client.run(&format!("EXPLAIN ROUTE {statement}")).texts();
    let row = rows.into_iter().find(|row| row[0] == "lane");
    row.map(|row| row[2].clone()).unwrap_or_default()
}

pub(crate) fn told(id: u32) -> String {
    format!("the value of {id}")
}

pub(crate) fn ask(table: &str, id: u32) -> String {
    format!("SELECT id, v FROM {table} WHERE id = {id}")
}

#[track_caller]
pub(crate) fn read(client: &mut RawConn, table: &str, id: u32) {
    client.send_query(&ask(table, id)).unwrap();
    answered(client, id);
}

/// Reads until statements with this digest are known to be short. On a busy machine only some reads are short.
pub(crate) fn known(client: &mut RawConn, table: &str) {
    wait::until(
        "statements with its digest are known to be short",
        3 * wait::SOON,
        || {
            read(client, table, 7);
            lane_of(client, &ask(table, 7)).starts_with("uses a lane")
        },
    );
}

/// Repeats a function until this many reads have used lanes. On a busy machine only some reads are short.
fn until_ridden(site: &Site, wanted: u64, mut act: impl FnMut()) {
    wait::until("many have ridden", 3 * wait::SOON, || {
        act();
        println!("{:?}", site.counts());
        site.count("on_lane") > wanted
    });
}

/// Checks that the client gets its own reply.
#[track_caller]
pub(crate) fn answered(client: &mut RawConn, id: u32) {
    let reply = client.reply(Shape::Results);
    assert!(reply.error().is_none(), "{:?}", reply.error());
    assert_eq!(reply.texts(), [[id.to_string(), told(id)]]);
}

both! {
    each_session_on_a_lane_gets_its_own_replies
    executions_of_prepared_statements_use_lanes
    diagnostics_of_an_execution_on_a_lane_are_available
    diagnostics_of_a_read_on_a_lane_are_available
    a_kill_of_a_statement_on_a_lane_leaves_other_sessions_alone
    a_lane_that_breaks_costs_no_read
    statements_that_must_not_be_repeated_do_not_use_lanes
    a_reload_can_switch_lanes_on
}

/// Many sessions at once. Some of them change their state, write, prepare statements, or disconnect in the middle.
fn each_session_on_a_lane_gets_its_own_replies(product: Product) {
    let site = Site::start(product, 6);
    site.teach();
    until_ridden(&site, 500, || {
        thread::scope(|scope| {
            for number in 0..16u32 {
                let site = &site;
                scope.spawn(move || read_many(site, number));
            }
        });
    });
    let on_lane = site.count("on_lane");
    let times = site.client().run("EXPLAIN TIMES").texts();
    let aboard = times.iter().find(|row| row[2] == "lane").unwrap();
    assert_eq!(aboard[3], on_lane.to_string());
    site.proxy.assert_sound();
}

fn read_many(site: &Site, number: u32) {
    let mut dice = Dice::new(u64::from(number));
    let mut client = site.client();
    for turn in 0..300 {
        let id = dice.roll(u64::from(ROWS)) as u32;
        match (number % 8, turn % 25) {
            (1, 7) => {
                client.run("SET @mine = 1, sql_mode = 'ANSI_QUOTES'");
                client.run("SET sql_mode = DEFAULT");
            }
            (2, 9) => {
                client.run("BEGIN");
                read(&mut client, "t", id);
                client.run("COMMIT");
            }
            (3, 11) => {
                client.send_query(&ask("t", id)).unwrap();
                client = site.client();
            }
            (4, 3) => {
                let refused = client.query("SELECT id FROM nowhere WHERE id = 1");
                assert_eq!(refused.error().unwrap().code, 1146);
            }
            (5, 5) => {
                // Sends all reads without waiting for replies.
                client.send_query(&ask("t", id)).unwrap();
                client.send_query(&ask("held", id)).unwrap();
                for _ in 0..2 {
                    answered(&mut client, id);
                }
            }
            _ => read(&mut client, "t", id),
        }
    }
}

/// Checks the reply to a prepared read of one row.
fn assert_row(reply: &Reply, id: u32) {
    let rows = &reply.results().next().expect("a result").rows;
    let mut expected = vec![0, 0];
    expected.extend(id.to_le_bytes());
    expected.extend(e2e::raw::lenenc(told(id).as_bytes()));
    assert_eq!(*rows, [expected]);
}

/// Many sessions prepare and execute statements: with parameters of other types, without types, with tables that
/// change, and with statements that are closed and prepared again.
fn executions_of_prepared_statements_use_lanes(product: Product) {
    let site = Site::start(product, 6);
    until_ridden(&site, 500, || {
        thread::scope(|scope| {
            for number in 0..16u32 {
                let site = &site;
                scope.spawn(move || execute_many(site, number));
            }
            let mut root = site.server.root();
            for turn in 0..10 {
                // The server prepares all statements on this table again.
                root.run(&format!("ALTER TABLE d.held COMMENT = '{turn}'"));
                // Clients execute statements between two changes.
                thread::sleep(Duration::from_millis(20));
            }
        });
    });
    site.proxy.assert_sound();
}

fn execute_many(site: &Site, number: u32) {
    let mut dice = Dice::new(u64::from(number));
    let mut client = site.client();
    let asks = ["t", "held"].map(|table| format!("SELECT id, v FROM {table} WHERE id = ?"));
    let mut statements = asks.each_ref().map(|ask| client.prepare(ask).statement());
    let mut has_types = [false; 2];
    for turn in 0..300 {
        let id = dice.roll(u64::from(ROWS)) as u32;
        let at = dice.roll(2) as usize;
        let word = id.to_string();
        // A quarter of the sessions send numbers as text.
        let value = match number % 4 {
            1 => Param::Text(&word),
            _ => Param::Int(i64::from(id)),
        };
        let execute = Execute::new(statements[at], &[value]);
        let reply = match has_types[at] && turn % 2 == 1 {
            true => client.execute(&execute.without_types()),
            false => client.execute(&execute),
        };
        assert_row(&reply, id);
        has_types[at] = true;
        match (number % 8, turn % 25) {
            (2, 7) => {
                client.run("SET @mine = 1");
                client.run("SET @mine = NULL");
            }
            (3, 9) => read(&mut client, "t", id),
            (4, 11) => {
                client.close_statement(statements[at]);
                statements[at] = client.prepare(&asks[at]).statement();
                has_types[at] = false;
            }
            (5, 13) => {
                let gone = client.execute(&Execute::new(900_000, &[Param::Int(1)]));
                assert_eq!(gone.error().unwrap().code, 1243);
            }
            (6, 3) => {
                let once = format!("SELECT id, v FROM t WHERE id = {id} AND {turn} = ?");
                let statement = client.prepare(&once).statement();
                let execute = Execute::new(statement, &[Param::Int(turn)]);
                assert_row(&client.execute(&execute), id);
                client.close_statement(statement);
            }
            _ => {}
        }
    }
}

/// Runs a function with one client while other clients read without end.
fn beside_readers(site: &Site, act: impl FnOnce(&mut RawConn)) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..8u32 {
            let is_over = &is_over;
            scope.spawn(move || {
                let mut client = site.client();
                let mut turn = 0;
                while !is_over.load(Ordering::Relaxed) {
                    read(&mut client, "t", (number * 31 + turn) % ROWS);
                    turn += 1;
                }
            });
        }
        let _end = SetWhenDropped(&is_over);
        act(&mut site.client());
    });
}

fn diagnostics_of_an_execution_on_a_lane_are_available(product: Product) {
    let site = Site::start(product, 6);
    until_ridden(&site, 100, || beside_readers(&site, execute_and_ask));
    site.proxy.assert_sound();
}

fn execute_and_ask(client: &mut RawConn) {
    let ask = "SELECT CAST(? AS SIGNED) AS n FROM t WHERE id < 3";
    let statement = client.prepare(ask).statement();
    let execute = |client: &mut RawConn, word: &str| {
        let reply = client.execute(&Execute::new(statement, &[Param::Text(word)]));
        assert!(matches!(&reply.outcomes[..], [Outcome::Rows(rows)] if rows.rows.len() == 3));
    };
    for turn in 0..150 {
        execute(client, "7");
        assert_eq!(client.run("SHOW WARNINGS").texts().len(), 0);
        execute(client, "8");
        assert_eq!(client.value("SELECT FOUND_ROWS()"), "3");
        if turn % 75 == 74 {
            execute(client, "x");
            let warnings = client.run("SHOW WARNINGS").texts();
            assert_eq!(warnings.len(), 3, "{warnings:?}");
            assert_eq!(warnings[0][1], "1292");
        }
    }
}

/// Warnings, errors and counts are those of the session's last statement.
fn diagnostics_of_a_read_on_a_lane_are_available(product: Product) {
    let site = Site::start(product, 6);
    until_ridden(&site, 100, || beside_readers(&site, read_and_ask));
    site.proxy.assert_sound();
}

fn read_and_ask(client: &mut RawConn) {
    // Statements with this digest are known to be short and without warnings.
    let ask = |value: &str| format!("SELECT CAST('{value}' AS SIGNED) AS n FROM t WHERE id < 3");
    for turn in 0..120 {
        assert_eq!(client.run(&ask("7")).texts().len(), 3);
        assert_eq!(client.run("SHOW WARNINGS").texts().len(), 0);
        client.run(&ask("8"));
        assert_eq!(client.value("SELECT FOUND_ROWS()"), "3");
        if turn % 70 == 69 {
            client.run(&ask("x"));
            let warnings = client.run("SHOW WARNINGS").texts();
            assert_eq!(warnings.len(), 3, "{warnings:?}");
            assert_eq!(warnings[0][1], "1292");
            client.run(&ask("x"));
            assert_eq!(client.value("SELECT FOUND_ROWS()"), "3");
        }
        assert_eq!(client.value("SELECT ROW_COUNT()"), "-1");
    }
}

/// Sets a flag that ends threads when it is dropped, even by a panic.
struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Locks table `held`, so that its readers wait.
pub(crate) fn hold(site: &Site) -> RawConn {
    let mut root = site.server.root();
    root.run("LOCK TABLES d.held WRITE");
    root
}

/// The number of statements that wait for a locked table.
pub(crate) const WAITING: &str = "SELECT COUNT(*) FROM information_schema.processlist \
                                  WHERE state LIKE 'Waiting for table%'";

/// Clients that wait for table `held`: the first on its own connection, the others on lanes.
pub(crate) fn waiting<const N: usize>(site: &Site) -> [RawConn; N] {
    let mut root = site.server.root();
    std::array::from_fn(|id| {
        let mut client = site.client();
        client.run("SELECT 1");
        client.send_query(&ask("held", id as u32)).unwrap();
        let wanted = (id + 1).to_string();
        wait::until("it waits", wait::SOON, || root.value(WAITING) == wanted);
        client
    })
}

fn a_kill_of_a_statement_on_a_lane_leaves_other_sessions_alone(product: Product) {
    let site = Site::start(product, 6);
    site.teach();
    let mut holder = hold(&site);
    let [mut first, mut aboard] = waiting(&site);
    let mut other = site.client();
    let id = aboard.id;
    other.run(&format!("KILL QUERY {id}"));
    let reply = aboard.reply(Shape::Results);
    assert_eq!(reply.error().unwrap().code, 1317);
    let warnings = aboard.run("SHOW WARNINGS").texts();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0][1], "1317");
    read(&mut aboard, "t", 5);
    read(&mut other, "t", 6);
    assert!(!first.is_answered_within(Duration::from_millis(1)));
    holder.run("UNLOCK TABLES");
    answered(&mut first, 0);
    site.proxy.assert_sound();
}

/// Connections are killed under load: the proxy repeats a read once, on another connection. No client gets a wrong
/// reply. A client gets an error only if the second connection was killed as well.
fn a_lane_that_breaks_costs_no_read(product: Product) {
    let site = Site::start(product, 6);
    site.teach();
    until_ridden(&site, 100, || {
        let (errors, kills) = read_while_killed(&site);
        assert!(kills > 0);
        assert!(errors <= kills, "{errors} errors of {kills} kills");
    });
}

/// Lets many clients read while connections are killed. Returns the number of errors, and the number of kills.
fn read_while_killed(site: &Site) -> (usize, usize) {
    let reading = AtomicUsize::new(0);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..12u32)
            .map(|number| {
                let reading = &reading;
                reading.fetch_add(1, Ordering::Relaxed);
                scope.spawn(move || {
                    let _end = CountedDown(reading);
                    let mut client = site.client();
                    let mut errors = 0;
                    for turn in 0..400 {
                        let id = (number * 37 + turn) % ROWS;
                        let reply = client.query(&ask("t", id));
                        match reply.error() {
                            None => assert_eq!(reply.texts(), [[id.to_string(), told(id)]]),
                            Some(error) => {
                                // 1927: MariaDB was ending the session's own connection, or a lane that was used for
                                // long.
                                assert!([1158, 1429, 1927].contains(&error.code), "{error}");
                                errors += 1;
                            }
                        }
                    }
                    errors
                })
            })
            .collect();
        let mut root = site.server.root();
        let ids = "SELECT id FROM information_schema.processlist WHERE user = 'app' LIMIT 1";
        let mut kills = 0;
        // At least one kill, even if this thread starts late.
        loop {
            for id in root.run(ids).texts() {
                // The connection may be closed already.
                let reply = root.query(&format!("KILL {}", id[0]));
                kills += usize::from(reply.error().is_none());
            }
            if reading.load(Ordering::Relaxed) == 0 {
                break;
            }
            // Clients read between two rounds of kills.
            thread::sleep(Duration::from_millis(20));
        }
        let errors: usize = readers.into_iter().map(|it| it.join().unwrap()).sum();
        (errors, kills)
    })
}

/// Decrements a counter when it is dropped.
struct CountedDown<'a>(&'a AtomicUsize);

impl Drop for CountedDown<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn statements_that_must_not_be_repeated_do_not_use_lanes(product: Product) {
    let server = Server::lease(product);
    let site = Site::at(server, 4, |settings| {
        let once = [("regex", "\"id < 3\""), ("retry", "0")];
        settings.rule("once", &once)
    });
    let mut client = site.client();
    client.run("SELECT v FROM t WHERE id < 3");
    assert_eq!(
        lane_of(&mut client, "SELECT v FROM t WHERE id < 3"),
        "uses no lane: a rule says that it is never sent again"
    );
    assert_ne!(
        lane_of(&mut client, "SELECT v FROM t WHERE id < 4"),
        "uses no lane: a rule says that it is never sent again"
    );
}

fn a_reload_can_switch_lanes_on(product: Product) {
    let server = Server::lease(product);
    let settings = Settings::pooled(&server, 4)
        .set("accounts.explain", true)
        .set("routing.lanes", "off");
    let proxy = Proxy::start(&settings);
    let mut client = proxy.connect_as(&Login::app());
    let ask = "SELECT a FROM d.t WHERE id = 1";
    assert_eq!(
        lane_of(&mut client, ask),
        "uses no lane: lanes are off for it"
    );
    proxy.reload(&settings.set("routing.lanes", "reads"));
    wait::until("lanes are on", wait::SOON, || {
        let mut client = proxy.connect_as(&Login::app());
        client.run("SELECT 1");
        let found = lane_of(&mut client, ask);
        found == "uses no lane: too few statements with its digest have run there"
    });
}
