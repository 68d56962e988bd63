//! Changing the configuration by SQL: at once or together, saved or not, and never by half.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use e2e::raw::{Login, RawConn};
use e2e::{Product, Server, Settings, free_port, wait};

use super::{Watched, refused, rows};

/// What is not as in the file: setting, value in the file, value now, when.
fn changes(conn: &mut RawConn) -> Vec<Vec<String>> {
    conn.run("SHOW CHANGES").texts()
}

/// The text of the error that a statement ends with.
#[track_caller]
fn told(conn: &mut RawConn, sql: &str) -> String {
    let reply = conn.query(sql);
    let error = reply.error().unwrap_or_else(|| panic!("{sql} is answered"));
    error.text.clone()
}

fn warnings(conn: &mut RawConn) -> Vec<String> {
    let warnings = rows(conn, "SHOW WARNINGS").into_iter();
    warnings
        .map(|mut row| row.remove("Message").unwrap())
        .collect()
}

fn value(conn: &mut RawConn, setting: &str) -> String {
    conn.value(&format!(
        "SELECT value FROM settings WHERE name = '{setting}'"
    ))
}

#[test]
fn a_setting_changes_at_once_and_is_saved_when_told_to() {
    let watched = Watched::alone();
    let file = watched.proxy.config_file();
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("[limits]", "# Of the shop.\n[limits]");
    watched.proxy.write_settings(&text);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let mut root = watched.root();
    root.run("REVERT");
    root.run("UPDATE settings SET value = '61s' WHERE name = 'limits.timeout_login'");
    assert_eq!(value(&mut root, "limits.timeout_login"), "61s");
    let unsaved = ["limits.timeout_login", "1m", "61s", "now"];
    assert_eq!(changes(&mut root), [unsaved]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    root.run("SAVE");
    assert!(changes(&mut root).is_empty());
    let saved = text.replace("timeout_login = \"60s\"", "timeout_login = \"61s\"");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), saved);
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    // What waits for a restart is kept until then.
    root.run("SET GLOBAL workers = 3");
    assert!(warnings(&mut root)[0].contains("needs a restart"));
    assert_eq!(value(&mut root, "workers"), "2");
    assert_eq!(changes(&mut root), [["workers", "2", "3", "at a restart"]]);
    root.run("UPDATE settings SET value = NULL WHERE name = 'limits.timeout_login'");
    assert_eq!(value(&mut root, "limits.timeout_login"), "10s");
    root.run("REVERT");
    assert!(changes(&mut root).is_empty());
    assert_eq!(value(&mut root, "limits.timeout_login"), "61s");
}

#[test]
fn what_is_wrong_is_refused_whole_and_says_why() {
    let watched = Watched::alone();
    let mut root = watched.root();
    let before = root.run("SELECT * FROM settings").texts();
    for (sql, code, words) in [
        (
            "UPDATE settings SET value = 'many' WHERE name = 'limits.sessions_max'",
            1231,
            "limits.sessions_max: must be a whole number",
        ),
        ("UPDATE settings SET value = 1", 1231, "must be"),
        (
            "SET GLOBAL balance.policy = fewest_session",
            1231,
            "did you mean \"fewest_sessions\"?",
        ),
        (
            "SET GLOBAL limits.sesions_max = 1",
            1231,
            "did you mean \"limits.sessions_max\"?",
        ),
        ("UPDATE settings SET about = 'x'", 1348, "cannot be set"),
        ("DELETE FROM settings", 1348, "value = NULL"),
        (
            "INSERT INTO settings (name, value) VALUES ('a', 'b')",
            1348,
            "UPDATE settings",
        ),
        (
            "INSERT INTO backends (weight) VALUES (1)",
            1231,
            "backend.address: is missing",
        ),
        (
            "INSERT INTO backends (address, weight) VALUES ('a:1', 1), ('b:1', 0)",
            1231,
            "backend.weight: must be from 1",
        ),
        (
            "INSERT INTO backends (address) VALUES ('a:1'), ('a:1')",
            1231,
            "is given twice",
        ),
        (
            "INSERT INTO backends (address, state) VALUES ('a:1', 'up')",
            1348,
            "says how things are",
        ),
        (
            "INSERT INTO backends (adress) VALUES ('a:1')",
            1054,
            "adress",
        ),
        (
            "UPDATE backends SET address = 'a:70000'",
            1231,
            "backend.address",
        ),
        (
            "UPDATE backends SET role = 'boss'",
            1231,
            "backend.role: must be one of",
        ),
        (
            "UPDATE backends SET weight = 2 RETURNING name",
            1064,
            "RETURNING",
        ),
        ("DELETE FROM backends", 1231, "there is no backend"),
        (
            "INSERT INTO rules (rule, regex, refuse) VALUES ('a', '(', 'x')",
            1231,
            "rule.regex",
        ),
        (
            "INSERT INTO rules (rule, backend) VALUES ('a', 'nowhere')",
            1231,
            "rule.backend",
        ),
        ("UPDATE rules SET hits = 0", 0, ""),
        (
            "INSERT INTO accounts (user, password) VALUES ('a', '…')",
            1231,
            "not one itself",
        ),
        (
            "UPDATE admin_accounts SET role = 'king'",
            1231,
            "admin_account.role",
        ),
        ("BEGIN; SAVE", 1064, "One statement"),
        ("SAVE TO '/etc/passwd'", 1142, ""),
        ("ROLLBACK TO SAVEPOINT x", 1064, "savepoints"),
    ] {
        if code == 0 {
            root.run(sql);
            continue;
        }
        assert_eq!(refused(&mut root, sql), code, "{sql}");
        let told = told(&mut root, sql);
        assert!(told.contains(words), "{sql}: {told}");
    }
    assert!(changes(&mut root).is_empty());
    assert_eq!(root.run("SELECT * FROM settings").texts(), before);
}

