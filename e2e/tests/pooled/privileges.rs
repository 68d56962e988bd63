//! Accounts and privileges that change while connections are pooled: a session that begins after a
//! change has the rights of its account, not those of the connection's login.

use e2e::raw::{Execute, Login, RawConn};
use e2e::{LeasedServer, PASSWORD, Product, Proxy, Server, Settings, wait};

const INSERT: &str = "INSERT INTO d.t VALUES (1)";

/// The error for a missing privilege, on MariaDB and MySQL alike.
const DENIED: u16 = 1142;

struct Site {
    proxy: Proxy,
    // Dropped after the proxy, because the next test then gets the server.
    server: LeasedServer,
}

impl Site {
    fn start(product: Product, login_age_max: &str) -> Self {
        let server = Server::lease(product);
        let mut root = server.root();
        root.run("CREATE DATABASE d");
        root.run("CREATE TABLE d.t (n INT)");
        root.run(&format!("CREATE USER user1 IDENTIFIED BY '{PASSWORD}'"));
        root.run("GRANT SELECT ON *.* TO user1");
        let settings = Settings::in_front_of([&*server])
            .set("workers", 2)
            .set("pool.backend_connections_max", 8)
            .set("pool.opens_per_second", 1000)
            .set("pool.opens_burst", 100)
            .set("pool.login_age_max", login_age_max)
            .account("app", PASSWORD)
            .account("user1", PASSWORD);
        let proxy = Proxy::start(&settings);
        Self { server, proxy }
    }

    fn admin(&self) -> RawConn {
        self.proxy.connect()
    }

    fn user(&self) -> RawConn {
        self.proxy.connect_as(&Login::user("user1"))
    }

    /// Asserts the result of a statement in new sessions on both workers.
    #[track_caller]
    fn assert_new_sessions(&self, sql: &str, wanted: Option<u16>, when: &str) {
        let mut sessions: Vec<RawConn> = (0..6).map(|_| self.user()).collect();
        for conn in &mut sessions {
            let reply = conn.query(sql);
            assert_eq!(
                reply.error().map(|error| error.code),
                wanted,
                "{when}: {reply:?}"
            );
        }
    }
}

both! {
    changed_privileges_hold_for_sessions_to_come
    a_connection_in_use_is_not_given_to_others_after_a_change
    privileges_that_were_changed_on_the_server_hold_after_a_time
    a_session_that_changes_its_own_password_continues
}

fn changed_privileges_hold_for_sessions_to_come(product: Product) {
    let site = Site::start(product, "1h");
    let mut admin = site.admin();
    site.assert_new_sessions("SELECT * FROM d.t", None, "at first");
    site.assert_new_sessions(INSERT, Some(DENIED), "at first");
    for (change, wanted) in [
        ("GRANT INSERT ON *.* TO user1", None),
        ("REVOKE INSERT ON *.* FROM user1", Some(DENIED)),
        ("SELECT 1; GRANT INSERT ON *.* TO user1", None),
        ("DROP USER user1", Some(1045)),
    ] {
        admin.run(change);
        site.assert_new_sessions(INSERT, wanted, change);
    }
    // The account is created again, with fewer privileges.
    let create = format!("CREATE USER user1 IDENTIFIED BY '{PASSWORD}'");
    let prepared = admin.prepare(&create);
    match prepared.error() {
        None => drop(admin.execute(&Execute::new(prepared.statement(), &[]))),
        Some(_) => drop(admin.run(&create)),
    }
    site.assert_new_sessions("SELECT * FROM d.t", Some(DENIED), "created anew");
    admin.run("GRANT SELECT ON *.* TO user1");
    site.assert_new_sessions("SELECT * FROM d.t", None, "granted again");
    admin.run("ALTER USER user1 ACCOUNT LOCK");
    let locked = if product.is_mariadb() { 4151 } else { 3118 };
    site.assert_new_sessions("SELECT * FROM d.t", Some(locked), "locked");
    admin.run("ALTER USER user1 ACCOUNT UNLOCK");
    site.assert_new_sessions("SELECT * FROM d.t", None, "unlocked");
    admin.run("CREATE ROLE reader");
    admin.run("GRANT INSERT ON *.* TO reader");
    admin.run("GRANT reader TO user1");
    let default = match product.is_mariadb() {
        true => "SET DEFAULT ROLE reader FOR user1",
        false => "SET DEFAULT ROLE reader TO user1",
    };
    admin.run(default);
    site.assert_new_sessions(INSERT, None, default);
    admin.run("REVOKE INSERT ON *.* FROM reader");
    site.assert_new_sessions(INSERT, Some(DENIED), "by a role");
    // If the privilege tables are changed by SQL, FLUSH PRIVILEGES makes the changes effective.
    let table = if product.is_mariadb() {
        "global_priv"
    } else {
        "user"
    };
    admin.run(&format!("DELETE FROM mysql.{table} WHERE User = 'user1'"));
    admin.run("FLUSH PRIVILEGES");
    site.assert_new_sessions(INSERT, Some(1045), "flushed");
}

fn a_connection_in_use_is_not_given_to_others_after_a_change(product: Product) {
    let site = Site::start(product, "1h");
    let mut admin = site.admin();
    let mut holders: Vec<RawConn> = (0..4).map(|_| site.user()).collect();
    for conn in &mut holders {
        conn.run("BEGIN");
        conn.run("SELECT * FROM d.t");
    }
    admin.run("GRANT INSERT ON *.* TO user1");
    for conn in &mut holders {
        conn.run("COMMIT");
    }
    site.assert_new_sessions(INSERT, None, "granted while they were held");
    for conn in &mut holders {
        conn.run(INSERT);
    }
}

fn privileges_that_were_changed_on_the_server_hold_after_a_time(product: Product) {
    let site = Site::start(product, "1s");
    let mut root = site.server.root();
    let mut user = site.user();
    for (change, wanted) in [
        ("GRANT INSERT ON *.* TO user1", None),
        ("REVOKE INSERT ON *.* FROM user1", Some(DENIED)),
    ] {
        user.query(INSERT);
        root.run(change);
        wait::until(change, wait::SOON, || {
            user.query(INSERT).error().map(|error| error.code) == wanted
        });
    }
}

fn a_session_that_changes_its_own_password_continues(product: Product) {
    let site = Site::start(product, "1h");
    let mut user = site.user();
    let change = match product.is_mariadb() {
        true => "SET PASSWORD = PASSWORD('another')",
        false => "SET PASSWORD = 'another'",
    };
    user.run(change);
    user.run("SELECT * FROM d.t");
    if !product.is_mariadb() {
        user.run("ALTER USER CURRENT_USER() IDENTIFIED BY 'a third'");
        user.run("SELECT * FROM d.t");
    }
    // No other session gets its connection, nor one that logged in before the change.
    user.quit();
    site.assert_new_sessions("SELECT * FROM d.t", Some(1045), change);
}
