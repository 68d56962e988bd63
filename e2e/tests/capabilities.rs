//! Capabilities that a client may have or lack, and the form of the replies.

use e2e::Site;
use e2e::raw::Param::{Int, Null, Text};
use e2e::raw::{
    Execute, Outcome, RawConn, Reply, Shape, Transcript, capability, query_with_attributes,
};

use crate::data;

scenario!(results_end_as_the_client_wants on mariadb, mysql);
fn results_end_as_the_client_wants(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    for without in [0, capability::DEPRECATE_EOF] {
        let mut conn = site.connect_as(&site.login().without(without));
        assert_eq!(conn.can(capability::DEPRECATE_EOF), without == 0);
        conn.run("DROP TABLE IF EXISTS numbers");
        data::numbers(&mut conn, "numbers", 300);
        conn.run("SELECT * FROM numbers; SELECT * FROM numbers WHERE n = 0; DO 1");
        let id = conn
            .prepare("SELECT n, t FROM numbers WHERE n < ?")
            .statement();
        conn.execute(&Execute::new(id, &[Int(10)]));
        // A row that begins with 0xFE.
        conn.run("SELECT REPEAT('x', 70000), REPEAT('y', 17000000) IS NULL");
        conn.run("SHOW WARNINGS");
        transcript.extend(conn.transcript());
    }
    transcript
}

scenario!(metadata_may_be_left_out on mysql except scripted: "scripts read columns as they were");
fn metadata_may_be_left_out(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    for without in [0, capability::DEPRECATE_EOF] {
        let login = site
            .login()
            .and(capability::OPTIONAL_RESULTSET_METADATA)
            .without(without);
        let mut conn = site.connect_as(&login);
        assert!(conn.can(capability::OPTIONAL_RESULTSET_METADATA));
        conn.run("SELECT 1, 'with'");
        conn.run("SET resultset_metadata = NONE");
        let reply = conn.run("SELECT 2, 'without'");
        assert_eq!(reply.results().next().unwrap().columns.len(), 0);
        assert_eq!(reply.texts(), [["2", "without"]]);
        let id = conn.prepare("SELECT ?, 5").statement();
        conn.execute(&Execute::new(id, &[Int(10)]));
        conn.run("SELECT 1; SELECT 2 FROM (SELECT 1) AS t WHERE 0; DO 1");
        conn.run("SET resultset_metadata = FULL");
        conn.run("SELECT 3, 'with'");
        transcript.extend(conn.transcript());
    }
    transcript
}

scenario!(metadata_may_be_cached on mariadb, mariadb_next except pooled: "a server leaves out what its client has seen, and here clients take turns", scripted: "scripts read columns as they were");
fn metadata_may_be_cached(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    for without in [0, capability::DEPRECATE_EOF] {
        let login = site
            .login()
            .and(capability::CACHE_METADATA)
            .without(without);
        let mut conn = site.connect_as(&login);
        assert!(conn.can(capability::CACHE_METADATA));
        let id = conn.prepare("SELECT ? AS a, 'text' AS b").statement();
        let columns: Vec<usize> = (0..3)
            .map(|n| conn.execute(&Execute::new(id, &[Int(n)])))
            .map(|reply| reply.results().next().unwrap().columns.len())
            .collect();
        assert_eq!(columns[1..], [0, 0], "sent once only");
        conn.run("SELECT 1, 2");
        conn.execute(&Execute::new(id, &[Text("another type")]));
        transcript.extend(conn.transcript());
    }
    transcript
}

scenario!(columns_may_tell_more_of_their_types on mariadb, mariadb_next);
fn columns_may_tell_more_of_their_types(site: &Site) -> Transcript {
    let mut conn = site.connect_as(&site.login().and(capability::EXTENDED_METADATA));
    assert!(conn.can(capability::EXTENDED_METADATA));
    conn.run("CREATE TABLE t (j JSON, g GEOMETRY, u UUID, i INET6)");
    conn.run("INSERT INTO t VALUES ('{}', ST_GeomFromText('POINT(1 2)'), UUID(), '::1')");
    conn.run("SELECT j, g, i FROM t");
    conn.transcript()
}

/// Runs a statement that takes two seconds: it loads 20 rows of a file on the server, a tenth of a second each.
fn load_slowly(site: &Site, conn: &mut RawConn) -> Reply {
    let file = site.server.folder().join(&site.schema);
    let lines: String = (0..20)
        .map(|n| {
            format!(
                "{n}
"
            )
        })
        .collect();
    std::fs::write(&file, lines).unwrap();
    conn.run("CREATE TABLE t (n INT, s INT)");
    conn.run("SET progress_report_time = 1");
    let file = file.display();
    conn.unrecorded(|conn| {
        conn.run(&format!(
            "LOAD DATA INFILE '{file}' INTO TABLE t (n) SET s = SLEEP(0.1)"
        ))
    })
}

scenario!(progress_is_reported on mariadb, mariadb_next);
fn progress_is_reported(site: &Site) -> Transcript {
    let mut conn = site.connect_as(&site.login().and(capability::PROGRESS));
    assert!(conn.can(capability::PROGRESS));
    let reply = load_slowly(site, &mut conn);
    assert!(!reply.progress.is_empty(), "{reply:?}");
    assert!(matches!(
        reply.outcomes[0],
        Outcome::Ok { affected: 20, .. }
    ));
    assert_eq!(conn.value("SELECT COUNT(*) FROM t"), "20");
    conn.transcript()
}