#[test]
fn who_may_look_may_not_change() {
    let watched = Watched::alone();
    let mut look = watched.look();
    for sql in [
        "UPDATE settings SET value = 5 WHERE name = 'limits.sessions_max'",
        "SET GLOBAL limits.sessions_max = 5",
        "INSERT INTO backends (address) VALUES ('a:1')",
        "DELETE FROM rules",
        "UPDATE admin_accounts SET role = 'admin'",
        "SAVE",
        "REVERT",
    ] {
        assert_eq!(refused(&mut look, sql), 1142, "{sql}");
    }
    // Whoever has been one, is none as soon as that is said.
    let mut root = watched.root();
    root.run("INSERT INTO admin_accounts (user, password, role) VALUES ('boss', 'b', 'admin')");
    let mut boss = watched.connect(&Login::with("boss", "b"));
    boss.run("SET GLOBAL limits.sessions_max = 5000");
    root.run("UPDATE admin_accounts SET role = 'stats' WHERE user = 'boss'");
    assert_eq!(
        refused(&mut boss, "SET GLOBAL limits.sessions_max = 5"),
        1142
    );
    assert_eq!(boss.value("SELECT count(*) FROM admin_accounts"), "2");
}

#[test]
fn nobody_locks_himself_out() {
    let watched = Watched::alone();
    let mut root = watched.root();
    root.run("INSERT INTO admin_accounts (user, password, role) VALUES ('boss', 'b', 'admin')");
    for sql in [
        "SET GLOBAL admin.username = 'other'",
        "SET GLOBAL admin.address = '[]'",
    ] {
        assert_eq!(refused(&mut root, sql), 1231, "{sql}");
    }
    let mut boss = watched.connect(&Login::with("boss", "b"));
    assert!(told(&mut boss, "DELETE FROM admin_accounts").contains("boss could change nothing"));
    // A password of one's own may change.
    root.run("SET GLOBAL admin.password = 'new'");
    watched.connect(&Login::with("root", "new"));
}

#[test]
fn passwords_go_in_and_never_come_out() {
    let watched = Watched::alone();
    let mut root = watched.root();
    root.run("INSERT INTO admin_accounts (user, password) VALUES ('eve', 'verysecret')");
    root.run("INSERT INTO accounts (user, password) VALUES ('app', 'verysecret')");
    root.run("UPDATE accounts SET password = 'verysecret2' WHERE user = 'app'");
    let mut eve = watched.connect(&Login::with("eve", "verysecret"));
    for table in [
        "accounts",
        "admin_accounts",
        "settings",
        "variables",
        "proxy_config",
    ] {
        for row in eve.run(&format!("SELECT * FROM {table}")).texts() {
            assert!(!row.concat().contains("verysecret"), "{row:?}");
        }
    }
    assert!(!format!("{:?}", changes(&mut root)).contains("verysecret"));
    assert!(
        !told(
            &mut root,
            "UPDATE accounts SET password = 'file:verysecret'"
        )
        .is_empty()
    );
    root.run("SAVE");
    let log = watched
        .proxy
        .log()
        .replace("file:verysecret", "")
        .replace("/verysecret", "");
    assert!(!log.contains("verysecret"), "{log}");
}

