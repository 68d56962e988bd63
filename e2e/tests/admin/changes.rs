//! Changes of the configuration by SQL: one by one or in a transaction, saved or not, and never in part.

mod effects;
mod file;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::thread;

use e2e::free_port;
use e2e::raw::{Login, RawConn};

use super::{Watched, refused, rows};

/// The settings that differ from the file: name, value in the file, value now, and when the value takes effect.
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
fn a_setting_changes_at_once_and_save_writes_it_to_the_file() {
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
    // A setting that needs a restart keeps its new value until then.
    root.run("SET GLOBAL workers = 3");
    assert!(warnings(&mut root)[0].contains("needs a restart"));
    assert_eq!(value(&mut root, "workers"), "2");
    assert_eq!(changes(&mut root), [["workers", "2", "3", "at a restart"]]);
    root.run("UPDATE settings SET value = NULL WHERE name = 'limits.timeout_login'");
    assert_eq!(value(&mut root, "limits.timeout_login"), "10s");
    root.run("REVERT");
    // The running value equals the file's again, so there is no warning about a restart.
    assert!(warnings(&mut root).is_empty());
    assert!(changes(&mut root).is_empty());
    assert_eq!(value(&mut root, "limits.timeout_login"), "61s");
}

#[test]
fn an_invalid_change_is_refused_as_a_whole_with_the_reason() {
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
            "shows a state",
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
        ("BEGIN; SAVE", 1064, "one statement"),
        ("SAVE TO '/etc/passwd'", 1064, "SAVE writes the file"),
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
fn a_user_with_the_role_stats_cannot_change_settings() {
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
    let mut root = watched.root();
    root.run("DELETE FROM admin_accounts WHERE user = 'root'");
    assert!(warnings(&mut root)[0].contains("admin.username"));
    // An account that was an administrator loses its privileges as soon as the change is made.
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
fn an_administrator_cannot_remove_their_own_access() {
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
    // Administrators may change their own passwords.
    root.run("SET GLOBAL admin.password = 'new'");
    watched.connect(&Login::with("root", "new"));
}

#[test]
fn passwords_can_be_set_and_are_never_shown() {
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
    // Outside a transaction this statement would be refused.
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
    // If the settings do not fit together, the whole transaction is refused.
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
fn concurrent_updates_of_administrators_lose_no_change() {
    let watched = Watched::alone();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut root = watched.root();
                for _ in 0..10 {
                    root.run("UPDATE backends SET weight = weight + 1");
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
