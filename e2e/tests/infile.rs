//! LOAD DATA LOCAL INFILE: the server asks, the client sends its file.

use e2e::Site;
use e2e::raw::{Outcome, RawConn, Reply, Shape, Transcript, capability};

const LOAD: &str = "LOAD DATA LOCAL INFILE 'the file' INTO TABLE t FIELDS TERMINATED BY ','";

/// Sends a statement that asks for a file, and then the file in chunks. Returns the final reply.
fn load(conn: &mut RawConn, sql: &str, chunks: &[&[u8]]) -> Reply {
    let reply = conn.query(sql);
    assert!(matches!(&reply.outcomes[..], [Outcome::LocalFile(name)] if name == b"the file"));
    for chunk in chunks {
        conn.send_on(chunk);
    }
    conn.send_on(b"");
    conn.reply(Shape::Results)
}

fn prepared(site: &Site) -> RawConn {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT PRIMARY KEY, s VARCHAR(20))");
    conn
}

scenario!(a_local_file_is_loaded on mariadb, mysql);
fn a_local_file_is_loaded(site: &Site) -> Transcript {
    let mut conn = prepared(site);
    let reply = load(&mut conn, LOAD, &[b"1,one\n2,t", b"wo\n", b"3,three\n"]);
    assert!(matches!(reply.outcomes[0], Outcome::Ok { affected: 3, .. }));
    assert_eq!(conn.value("SELECT s FROM t WHERE n = 2"), "two");
    conn.transcript()
}

scenario!(a_big_local_file_is_loaded on mariadb, mysql);
fn a_big_local_file_is_loaded(site: &Site) -> Transcript {
    let mut conn = prepared(site);
    let rows: String = (0..50_000).map(|n| format!("{n},row {n}\n")).collect();
    let chunks: Vec<&[u8]> = rows.as_bytes().chunks(64 * 1024).collect();
    load(&mut conn, LOAD, &chunks);
    assert_eq!(conn.value("SELECT COUNT(*) FROM t"), "50000");
    conn.transcript()
}

scenario!(an_empty_local_file_is_loaded on mariadb, mysql);
fn an_empty_local_file_is_loaded(site: &Site) -> Transcript {
    let mut conn = prepared(site);
    let reply = load(&mut conn, LOAD, &[]);
    assert!(matches!(reply.outcomes[0], Outcome::Ok { affected: 0, .. }));
    assert_eq!(conn.value("SELECT COUNT(*) FROM t"), "0");
    conn.transcript()
}

scenario!(the_server_may_refuse_the_content_of_the_local_file on mariadb, mysql);
fn the_server_may_refuse_the_content_of_the_local_file(site: &Site) -> Transcript {
    let mut conn = prepared(site);
    conn.run("CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SIGNAL SQLSTATE '45000'");
    let reply = load(&mut conn, LOAD, &[b"1,one\n", b"2,two\n"]);
    assert_eq!(reply.error().unwrap().code, 1644);
    assert_eq!(conn.value("SELECT COUNT(*) FROM t"), "0");
    conn.transcript()
}

scenario!(the_server_may_not_want_the_local_file on mariadb, mysql);
fn the_server_may_not_want_the_local_file(site: &Site) -> Transcript {
    let mut conn = site.connect();
    assert_eq!(conn.query(LOAD).error().unwrap().code, 1146);
    conn.run("CREATE TABLE t (n INT, s VARCHAR(20))");
    let mut unable = site.connect_as(&site.login().without(capability::LOCAL_FILES));
    assert!(unable.query(LOAD).error().is_some());
    let mut transcript = conn.transcript();
    transcript.extend(unable.transcript());
    transcript
}

scenario!(a_local_file_among_several_statements on mariadb, mysql);
fn a_local_file_among_several_statements(site: &Site) -> Transcript {
    let mut conn = prepared(site);
    let sql = format!("SELECT 'before'; {LOAD}; SELECT COUNT(*) FROM t");
    let reply = conn.query(&sql);
    assert!(matches!(reply.outcomes.last(), Some(Outcome::LocalFile(_))));
    conn.send_on(b"1,one\n");
    conn.send_on(b"");
    let reply = conn.reply(Shape::Results);
    assert_eq!(reply.text(0, 0).unwrap(), "1");
    conn.transcript()
}

scenario!(a_client_may_leave_while_it_sends_its_file on mariadb, mysql);
fn a_client_may_leave_while_it_sends_its_file(site: &Site) -> Transcript {
    let mut conn = prepared(site);
    conn.query(LOAD);
    conn.send_on(b"1,one\n");
    drop(conn);
    // The server unlocks the table when it has noticed that the client is gone.
    let mut conn = site.connect();
    conn.run("SET lock_wait_timeout = 20");
    conn.run("ALTER TABLE t ADD COLUMN more INT");
    conn.transcript()
}