#[test]
fn a_transaction_is_one_change() {
    let watched = Watched::alone();
    let (mut root, mut other) = (watched.root(), watched.root());
    let [one, two] = [free_port(), free_port()].map(|port| format!("127.0.0.1:{port}"));
    root.run("BEGIN");
    // By itself this could not be.
    root.run("DELETE FROM backends");
    root.run(&format!(
        "INSERT INTO backends (address, name) VALUES ('{one}', 'one')"
    ));
    root.run("UPDATE backends SET weight = 7, tags = 'a, b' WHERE name = 'one'");
    root.run(&format!(
        "UPDATE backends SET address = '{two}', name = 'two' WHERE weight = 7"
    ));
    root.run("INSERT INTO accounts (user, password) VALUES ('new', 'x')");
    root.run("UPDATE accounts SET db = 'shop' WHERE user = 'new'");
    let seen = root.run("SELECT name, weight, tags FROM backends").texts();
    assert_eq!(seen, [["two", "7", r#"["a", "b"]"#]]);
    assert_eq!(root.value("SELECT db FROM accounts"), "shop");
    assert!(changes(&mut root).iter().all(|row| row[3] == "at COMMIT"));
    assert_eq!(
        other.value("SELECT count(*) FROM backends WHERE name = 'two'"),
        "0"
    );
    assert_eq!(refused(&mut root, "SAVE"), 1064);
    root.run("COMMIT");
    let seen = other
        .run("SELECT name, address, weight FROM backends")
        .texts();
    assert_eq!(seen, [["two", &two, "7"]]);
    // What does not fit together is given up as a whole.
    root.run("BEGIN");
    root.run("UPDATE backends SET weight = 8");
    root.run("DELETE FROM backends");
    assert_eq!(refused(&mut root, "COMMIT"), 1231);
    assert_eq!(other.value("SELECT weight FROM backends"), "7");
    root.run("START TRANSACTION");
    root.run("UPDATE backends SET weight = 9");
    root.run("ROLLBACK");
    assert_eq!(root.value("SELECT weight FROM backends"), "7");
}

#[test]
fn two_at_once_lose_nothing() {
    let watched = Watched::alone();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut root = watched.root();
                for _ in 0..10 {
                    let add = "UPDATE backends SET weight = weight + 1";
                    // One that was overtaken too often says so.
                    while root
                        .query(add)
                        .error()
                        .is_some_and(|error| error.code == 1213)
                    {}
                }
            });
        }
    });
    assert_eq!(watched.root().value("SELECT weight FROM backends"), "41");
    let (mut one, mut two) = (watched.root(), watched.root());
    one.run("BEGIN");
    one.run("UPDATE backends SET weight = 1");
    two.run("UPDATE backends SET weight = 5");
    assert_eq!(refused(&mut one, "COMMIT"), 1213);
    assert_eq!(one.value("SELECT weight FROM backends"), "5");
}

#[test]
fn what_somebody_else_wrote_is_not_overwritten() {
    let watched = Watched::alone();
    let mut root = watched.root();
    root.run("SET GLOBAL limits.sessions_max = 700");
    let file = watched.proxy.config_file();
    let text = std::fs::read_to_string(&file).unwrap();
    watched.proxy.write_settings(&format!("# Mine.\n{text}"));
    assert!(told(&mut root, "SAVE").contains("changed by somebody else"));
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .starts_with("# Mine.")
    );
    root.run("REVERT");
    assert_eq!(value(&mut root, "limits.sessions_max"), "20000");
    root.run("SET GLOBAL limits.sessions_max = 701");
    root.run("SAVE");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# Mine.") && text.contains("sessions_max = 701"),
        "{text}"
    );
    std::fs::remove_file(&file).unwrap();
    assert!(told(&mut root, "SAVE").contains("cannot be read"));
    assert!(told(&mut root, "REVERT").contains("cannot be read"));
    assert_eq!(value(&mut root, "limits.sessions_max"), "701");
}

#[test]
fn a_file_that_cannot_be_written_is_told() {
    let port = free_port();
    let settings = Settings::default().backend(format!("127.0.0.1:{}", free_port()));
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let settings = match is_root {
        true => settings.set("user", "nobody"),
        false => settings,
    };
    let watched = Watched {
        proxy: e2e::Proxy::start(&settings.admin_on(port)),
        port,
    };
    let file = watched.proxy.config_file();
    let folder = file.parent().unwrap();
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o555)).unwrap();
    let before = std::fs::read_to_string(&file).unwrap();
    let mut root = watched.root();
    root.run("SET GLOBAL limits.sessions_max = 700");
    assert!(told(&mut root, "SAVE").contains("cannot be written"));
    assert_eq!(changes(&mut root).len(), 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn at_a_reload_the_file_wins() {
    let watched = Watched::alone();
    let mut root = watched.root();
    root.run("SET GLOBAL limits.sessions_max = 700");
    watched.proxy.signal(e2e::Signal::HUP);
    watched.proxy.wait_logged(&["configuration is reloaded"]);
    watched
        .proxy
        .wait_logged(&["not saved is given up", "20000 becomes 700"]);
    assert!(changes(&mut root).is_empty());
    assert_eq!(value(&mut root, "limits.sessions_max"), "20000");
}

#[test]
fn what_the_command_line_says_is_not_changed() {
    let port = free_port();
    let backend = free_port();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.toml");
    let text = format!(
        "[admin]\naddress = \"127.0.0.1:{port}\"\nusername = \"root\"\npassword = \"all\"\n"
    );
    std::fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    let proxy = e2e::Proxy::start_with(&[
        "-c",
        &file,
        "--listen",
        "127.0.0.1:{port}",
        "--backend",
        &format!("127.0.0.1:{backend}"),
        "--limits-sessions-max",
        "50",
    ]);
    let watched = Watched { proxy, port };
    let mut root = watched.root();
    for sql in [
        "SET GLOBAL limits.sessions_max = 60",
        "UPDATE backends SET weight = 2",
        "DELETE FROM backends",
    ] {
        assert!(told(&mut root, sql).contains("command line"), "{sql}");
    }
    root.run("SET GLOBAL limits.timeout_login = 20s");
    root.run("SAVE");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("[limits]\ntimeout_login = \"20s\"\n"),
        "{text}"
    );
    assert!(!text.contains("sessions_max"), "{text}");
}

