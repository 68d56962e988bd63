//! A hostile client of the admin port gets an error, and no other client is affected.

use std::io::Write;
use std::net::TcpStream;

use e2e::raw::RawConn;
use e2e::{Dice, Folder, Product, Settings, free_port};

use super::{Watched, refused};

#[test]
fn the_admin_port_refuses_writing_sql() {
    let watched = Watched::alone();
    let folder = Folder::new("files");
    let file = folder.path().join("made");
    let path = file.display();
    for mut conn in [watched.root(), watched.look()] {
        for (sql, code) in [
            (format!("ATTACH '{path}' AS other"), 1064),
            (format!("VACUUM INTO '{path}'"), 1064),
            ("PRAGMA database_list".to_owned(), 1064),
            ("SELECT * FROM pragma_database_list".to_owned(), 1142),
            ("SELECT count(*) FROM pragma_database_list".to_owned(), 1142),
            ("SELECT load_extension('libc.so.6')".to_owned(), 1142),
            ("SELECT fts3_tokenizer('simple')".to_owned(), 1142),
            ("SELECT readfile('/etc/passwd')".to_owned(), 1305),
            (format!("SELECT writefile('{path}', 'x')"), 1305),
            ("SELECT load_file('/etc/passwd')".to_owned(), 1305),
            (format!("SELECT 1 INTO OUTFILE '{path}'"), 1064),
            (
                "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE sessions".to_owned(),
                1235,
            ),
            ("SELECT * FROM sqlite_master".to_owned(), 1142),
            ("SELECT * FROM sqlite_dbpage".to_owned(), 1146),
            ("SELECT * FROM dbstat".to_owned(), 1142),
            ("DELETE FROM sessions".to_owned(), 1142),
            ("INSERT INTO help VALUES (1, 2)".to_owned(), 1142),
            ("DROP TABLE sessions".to_owned(), 1235),
            ("CREATE TABLE t (n INT)".to_owned(), 1235),
            (
                "CREATE TRIGGER t AFTER INSERT ON help BEGIN SELECT 1; END".to_owned(),
                1064,
            ),
            ("WITH x AS (SELECT 1) DELETE FROM help".to_owned(), 1142),
            ("EXPLAIN DELETE FROM help".to_owned(), 1142),
            ("UPDATE sessions SET user = 'x'".to_owned(), 1142),
            ("UPDATE columns SET about = ''".to_owned(), 1142),
            (
                "UPDATE runtime_mysql_servers SET weight = 2".to_owned(),
                1142,
            ),
            (
                "INSERT INTO information_schema.TABLES VALUES (1)".to_owned(),
                1142,
            ),
            ("DELETE FROM workers WHERE 1".to_owned(), 1142),
            (
                "REPLACE INTO listeners SELECT * FROM listeners".to_owned(),
                1142,
            ),
            ("SELECT 1; SELECT 2".to_owned(), 1064),
            ("SELECT * FROM nowhere".to_owned(), 1146),
            ("SELECT anything FROM help".to_owned(), 1054),
            ("SELECT @@nothing".to_owned(), 1193),
            ("SELECT ?".to_owned(), 1210),
            ("SELEKT 1".to_owned(), 1064),
            ("SELECT FROM".to_owned(), 1064),
            ("SHUTDOWN".to_owned(), 1235),
            ("SHOW NOTHING".to_owned(), 1235),
        ] {
            assert_eq!(refused(&mut conn, &sql), code, "{sql}");
        }
        assert_eq!(conn.value("SELECT COUNT(*) > 5 FROM help"), "1");
        for (byte, code) in [(0x08, 1047), (0x12, 1047), (0x77, 1047)] {
            let reply = conn.command(byte, b"SELECT 1");
            assert_eq!(reply.error().unwrap().code, code, "{byte:#x}");
        }
    }
    assert!(!file.exists());
}

