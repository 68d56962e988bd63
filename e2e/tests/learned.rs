//! Accounts learned from the servers' grant tables (D7): whoever may log in there may log in here, and
//! what changes there is known here when it is first needed.

use std::time::{Duration, Instant};

use e2e::raw::{Login, RawConn};
use e2e::{PASSWORD, Product, Proxy, Server, Settings, wait};

/// Ids of sessions whose logins the proxy has answered begin here.
const OWN_IDS: u32 = 1 << 30;

/// How long the proxy has a login wait for accounts to be learned anew.
const TIMEOUT_LEARN: Duration = Duration::from_secs(5);

/// A proxy that learns at its start, and after that when it has to.
fn learning(server: &Server) -> Proxy {
    let settings = Settings::in_front_of([server])
        .set("accounts.learn", true)
        .set("accounts.learn_interval", "1h")
        .set("accounts.delay_failures", false)
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD);
    let proxy = Proxy::start(&settings);
    proxy.wait_event("accounts_learned", &[]);
    proxy
}

/// Where a stalling machine learns too late for a login, the next one is let in; none is refused sooner.
fn log_in(proxy: &Proxy, user: &str, password: &str) -> RawConn {
    let login = Login::with(user, password);
    let mut conn = wait::for_some("accounts are learned in time", wait::SOON, || {
        let began = Instant::now();
        match RawConn::connect(&proxy.address(), &login) {
            Ok(conn) => Some(conn),
            Err(error) => {
                // A shortest time, which a slow machine keeps as well.
                assert!(began.elapsed() >= TIMEOUT_LEARN, "{user}: {error}");
                None
            }
        }
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

fn a_changed_password_is_known_with_the_next_login(product: Product) {
    let server = Server::start(product, &[]);
    let mut root = server.root();
    root.run("CREATE USER walker@'%' IDENTIFIED BY 'the first'");
    let proxy = learning(&server);
    let mut before = log_in(&proxy, "walker", "the first");
    for password in ["the second", "the third"] {
        root.run(&format!("ALTER USER walker@'%' IDENTIFIED BY '{password}'"));
        log_in(&proxy, "walker", password);
        // Once more, with what is known now.
        log_in(&proxy, "walker", password);
        refused(&proxy, "walker", "the first");
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
        let server = Server::start(product, &[]);
        let mut root = server.root();
        let proxy = learning(&server);
        refused(&proxy, "newcomer", "his password");
        root.run("CREATE USER newcomer@'%' IDENTIFIED BY 'his password'");
        log_in(&proxy, "newcomer", "his password").quit();
        root.run("DROP USER newcomer@'%'");
        refused(&proxy, "newcomer", "another password");
        // It has waited for that, but no longer than a login does.
        wait::until("the dropped one is not known", wait::SOON, || {
            RawConn::connect(&proxy.address(), &Login::with("newcomer", "his password")).is_err()
        });
        refused(&proxy, "newcomer", "his password");
    }
}
