//! An account's limits on the server: whichever of the proxy's steps meets one, the client hears the server's error.

use e2e::raw::{Login, RawConn};
use e2e::{PASSWORD, Product, Proxy, Server, Settings};

/// The first error of a client that connects and asks a few times.
fn first_error(proxy: &Proxy) -> Option<u16> {
    (0..8).find_map(
        |_| match RawConn::connect(&proxy.address(), &Login::user("limited")) {
            Ok(mut conn) => conn.query("SELECT 1").error().map(|error| error.code),
            Err(failure) => Some(failure.refusal().code),
        },
    )
}

both! { a_limit_of_an_account_is_told_in_the_servers_words }

fn a_limit_of_an_account_is_told_in_the_servers_words(product: Product) {
    let server = Server::start(product, &[]);
    let mut root = server.root();
    root.run(&format!(
        "CREATE USER limited@'%' IDENTIFIED BY '{PASSWORD}'"
    ));
    root.run("GRANT SELECT ON *.* TO limited@'%'");
    let settings = Settings::in_front_of([&server])
        .set("workers", 1)
        .set("pool.session", "statement")
        .set("backend_tls.mode", "preferred")
        .account("limited", PASSWORD);
    for limit in [
        "MAX_QUERIES_PER_HOUR 1 MAX_CONNECTIONS_PER_HOUR 0",
        "MAX_QUERIES_PER_HOUR 0 MAX_CONNECTIONS_PER_HOUR 1",
    ] {
        root.run(&format!("ALTER USER limited@'%' WITH {limit}"));
        let proxy = Proxy::start(&settings);
        if limit.ends_with('1') {
            let _used = RawConn::connect(&server.tcp().into(), &Login::user("limited").over_tls());
            let _used = RawConn::connect(&server.tcp().into(), &Login::user("limited").over_tls());
        }
        assert_eq!(first_error(&proxy), Some(1226), "{limit}");
    }
}
