//! Which backend a session gets, and what happens when backends go down and come back.

use e2e::raw::{Login, RawConn, command};
use e2e::{Cluster, PASSWORD, Product, Proxy, Scripted, Server, Settings, free_port, wait};

/// A backend that accepts every login and answers every query with its name.
fn named(name: &'static str) -> Scripted {
    Scripted::start(move |dialogue| {
        dialogue.welcome()?;
        loop {
            match dialogue.read()?.first() {
                Some(&command::QUERY) => {
                    dialogue.send_rows("name", &[name])?;
                    dialogue.send_end()?;
                }
                Some(&command::QUIT) => return Ok(()),
                _ => dialogue.send_ok()?,
            }
        }
    })
}

fn three() -> [Scripted; 3] {
    ["a", "b", "c"].map(named)
}

fn settings(backends: &[Scripted], policy: &str) -> Settings {
    let backends = backends.iter();
    backends
        .fold(Settings::default(), |settings, backend| {
            settings.backend(backend.tcp())
        })
        .set("balance.policy", policy)
}

fn name(conn: &mut RawConn) -> String {
    conn.value("SELECT name")
}

/// Opens sessions. Returns the name of each session's backend, and the sessions.
fn open(proxy: &Proxy, count: usize) -> (Vec<String>, Vec<RawConn>) {
    (0..count)
        .map(|_| {
            let mut conn = proxy.connect();
            (name(&mut conn), conn)
        })
        .unzip()
}

fn count(names: &[String], name: &str) -> usize {
    names.iter().filter(|other| *other == name).count()
}

#[test]
fn sessions_go_to_the_backend_with_the_fewest_sessions() {
    let backends = three();
    let proxy = Proxy::start(&settings(&backends, "fewest_sessions"));
    let (names, mut conns) = open(&proxy, 9);
    for backend in ["a", "b", "c"] {
        assert_eq!(count(&names, backend), 3, "{names:?}");
    }
    // The next session takes the place of the session that has ended.
    let index = names.iter().position(|name| name == "b").unwrap();
    conns.remove(index).quit();
    proxy.wait_event("session_ended", &[]);
    let (again, _conns) = open(&proxy, 1);
    assert_eq!(again, ["b"]);
}

#[test]
fn sessions_go_to_backends_in_turn() {
    let backends = three();
    let mut settings = settings(&backends, "round_robin");
    settings = settings.set("workers", 1);
    let proxy = Proxy::start(&settings);
    let (names, _conns) = open(&proxy, 6);
    assert_eq!(names[..3], names[3..]);
    for backend in ["a", "b", "c"] {
        assert_eq!(count(&names, backend), 2, "{names:?}");
    }
}

#[test]
fn sessions_are_shared_by_weight() {
    let backends = three();
    let mut settings = Settings::default().set("balance.policy", "weighted");
    for (backend, weight) in backends.iter().zip(["1", "2", "3"]) {
        settings = settings.backend_with(backend.tcp(), &[("weight", weight)]);
    }
    let proxy = Proxy::start(&settings);
    let (names, _conns) = open(&proxy, 12);
    let shares = ["a", "b", "c"].map(|backend| count(&names, backend));
    assert_eq!(shares, [2, 4, 6]);
}

#[test]
fn the_less_loaded_of_two_backends_is_chosen() {
    let backends = three();
    let proxy = Proxy::start(&settings(&backends, "random_of_two"));
    let (names, _conns) = open(&proxy, 60);
    for backend in ["a", "b", "c"] {
        assert!((10..=30).contains(&count(&names, backend)), "{names:?}");
    }
}

#[test]
fn the_first_backend_that_is_up_is_chosen() {
    let dead = free_port();
    let backends = three();
    let mut settings = Settings::default().backend(format!("127.0.0.1:{dead}"));
    for backend in &backends {
        settings = settings.backend(backend.tcp());
    }
    let proxy = Proxy::start(&settings.set("balance.policy", "ordered"));
    let (names, _conns) = open(&proxy, 5);
    assert_eq!(count(&names, "a"), 5);
    proxy.wait_event("backend_down", &[&dead.to_string()]);
}

#[test]
fn routing_replicas_chooses_the_roles() {
    for (replicas, expected) in [("primary", "a"), ("replica", "bc"), ("any", "abc")] {
        let backends = three();
        let replica = [("role", "\"replica\"")];
        let settings = Settings::default()
            .backend(backends[0].tcp())
            .backend_with(backends[1].tcp(), &replica)
            .backend_with(backends[2].tcp(), &replica)
            .set("routing.replicas", replicas);
        let (mut names, _conns) = open(&Proxy::start(&settings), 6);
        names.sort();
        names.dedup();
        assert_eq!(names.concat(), expected);
    }
}

