//! The effect of filters on statements.

use binlog::{Query, put_statement, rewrite_query};
use config::{FilteredChange, ReplicationFilterConfig};
use route::Family;

use super::super::error::FilterError;
use super::super::policy::{ChangeOrigin, Policy};
use super::super::statement::{Fate, FilteredStatement};
use super::{drops, on};
use crate::position::Gtid;
use crate::tests::system;

const POST_HEADER: usize = 13;

/// The filtered form of a statement in schema `shop`: its text and its default schema, if the statement passes.
fn fate(
    settings: &[ReplicationFilterConfig],
    text: &str,
) -> Result<Option<(String, String)>, FilterError> {
    let policy = Policy::new(
        settings,
        &config::ScriptConfig::default(),
        &system(0).clock,
        Family::MySql,
    )
    .unwrap();
    policy.load_scripts()?;
    let mut plain = Vec::new();
    put_statement(&mut plain, POST_HEADER, b"");
    let body = rewrite_query(&plain, POST_HEADER, b"shop", text.as_bytes()).unwrap();
    let header = binlog::EventHeader {
        time: 0,
        event_type: binlog::EventType::QUERY,
        server_id: 1,
        length: 0,
        next_position: 0,
        flags: binlog::EventFlags(0),
    };
    let query = Query::decode(&body, POST_HEADER).unwrap();
    let statement = FilteredStatement {
        header: &header,
        body: (&body, POST_HEADER),
        query: &query,
        origin: ChangeOrigin {
            server_id: 1,
            domain: None,
        },
        gtid: &Gtid::Mariadb("0-1-1".parse().unwrap()),
    };
    let shown = |body: &[u8]| {
        let query = Query::decode(body, POST_HEADER).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Some((text(&query.text), text(query.schema)))
    };
    Ok(match statement.fate(&policy)? {
        Fate::Pass => shown(&body),
        Fate::Drop => None,
        Fate::Replace(body) => shown(&body),
    })
}

fn passes(settings: &[ReplicationFilterConfig], text: &str) -> bool {
    let found = fate(settings, text).unwrap();
    if let Some((found, schema)) = &found {
        assert_eq!((&**found, &**schema), (text, "shop"));
    }
    found.is_some()
}

#[test]
fn changes_of_objects_pass_or_are_dropped_with_their_tables() {
    let settings = [drops(&["shop.secret*", "hidden.*"], &[])];
    for text in [
        "CREATE TABLE orders (id INT)",
        "CREATE TABLE other.secrets (id INT)",
        "ALTER TABLE `orders` ADD COLUMN secrets INT",
        "CREATE INDEX i ON orders (id)",
        "CREATE DATABASE shop",
        "CREATE USER a IDENTIFIED BY 'x'",
        "BEGIN",
        "COMMIT",
        "SAVEPOINT a",
        "CREATE TABLE orders LIKE secrets",
    ] {
        assert!(passes(&settings, text), "{text}");
    }
    for text in [
        "CREATE TABLE secrets (id INT)",
        "ALTER TABLE `Secret` ADD COLUMN a INT",
        "TRUNCATE TABLE secrets",
        "DROP TABLE secrets, hidden.a",
        "CREATE INDEX i ON secrets (id)",
        "CREATE DATABASE hidden",
        "DROP DATABASE IF EXISTS hidden",
        "CREATE PROCEDURE hidden.p() SELECT 1",
        "CREATE VIEW hidden.v AS SELECT 1",
        "OPTIMIZE TABLE secrets",
    ] {
        assert!(!passes(&settings, text), "{text}");
    }
}

#[test]
fn kinds_of_changes_are_distinguished() {
    let code = [drops(&[], &[FilteredChange::Code])];
    assert!(passes(&code, "CREATE TABLE t (id INT)"));
    for text in [
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t BEFORE INSERT ON orders FOR EACH ROW SET @a = 1",
        "DROP EVENT e",
        "CREATE FUNCTION f() RETURNS INT RETURN 1",
    ] {
        assert!(!passes(&code, text), "{text}");
    }
    let accounts = [drops(&["mysql.*"], &[FilteredChange::Account])];
    for text in [
        "CREATE USER a",
        "GRANT SELECT ON shop.* TO a",
        "SET PASSWORD FOR a = 'x'",
        "DROP ROLE r",
    ] {
        assert!(!passes(&accounts, text), "{text}");
    }
    let truncate = [drops(&["shop.orders"], &[FilteredChange::Truncate])];
    assert!(!passes(&truncate, "TRUNCATE orders"));
    assert!(passes(&truncate, "DROP TABLE orders"));
}

