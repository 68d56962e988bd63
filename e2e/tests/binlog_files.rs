//! `pilotfish binlog` prints the values that the servers' tables hold, and the events that the servers' own programs
//! print.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use e2e::page::{blocks, is_like};
use e2e::raw::RawConn;
use e2e::{LeasedServer, Product, Server, program};
use serde_json::{Value, json};

both! {
    a_table_of_all_types_is_in_the_log_as_the_server_has_it
    compressed_and_minimal_rows_are_in_the_log_as_the_server_has_them
    events_and_rows_equal_the_output_of_mariadb_binlog
    statements_that_change_objects_are_printed_as_in_the_article
    no_output_has_a_password_or_its_hash
    schema_table_and_positions_choose_events
    a_file_that_ends_within_an_event_gives_an_error
    the_page_of_the_manual_prints_what_it_says
}

#[test]
fn a_table_of_all_types_is_in_the_log_of_mariadb_11_8() {
    a_table_of_all_types_is_in_the_log_as_the_server_has_it(Product::MariaDbNext);
}

#[test]
fn compressed_and_minimal_rows_are_in_the_log_of_mariadb_11_8() {
    compressed_and_minimal_rows_are_in_the_log_as_the_server_has_them(Product::MariaDbNext);
}

/// A server that writes a log, and a session in the schema `shop`.
struct Logging {
    root: RawConn,
    server: LeasedServer,
}

impl Logging {
    fn start(product: Product) -> Self {
        let mut options = vec![
            "--log-bin=bin",
            "--server-id=11",
            "--binlog-row-metadata=FULL",
            "--binlog-format=ROW",
        ];
        if product == Product::MySql {
            options.extend(["--gtid-mode=ON", "--enforce-gtid-consistency=ON"]);
        }
        let server = Server::lease_with(product, &options);
        let mut root = server.root();
        root.run("CREATE DATABASE shop");
        root.run("USE shop");
        root.run("SET time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES'");
        let mut logging = Self { server, root };
        logging.next_file();
        logging
    }

    /// Makes the server begin another file. The file before it is complete.
    fn next_file(&mut self) -> PathBuf {
        let name = self.root.run("SHOW BINARY LOGS").texts();
        let name = name.last().unwrap()[0].clone();
        self.root.run("FLUSH BINARY LOGS");
        self.server.folder().join("data").join(name)
    }

    fn run(&mut self, statements: &[&str]) {
        for statement in statements {
            self.root.run(statement);
        }
    }
}

fn binlog(file: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(program())
        .arg("binlog")
        .arg(file)
        .args(arguments)
        .output();
    output.unwrap()
}

