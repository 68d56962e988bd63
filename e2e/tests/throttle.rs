//! Repeated failed logins: they delay their own user only, never past the login's time limit, and block their host if
//! that is configured.

use e2e::raw::{Login, RawConn, command};
use e2e::{PASSWORD, Product, Proxy, Server, Settings, free_port};

fn settings(product: Product) -> Settings {
    Settings::in_front_of([Server::shared(product)])
        .set("workers", 1)
        .account("app", PASSWORD)
        .account_with(
            "web",
            &[
                ("password", &format!("{PASSWORD:?}")),
                ("backend_user", "\"app\""),
                ("backend_password", &format!("{PASSWORD:?}")),
            ],
        )
}

fn fail(proxy: &Proxy, user: &str) {
    let login = Login::with(user, "wrong");
    let refusal = RawConn::connect(&proxy.address(), &login).unwrap_err();
    assert_eq!(refusal.refusal().code, 1045);
}

both! {
    a_host_with_repeated_failed_logins_is_blocked_until_flush_hosts
    failed_logins_of_transparent_sessions_block_their_host
}

fn a_host_with_repeated_failed_logins_is_blocked_until_flush_hosts(product: Product) {
    let port = free_port();
    let settings = settings(product)
        .set("accounts.delay_failures", false)
        .set("limits.connect_errors_max", 3)
        .admin_on(port);
    let proxy = Proxy::start(&settings);
    let admin = |user: &str, password: &str| {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
        RawConn::connect(&address.into(), &Login::with(user, password)).unwrap()
    };
    let (mut root, mut look) = (admin("root", "all"), admin("look", "some"));
    fail(&proxy, "app");
    fail(&proxy, "app");
    // A successful login resets the count.
    let mut before = proxy.connect();
    let shown = "SELECT errors || ':' || blocked FROM host_errors WHERE host = '127.0.0.1'";
    assert!(root.run(shown).texts().is_empty());
    for _ in 0..3 {
        fail(&proxy, "app");
    }
    proxy.wait_event("host_blocked", &["127.0.0.1"]);
    assert_eq!(root.value(shown), "3:1");
    let refusal = RawConn::connect(&proxy.address(), &Login::app()).unwrap_err();
    assert_eq!(refusal.refusal().code, 1129);
    // Open sessions stay.
    before.run("DO 1");
    let denied = look.query("FLUSH HOSTS");
    assert_eq!(denied.error().unwrap().code, 1227);
    root.run("FLUSH HOSTS");
    proxy.connect().run("DO 1");
    // REFRESH_HOSTS, as old clients send it.
    const REFRESH: u8 = 7;
    assert!(root.command(REFRESH, &[8]).error().is_none());
    assert!(root.command(command::PING, b"").error().is_none());
}

fn failed_logins_of_transparent_sessions_block_their_host(product: Product) {
    let settings = Settings::in_front_of([Server::shared(product)])
        .set("workers", 1)
        .set("limits.connect_errors_max", 2);
    let proxy = Proxy::start(&settings);
    fail(&proxy, "app");
    // A missing schema does not count as an error of the host.
    let login = Login::app().schema("no_such_schema");
    assert!(RawConn::connect(&proxy.address(), &login).is_err());
    fail(&proxy, "app");
    proxy.wait_event("host_blocked", &["127.0.0.1"]);
    let refusal = RawConn::connect(&proxy.address(), &Login::app()).unwrap_err();
    assert_eq!(refusal.refusal().code, 1129);
}
