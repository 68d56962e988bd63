//! Many sessions at once: each session gets its own results, no result is lost, and no resource stays in use.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use e2e::raw::{Execute, Login, LoginFailure, Param, RawConn};
use e2e::{Dice, Product, Proxy, Server, Settings, wait};

/// Runs a session with many small and some large exchanges, each with its own token.
fn live(address: &e2e::raw::Address, seed: u64) {
    let mut dice = Dice::new(seed);
    for life in 0..4 {
        let mut login = Login::app();
        if dice.roll(2) == 0 {
            login = login.over_tls();
        }
        if dice.roll(3) == 0 {
            login = login.compressed(dice.roll(2) == 0);
        }
        let mut conn = RawConn::connect(address, &login).unwrap_or_else(|error| panic!("{error}"));
        conn.run(&format!("SET @me = 'session {seed}.{life}'"));
        let statement = conn
            .prepare("SELECT CONCAT(@me, ?), REPEAT(?, ?)")
            .statement();
        for turn in 0..30 {
            let token = format!(" turn {turn}");
            let mine = format!("session {seed}.{life}{token}");
            let size = [1, 100, 5000, 70_000, 300_000][usize::try_from(dice.roll(5)).unwrap()];
            match dice.roll(4) {
                0 => {
                    let sql = format!("SELECT CONCAT(@me, '{token}'), REPEAT('r', {size})");
                    assert_eq!(conn.run(&sql).text(0, 0).unwrap(), mine);
                }
                1 => {
                    let sql = format!(
                        "SELECT CONCAT(@me, '{token}'), LENGTH('{}')",
                        "u".repeat(size)
                    );
                    let reply = conn.run(&sql);
                    assert_eq!(reply.texts(), [[mine, size.to_string()]]);
                }
                2 => {
                    let count = i64::try_from(size).unwrap();
                    let params = [Param::Text(&token), Param::Text("p"), Param::Int(count)];
                    let reply = conn.execute(&Execute::new(statement, &params));
                    let row = &reply.results().next().unwrap().rows[0];
                    assert!(
                        row.windows(mine.len())
                            .any(|window| window == mine.as_bytes())
                    );
                    assert!(row.len() > size);
                }
                _ => assert_eq!(conn.query("SELECT nonsense").error().unwrap().code, 1054),
            }
        }
        match dice.roll(3) {
            0 => conn.quit(),
            1 => conn.shut_down(Shutdown::Both),
            _ => drop(conn),
        }
    }
}

fn everybody_gets_their_own(product: Product, backend_tls: &str) {
    let settings = Settings::in_front_of([Server::shared(product)]).set("workers", 4);
    let proxy = Proxy::start(&settings.set("backend_tls.mode", backend_tls));
    let address = proxy.address();
    std::thread::scope(|scope| {
        for seed in 0..24 {
            scope.spawn({
                let address = &address;
                move || live(address, seed)
            });
        }
    });
    proxy.assert_sound();
}

#[test]
fn each_session_gets_its_own_results_from_mariadb() {
    everybody_gets_their_own(Product::MariaDb, "off");
}

#[test]
fn each_session_gets_its_own_results_from_mysql_over_tls() {
    everybody_gets_their_own(Product::MySql, "required");
}

/// Open files of a process.
fn files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .count()
}

#[test]
fn every_end_of_a_session_releases_its_memory_and_descriptors() {
    let server = Server::shared(Product::MariaDb);
    let settings = Settings::in_front_of([server])
        .set("limits.sessions_max", 3)
        .set("limits.backend_sessions_max", 3)
        .set("limits.over_limit", "wait")
        .set("limits.timeout_over_limit", "20s");
    let mut proxy = Proxy::start(&settings);
    let pid = proxy.process().pid();
    proxy.connect().quit();
    let before = files(pid);
    for n in 0..150 {
        match n % 6 {
            0 => proxy.connect().quit(),
            1 => drop(proxy.connect()),
            2 => drop(TcpStream::connect(proxy.tcp()).unwrap()),
            3 => drop(RawConn::connect(
                &proxy.address(),
                &Login::with("app", "wrong"),
            )),
            4 => {
                let mut conn = proxy.connect();
                conn.send_query("SELECT REPEAT('x', 1000000)").unwrap();
            }
            _ => {
                let mut conn = proxy.connect_as(&Login::app().over_tls());
                conn.write_bytes(&[9, 0]).unwrap();
            }
        }
    }
    // Three sessions, as at the beginning, and no more files than then.
    let kept: Vec<RawConn> = (0..3).map(|_| proxy.connect()).collect();
    drop(kept);
    wait::until("its files are closed", wait::SOON, || files(pid) <= before);
}

#[test]
fn a_backend_killed_under_load_ends_only_its_own_sessions() {
    let mut first = Server::lease(Product::MariaDb);
    let second = Server::shared(Product::MariaDb);
    let proxy = Proxy::start(&Settings::in_front_of([&first, second]));
    let (address, name) = (proxy.address(), first.tcp().to_string());
    let stop = AtomicBool::new(false);
    let (lost, served) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    // While one backend is up, no client is refused.
                    let mut conn = match RawConn::connect(&address, &Login::app()) {
                        Ok(conn) => conn,
                        // The backend was killed between its greeting and its OK.
                        Err(LoginFailure::Refused(error)) => {
                            assert!(error.text.contains(&name), "{error}");
                            continue;
                        }
                        Err(error) => panic!("{error}"),
                    };
                    for n in 0..200 {
                        match conn.try_query(&format!("SELECT {n}, @@port")) {
                            Ok(reply) if reply.error().is_none() => {
                                assert_eq!(reply.text(0, 0).unwrap(), n.to_string());
                                served.fetch_add(1, Ordering::Relaxed);
                            }
                            Ok(reply) => {
                                let error = reply.error().unwrap();
                                assert!(error.text.contains(&name), "{error}");
                                lost.fetch_add(1, Ordering::Relaxed);
                                break;
                            }
                            Err(_) => {
                                lost.fetch_add(1, Ordering::Relaxed);
                                break;
                            }
                        }
                    }
                }
            });
        }
        let more = |by: usize| {
            let from = served.load(Ordering::Relaxed);
            wait::until("they are served", wait::SOON, || {
                served.load(Ordering::Relaxed) > from + by
            });
        };
        more(2000);
        first.kill();
        more(2000);
        first.start_again();
        wait::until("it is used again", wait::SOON, || {
            proxy.connect().value("SELECT @@port") == first.port().to_string()
        });
        more(2000);
        stop.store(true, Ordering::Relaxed);
    });
    let lost = lost.load(Ordering::Relaxed);
    assert!((1..=12).contains(&lost), "{lost} sessions lost");
}