#[test]
fn a_list_of_dropped_tables_is_left_with_those_that_replicas_have() {
    let settings = [drops(&["shop.secret"], &[])];
    let found = fate(&settings, "DROP TABLE `orders`,`secret`, other.`a``b`").unwrap();
    let (text, _) = found.unwrap();
    assert_eq!(text, "DROP TABLE IF EXISTS `shop`.`orders`, `other`.`a``b`");
    let mixed = fate(&settings, "RENAME TABLE orders TO secret").unwrap_err();
    assert!(matches!(mixed, FilterError::Mixed(_)), "{mixed}");
}

#[test]
fn names_change_in_statements_and_every_table_gets_its_schema() {
    let settings = [
        ReplicationFilterConfig {
            rename_table: Some("bills".to_owned()),
            ..on(&["shop.orders"])
        },
        ReplicationFilterConfig {
            rename_schema: Some("store".to_owned()),
            ..on(&["shop.*"])
        },
    ];
    for (text, expected) in [
        (
            "CREATE TABLE customers (id INT)",
            "CREATE TABLE `store`.`customers` (id INT)",
        ),
        (
            "ALTER TABLE shop . `orders` ADD COLUMN note TEXT /* of orders */",
            "ALTER TABLE `shop`.`bills` ADD COLUMN note TEXT /* of orders */",
        ),
        (
            "RENAME TABLE a TO b, other.c TO d",
            "RENAME TABLE `store`.`a` TO `store`.`b`, `other`.`c` TO `store`.`d`",
        ),
        (
            "CREATE TABLE a LIKE orders",
            "CREATE TABLE `store`.`a` LIKE `shop`.`bills`",
        ),
        (
            "CREATE TABLE a (id INT, FOREIGN KEY (id) REFERENCES customers (id))",
            "CREATE TABLE `store`.`a` (id INT, FOREIGN KEY (id) REFERENCES `store`.`customers` (id))",
        ),
        ("TRUNCATE TABLE orders", "TRUNCATE TABLE `shop`.`bills`"),
    ] {
        let (found, _) = fate(&settings, text).unwrap().unwrap();
        assert_eq!(found, expected);
    }
    let (text, schema) = fate(
        &settings,
        "CREATE DATABASE IF NOT EXISTS `shop` CHARSET utf8mb4",
    )
    .unwrap()
    .unwrap();
    assert_eq!(
        text,
        "CREATE DATABASE IF NOT EXISTS `store` CHARSET utf8mb4"
    );
    assert_eq!(schema, "store");
    let (_, schema) = fate(&settings, "DROP TABLE customers").unwrap().unwrap();
    assert_eq!(schema, "store");
    let refused = fate(&settings, "CREATE VIEW v AS SELECT * FROM other.t").unwrap_err();
    assert!(matches!(refused, FilterError::Code(_)), "{refused}");
}

#[test]
fn changes_of_rows_as_statements_are_refused_for_tables_with_filters() {
    let masked = ReplicationFilterConfig {
        columns_null: vec!["email".to_owned()],
        ..on(&["shop.customers"])
    };
    let settings = [masked, drops(&["shop.log"], &[FilteredChange::Insert])];
    for text in [
        "INSERT INTO customers VALUES (1, 'a@b')",
        "INSERT INTO orders SELECT * FROM customers",
        "UPDATE orders JOIN customers USING (id) SET a = email",
        "INSERT INTO orders SELECT * FROM log",
    ] {
        let refused = fate(&settings, text).unwrap_err();
        assert!(matches!(refused, FilterError::StatementFormat(_)), "{text}");
    }
    assert!(passes(&settings, "INSERT INTO orders VALUES (1)"));
    assert!(passes(&settings, "DELETE FROM log"));
    assert!(!passes(&settings, "INSERT INTO log VALUES (1)"));
}
