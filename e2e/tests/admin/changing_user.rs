//! COM_CHANGE_USER and COM_RESET_CONNECTION on the admin port, as pools of connectors use them.

use e2e::raw::{Login, RawConn, command};

use super::{Watched, refused};

#[test]
fn a_change_of_user_gives_the_new_users_privileges() {
    let watched = Watched::alone();
    let mut conn = watched.look();
    let id = conn.id.to_string();
    assert_eq!(refused(&mut conn, "RESET DIGESTS"), 1227);
    let statement = conn.prepare("SELECT 1").statement();
    for plugin in [None, Some("mysql_native_password".to_owned())] {
        let root = Login {
            plugin,
            ..Login::with("root", "all").schema("stats")
        };
        conn.change_user(&root).unwrap();
        assert_eq!(conn.value("SELECT USER()"), "root@127.0.0.1");
        assert_eq!(conn.value("SELECT DATABASE()"), "stats");
        assert_eq!(conn.value("SELECT CONNECTION_ID()"), id);
        conn.run("RESET DIGESTS");
        // The statement that was prepared before the change of user is gone.
        let gone = conn.command(command::STMT_EXECUTE, &execution(statement));
        assert_eq!(gone.error().unwrap().code, 1243);
        conn.run("BEGIN");
        conn.run("SET GLOBAL limits.sessions_max = 77");
        conn.change_user(&Login::with("look", "some")).unwrap();
        assert_eq!(conn.value("SELECT USER()"), "look@127.0.0.1");
        assert_eq!(conn.value("SELECT DATABASE()"), "pilotfish");
        assert_eq!(refused(&mut conn, "RESET DIGESTS"), 1227);
        let changes = conn.run("SHOW CHANGES");
        assert!(changes.texts().is_empty());
        let sessions_max = "SELECT value FROM settings WHERE name = 'limits.sessions_max'";
        assert_ne!(conn.value(sessions_max), "77");
    }
    watched
        .proxy
        .wait_event("admin_user_changed", &["before=\"root\""]);
}

/// An execution of a statement without parameters.
fn execution(statement: u32) -> Vec<u8> {
    [&statement.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat()
}

#[test]
fn a_failed_change_of_user_gives_an_error_and_ends_the_session() {
    let watched = Watched::alone();
    for (login, code) in [
        (Login::with("root", "some"), 1045),
        (Login::with("root", ""), 1045),
        (Login::with("nobody", "all"), 1045),
        (Login::with("root", "all").schema("nowhere"), 1049),
    ] {
        let mut conn = watched.look();
        let refusal = conn.change_user(&login).unwrap_err().refusal();
        assert_eq!(refusal.code, code, "{} {}", login.user, refusal.text);
        assert!(conn.try_query("SELECT 1").is_err(), "{}", login.user);
    }
    // This is the password of another user.
    let mut conn = watched.look();
    conn.change_user(&Login::with("root", "all")).unwrap();
    watched
        .proxy
        .wait_event("admin_user_change_failed", &["\"nobody\""]);
}

#[test]
fn a_malformed_change_of_user_ends_the_session() {
    let watched = Watched::alone();
    let whole = b"root\0\x20aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaastats\0\x2d\0caching_sha2_password\0";
    for length in 0..whole.len() {
        let mut conn = watched.look();
        let mut payload = vec![command::CHANGE_USER];
        payload.extend(&whole[..length]);
        conn.send(&payload);
        // The server refuses the packet or asks for a password. The test does not wait for either.
        drop(conn);
    }
    let mut conn = watched.look();
    let reply = conn.command(command::CHANGE_USER, b"root");
    assert_eq!(reply.error().unwrap().code, 1043);
    assert!(conn.try_query("SELECT 1").is_err());
    assert_eq!(watched.look().value("SELECT 1"), "1");
    watched.proxy.assert_sound();
}

#[test]
fn a_reset_keeps_only_the_user_and_the_schema() {
    let watched = Watched::alone();
    let mut conn: RawConn = watched.root();
    conn.run("USE stats");
    conn.run("BEGIN");
    conn.run("SET GLOBAL limits.sessions_max = 77");
    let statement = conn.prepare("SELECT 1").statement();
    let reset = conn.command(command::RESET_CONNECTION, b"");
    assert!(reset.error().is_none());
    assert_eq!(conn.value("SELECT DATABASE()"), "stats");
    assert_eq!(conn.value("SELECT USER()"), "root@127.0.0.1");
    assert!(conn.run("SHOW CHANGES").texts().is_empty());
    let gone = conn.command(command::STMT_EXECUTE, &execution(statement));
    assert_eq!(gone.error().unwrap().code, 1243);
    // The session keeps the privileges of its user.
    conn.run("SET GLOBAL limits.sessions_max = 78");
    let changes = conn.run("SHOW CHANGES").texts();
    assert_eq!(changes[0][2], "78");
}
