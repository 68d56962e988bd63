//! Logins and access over HTTP: allowed and refused.

use e2e::http::Http;
use e2e::{Certs, Product, Proxy, Server, Settings, free_port, wait};
use serde_json::json;

use super::{LOOK, ROOT, Watched, rows, unserved};

#[test]
fn users_of_the_admin_port_log_in_with_and_without_tls() {
    let watched = Watched::alone();
    for (user, caller) in [("root", watched.root()), ("look", watched.look())] {
        for caller in [caller.clone(), caller.over_tls()] {
            let answer = caller.query(&json!({"sql": "SELECT USER()"}));
            assert_eq!(rows(&answer), [json!([format!("{user}@127.0.0.1")])]);
        }
    }
    let listeners = watched
        .look()
        .get("/api/tables/listeners?purpose=http&rows=objects");
    let address = format!("127.0.0.1:{}", watched.port);
    assert_eq!(rows(&listeners)[0]["address"], address.as_str());
}

#[test]
fn wrong_users_and_passwords_cannot_log_in() {
    let watched = Watched::alone();
    // root:some, look:all, nobody:all, root:, nothing, no base 64
    for shown in [
        "cm9vdDpzb21l",
        "bG9vazphbGw=",
        "bm9ib2R5OmFsbA==",
        "cm9vdDo=",
        "",
        "?",
    ] {
        let caller = watched.stranger().basic(shown);
        for path in [
            "/api/tables",
            "/api/tables/sessions",
            "/api/openapi.json",
            "/nowhere",
        ] {
            let answer = caller.get(path);
            assert_eq!(answer.status, 401, "{path} {shown}");
            assert!(answer.header("www-authenticate").is_some());
        }
    }
    let stranger = watched.stranger();
    assert_eq!(stranger.get("/api/tables").status, 401);
    let bearer = stranger.header("authorization", "Bearer ");
    assert_eq!(bearer.get("/api/tables").status, 401);
    watched.proxy.wait_event("http_login_failed", &[]);
}

#[test]
fn the_token_allows_reading_only() {
    let (port, token) = (free_port(), "0123456789abcdef");
    let address = format!("127.0.0.1:{port}");
    let admin = format!("127.0.0.1:{}", free_port());
    let settings = unserved()
        .set("http.address", [address.as_str()])
        .set("http.token", token)
        .set("admin.address", [admin.as_str()]);
    let proxy = Proxy::start(&settings);
    let caller = Http::new(port).header("authorization", &format!("Bearer {token}"));
    let user = caller.query(&json!({"sql": "SELECT USER()"}));
    assert_eq!(rows(&user), [json!(["token@127.0.0.1"])]);
    let killed = caller.query(&json!({"sql": "KILL 1"}));
    assert_eq!(
        (killed.status, killed.json()["error"]["code"].as_u64()),
        (403, Some(1227))
    );
    let wrong = Http::new(port).header("authorization", "Bearer 0123456789abcdeg");
    assert_eq!(wrong.get("/api/tables").status, 401);
    // The admin port is closed, because there is no account that could use it.
    let purposes = caller.get("/api/tables/listeners?columns=purpose");
    assert_eq!(rows(&purposes), [json!(["clients"]), json!(["http"])]);
    let told = caller.get("/api/tables/settings?name=http.token&columns=value");
    assert!(!told.text().contains(token), "{}", told.text());
    // The first account opens the admin port.
    let settings = settings
        .set("admin.username", "root")
        .set("admin.password", "all");
    proxy.reload(&settings);
    proxy.wait_event("admin_port_open", &[]);
    assert_eq!(Http::new(port).basic(ROOT).get("/api/tables").status, 200);
}

#[test]
fn health_needs_no_login() {
    let watched = Watched::alone();
    let stranger = watched.stranger();
    let lives = stranger.get("/healthz");
    assert_eq!((lives.status, &*lives.text()), (200, "ok\n"));
    wait::until("the backend is down", wait::SOON, || {
        let ready = stranger.get("/readyz");
        ready.status == 503 && ready.text().starts_with("not ready: no backend is usable")
    });
    let served = Watched::pooled(Product::MariaDb);
    // Load balancers may use any host name.
    let stranger = served.stranger().header("host", "10.1.2.3:80");
    wait::until("the backend is up", wait::SOON, || {
        let ready = stranger.get("/readyz");
        (ready.status, &*ready.text()) == (200, "ready\n")
    });
}

#[test]
fn a_proxy_is_not_ready_before_a_probe_has_answered() {
    // The socket accepts connections and sends nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let settings = Settings::default()
        .backend(address)
        .set("health.timeout_connect", "300s");
    let watched = Watched::start(settings);
    let ready = watched.stranger().get("/readyz");
    let reason = format!("not ready: no backend is usable: {address} has not been seen yet\n");
    assert_eq!((ready.status, ready.text()), (503, reason));
    assert_eq!(watched.stranger().get("/healthz").status, 200);
}

