//! Global variables that change while connections are pooled: a session that begins after a change has the
//! new values, and a session that began before keeps its own.

use e2e::raw::{Execute, Login, RawConn};
use e2e::{LeasedServer, PASSWORD, Product, Proxy, Server, Settings, wait};

/// Sessions that begin at once: enough to use idle connections of both workers.
const SESSIONS: usize = 6;

const LENGTH: &str = "SELECT @@group_concat_max_len";

/// A way to set the variable to a number.
type Form = dyn Fn(&mut RawConn, u32);

struct Site {
    proxy: Proxy,
    // Dropped after the proxy, because the next test then gets the server.
    server: LeasedServer,
}

impl Site {
    fn start(product: Product, lanes: &str) -> Self {
        let server = Server::lease(product);
        let mut root = server.root();
        root.run("CREATE DATABASE d");
        root.run(&format!("CREATE USER user1 IDENTIFIED BY '{PASSWORD}'"));
        root.run("GRANT SELECT ON *.* TO user1");
        let settings = Settings::in_front_of([&*server])
            .set("workers", 2)
            .set("routing.lanes", lanes)
            .set("pool.backend_connections_max", 8)
            .set("pool.opens_per_second", 1000)
            .set("pool.opens_burst", 100)
            .set("pool.login_age_max", "1h")
            .account("app", PASSWORD)
            .account("user1", PASSWORD);
        let proxy = Proxy::start(&settings);
        Self { server, proxy }
    }

    fn begin(&self) -> Vec<RawConn> {
        let user = Login::user("user1");
        (0..SESSIONS)
            .map(|_| self.proxy.connect_as(&user))
            .collect()
    }

    /// The values in sessions that begin now. The sessions leave connections in the pool.
    #[track_caller]
    fn assert_new_sessions(&self, sql: &str, wanted: &str, when: &str) {
        assert_all(&mut self.begin(), sql, wanted, when);
    }
}

#[track_caller]
fn assert_all(sessions: &mut [RawConn], sql: &str, wanted: &str, when: &str) {
    for conn in sessions {
        assert_eq!(conn.value(sql), wanted, "{when}");
    }
}

both! {
    each_form_of_set_global_reaches_new_sessions
    a_temporary_set_global_does_not_stay_in_connections
    new_sessions_inherit_set_global
    a_set_global_on_the_server_reaches_new_sessions_after_a_time
    a_reset_or_change_of_user_gives_the_new_global_values
}

fn each_form_of_set_global_reaches_new_sessions(product: Product) {
    for lanes in ["off", "reads"] {
        let site = Site::start(product, lanes);
        let mut admin = site.proxy.connect();
        let mut own = admin.value(LENGTH);
        let at_first = own.clone();
        let mut before = site.begin();
        assert_all(&mut before, LENGTH, &at_first, "at first");
        let mut length = 2000;
        let mut next = |conn: &mut RawConn, change: &Form| {
            length += 1;
            change(conn, length);
            length.to_string()
        };
        let mut forms: Vec<&Form> = vec![
            &|conn, it| drop(conn.run(&format!("SET GLOBAL group_concat_max_len = {it}"))),
            &|conn, it| drop(conn.run(&format!("set @@global.group_concat_max_len := {it}"))),
            &|conn, it| {
                let multi = format!("SELECT 1; SET GLOBAL group_concat_max_len = {it}; SELECT 2");
                drop(conn.run(&multi));
            },
            &|conn, it| {
                let set = format!("PREPARE s FROM 'SET GLOBAL group_concat_max_len = {it}'");
                conn.run(&set);
                conn.run("EXECUTE s");
            },
            &|conn, it| {
                let set = format!("SET GLOBAL group_concat_max_len = {it}");
                let prepared = conn.prepare(&set);
                let reply = conn.execute(&Execute::new(prepared.statement(), &[]));
                assert!(reply.error().is_none(), "{reply:?}");
            },
            &|conn, it| {
                conn.run("BEGIN");
                conn.run(&format!("SET GLOBAL group_concat_max_len = {it}"));
                conn.run("COMMIT");
            },
        ];
        match product.is_mariadb() {
            true => forms.push(&|conn, it| {
                let set = format!("EXECUTE IMMEDIATE 'SET GLOBAL group_concat_max_len = {it}'");
                drop(conn.run(&set));
            }),
            false => forms.push(&|conn, it| {
                drop(conn.run(&format!("SET PERSIST group_concat_max_len = {it}")));
            }),
        }
        for (at, form) in forms.iter().enumerate() {
            let when = format!("form {at}, lanes {lanes}");
            let mut between = site.begin();
            let value = next(&mut admin, form);
            site.assert_new_sessions(LENGTH, &value, &when);
            assert_all(&mut between, LENGTH, &own, &when);
            assert_all(&mut before, LENGTH, &at_first, &when);
            assert_eq!(admin.value(LENGTH), at_first, "its own session: {when}");
            own = value;
        }
    }
}

