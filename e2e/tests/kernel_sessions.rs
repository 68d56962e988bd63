//! Listeners with `routing.session = "kernel"`. If the kernel does not let the tests' proxy join sockets, the same is
//! tested with relayed sessions, and that the proxy logs this.

use std::net::{Shutdown, SocketAddr};

use e2e::raw::{Execute, Login, Outcome, Param, RawConn, Shape};
use e2e::{Product, Proxy, Server, Settings, Signal, free_port, wait};

both! {
    statements_pass_both_ways_and_their_bytes_are_counted
    large_results_and_uploads_arrive_whole
    a_client_that_does_not_read_slows_only_its_server_down
    a_client_that_closes_its_sending_side_gets_its_reply
    an_administrator_kills_a_session_as_a_whole
    a_drain_ends_sessions_that_are_silent
    disabling_a_backend_ends_its_kernel_sessions
    a_server_that_dies_ends_its_sessions
    a_client_that_dies_ends_its_session
    without_privileges_the_sessions_are_relayed
    sessions_with_tls_are_relayed
}

/// A proxy with a kernel listener and an admin port.
struct KernelSite {
    proxy: Proxy,
    address: SocketAddr,
    admin: SocketAddr,
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

impl KernelSite {
    fn start(settings: Settings) -> Self {
        Self::start_by(settings, Proxy::start)
    }

    fn start_by(settings: Settings, start: impl FnOnce(&Settings) -> Proxy) -> Self {
        let (address, admin) = (loopback(free_port()), loopback(free_port()));
        let settings = settings
            .admin_on(admin.port())
            .listener_with(address, &[("routing.session", "\"kernel\"")]);
        Self {
            proxy: start(&settings),
            address,
            admin,
        }
    }

    /// A proxy in front of this server, without TLS.
    fn of(server: &Server) -> Self {
        Self::start(plain(server))
    }

    #[track_caller]
    fn connect_as(&self, login: &Login) -> RawConn {
        match RawConn::connect(&self.address.into(), login) {
            Ok(conn) => conn,
            Err(error) => panic!("no login: {error}\n{}", self.proxy.log_tail()),
        }
    }

    #[track_caller]
    fn connect(&self) -> RawConn {
        self.connect_as(&Login::app())
    }

    fn admin(&self) -> RawConn {
        RawConn::connect(&self.admin.into(), &Login::with("root", "all")).unwrap()
    }

    /// Whether the kernel lets the proxy join sessions.
    fn joins(&self) -> bool {
        self.proxy.count_events("kernel_sessions_unavailable") == 0
    }

    /// How many sessions had this outcome, for this reason.
    fn sessions(&self, outcome: &str, reason: &str) -> u64 {
        let sql = format!(
            "SELECT TOTAL(sessions) FROM kernel_sessions WHERE outcome = '{outcome}' \
             AND COALESCE(reason, '') = '{reason}'"
        );
        self.admin().value(&sql).parse::<f64>().unwrap() as u64
    }

    /// All sessions so far, `count` of them, were joined; or all were relayed because the kernel does not join any.
    #[track_caller]
    fn assert_joined(&self, count: u64) {
        let (joined, relayed) = match self.joins() {
            true => (count, 0),
            false => (0, count),
        };
        assert_eq!(self.sessions("joined", ""), joined);
        assert_eq!(self.sessions("relayed", "kernel"), relayed);
    }

