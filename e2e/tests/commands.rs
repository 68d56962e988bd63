//! Every command that is neither a query nor a prepared statement's.

use e2e::Site;
use e2e::raw::{Login, Outcome, Shape, Transcript, capability, command};

scenario!(ping_is_answered on mariadb, mysql);
fn ping_is_answered(site: &Site) -> Transcript {
    let mut conn = site.connect();
    for _ in 0..3 {
        assert!(conn.command(command::PING, b"").error().is_none());
    }
    conn.transcript()
}

scenario!(init_db_changes_the_schema on mariadb, mysql);
fn init_db_changes_the_schema(site: &Site) -> Transcript {
    let mut conn = site.connect_as(&site.login().and(capability::SESSION_TRACK));
    conn.command(command::INIT_DB, b"mysql");
    assert_eq!(conn.value("SELECT DATABASE()"), "mysql");
    let reply = conn.command(command::INIT_DB, b"no_such_schema");
    assert_eq!(reply.error().unwrap().code, 1049);
    assert_eq!(conn.value("SELECT DATABASE()"), "mysql");
    conn.transcript()
}

scenario!(field_list_names_columns on mariadb, mysql);
fn field_list_names_columns(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    for without in [0, capability::DEPRECATE_EOF] {
        let mut conn = site.connect_as(&site.login().without(without));
        conn.run("CREATE TABLE IF NOT EXISTS t (a INT DEFAULT 5, ab VARCHAR(10), c INT)");
        for (table, wild) in [("t", ""), ("t", "a%"), ("t", "z"), ("missing", "")] {
            conn.send(format!("\x04{table}\0{wild}").as_bytes());
            conn.reply(Shape::Columns);
        }
        assert_eq!(conn.value("SELECT 1"), "1");
        transcript.extend(conn.transcript());
    }
    transcript
}

scenario!(statistics_are_one_packet_of_text on mariadb, mysql);
fn statistics_are_one_packet_of_text(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let reply = conn.unrecorded(|conn| {
        conn.send(&[command::STATISTICS]);
        conn.reply(Shape::Single)
    });
    assert!(matches!(&reply.outcomes[0], Outcome::Single(text) if text.starts_with(b"Uptime")));
    assert_eq!(conn.value("SELECT 1"), "1");
    conn.transcript()
}

scenario!(process_info_lists_sessions_or_is_unknown on mariadb, mysql);
fn process_info_lists_sessions_or_is_unknown(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let reply = conn.unrecorded(|conn| conn.command(command::PROCESS_INFO, b""));
    let mut transcript = conn.transcript();
    match reply.results().next() {
        Some(list) => transcript.note(format!("{} columns", list.columns.len())),
        None => transcript.note(format!("{:?}", reply.error())),
    }
    transcript
}

scenario!(debug_is_answered on mariadb, mysql);
fn debug_is_answered(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.command(command::DEBUG, b"");
    assert_eq!(conn.value("SELECT 1"), "1");
    conn.transcript()
}

scenario!(set_option_switches_multi_statements on mariadb, mysql);
fn set_option_switches_multi_statements(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    for without in [0, capability::DEPRECATE_EOF] {
        let without = without | capability::MULTI_STATEMENTS;
        let mut conn = site.connect_as(&site.login().without(without));
        assert!(conn.query("SELECT 1; SELECT 2").error().is_some());
        conn.command(command::SET_OPTION, &[0, 0]);
        assert_eq!(conn.run("SELECT 1; SELECT 2").results().count(), 2);
        conn.command(command::SET_OPTION, &[1, 0]);
        assert!(conn.query("SELECT 1; SELECT 2").error().is_some());
        conn.command(command::SET_OPTION, &[9, 0]);
        transcript.extend(conn.transcript());
    }
    transcript
}