fn a_temporary_set_global_does_not_stay_in_connections(product: Product) {
    let site = Site::start(product, "reads");
    let mut admin = site.proxy.connect();
    let at_first = admin.value(LENGTH);
    admin.run("SET GLOBAL group_concat_max_len = 2000");
    let mut meanwhile = site.begin();
    for conn in &mut meanwhile {
        conn.run("BEGIN");
        assert_eq!(conn.value(LENGTH), "2000");
    }
    admin.run(&format!("SET GLOBAL group_concat_max_len = {at_first}"));
    for conn in &mut meanwhile {
        conn.run("COMMIT");
    }
    site.assert_new_sessions(LENGTH, &at_first, "taken back");
    assert_all(&mut meanwhile, LENGTH, "2000", "begun meanwhile");
    meanwhile.clear();
    site.assert_new_sessions(LENGTH, &at_first, "sessions of meanwhile have left");
}

fn new_sessions_inherit_set_global(product: Product) {
    let site = Site::start(product, "reads");
    let mut variables = vec![
        ("sql_mode", "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'"),
        ("time_zone", "'+03:00'"),
        ("character_set_server", "'latin1'"),
        ("transaction_isolation", "'SERIALIZABLE'"),
        ("wait_timeout", "4321"),
        ("autocommit", "0"),
        ("default_storage_engine", "'MyISAM'"),
        ("lc_time_names", "'de_DE'"),
        ("foreign_key_checks", "0"),
        ("max_allowed_packet", "2097152"),
    ];
    if product.is_mariadb() {
        variables.push(("enforce_storage_engine", "'Aria'"));
        variables.retain(|(name, _)| *name != "transaction_isolation");
        variables.push(("tx_isolation", "'SERIALIZABLE'"));
    }
    for (name, value) in variables {
        let mut admin = site.proxy.connect();
        let ask = format!("SELECT @@{name}");
        let global = format!("SELECT @@global.{name}");
        let of_admin = admin.query(&ask).texts();
        let mut before = site.begin();
        let was = before[0].query(&ask).texts();
        let held = admin.query(&global).texts();
        admin.run(&format!("SET GLOBAL {name} = {value}"));
        let direct = site.server.root().query(&ask).texts();
        assert_ne!(was, direct, "{name}");
        for conn in &mut site.begin() {
            assert_eq!(conn.query(&ask).texts(), direct, "a new session: {name}");
        }
        // The proxy cannot restore a session's former value of this variable.
        if name != "max_allowed_packet" {
            assert_eq!(admin.query(&ask).texts(), of_admin, "its own: {name}");
            // A session without privileges cannot restore its former value, and gets the new one.
            let is_privileged = name == "enforce_storage_engine";
            for conn in before.iter_mut().filter(|_| !is_privileged) {
                assert_eq!(
                    conn.query(&ask).texts(),
                    was,
                    "a session from before: {name}"
                );
            }
        }
        let back = match held.first().and_then(|row| row.first()).map(String::as_str) {
            None | Some("NULL" | "") => "DEFAULT".to_owned(),
            Some(number) if number.bytes().all(|it| it.is_ascii_digit()) => number.to_owned(),
            Some(text) => format!("'{text}'"),
        };
        admin.run(&format!("SET GLOBAL {name} = {back}"));
        for conn in &mut site.begin() {
            assert_eq!(conn.query(&ask).texts(), was, "taken back: {name}");
        }
    }
}

fn a_set_global_on_the_server_reaches_new_sessions_after_a_time(product: Product) {
    let site = Site::start(product, "reads");
    let mut root = site.server.root();
    let mut before = site.proxy.connect();
    let at_first = before.value(LENGTH);
    root.run("CREATE PROCEDURE d.p() SET GLOBAL group_concat_max_len = 3000");
    root.run("SET GLOBAL group_concat_max_len = 2000");
    let sees = |wanted: &str| {
        let mut conn = site.proxy.connect();
        let seen = conn.value(LENGTH);
        conn.quit();
        seen == wanted
    };
    wait::until("SET GLOBAL past the proxy", wait::SOON, || sees("2000"));
    assert_eq!(before.value(LENGTH), at_first);
    before.run("CALL d.p()");
    wait::until("SET GLOBAL in a procedure", wait::SOON, || sees("3000"));
    assert_eq!(before.value(LENGTH), at_first);
}

fn a_reset_or_change_of_user_gives_the_new_global_values(product: Product) {
    let site = Site::start(product, "reads");
    let mut admin = site.proxy.connect();
    let mut resets = site.proxy.connect();
    let mut changes = site.proxy.connect();
    let at_first = resets.value(LENGTH);
    assert_eq!(changes.value(LENGTH), at_first);
    admin.run("SET GLOBAL group_concat_max_len = 2000");
    assert_eq!(resets.value(LENGTH), at_first);
    resets.command(0x1f, b"");
    changes
        .change_user(&Login::app())
        .expect("the account is known");
    assert_eq!(resets.value(LENGTH), "2000");
    assert_eq!(changes.value(LENGTH), "2000");
    // Within a transaction, the session's own connection is reset.
    resets.run("BEGIN");
    admin.run("SET GLOBAL group_concat_max_len = 3000");
    assert_eq!(resets.value(LENGTH), "2000");
    resets.command(0x1f, b"");
    assert_eq!(resets.value(LENGTH), "3000");
}