    /// Waits until no client session is left.
    fn wait_empty(&self) {
        let mut admin = self.admin();
        wait::until("the sessions have ended", wait::SOON, || {
            admin.value("SELECT COUNT(*) FROM sessions") == "0"
        });
    }
}

fn plain(server: &Server) -> Settings {
    Settings::in_front_of([server]).set("client_tls.mode", "off")
}

/// The bytes that the only session has passed from its client and from its backend, if the session is joined.
fn bytes(admin: &mut RawConn) -> Option<[u64; 2]> {
    let text = admin.value(
        "SELECT COALESCE(bytes_sent || ' ' || bytes_received, '') FROM sessions ORDER BY id LIMIT 1",
    );
    let (sent, received) = text.split_once(' ')?;
    Some([sent.parse().unwrap(), received.parse().unwrap()])
}

fn statements_pass_both_ways_and_their_bytes_are_counted(product: Product) {
    let site = KernelSite::of(Server::shared(product));
    let mut conn = site.connect();
    assert_eq!(conn.value("SELECT 40 + 2"), "42");
    let mut admin = site.admin();
    let mode = admin.value("SELECT mode || ' ' || state FROM sessions");
    assert_eq!(mode == "kernel joined", site.joins(), "{mode}");
    if let Some([sent, received]) = bytes(&mut admin) {
        let sql = "SELECT 'some text'";
        assert_eq!(conn.value(sql), "some text");
        let [sent_then, received_then] = bytes(&mut admin).unwrap();
        assert_eq!(sent_then - sent, 5 + sql.len() as u64);
        assert!(received_then - received > 40, "{received_then} {received}");
    }
    conn.change_user(&Login::app()).unwrap();
    let statement = conn.prepare("SELECT LENGTH(?)").statement();
    conn.send_long_data(statement, 0, &[b'x'; 100_000]);
    let reply = conn.execute(&Execute::new(statement, &[Param::Sent]));
    assert!(reply.error().is_none());
    assert_eq!(conn.query("SELECT nonsense").error().unwrap().code, 1054);
    let sum = "SELECT TOTAL(bytes_sent) > 100000 FROM kernel_sessions";
    assert_eq!(admin.value(sum) == "1", site.joins());
    conn.quit();
    site.wait_empty();
    site.assert_joined(1);
    let now = "SELECT COALESCE(SUM(current), 0) FROM kernel_sessions";
    assert_eq!(admin.value(now), "0");
    site.proxy.assert_sound();
}

fn large_results_and_uploads_arrive_whole(product: Product) {
    let server = Server::shared(product);
    let site = KernelSite::of(server);
    server
        .root()
        .run("CREATE DATABASE IF NOT EXISTS kernel_uploads");
    let mut conn = site.connect_as(&Login::app().schema("kernel_uploads"));
    // More bytes than the kernel's credit, in both directions, and short statements in between.
    for length in [3_000_000, 10, 9_000_000, 1_100_000] {
        let reply = conn.run(&format!("SELECT REPEAT('x', {length})"));
        assert_eq!(reply.text(0, 0).unwrap().len(), length);
        let upload = "y".repeat(length);
        let found = conn.value(&format!("SELECT LENGTH('{upload}')"));
        assert_eq!(found, length.to_string());
        assert_eq!(conn.value("SELECT 7"), "7");
    }
    conn.run("CREATE TEMPORARY TABLE uploaded (n INT, s VARCHAR(20))");
    let load = "LOAD DATA LOCAL INFILE 'the file' INTO TABLE uploaded FIELDS TERMINATED BY ','";
    let reply = conn.query(load);
    assert!(matches!(&reply.outcomes[..], [Outcome::LocalFile(_)]));
    let rows: String = (0..200_000).map(|n| format!("{n},row {n}\n")).collect();
    for chunk in rows.as_bytes().chunks(60_000) {
        conn.send_on(chunk);
    }
    conn.send_on(b"");
    assert!(conn.reply(Shape::Results).error().is_none());
    assert_eq!(conn.value("SELECT COUNT(*) FROM uploaded"), "200000");
    site.assert_joined(1);
    site.proxy.assert_sound();
}

fn a_client_that_does_not_read_slows_only_its_server_down(product: Product) {
    let server = Server::shared(product);
    let site = KernelSite::start(plain(server).set("workers", 1));
    let mut slow = site.connect();
    let many = ["SELECT REPEAT('x', 8000000)"; 8].join(" UNION ALL ");
    slow.send_query(&many).unwrap();
    let mut quick = site.connect();
    for number in 0..200 {
        assert_eq!(quick.value(&format!("SELECT {number}")), number.to_string());
    }
    // The server waits until the client reads, because the kernel does not buffer the whole reply.
    if let Some([_, received]) = bytes(&mut site.admin()) {
        assert!(received < 40_000_000, "{received}");
    }
    let reply = slow.reply(Shape::Results);
    let rows: usize = reply.results().map(|rows| rows.rows.len()).sum();
    assert_eq!(rows, 8);
    assert_eq!(slow.value("SELECT 1"), "1");
    site.assert_joined(2);
    site.proxy.assert_sound();
}

fn a_client_that_closes_its_sending_side_gets_its_reply(product: Product) {
    let site =
        KernelSite::start(plain(Server::shared(product)).set("limits.timeout_half_closed", "60s"));
    let mut conn = site.connect();
    // The session is joined by now. If a client closes its side before, its session is relayed.
    conn.run("SELECT 1");
    conn.send_query(
        "SELECT 'answered', BENCHMARK(500000, SHA2('x', 256)); SELECT REPEAT('x', 4000000)",
    )
    .unwrap();
    conn.shut_down(Shutdown::Write);
    let reply = conn.reply(Shape::Results);
    let rows: Vec<usize> = reply.results().map(|rows| rows.rows.len()).collect();
    assert_eq!(rows, [1, 1], "{:?}", reply.error());
    drop(conn);
    site.wait_empty();
    site.assert_joined(1);
    site.proxy.assert_sound();
}

fn an_administrator_kills_a_session_as_a_whole(product: Product) {
    let server = Server::shared(product);
    let site = KernelSite::of(server);
    let mut conn = site.connect();
    let thread = conn.id;
    let mut holder = held(server, &mut conn);
    let mut admin = site.admin();
    let id = admin.value("SELECT id FROM sessions");
    admin.run(&format!("KILL {id}"));
    assert!(conn.is_closed_by_server() || !site.joins());
    site.wait_empty();
    drop(conn);
    holder.run(&format!("DO RELEASE_LOCK('held against {thread}')"));
    let ask = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {thread}");
    wait::until("the server's thread has ended", wait::SOON, || {
        holder.value(&ask) == "0"
    });
    site.assert_joined(1);
}

/// Sends a statement that waits for a lock. Returns the connection that holds the lock.
fn held(server: &Server, conn: &mut RawConn) -> RawConn {
    let mut root = server.root();
    let id = conn.id;
    root.run(&format!("SELECT GET_LOCK('held against {id}', 0)"));
    conn.send_query(&format!("SELECT GET_LOCK('held against {id}', 600)"))
        .unwrap();
    let ask = format!("SELECT state FROM information_schema.processlist WHERE id = {id}");
    wait::until("it runs", wait::SOON, || root.value(&ask) == "User lock");
    root
}

fn a_drain_ends_sessions_that_are_silent(product: Product) {
    let server = Server::shared(product);
    let mut site = KernelSite::start(plain(server).set("timeout_drain", "60s"));
    let mut idle = site.connect();
    idle.run("SELECT 1");
    let mut waits = site.connect();
    // Only a session whose statements the proxy sees can wait for its statement's end.
    let holder = site.joins().then(|| held(server, &mut waits));
    site.assert_joined(2);
    site.proxy.signal(Signal::TERM);
    assert!(idle.is_closed_by_server());
    assert!(waits.is_closed_by_server());
    let status = site.proxy.process().wait_ended(wait::SOON);
    assert!(status.success(), "{status}");
    drop(holder);
}

fn disabling_a_backend_ends_its_kernel_sessions(product: Product) {
    let server = Server::shared(product);
    let site = KernelSite::of(server);
    let mut conn = site.connect();
    conn.run("SELECT 1");
    site.admin().run("UPDATE backends SET disabled = 1");
    assert!(conn.is_closed_by_server() || conn.try_query("SELECT 1").is_err() || !site.joins());
    site.wait_empty();
}

fn a_server_that_dies_ends_its_sessions(product: Product) {
    let mut server = Server::lease(product);
    let site = KernelSite::of(&server);
    let mut idle = site.connect();
    idle.run("SELECT 1");
    let mut reads = site.connect();
    reads
        .send_query("SELECT REPEAT('x', 8000000), SLEEP(600)")
        .unwrap();
    server.kill();
    assert!(idle.is_closed_by_server());
    assert!(reads.try_reply(Shape::Results).is_err() || !site.joins());
    drop((idle, reads));
    site.wait_empty();
    site.assert_joined(2);
}

fn a_client_that_dies_ends_its_session(product: Product) {
    let server = Server::shared(product);
    let site = KernelSite::start(plain(server).set("limits.timeout_half_closed", "0s"));
    let mut conn = site.connect();
    let thread = conn.id;
    let mut holder = held(server, &mut conn);
    // The statement still runs, because the server does not notice that the client is gone.
    drop(conn);
    site.wait_empty();
    holder.run(&format!("DO RELEASE_LOCK('held against {thread}')"));
    let ask = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {thread}");
    wait::until("the server's thread has ended", wait::SOON, || {
        holder.value(&ask) == "0"
    });
    site.assert_joined(1);
}

fn without_privileges_the_sessions_are_relayed(product: Product) {
    let server = Server::shared(product);
    let site = KernelSite::start_by(plain(server), Proxy::start_without_privileges);
    site.proxy
        .wait_event("kernel_sessions_unavailable", &["CAP_BPF", "Linux 6.4"]);
    let mut admin = site.admin();
    for number in 1..=2 {
        let mut conn = site.connect();
        assert_eq!(conn.value("SELECT 40 + 2"), "42");
        assert_eq!(admin.value("SELECT mode FROM sessions"), "transparent");
        conn.quit();
        site.wait_empty();
        site.assert_joined(number);
    }
    assert_eq!(site.proxy.count_events("kernel_sessions_unavailable"), 1);
    site.proxy.assert_sound();
}

fn sessions_with_tls_are_relayed(product: Product) {
    let server = Server::shared(product);
    let site = KernelSite::start(Settings::in_front_of([server]));
    for number in 1..=2 {
        let mut conn = site.connect_as(&Login::app().over_tls());
        assert_eq!(conn.value("SELECT 40 + 2"), "42");
        assert_eq!(site.sessions("relayed", "tls"), number);
        conn.quit();
    }
    assert_eq!(site.proxy.count_events("session_not_joined"), 1);
    let mut plain = site.connect();
    assert_eq!(plain.value("SELECT 40 + 2"), "42");
    site.assert_joined(1);
    site.proxy.assert_sound();
}
