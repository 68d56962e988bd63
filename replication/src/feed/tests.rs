//! A scripted replica, and the proxy's answers to it.

mod dumps;

use super::statement::{Statement, Value, read};

#[test]
fn statements_of_replicas_are_read() {
    let literal = |text: &str| Value::Literal(text.to_owned());
    assert_eq!(
        read("SET @slave_connect_state='0-1-5,1-2-7', @a := 7"),
        Statement::Set(vec![
            ("@slave_connect_state".to_owned(), literal("0-1-5,1-2-7")),
            ("@a".to_owned(), literal("7")),
        ])
    );
    assert_eq!(
        read("SET @master_binlog_checksum= @@global.binlog_checksum;"),
        Statement::Set(vec![(
            "@master_binlog_checksum".to_owned(),
            Value::System("binlog_checksum".to_owned())
        )])
    );
    assert_eq!(read("SET NAMES utf8mb4"), Statement::Set(Vec::new()));
    assert_eq!(
        read("select unix_timestamp()"),
        Statement::Select(vec![("unix_timestamp()".to_owned(), Value::Clock)])
    );
    assert_eq!(
        read("SELECT @@GLOBAL.SERVER_UUID LIMIT 1"),
        Statement::Select(vec![(
            "@@GLOBAL.SERVER_UUID".to_owned(),
            Value::System("server_uuid".to_owned())
        )])
    );
    assert_eq!(
        read("SHOW VARIABLES LIKE 'SERVER_ID'"),
        Statement::ShowVariable("server_id".to_owned())
    );
    for strange in [
        "",
        "SELECT",
        "SELECT 1 FROM t",
        "DROP TABLE t",
        "SHOW TABLES",
    ] {
        assert_eq!(read(strange), Statement::Unknown, "{strange}");
    }
}
