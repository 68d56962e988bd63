//! The memory for clients' bytes has a bound, even if the clients leave statements or logins incomplete.

use std::io::{Read, Write};
use std::net::TcpStream;

use e2e::raw::{Address, Execute, Login, Param, RawConn};
use e2e::{Product, Proxy, Server, Settings, free_port, wait};
use flate2::Compression;
use flate2::write::ZlibEncoder;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/every_other.lua");

both! {
    compressed_half_statements_stay_within_the_bound
    a_statement_beyond_the_memory_limit_is_refused_and_the_session_continues
}

/// A number in the admin table `admission`.
fn admission(admin: &Address, column: &str) -> u64 {
    let mut conn = RawConn::connect(admin, &Login::with("root", "all")).unwrap();
    let value = conn.value(&format!("SELECT {column} FROM admission"));
    value.parse().unwrap()
}

/// The peak of a process's resident memory, in bytes.
fn peak_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().next().unwrap().parse().unwrap();
    kib * 1024
}

/// The header of a statement of 16 MiB, and the statement's first bytes.
fn half_statement(length: usize) -> Vec<u8> {
    let mut stream = vec![0xff, 0xff, 0xff, 0, 3];
    stream.resize(length, b' ');
    stream
}

/// The bytes in one compressed frame.
fn compressed(stream: &[u8]) -> Vec<u8> {
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
    zlib.write_all(stream).unwrap();
    let packed = zlib.finish().unwrap();
    let three = |number: usize| number.to_le_bytes()[..3].to_vec();
    [three(packed.len()), vec![0], three(stream.len()), packed].concat()
}

/// The bytes in one frame without compression.
fn framed(stream: &[u8]) -> Vec<u8> {
    let header = [&stream.len().to_le_bytes()[..3], &[0, 0, 0, 0]].concat();
    [&header, stream].concat()
}

fn compressed_half_statements_stay_within_the_bound(product: Product) {
    const BYTES_MAX: u64 = 64 << 20;
    const CLIENTS: u64 = 60;
    let server = Server::lease(product);
    let port = free_port();
    let settings = Settings::pooled(&server, 4)
        .set("limits.memory_bytes_max", "64MiB")
        .admin_on(port);
    let mut proxy = Proxy::start(&settings);
    let admin = std::net::SocketAddr::from(([127, 0, 0, 1], port)).into();
    let pid = proxy.process().pid();
    let mut modest = proxy.connect();
    let large = format!("SELECT LENGTH('{}')", "x".repeat(1_000_000));
    assert_eq!(modest.value(&large), "1000000");
    let before = peak_bytes(pid);
    let grown = || peak_bytes(pid).saturating_sub(before);
    let mut attack = |frame: &[u8]| {
        let mut clients: Vec<RawConn> = (0..CLIENTS)
            .map(|_| proxy.connect_as(&Login::app().compressed(false)))
            .collect();
        for client in &mut clients {
            // The proxy may have ended this session.
            let _ = client.write_bytes(frame);
            assert_eq!(modest.value("SELECT 1"), "1");
            assert_eq!(modest.value(&large), "1000000");
        }
        clients
    };
    // Frames stay compressed until the statement is complete.
    let frame = compressed(&half_statement(15 << 20));
    assert!(frame.len() < 20 << 10, "{} bytes are sent", frame.len());
    let clients = attack(&frame);
    assert!(grown() < BYTES_MAX / 2, "{} bytes", grown());
    drop(clients);
    // Uncompressed bytes reach the bound.
    let clients = attack(&framed(&half_statement(3 << 20)));
    proxy.wait_event("memory_full", &["limits.memory_bytes_max"]);
    // At most 21 of these statements fit.
    wait::until("the others have ended or are refused", wait::SOON, || {
        let sum = "memory_sessions_ended + memory_refused";
        admission(&admin, sum) >= CLIENTS - 22
    });
    assert!(admission(&admin, "memory_bytes") <= BYTES_MAX);
    assert_eq!(admission(&admin, "memory_bytes_max"), BYTES_MAX);
    // A growing buffer is copied, so two copies may exist.
    assert!(grown() < 2 * BYTES_MAX, "{} bytes", grown());
    drop(clients);
    wait::until("all is free", wait::SOON, || {
        admission(&admin, "memory_bytes") == 0
    });
}