#[test]
fn without_a_file_all_can_be_changed_and_nothing_saved() {
    let port = free_port();
    let proxy = e2e::Proxy::start_with(&[
        "--listen",
        "127.0.0.1:{port}",
        "--backend",
        &format!("127.0.0.1:{}", free_port()),
        "--admin-address",
        &format!("127.0.0.1:{port}"),
        "--admin-username",
        "root",
        "--admin-password",
        "all",
    ]);
    let watched = Watched { proxy, port };
    let mut root = watched.root();
    root.run("UPDATE backends SET weight = 2");
    root.run("INSERT INTO backends (address, role) VALUES ('127.0.0.1:1', 'replica')");
    assert!(told(&mut root, "SAVE").contains("without a file"));
    root.run("REVERT");
    assert_eq!(root.run("SELECT weight FROM backends").texts(), [["1"]]);
    watched.connect(&Login::with("root", "all"));
}

#[test]
fn what_a_value_says_makes_no_other_setting() {
    let watched = Watched::alone();
    let mut root = watched.root();
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
    let name = "a]\"'\\ # [b";
    let text = "x\"'\n[[admin_account]]\nuser = \"eve\"\npassword = \"e\"\n#\'\'\'\"\"\"";
    root.run(&format!(
        "INSERT INTO rules (rule, digest, refuse) VALUES ({}, 'SELECT a, b', {})",
        quoted(name),
        quoted(text)
    ));
    root.run("UPDATE rules SET set_tag = 't', tables = '[\"a]b\"]' WHERE refuse LIKE '%eve%'");
    let shown = [[name, text, "t"]];
    for sql in ["SELECT 1", "SAVE", "REVERT"] {
        root.run(sql);
        let found = root.run("SELECT rule, refuse, set_tag FROM rules").texts();
        assert_eq!(found, shown);
        assert_eq!(root.value("SELECT count(*) FROM admin_accounts"), "1");
    }
    root.run(&format!("DELETE FROM rules WHERE rule = {}", quoted(name)));
    assert_eq!(root.value("SELECT count(*) FROM rules"), "0");
}

#[test]
fn rules_take_effect_in_the_order_that_is_said() {
    let watched = Watched::pooled(Product::MariaDb);
    let mut root = watched.root();
    let mut client = watched.proxy.connect();
    client.run("SELECT 1");
    root.run("INSERT INTO rules (rule, regex, refuse) VALUES ('b', 'forbidden', 'by b')");
    root.run("INSERT INTO rules (rule, regex, refuse, place) VALUES ('a', 'forbidden', 'by a', 1)");
    let why = |client: &mut RawConn| {
        let found = || {
            let reply = client.query("SELECT 'forbidden'");
            reply.error().map(|error| error.text.clone())
        };
        wait::for_some("the rule holds", wait::SOON, found)
    };
    assert!(why(&mut client).contains("by a"));
    root.run("UPDATE rules SET place = 2 WHERE rule = 'a'");
    wait::until("they have changed places", wait::SOON, || {
        why(&mut client).contains("by b")
    });
    let order = root
        .run("SELECT place, rule FROM rules ORDER BY place")
        .texts();
    assert_eq!(order, [["1", "b"], ["2", "a"]]);
    root.run("DELETE FROM rules");
    wait::until("it is allowed", wait::SOON, || {
        client.query("SELECT 'forbidden'").error().is_none()
    });
}

#[test]
fn an_account_that_is_added_gets_in() {
    let watched = Watched::pooled(Product::MariaDb);
    let mut root = watched.root();
    let mut server = Server::shared(Product::MariaDb).root();
    server.run("CREATE USER IF NOT EXISTS by_sql@'%' IDENTIFIED BY 'its'");
    root.run("INSERT INTO accounts (user, password, mode) VALUES ('by_sql', 'its', 'transaction')");
    let login = Login::with("by_sql", "its");
    let mut client = watched.proxy.connect_as(&login);
    assert!(client.value("SELECT USER()").starts_with("by_sql@"));
    assert_eq!(
        root.value("SELECT mode FROM sessions WHERE user = 'by_sql'"),
        "transaction"
    );
    server.run("DROP USER by_sql@'%'");
}

