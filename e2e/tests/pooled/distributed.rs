//! Distributed transactions (behaviour 14): a prepared transaction outlives its session, and any other session can
//! end it.

use e2e::raw::{Execute, Login, RawConn, Reply, command};
use e2e::{Product, Proxy, Server, Settings, wait};

/// How the client sends a statement.
#[derive(Clone, Copy, Debug)]
enum Way {
    Text,
    Several,
    Binary,
    PreparedText,
    Immediate,
    Routine,
}

const WAYS: [Way; 6] = [
    Way::Text,
    Way::Several,
    Way::Binary,
    Way::PreparedText,
    Way::Immediate,
    Way::Routine,
];

impl Way {
    /// Prepares the client for this way of sending the statement; `None` if the server refuses the statement.
    fn begin(self, conn: &mut RawConn, sql: &str) -> Option<u32> {
        let quoted = sql.replace('\'', "''");
        match self {
            Self::Text | Self::Several => Some(0),
            Self::PreparedText => {
                let prepared = conn.query(&format!("PREPARE s FROM '{quoted}'"));
                prepared.error().is_none().then_some(0)
            }
            Self::Immediate => conn
                .query("EXECUTE IMMEDIATE 'DO 0'")
                .error()
                .is_none()
                .then_some(0),
            Self::Binary => {
                let prepared = conn.prepare(sql);
                prepared.error().is_none().then(|| prepared.statement())
            }
            Self::Routine => {
                conn.run("DROP PROCEDURE IF EXISTS say_it");
                conn.run(&format!("CREATE PROCEDURE say_it () {sql}"));
                Some(0)
            }
        }
    }

    fn say(self, conn: &mut RawConn, sql: &str, id: u32) -> Reply {
        let quoted = sql.replace('\'', "''");
        match self {
            Self::Text => conn.query(sql),
            Self::Several => conn.query(&format!("{sql}; SELECT 1")),
            Self::PreparedText => conn.query("EXECUTE s"),
            Self::Immediate => conn.query(&format!("EXECUTE IMMEDIATE '{quoted}'")),
            Self::Binary => conn.execute(&Execute::new(id, &[])),
            Self::Routine => conn.query("CALL say_it()"),
        }
    }
}

/// How the client ends its session.
#[derive(Clone, Copy, Debug)]
enum Leave {
    Quit,
    Vanish,
    Reset,
    ChangeUser,
}

const LEAVES: [Leave; 4] = [Leave::Quit, Leave::Vanish, Leave::Reset, Leave::ChangeUser];

impl Leave {
    /// The client's connection afterwards, if it is still open.
    fn go(self, mut conn: RawConn, login: &Login) -> Option<RawConn> {
        match self {
            Self::Quit => {
                conn.quit();
                None
            }
            Self::Vanish => None,
            Self::Reset => {
                assert!(
                    conn.command(command::RESET_CONNECTION, b"")
                        .error()
                        .is_none()
                );
                Some(conn)
            }
            Self::ChangeUser => {
                conn.change_user(login).unwrap();
                Some(conn)
            }
        }
    }
}

/// Prepares transactions, leaves, and ends the transactions from another session, each in every way.
fn play(server: &Server, proxy: &Proxy, pin: Option<&str>) {
    let login = Login::app()
        .schema("xa")
        .collation(server.product.collation());
    let mut other = proxy.connect_as(&login);
    for table in ["t", "others"] {
        other.run(&format!(
            "CREATE TABLE IF NOT EXISTS {table} (x VARCHAR(64))"
        ));
        other.run(&format!("DELETE FROM {table}"));
    }
    let mut played = 0;
    for (number, (way, leave)) in WAYS
        .iter()
        .flat_map(|way| LEAVES.map(|it| (*way, it)))
        .enumerate()
    {
        let what = format!("{:?}, {way:?}, {leave:?}, pin {pin:?}", server.product);
        let xid = format!("x{number}");
        let mut conn = proxy.connect_as(&login);
        if let Some(pin) = pin {
            conn.run(pin);
        }
        let prepare = format!("XA PREPARE '{xid}'");
        let Some(id) = way.begin(&mut conn, &prepare) else {
            continue;
        };
        conn.run(&format!("XA START '{xid}'"));
        conn.run(&format!("INSERT INTO t VALUES ('{xid}')"));
        conn.run(&format!("XA END '{xid}'"));
        // Error 1399: the server does not allow the statement in this way.
        match way.say(&mut conn, &prepare, id).error() {
            None => {}
            Some(error) if error.code == 1399 => continue,
            Some(error) => panic!("{what}: {error}"),
        }
        played += 1;
        let left = leave.go(conn, &login);
        // The next sessions find the connection clean, and do not end the transaction.
        for _ in 0..3 {
            let mut next = proxy.connect_as(&login);
            next.run("INSERT INTO others VALUES ('next')");
            next.run("DELETE FROM others");
            next.run("CREATE TEMPORARY TABLE tt (n INT)");
            next.quit();
        }
        let listed = other.run("XA RECOVER").texts();
        assert!(listed.iter().any(|row| row[3] == xid), "{what}: {listed:?}");
        let end = ["COMMIT", "ROLLBACK"][number % 2];
        let sql = format!("XA {end} '{xid}'");
        // The server may not know yet that the connection is closed.
        wait::until(&format!("{what}: {sql}"), wait::SOON, || {
            let reply = match number / 2 % 2 {
                1 if other.prepare(&sql).error().is_none() => {
                    let id = other.prepare(&sql).statement();
                    other.execute(&Execute::new(id, &[]))
                }
                _ => other.query(&sql),
            };
            reply.error().is_none()
        });
        let count = other.value(&format!("SELECT COUNT(*) FROM t WHERE x = '{xid}'"));
        assert_eq!(count, if end == "COMMIT" { "1" } else { "0" }, "{what}");
        if let Some(mut left) = left {
            left.run("INSERT INTO t VALUES ('left')");
            assert!(left.query("XA RECOVER").error().is_none());
        }
    }
    assert!(played >= LEAVES.len() * 2, "{played}");
    assert_eq!(other.run("XA RECOVER").texts(), [[""; 0]; 0]);
}

both! { a_prepared_distributed_transaction_outlives_its_session }
fn a_prepared_distributed_transaction_outlives_its_session(product: Product) {
    let server = Server::lease(product);
    server.root().run("CREATE DATABASE xa");
    let pooled = Proxy::start(&Settings::pooled(&server, 3));
    let unpinned = Settings::in_front_of([&*server])
        .set("workers", 1)
        .set("pool.backend_connections_max", 3)
        .account_with(
            "app",
            &[
                ("password", &format!("{:?}", e2e::PASSWORD)),
                ("unpin", "[\"routines\", \"state\"]"),
            ],
        );
    let unpinned = Proxy::start(&unpinned);
    for proxy in [&pooled, &unpinned] {
        play(&server, proxy, None);
    }
    for pin in [
        "SELECT GET_LOCK('mine', 1)",
        "SET @a = ST_GeomFromText('POINT(1 1)')",
    ] {
        play(&server, &pooled, Some(pin));
    }
}
