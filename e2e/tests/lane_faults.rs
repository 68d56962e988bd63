//! Faults of real servers while many clients use lanes: no client gets another client's reply, every error has a fault
//! as its cause, and all clients continue. For servers that crash or hang for a while, see the world `reads` of the
//! simulation.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use e2e::raw::{RawConn, ServerError, command};
use e2e::{Cut, Dice, LeasedServer, Product, Proxy, Relay, Server, Signal, wait};

use crate::lanes::{ROWS, Site, answered, ask, client, count, hold, known, told, waiting};

const READERS: usize = 24;

/// A killed server may need time to recover.
const BACK_WITHIN: Duration = Duration::from_secs(60);

/// How many more replies each reader must get to count as continuing.
const GONE_ON: u64 = 10;

/// Many clients that read until the test ends.
struct Crowd<'a> {
    proxy: &'a Proxy,
    readers: Vec<Reader>,
    is_over: AtomicBool,
    has_failed: AtomicBool,
    errors: Mutex<Vec<ServerError>>,
}

/// A client of the crowd, and its counters.
#[derive(Default)]
struct Reader {
    asked: AtomicU64,
    answered: AtomicU64,
    /// While this is set, the reader sends no reads.
    rests: AtomicBool,
}

impl<'a> Crowd<'a> {
    fn of(proxy: &'a Proxy) -> Self {
        Self {
            proxy,
            readers: (0..READERS).map(|_| Reader::default()).collect(),
            is_over: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            errors: Mutex::default(),
        }
    }

    /// Lets the crowd read while a function runs. Returns the errors that the readers got. `table` gives each reader's
    /// table by its number.
    fn read_while(
        self,
        table: fn(usize) -> &'static str,
        act: impl FnOnce(&Self),
    ) -> Vec<ServerError> {
        thread::scope(|scope| {
            for number in 0..self.readers.len() {
                let crowd = &self;
                scope.spawn(move || crowd.read(number, table(number)));
            }
            let _end = AtTheEnd(&self.is_over);
            self.all_go_on();
            act(&self);
        });
        assert!(!self.has_failed.load(Ordering::Relaxed));
        self.proxy.assert_sound();
        self.errors.into_inner().unwrap()
    }

    fn read(&self, number: usize, table: &str) {
        let failed = AtTheEnd(&self.has_failed);
        let reader = &self.readers[number];
        let mut dice = Dice::new(number as u64);
        let mut client = client(self.proxy);
        // A read may wait in the proxy for the server, for a minute at most.
        client.patience(2 * wait::SOON);
        while !self.is_over.load(Ordering::Relaxed) {
            if reader.rests.load(Ordering::Relaxed) {
                client.command(command::PING, b"");
                // The pause between two pings.
                thread::sleep(Duration::from_millis(100));
                continue;
            }
            let id = dice.roll(u64::from(ROWS)) as u32;
            reader.asked.fetch_add(1, Ordering::Relaxed);
            let reply = client.try_query(&ask(table, id));
            let reply = reply.unwrap_or_else(|error| panic!("its session has ended: {error}"));
            match reply.error() {
                None => assert_eq!(reply.texts(), [[id.to_string(), told(id)]]),
                Some(error) => self.errors.lock().unwrap().push(error.clone()),
            }
            reader.answered.fetch_add(1, Ordering::Relaxed);
            client.free_buffers();
        }
        std::mem::forget(failed);
    }

    /// Waits until each reader has got some more replies.
    fn all_go_on(&self) {
        self.go_on(|_| true);
    }

    /// Waits until the selected readers, chosen by their numbers, have got some more replies.
    fn go_on(&self, whom: fn(usize) -> bool) {
        let since: Vec<_> = self.answered();
        wait::until("everybody goes on", BACK_WITHIN, || {
            assert!(!self.has_failed.load(Ordering::Relaxed));
            let now = self.answered();
            let mut both = since.iter().zip(&now).enumerate();
            both.all(|(number, (since, now))| !whom(number) || *now >= since + GONE_ON)
        });
    }

    fn answered(&self) -> Vec<u64> {
        let answered = |reader: &Reader| reader.answered.load(Ordering::Relaxed);
        self.readers.iter().map(answered).collect()
    }

