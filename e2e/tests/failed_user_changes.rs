//! A COM_CHANGE_USER that fails: which error the client gets, and whether the session continues, as which user and in
//! which schema. A pooled session behaves like a session of a server.

use e2e::raw::{Login, RawConn};
use e2e::{LeasedServer, PASSWORD, Product, Proxy, Server, Settings};

/// Failing changes of user: the reason, and the login.
fn cases() -> Vec<(&'static str, Login)> {
    let long = "x".repeat(200);
    vec![
        ("a wrong password", Login::with("other", "wrong")),
        ("no password", Login::with("other", "")),
        ("no account", Login::with("nobody_at_all", "wrong")),
        ("a locked account", Login::user("locked")),
        (
            "an unknown schema",
            Login::user("changed").schema("no_such_schema"),
        ),
        (
            "a schema that the account may not use",
            Login::user("changed").schema("forbidden"),
        ),
        ("a user name that is too long", Login::with(&long, PASSWORD)),
        ("an account that is over its limit", Login::user("limited")),
        (
            "an account that is over its limit, with a schema",
            Login::user("limited").schema("used"),
        ),
    ]
}

fn server(product: Product) -> LeasedServer {
    let server = Server::lease(product);
    let mut root = server.root();
    for schema in ["used", "forbidden"] {
        root.run(&format!("CREATE DATABASE {schema}"));
    }
    for (user, more) in [
        ("changed", ""),
        ("limited", "WITH MAX_CONNECTIONS_PER_HOUR 1"),
        ("locked", "ACCOUNT LOCK"),
    ] {
        root.run(&format!(
            "CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}' {more}"
        ));
        root.run(&format!("GRANT ALL ON used.* TO {user}@'%'"));
    }
    server
}

fn learning(server: &Server) -> Settings {
    Settings::in_front_of([server])
        .set("workers", 1)
        .set("routing.session", "statement")
        .set("backend_tls.mode", "preferred")
        .set("accounts.learn", true)
        .set("accounts.delay_failures", false)
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD)
}

/// The result of a change of user, and the state of the session after it.
fn outcome(mut conn: RawConn, login: &Login) -> String {
    conn.run("SET @mine = 1");
    conn.run("CREATE TEMPORARY TABLE used.mine (n INT)");
    let error = conn.change_user(login).unwrap_err();
    let asked = "SELECT CONCAT_WS(' ', CURRENT_USER(), DATABASE(), @mine)";
    let Ok(session) = conn.try_query(asked) else {
        return format!("{error}; then the connection is closed");
    };
    let session = session.text(0, 0);
    let table = conn.query("SELECT * FROM used.mine");
    let table = table.error().map(|error| error.code);
    let again = match conn.change_user(&Login::user("changed").schema("used")) {
        Ok(()) => conn.value("SELECT CONCAT_WS(' ', CURRENT_USER(), DATABASE())"),
        Err(failure) => failure.to_string(),
    };
    format!("{error}; then {session:?}, its table {table:?}; then {again}")
}

both! { a_change_of_user_that_fails_leaves_or_ends_the_session_as_a_server_does }

fn a_change_of_user_that_fails_leaves_or_ends_the_session_as_a_server_does(product: Product) {
    let server = server(product);
    let limited = Login::user("limited").over_tls();
    let _used = RawConn::connect(&server.tcp().into(), &limited).unwrap();
    let proxy = Proxy::start(&learning(&server));
    proxy.wait_event("accounts_learned", &[]);
    let login = Login::app().schema("used").over_tls();
    let mut differ = Vec::new();
    for (why, wanted) in cases() {
        let direct = RawConn::connect(&server.tcp().into(), &login).unwrap();
        let direct = outcome(direct, &wanted);
        let pooled = RawConn::connect(&proxy.address(), &login).unwrap();
        let pooled = outcome(pooled, &wanted);
        println!("{why}: {direct}");
        if direct != pooled {
            differ.push(format!("{why}\n  direct: {direct}\n  pooled: {pooled}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
