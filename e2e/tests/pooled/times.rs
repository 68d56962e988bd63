//! The time that a statement waits in the proxy is measured apart from the backend's time.

use std::time::{Duration, Instant};

use e2e::raw::{Login, RawConn, Shape, command};
use e2e::{Cluster, PASSWORD, Product, Proxy, Server, Settings, wait};

both! {
    waits_for_a_connection_count_as_time_in_the_proxy
    waits_for_a_replica_count_as_time_in_the_proxy
}

/// A line of EXPLAIN TIMES, in microseconds.
#[derive(Debug)]
struct Line {
    way: String,
    statements: u128,
    waited: [u128; 4],
    backend: [u128; 4],
}

fn lines(client: &mut RawConn) -> Vec<Line> {
    let line = |row: Vec<String>| {
        let number = |at: usize| row[at].parse().unwrap();
        Line {
            way: row[2].clone(),
            statements: number(3),
            waited: [4, 5, 6, 7].map(number),
            backend: [8, 9, 10, 11].map(number),
        }
    };
    let rows = client.run("EXPLAIN TIMES").texts();
    let lines: Vec<_> = rows.into_iter().map(line).collect();
    for Line {
        way,
        statements,
        waited,
        backend,
    } in &lines
    {
        assert!(*statements > 0 && ["own connection", "lane"].contains(&&**way));
        for [average, median, most, max] in [waited, backend] {
            assert!(average <= max && median <= most && most <= max, "{lines:?}");
        }
    }
    lines
}

/// The line with the longest wait.
fn longest(client: &mut RawConn) -> Line {
    let lines = lines(client).into_iter();
    lines.max_by_key(|line| line.waited[3]).unwrap()
}

/// Runs `act`, and returns how long it took.
fn timed(beside: &mut RawConn, act: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    act();
    noted(beside);
    begun.elapsed()
}

/// A statement's time is recorded after its reply. It is recorded once the worker answers another client.
fn noted(beside: &mut RawConn) {
    beside.command(command::PING, b"");
}

/// Asserts that the wait is at least as long as the test has measured, and that no backend time is longer than the
/// time of a client without a wait.
#[track_caller]
fn assert_waited(line: &Line, held: Duration, others: Duration) {
    assert!(line.waited[3] + 1 >= held.as_micros(), "{held:?} {line:?}");
    assert!(line.backend[3] <= others.as_micros(), "{others:?} {line:?}");
}

fn waits_for_a_connection_count_as_time_in_the_proxy(product: Product) {
    let server = Server::shared(product);
    let settings = Settings::pooled(server, 1)
        .set("accounts.explain", true)
        .set("log.slow_statements", "200ms");
    let proxy = Proxy::start(&settings);
    let (mut holder, mut waiter, mut beside) = (proxy.connect(), proxy.connect(), proxy.connect());
    let mut others = timed(&mut beside, || drop(holder.run("BEGIN")));
    let sent = Instant::now();
    waiter.send_query("SELECT 'waited'").unwrap();
    let before = longest(&mut beside);
    assert_eq!((&*before.way, before.statements), ("own connection", 1));
    // The wait is not shown before it ends.
    let seen = Instant::now();
    // The wait has to have a length, because its length is what the proxy measures.
    std::thread::sleep(Duration::from_millis(300));
    let held = seen.elapsed();
    others = others.max(timed(&mut beside, || drop(holder.run("COMMIT"))));
    assert_eq!(waiter.reply(Shape::Results).texts(), [["waited"]]);
    noted(&mut beside);
    others = others.max(sent.elapsed() - held);
    let after = longest(&mut beside);
    assert_eq!(after.statements, 3);
    assert_waited(&after, held, others);
    // The other statements may have been slow, too.
    let of_waiter = format!(" id={} ", waiter.id);
    let line = proxy.wait_event("statement_recorded", &[&of_waiter]);
    let field = |name: &str| {
        let mut words = line.split([' ', '=']).skip_while(|word| *word != name);
        milliseconds(words.nth(1).unwrap())
    };
    let (took, waited) = (field("took"), field("waited"));
    assert!(
        took >= waited && waited >= held.as_secs_f64() * 1e3,
        "{line}"
    );
}

/// A duration as the log has it.
fn milliseconds(text: &str) -> f64 {
    match text.strip_suffix("ms") {
        Some(number) => number.parse().unwrap(),
        None => text.strip_suffix('s').unwrap().parse::<f64>().unwrap() * 1e3,
    }
}

fn waits_for_a_replica_count_as_time_in_the_proxy(product: Product) {
    let cluster = Cluster::lease(product, 1);
    cluster.tell_apart(&["CREATE TABLE d.t (n INT)"]);
    let settings = Settings::of_cluster(&cluster)
        .account("app", PASSWORD)
        .set("workers", 1)
        .set("accounts.explain", true)
        .set("health.replication_interval", "50ms")
        .set("balance.timeout_consistency", "1m");
    let proxy = Proxy::start(&settings);
    let [mut client, mut beside] = [(); 2].map(|()| proxy.connect_as(&Login::app().schema("d")));
    let mut others = Duration::ZERO;
    wait::until("the monitor knows the primary", wait::SOON, || {
        let mut who = String::new();
        let ask = "SELECT name FROM d.whoami";
        others = others.max(timed(&mut beside, || drop(client.run("DELETE FROM t"))));
        others = others.max(timed(&mut beside, || who = client.value(ask)));
        who != "primary"
    });
    let mut holder = cluster.replicas[0].root();
    holder.run("LOCK TABLES d.t READ");
    let insert = "INSERT INTO t VALUES (1)";
    others = others.max(timed(&mut beside, || drop(client.run(insert))));
    let sent = Instant::now();
    client.send_query("SELECT COUNT(*) FROM t").unwrap();
    let mut root = cluster.replicas[0].root();
    let ask = "SELECT COUNT(*) FROM information_schema.processlist \
               WHERE (info LIKE '%GTID_WAIT(%' OR info LIKE '%EXECUTED_GTID_SET(%') \
               AND info NOT LIKE '%processlist%'";
    wait::until("its read waits", wait::SOON, || root.value(ask) == "1");
    let seen = Instant::now();
    // The wait has to have a length, because its length is what the proxy measures.
    std::thread::sleep(Duration::from_millis(300));
    let held = seen.elapsed();
    holder.run("UNLOCK TABLES");
    assert_eq!(client.reply(Shape::Results).texts(), [["1"]]);
    noted(&mut beside);
    others = others.max(sent.elapsed() - held);
    assert_waited(&longest(&mut client), held, others);
}