/// The output of `pilotfish binlog`, which must succeed.
fn printed(file: &Path, arguments: &[&str]) -> String {
    let output = binlog(file, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn events(file: &Path, arguments: &[&str]) -> Vec<Value> {
    let arguments = [&["--json"], arguments].concat();
    let text = printed(file, &arguments);
    let lines = text.lines().map(serde_json::from_str);
    lines.map(Result::unwrap).collect()
}

/// A column: its name, its type, the expression that reads it from the server, and values.
type Column = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const COLUMNS: &[Column] = &[
    ("tiny", "TINYINT", "tiny", &["-128", "127", "0"]),
    ("utiny", "TINYINT UNSIGNED", "utiny", &["255", "0", "128"]),
    ("small", "SMALLINT", "small", &["-32768", "32767", "-1"]),
    (
        "medium",
        "MEDIUMINT",
        "medium",
        &["-8388608", "8388607", "-1"],
    ),
    (
        "umedium",
        "MEDIUMINT UNSIGNED",
        "umedium",
        &["16777215", "0", "8388608"],
    ),
    ("y", "YEAR", "y", &["1901", "2155", "0"]),
    (
        "plain",
        "INT",
        "plain",
        &["-2147483648", "2147483647", "-1"],
    ),
    (
        "uplain",
        "INT UNSIGNED",
        "uplain",
        &["4294967295", "0", "2147483648"],
    ),
    (
        "big",
        "BIGINT",
        "big",
        &["-9223372036854775808", "9223372036854775807", "-1"],
    ),
    (
        "ubig",
        "BIGINT UNSIGNED",
        "ubig",
        &["18446744073709551615", "0", "1"],
    ),
    (
        "f",
        "FLOAT",
        "CAST(f AS DOUBLE)",
        &["1.5", "-0.25", "1048576"],
    ),
    ("d", "DOUBLE", "d", &["1.5e300", "-0.1", "0"]),
    (
        "n",
        "DECIMAL(12,4)",
        "n",
        &["-12345678.9012", "0.0001", "99999999.9999"],
    ),
    (
        "wide",
        "DECIMAL(65,30)",
        "wide",
        &[
            "-12345678901234567890123456789012345.000000000000000000000000000001",
            "0",
            "1",
        ],
    ),
    ("whole", "DECIMAL(9)", "whole", &["-999999999", "1", "0"]),
    (
        "bits",
        "BIT(12)",
        "CONCAT('b''', LPAD(BIN(bits + 0), 12, '0'), '''')",
        &["b'101010101010'", "0", "1"],
    ),
    (
        "day",
        "DATE",
        "day",
        &["'2026-11-26'", "'0000-00-00'", "'9999-12-31'"],
    ),
    (
        "t0",
        "TIME",
        "t0",
        &["'-838:59:59'", "'00:00:01'", "'838:59:59'"],
    ),
    (
        "t3",
        "TIME(3)",
        "t3",
        &["'-00:00:00.001'", "'12:00:00.5'", "'-12:34:56.789'"],
    ),
    (
        "t6",
        "TIME(6)",
        "t6",
        &["'-00:00:01.000001'", "'838:59:58.999999'", "'0:0:0.000001'"],
    ),
    (
        "dt0",
        "DATETIME",
        "dt0",
        &["'2026-11-26 18:01:02'", "'1000-01-01'", "'0000-00-00'"],
    ),
    (
        "dt5",
        "DATETIME(5)",
        "dt5",
        &[
            "'2026-11-26 18:01:02.12345'",
            "'2024-02-30'",
            "'9999-12-31 23:59:59.99999'",
        ],
    ),
    (
        "ts0",
        "TIMESTAMP NULL",
        "CONCAT(ts0, 'Z')",
        &[
            "'2026-11-26 18:01:02'",
            "'1970-01-01 00:00:01'",
            "'2038-01-19 03:14:07'",
        ],
    ),
    (
        "ts2",
        "TIMESTAMP(2) NULL",
        "CONCAT(ts2, 'Z')",
        &[
            "'2026-11-26 18:01:02.34'",
            "'2000-02-29 23:59:59.99'",
            "'1999-12-31'",
        ],
    ),
    ("c", "CHAR(10)", "c", &["'abc'", "''", "'zehn Ümläu'"]),
    (
        "long_c",
        "CHAR(255)",
        "long_c",
        &["'short'", "''", "REPEAT('€', 255)"],
    ),
    (
        "v",
        "VARCHAR(20)",
        "v",
        &["'naïve 😀'", "'  spaces  '", "'quote '' and \\\\'"],
    ),
    (
        "long_v",
        "VARCHAR(3000)",
        "long_v",
        &["REPEAT('x', 3000)", "''", "'line\\nline'"],
    ),
    (
        "latin",
        "VARCHAR(20) CHARACTER SET latin1",
        "latin",
        &["'€uro é'", "''", "'ÿ'"],
    ),
    (
        "wide_c",
        "VARCHAR(20) CHARACTER SET utf16",
        "wide_c",
        &["'utf16 😀'", "''", "'ä'"],
    ),
    (
        "bin",
        "BINARY(4)",
        "CONCAT('0x', LOWER(HEX(bin)))",
        &["x'00010200'", "x'ffffffff'", "''"],
    ),
    (
        "varbin",
        "VARBINARY(300)",
        "CONCAT('0x', LOWER(HEX(varbin)))",
        &["x'00ff10'", "''", "REPEAT(x'0a', 300)"],
    ),
    (
        "tinytext_",
        "TINYTEXT",
        "tinytext_",
        &["'tiny'", "''", "REPEAT('t', 255)"],
    ),
    (
        "text_",
        "TEXT",
        "text_",
        &["'text'", "''", "REPEAT('ß', 9000)"],
    ),
    (
        "mediumtext_",
        "MEDIUMTEXT",
        "mediumtext_",
        &["'medium'", "''", "REPEAT('m', 70000)"],
    ),
    (
        "blob_",
        "BLOB",
        "CONCAT('0x', LOWER(HEX(blob_)))",
        &["x'00'", "''", "REPEAT(x'ff', 5000)"],
    ),
    (
        "longblob_",
        "LONGBLOB",
        "CONCAT('0x', LOWER(HEX(longblob_)))",
        &["x'fe'", "''", "REPEAT(x'00', 70000)"],
    ),
    (
        "e",
        "ENUM('red','it''s','grün')",
        "e",
        &["'red'", "'it''s'", "'grün'"],
    ),
    (
        "s",
        "SET('a','b','c','d','e','f','g','h','i')",
        "s",
        &["'a,c,i'", "''", "'h'"],
    ),
    (
        "g",
        "GEOMETRY",
        "CONCAT('0x00000000', LOWER(HEX(ST_AsWKB(g))))",
        &[
            "ST_GeomFromText('POINT(1 2)')",
            "ST_GeomFromText('LINESTRING(0 0,1 1)')",
            "ST_GeomFromText('POINT(0 0)')",
        ],
    ),
    // This column follows the geometry, so that the test covers its place in the lists of character sets.
    (
        "behind",
        "VARCHAR(9) CHARACTER SET latin1",
        "behind",
        &["'é'", "''", "'x'"],
    ),
];

const COLUMNS_OF_MYSQL: &[Column] = &[
    (
        "j",
        "JSON",
        "j",
        &[
            "'{\"a\": [1, 2.5, \"x\", null, true, {}]}'",
            "'[]'",
            "JSON_ARRAY(CAST('10:11:12' AS TIME), 12.50, REPEAT('long', 20000))",
        ],
    ),
    (
        "vec",
        "VECTOR(3)",
        "VECTOR_TO_STRING(vec)",
        &[
            "STRING_TO_VECTOR('[1, 2.5, -3]')",
            "STRING_TO_VECTOR('[0,0,0]')",
            "STRING_TO_VECTOR('[4,5,6]')",
        ],
    ),
    (
        "last_c",
        "CHAR(3) CHARACTER SET latin1",
        "last_c",
        &["'é'", "''", "'x'"],
    ),
];

const COLUMNS_OF_MARIADB: &[Column] = &[
    ("doc", "JSON", "doc", &["'{\"a\": 1}'", "'[]'", "'null'"]),
    ("u", "UUID", "NULL", &["NULL", "NULL", "NULL"]),
    (
        "ip",
        "INET6",
        "CONCAT('0x', LOWER(HEX(ip)))",
        &["'2001:db8::ff'", "'::'", "'::ffff:192.0.2.1'"],
    ),
    (
        "zip",
        "TEXT COMPRESSED",
        "zip",
        &["REPEAT('zip', 3000)", "''", "'short'"],
    ),
    ("hidden", "INT INVISIBLE", "hidden", &["5", "-6", "0"]),
];

fn columns(product: Product) -> Vec<Column> {
    let own = if product.is_mariadb() {
        COLUMNS_OF_MARIADB
    } else {
        COLUMNS_OF_MYSQL
    };
    COLUMNS.iter().chain(own).copied().collect()
}

fn create(logging: &mut Logging, columns: &[Column]) {
    let definitions: Vec<String> = columns
        .iter()
        .map(|(name, kind, ..)| format!("{name} {kind}"))
        .collect();
    logging.root.run(&format!(
        "CREATE TABLE everything (id INT PRIMARY KEY, {}) CHARACTER SET utf8mb4",
        definitions.join(", ")
    ));
}

/// Rows 1 to 3 with the columns' values, row 4 with NULL only.
fn insert(logging: &mut Logging, columns: &[Column]) {
    let names: Vec<&str> = columns.iter().map(|(name, ..)| *name).collect();
    let names = names.join(", ");
    for row in 0..4 {
        let values: Vec<&str> = columns
            .iter()
            .map(|(.., values)| values.get(row).copied().unwrap_or("NULL"))
            .collect();
        logging.root.run(&format!(
            "INSERT INTO everything (id, {names}) VALUES ({}, {})",
            row + 1,
            values.join(", ")
        ));
    }
}

/// The table's values by the rows' ids, as the server prints them.
fn held(logging: &mut Logging, columns: &[Column]) -> BTreeMap<String, Vec<Option<String>>> {
    let asked: Vec<&str> = columns.iter().map(|(_, _, ask, _)| *ask).collect();
    let sql = format!("SELECT id, {} FROM everything", asked.join(", "));
    logging.root.run("SET NAMES utf8mb4");
    let reply = logging.root.run(&sql);
    let rows = reply.results().next().unwrap().rows.len();
    let text = |row, column| reply.text(row, column);
    (0..rows)
        .map(|row| {
            let values = (1..=columns.len()).map(|column| text(row, column));
            (text(row, 0).unwrap(), values.collect())
        })
        .collect()
}

/// The table's values according to the log: its rows events, applied in order.
fn logged(file: &Path, columns: &[Column]) -> BTreeMap<String, Vec<Option<Value>>> {
    let mut table = BTreeMap::new();
    for event in events(file, &["--table", "everything"]) {
        for change in event["rows"].as_array().into_iter().flatten() {
            let (before, after) = (&change["before"], &change["after"]);
            let id = |image: &Value| image["id"].to_string();
            let mut row = match before.is_object() {
                true => table.remove(&id(before)).expect("the row is there"),
                false => vec![None; columns.len()],
            };
            let key = if after["id"].is_null() { before } else { after };
            for (place, (name, ..)) in row.iter_mut().zip(columns) {
                if let Some(value) = after.get(name) {
                    *place = Some(value.clone());
                }
            }
            if after.is_object() {
                table.insert(id(key), row);
            }
        }
    }
    table
}

/// Compares each value of the table with the value in the log.
fn compare(logging: &mut Logging, file: &Path, columns: &[Column]) {
    let held = held(logging, columns);
    let logged = logged(file, columns);
    assert_eq!(
        held.keys().collect::<Vec<_>>(),
        logged.keys().collect::<Vec<_>>()
    );
    for (id, values) in &held {
        for ((column, value), told) in columns.iter().zip(values).zip(&logged[id]) {
            if column.1 == "UUID" {
                continue;
            }
            let told = told.as_ref().unwrap_or(&Value::Null);
            assert!(
                is_same(column.1, value.as_deref(), told),
                "{} of row {id} is {value:?}, not {told}",
                column.0
            );
        }
    }
}

fn is_same(kind: &str, held: Option<&str>, told: &Value) -> bool {
    let Some(held) = held else {
        return told.is_null();
    };
    match told {
        Value::String(told) => told == held,
        Value::Number(told) if kind == "FLOAT" || kind == "DOUBLE" => {
            told.as_f64() == held.parse().ok()
        }
        Value::Number(told) => told.to_string().parse::<i128>().ok() == held.parse().ok(),
        // JSON documents and vectors.
        other => serde_json::from_str::<Value>(held).is_ok_and(|held| {
            let numbers = |list: &Value| -> Option<Vec<f64>> {
                list.as_array()?.iter().map(Value::as_f64).collect()
            };
            &held == other || (numbers(&held).is_some() && numbers(&held) == numbers(other))
        }),
    }
}

fn a_table_of_all_types_is_in_the_log_as_the_server_has_it(product: Product) {
    let mut logging = Logging::start(product);
    let columns = columns(product);
    create(&mut logging, &columns);
    insert(&mut logging, &columns);
    logging.run(&[
        "UPDATE everything SET n = n + 1, v = CONCAT(v, '!'), day = NULL WHERE id < 3",
        "DELETE FROM everything WHERE id = 2",
        "UPDATE everything SET id = id + 10 WHERE id = 3",
    ]);
    let file = logging.next_file();
    compare(&mut logging, &file, &columns);
}

fn compressed_and_minimal_rows_are_in_the_log_as_the_server_has_them(product: Product) {
    let mut logging = Logging::start(product);
    let columns = columns(product);
    if product.is_mariadb() {
        logging.run(&[
            "SET GLOBAL log_bin_compress = ON",
            "SET GLOBAL log_bin_compress_min_len = 10",
        ]);
    } else {
        logging.run(&["SET binlog_transaction_compression = ON"]);
    }
    create(&mut logging, &columns);
    insert(&mut logging, &columns);
    logging.run(&[
        "SET binlog_row_image = 'MINIMAL'",
        "BEGIN",
        "UPDATE everything SET tiny = 1, text_ = 'other', e = NULL WHERE id < 3",
        "DELETE FROM everything WHERE id = 2",
        "COMMIT",
        "UPDATE everything SET id = 7 WHERE id = 4",
    ]);
    let file = logging.next_file();
    compare(&mut logging, &file, &columns);
    let types: Vec<Value> = events(&file, &[]);
    let types: Vec<&str> = types.iter().filter_map(|it| it["type"].as_str()).collect();
    let compressed = if product.is_mariadb() {
        "WRITE_ROWS_COMPRESSED_V1"
    } else {
        "TRANSACTION_PAYLOAD"
    };
    assert!(types.contains(&compressed), "{types:?}");
}

#[test]
fn partial_updates_of_a_json_document_are_printed() {
    let mut logging = Logging::start(Product::MySql);
    logging.run(&[
        "CREATE TABLE docs (id INT PRIMARY KEY, other JSON, j JSON)",
        "INSERT INTO docs VALUES (1, '{\"o\": 0, \"text\": \"long enough for a change to be shorter\"}', '{\"a\": 1, \"b\": [1, 2, 3]}')",
        "SET binlog_row_value_options = PARTIAL_JSON",
        "UPDATE docs SET j = JSON_SET(j, '$.a', 99)",
        "UPDATE docs SET j = JSON_REMOVE(j, '$.b[1]')",
        "UPDATE docs SET j = JSON_REPLACE(j, '$.b[1]', 'x'), other = JSON_SET(other, '$.o', 5)",
    ]);
    let file = logging.next_file();
    let events = events(&file, &["--table", "docs"]);
    let changed: Vec<(&Value, &Value)> = events
        .iter()
        .filter(|event| event["type"] == "PARTIAL_UPDATE_ROWS")
        .map(|event| &event["rows"][0]["after"])
        .map(|row| (&row["other"], &row["j"]))
        .collect();
    let replace =
        |path: &str, value: Value| json!([{"operation": "replace", "path": path, "value": value}]);
    let remove = json!([{"operation": "remove", "path": "$.b[1]"}]);
    let same = json!([]);
    assert_eq!(changed.len(), 3);
    // The server writes an unchanged document either as a whole or as an empty list of changes.
    let stays = |told: &Value| *told == same || told["o"] == 0;
    assert!(stays(changed[0].0) && stays(changed[1].0), "{changed:?}");
    assert_eq!(changed[0].1, &replace("$.a", json!(99)));
    assert_eq!(changed[1].1, &remove);
    assert_eq!(changed[2].0, &replace("$.o", json!(5)));
    assert_eq!(changed[2].1, &replace("$.b[1]", json!("x")));
    // The text output has the same expressions as that of the server's program.
    let text = printed(&file, &[]);
    let theirs = printed_by_the_server(Product::MySql, &file);
    for (ours, expression) in [
        ("j", "JSON_REPLACE({}, '$.a', 99)"),
        ("j", "JSON_REMOVE({}, '$.b[1]')"),
        ("j", "JSON_REPLACE({}, '$.b[1]', 'x')"),
        ("other", "JSON_REPLACE({}, '$.o', 5)"),
    ] {
        let place = if ours == "j" { "@3" } else { "@2" };
        let of = |name: &str| expression.replace("{}", name);
        assert!(theirs.contains(&of(place)), "{expression}: {theirs}");
        let is_printed = [ours, place].iter().any(|it| text.contains(&of(it)));
        assert!(is_printed, "{expression}: {text}");
    }
}

/// The output of the server's own program for a file.
fn printed_by_the_server(product: Product, file: &Path) -> String {
    let name = if product.is_mariadb() {
        "mariadb-binlog"
    } else {
        "mysqlbinlog"
    };
    let output = product
        .command(name)
        .args(["--no-defaults", "--verbose", "--base64-output=DECODE-ROWS"])
        .arg(file)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn events_and_rows_equal_the_output_of_mariadb_binlog(product: Product) {
    let mut logging = Logging::start(product);
    logging.run(&[
        "CREATE TABLE goods (id INT PRIMARY KEY, name VARCHAR(20))",
        "CREATE TABLE counts (id INT PRIMARY KEY AUTO_INCREMENT, n DOUBLE) ENGINE=MyISAM",
        "INSERT INTO goods VALUES (1, 'kettle'), (2, 'pot')",
        "UPDATE goods SET name = 'pan' WHERE id > 0",
        "SET SESSION binlog_format = STATEMENT",
        "SET @name = 'lid'",
        "INSERT INTO counts (n) VALUES (RAND())",
        "INSERT INTO goods SELECT 3, @name",
        "SET SESSION binlog_format = ROW",
        "XA START 'x'",
        "DELETE FROM goods WHERE id = 1",
        "XA END 'x'",
        "XA PREPARE 'x'",
        "XA COMMIT 'x'",
        "BEGIN",
        "INSERT INTO goods VALUES (4, 'cup')",
        "SAVEPOINT s",
        "DELETE FROM goods WHERE id = 4",
        "COMMIT",
    ]);
    let file = logging.next_file();
    let ours = events(&file, &[]);
    let theirs = printed_by_the_server(product, &file);
    let mut positions: Vec<u64> = theirs
        .lines()
        .filter_map(|line| line.strip_prefix("# at "))
        .map(|number| number.trim().parse().unwrap())
        .collect();
    // The program prints the position of an ANNOTATE_ROWS event behind that of the TABLE_MAP event.
    positions.sort_unstable();
    positions.dedup();
    let of = |event: &Value| event["position"].as_u64().unwrap();
    assert_eq!(ours.iter().map(of).collect::<Vec<_>>(), positions);
    let rows = |operation: &str| -> usize {
        let events = ours.iter().filter(|it| it["operation"] == operation);
        events.map(|it| it["rows"].as_array().unwrap().len()).sum()
    };
    for (operation, beginning, expected) in [
        ("insert", "### INSERT INTO", 3),
        ("update", "### UPDATE", 2),
        ("delete", "### DELETE FROM", 2),
    ] {
        let found = theirs
            .lines()
            .filter(|it| it.starts_with(beginning))
            .count();
        assert_eq!(
            (rows(operation), found),
            (expected, expected),
            "{operation}"
        );
    }
}

fn statements_that_change_objects_are_printed_as_in_the_article(product: Product) {
    let mut logging = Logging::start(product);
    let thread = logging.root.value("SELECT CONNECTION_ID()");
    logging.run(&[
        "create table t1 ( id int not null )",
        "INSERT INTO t1 VALUES (1)",
        "alter table t1 add primary key (id)",
        "CREATE TEMPORARY TABLE own (id INT)",
        "create index i on t1 (id)",
        "rename table t1 to t2",
        "truncate table t2",
        "create database other",
        "drop database other",
        "DROP TEMPORARY TABLE own",
    ]);
    if product.is_mariadb() {
        logging.run(&[
            "SET SESSION binlog_alter_two_phase = ON",
            "alter table t2 add column c int",
        ]);
    } else {
        logging.run(&["alter table t2 add column c int"]);
    }
    let file = logging.next_file();
    let expected: String = [
        "create table t1 ( id int not null )",
        "alter table t1 add primary key (id)",
        "create index i on t1 (id)",
        "rename table t1 to t2",
        "truncate table t2",
        "create database other",
        "drop database other",
        "alter table t2 add column c int",
    ]
    .map(|query| {
        format!("(DDL) thread-id = {thread}, exec_time = 0, error-code = 0000\nQUERY: {query}\n")
    })
    .concat();
    // On a busy machine, one of the statements may take a second.
    let printed = printed(&file, &["--ddl"]).replace("exec_time = 1", "exec_time = 0");
    assert_eq!(printed, expected);
    let lines = events(&file, &["--ddl"]);
    assert_eq!(lines.len(), 8);
    assert_eq!(lines[4]["query"], "truncate table t2");
}

fn no_output_has_a_password_or_its_hash(product: Product) {
    let mut logging = Logging::start(product);
    logging.run(&[
        "CREATE USER kim IDENTIFIED BY 'S3cret-of-kim'",
        "ALTER USER kim IDENTIFIED BY 'S3cret-of-kim-2'",
    ]);
    logging.run(&[if product.is_mariadb() {
        "SET PASSWORD FOR kim = PASSWORD('S3cret-of-kim-3')"
    } else {
        "SET PASSWORD FOR kim = 'S3cret-of-kim-3'"
    }]);
    let kept = logging.root.value(if product.is_mariadb() {
        "SELECT authentication_string FROM mysql.user WHERE user = 'kim'"
    } else {
        "SELECT HEX(authentication_string) FROM mysql.user WHERE user = 'kim'"
    });
    let file = logging.next_file();
    for form in [&[][..], &["--json"], &["--ddl"], &["--ddl", "--json"]] {
        let text = printed(&file, form);
        assert!(!text.contains("S3cret"), "{text}");
        assert!(!text.contains(&kept) && !text.contains("$A$"), "{text}");
        assert!(text.contains("'<secret>'"), "{text}");
    }
}

fn schema_table_and_positions_choose_events(product: Product) {
    let mut logging = Logging::start(product);
    logging.run(&[
        "CREATE DATABASE other",
        "CREATE TABLE goods (id INT)",
        "CREATE TABLE other.goods (id INT)",
        "INSERT INTO goods VALUES (1)",
        "INSERT INTO other.goods VALUES (2)",
        "CREATE TABLE pots (id INT)",
    ]);
    let file = logging.next_file();
    let queries = |arguments: &[&str]| -> Vec<String> {
        let events = events(&file, arguments).into_iter();
        let told = events.filter_map(|it| match &it["rows"] {
            Value::Array(rows) => Some(rows[0]["after"]["id"].to_string()),
            _ if it["type"].as_str()? == "QUERY" => Some(it["query"].as_str()?.to_owned()),
            _ => None,
        });
        told.collect()
    };
    let (own, other) = (
        "CREATE TABLE goods (id INT)",
        "CREATE TABLE other.goods (id INT)",
    );
    assert_eq!(
        queries(&["--database", "shop"]),
        [own, "1", "CREATE TABLE pots (id INT)"]
    );
    assert_eq!(
        queries(&["-d", "other"]),
        ["CREATE DATABASE other", other, "2"]
    );
    assert_eq!(queries(&["--table", "goods"]), [own, other, "1", "2"]);
    assert_eq!(queries(&["-d", "other", "-t", "goods"]), [other, "2"]);
    assert_eq!(queries(&["-d", "nowhere"]), [""; 0]);
    let all = events(&file, &[]);
    let position = |it: &Value| it["position"].to_string();
    let (from, to) = (position(&all[4]), position(&all[7]));
    let some = events(&file, &["--start-position", &from, "--stop-position", &to]);
    assert_eq!(some, all[4..7]);
    // Files are read one after another, standard input too.
    let path = file.to_str().unwrap();
    let twice = events(&file, &[path]);
    assert_eq!(twice.len(), 2 * all.len());
    let input = std::fs::File::open(&file).unwrap();
    let piped = Command::new(program())
        .args(["binlog", "-", "--ddl"])
        .stdin(input)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(piped.stdout).unwrap(),
        printed(&file, &["--ddl"])
    );
}

fn a_file_that_ends_within_an_event_gives_an_error(product: Product) {
    let mut logging = Logging::start(product);
    logging.run(&[
        "CREATE TABLE goods (id INT)",
        "INSERT INTO goods VALUES (1)",
    ]);
    let file = logging.next_file();
    let all = events(&file, &[]);
    let last = all.last().unwrap()["position"].to_string();
    let bytes = std::fs::read(&file).unwrap();
    let folder = e2e::Folder::new("binlog");
    let short = folder.write("short", &bytes[..bytes.len() - 1]);
    let output = binlog(&short, &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = format!("at position {last}: the file ends within an event");
    assert!(errors.contains(&expected), "{errors}");
    let lines = String::from_utf8_lossy(&output.stdout).lines().count();
    assert_eq!(lines, all.len() - 1, "the whole events are printed");
    let mut damaged = bytes.clone();
    let middle = all[all.len() / 2]["position"].as_u64().unwrap();
    damaged[middle as usize + 20] ^= 0x40;
    let output = binlog(&folder.write("damaged", &damaged), &[]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        errors.contains(&format!("at position {middle}: the event's checksum")),
        "{errors}"
    );
}

const PAGE: &str = include_str!("../../docs/manual/src/binlog.md");

fn the_page_of_the_manual_prints_what_it_says(product: Product) {
    let mut logging = Logging::start(product);
    let [sql] = blocks(PAGE, "sql")[..] else {
        panic!("the page has one block of SQL");
    };
    for statement in sql.split(";\n").map(str::trim).filter(|it| !it.is_empty()) {
        logging.root.run(statement);
    }
    let file = logging.next_file();
    let folder = file.parent().unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    let mut commands = 0;
    for block in blocks(PAGE, "console") {
        let mut printed: Vec<String> = Vec::new();
        for line in block.lines() {
            let Some(command) = line.strip_prefix("$ pilotfish ") else {
                assert!(!printed.is_empty(), "{line} is not printed");
                let told = printed.remove(0);
                assert!(is_like(&told, line), "{told}\nis not\n{line}");
                continue;
            };
            assert!(printed.is_empty(), "{printed:?} is not on the page");
            commands += 1;
            let words = command.split(' ').map(|word| match word {
                "bin.000001" => name,
                other => other,
            });
            let output = Command::new(program())
                .args(words)
                .current_dir(folder)
                .output()
                .unwrap();
            assert!(output.status.success(), "{command}");
            let text = String::from_utf8(output.stdout).unwrap();
            printed = text.lines().map(str::to_owned).collect();
        }
        assert!(printed.is_empty(), "{printed:?} is not on the page");
    }
    assert_eq!(commands, 3);
}