scenario!(reset_connection_forgets_the_session on mariadb, mysql);
fn reset_connection_forgets_the_session(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT)");
    conn.run("SET @a = 1, SESSION sql_mode = 'ANSI'");
    conn.run("CREATE TEMPORARY TABLE tt (n INT)");
    let statement = conn.prepare("SELECT 1").statement();
    conn.run("BEGIN");
    conn.run("INSERT INTO t VALUES (1)");
    assert!(
        conn.command(command::RESET_CONNECTION, b"")
            .error()
            .is_none()
    );
    assert_eq!(
        conn.run("SELECT @a, COUNT(*) FROM t").texts(),
        [["NULL", "0"]]
    );
    assert_eq!(conn.query("SELECT * FROM tt").error().unwrap().code, 1146);
    let reply = conn.execute(&e2e::raw::Execute::new(statement, &[]));
    assert_eq!(reply.error().unwrap().code, 1243);
    conn.run("SELECT @@sql_mode, DATABASE()");
    conn.transcript()
}

scenario!(change_user_makes_a_new_session on mariadb, mysql);
fn change_user_makes_a_new_session(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("SET @a = 1");
    conn.change_user(&Login::with("other", "another password").schema("mysql"))
        .unwrap();
    let reply = conn.run("SELECT CURRENT_USER(), DATABASE(), @a");
    assert_eq!(reply.texts(), [["other@%", "mysql", "NULL"]]);
    conn.change_user(&Login::with("nopass", "")).unwrap();
    assert_eq!(
        conn.run("SELECT CURRENT_USER(), DATABASE()").texts(),
        [["nopass@%", "NULL"]]
    );
    conn.change_user(&site.login()).unwrap();
    assert_eq!(conn.value("SELECT DATABASE()"), site.schema);
    conn.transcript()
}

scenario!(change_user_switches_plugins on mariadb, mariadb_next, mysql except pooled: "an account whose password the proxy knows is examined by the greeting's plugin");
fn change_user_switches_plugins(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let mut change = |user: &str, plugin: &str| {
        let mut login = Login::user(user);
        login.plugin = Some(plugin.to_owned());
        conn.change_user(&login)
            .unwrap_or_else(|error| panic!("{user}, {plugin}: {error}"));
        assert_eq!(conn.value("SELECT CURRENT_USER()"), format!("{user}@%"));
        conn.login_path.clone()
    };
    if site.is_mariadb() {
        change("native", "mysql_native_password");
        let path = change("native", "mysql_clear_password");
        assert_eq!(path[0], "switch to mysql_native_password");
    } else {
        let path = change("sha2", "mysql_native_password");
        assert_eq!(path[0], "switch to caching_sha2_password");
        let path = change("sha256", "caching_sha2_password");
        assert_eq!(path[0], "switch to sha256_password");
        change("sha2", "caching_sha2_password");
    }
    // The steps of the login depend on the server's caches, so they are not compared.
    let mut transcript = Transcript::default();
    transcript.note("changed");
    transcript
}

/// Makes an account that no proxy has in its configuration, so only a backend can check its password.
fn create_stranger(site: &Site) -> Login {
    let user = format!("s{}", &site.schema[..site.schema.len().min(30)]);
    let mut root = site.server.root();
    root.run(&format!("DROP USER IF EXISTS {user}@'%'"));
    root.run(&format!("CREATE USER {user}@'%' IDENTIFIED BY 'strange'"));
    root.run(&format!("GRANT ALL ON *.* TO {user}@'%'"));
    let login = Login {
        user: user.clone(),
        ..site.login_as("app")
    };
    login.with_password("strange").schema(&site.schema)
}

scenario!(change_user_to_an_account_that_only_the_server_knows_and_back on mariadb, mysql except pooled_scripted: "what passes through would be out of the script's sight");
fn change_user_to_an_account_that_only_the_server_knows_and_back(site: &Site) -> Transcript {
    let stranger = create_stranger(site);
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (a INT)");
    conn.run("INSERT INTO t VALUES (1)");
    let who = format!(
        "SELECT CURRENT_USER() = '{}@%', DATABASE(), @a",
        stranger.user
    );
    for login in [&stranger, &site.login(), &stranger, &stranger] {
        conn.run("BEGIN");
        conn.run("UPDATE t SET a = a + 1");
        conn.run("SET @a = 1");
        conn.unrecorded(|conn| conn.change_user(login)).unwrap();
        conn.run(&who);
        conn.run("SELECT * FROM t");
        let id = conn.prepare("SELECT CURRENT_USER() = ?").statement();
        conn.execute(&e2e::raw::Execute::new(
            id,
            &[e2e::raw::Param::Text("app@%")],
        ));
        assert!(conn.command(command::PING, b"").error().is_none());
    }
    conn.transcript()
}

