//! KILL (behaviour 43): by the ids that clients see, from any worker. It hits the right statement and never a
//! statement of another session.

use std::sync::atomic::{AtomicBool, Ordering};

use e2e::raw::{Login, RawConn, Shape, command};
use e2e::{LeasedServer, Product, Proxy, Server, Settings, wait};

const PRODUCTS: [Product; 2] = [Product::MariaDb, Product::MySql];

const SLEEP: &str = "SELECT SLEEP(60) FROM (SELECT 1 UNION SELECT 2) AS two";

fn start(product: Product, connections_max: i32) -> (LeasedServer, Proxy) {
    let server = Server::lease(product);
    let settings = Settings::pooled(&server, connections_max).set("workers", 2);
    let proxy = Proxy::start(&settings);
    (server, proxy)
}

/// Waits until so many statements sleep.
fn wait_sleeping(server: &Server, count: usize) {
    let ask = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'";
    let mut root = server.root();
    wait::until("they sleep", wait::SOON, || {
        root.value(ask) == count.to_string()
    });
}

/// Both ids that a client may know itself by.
fn ids(conn: &mut RawConn) -> [String; 2] {
    [conn.id.to_string(), conn.value("SELECT CONNECTION_ID()")]
}

/// If a session changes to an account that only the backend can authenticate, it gets a thread of its own on the
/// server. It is still found by its first id.
#[test]
fn a_session_is_killed_by_its_first_id_after_it_has_been_passed_on() {
    for product in PRODUCTS {
        let (server, proxy) = start(product, 6);
        let mut root = server.root();
        root.run("CREATE USER stranger@'%' IDENTIFIED BY 'strange'");
        let mut victim = proxy.connect();
        let id = victim.id;
        victim
            .change_user(&Login::with("stranger", "strange"))
            .unwrap();
        assert_eq!(victim.value("SELECT CURRENT_USER()"), "stranger@%");
        victim.send_query(SLEEP).unwrap();
        wait_sleeping(&server, 1);
        proxy.connect().run(&format!("KILL QUERY {id}"));
        assert_eq!(victim.reply(Shape::Results).error().unwrap().code, 1317);
        assert_eq!(victim.value("SELECT 'alive'"), "alive");
    }
}

#[test]
fn kill_query_ends_the_right_statement_from_any_worker() {
    for product in PRODUCTS {
        let (server, proxy) = start(product, 6);
        let mut victim = proxy.connect();
        let mut bystander = proxy.connect();
        // New clients go to the worker with the fewest clients: one killer is on the victim's worker, one is not.
        let mut killers = [proxy.connect(), proxy.connect()];
        let names = ids(&mut victim);
        assert_eq!(names[0], names[1]);
        bystander.send_query(SLEEP).unwrap();
        for killer in &mut killers {
            for name in &names {
                victim.send_query(SLEEP).unwrap();
                wait_sleeping(&server, 2);
                killer.run(&format!("KILL QUERY {name}"));
                let reply = victim.reply(Shape::Results);
                assert_eq!(reply.error().unwrap().code, 1317);
                assert_eq!(victim.value("SELECT 'alive'"), "alive");
                wait_sleeping(&server, 1);
            }
        }
        killers[0].run(&format!("KILL QUERY {}", bystander.id));
        assert_eq!(bystander.reply(Shape::Results).error().unwrap().code, 1317);
    }
}

#[test]
fn kill_ends_the_right_session_from_any_worker() {
    for product in PRODUCTS {
        let (server, proxy) = start(product, 6);
        let mut killers = [proxy.connect(), proxy.connect()];
        let mut bystander = proxy.connect();
        bystander.send_query(SLEEP).unwrap();
        for killer in &mut killers {
            for how in ["KILL", "KILL CONNECTION", "kill /* it */ hard"] {
                let mut victim = proxy.connect();
                let id = victim.id;
                victim.send_query(SLEEP).unwrap();
                wait_sleeping(&server, 2);
                let sql = match how {
                    "kill /* it */ hard" if !product.is_mariadb() => format!("KILL {id}"),
                    _ => format!("{how} {id}"),
                };
                killer.run(&sql);
                let reply = victim.try_reply(Shape::Results);
                assert!(reply.map_or(true, |reply| reply.error().is_some()));
                assert!(victim.is_closed_by_server(), "{sql}");
                wait_sleeping(&server, 1);
                wait::until("nobody has this id any more", wait::SOON, || {
                    let reply = killer.query(&sql);
                    reply.error().is_some_and(|error| error.code == 1094)
                });
            }
        }
        killers[1].run(&format!("KILL QUERY {}", bystander.id));
        assert_eq!(bystander.reply(Shape::Results).error().unwrap().code, 1317);
    }
}

#[test]
fn kill_query_of_an_idle_session_does_not_hit_its_next_statement() {
    for product in PRODUCTS {
        let (_server, proxy) = start(product, 2);
        let mut idle = proxy.connect();
        let mut killer = proxy.connect();
        idle.run("SELECT 1");
        for n in 0..30 {
            killer.run(&format!("KILL QUERY {}", idle.id));
            let reply = idle.query(&format!("SELECT {n}"));
            // Whether MariaDB and MySQL kill this statement depends on timing. A statement after it is not hit.
            if reply.error().is_some() {
                assert_eq!(reply.error().unwrap().code, 1317);
            }
            assert_eq!(idle.value("SELECT 'after'"), "after");
        }
    }
}

