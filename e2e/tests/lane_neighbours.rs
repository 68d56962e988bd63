//! Sessions that share lanes with a difficult session: one that sends statements without end, does not read,
//! disconnects, or is killed. The other sessions are not affected.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use e2e::raw::{RawConn, Shape};
use e2e::{Product, Server, wait};

use crate::lanes::{ROWS, Site, WAITING, answered, ask, hold, lane_of, read, waiting};

fn site(product: Product) -> Site {
    let site = Site::at(Server::lease(product), 12, |settings| settings);
    site.teach();
    site
}

both! {
    a_session_with_endless_statements_does_not_starve_others_on_the_lane
    a_client_that_does_not_read_delays_no_other_session_on_the_lane
    statements_on_a_lane_are_killed_when_their_clients_disconnect
    a_kill_of_a_waiting_statement_leaves_other_sessions_alone
    diagnostics_of_other_sessions_survive_statements_on_the_lane
    diagnostics_of_a_statement_on_a_lane_are_shown_to_its_own_session_only
}

/// How many statements the flooding session has in flight.
const FLOOD: usize = 500;

/// How many reads each of the other sessions runs, one after the other.
const READS: u32 = 150;

fn a_session_with_endless_statements_does_not_starve_others_on_the_lane(product: Product) {
    let site = site(product);
    let reading = AtomicUsize::new(8);
    let flooded = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| flood(&site, &flooded, || reading.load(Ordering::Relaxed) == 0));
        for number in 0..8u32 {
            let (site, flooded, reading) = (&site, &flooded, &reading);
            scope.spawn(move || {
                let _end = CountedDown(reading);
                let mut client = site.client();
                let meanwhile = |turn: u32| {
                    let before = flooded.load(Ordering::Relaxed);
                    read(&mut client, "t", (number * 53 + turn) % ROWS);
                    flooded.load(Ordering::Relaxed) - before
                };
                let all: Vec<u32> = (0..READS).map(meanwhile).collect();
                // The largest value is ignored, because the machine may have stalled this thread during one read.
                let most = all.iter().max().unwrap();
                let flooded = all.iter().sum::<u32>() - most;
                assert!(flooded < 30 * READS, "it is starved: {flooded}");
            });
        }
    });
    let flooded = flooded.into_inner();
    println!("{product:?}: {flooded} of the flood while eight others had {READS} each");
    assert!(site.count("on_lane") > 0, "{:?}", site.counts());
    site.proxy.assert_sound();
}

/// Sends many statements at once, again and again, until `is_over`. Counts the replies.
fn flood(site: &Site, flooded: &AtomicU32, is_over: impl Fn() -> bool) {
    let mut client = site.client();
    let send = |client: &mut RawConn, number: usize| {
        client.send_query(&ask("t", number as u32 % ROWS)).unwrap();
    };
    (0..FLOOD).for_each(|number| send(&mut client, number));
    let mut count = 0;
    while !is_over() {
        answered(&mut client, count % ROWS);
        client.free_buffers();
        send(&mut client, count as usize + FLOOD);
        count += 1;
        flooded.store(count, Ordering::Relaxed);
    }
}

/// Decrements a counter when it is dropped.
struct CountedDown<'a>(&'a AtomicUsize);

impl Drop for CountedDown<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Earlier statements with this digest had small replies. This reply has 32 MB, and its client does not read it.
fn a_client_that_does_not_read_delays_no_other_session_on_the_lane(product: Product) {
    const MANY: usize = 32 << 20;
    let mut site = site(product);
    let pid = site.proxy.process().pid();
    let mut root = site.server.root();
    root.run("CREATE TABLE d.sized (id INT PRIMARY KEY, size INT)");
    root.run(&format!("INSERT INTO d.sized VALUES (1, 3), (2, {MANY})"));
    let ask_sized = |id: u32| format!("SELECT REPEAT('x', size) FROM sized WHERE id = {id}");
    let mut slow = site.client();
    wait::until(
        "statements with its digest are known to be short",
        3 * wait::SOON,
        || {
            assert_eq!(slow.value(&ask_sized(1)), "xxx");
            lane_of(&mut slow, &ask_sized(1)).starts_with("uses a lane")
        },
    );
    let mut others: Vec<_> = (0..4).map(|_| site.client()).collect();
    let mut holder = hold(&site);
    // While one client waits, other clients use lanes, on a connection with the same state.
    let [mut first] = waiting(&site);
    read(&mut slow, "t", 7);
    let before = resident(pid);
    slow.send_query(&ask_sized(2)).unwrap();
    for id in 0..40 {
        for other in &mut others {
            read(other, "t", id);
        }
    }
    wait::until("some of it is there", wait::SOON, || {
        slow.is_answered_within(Duration::from_millis(10))
    });
    for other in &mut others {
        read(other, "t", 7);
    }
    let grown = resident(pid).saturating_sub(before);
    // The allocator takes memory in steps of 4 MiB, for each size of blocks.
    assert!(grown < (MANY >> 10) / 2, "{grown} KiB are kept for it");
    assert_eq!(slow.reply(Shape::Results).text(0, 0).unwrap().len(), MANY);
    holder.run("UNLOCK TABLES");
    answered(&mut first, 0);
    // The large statement has used a lane: its reply has changed the statistics of its digest.
    let lane = lane_of(&mut slow, &ask_sized(1));
    assert!(
        lane.starts_with("uses no lane"),
        "{lane}, {:?}",
        site.counts()
    );
    site.proxy.assert_sound();
}

