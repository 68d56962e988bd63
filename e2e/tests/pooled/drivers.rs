//! Statements that drivers and frameworks send at login: none of them pins, and the client gets the session
//! tracking that it has asked for.

use e2e::Site;
use e2e::raw::{Transcript, capability};

/// The recorded statements by driver; those of MariaDB Connector/J follow.
const LOGINS: &[(&str, &[&str])] = &[
    (
        "MySQL Connector/J",
        &[
            "/* mysql-connector-j-9.1.0 */SELECT  @@session.auto_increment_increment AS auto_increment_increment, \
             @@character_set_client AS character_set_client, @@character_set_connection AS character_set_connection, \
             @@character_set_results AS character_set_results, @@character_set_server AS character_set_server, \
             @@collation_server AS collation_server, @@collation_connection AS collation_connection, \
             @@init_connect AS init_connect, @@interactive_timeout AS interactive_timeout, @@license AS license, \
             @@lower_case_table_names AS lower_case_table_names, @@max_allowed_packet AS max_allowed_packet, \
             @@net_write_timeout AS net_write_timeout, @@sql_mode AS sql_mode, @@system_time_zone AS \
             system_time_zone, @@time_zone AS time_zone, @@wait_timeout AS wait_timeout",
            "SET character_set_results = NULL",
            "SET NAMES utf8mb4",
            "SET autocommit=1",
            "SET sql_mode='STRICT_TRANS_TABLES'",
        ],
    ),
    (
        "HikariCP",
        &[
            "SET SESSION TRANSACTION READ WRITE",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET autocommit=0",
            "SELECT 1",
            "COMMIT",
            "SET autocommit=1",
        ],
    ),
    (
        "go-sql-driver",
        &[
            "SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci",
            "SELECT @@max_allowed_packet",
            "SET time_zone='+00:00'",
        ],
    ),
    (
        "mysql2",
        &[
            "SET NAMES utf8mb4",
            "SELECT CONNECTION_ID() > 0",
            "SET time_zone = '+00:00'",
        ],
    ),
    ("PDO", &["SET NAMES utf8mb4", "SET AUTOCOMMIT=1"]),
    (
        "Laravel",
        &[
            "set names 'utf8mb4' collate 'utf8mb4_unicode_ci'",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "set time_zone=\"+00:00\"",
            "set names 'utf8mb4' collate 'utf8mb4_unicode_ci', SESSION sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,\
             NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
        ],
    ),
    (
        "Django",
        &[
            "SET SQL_AUTO_IS_NULL = 0",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SELECT @@sql_mode, @@default_storage_engine, @@sql_auto_is_null, @@lower_case_table_names, \
             CONVERT_TZ('2001-01-01 01:00:00', 'UTC', 'UTC') IS NOT NULL",
            "SET AUTOCOMMIT = 0",
            "COMMIT",
            "SET AUTOCOMMIT = 1",
        ],
    ),
    (
        "Rails",
        &[
            "SET  @@SESSION.sql_mode = CONCAT(CONCAT(@@SESSION.sql_mode, ',STRICT_ALL_TABLES'), \
             ',NO_AUTO_VALUE_ON_ZERO'),  @@SESSION.sql_auto_is_null = 0, @@SESSION.wait_timeout = 2147483",
            "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci,  @@SESSION.sql_mode = CONCAT(@@SESSION.sql_mode, \
             ',STRICT_ALL_TABLES'),  @@SESSION.wait_timeout = 2147483",
        ],
    ),
    (
        "SQLAlchemy",
        &[
            "SET NAMES utf8mb4",
            "SET AUTOCOMMIT = 0",
            "SELECT DATABASE()",
            "SELECT @@sql_mode",
            "SELECT @@lower_case_table_names",
            "SELECT CAST('test plain returns' AS CHAR(60)) AS anon_1",
            "ROLLBACK",
            "SET AUTOCOMMIT = 1",
        ],
    ),
    (
        ".NET",
        &[
            "SET NAMES utf8mb4;",
            "SELECT CONNECTION_ID() > 0, VERSION();",
            "SELECT @@max_allowed_packet, @@character_set_client, @@character_set_connection, @@license, \
             @@sql_mode, @@lower_case_table_names, @@autocommit;",
            "SET character_set_results=NULL",
        ],
    ),
];

const CONNECTOR_J: &[&[&str]] = &[
    &[
        "SET NAMES utf8mb4, session_track_schema=1, session_track_system_variables = \
         CONCAT(@@global.session_track_system_variables, ',tx_isolation'), autocommit=1, \
         sql_mode=CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES')",
        "SELECT @@max_allowed_packet, @@wait_timeout",
    ],
    &[
        "set session_track_schema=1",
        "set autocommit=1, session_track_schema=1, session_track_system_variables='autocommit,tx_isolation'",
        "SET session_track_transaction_info='CHARACTERISTICS', session_track_state_change=ON, NAMES latin1",
    ],
    &[
        "SET session_track_schema = OFF; SET NAMES latin1, time_zone = '+03:00', session_track_state_change = 0",
    ],
];

/// The state of the session, by its own queries and by the server's.
fn look(site: &Site, conn: &mut e2e::raw::RawConn) {
    conn.run(
        "SELECT @@session_track_schema, @@session_track_system_variables, @@session_track_state_change, \
         @@session_track_transaction_info",
    );
    site.assert_unpinned();
    conn.run(
        "SELECT @@character_set_client, @@character_set_results, @@collation_connection, @@autocommit, \
         @@sql_mode, @@time_zone, @@sql_auto_is_null, @@wait_timeout",
    );
    conn.run("SHOW SESSION VARIABLES LIKE '%isolation'");
    site.assert_unpinned();
}

shared!(statements_of_drivers_at_login_do_not_pin on mariadb, mariadb_next, mysql);
fn statements_of_drivers_at_login_do_not_pin(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    for (driver, statements) in LOGINS {
        let mut conn = site.connect_as(&site.login().and(capability::SESSION_TRACK));
        for sql in *statements {
            conn.query(sql);
            if !sql
                .to_ascii_lowercase()
                .replace(' ', "")
                .contains("autocommit=0")
            {
                site.assert_unpinned();
            }
        }
        look(site, &mut conn);
        transcript.note(*driver);
        transcript.extend(conn.transcript());
    }
    transcript
}

shared!(settings_of_session_tracking_do_not_pin on mariadb, mariadb_next, mysql);
fn settings_of_session_tracking_do_not_pin(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    for statements in CONNECTOR_J {
        let mut conn = site.connect_as(&site.login().and(capability::SESSION_TRACK));
        for sql in *statements {
            // MySQL has no tx_isolation. The tracking data of the reply itself depends on the order of the list.
            let sql = match site.is_mariadb() {
                true => (*sql).to_owned(),
                false => sql.replace("tx_isolation", "transaction_isolation"),
            };
            let reply = conn.unrecorded(|conn| conn.query(&sql));
            assert!(reply.error().is_none(), "{sql}: {reply:?}");
            site.assert_unpinned();
        }
        look(site, &mut conn);
        for change in [
            "USE mysql",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET time_zone = '+02:00'",
            "SET NAMES latin1",
            "SET autocommit = 1",
        ] {
            conn.run(change);
            site.assert_unpinned();
        }
        look(site, &mut conn);
        conn.run("SELECT DATABASE()");
        transcript.extend(conn.transcript());
    }
    transcript
}