    /// Waits until all selected readers have a read without a reply.
    fn wait_in_vain(&self, whom: fn(usize) -> bool) {
        let waiting = || {
            let readers = self.readers.iter().enumerate();
            let some = readers.filter(|(number, _)| whom(*number));
            let asked = some.map(|(_, reader)| {
                // The order matters: a reply that arrives between the two loads is not overlooked.
                let answered = reader.answered.load(Ordering::SeqCst);
                let asked = reader.asked.load(Ordering::SeqCst);
                (asked == answered + 1).then_some(asked)
            });
            asked.collect::<Option<Vec<u64>>>()
        };
        let mut before = None;
        let mut times = 0;
        wait::until("all wait", wait::SOON, || {
            let now = waiting();
            times = match now.is_some() && now == before {
                true => times + 1,
                false => 0,
            };
            before = now;
            times > 3
        });
    }

    /// Makes the readers stop reading, or continue. Their sessions stay.
    fn rest(&self, rests: bool) {
        for reader in &self.readers {
            reader.rests.store(rests, Ordering::Relaxed);
        }
    }
}

/// Sets a flag when it is dropped, even by a panic.
struct AtTheEnd<'a>(&'a AtomicBool);

impl Drop for AtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A site with lanes in use, where a client waits if there is no backend.
fn site(product: Product, connections: i32) -> Site {
    site_at(Server::lease(product), connections, "30s")
}

/// Like [`site`], with this timeout for a server that does not answer.
fn site_at(server: LeasedServer, connections: i32, timeout_down: &str) -> Site {
    let site = Site::at(server, connections, |settings| {
        settings
            .set("balance.timeout_backend_wait", "60s")
            .set("health.timeout_connect", "1s")
            .set("health.timeout_down", timeout_down)
    });
    site.teach();
    site
}

/// The table `t` for every reader.
fn all_read(_: usize) -> &'static str {
    "t"
}

/// Waits until lanes are used.
fn ridden(proxy: &Proxy) {
    let before = count(proxy, "on_lane");
    wait::until("lanes are ridden", BACK_WITHIN, || {
        count(proxy, "on_lane") > before + 50
    });
}

fn tell(what: &str, product: Product, begun: Instant, crowd: &Crowd<'_>) {
    let errors = crowd.errors.lock().unwrap().len();
    println!(
        "{what}, {product:?}: all went on after {:?}, {errors} errors",
        begun.elapsed()
    );
}

/// The ids of the proxy's connections to the server.
fn connections(root: &mut RawConn) -> Vec<String> {
    let ids = root.run("SELECT id FROM information_schema.processlist WHERE user = 'app'");
    ids.texts().into_iter().map(|row| row[0].clone()).collect()
}

both! {
    reads_continue_while_lane_connections_are_killed_repeatedly
    a_server_that_stays_stopped_is_given_up
    reads_on_lanes_continue_after_a_restart_of_the_server
    reads_on_a_lane_are_repeated_if_the_server_closes_the_connection
    reads_on_lanes_survive_the_servers_idle_timeout
    a_locked_table_stalls_its_own_readers_only
}

/// Clients that wait on the server get an error that names it. Late replies reach no client.
fn a_server_that_stays_stopped_is_given_up(product: Product) {
    let server = Server::lease(product);
    let Site { server, proxy } = site_at(server, 32, "1s");
    let errors = Crowd::of(&proxy).read_while(all_read, |crowd| {
        server.process().signal(Signal::STOP);
        proxy.wait_event("backend_down", &[]);
        proxy.wait_logged(&["timeout_down"]);
        server.process().signal(Signal::CONT);
        let begun = Instant::now();
        crowd.all_go_on();
        tell("given up", product, begun, crowd);
        ridden(&proxy);
    });
    assert!(errors.len() <= 2 * READERS, "{errors:#?}");
    for error in errors {
        assert_eq!(error.code, 1158, "{error}");
        assert!(error.text.contains(&server.tcp().to_string()), "{error}");
    }
}

/// Kills three connections at a time. A repeated read may be killed again, and is repeated three times at most.
fn reads_continue_while_lane_connections_are_killed_repeatedly(product: Product) {
    let Site { server, proxy } = site(product, 8);
    let mut root = server.root();
    let mut kills = 0;
    let errors = Crowd::of(&proxy).read_while(all_read, |crowd| {
        let begun = Instant::now();
        for round in 0..20 {
            let ids = connections(&mut root);
            let first = round % ids.len().max(1);
            for id in ids.iter().cycle().skip(first).take(ids.len().min(3)) {
                // The connection may be closed already.
                let reply = root.query(&format!("KILL {id}"));
                kills += usize::from(reply.error().is_none());
            }
            crowd.all_go_on();
        }
        tell("killed twenty times", product, begun, crowd);
        ridden(&proxy);
    });
    // MariaDB sends error 1927 to a client whose statement is running. The proxy passes it on if the session has its
    // own connection, or has used a lane for a long time.
    let is_told = |error: &ServerError| error.code == 1927;
    assert!(errors.len() <= kills, "{errors:#?}");
    assert!(errors.iter().all(is_told), "{errors:#?}");
}

