//! An account's limits on the server: whichever step of the proxy exceeds a limit, the client gets the server's error.

use e2e::raw::{Login, RawConn};
use e2e::{PASSWORD, Product, Proxy, Server, Settings};

/// The first error of a client that connects and runs a few statements.
fn first_error(proxy: &Proxy) -> Option<u16> {
    (0..8).find_map(
        |_| match RawConn::connect(&proxy.address(), &Login::user("limited")) {
            Ok(mut conn) => conn.query("SELECT 1").error().map(|error| error.code),
            Err(failure) => Some(failure.refusal().code),
        },
    )
}

both! {
    an_account_limit_gives_the_servers_error_message
    an_account_limit_in_an_open_session_gives_the_servers_error_message
}

fn an_account_limit_gives_the_servers_error_message(product: Product) {
    let server = Server::lease(product);
    let mut root = server.root();
    root.run(&format!(
        "CREATE USER limited@'%' IDENTIFIED BY '{PASSWORD}'"
    ));
    root.run("GRANT SELECT ON *.* TO limited@'%'");
    let settings = Settings::in_front_of([&*server])
        .set("workers", 1)
        .set("routing.session", "statement")
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

/// The error that a session gets after some statements that have succeeded. The session stays open.
fn error_within(conn: &mut RawConn, statement: &str) -> String {
    assert!(conn.query(statement).error().is_none());
    let mut tries = (0..100).map(|_| conn.query(statement).error().map(ToString::to_string));
    let error = tries.find_map(|error| error).expect("there is a limit");
    let again = conn.query(statement).error().map(ToString::to_string);
    assert_eq!(again.as_ref(), Some(&error));
    error
}

/// The session has set a variable, so the proxy has to send statements of its own when it uses a connection of another
/// session.
fn an_account_limit_in_an_open_session_gives_the_servers_error_message(product: Product) {
    let server = Server::lease(product);
    let mut root = server.root();
    root.run("CREATE DATABASE d");
    root.run("CREATE TABLE d.t (n INT)");
    for (user, limit, statement) in [
        ("asks", "MAX_QUERIES_PER_HOUR 30", "SELECT 1"),
        (
            "writes",
            "MAX_UPDATES_PER_HOUR 3",
            "INSERT INTO d.t VALUES (1)",
        ),
    ] {
        root.run(&format!(
            "CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}' WITH {limit}"
        ));
        root.run(&format!("GRANT ALL ON d.* TO {user}@'%'"));
        let settings = Settings::in_front_of([&*server])
            .set("workers", 1)
            .set("routing.session", "statement")
            .set("pool.backend_connections_max", 1)
            .set("backend_tls.mode", "preferred")
            .account(user, PASSWORD);
        let proxy = Proxy::start(&settings);
        let login = Login::user(user);
        let mut pooled = proxy.connect_as(&login);
        pooled.run("SET sql_mode = 'ANSI'");
        let mut other = proxy.connect_as(&login);
        other.run("SET sql_mode = ''");
        let told = error_within(&mut pooled, statement);
        let of_other = other.query(statement).error().map(ToString::to_string);
        assert_eq!(of_other.as_ref(), Some(&told));
        let mut direct = RawConn::connect(&server.tcp().into(), &login.clone().over_tls()).unwrap();
        let direct = direct.query(statement).error().map(ToString::to_string);
        assert_eq!(direct, Some(told));
    }
}