#[test]
fn statements_that_take_too_much_time_or_memory_are_stopped() {
    let port = free_port();
    let settings = Settings::default()
        .backend(format!("127.0.0.1:{}", free_port()))
        .set("admin.timeout_statement", "60s")
        .set("admin.rows_max", 1000)
        .admin_on(port);
    let proxy = e2e::Proxy::start(&settings);
    let watched = Watched { proxy, port };
    let mut look = watched.look();
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)";
    assert_eq!(
        refused(&mut look, &format!("{endless} SELECT x FROM c")),
        1037
    );
    assert_eq!(
        look.run(&format!("{endless} SELECT x FROM c LIMIT 1000"))
            .texts()
            .len(),
        1000
    );
    let large = "SELECT zeroblob(1000000000)";
    assert_eq!(refused(&mut look, large), 1037);
    let deep = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(look.query(&deep).error().is_some());
    assert_eq!(look.value("SELECT 1"), "1");
    let shorter = "SET GLOBAL admin.timeout_statement = '1s'";
    watched.root().run(shorter);
    assert_eq!(
        refused(&mut look, &format!("{endless} SELECT COUNT(*) FROM c")),
        3024
    );
    // After ten expensive statements at once, an eleventh is still answered in the end.
    let mut greedy: Vec<RawConn> = (0..10).map(|_| watched.look()).collect();
    for conn in &mut greedy {
        conn.send_query(&format!("{endless} SELECT COUNT(*) FROM c"))
            .unwrap();
    }
    e2e::wait::until("it is answered", e2e::wait::SOON, || {
        look.query("SELECT 1").error().is_none()
    });
}

#[test]
fn a_statement_that_is_too_long_gives_an_error() {
    let watched = Watched::alone();
    let mut look = watched.look();
    let long = format!("SELECT '{}'", "x".repeat((1 << 20) - 100));
    assert_eq!(look.value(&format!("{long} IS NULL")), "0");
    let longer = format!("SELECT '{}'", "x".repeat(1 << 20));
    look.send_query(&longer).unwrap();
    let told = look.try_reply(e2e::raw::Shape::Results);
    assert_eq!(told.unwrap().error().unwrap().code, 1153);
    assert!(look.is_closed_by_server());
    assert_eq!(watched.look().value("SELECT 1"), "1");
}

/// Garbage in place of a login, within a login, and in place of commands.
#[test]
fn garbage_ends_only_its_own_connection() {
    let watched = Watched::alone();
    let mut dice = Dice::new(41);
    for round in 0..200 {
        let length = 1 + dice.roll(200);
        let mut garbage: Vec<u8> = (0..length).map(|_| dice.roll(256) as u8).collect();
        if round % 2 == 0 {
            // The bytes begin with a valid packet header.
            let body = garbage.len();
            let mut packet = vec![body as u8, 0, 0, (round % 3) as u8];
            packet.append(&mut garbage);
            garbage = packet;
        }
        let mut stream = TcpStream::connect(("127.0.0.1", watched.port)).unwrap();
        // The proxy may have closed the connection by then.
        let _ = stream.write_all(&garbage);
    }
    for _ in 0..100 {
        let mut conn = watched.look();
        let length = 1 + dice.roll(60);
        let mut payload: Vec<u8> = (0..length).map(|_| dice.roll(256) as u8).collect();
        // Commands without a reply give the test nothing to read.
        if matches!(payload[0], 1 | 0x18 | 0x19) {
            payload[0] = 3;
        }
        let _ = conn.try_send(&payload);
        let mut answer = conn.packet();
        if let Ok(packet) = &mut answer {
            assert!(!packet.is_empty());
        }
    }
    assert_eq!(watched.look().value("SELECT 1"), "1");
    watched.proxy.assert_sound();
}

