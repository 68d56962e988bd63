//! When the proxy may answer a BEGIN without a server, and the session's state after the BEGIN has run.

use super::stage::{MARIADB_10, MYSQL, Stage, err, ok, rows};
use wire::StatusFlags;

const SERVERS: [sql::Server; 2] = [MYSQL, MARIADB_10];

#[test]
fn a_session_without_anything_of_its_own_begins_silently() {
    for server in SERVERS {
        let mut stage = Stage::new(server);
        stage.says("SELECT 1 FROM t", rows(1));
        assert!(stage.session.begins_silently());
        stage.says("SELECT 1 FROM t", rows(1).warnings(1));
        assert!(!stage.session.begins_silently(), "BEGIN may forget these");
        stage.says("SELECT 1 FROM t", rows(1));
        assert!(stage.session.begins_silently());
        stage.says("SELECT nonsense", err(1054));
        assert!(!stage.session.begins_silently());
    }
}

#[test]
fn transaction_settings_are_part_of_begin() {
    for (server, name) in [
        (MYSQL, "transaction_read_only"),
        (MARIADB_10, "tx_read_only"),
    ] {
        let mut stage = Stage::new(server);
        stage.says("SELECT 1 FROM t", rows(1));
        for (name, on, off) in [
            (name, "ON", "OFF"),
            ("completion_type", "CHAIN", "NO_CHAIN"),
        ] {
            stage.says(&format!("SET {name} = @x"), ok().var(name, on));
            assert!(!stage.session.begins_silently(), "{name}");
            stage.says(&format!("SET {name} = @x"), ok().var(name, off));
            assert!(stage.session.begins_silently(), "{name}");
        }
    }
}

#[test]
fn a_pinned_session_does_not_begin_silently() {
    for server in SERVERS {
        let mut stage = Stage::new(server);
        stage.says("CREATE TEMPORARY TABLE a (x INT)", ok().changed());
        assert!(!stage.session.begins_silently());
    }
}

#[test]
fn a_transaction_that_began_before_a_statement_pins_until_it_ends() {
    for server in SERVERS {
        let mut stage = Stage::new(server);
        stage.says("SELECT 1 FROM t", rows(1));
        stage.session.note_transaction_started();
        stage.says("SELECT nonsense", err(1054));
        assert_eq!(stage.pins(), "transaction");
        stage.says("COMMIT", ok());
        assert_eq!(stage.pins(), "");
        stage.session.note_transaction_started();
        stage.says("SELECT 1 FROM t", rows(1).status(StatusFlags::IN_TRANS));
        assert_eq!(stage.pins(), "transaction");
        stage.says("CREATE TABLE u (x INT)", ok());
        assert_eq!(stage.pins(), "", "it has committed");
    }
}
