//! State that cannot be moved to another connection (behaviours 11 to 14): it stays on its connection, no other
//! session gets the connection, and it is shared again once the state is gone.

use e2e::Site;
use e2e::raw::{Execute, Param, Transcript, command};

use crate::data;

shared!(a_temporary_table_is_seen_until_it_is_dropped on mariadb, mysql);
fn a_temporary_table_is_seen_until_it_is_dropped(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT)");
    for drop in [
        "DROP TEMPORARY TABLE t",
        "DROP TABLE t",
        "drop /* it */ table if exists `t`",
    ] {
        conn.run("CREATE TEMPORARY TABLE t (n INT PRIMARY KEY, s VARCHAR(9))");
        site.assert_pinned();
        conn.run("INSERT INTO t VALUES (1, 'hidden')");
        conn.run("SELECT * FROM t");
        conn.query("SELECT * FROM missing");
        site.assert_pinned();
        conn.run(drop);
        site.assert_unpinned();
        conn.run("SELECT * FROM t");
    }
    conn.run("CREATE TEMPORARY TABLE tt SELECT 5 AS n");
    site.assert_pinned();
    conn.command(command::RESET_CONNECTION, b"");
    site.assert_unpinned();
    assert!(conn.query("SELECT * FROM tt").error().is_some());
    conn.transcript()
}

shared!(of_two_temporary_tables_both_must_go on mariadb, mysql);
fn of_two_temporary_tables_both_must_go(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TEMPORARY TABLE one (n INT)");
    conn.run("CREATE TEMPORARY TABLE two (n INT); SELECT 1");
    conn.run("DROP TEMPORARY TABLE one");
    site.assert_pinned();
    conn.run("SELECT * FROM two");
    conn.run("CREATE TEMPORARY TABLE IF NOT EXISTS two (n INT)");
    conn.run("ALTER TABLE two RENAME TO three");
    conn.run("SELECT * FROM three");
    site.assert_pinned();
    conn.run("DROP TABLE three");
    site.assert_unpinned();
    conn.query("SELECT * FROM two");
    conn.query("SELECT * FROM three");
    conn.transcript()
}

shared!(a_temporary_table_made_in_a_procedure_is_seen on mariadb, mysql);
fn a_temporary_table_made_in_a_procedure_is_seen(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE PROCEDURE make () CREATE TEMPORARY TABLE tt SELECT 42 AS n");
    conn.run("CREATE PROCEDURE drop_it () DROP TEMPORARY TABLE tt");
    conn.run("CALL make()");
    site.assert_pinned();
    conn.run("SELECT n FROM tt");
    conn.run("CALL drop_it()");
    assert!(conn.query("SELECT n FROM tt").error().is_some());
    let call = conn.prepare("CALL make()").statement();
    conn.execute(&Execute::new(call, &[]));
    site.assert_pinned();
    conn.run("SELECT n FROM tt");
    conn.run("DROP TEMPORARY TABLE tt");
    conn.query("SELECT n FROM tt");
    conn.command(command::RESET_CONNECTION, b"");
    site.assert_unpinned();
    conn.transcript()
}

shared!(a_user_lock_is_held_until_it_is_released on mariadb, mysql);
fn a_user_lock_is_held_until_it_is_released(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let name = &site.schema;
    for (take, release) in [
        ("SELECT GET_LOCK('NAME', 5)", "SELECT RELEASE_LOCK('NAME')"),
        ("DO GET_LOCK('NAME', 5)", "DO RELEASE_LOCK('NAME')"),
        (
            "SET @got = GET_LOCK('NAME', 5)",
            "SELECT RELEASE_ALL_LOCKS()",
        ),
    ] {
        conn.run(&take.replace("NAME", name));
        site.assert_pinned();
        conn.run(&format!(
            "SELECT IS_USED_LOCK('{name}') = CONNECTION_ID(), IS_FREE_LOCK('{name}')"
        ));
        site.assert_pinned();
        conn.run(&release.replace("NAME", name));
        site.assert_unpinned();
        conn.run(&format!("SELECT IS_FREE_LOCK('{name}')"));
    }
    conn.transcript()
}