/// Texts that clients and administrators have chosen are only values in every table, comparison and change.
#[test]
fn values_in_tables_are_never_executed() {
    const HOSTILE: &str = "x'); DELETE FROM rules; -- \" ` \\ ; %_";
    let watched = Watched::pooled(Product::MariaDb);
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
    let mut root = watched.root();
    let name = quoted(HOSTILE);
    for sql in [
        format!("INSERT INTO rules (rule, digest, refuse) VALUES ({name}, 'SELECT a, b', {name})"),
        format!("INSERT INTO accounts (user, password) VALUES ({name}, {name})"),
        format!(
            "INSERT INTO admin_accounts (user, password, role) VALUES ({name}, {name}, 'admin')"
        ),
        format!("UPDATE backends SET zone = {name}"),
    ] {
        root.run(&sql);
    }
    // Texts of a client: its statements, its user name, its schema.
    let mut client = watched.proxy.connect();
    client.query(&format!("SELECT 1 AS {}", "`x'); DELETE FROM rules; --`"));
    client.query("SELECT * FROM `x'); DELETE FROM rules; --`.`t`");
    let login = e2e::raw::Login::with(HOSTILE, "none");
    assert!(RawConn::connect(&watched.proxy.address(), &login).is_err());
    let mut hostile = watched.connect(&e2e::raw::Login::with(HOSTILE, HOSTILE));
    for conn in [&mut root, &mut hostile] {
        for table in conn.run("SHOW TABLES").texts() {
            let reply = conn.query(&format!("SELECT * FROM `{}`", table[0]));
            assert!(reply.error().is_none(), "{table:?}: {reply:?}");
        }
        for sql in [
            "SHOW PROCESSLIST",
            "SHOW CHANGES",
            "SELECT USER()",
            "SHOW VARIABLES",
        ] {
            assert!(conn.query(sql).error().is_none(), "{sql}");
        }
        let joined = format!(
            "SELECT count(*) FROM rules r JOIN accounts a ON a.user = r.rule JOIN admin_accounts m \
             ON m.user = a.user JOIN backends b ON b.zone = r.rule WHERE r.rule = {name}"
        );
        assert_eq!(conn.value(&joined), "1");
    }
    assert_eq!(hostile.value("SELECT count(*) > 0 FROM digests"), "1");
    root.run(&format!(
        "UPDATE rules SET refuse = 'gone' WHERE rule = {name}"
    ));
    assert_eq!(
        root.run("SELECT rule, refuse FROM rules").texts(),
        [[HOSTILE, "gone"]]
    );
    root.run(&format!("DELETE FROM accounts WHERE user = {name}"));
    assert_eq!(
        root.value("SELECT count(*) FROM accounts WHERE user = 'app'"),
        "1"
    );
    root.run("REVERT");
    assert_eq!(root.value("SELECT count(*) FROM rules"), "0");
}

#[test]
fn wrong_types_and_unknown_names_change_nothing() {
    let watched = Watched::alone();
    let mut root = watched.root();
    for (sql, code) in [
        ("UPDATE nowhere SET value = 1", 1146),
        ("UPDATE settings SET nonsense = 1", 1054),
        ("UPDATE settings SET value = 1 WHERE nonsense = 1", 1054),
        (
            "UPDATE settings SET value = x'00ff' WHERE name = 'limits.sessions_max'",
            1231,
        ),
        (
            "UPDATE settings SET value = -1 WHERE name = 'limits.sessions_max'",
            1231,
        ),
        (
            "UPDATE settings SET value = 1.5 WHERE name = 'limits.sessions_max'",
            1231,
        ),
        (
            "UPDATE settings SET value = 99999999999999999999 WHERE name = 'limits.sessions_max'",
            1231,
        ),
        (
            "UPDATE settings SET value = '10 parsecs' WHERE name = 'limits.timeout_login'",
            1231,
        ),
        (
            "UPDATE settings SET value = 'maybe' WHERE name = 'statement_stats.digests'",
            1231,
        ),
        ("UPDATE backends SET weight = 'heavy'", 1231),
        ("UPDATE backends SET draining = 2", 1231),
        ("UPDATE backends SET backend_ndx = 'first'", 1231),
        ("SET GLOBAL nothing = 1", 1231),
    ] {
        assert_eq!(refused(&mut root, sql), code, "{sql}");
    }
    assert!(root.run("SHOW CHANGES").texts().is_empty());
}