#[test]
fn a_backend_comes_and_goes_under_load_and_no_client_notices() {
    let server = Server::shared(Product::MariaDb);
    let watched = Watched::pooled(Product::MariaDb);
    let mut root = watched.root();
    let ends = AtomicBool::new(false);
    let statements = |root: &mut RawConn| -> u64 {
        let asked = "SELECT ifnull(sum(statements), 0) FROM times WHERE backend = 'second'";
        root.value(asked).parse().unwrap()
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = watched.proxy.connect();
                while !ends.load(Ordering::Relaxed) {
                    assert_eq!(client.value("SELECT 1"), "1");
                }
            });
        }
        let socket = server.socket();
        root.run(&format!(
            "INSERT INTO backends (name, address, role) VALUES ('second', '{}', 'replica')",
            socket.display()
        ));
        wait::until("statements arrive", wait::SOON, || {
            statements(&mut root) > 100
        });
        root.run("UPDATE backends SET draining = 1 WHERE name = 'second'");
        let in_flight = "SELECT in_flight + (SELECT ifnull(sum(in_use), 0) FROM pools WHERE backend = 'second') \
                         FROM backends WHERE name = 'second'";
        wait::until("it is free", wait::SOON, || root.value(in_flight) == "0");
        let then = statements(&mut root);
        let all = "SELECT sum(statements) FROM times";
        let before: u64 = root.value(all).parse().unwrap();
        wait::until("others go on", wait::SOON, || {
            root.value(all).parse::<u64>().unwrap() > before + 100
        });
        assert_eq!(statements(&mut root), then);
        root.run("UPDATE backends SET draining = 0 WHERE name = 'second'");
        wait::until("it is used again", wait::SOON, || {
            statements(&mut root) > then + 100
        });
        root.run("DELETE FROM backends WHERE name = 'second'");
        let before: u64 = root.value(all).parse().unwrap();
        wait::until("others go on", wait::SOON, || {
            root.value(all).parse::<u64>().unwrap() > before + 100
        });
        ends.store(true, Ordering::Relaxed);
    });
    watched.proxy.assert_sound();
}

#[test]
fn what_happens_is_told_as_events() {
    let watched = Watched::pooled(Product::MariaDb);
    let mut root = watched.root();
    let mut look = watched.look();
    let mut events = |kind: &str, like: &str| {
        let sql =
            format!("SELECT subject, text, ifnull(user, '') FROM events WHERE kind = '{kind}'");
        let ask = || {
            let events = look.run(&sql).texts().into_iter();
            let mut events = events.filter(|it| it.concat().contains(like));
            events.next()
        };
        wait::for_some(&format!("{kind} {like}"), wait::SOON, ask)
    };
    root.run("SET GLOBAL admin.password = 'verysecret'");
    let told = events("change", "admin.password");
    assert!(
        told[2].starts_with("root@") && !told[1].contains("verysecret"),
        "{told:?}"
    );
    let port = free_port();
    root.run(&format!(
        "INSERT INTO backends (name, address) VALUES ('gone', '127.0.0.1:{port}')"
    ));
    assert_eq!(
        events("change", "gone")[1],
        format!("127.0.0.1:{port} is new")
    );
    assert_eq!(events("backend", "has come"), ["gone", "has come", ""]);
    assert!(events("backend", "is down")[1].contains("refused"));
    root.run("UPDATE backends SET drain = 1 WHERE name = 'gone'");
    events("backend", "gets nothing new");
    root.run("DELETE FROM backends WHERE name = 'gone'");
    events("backend", "has gone");
    root.run("SAVE");
    assert_eq!(
        events("file", "is written")[0],
        watched.proxy.config_file().display().to_string()
    );
    watched.proxy.write_settings("nonsense");
    watched.proxy.signal(e2e::Signal::HUP);
    assert!(events("file", "is faulty")[1].contains("is no TOML"));
    let client = watched.proxy.connect();
    root.run(&format!("KILL {}", client.id));
    assert_eq!(events("kill", &client.id.to_string())[1], "it is ended");
    root.run("FLUSH STATUS");
    events("reset", "status");
}

#[test]
fn counts_begin_again_when_told_to() {
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 4)
        .set("workers", 2)
        .rule("all", &[("log", "false"), ("stop", "false")]);
    let watched = Watched::start(settings);
    let mut root = watched.root();
    let mut client = watched.proxy.connect();
    for _ in 0..20 {
        client.run("SELECT 1");
    }
    let counted =
        "SELECT (SELECT sum(hits) FROM rules) > 0, (SELECT sum(statements) FROM times) > 0";
    assert_eq!(root.run(counted).texts(), [["1", "1"]]);
    assert_eq!(refused(&mut watched.look(), "FLUSH STATUS"), 1227);
    root.run("FLUSH STATUS");
    assert_eq!(root.value("SELECT sum(hits) FROM rules"), "0");
    assert_eq!(root.value("SELECT count(*) FROM times"), "0");
    client.run("SELECT 1");
    assert_eq!(root.value("SELECT sum(hits) FROM rules"), "1");
    assert_eq!(root.value("SELECT sum(statements) FROM times"), "1");
}