shared!(a_user_lock_pins_until_a_statement_releases_it on mariadb, mysql);
fn a_user_lock_pins_until_a_statement_releases_it(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let name = &site.schema;
    conn.run(&format!("SELECT GET_LOCK('{name}', 5)"));
    for nothing in [
        "SELECT IF(1, 2, RELEASE_ALL_LOCKS())",
        "SELECT RELEASE_ALL_LOCKS() FROM information_schema.tables WHERE 0",
        "SELECT RELEASE_LOCK('NAME') FROM information_schema.tables WHERE 0",
        "SELECT CASE 1 WHEN 2 THEN RELEASE_LOCK('NAME') END",
        "SELECT RELEASE_LOCK('another NAME')",
    ] {
        conn.run(&nothing.replace("NAME", name));
        site.assert_pinned();
        let used = format!("SELECT IS_USED_LOCK('{name}') = CONNECTION_ID()");
        assert_eq!(conn.value(&used), "1", "{nothing}");
    }
    let release = conn.prepare("SELECT RELEASE_ALL_LOCKS()").statement();
    conn.execute(&Execute::new(release, &[]));
    site.assert_unpinned();
    conn.run(&format!("SELECT IS_FREE_LOCK('{name}')"));
    conn.transcript()
}

shared!(a_user_lock_without_a_known_name_ends_with_a_reset on mariadb, mysql);
fn a_user_lock_without_a_known_name_ends_with_a_reset(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let name = &site.schema;
    for take in [
        format!("SELECT GET_LOCK(CONCAT('{name}', ''), 5) + 1"),
        format!("SET @own = GET_LOCK(UPPER('{name}'), 5)"),
    ] {
        conn.run(&take);
        site.assert_pinned();
        conn.run("DO RELEASE_ALL_LOCKS()");
        site.assert_pinned();
        conn.command(command::RESET_CONNECTION, b"");
        site.assert_unpinned();
        conn.run(&format!("SELECT IS_FREE_LOCK('{name}')"));
    }
    conn.transcript()
}

shared!(a_user_lock_taken_twice_is_released_twice on mariadb, mysql);
fn a_user_lock_taken_twice_is_released_twice(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let name = &site.schema;
    conn.run(&format!(
        "SELECT GET_LOCK('{name}', 5), GET_LOCK('{name}', 5)"
    ));
    conn.run(&format!("SELECT RELEASE_LOCK('{name}')"));
    site.assert_pinned();
    conn.run(&format!("SELECT IS_FREE_LOCK('{name}')"));
    conn.run(&format!("SELECT RELEASE_LOCK('{name}')"));
    site.assert_unpinned();
    conn.run(&format!("SELECT RELEASE_LOCK('{name}')"));
    conn.transcript()
}

shared!(a_user_lock_goes_with_its_client on mariadb, mysql);
fn a_user_lock_goes_with_its_client(site: &Site) -> Transcript {
    let mut one = site.connect();
    let name = &site.schema;
    // The session of the previous run may still hold the lock for a moment.
    one.run(&format!("SELECT GET_LOCK('{name}', 20)"));
    site.assert_pinned();
    drop(one);
    let mut two = site.connect();
    two.run(&format!("SELECT GET_LOCK('{name}', 20)"));
    two.transcript()
}

