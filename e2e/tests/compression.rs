//! Compression is negotiated on each side separately. Every combination gives the same conversation.

use e2e::raw::{Compress, Execute, Login, PACKET_MAX, Param, RawConn, Transcript};
use e2e::{PASSWORD, Product, Proxy, Server, Settings, is_nightly, sized, wait};

use crate::data;

/// A conversation with small, large and very large packets in both directions.
fn conversation(login: &Login, address: &e2e::raw::Address, schema: &str) -> Transcript {
    let login = login.clone().schema(schema);
    let mut conn = RawConn::connect(address, &login).unwrap_or_else(|error| panic!("{error}"));
    conn.run("SELECT 1");
    conn.unrecorded(|conn| conn.run("DROP TABLE IF EXISTS numbers"));
    data::numbers(&mut conn, "numbers", 3000);
    conn.run("SELECT * FROM numbers ORDER BY n");
    conn.query("SELECT nonsense");
    let noise: Vec<u8> = (0u32..70_000)
        .map(|n| u8::try_from(n.wrapping_mul(2_654_435_761) >> 24).unwrap())
        .collect();
    let id = conn.prepare("SELECT ?, REPEAT('z', 50000)").statement();
    conn.execute(&Execute::new(id, &[Param::Bytes(&noise)]));
    let lengths = [PACKET_MAX, PACKET_MAX - 1, PACKET_MAX + 1];
    for &length in &lengths[..sized(1, 3)] {
        let sql = format!("SELECT LENGTH('{}')", "x".repeat(length - 18));
        assert_eq!(conn.value(&sql), (length - 18).to_string());
        conn.run(&format!("SELECT REPEAT('y', {})", length - 4));
    }
    for n in 0..20 {
        conn.run(&format!("SELECT {n}, REPEAT('p', {n}00)"));
    }
    conn.transcript()
}

/// Whether the server sees its connection as compressed.
fn is_compressed(conn: &mut RawConn) -> bool {
    conn.unrecorded(|conn| {
        conn.run("SHOW STATUS LIKE 'Compression'")
            .text(0, 1)
            .unwrap()
    }) == "ON"
}

fn every_combination(product: Product, backends: &[&str], schema: &str) {
    let server = Server::shared(product);
    server.root().run(&format!("CREATE DATABASE {schema}"));
    let plain = Login::app();
    let direct = conversation(&plain, &server.tcp().into(), schema);
    let clients = [
        ("plain", plain.clone()),
        ("zlib", plain.clone().compressed(false)),
        ("zstd", plain.clone().compressed(true)),
        ("zlib over TLS", plain.over_tls().compressed(false)),
    ];
    for backend in backends {
        for backend_tls in ["off", "required"] {
            let settings = Settings::in_front_of([server])
                .set("compression.backend", *backend)
                .set("backend_tls.mode", backend_tls);
            let proxy = Proxy::start(&settings);
            for (name, client) in &clients {
                // It is enough to test every client once with and once without TLS to the backend.
                if (backend_tls == "required") == (*name == "zstd" || *name == "plain") {
                    continue;
                }
                // For each change, only the combinations with a different compression on each side are tested.
                if !is_nightly() && name.starts_with(*backend) {
                    continue;
                }
                let proxied = conversation(client, &proxy.address(), schema);
                direct.assert_same(&proxied, &format!("client {name}, backend {backend}"));
            }
            let compressed = is_compressed(&mut proxy.connect());
            assert_eq!(compressed, *backend != "off", "backend {backend}");
        }
    }
}

#[test]
fn each_side_compresses_on_its_own_with_mariadb() {
    every_combination(Product::MariaDb, &["off", "zlib"], "t_compression");
}

#[test]
fn each_side_compresses_on_its_own_with_mysql() {
    every_combination(Product::MySql, &["off", "zlib", "zstd"], "t_compression");
}

/// Very small frames, which split packets and their headers at any byte.
#[test]
fn packets_may_be_spread_over_frames_at_odd_borders() {
    let proxy = Proxy::start(&Settings::in_front_of([Server::shared(Product::MariaDb)]));
    for zstd in [false, true] {
        for frame_bytes_max in [1, 3, 7, 100] {
            let mut login = Login::app();
            login.compress = Some(Compress {
                zstd,
                frame_bytes_max,
            });
            let mut conn = proxy.connect_as(&login);
            assert_eq!(
                conn.value("SELECT 'through a small window'"),
                "through a small window"
            );
            let id = conn.prepare("SELECT CONCAT(?, '!')").statement();
            let text = "text ".repeat(20);
            let reply = conn.execute(&Execute::new(id, &[Param::Text(&text)]));
            assert!(reply.error().is_none());
        }
    }
}

#[test]
fn compression_can_be_switched_off() {
    let settings = Settings::in_front_of([Server::shared(Product::MySql)]);
    let none: [&str; 0] = [];
    let proxy = Proxy::start(&settings.clone().set("compression.client", none));
    for zstd in [false, true] {
        let login = Login::app().compressed(zstd);
        assert!(RawConn::connect(&proxy.address(), &login).is_err());
    }
    let proxy = Proxy::start(&settings.set("compression.client", ["zstd"]));
    assert!(RawConn::connect(&proxy.address(), &Login::app().compressed(false)).is_err());
    proxy
        .connect_as(&Login::app().compressed(true))
        .run("SELECT 1");
}

/// The proxy is configured for zstd, which this backend does not have. The session works without compression.
#[test]
fn a_backend_without_zstd_is_used_uncompressed() {
    let server = Server::shared(Product::MariaDb);
    let settings = Settings::in_front_of([server]).set("compression.backend", "zstd");
    let proxy = Proxy::start(&settings);
    let mut conn = proxy.connect();
    assert!(!is_compressed(&mut conn));
}

#[test]
fn a_frame_with_a_wrong_length_ends_only_its_own_session() {
    let proxy = Proxy::start(&Settings::in_front_of([Server::shared(Product::MySql)]));
    let mut other = proxy.connect();
    let mut conn = proxy.connect_as(&Login::app());
    conn.run("SELECT 1");
    for zstd in [false, true] {
        let mut conn = proxy.connect_as(&Login::app().compressed(zstd));
        conn.run("SELECT 1");
        // This frame header announces 16 MiB, which the frame does not contain.
        let id = conn.id;
        conn.write_bytes(b"\x05\x00\x00\x00\xFF\xFF\xFFnoise")
            .unwrap();
        assert!(conn.is_closed_by_server());
        let mut root = Server::shared(Product::MySql).root();
        let ask = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
        wait::until("its backend connection is gone", wait::SOON, || {
            root.value(&ask) == "0"
        });
    }
    other.run("SELECT 1");
}

/// The products' own clients.
#[test]
fn the_command_line_clients_compress() {
    for (product, options) in [
        (Product::MariaDb, &["--compress"][..]),
        (Product::MySql, &["--compression-algorithms=zlib"]),
        (
            Product::MySql,
            &[
                "--compression-algorithms=zstd",
                "--zstd-compression-level=7",
            ],
        ),
    ] {
        let proxy = Proxy::start(&Settings::in_front_of([Server::shared(product)]));
        let output = product
            .client()
            .args([
                "--host=127.0.0.1",
                "--user=app",
                "--batch",
                "--skip-column-names",
            ])
            .arg(format!("--password={PASSWORD}"))
            .arg(format!("--port={}", proxy.port()))
            .args(options)
            .args(["-e", "SELECT REPEAT('a', 100000)"])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{options:?}: {errors}\n{}",
            proxy.log_tail()
        );
        assert_eq!(output.stdout.len(), 100_001);
    }
}