scenario!(a_failed_change_user_to_a_passed_through_account_gives_the_servers_error on mariadb, mysql except pooled_scripted: "what passes through would be out of the script's sight");
fn a_failed_change_user_to_a_passed_through_account_gives_the_servers_error(
    site: &Site,
) -> Transcript {
    let stranger = create_stranger(site);
    let mut conn = site.connect();
    let refused = conn
        .change_user(&stranger.clone().with_password("wrong"))
        .unwrap_err()
        .refusal();
    assert_eq!(refused.code, 1045);
    let next = conn.try_query("SELECT CURRENT_USER()");
    let user = next.ok().and_then(|reply| reply.text(0, 0));
    assert_eq!(user.as_deref(), site.is_mariadb().then_some("app@%"));
    let mut transcript = Transcript::default();
    transcript.note(refused.to_string());
    if site.is_mariadb() {
        conn.change_user(&stranger).unwrap();
        let user = conn.value("SELECT CURRENT_USER()");
        assert_eq!(user, format!("{}@%", stranger.user));
    }
    transcript
}

scenario!(a_failed_change_user_gives_the_servers_error on mariadb, mysql);
fn a_failed_change_user_gives_the_servers_error(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let refused = conn
        .change_user(&Login::with("other", "wrong"))
        .unwrap_err()
        .refusal();
    assert_eq!(refused.code, 1045);
    // After this error MySQL closes the connection. MariaDB continues as the previous user.
    let next = conn.try_query("SELECT CURRENT_USER()");
    let user = next.ok().and_then(|reply| reply.text(0, 0));
    assert_eq!(user.as_deref(), site.is_mariadb().then_some("app@%"));
    let mut transcript = Transcript::default();
    transcript.note(refused.to_string());
    transcript
}

scenario!(after_three_refused_changes_of_user_mariadb_takes_none on mariadb);
fn after_three_refused_changes_of_user_mariadb_takes_none(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let mut transcript = Transcript::default();
    for password in [
        "wrong",
        "wrong",
        "another password",
        "wrong",
        "another password",
    ] {
        let became = conn.change_user(&Login::with("other", password));
        transcript.note(match became {
            Ok(()) => "changed".to_owned(),
            Err(error) => error.refusal().to_string(),
        });
    }
    assert_eq!(conn.value("SELECT CURRENT_USER()"), "other@%");
    transcript
}

scenario!(change_user_to_a_missing_schema_gives_the_servers_error on mariadb, mysql);
fn change_user_to_a_missing_schema_gives_the_servers_error(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let login = Login::with("other", "another password").schema("no_such_schema");
    let refused = conn.change_user(&login).unwrap_err().refusal();
    let mut transcript = Transcript::default();
    transcript.note(format!("{} {}", refused.code, refused.text));
    transcript
}

scenario!(unknown_commands_get_the_servers_answer on mariadb, mysql);
fn unknown_commands_get_the_servers_answer(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    for byte in [0x00, 0x0B, 0x0F, 0x10, 0x14, 0x1D, 0x7F, 0xC0, 0xFF] {
        let mut conn = site.connect();
        conn.send(&[&[byte][..], b"whatever"].concat());
        let _ = conn.try_reply(Shape::Results);
        let _ = conn.try_query("SHOW WARNINGS");
        transcript.extend(conn.transcript());
    }
    transcript
}

scenario!(a_command_without_a_byte_gets_the_servers_answer on mariadb, mysql);
fn a_command_without_a_byte_gets_the_servers_answer(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.send(b"");
    let _ = conn.try_reply(Shape::Results);
    conn.transcript()
}

scenario!(
    quit_closes_the_connection on mariadb, mysql
    except pooled: "a pooled connection outlives the sessions it served"
);
fn quit_closes_the_connection(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let id = conn.unrecorded(|conn| conn.value("SELECT CONNECTION_ID()"));
    conn.quit();
    let mut root = site.server.root();
    let ask = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
    e2e::wait::until("the backend's connection is gone", e2e::wait::SOON, || {
        root.value(&ask) == "0"
    });
    Transcript::default()
}
