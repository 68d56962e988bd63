//! Accounts learned from the servers' grant tables (D7): an account of the servers may log in to the proxy, and a
//! change of the account applies from the next login on, 2 s later at most.

use e2e::raw::{Login, RawConn};
use e2e::{PASSWORD, Product, Proxy, Server, Settings, wait};

/// Ids of sessions whose logins the proxy has answered begin here.
const OWN_IDS: u32 = 1 << 30;

/// A proxy that learns accounts at its start, and later when a login needs it.
fn learning(server: &Server) -> Proxy {
    let proxy = Proxy::start(&settings(server));
    proxy.wait_event("accounts_learned", &[]);
    proxy
}

fn settings(server: &Server) -> Settings {
    Settings::in_front_of([server])
        .set("accounts.learn", true)
        .set("accounts.learn_interval", "1h")
        .set("accounts.delay_failures", false)
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD)
}

/// The proxy does not repeat a query for accounts within a second, so the first logins may fail.
fn log_in(proxy: &Proxy, user: &str, password: &str) -> RawConn {
    let login = Login::with(user, password);
    let mut conn = wait::for_some("the account is known", wait::SOON, || {
        RawConn::connect(&proxy.address(), &login).ok()
    });
    assert!(conn.id >= OWN_IDS, "its login was passed through");
    assert_eq!(conn.value("SELECT CURRENT_USER()"), format!("{user}@%"));
    conn
}

fn refused(proxy: &Proxy, user: &str, password: &str) {
    let login = Login::with(user, password);
    let refusal = RawConn::connect(&proxy.address(), &login)
        .unwrap_err()
        .refusal();
    assert_eq!((refusal.code, &*refusal.state), (1045, "28000"), "{user}");
}

/// The proxy refuses the login at most 2 s after the change.
fn await_refused(proxy: &Proxy, user: &str, password: &str) {
    let login = Login::with(user, password);
    wait::until("the login is refused", wait::SOON, || {
        RawConn::connect(&proxy.address(), &login).is_err()
    });
    refused(proxy, user, password);
}

both! {
    changes_of_an_account_count_from_the_next_login_on
    sessions_of_a_dropped_account_end_if_that_is_configured
}

/// The test has no failed login in front of the change, so the proxy decides by the account that it knows.
fn changes_of_an_account_count_from_the_next_login_on(product: Product) {
    let server = Server::lease(product);
    let mut root = server.root();
    root.run("CREATE USER walker@'%' IDENTIFIED BY 'first'");
    let proxy = learning(&server);
    log_in(&proxy, "walker", "first");
    let told = |login: &Login| match RawConn::connect(&proxy.address(), login) {
        Ok(_) => None,
        Err(failure) => Some(failure.refusal().to_string()),
    };
    let login = Login::with("walker", "first");
    let direct = || RawConn::connect(&server.tcp().into(), &login.clone().over_tls());
    root.run("ALTER USER walker@'%' ACCOUNT LOCK");
    let refusal = direct().unwrap_err().refusal().to_string();
    wait::until("it is locked", wait::SOON, || {
        told(&login).as_ref() == Some(&refusal)
    });
    root.run("ALTER USER walker@'%' ACCOUNT UNLOCK");
    wait::until("it is unlocked", wait::SOON, || told(&login).is_none());
    root.run("ALTER USER walker@'%' IDENTIFIED BY 'second'");
    await_refused(&proxy, "walker", "first");
    log_in(&proxy, "walker", "second");
    root.run("DROP USER walker@'%'");
    await_refused(&proxy, "walker", "second");
    root.run("CREATE USER walker@'%' IDENTIFIED BY 'third'");
    log_in(&proxy, "walker", "third");
}

fn sessions_of_a_dropped_account_end_if_that_is_configured(product: Product) {
    let server = Server::lease(product);
    let mut root = server.root();
    for ends in [false, true] {
        root.run("CREATE USER walker@'%' IDENTIFIED BY 'first'");
        root.run("CREATE USER stays@'%' IDENTIFIED BY 'first'");
        let settings = settings(&server).set("accounts.end_dropped_sessions", ends);
        let proxy = Proxy::start(&settings);
        proxy.wait_event("accounts_learned", &[]);
        let mut running = log_in(&proxy, "walker", "first");
        let mut other = log_in(&proxy, "stays", "first");
        // A changed password does not count as a dropped account.
        root.run("ALTER USER stays@'%' IDENTIFIED BY 'second'");
        log_in(&proxy, "stays", "second");
        root.run("DROP USER walker@'%'");
        await_refused(&proxy, "walker", "first");
        match ends {
            true => assert!(running.is_closed_by_server()),
            false => {
                let reply = running.command(e2e::raw::command::PING, b"");
                assert!(reply.error().is_none());
            }
        }
        let reply = other.command(e2e::raw::command::PING, b"");
        assert!(reply.error().is_none());
        root.run("DROP USER stays@'%'");
    }
}

fn a_changed_password_is_known_with_the_next_login(product: Product) {
    let server = Server::lease(product);
    let mut root = server.root();
    root.run("CREATE USER walker@'%' IDENTIFIED BY 'the first'");
    let proxy = learning(&server);
    let mut before = log_in(&proxy, "walker", "the first");
    for password in ["the second", "the third"] {
        root.run(&format!("ALTER USER walker@'%' IDENTIFIED BY '{password}'"));
        log_in(&proxy, "walker", password);
        // Once more, with the account that the proxy knows now.
        log_in(&proxy, "walker", password);
        await_refused(&proxy, "walker", "the first");
        refused(&proxy, "walker", "no such password");
        refused(&proxy, "walker", "");
    }
    root.run("ALTER USER walker@'%' IDENTIFIED BY ''");
    log_in(&proxy, "walker", "");
    before.run("SELECT 'still there'");
}

#[test]
fn a_changed_password_is_known_with_the_next_login_to_mariadb() {
    a_changed_password_is_known_with_the_next_login(Product::MariaDb);
}

#[test]
fn a_changed_password_is_known_with_the_next_login_to_mysql() {
    a_changed_password_is_known_with_the_next_login(Product::MySql);
}

#[test]
fn a_new_account_is_known_with_its_first_login_and_a_dropped_one_is_not() {
    for product in [Product::MariaDb, Product::MySql] {
        let server = Server::lease(product);
        let mut root = server.root();
        let proxy = learning(&server);
        refused(&proxy, "newcomer", "his password");
        root.run("CREATE USER newcomer@'%' IDENTIFIED BY 'his password'");
        log_in(&proxy, "newcomer", "his password").quit();
        root.run("DROP USER newcomer@'%'");
        refused(&proxy, "newcomer", "another password");
        await_refused(&proxy, "newcomer", "his password");
    }
}