/// The server closes its connections in order. A repeated read may get the same error on its own connection, and then
/// the proxy passes the server's error on.
fn reads_on_lanes_continue_after_a_restart_of_the_server(product: Product) {
    let Site { mut server, proxy } = site(product, 12);
    let errors = Crowd::of(&proxy).read_while(all_read, |crowd| {
        for _ in 0..2 {
            server.shut_down();
            server.start_again();
            let begun = Instant::now();
            crowd.all_go_on();
            tell("restarted", product, begun, crowd);
            ridden(&proxy);
        }
    });
    assert!(errors.len() <= 2 * READERS, "{errors:#?}");
    let is_told = |error: &ServerError| [1053, 1158].contains(&error.code);
    assert!(errors.iter().all(is_told), "{errors:#?}");
}

/// Reads on a lane are repeated, whatever error the server sends before it closes the connection.
fn reads_on_a_lane_are_repeated_if_the_server_closes_the_connection(product: Product) {
    let server = Server::lease(product);
    let relay = Relay::start(server.tcp());
    let site = Site::behind(server, relay.tcp(), 12, |settings| settings);
    site.teach();
    let mut rider = site.client();
    let mut holder = hold(&site);
    // While one client waits, other clients use lanes, on a connection with the same state.
    let [mut first] = waiting(&site);
    let shutdown = Cut::Farewell(1053, 1);
    let killed = Cut::Farewell(1927, 1);
    let unasked = Cut::Farewell(4031, 0);
    for cut in [Cut::Unsent, Cut::Unanswered, shutdown, killed, unasked] {
        // On a busy machine the read may get its own connection.
        wait::until("it rides", wait::SOON, || {
            known(&mut rider, "t");
            let (cuts, moved) = (relay.cuts(), site.count("moved"));
            relay.cut(cut, "WHERE id = 77");
            let reply = rider.query(&ask("t", 77));
            assert_eq!(relay.cuts(), cuts + 1);
            let has_moved = site.count("moved") > moved;
            assert!(!has_moved || reply.error().is_none(), "{reply:?}");
            has_moved
        });
    }
    // A read without a lane does not get an error that the server sent before the read either.
    relay.cut(unasked, "COUNT(*)");
    let count = rider.value("SELECT COUNT(*) FROM t WHERE id = 78");
    assert_eq!(count, "1");
    holder.run("UNLOCK TABLES");
    answered(&mut first, 0);
    site.proxy.assert_sound();
}

fn reads_on_lanes_survive_the_servers_idle_timeout(product: Product) {
    // The timeout is longer than a busy machine stalls, because it applies to the readers' sessions as well.
    let server = Server::lease_set(product, &[("wait_timeout", "8")]);
    let site = Site::at(server, 12, |settings| {
        settings
            .set("balance.timeout_backend_wait", "60s")
            // These queries would keep the connection from being idle.
            .set("pool.globals_interval", "0s")
    });
    site.teach();
    let Site { server, proxy } = site;
    let mut root = server.root();
    root.run("SET wait_timeout = 1000");
    let errors = Crowd::of(&proxy).read_while(all_read, |crowd| {
        crowd.rest(true);
        wait::until("none is left", wait::SOON, || {
            connections(&mut root).is_empty()
        });
        crowd.rest(false);
        let begun = Instant::now();
        crowd.all_go_on();
        tell("idle", product, begun, crowd);
        ridden(&proxy);
    });
    assert_eq!(errors, []);
}

/// A third of the readers read a table that another client locks.
fn a_locked_table_stalls_its_own_readers_only(product: Product) {
    let site = site(product, 20);
    let table = |number: usize| ["held", "t", "t"][number % 3];
    let errors = Crowd::of(&site.proxy).read_while(table, |crowd| {
        wait::until("some are behind those who wait", 3 * wait::SOON, || {
            let mut holder = hold(&site);
            crowd.wait_in_vain(|number| number % 3 == 0);
            crowd.go_on(|number| number % 3 != 0);
            holder.run("UNLOCK TABLES");
            let begun = Instant::now();
            crowd.all_go_on();
            tell("locked", product, begun, crowd);
            site.count("stalled") > 2 && site.count("moved") > 2
        });
        ridden(&site.proxy);
    });
    assert_eq!(errors, []);
}