fn a_statement_beyond_the_memory_limit_is_refused_and_the_session_continues(product: Product) {
    let server = Server::lease(product);
    let bounded = |settings: Settings| settings.set("limits.memory_bytes_max", "1MiB");
    let large = |bytes: usize| format!("SELECT LENGTH('{}')", "x".repeat(bytes));
    for login in [Login::app(), Login::app().compressed(false)] {
        // Connections keep prepared statements' texts, so each client has its own proxy.
        let proxy = Proxy::start(&bounded(Settings::pooled(&server, 2)));
        let mut conn = proxy.connect_as(&login);
        for _ in 0..2 {
            let reply = conn.query(&large(3_000_000));
            let error = reply.error().unwrap();
            assert_eq!((error.code, &*error.state), (1037, "HY001"), "{error}");
            assert!(error.text.contains("memory_bytes_max"), "{error}");
            assert_eq!(conn.value(&large(100_000)), "100000");
        }
        conn.run("BEGIN");
        assert_eq!(conn.query(&large(3_000_000)).error().unwrap().code, 1037);
        conn.run("COMMIT");
        // COM_STMT_SEND_LONG_DATA has no reply.
        let id = conn.prepare("SELECT LENGTH(?)").statement();
        for _ in 0..3 {
            conn.send_long_data(id, 0, &vec![b'y'; 500_000]);
        }
        let execute = Execute::new(id, &[Param::Sent]);
        assert_eq!(conn.execute(&execute).error().unwrap().code, 1037);
        conn.reset_statement(id);
        conn.send_long_data(id, 0, &vec![b'y'; 200_000]);
        assert_eq!(conn.execute(&execute).error().map(|it| it.code), None);
        conn.close_statement(id);
        // The texts of prepared statements are kept until they are closed.
        let mut ids = Vec::new();
        let refused = (0..9).find_map(|n| {
            let reply = conn.prepare(&format!("SELECT {n}, '{}'", "z".repeat(250_000)));
            match reply.error() {
                Some(error) => Some(error.code),
                None => {
                    ids.push(reply.statement());
                    None
                }
            }
        });
        assert_eq!(refused, Some(1037));
        assert!(ids.len() >= 2, "{}", ids.len());
        for id in ids {
            conn.close_statement(id);
        }
    }
    // A transparent session passes statements on without buffering them.
    let transparent = Proxy::start(&bounded(Settings::in_front_of([&*server])));
    assert_eq!(transparent.connect().value(&large(3_000_000)), "3000000");
    let settings = Settings::in_front_of([&*server]).set("routing.script", SCRIPT);
    let scripted = Proxy::start(&bounded(settings));
    let mut conn = scripted.connect();
    let reply = conn.query(&large(3_000_000));
    assert_eq!(reply.error().unwrap().code, 1037);
    assert!(conn.is_closed_by_server());
}

#[test]
fn incomplete_logins_above_the_memory_limit_are_refused() {
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 2);
    let proxy = Proxy::start(&settings.set("limits.memory_bytes_max", "1MiB"));
    let half_login = [&[0x40, 0x42, 0x0f, 1][..], &vec![b'x'; 700_000]].concat();
    let begin = || {
        let mut stream = TcpStream::connect(proxy.tcp()).unwrap();
        let _ = stream.write_all(&half_login);
        stream
    };
    let streams: Vec<TcpStream> = (0..3).map(|_| begin()).collect();
    proxy.wait_event("memory_full", &["side=proxy"]);
    let told: Vec<bool> = streams.into_iter().map(is_told).collect();
    assert!(told.contains(&true), "{told:?}");
    assert_eq!(proxy.connect().value("SELECT 1"), "1");
}

/// Whether a client gets the error about memory.
fn is_told(mut stream: TcpStream) -> bool {
    stream.set_read_timeout(Some(wait::SOON)).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).contains("memory_bytes_max")
}