#[test]
fn a_full_backend_gets_no_session() {
    let backends = three();
    let settings = Settings::default()
        .backend_with(backends[0].tcp(), &[("sessions_max", "1")])
        .backend_with(backends[1].tcp(), &[("sessions_max", "2")])
        .set("balance.policy", "ordered");
    let proxy = Proxy::start(&settings);
    let (names, _conns) = open(&proxy, 3);
    assert_eq!(names, ["a", "b", "b"]);
    let refused = RawConn::connect(&proxy.address(), &Login::app())
        .unwrap_err()
        .refusal();
    assert_eq!(refused.code, 1040);
}

#[test]
fn a_backend_that_goes_down_loses_its_sessions_and_is_used_when_it_returns() {
    let mut first = Server::lease(Product::MariaDb);
    let second = Server::shared(Product::MariaDb);
    let settings = Settings::in_front_of([&first, second]).set("balance.policy", "ordered");
    let proxy = Proxy::start(&settings);
    let port = |conn: &mut RawConn| conn.value("SELECT @@port");
    assert_eq!(port(&mut proxy.connect()), first.port().to_string());
    first.kill();
    // A client without a session on that backend does not notice its end.
    let mut moved = proxy.connect();
    assert_eq!(port(&mut moved), second.port().to_string());
    first.start_again();
    wait::until("it is used again", wait::SOON, || {
        port(&mut proxy.connect()) == first.port().to_string()
    });
    proxy.wait_event("backend_up_again", &[]);
    // Sessions on other backends stay.
    assert_eq!(port(&mut moved), second.port().to_string());
}

#[test]
fn clients_may_wait_for_a_backend_to_return() {
    let mut server = Server::lease(Product::MariaDb);
    let settings = Settings::in_front_of([&*server]).set("balance.timeout_backend_wait", "60s");
    let proxy = Proxy::start(&settings);
    proxy.connect().run("SELECT 1");
    server.kill();
    let address = proxy.address();
    let waiting = std::thread::spawn(move || {
        RawConn::connect(&address, &Login::app()).map(|mut conn| conn.value("SELECT 'waited'"))
    });
    proxy.wait_event("backend_down", &[]);
    assert!(!waiting.is_finished());
    server.start_again();
    assert_eq!(waiting.join().unwrap().unwrap(), "waited");
}

#[test]
fn a_monitor_notices_a_hanging_backend_before_clients_do() {
    let hanging = Server::start(Product::MariaDb, &[]);
    let settings = Settings::in_front_of([&hanging, Server::shared(Product::MariaDb)])
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD)
        .set("health.monitor_interval", "100ms")
        .set("health.timeout_connect", "500ms");
    let proxy = Proxy::start(&settings);
    hanging.process().signal(e2e::Signal::STOP);
    proxy.wait_event("backend_down", &[&hanging.port().to_string()]);
    hanging.process().signal(e2e::Signal::CONT);
    proxy.wait_event("backend_up_again", &[&hanging.port().to_string()]);
}

fn replicas_serve_readers_and_the_primary_writers(product: Product) {
    let cluster = Cluster::lease(product, 2);
    let settings = |replicas| Settings::of_cluster(&cluster).set("routing.replicas", replicas);
    let writers = Proxy::start(&settings("primary"));
    let readers = Proxy::start(&settings("replica"));
    let mut writer = writers.connect();
    writer.run("CREATE DATABASE d");
    writer.run("CREATE TABLE d.t (n INT PRIMARY KEY)");
    writer.run("INSERT INTO d.t VALUES (1), (2), (3)");
    cluster.wait_caught_up();
    let ids: Vec<String> = (0..4)
        .map(|_| {
            let mut reader = readers.connect();
            assert_eq!(reader.value("SELECT COUNT(*) FROM d.t"), "3");
            let id = reader.value("SELECT @@server_id");
            std::mem::forget(reader); // keeps its place
            id
        })
        .collect();
    assert_eq!((count(&ids, "2"), count(&ids, "3")), (2, 2), "{ids:?}");
}

#[test]
fn mariadb_replicas_serve_readers() {
    replicas_serve_readers_and_the_primary_writers(Product::MariaDb);
}

#[test]
fn mysql_replicas_serve_readers() {
    replicas_serve_readers_and_the_primary_writers(Product::MySql);
}
