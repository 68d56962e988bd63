//! Values that the log sends in part, or as bytes, and columns whose names it does not send.

use super::*;

both! {
    rows_between_two_alter_tables_use_the_earlier_definition
}

/// The documents of a table, after each of these updates, as the server prints them.
fn documents(feed: &Feed, settings: &str, updates: &[&str]) -> Vec<String> {
    let mut root = feed.fed.primary.root();
    root.run("SET NAMES utf8mb4");
    root.run(settings);
    let updated = updates.iter().map(|update| {
        root.run(&format!("UPDATE shop.docs SET j = {update}"));
        root.value("SELECT j FROM shop.docs")
    });
    updated.collect()
}

#[test]
fn a_partial_json_update_gives_the_whole_document() {
    let feed = Feed::new(Product::MySql);
    let proxy = feed.fed.proxy();
    feed.run(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.docs (id INT PRIMARY KEY, j JSON)",
        "INSERT INTO shop.docs VALUES (1, '{\"a\": 1, \"b\": [1, \"x, ]\", {\"c\": null}], \"a b\": {}, \
         \"text\": \"long enough for changes to be shorter than the document\"}')",
    ]);
    let partial = "SET binlog_row_value_options = PARTIAL_JSON";
    let expected = documents(
        &feed,
        partial,
        &[
            "JSON_SET(j, '$.a', 99.5)",
            "JSON_SET(j, '$.b[1]', 'with \"quotes\" and \u{e9}')",
            "JSON_SET(j, '$.b[2].d', JSON_OBJECT('e', 1), '$.long_name', 2)",
            "JSON_REMOVE(j, '$.b[0]', '$.a')",
            "JSON_SET(j, '$.\"a b\".deeper', TRUE, '$.b[7]', 'at the end')",
        ],
    );
    let mut root = feed.fed.primary.root();
    root.run("SET binlog_row_image = MINIMAL");
    root.run(partial);
    root.run("UPDATE shop.docs SET j = JSON_SET(j, '$.long_name', 3)");
    let mut changes = feed.open("from=oldest&tables=shop.docs");
    let told = changes.until(|it| it["op"] == "u" && it["after"]["j"].is_object());
    let updates: Vec<_> = told.iter().filter(|it| it["op"] == "u").collect();
    let (last, whole) = updates.split_last().unwrap();
    let whole: Vec<_> = whole.iter().map(|it| &it["after"]["j"]).collect();
    assert_eq!(whole, expected.iter().collect::<Vec<_>>());
    // Without the document column, the log has the document's changes only.
    let change = json!([{"operation": "replace", "path": "$.long_name", "value": 3}]);
    assert_eq!(last["after"]["j"]["changes"], change);
    proxy.stop();
}

#[test]
fn vectors_of_mariadb_are_arrays_of_numbers() {
    let feed = Feed::new(Product::MariaDbNext);
    let proxy = feed.fed.proxy();
    feed.run(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.points (id INT PRIMARY KEY, v VECTOR(3), b VARBINARY(12), u UUID, i4 INET4)",
    ]);
    let mut changes = feed.open("from=oldest&tables=shop.points");
    for metadata in ["NO_LOG", "FULL"] {
        feed.run(&[
            &format!("SET GLOBAL binlog_row_metadata = {metadata}"),
            "INSERT INTO shop.points VALUES (1, VEC_FromText('[1,-2.5,0]'), 'plain', \
             '01890a5d-ac96-774b-bcce-b302099a8057', '10.0.0.0')",
            "DELETE FROM shop.points",
        ]);
        let told = changes.until(|it| it["op"] == "d");
        let expected = json!({
            "id": 1, "v": [1.0, -2.5, 0.0], "b": "cGxhaW4=", "u": "01890a5d-ac96-774b-bcce-b302099a8057",
            "i4": "10.0.0.0",
        });
        assert_eq!(told.last().unwrap()["before"], expected, "{metadata}");
    }
    proxy.stop();
}

/// A server logs the numbers that it takes from a sequence as a row of a table.
fn changes_of_a_sequence_have_its_values(product: Product, statement: &str, maximum: u64) {
    let feed = Feed::new(product);
    let proxy = feed.fed.proxy();
    feed.run(&["CREATE DATABASE shop", statement]);
    let mut changes = feed.open("from=oldest&tables=shop.s");
    for metadata in ["NO_LOG", "FULL"] {
        feed.run(&[&format!("SET GLOBAL binlog_row_metadata = {metadata}")]);
        let taken = feed
            .fed
            .primary
            .root()
            .value("SELECT NEXTVAL(shop.s)")
            .parse::<u64>()
            .unwrap();
        let told = changes.until(|it| it["op"] == "c");
        let after = &told.last().unwrap()["after"];
        assert_eq!(after["next_not_cached_value"], taken + 5, "{metadata}");
        assert_eq!(after["maximum_value"], maximum, "{metadata}");
        assert_eq!(after["cycle_option"], 0, "{metadata}");
    }
    feed.run(&["DROP SEQUENCE shop.s"]);
    changes.until(is_ddl("DROP SEQUENCE"));
    proxy.stop();
}

#[test]
fn changes_of_a_sequence_have_its_values_on_mariadb() {
    let create = "CREATE SEQUENCE shop.s INCREMENT BY 5 NOCACHE MAXVALUE 1000";
    changes_of_a_sequence_have_its_values(Product::MariaDb, create, 1000);
}

#[test]
fn changes_of_an_unsigned_sequence_have_its_values_on_mariadb_11_8() {
    let create = "CREATE SEQUENCE shop.s AS BIGINT UNSIGNED INCREMENT BY 5 NOCACHE \
                  MAXVALUE 18446744073709551614";
    changes_of_a_sequence_have_its_values(Product::MariaDbNext, create, u64::MAX - 1);
}

fn rows_between_two_alter_tables_use_the_earlier_definition(product: Product) {
    let feed = Feed::new(product);
    let proxy = feed.fed.proxy();
    feed.run(&["CREATE DATABASE shop"]);
    feed.wait_followed();
    proxy.kill();
    // The server is asked for the first definition when both are there. They have the same types.
    feed.run(&[
        "CREATE TABLE shop.swapped (id INT PRIMARY KEY, a INT, b INT)",
        "INSERT INTO shop.swapped VALUES (1, 10, 20)",
        "ALTER TABLE shop.swapped CHANGE a b INT, CHANGE b a INT",
        "INSERT INTO shop.swapped VALUES (2, 20, 10)",
    ]);
    let proxy = feed.fed.proxy();
    let mut changes = feed.open("from=oldest&tables=shop.swapped");
    let told = changes.until(|it| it["op"] == "error");
    let rows = told.iter().filter(|it| it["op"] == "c");
    assert_eq!(rows.count(), 0, "{told:?}");
    let error = told.last().unwrap();
    assert_eq!(error["error"], "unknown_columns");
    let next = error["next_position"].as_str().unwrap().replace(' ', "");
    let mut rest = feed.open(&format!("from={next}&tables=shop.swapped"));
    let told = rest.until(|it| it["op"] == "c");
    let after = &told.last().unwrap()["after"];
    assert_eq!(*after, json!({"id": 2, "b": 20, "a": 10}));
    proxy.stop();
}
