//! Figures of pooling: how few connections many clients need, and that restoring state costs no round trip of its own.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use e2e::raw::{Execute, Login, Param, RawConn};
use e2e::{Product, Proxy, Relay, Server, Settings, sized, wait};
use rustix::process::{Resource, getrlimit, setrlimit};

const PRODUCTS: [Product; 2] = [Product::MariaDb, Product::MySql];

/// Raises this process's limit of open files to the maximum, and returns it.
fn open_files_max() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("up to the hard limit anybody may");
    limit.maximum.unwrap_or(1 << 20)
}

/// An account whose login takes the least time.
fn cheap() -> Login {
    Login::with("nopass", "")
}

/// Connects so many clients, with several threads.
fn connect(proxy: &Proxy, count: usize) -> Vec<RawConn> {
    const THREADS: usize = 8;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|n| {
                let own = count / THREADS + usize::from(n < count % THREADS);
                scope.spawn(move || {
                    let idle = |_| {
                        let mut conn = proxy.connect_as(&cheap());
                        conn.free_buffers();
                        conn
                    };
                    (0..own).map(idle).collect::<Vec<RawConn>>()
                })
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Vec<RawConn>>| thread.join();
        threads
            .into_iter()
            .flat_map(|it| join(it).unwrap())
            .collect()
    })
}

/// Connections that a server has from clients of the proxy.
fn backend_connections(root: &mut RawConn) -> usize {
    let ask = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'nopass'";
    root.value(ask).parse().unwrap()
}

/// 1,000 clients. Each executes a short statement in every second of a clock that runs as fast as possible.
#[test]
fn a_thousand_clients_share_twenty_connections() {
    open_files_max();
    for product in PRODUCTS {
        let server = Server::start(product, &[]);
        let settings = Settings::pooled(&server, 20).set("workers", 2);
        let proxy = Proxy::start(&settings.set("pool.timeout_wait", "30s"));
        let mut conns = connect(&proxy, 1000);
        let stop = AtomicBool::new(false);
        let most = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut root = server.root();
                let mut is_over = false;
                while !is_over {
                    // The loop samples at least once, even if this thread starts late: the connections stay open.
                    is_over = stop.load(Ordering::Relaxed);
                    // A connection that has ended may be listed for a moment beside its replacement.
                    let count = wait::for_some("they are twenty", wait::SOON, || {
                        Some(backend_connections(&mut root)).filter(|count| *count <= 20)
                    });
                    most.fetch_max(count, Ordering::Relaxed);
                    // A pause between two samples, so that sampling does not load the server.
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
            });
            let threads: Vec<_> = conns
                .chunks_mut(50)
                .map(|chunk| {
                    scope.spawn(move || {
                        for second in 0..5 {
                            for conn in chunk.iter_mut() {
                                let answer = conn.value(&format!("SELECT {second} + 1"));
                                assert_eq!(answer, (second + 1).to_string());
                            }
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
        let most = most.into_inner();
        println!("{product:?}: at most {most} backend connections");
        assert!((1..=20).contains(&most), "{most} backend connections");
        let max = server
            .root()
            .run("SHOW GLOBAL STATUS LIKE 'Max_used_connections'");
        // One connection is root's, and one probed the server before the pool was used.
        let max: usize = max.text(0, 1).unwrap().parse().unwrap();
        assert!(max <= 23, "{max} connections at once");
    }
}

/// The memory of a process, in bytes.
fn memory(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    let kib: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

#[test]
fn thousands_of_idle_clients_hold_no_backend_connection() {
    // Each client needs a file here and a file in the proxy. Some are left for everything else.
    let most = usize::try_from(open_files_max()).unwrap() - 1000;
    let count = most.min(sized(3_000, 10_000));
    let server = Server::lease(Product::MariaDb);
    let settings = Settings::pooled(&server, 20)
        .set("workers", 2)
        .set("limits.sessions_max", 10_100);
    let mut proxy = Proxy::start(&settings);
    drop(connect(&proxy, 8));
    let pid = proxy.process().pid();
    let before = memory(pid);
    let mut conns = connect(&proxy, count);
    let each = memory(pid).saturating_sub(before) / count;
    println!("{count} idle clients, {each} bytes each");
    assert_eq!(backend_connections(&mut server.root()), 0);
    // All clients are served, a few at a time.
    for conn in conns.iter_mut().step_by(97) {
        assert_eq!(conn.value("SELECT 1"), "1");
        conn.free_buffers();
    }
    assert!(backend_connections(&mut server.root()) <= 20);
}

/// The number of round trips of the proxy during `act`.
fn round_trips(relay: &Relay, act: impl FnOnce()) -> usize {
    let before = relay.round_trips();
    act();
    relay.round_trips() - before
}

#[test]
fn restoring_state_costs_no_round_trip_of_its_own() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        let relay = Relay::start(server.tcp());
        let proxy = Proxy::start(&Settings::pooled_behind(&relay, product, 1));
        let (mut one, mut two) = (proxy.connect(), proxy.connect());
        one.run("SET sql_mode = 'ANSI', time_zone = '+01:00', group_concat_max_len = 5");
        one.run("SET @a = 1");
        two.run("SET sql_mode = '', time_zone = '+02:00', group_concat_max_len = 6");
        let id = one.prepare("SELECT ?, @@time_zone").statement();
        let execute = Execute::new(id, &[Param::Int(1)]);
        one.execute(&execute);
        let ask = "SELECT @@time_zone, @@group_concat_max_len";
        // Once in each session, so that the connection knows the statements.
        two.run(ask);
        one.run(ask);
        let plain = round_trips(&relay, || drop(one.run(ask)));
        let restored = round_trips(&relay, || {
            assert_eq!(two.run(ask).texts(), [["+02:00", "6"]]);
        });
        let and_back = round_trips(&relay, || {
            assert_eq!(one.run(ask).texts(), [["+01:00", "5"]]);
        });
        assert_eq!((plain, restored, and_back), (1, 1, 1), "{product:?}");
        two.run("SELECT 1");
        two.run(ask);
        let executed = round_trips(&relay, || drop(one.execute(&execute)));
        assert_eq!(
            executed, 1,
            "{product:?}, a statement that is prepared there"
        );
    }
}
