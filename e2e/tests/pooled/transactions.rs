//! Transactions (behaviours 18 to 21): they stay on one connection, whichever statement begins them, and every
//! reply has their status flags.

use e2e::Site;
use e2e::raw::{Execute, Param, Transcript, capability};

shared!(a_transaction_stays_on_its_connection on mariadb, mysql);
fn a_transaction_stays_on_its_connection(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT PRIMARY KEY)");
    for (begin, end) in [
        ("BEGIN", "COMMIT"),
        ("START TRANSACTION", "ROLLBACK"),
        ("/* now */ begin work", "commit work"),
        (
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            "ROLLBACK WORK",
        ),
        ("SELECT 1; BEGIN", "SELECT 1; COMMIT"),
        ("BEGIN", "CREATE TABLE IF NOT EXISTS u (n INT)"),
        ("BEGIN", "SET autocommit = 1; COMMIT"),
    ] {
        conn.run(begin);
        conn.run("INSERT INTO t SELECT COUNT(*) FROM t");
        site.assert_pinned();
        assert_eq!(
            conn.query("INSERT INTO t VALUES (0)").error().unwrap().code,
            1062
        );
        site.assert_pinned();
        conn.run("SELECT * FROM t ORDER BY n");
        conn.run(end);
        site.assert_unpinned();
        conn.run("SELECT * FROM t ORDER BY n");
    }
    conn.transcript()
}

shared!(a_transaction_without_autocommit_stays_on_its_connection on mariadb, mysql);
fn a_transaction_without_autocommit_stays_on_its_connection(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let mut other = site.connect();
    conn.run("CREATE TABLE t (n INT PRIMARY KEY)");
    let see = "SELECT * FROM t ORDER BY n";
    for (off, on) in [
        ("SET autocommit = 0", "SET autocommit = 1"),
        (
            "SET @@session.autocommit = OFF, @a = 1",
            "SET @a = 2, autocommit = ON",
        ),
        (
            "PREPARE s FROM 'SET autocommit = 0'; EXECUTE s",
            "SET autocommit = DEFAULT",
        ),
    ] {
        conn.run(off);
        conn.run("INSERT INTO t SELECT 1 + COALESCE(MAX(n), 0) FROM t");
        site.assert_pinned();
        conn.run(see);
        conn.run("ROLLBACK");
        conn.run("SELECT @@autocommit");
        conn.run("INSERT INTO t SELECT 10 + COALESCE(MAX(n), 0) FROM t");
        conn.run("COMMIT");
        conn.run("INSERT INTO t SELECT 100 + COALESCE(MAX(n), 0) FROM t");
        site.assert_pinned();
        // Switching autocommit on commits the transaction.
        conn.run(on);
        site.assert_unpinned();
        other.run(see);
        conn.run(see);
    }
    let mut transcript = conn.transcript();
    transcript.extend(other.transcript());
    transcript
}

shared!(savepoints_hold_with_and_without_autocommit on mariadb, mysql);
fn savepoints_hold_with_and_without_autocommit(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT)");
    for begin in ["BEGIN", "SET autocommit = 0"] {
        conn.run(begin);
        conn.run("INSERT INTO t VALUES (1)");
        conn.run("SAVEPOINT here");
        conn.run("INSERT INTO t VALUES (2)");
        conn.run("SAVEPOINT there");
        conn.run("ROLLBACK TO SAVEPOINT here");
        assert_eq!(conn.query("ROLLBACK TO there").error().unwrap().code, 1305);
        conn.run("RELEASE SAVEPOINT here");
        conn.run("SELECT * FROM t");
        conn.run("COMMIT");
        assert_eq!(conn.query("ROLLBACK TO here").error().unwrap().code, 1305);
    }
    // With autocommit off, a savepoint outside a transaction begins one.
    conn.run("SAVEPOINT alone");
    conn.run("INSERT INTO t VALUES (3)");
    conn.run("ROLLBACK TO alone");
    conn.run("SET autocommit = 1");
    conn.query("SAVEPOINT outside");
    conn.query("ROLLBACK TO outside");
    conn.run("SELECT * FROM t");
    conn.transcript()
}

shared!(set_transaction_holds_for_the_next_transaction_only on mariadb, mysql);
fn set_transaction_holds_for_the_next_transaction_only(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT)");
    for set in [
        "SET TRANSACTION READ ONLY",
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY",
        "SELECT 1; SET TRANSACTION READ ONLY",
    ] {
        conn.run(set);
        conn.run("BEGIN");
        assert_eq!(
            conn.query("INSERT INTO t VALUES (1)").error().unwrap().code,
            1792
        );
        assert!(conn.query(set).error().is_some() || set.starts_with("SELECT"));
        conn.run("COMMIT");
        conn.run("BEGIN");
        conn.run("INSERT INTO t VALUES (2)");
        conn.run("COMMIT");
        // A statement outside BEGIN and COMMIT is a transaction, too.
        conn.run(set);
        conn.query("INSERT INTO t VALUES (3)");
        conn.query("INSERT INTO t VALUES (4)");
    }
    conn.run("SET SESSION TRANSACTION READ ONLY");
    assert_eq!(
        conn.query("INSERT INTO t VALUES (5)").error().unwrap().code,
        1792
    );
    conn.run("SET TRANSACTION READ WRITE");
    conn.run("INSERT INTO t VALUES (6)");
    assert_eq!(
        conn.query("INSERT INTO t VALUES (7)").error().unwrap().code,
        1792
    );
    conn.run("SET SESSION TRANSACTION READ WRITE");
    conn.run("SELECT * FROM t ORDER BY n");
    conn.transcript()
}