scenario!(progress_is_reported_only_to_clients_with_the_capability on mariadb);
fn progress_is_reported_only_to_clients_with_the_capability(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let reply = load_slowly(site, &mut conn);
    assert!(matches!(
        reply.outcomes[0],
        Outcome::Ok { affected: 20, .. }
    ));
    conn.transcript()
}

scenario!(session_changes_are_tracked on mariadb, mysql except pooled: "a transaction's state is told relative to what was told before, to whomever");
fn session_changes_are_tracked(site: &Site) -> Transcript {
    const STATE_CHANGED: u16 = 0x4000;
    let mut conn = site.connect_as(&site.login().and(capability::SESSION_TRACK));
    // The list is not '*', because MySQL has a variable that counts the server's statements.
    conn.run("SET session_track_system_variables = 'time_zone,sql_mode,character_set_client'");
    conn.run("SET session_track_schema = ON, session_track_state_change = ON");
    conn.run("SET session_track_transaction_info = 'CHARACTERISTICS'");
    let reply = conn.run("USE mysql");
    assert!(reply.status() & STATE_CHANGED != 0);
    conn.run("SET NAMES latin1");
    conn.run("SET time_zone = '+01:00', sql_mode = ''");
    conn.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    conn.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
    conn.run("SELECT COUNT(*) FROM plugin");
    conn.run("COMMIT");
    conn.run("SET @user_variable = 1");
    conn.run("SELECT 1; USE information_schema; SELECT 2");
    let id = conn.prepare("SET time_zone = ?").statement();
    conn.execute(&Execute::new(id, &[Text("+02:00")]));
    conn.run("CREATE TEMPORARY TABLE mysql.tt (n INT)");
    conn.transcript()
}

scenario!(session_tracking_is_reported_only_to_clients_with_the_capability on mariadb, mysql);
fn session_tracking_is_reported_only_to_clients_with_the_capability(site: &Site) -> Transcript {
    let mut conn = site.connect();
    assert!(!conn.can(capability::SESSION_TRACK));
    conn.run("SET session_track_system_variables = '*'");
    conn.run("USE mysql");
    conn.run("SET NAMES latin1");
    conn.transcript()
}

scenario!(query_attributes_arrive on mysql);
fn query_attributes_arrive(site: &Site) -> Transcript {
    let mut conn = site.connect_as(&site.login().and(capability::QUERY_ATTRIBUTES));
    assert!(conn.can(capability::QUERY_ATTRIBUTES));
    let ask = "SELECT mysql_query_attribute_string('trace'), mysql_query_attribute_string('n')";
    conn.send(&query_with_attributes(
        &[("trace", Text("abc")), ("n", Int(7))],
        ask,
    ));
    assert_eq!(conn.reply(Shape::Results).texts(), [["abc", "7"]]);
    conn.send(&query_with_attributes(&[("trace", Null)], ask));
    assert_eq!(conn.reply(Shape::Results).texts(), [["NULL", "NULL"]]);
    assert_eq!(conn.run(ask).texts(), [["NULL", "NULL"]]);
    let id = conn
        .prepare("SELECT ?, mysql_query_attribute_string('trace')")
        .statement();
    let execute = Execute::new(id, &[Int(5)]).attribute("trace", Text("of a statement"));
    assert!(conn.execute(&execute).error().is_none());
    conn.transcript()
}

scenario!(
    connection_attributes_arrive on mariadb, mysql
    except pooled: "a connection keeps the attributes it was opened with, whoever uses it later"
);
fn connection_attributes_arrive(site: &Site) -> Transcript {
    let mut login = site.login();
    let long = "v".repeat(300);
    for (name, value) in [
        ("program_name", "e2e"),
        ("_client_name", "raw"),
        ("long", &long),
    ] {
        login.attributes.push((name.to_owned(), value.to_owned()));
    }
    let mut conn = site.connect_as(&login);
    let reply = conn.run(
        "SELECT attr_name, attr_value FROM performance_schema.session_connect_attrs \
         WHERE processlist_id = CONNECTION_ID() ORDER BY ordinal_position",
    );
    assert_eq!(reply.text(0, 1).unwrap(), "e2e");
    conn.transcript()
}

scenario!(the_collation_of_the_login_holds on mariadb, mysql);
fn the_collation_of_the_login_holds(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    for collation in [8, 33, 45, 63, 192] {
        let mut login = site.login();
        login.collation = collation;
        let mut conn = site.connect_as(&login);
        conn.run("SELECT @@character_set_client, @@collation_connection, 'größe'");
        transcript.extend(conn.transcript());
    }
    transcript
}

scenario!(an_old_client_is_served on mariadb, mysql except pooled: "a client without plugins is examined by the oldest one, which knows its password");
fn an_old_client_is_served(site: &Site) -> Transcript {
    // The fewest capabilities that servers accept: no plugins, no multiple statements or results.
    let mut login = site.login();
    login.capabilities =
        capability::PROTOCOL_41 | capability::SECURE_CONNECTION | capability::LONG_FLAG;
    if site.is_mariadb() {
        let mut conn = site.connect_as(&login);
        conn.run("SELECT 1, DATABASE()");
        conn.query("SELECT nonsense");
        return conn.transcript();
    }
    // MySQL's accounts need a plugin that this client does not have.
    let refused = RawConn::connect(&site.address, &login)
        .unwrap_err()
        .refusal();
    let mut transcript = Transcript::default();
    transcript.note(refused.to_string());
    transcript
}