#[test]
fn a_proxy_that_stops_is_not_ready_while_a_transaction_ends() {
    for product in [Product::MariaDb, Product::MySql] {
        let settings = Settings::pooled(Server::shared(product), 4).set("timeout_drain", "60s");
        let mut watched = Watched::start(settings);
        let mut conn = watched.proxy.connect();
        conn.run("BEGIN");
        conn.run("SELECT 1");
        let stranger = watched.stranger();
        wait::until("it is ready", wait::SOON, || {
            stranger.get("/readyz").status == 200
        });
        watched.proxy.signal(e2e::Signal::TERM);
        watched.proxy.wait_event("stopping", &[]);
        let ready = stranger.get("/readyz");
        let reason = "not ready: the proxy stops\n".to_owned();
        assert_eq!((ready.status, ready.text()), (503, reason));
        assert_eq!(stranger.get("/healthz").status, 200);
        assert_eq!(conn.value("SELECT 2"), "2");
        conn.run("COMMIT");
        let ended = watched.proxy.process().wait_ended(wait::SOON);
        assert!(ended.success(), "{ended}");
    }
}

/// A proxy may have several clusters, so readiness can be asked for one of them.
#[test]
fn readiness_is_answered_for_the_requested_cluster() {
    let server = Server::lease(Product::MariaDb);
    let settings = Settings::in_front_of([&*server]);
    let monitored = settings
        .clone()
        .set("health.monitor_user", "app")
        .set("health.monitor_password", e2e::PASSWORD)
        .set("health.replication_interval", "50ms");
    let watched = Watched::start(monitored);
    let stranger = watched.stranger();
    let is_told = |query: &str, status: u16, words: &str| {
        let what = format!("{query} is answered with {status}, {words}");
        wait::until(&what, wait::SOON, || {
            let ready = stranger.get(&format!("/readyz{query}"));
            ready.status == status && ready.text().contains(words)
        });
    };
    for query in [
        "",
        "?need=writes",
        "?need=reads&need=monitor",
        "?cluster=main",
    ] {
        is_told(query, 200, "ready");
    }
    for query in ["?need=all", "?needs=writes", "?cluster=elsewhere"] {
        is_told(query, 400, "");
    }
    server.root().run("SET GLOBAL read_only = 1");
    is_told("?need=writes", 503, "read-only");
    is_told("?need=reads", 200, "ready");
    is_told("", 200, "ready");
    drop(watched);
    let watched = Watched::start(settings);
    let stranger = watched.stranger();
    wait::until("the lack of an account is told", wait::SOON, || {
        let told = stranger.get("/readyz?need=monitor");
        told.status == 503 && told.text().contains("health.monitor_user")
    });
}

#[test]
fn connections_have_a_limit() {
    let watched = Watched::start(unserved().set("http.connections_max", 2));
    let hold = || std::net::TcpStream::connect(("127.0.0.1", watched.port)).unwrap();
    let (first, second) = (hold(), hold());
    wait::until("there is no room", wait::SOON, || {
        watched.look().get("/api/tables").status == 503
    });
    drop((first, second));
    wait::until("there is room", wait::SOON, || {
        watched.look().get("/api/tables").status == 200
    });
}

#[test]
fn tls_is_required_if_configured() {
    let own = &Certs::shared().server;
    let demanding = unserved()
        .set("client_tls.mode", "required")
        .set("client_tls.certificate", &own.certificate)
        .set("client_tls.key", &own.key);
    let watched = Watched::start(demanding);
    let refused = watched.look().get("/api/tables");
    assert_eq!(refused.status, 403);
    assert!(
        refused.text().contains("client_tls.mode"),
        "{}",
        refused.text()
    );
    assert_eq!(watched.look().over_tls().get("/api/tables").status, 200);
    let off = Watched::start(unserved().set("client_tls.mode", "off"));
    assert!(
        off.look()
            .over_tls()
            .try_ask("GET", "/healthz", None)
            .is_err()
    );
    assert_eq!(off.look().get("/api/tables").status, 200);
}

#[test]
fn an_admin_port_in_use_does_not_stop_the_proxy() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 4);
    let proxy = Proxy::start(&settings.http_on(port));
    let line = proxy.wait_event("admin_port_failed", &["setting=\"http.address\""]);
    assert!(line.contains(&port.to_string()), "{line}");
    assert_eq!(proxy.connect().value("SELECT 1"), "1");
}

#[test]
fn a_client_with_many_failed_logins_is_delayed() {
    let watched = Watched::alone();
    let wrong = watched.stranger().basic("bG9vazphbGw=");
    for _ in 0..3 {
        assert_eq!(wrong.get("/api/tables").status, 401);
    }
    // The right password is answered with the same delay. Then the failed logins are forgotten.
    assert_eq!(
        watched.stranger().basic(LOOK).get("/api/tables").status,
        200
    );
}

#[test]
fn health_is_answered_if_all_connections_are_in_use() {
    let watched = Watched::start(unserved().set("http.connections_max", 2));
    let hold = || std::net::TcpStream::connect(("127.0.0.1", watched.port)).unwrap();
    let held: Vec<_> = (0..40).map(|_| hold()).collect();
    wait::until("there is no room", wait::SOON, || {
        watched.look().get("/api/tables").status == 503
    });
    for _ in 0..5 {
        let health = watched.stranger().get("/healthz");
        assert_eq!((health.status, &*health.text()), (200, "ok\n"));
    }
    drop(held);
}