#[test]
fn the_habits_of_proxysql_work_where_they_mean_the_same() {
    let watched = Watched::alone();
    let (mut root, mut other) = (watched.root(), watched.root());
    root.run("USE main");
    let names = "SELECT group_concat(comment, ' ') FROM";
    let first = root.value("SELECT comment FROM mysql_servers");
    root.run("INSERT INTO mysql_servers (hostgroup_id, hostname, port, comment) VALUES (0, '127.0.0.1', 3307, 'b')");
    root.run("INSERT INTO mysql_servers VALUES (0, '::1', 3308, 0, 'OFFLINE_SOFT', 5, 0, 100, 0, 0, 0, 'c')");
    root.run("REPLACE INTO mysql_servers (hostgroup_id, hostname, port, weight, comment) VALUES (0, '127.0.0.1', 3307, 9, 'd')");
    // Everybody sees what waits, and nothing of it holds.
    assert_eq!(
        other.value(&format!("{names} mysql_servers")),
        format!("{first} c d")
    );
    assert_eq!(
        other.value(&format!("{names} runtime_mysql_servers")),
        first
    );
    assert!(
        changes(&mut root)
            .iter()
            .all(|row| row[3] == "at LOAD … TO RUNTIME")
    );
    assert!(told(&mut root, "SAVE MYSQL SERVERS TO DISK").contains("LOAD MYSQL SERVERS"));
    root.run("LOAD MYSQL SERVERS TO RUNTIME");
    assert_eq!(
        other.value(&format!("{names} runtime_mysql_servers")),
        format!("{first} c d")
    );
    let seen =
        "SELECT name, address, weight, draining, sessions_max FROM backends WHERE name = 'c'";
    assert_eq!(
        other.run(seen).texts(),
        [["c", "[::1]:3308", "5", "1", "100"]]
    );
    // A list may be empty as long as it waits.
    root.run("DELETE FROM mysql_servers");
    assert_eq!(refused(&mut root, "LOAD MYSQL SERVERS TO RUNTIME"), 1231);
    root.run("SAVE MYSQL SERVERS TO MEMORY");
    assert_eq!(root.value("SELECT count(*) FROM mysql_servers"), "3");
    root.run("UPDATE mysql_servers SET status = 'ONLINE', weight = weight + 1 WHERE port = 3308");
    root.run("DELETE FROM mysql_servers WHERE hostname = '127.0.0.1' AND port = 3307");
    root.run("LOAD MYSQL SERVERS TO RUN");
    root.run("SAVE MYSQL SERVERS TO DISK");
    assert!(changes(&mut root).is_empty());
    let text = std::fs::read_to_string(watched.proxy.config_file()).unwrap();
    assert!(
        text.contains("name = \"c\"") && !text.contains("name = \"d\""),
        "{text}"
    );
    for statement in [
        "LOAD MYSQL USERS TO RUNTIME",
        "SAVE MYSQL VARIABLES TO DISK",
    ] {
        root.run(statement);
    }
    for (sql, code, words) in [
        (
            "SELECT * FROM mysql_query_rules_fast_routing",
            1146,
            "`rules`",
        ),
        (
            "UPDATE mysql_servers SET use_ssl = 1",
            1231,
            "backend_tls.mode",
        ),
        (
            "UPDATE mysql_servers SET status = 'SHUNNED'",
            1231,
            "OFFLINE_HARD",
        ),
        (
            "UPDATE mysql_servers SET hostgroup_id = 7",
            1231,
            "INSERT INTO backends",
        ),
        (
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES (0, '::1', 3308)",
            1062,
            "",
        ),
        ("UPDATE runtime_mysql_servers SET weight = 1", 1142, ""),
        ("LOAD MYSQL SERVERS FROM DISK", 1064, "REVERT"),
    ] {
        assert_eq!(refused(&mut root, sql), code, "{sql}");
        assert!(told(&mut root, sql).contains(words), "{sql}");
    }
    assert_eq!(
        refused(&mut watched.look(), "DELETE FROM mysql_servers"),
        1142
    );
    assert_eq!(
        refused(&mut watched.look(), "LOAD MYSQL SERVERS TO RUNTIME"),
        1142
    );
}

#[test]
fn what_waits_is_forgotten_aloud_and_never_stands_in_the_way() {
    let watched = Watched::alone();
    let (mut root, mut other) = (watched.root(), watched.root());
    let waiting = "SELECT count(*) FROM main.mysql_servers WHERE weight = 7";
    let forgotten = "SELECT text FROM events WHERE subject LIKE 'LOAD %' ORDER BY id DESC LIMIT 1";
    root.run(
        "INSERT INTO backends (name, address) VALUES ('b', '127.0.0.1:1'), ('c', '127.0.0.1:2')",
    );
    root.run("SAVE");
    root.run("UPDATE main.mysql_servers SET weight = 7 WHERE comment = 'b'");
    assert_eq!(other.value(waiting), "1");
    // What it was about is gone: whoever asks first is told what there is.
    other.run("DELETE FROM backends WHERE name = 'b'");
    assert!(changes(&mut root).iter().all(|row| row[3] == "now"));
    assert!(root.value(forgotten).contains("(1): they fit no more"));
    root.run("REVERT");
    assert!(warnings(&mut root).is_empty());

    // Another's change between BEGIN and COMMIT is told as COMMIT would.
    root.run("BEGIN");
    root.run("UPDATE backends SET weight = 3 WHERE name = 'b'");
    other.run("DELETE FROM backends WHERE name = 'b'");
    assert_eq!(refused(&mut root, "SHOW CHANGES"), 1213);
    root.run("ROLLBACK");

    root.run("UPDATE main.mysql_servers SET weight = 7");
    root.run("REVERT");
    assert!(warnings(&mut root)[0].contains("(2): the file holds again"));
    assert_eq!(root.value(waiting), "0");
    root.run("UPDATE main.mysql_servers SET weight = 7");
    watched.proxy.signal(e2e::Signal::HUP);
    wait::until("the file is read again", wait::SOON, || {
        let told = rows(
            &mut other,
            "SELECT user FROM events WHERE text LIKE '%(3): the file holds again'",
        );
        !told.is_empty()
    });
    assert_eq!(root.value(waiting), "0");
}