/// Resident memory of a process, in KiB.
fn resident(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.unwrap().parse().unwrap()
}

/// The server ends the statement of a disconnected client, other clients continue, and no client gets the late reply.
/// That holds for all statements in a lane's queue: the server begins the next one when it has ended the one before.
fn statements_on_a_lane_are_killed_when_their_clients_disconnect(product: Product) {
    let site = site(product);
    let mut others: Vec<_> = (0..4).map(|_| site.client()).collect();
    let mut holder = hold(&site);
    let [mut first, head] = waiting(&site);
    let behind: Vec<_> = (2..5)
        .map(|id| {
            let mut client = site.client();
            client.send_query(&ask("held", id)).unwrap();
            client
        })
        .collect();
    let mut root = site.server.root();
    wait::until("those behind have gone elsewhere", wait::SOON, || {
        root.value(WAITING) == "5"
    });
    drop((head, behind));
    for id in 0..20 {
        for other in &mut others {
            read(other, "t", id);
        }
    }
    wait::until("the server has ended it", wait::SOON, || {
        root.value(WAITING) == "1"
    });
    holder.run("UNLOCK TABLES");
    answered(&mut first, 0);
    for id in 0..20 {
        for other in &mut others {
            read(other, "held", id);
        }
    }
    site.proxy.assert_sound();
}

/// The killed statement either waits on the lane, or has moved to another connection by then.
fn a_kill_of_a_waiting_statement_leaves_other_sessions_alone(product: Product) {
    let site = site(product);
    let mut behind: Vec<_> = (0..4).map(|_| site.client()).collect();
    let mut killer = site.client();
    for round in 0..10 {
        let mut holder = hold(&site);
        let [mut first, mut head] = waiting(&site);
        for (client, id) in behind.iter_mut().zip(2..) {
            client.send_query(&ask("held", id)).unwrap();
        }
        let victim = &mut behind[round % 4];
        let kill = format!("KILL QUERY {}", victim.id);
        wait::until("it is killed", wait::SOON, || {
            killer.run(&kill);
            victim.is_answered_within(Duration::from_millis(10))
        });
        let reply = victim.reply(Shape::Results);
        assert_eq!(reply.error().unwrap().code, 1317);
        read(victim, "t", 9);
        holder.run("UNLOCK TABLES");
        answered(&mut first, 0);
        answered(&mut head, 1);
        for (at, client) in behind.iter_mut().enumerate() {
            if at != round % 4 {
                answered(client, at as u32 + 2);
            }
        }
    }
    site.proxy.assert_sound();
}

/// A site with two connections. A client waits on one of them, so all reads that may use a lane use the other.
fn narrow(product: Product, teach: impl FnOnce(&mut RawConn)) -> (Site, RawConn, RawConn) {
    let site = Site::at(Server::lease(product), 2, |settings| settings);
    site.teach();
    teach(&mut site.client());
    let holder = hold(&site);
    let [first] = waiting(&site);
    (site, holder, first)
}

/// Another session has used the connection, and has set its own last insert id there, before the first session's read
/// uses the lane.
fn diagnostics_of_other_sessions_survive_statements_on_the_lane(product: Product) {
    let (site, mut holder, mut first) = narrow(product, |_| {});
    let [mut client, mut second, mut third] = [(); 3].map(|()| site.client());
    client.run("DO LAST_INSERT_ID(9)");
    second.run("DO LAST_INSERT_ID(5)");
    // The last session leaves no diagnostics that a lane would have to wait for.
    third.run("SELECT 1");
    let on_lane = site.count("on_lane");
    read(&mut client, "t", 7);
    assert_eq!(site.count("on_lane"), on_lane + 1, "{:?}", site.counts());
    assert_eq!(client.value("SELECT LAST_INSERT_ID()"), "9");
    assert_eq!(second.value("SELECT LAST_INSERT_ID()"), "5");
    holder.run("UNLOCK TABLES");
    answered(&mut first, 0);
    site.proxy.assert_sound();
}

/// The connection has another session's statement without warnings before a statement on the lane warns.
fn diagnostics_of_a_statement_on_a_lane_are_shown_to_its_own_session_only(product: Product) {
    let warns = |value: &str| format!("SELECT CAST('{value}' AS SIGNED) FROM t WHERE id < 3");
    let (site, mut holder, mut first) = narrow(product, |client| {
        wait::until(
            "statements with its digest are known to be short",
            3 * wait::SOON,
            || {
                client.run(&warns("7"));
                lane_of(client, &warns("7")).starts_with("uses a lane")
            },
        );
    });
    let [mut client, mut rider] = [(); 2].map(|()| site.client());
    // A session may use a lane only after it has been on a connection.
    rider.run("SELECT 1");
    client.run("SELECT 'mine'");
    let on_lane = site.count("on_lane");
    rider.run(&warns("x"));
    assert_eq!(site.count("on_lane"), on_lane + 1, "{:?}", site.counts());
    assert_eq!(client.run("SHOW WARNINGS").texts().len(), 0);
    assert_eq!(rider.run("SHOW WARNINGS").texts().len(), 3);
    holder.run("UNLOCK TABLES");
    answered(&mut first, 0);
    site.proxy.assert_sound();
}