shared!(the_isolation_level_belongs_to_its_session on mariadb, mysql);
fn the_isolation_level_belongs_to_its_session(site: &Site) -> Transcript {
    let name = if site.is_mariadb() {
        "tx_isolation"
    } else {
        "transaction_isolation"
    };
    let mut one = site.connect();
    let mut two = site.connect();
    one.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    two.run(&format!("SET @@{name} = 'READ-UNCOMMITTED'"));
    two.run(&format!("SET SESSION {name} = 'SERIALIZABLE'"));
    let mut transcript = Transcript::default();
    for _ in 0..2 {
        for conn in [&mut one, &mut two] {
            conn.run(&format!("SELECT @@{name}, @@session.{name}"));
            transcript.extend(conn.transcript());
        }
    }
    transcript
}

shared!(a_chained_transaction_stays_on_its_connection on mariadb, mysql);
fn a_chained_transaction_stays_on_its_connection(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT)");
    conn.run("BEGIN");
    conn.run("INSERT INTO t VALUES (1)");
    conn.run("COMMIT AND CHAIN");
    site.assert_pinned();
    conn.run("INSERT INTO t VALUES (2)");
    conn.run("ROLLBACK AND CHAIN NO RELEASE");
    site.assert_pinned();
    conn.run("INSERT INTO t VALUES (3)");
    conn.run("COMMIT");
    site.assert_unpinned();
    conn.run("SET completion_type = CHAIN");
    conn.run("BEGIN");
    conn.run("INSERT INTO t VALUES (4)");
    conn.run("COMMIT");
    site.assert_pinned();
    conn.run("INSERT INTO t VALUES (5)");
    conn.run("SET completion_type = NO_CHAIN");
    conn.run("ROLLBACK");
    site.assert_unpinned();
    conn.run("SELECT * FROM t");
    conn.transcript()
}

shared!(a_session_may_end_with_its_transaction on mariadb, mysql);
fn a_session_may_end_with_its_transaction(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT)");
    conn.run("BEGIN");
    conn.run("INSERT INTO t VALUES (1)");
    conn.run("COMMIT RELEASE");
    assert!(conn.is_closed_by_server());
    let mut transcript = conn.transcript();
    let mut conn = site.connect();
    conn.run("BEGIN");
    conn.run("INSERT INTO t VALUES (2)");
    drop(conn);
    let mut conn = site.connect();
    // Waits for the lock of the client that has disconnected.
    conn.run("LOCK TABLES t WRITE");
    conn.run("SELECT * FROM t");
    conn.run("UNLOCK TABLES");
    transcript.extend(conn.transcript());
    transcript
}

shared!(the_flags_of_a_transaction_are_in_every_reply on mariadb, mysql);
fn the_flags_of_a_transaction_are_in_every_reply(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    for asked in [0, capability::SESSION_TRACK] {
        for without in [0, capability::DEPRECATE_EOF] {
            let login = site.login().and(asked).without(without);
            let mut conn = site.connect_as(&login);
            conn.run("DROP TABLE IF EXISTS t");
            conn.run("CREATE TABLE t (n INT PRIMARY KEY)");
            conn.query("SET session_track_transaction_info = 'CHARACTERISTICS'");
            let id = conn.prepare("SELECT ? FROM t").statement();
            for sql in [
                "SELECT 1",
                "BEGIN",
                "SELECT * FROM t",
                "INSERT INTO t VALUES (1)",
                "INSERT INTO t VALUES (1)",
                "SELECT nonsense",
                "COMMIT",
                "SET autocommit = 0",
                "SELECT * FROM t",
                "SELECT nonsense",
                "ROLLBACK",
                "DO 1",
                "SET autocommit = 1",
                "START TRANSACTION READ ONLY",
                "SELECT COUNT(*) FROM t",
                "ROLLBACK",
                "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
                "SELECT 2",
                "SET sql_mode = DEFAULT",
            ] {
                conn.query(sql);
                conn.execute(&Execute::new(id, &[Param::Int(1)]));
                conn.command(e2e::raw::command::PING, b"");
            }
            transcript.extend(conn.transcript());
        }
    }
    transcript
}

shared!(a_transaction_begun_in_a_procedure_stays_open on mariadb, mysql);
fn a_transaction_begun_in_a_procedure_stays_open(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT)");
    conn.run("CREATE PROCEDURE p () BEGIN START TRANSACTION; INSERT INTO t VALUES (1); END");
    conn.run("CREATE PROCEDURE q () COMMIT");
    for end in ["ROLLBACK", "CALL q()"] {
        conn.run("CALL p()");
        site.assert_pinned();
        conn.run("SELECT * FROM t");
        conn.run(end);
        conn.run("SELECT * FROM t");
    }
    site.assert_unpinned();
    let commit = conn.prepare("COMMIT").statement();
    // Some products cannot prepare all of these statements.
    if conn
        .query("PREPARE b FROM 'START TRANSACTION'")
        .error()
        .is_some()
    {
        conn.run("START TRANSACTION");
    } else {
        conn.run("EXECUTE b");
    }
    site.assert_pinned();
    conn.run("INSERT INTO t VALUES (2)");
    conn.execute(&Execute::new(commit, &[]));
    site.assert_unpinned();
    conn.run("SELECT * FROM t");
    conn.transcript()
}