#[test]
fn rules_of_one_statement_stand_by_their_numbers() {
    let watched = Watched::alone();
    let mut root = watched.root();
    root.run("USE main");
    let add = |ids: &str| {
        let rows: Vec<_> = ids
            .split(' ')
            .map(|id| {
                format!("({id}, 1, '^SELECT (.) (?P<what>.)', 'SELECT $, \\\\1, \\\\g<what>', 1)")
            })
            .collect();
        format!(
            "INTO mysql_query_rules (rule_id, active, match_pattern, replace_pattern, apply) VALUES {}",
            rows.join(", ")
        )
    };
    root.run(&format!("INSERT {}", add("10")));
    root.run(&format!("INSERT {}", add("30 5 7 20 NULL NULL")));
    root.run(&format!("REPLACE {}", add("7 30 6")));
    // What is shown means what it was made of.
    root.run(
        "UPDATE mysql_query_rules SET replace_pattern = replace_pattern || ' ' WHERE rule_id < 20",
    );
    root.run("LOAD MYSQL QUERY RULES TO RUNTIME");
    let names =
        root.value("SELECT group_concat(rule, ' ') FROM (SELECT rule FROM rules ORDER BY place)");
    assert_eq!(names, "5 6 7 10 20 30 31 32");
    let templates = rows(&mut root, "SELECT DISTINCT trim(rewrite) AS it FROM rules");
    let templates: Vec<_> = templates.iter().map(|row| &*row["it"]).collect();
    assert_eq!(templates, ["SELECT $$, ${1}, ${what}"]);
}

