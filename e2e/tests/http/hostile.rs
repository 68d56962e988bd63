//! Hostile requests.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use e2e::http::{Answer, Http};
use e2e::{Product, wait};
use serde_json::json;

use super::{Watched, rows, unserved};

#[test]
fn a_request_with_a_foreign_host_header_is_refused() {
    let watched = Watched::start(unserved().set("http.names", ["proxy.example"]));
    let ask = |host: &str| watched.look().header("host", host).get("/api/tables");
    for host in [
        "localhost",
        "localhost:80",
        "127.0.0.1",
        "[::1]:4042",
        "Proxy.Example:443",
    ] {
        assert_eq!(ask(host).status, 200, "{host}");
    }
    for host in [
        "evil.example",
        "evil.example:4042",
        "10.0.0.1",
        "localhost.evil.example",
        "",
    ] {
        let answer = ask(host);
        assert_eq!(answer.status, 421, "{host}");
        assert!(answer.complaint().contains("http.names"));
    }
    let nameless = "GET /api/tables HTTP/1.1\r\nconnection: close\r\n\r\n";
    let nameless = watched.look().send(nameless.as_bytes()).unwrap();
    assert_eq!(nameless.status, 400);
}

#[test]
fn pages_of_other_sites_cannot_read_answers() {
    let watched = Watched::alone();
    let root = watched.root();
    let evil = root.clone().header("origin", "http://evil.example");
    let statement = json!({"sql": "SELECT 1"});
    assert_eq!(evil.query(&statement).status, 403);
    let fetched = root.clone().header("sec-fetch-site", "cross-site");
    assert_eq!(fetched.get("/api/tables").status, 403);
    // A web page can send this form without a preflight request.
    let form = root.clone().header("content-type", "text/plain");
    let body = statement.to_string();
    assert_eq!(form.ask("POST", "/api/query", Some(&body)).status, 415);
    assert_eq!(root.ask("POST", "/api/query", Some(&body)).status, 415);
    let own = format!("http://127.0.0.1:{}", watched.port);
    let own = root.clone().header("origin", &own);
    assert_eq!(own.query(&statement).status, 200);
    let preflight = evil.ask("OPTIONS", "/api/query", None);
    for answer in [preflight, evil.query(&statement), root.get("/api/tables")] {
        let allows = |(name, _): &(String, String)| name.starts_with("access-control");
        assert!(!answer.headers.iter().any(allows), "{:?}", answer.headers);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

#[test]
fn requests_that_are_too_large_give_an_error() {
    let watched = Watched::start(unserved().set("admin.rows_max", 1000));
    let look = watched.look();
    let body = json!({"sql": " ".repeat(1 << 20)});
    assert_eq!(look.query(&body).status, 413);
    let long = look.clone().header("x-long", &"x".repeat(64 << 10));
    assert_eq!(long.get("/api/tables").status, 431);
    let mut many = look.clone();
    for number in 0..100 {
        many = many.header(&format!("x-{number}"), "x");
    }
    assert_eq!(many.get("/api/tables").status, 431);
    let path = format!("/{}", "x".repeat(64 << 10));
    let status = look.get(&path).status;
    assert!(status == 414 || status == 431, "{status}");
    let so_many = |count: u32| {
        let numbers = format!("SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {count}");
        look.query(&json!({"sql": format!("WITH RECURSIVE n(i) AS ({numbers}) SELECT i FROM n")}))
    };
    assert_eq!(so_many(1000).status, 200);
    let rows = so_many(1001);
    assert_eq!(rows.status, 400);
    assert!(
        rows.complaint().contains("admin.rows_max"),
        "{}",
        rows.text()
    );
    let heavy =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    let slow = Watched::start(unserved().set("admin.timeout_statement", "100ms"));
    let timeout = slow.look().query(&json!({"sql": heavy}));
    assert_eq!(
        (timeout.status, timeout.json()["error"]["code"].as_u64()),
        (503, Some(3024))
    );
}

#[test]
fn garbage_ends_only_its_own_connection() {
    let watched = Watched::alone();
    let refused = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(("127.0.0.1", watched.port)).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        // If the connection was reset, the answer may be lost.
        stream.shutdown(Shutdown::Write).unwrap();
        answer.split("\r\n").next().unwrap_or_default().to_owned()
    };
    for bytes in [
        &b"\x00\x01\x02\r\n\r\n"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api/query HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
    ] {
        assert_eq!(refused(bytes), "HTTP/1.1 400 Bad Request", "{bytes:?}");
    }
    let chunks =
        b"POST /api/query HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n";
    assert_eq!(refused(chunks), "HTTP/1.1 401 Unauthorized");
    let name = b"GET /%zz%00 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Basic bG9vazpzb21l\r\n\r\n";
    assert_eq!(refused(name), "HTTP/1.1 404 Not Found");
    // Bytes that begin like TLS get no answer in plain text.
    for bytes in [&b"\x16\x03\x01\x00\x05hello"[..], b"\x16"] {
        let mut stream = TcpStream::connect(("127.0.0.1", watched.port)).unwrap();
        stream.write_all(bytes).unwrap();
        let _ = stream.shutdown(Shutdown::Write);
        let mut told = Vec::new();
        let _ = stream.read_to_end(&mut told);
        assert!(!told.starts_with(b"HTTP"), "{told:?}");
    }
    assert_eq!(watched.look().get("/api/tables").status, 200);
    watched.proxy.assert_sound();
}

/// Each request has a connection of its own. All are sent at once, several times.
#[test]
fn a_hundred_concurrent_requests_are_answered() {
    let watched = Watched::alone();
    let look = watched.look();
    thread::scope(|scope| {
        for _ in 0..100 {
            let look = &look;
            scope.spawn(move || {
                for _ in 0..5 {
                    let answer = look.get("/api/tables/settings?order=name");
                    assert!(rows(&answer).len() > 50);
                }
            });
        }
    });
    wait::until("they have gone", wait::SOON, || {
        let own = look.get("/api/tables/status?name=Http_connections&columns=value");
        rows(&own) == [json!(["1"])]
    });
}

/// Several requests on one connection. The second one is sent before the first one is answered.
#[test]
fn a_connection_is_used_again() {
    let watched = Watched::alone();
    let mut stream = TcpStream::connect(("127.0.0.1", watched.port)).unwrap();
    let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(2);
    stream.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    for _ in 0..2 {
        assert_eq!(Answer::read(&mut reader).unwrap().text(), "ok\n");
    }
    assert_eq!(Http::new(watched.port).get("/healthz").status, 200);
}

/// A connection that requests the metrics many times and reads next to nothing of the answers.
fn slow_scraper(watched: &Watched) -> TcpStream {
    const SERVED: &[u8] = b"HTTP/1.1 200";
    let request =
        "GET /metrics HTTP/1.1\r\nhost: localhost\r\nauthorization: Basic bG9vazpzb21l\r\n\r\n";
    // The previous connection's place may not be free yet.
    wait::for_some("there is a place", wait::SOON, || {
        let mut stream = TcpStream::connect(("127.0.0.1", watched.port)).unwrap();
        stream.write_all(request.repeat(200).as_bytes()).unwrap();
        let mut told = [0; SERVED.len()];
        stream.read_exact(&mut told).unwrap();
        (told == SERVED).then_some(stream)
    })
}

/// Each slow scraper takes one of the places and delays no other client. The proxy closes a connection that reads
/// nothing for half a minute, or not the whole answer in two: `admin/src/http/patient.rs` has the tests.
#[test]
fn slow_scrapers_delay_no_other_client() {
    const PLACES: i32 = 10;
    let watched = Watched::start(unserved().set("http.connections_max", PLACES));
    let look = watched.look();
    let mut slow: Vec<_> = (1..PLACES).map(|_| slow_scraper(&watched)).collect();
    for _ in 0..50 {
        // The previous connection's place may not be free yet.
        wait::until("it is served", wait::SOON, || {
            look.get("/metrics").status == 200
        });
        for stream in &mut slow {
            stream.read_exact(&mut [0]).unwrap();
        }
    }
    wait::until("the last one is gone", wait::SOON, || {
        let own = look.get("/api/tables/status?name=Http_connections&columns=value");
        own.status == 200 && rows(&own) == [json!([PLACES.to_string()])]
    });
    slow.push(slow_scraper(&watched));
    wait::until("there is no place left", wait::SOON, || {
        look.get("/metrics").status == 503
    });
    drop(slow);
    wait::until("there is room again", wait::SOON, || {
        look.get("/metrics").status == 200
    });
    watched.proxy.assert_sound();
}

/// The requests of an open dashboard, on connections that stay open, while clients work.
#[test]
fn a_hundred_dashboards_delay_no_client() {
    const PAGES: [&str; 7] = [
        "/metrics",
        "/api/tables/backends?rows=objects",
        "/api/tables/pools?rows=objects",
        "/api/tables/sessions?order=-state_seconds&limit=100",
        "/api/tables/digests?order=-total_us&limit=100",
        "/api/tables/lanes",
        "/api/tables/events?order=-id&limit=20",
    ];
    let watched = Watched::pooled(Product::MariaDb);
    thread::scope(|scope| {
        let dashboards: Vec<_> = (0..100)
            .map(|_| {
                scope.spawn(|| {
                    let stream = TcpStream::connect(("127.0.0.1", watched.port)).unwrap();
                    let mut reader = BufReader::new(stream);
                    for page in PAGES.iter().cycle().take(3 * PAGES.len()) {
                        let request = format!(
                            "GET {page} HTTP/1.1\r\nhost: localhost\r\nauthorization: Basic bG9vazpzb21l\r\n\r\n"
                        );
                        reader.get_mut().write_all(request.as_bytes()).unwrap();
                        let answer = Answer::read(&mut reader).unwrap();
                        assert_eq!(answer.status, 200, "{page}: {}", answer.text());
                    }
                })
            })
            .collect();
        let mut client = watched.proxy.connect();
        let mut statements = 0;
        while statements < 100 || dashboards.iter().any(|it| !it.is_finished()) {
            assert_eq!(client.value("SELECT 1"), "1");
            statements += 1;
        }
    });
    wait::until("they have gone", wait::SOON, || {
        let own = watched
            .look()
            .get("/api/tables/status?name=Http_connections&columns=value");
        rows(&own) == [json!(["1"])]
    });
    watched.proxy.assert_sound();
}