shared!(locked_tables_stay_locked_until_unlocked on mariadb, mysql);
fn locked_tables_stay_locked_until_unlocked(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT)");
    conn.run("CREATE TABLE u (n INT)");
    for lock in [
        "LOCK TABLES t WRITE",
        "lock table t read",
        "FLUSH TABLES t WITH READ LOCK",
    ] {
        conn.run(lock);
        site.assert_pinned();
        conn.query("INSERT INTO t VALUES (1)");
        assert_eq!(conn.query("SELECT * FROM u").error().unwrap().code, 1100);
        site.assert_pinned();
        conn.run("UNLOCK TABLES");
        site.assert_unpinned();
        conn.run("SELECT * FROM u");
    }
    conn.run("LOCK TABLES t WRITE");
    conn.run("BEGIN");
    conn.run("SELECT * FROM u");
    conn.run("COMMIT");
    site.assert_unpinned();
    conn.transcript()
}

shared!(a_handler_stays_open_until_closed on mariadb, mysql);
fn a_handler_stays_open_until_closed(site: &Site) -> Transcript {
    let mut conn = site.connect();
    data::numbers(&mut conn, "numbers", 5);
    conn.run("HANDLER numbers OPEN AS h");
    site.assert_pinned();
    conn.run("HANDLER h READ FIRST");
    conn.run("HANDLER h READ NEXT LIMIT 2");
    site.assert_pinned();
    conn.run("HANDLER h READ NEXT");
    conn.run("HANDLER h CLOSE");
    site.assert_unpinned();
    assert!(conn.query("HANDLER h READ NEXT").error().is_some());
    conn.transcript()
}

shared!(a_distributed_transaction_stays_where_it_began on mariadb, mysql);
fn a_distributed_transaction_stays_where_it_began(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT)");
    let xid = format!("'{}'", &site.schema[..site.schema.len().min(50)]);
    for end in ["COMMIT", "ROLLBACK"] {
        conn.run(&format!("XA START {xid}"));
        site.assert_pinned();
        conn.run("INSERT INTO t VALUES (1)");
        conn.query("COMMIT");
        conn.run(&format!("XA END {xid}"));
        site.assert_pinned();
        conn.run(&format!("XA PREPARE {xid}"));
        conn.run(&format!("XA {end} {xid}"));
        site.assert_unpinned();
        conn.run("SELECT COUNT(*) FROM t");
    }
    conn.transcript()
}

shared!(an_open_cursor_stays_where_it_is on mariadb, mysql);
fn an_open_cursor_stays_where_it_is(site: &Site) -> Transcript {
    let mut conn = site.connect();
    data::numbers(&mut conn, "numbers", 20);
    let sql = "SELECT n, t FROM numbers WHERE n > ? ORDER BY n";
    let id = conn.prepare(sql).statement();
    conn.execute(&Execute::new(id, &[Param::Int(5)]).cursor());
    site.assert_pinned();
    conn.fetch(id, 10);
    conn.run("SELECT 'between'");
    site.assert_pinned();
    // Fetches the last of the rows.
    conn.fetch(id, 10);
    site.assert_unpinned();
    conn.execute(&Execute::new(id, &[Param::Int(0)]).cursor());
    conn.fetch(id, 3);
    site.assert_pinned();
    conn.reset_statement(id);
    site.assert_unpinned();
    assert!(conn.fetch(id, 3).error().is_some());
    conn.execute(&Execute::new(id, &[Param::Int(0)]).cursor());
    conn.fetch(id, 3);
    conn.close_statement(id);
    conn.run("SELECT 'closed'");
    site.assert_unpinned();
    conn.transcript()
}

shared!(pinned_sessions_share_one_connection_in_turn on mariadb, mysql);
fn pinned_sessions_share_one_connection_in_turn(site: &Site) -> Transcript {
    let mut one = site.connect();
    let mut two = site.connect();
    let mut transcript = Transcript::default();
    for _ in 0..3 {
        for conn in [&mut one, &mut two] {
            conn.run("CREATE TEMPORARY TABLE tt (n INT)");
            conn.run("INSERT INTO tt VALUES (1), (2)");
            conn.run("SELECT * FROM tt");
            conn.run("DROP TEMPORARY TABLE tt");
            transcript.extend(conn.transcript());
        }
    }
    transcript
}