#[test]
fn users_rules_and_variables_wait_as_proxysqls_do_each_for_its_own_load() {
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 4);
    let watched = Watched::start(settings.set("workers", 2));
    let (mut root, mut other) = (watched.root(), watched.root());
    root.run("USE main");
    root.run(
        "INSERT INTO mysql_users (username, password, active, default_hostgroup, max_connections) \
         VALUES ('batch', 'its password', 1, 0, 10)",
    );
    let hash = "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19";
    root.run(&format!(
        "INSERT INTO mysql_users (username, password, fast_forward) VALUES ('hashed', '{hash}', 1)"
    ));
    root.run(
        "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, replace_pattern, apply, comment) \
         VALUES (20, 1, '^SELECT (\\\\d+) AS turned$', 'SELECT -\\\\1 AS turned', 1, 'turn')",
    );
    root.run(
        "INSERT INTO mysql_query_rules (rule_id, active, username, client_addr, match_digest, error_msg, apply) \
         VALUES (10, 1, 'app', '127.0.%', '^DROP', 'not here', 1)",
    );
    root.run(
        "UPDATE global_variables SET variable_value = '5000' \
         WHERE variable_name = 'mysql-connect_timeout_client'",
    );
    // Everybody sees what waits, and nothing of it holds.
    let users = "SELECT group_concat(username, ' ') FROM";
    let mine = "WHERE username IN ('batch', 'hashed')";
    let rules = "SELECT group_concat(rule_id, ' ') FROM";
    assert_eq!(
        other.value(&format!("{users} mysql_users {mine}")),
        "batch hashed"
    );
    assert_eq!(
        other.value(&format!("{users} runtime_mysql_users {mine}")),
        ""
    );
    assert_eq!(other.value(&format!("{rules} mysql_query_rules")), "10 20");
    assert_eq!(
        other.value(&format!("{rules} runtime_mysql_query_rules")),
        ""
    );
    assert_eq!(value(&mut other, "limits.timeout_login"), "1m");
    assert!(told(&mut root, "SAVE MYSQL USERS TO DISK").contains("TO RUNTIME"));

    // Each module is loaded, or given up, by itself.
    root.run("LOAD MYSQL QUERY RULES TO RUNTIME");
    assert_eq!(
        other.value(&format!("{rules} runtime_mysql_query_rules")),
        "10 20"
    );
    assert_eq!(
        other.value(&format!("{users} runtime_mysql_users {mine}")),
        ""
    );
    let mut client = watched.proxy.connect();
    assert_eq!(client.value("SELECT 7 AS turned"), "-7");
    assert_eq!(refused(&mut client, "DROP TABLE nowhere.nothing"), 1227);
    root.run("SAVE MYSQL VARIABLES TO MEMORY");
    let login = "SELECT variable_value FROM global_variables \
         WHERE variable_name = 'mysql-connect_timeout_client'";
    assert_eq!(root.value(login), "60000");
    root.run("SET mysql-connect_timeout_client = 7000");
    let both = "SELECT @@mysql-connect_timeout_client, @@limits.timeout_login";
    assert_eq!(root.run(both).texts(), [["7000", "1m"]]);
    assert_eq!(refused(&mut root, "SET mysql-connect_timeout = 1"), 1193);
    root.run("LOAD MYSQL VARIABLES TO RUNTIME");
    assert_eq!(value(&mut other, "limits.timeout_login"), "7s");
    let compared =
        "SELECT name FROM settings WHERE name = 'LIMITS.Timeout_Login' AND value > 5 AND value < 8";
    assert_eq!(other.value(compared), "limits.timeout_login");
    root.run("LOAD MYSQL USERS TO RUNTIME");
    assert_eq!(
        other.value(&format!("{users} runtime_mysql_users {mine}")),
        "batch hashed"
    );
    assert!(changes(&mut root).iter().all(|row| row[3] == "now"));

    root.run("UPDATE mysql_query_rules SET rule_id = 5, apply = 0 WHERE comment = 'turn'");
    root.run("DELETE FROM mysql_query_rules WHERE rule_id = 10");
    root.run("UPDATE mysql_users SET password = 'another', use_ssl = 1 WHERE username = 'hashed'");
    root.run("DELETE FROM mysql_users WHERE username = 'batch'");
    root.run("LOAD MYSQL QUERY RULES TO RUN");
    root.run("LOAD MYSQL USERS TO RUN");
    let seen = "SELECT rule_id, apply, comment FROM runtime_mysql_query_rules";
    assert_eq!(other.run(seen).texts(), [["5", "0", "turn"]]);
    root.run("SAVE MYSQL USERS TO DISK");
    let text = std::fs::read_to_string(watched.proxy.config_file()).unwrap();
    assert!(
        text.contains("name = \"5 turn\"") && !text.contains("batch"),
        "{text}"
    );
    assert!(text.contains("another") && !text.contains(hash), "{text}");

    // No password comes out, by whichever table.
    for table in [
        "mysql_users",
        "runtime_mysql_users",
        "accounts",
        "settings",
        "global_variables",
        "events",
    ] {
        let shown = format!("{:?}", root.run(&format!("SELECT * FROM {table}")).texts());
        for secret in ["another", "its password", hash] {
            assert!(!shown.contains(secret), "{table}: {shown}");
        }
    }
    for (sql, code, words) in [
        ("UPDATE mysql_users SET active = 0", 1231, "deleted"),
        (
            "UPDATE mysql_users SET schema_locked = 1",
            1231,
            "no such lock",
        ),
        (
            "UPDATE mysql_users SET transaction_persistent = 0",
            1231,
            "stays",
        ),
        ("UPDATE mysql_users SET frontend = 0", 1231, "backend_user"),
        (
            "UPDATE mysql_users SET attributes = '{}'",
            1231,
            "no meaning",
        ),
        (
            "UPDATE mysql_users SET default_hostgroup = 7",
            1231,
            "no hostgroup",
        ),
        (
            "INSERT INTO mysql_users (username) VALUES ('app')",
            1062,
            "",
        ),
        (
            "UPDATE mysql_query_rules SET cache_ttl = 5",
            1231,
            "no cache",
        ),
        ("UPDATE mysql_query_rules SET flagIN = 5", 1231, "order"),
        (
            "UPDATE mysql_query_rules SET multiplex = 2",
            1231,
            "multiplex",
        ),
        (
            "UPDATE mysql_query_rules SET client_addr = '10.1%'",
            1231,
            "10.%",
        ),
        ("UPDATE mysql_query_rules SET re_modifiers = ''", 0, ""),
        (
            "UPDATE mysql_query_rules SET re_modifiers = 'GLOBAL'",
            1231,
            "(?-i)",
        ),
        (
            "INSERT INTO mysql_query_rules (rule_id) VALUES (1)",
            1231,
            "active",
        ),
        (
            "UPDATE main.global_variables SET variable_name = 'x' WHERE variable_name = 'mysql-threads'",
            1348,
            "variable_name",
        ),
        (
            "INSERT INTO global_variables VALUES ('mysql-x', '1')",
            1348,
            "settings",
        ),
        ("DELETE FROM global_variables", 1348, "settings"),
        ("UPDATE runtime_mysql_users SET active = 0", 1142, ""),
    ] {
        if code == 0 {
            root.run(sql);
            continue;
        }
        assert_eq!(refused(&mut root, sql), code, "{sql}");
        assert!(
            told(&mut root, sql).contains(words),
            "{sql}: {}",
            told(&mut root, sql)
        );
    }
    for sql in [
        "UPDATE mysql_users SET use_ssl = 0",
        "LOAD MYSQL USERS TO RUNTIME",
    ] {
        assert_eq!(refused(&mut watched.look(), sql), 1142, "{sql}");
    }
}