#[test]
fn a_kill_hits_the_statement_on_its_new_connection_and_no_other() {
    for product in PRODUCTS {
        let (_server, proxy) = start(product, 3);
        let stop = AtomicBool::new(false);
        let mut victim = proxy.connect();
        let id = victim.id;
        std::thread::scope(|scope| {
            for seed in 0..6 {
                let (proxy, stop) = (&proxy, &stop);
                scope.spawn(move || {
                    let mut conn = proxy.connect();
                    let mut n: u64 = seed;
                    while !stop.load(Ordering::Relaxed) {
                        n += 1;
                        assert_eq!(
                            conn.value(&format!("SELECT {n}, SLEEP(0.001)")),
                            n.to_string()
                        );
                    }
                });
            }
            let killer = scope.spawn(|| {
                let mut killer = proxy.connect();
                while !stop.load(Ordering::Relaxed) {
                    killer.run(&format!("KILL QUERY {id}"));
                }
            });
            let mut hits = 0;
            for n in 0..400 {
                let reply = victim.query(&format!("SELECT {n}, SLEEP(0.003)"));
                match reply.error() {
                    Some(error) => {
                        assert_eq!(error.code, 1317);
                        hits += 1;
                    }
                    // An interrupted SLEEP may also return 1 without an error.
                    None => assert_eq!(reply.text(0, 0).unwrap(), n.to_string()),
                }
            }
            stop.store(true, Ordering::Relaxed);
            killer.join().unwrap();
            println!("{product:?}: {hits} of 400 statements killed");
        });
    }
}

#[test]
fn process_kill_knows_the_ids_that_clients_see() {
    let (server, proxy) = start(Product::MariaDb, 4);
    let mut victim = proxy.connect();
    let mut killer = proxy.connect();
    victim.send_query(SLEEP).unwrap();
    wait_sleeping(&server, 1);
    let reply = killer.command(command::PROCESS_KILL, &victim.id.to_le_bytes());
    assert!(reply.error().is_none());
    let reply = victim.try_reply(Shape::Results);
    assert!(reply.map_or(true, |reply| reply.error().is_some()));
    assert!(victim.is_closed_by_server());
}

#[test]
fn sessions_of_other_users_are_killed_by_users_with_the_privilege() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        let mut root = server.root();
        root.run("CREATE USER weak@'%' IDENTIFIED BY 'weak password'");
        let settings = Settings::pooled(&server, 6).account("weak", "weak password");
        let proxy = Proxy::start(&settings.set("workers", 2));
        let mut app = proxy.connect();
        for _ in 0..2 {
            let mut weak = proxy.connect_as(&Login::with("weak", "weak password"));
            app.send_query(SLEEP).unwrap();
            wait_sleeping(&server, 1);
            for sql in [format!("KILL QUERY {}", app.id), format!("KILL {}", app.id)] {
                let error = weak.query(&sql).error().map(|error| error.code);
                assert_eq!(error, Some(1095), "{product:?}: {sql}");
            }
            wait_sleeping(&server, 1);
            let mut strong = proxy.connect_as(&Login::with("other", "another password"));
            strong.run(&format!("KILL QUERY {}", app.id));
            assert_eq!(app.reply(Shape::Results).error().unwrap().code, 1317);
            // A user may kill sessions of the same account without the privilege.
            let mut second = proxy.connect_as(&Login::with("weak", "weak password"));
            weak.send_query(SLEEP).unwrap();
            wait_sleeping(&server, 1);
            second.run(&format!("KILL QUERY {}", weak.id));
            assert_eq!(weak.reply(Shape::Results).error().unwrap().code, 1317);
        }
    }
}

#[test]
fn a_session_may_kill_its_own_statement_and_itself() {
    for product in PRODUCTS {
        let (_server, proxy) = start(product, 2);
        let mut conn = proxy.connect();
        let mut other = proxy.connect();
        let reply = conn.query("KILL QUERY CONNECTION_ID()");
        assert_eq!(reply.error().unwrap().code, 1317);
        assert_eq!(conn.value("SELECT 'alive'"), "alive");
        let id = conn.id;
        let reply = conn.try_query(&format!("KILL {id}"));
        assert!(reply.map_or(true, |reply| reply.error().is_some()));
        let next = conn.try_query("SELECT 1");
        assert!(next.map_or(true, |reply| reply.error().is_some()));
        assert_eq!(other.value("SELECT 'alive'"), "alive");
    }
}

#[test]
fn a_killed_transaction_is_rolled_back() {
    for product in PRODUCTS {
        let (server, proxy) = start(product, 3);
        let mut root = server.root();
        root.run("CREATE DATABASE d");
        root.run("CREATE TABLE d.t (n INT PRIMARY KEY)");
        let mut victim = proxy.connect();
        let mut killer = proxy.connect();
        victim.run("BEGIN");
        victim.run("INSERT INTO d.t VALUES (1)");
        killer.run(&format!("KILL {}", victim.id));
        // The INSERT waits for the lock, which the killed transaction releases.
        root.run("INSERT INTO d.t VALUES (1)");
        let next = victim.try_query("COMMIT");
        assert!(next.map_or(true, |reply| reply.error().is_some()));
    }
}

/// The proxy asks for the user's grants on a connection that still has another session's warnings.
#[test]
fn a_kill_does_not_take_warnings_of_another_session() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        let proxy = Proxy::start(&Settings::pooled(&server, 1));
        let mut other = proxy.connect_as(&Login::with("other", "another password"));
        let mut warned = proxy.connect();
        let mut killer = proxy.connect();
        warned.run("SELECT CAST('x' AS SIGNED)");
        killer.query(&format!("KILL QUERY {}", other.id));
        let warnings = warned.run("SHOW WARNINGS").texts();
        assert_eq!(warnings.len(), 1, "{product:?}: {warnings:?}");
        other.run("SELECT 1");
        proxy.assert_sound();
    }
}
