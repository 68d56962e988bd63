//! Replicas behind filters get the remaining rows, under the names that the filters give, and each transaction's GTID.

use super::*;

both! {
    the_filters_of_the_manual_do_what_it_says
    tables_differ_only_by_the_filters
    the_script_of_the_manual_does_what_it_says
    a_script_writes_values_of_all_types
    a_stream_that_cannot_be_filtered_waits_for_another_filter
    lengths_of_transactions_are_right_without_checksums_on_the_primary
}

const FILTERS: &str = include_str!("../../../docs/manual/src/replication-filters.md");

/// The filters of the manual's page.
fn page() -> &'static str {
    example("toml", 1)
}

/// One of the examples in a language on the manual's page, counted from 1.
fn example(language: &str, number: usize) -> &'static str {
    let begin = format!("```{language}\n");
    let example = FILTERS.split(&*begin).nth(number).unwrap();
    example.split("```").next().unwrap()
}

/// A primary whose stream has these filters.
fn filtered(product: Product, filters: &str) -> Fed {
    let fed = Fed::new(product);
    fed.primary
        .root()
        .run("SET GLOBAL binlog_row_metadata = FULL");
    set_filters(&fed, filters);
    fed
}

/// Replaces the filters of the stream.
fn set_filters(fed: &Fed, filters: &str) {
    let folder = fed.config.parent().unwrap();
    std::fs::write(folder.join("hash.key"), "the secret text").unwrap();
    let plain = folder.join("plain.toml");
    if !plain.exists() {
        std::fs::copy(&fed.config, &plain).unwrap();
    }
    let text = std::fs::read_to_string(&plain).unwrap();
    let filters = filters.replace("/etc/pilotfish", folder.to_str().unwrap());
    let text = text.replacen("[[listener]]\n", &format!("{filters}\n[[listener]]\n"), 1);
    std::fs::write(&fed.config, text).unwrap();
}

fn admin(fed: &Fed) -> RawConn {
    let address = Address::Tcp(([127, 0, 0, 1], fed.admin).into());
    RawConn::connect(&address, &Login::with("root", "all")).unwrap()
}

fn texts(server: &Server, select: &str) -> Vec<Vec<String>> {
    server.root().run(select).texts()
}

fn the_filters_of_the_manual_do_what_it_says(product: Product) {
    let fed = filtered(product, page());
    let proxy = fed.proxy();
    let mut root = fed.primary.root();
    for statement in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.customers (id INT PRIMARY KEY, email VARCHAR(100), card VARCHAR(20), name TEXT)",
        "CREATE TABLE shop.request_log (id INT AUTO_INCREMENT PRIMARY KEY, text TEXT)",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, customer INT)",
    ] {
        root.run(statement);
    }
    let one = start(product, 2);
    let mut on_replica = one.root();
    on_replica.run("SET sql_log_bin = 0");
    on_replica.run("CREATE DATABASE reports");
    follow(&one, fed.port);
    for statement in [
        "BEGIN",
        "INSERT INTO shop.customers VALUES (1, 'ada@home', '4111', 'Ada'), (2, NULL, NULL, 'Bo')",
        "INSERT INTO shop.request_log (text) VALUES ('ada@home has paid')",
        "INSERT INTO shop.orders VALUES (1, 1), (2, 2)",
        "COMMIT",
        "INSERT INTO shop.request_log (text) VALUES ('nothing else')",
        "UPDATE shop.customers SET email = 'ada@work' WHERE id = 1",
        "UPDATE shop.customers c JOIN shop.orders o ON o.customer = c.id SET c.name = 'Bob', o.customer = 20 \
         WHERE c.id = 2",
        "DELETE FROM shop.customers WHERE id = 2",
        "ALTER TABLE shop.orders ADD COLUMN note VARCHAR(10)",
        "UPDATE shop.orders SET note = 'new' WHERE id = 1",
        "DROP TABLE shop.request_log",
    ] {
        root.run(statement);
    }
    // Every GTID is there, also of transactions whose rows were all filtered out.
    let all = root.value(position(product));
    wait_reached(&one, &all);
    let select = "SELECT id, email = SHA2(CONCAT('the secret text', 'ada@work'), 256) AND LENGTH(email) = 64, card, \
                  name FROM shop.customers ORDER BY id";
    assert_eq!(
        texts(&one, select),
        [["1", "1", "NULL", "Ada"], ["2", "NULL", "NULL", "Bob"]]
    );
    assert_eq!(
        texts(
            &one,
            "SELECT id, customer, note FROM reports.orders ORDER BY id"
        ),
        [["1", "1", "new"], ["2", "20", "NULL"]]
    );
    assert_eq!(texts(&one, "SHOW TABLES FROM shop"), [["customers"]]);
    assert_nowhere(&fed, &["ada@", "4111", "has paid", "nothing else"]);
    let shown =
        admin(&fed).run("SELECT events_dropped > 5 AND events_changed > 5 FROM replication");
    assert_eq!(shown.texts(), [["1"]]);
    proxy.stop();
}

/// A primary whose stream has filters, and a script in its folder.
fn with_script(product: Product, filters: &str, script: &str) -> Fed {
    let fed = filtered(product, filters);
    write_script(&fed, script);
    fed
}

fn write_script(fed: &Fed, script: &str) {
    let folder = fed.config.parent().unwrap();
    // The proxy reads a script when a transaction begins, so the file must never be incomplete.
    let file = folder.join("filter.lua");
    std::fs::write(folder.join("new.lua"), script).unwrap();
    std::fs::rename(folder.join("new.lua"), file).unwrap();
}

fn the_script_of_the_manual_does_what_it_says(product: Product) {
    let script = example("lua", 1);
    let fed = with_script(product, example("toml", 2), script);
    let proxy = fed.proxy();
    let one = fed.replica(2);
    let mut root = fed.primary.root();
    for statement in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.customers (id INT PRIMARY KEY, phone VARCHAR(20), age TINYINT UNSIGNED, consent BOOL)",
        "INSERT INTO shop.customers VALUES (1, '+44 555-19', 95, 1), (2, '+47 12', NULL, 0), (3, NULL, 20, 1)",
        "UPDATE shop.customers SET age = age + 1 WHERE consent",
        "UPDATE shop.customers SET age = 7 WHERE id = 2",
    ] {
        root.run(statement);
    }
    wait_reached(&one, &root.value(position(product)));
    let select = "SELECT id, phone, age FROM shop.customers ORDER BY id";
    assert_eq!(
        texts(&one, select),
        [["1", "+00 000-00", "90"], ["3", "NULL", "21"]]
    );
    assert_nowhere(&fed, &["555-19", "+47"]);

    // If a script fails, the stream stops and nothing passes. With the next script it continues.
    write_script(
        &fed,
        "function on_change(change) change.after.nothing = 1 end",
    );
    root.run("INSERT INTO shop.customers VALUES (4, '4444', 44, 1)");
    let mut conn = admin(&fed);
    wait::until("the stream has stopped", wait::SOON, || {
        let select = "SELECT last_error LIKE 'the script of the filter has failed: %change.after.nothing: table \
                      shop.customers has no such column%' FROM replication";
        conn.run(select).texts() == [["1"]]
    });
    assert_nowhere(&fed, &["4444"]);
    write_script(&fed, script);
    wait_reached(&one, &root.value(position(product)));
    assert_eq!(texts(&one, select).len(), 3);
    assert_nowhere(&fed, &["4444"]);
    proxy.stop();
}

/// A script that appends to texts and writes every other value anew.
const ALL_TYPES: &str = r#"
function on_change(change)
  if not change.after then return end
  local row = change.after
  row.b = '-1234.5678'
  row.c = 1.25
  row.d = -2.5
  row.e = 5
  row.f = 2001
  row.g = '2001-02-03'
  row.h = '-12:34:56.789'
  row.i = '2001-02-03 04:05:06.789012'
  row.j = '2001-02-03 04:05:06Z'
  row.k = 'two'
  row.l = 'x,y'
  row.m = row.m .. 'é'
  row.n = row.n .. '🐟'
  row.o = row.o .. '\0\255'
  row.p = nil
end
"#;

fn a_script_writes_values_of_all_types(product: Product) {
    let filters = "[[replication.filter]]\ntables = [\"shop.types\"]\nscript = \"/etc/pilotfish/filter.lua\"\n";
    let fed = with_script(product, filters, ALL_TYPES);
    let proxy = fed.proxy();
    let one = fed.replica(2);
    let mut root = fed.primary.root();
    for statement in [
        "SET SESSION time_zone = '+00:00'",
        "CREATE DATABASE shop",
        "CREATE TABLE shop.types (a BIGINT UNSIGNED PRIMARY KEY, b DECIMAL(20, 5), c FLOAT, d DOUBLE, e BIT(10), f YEAR, \
         g DATE, h TIME(3), i DATETIME(6), j TIMESTAMP NULL, k ENUM('one', 'two'), l SET('x', 'y', 'z'), \
         m VARCHAR(300) CHARACTER SET latin1, n TEXT CHARACTER SET utf8mb4, o BLOB, p JSON)",
        "INSERT INTO shop.types VALUES (18446744073709551615, 1, 1, 1, 1, 1999, NOW(), NOW(), NOW(), NOW(), 'one', 'z', \
         'caf', 'fish ', 'x', '{}')",
    ] {
        root.run(statement);
    }
    wait_reached(&one, &root.value(position(product)));
    let mut replica = one.root();
    replica.run("SET time_zone = '+00:00'");
    let select = "SELECT a, b, c, d, e + 0, f, g, h, i, j, k, l, m, n, HEX(o), p FROM shop.types";
    assert_eq!(
        replica.run(select).texts().concat(),
        [
            "18446744073709551615",
            "-1234.56780",
            "1.25",
            "-2.5",
            "5",
            "2001",
            "2001-02-03",
            "-12:34:56.789",
            "2001-02-03 04:05:06.789012",
            "2001-02-03 04:05:06",
            "two",
            "x,y",
            "café",
            "fish 🐟",
            "7800FF",
            "NULL"
        ]
    );
    proxy.stop();
}

/// Filters for the test of many kinds of changes.
const MANY: &str = "
[[replication.filter]]
tables = [\"shop.people\"]
columns_dropped = [\"phone\"]
columns_hashed = [\"number\"]
columns_constant = [\"city=nowhere\", \"age=0\"]
hash_key = \"file:/etc/pilotfish/hash.key\"

[[replication.filter]]
tables = [\"shop.hidden*\"]
action = \"drop\"

[[replication.filter]]
tables = [\"old.*\"]
rename_schema = \"new\"
";

fn tables_differ_only_by_the_filters(product: Product) {
    let fed = filtered(product, MANY);
    let mut root = fed.primary.root();
    for setting in match product.is_mariadb() {
        true => [
            "SET GLOBAL log_bin_compress = ON",
            "SET GLOBAL log_bin_compress_min_len = 10",
        ],
        false => [
            "SET GLOBAL binlog_transaction_compression = ON",
            "SET GLOBAL binlog_rows_query_log_events = ON",
        ],
    } {
        root.run(setting);
    }
    let proxy = fed.proxy();
    let one = fed.replica(2);
    let mut conn = fed.primary.root();
    for statement in [
        "CREATE DATABASE shop",
        "CREATE DATABASE old",
        "CREATE TABLE shop.plain (id INT AUTO_INCREMENT PRIMARY KEY, text LONGTEXT, amount DECIMAL(10,2), at TIMESTAMP(6) NULL)",
        "CREATE TABLE shop.people (id INT PRIMARY KEY, name VARCHAR(20), phone VARCHAR(20) NOT NULL, number BIGINT, \
         city VARCHAR(20), age TINYINT UNSIGNED)",
        "CREATE TABLE shop.hidden (id INT PRIMARY KEY)",
        "CREATE TABLE old.things (id INT PRIMARY KEY, name VARCHAR(20))",
        "CREATE TRIGGER shop.t AFTER INSERT ON shop.people FOR EACH ROW INSERT INTO shop.hidden VALUES (NEW.id)",
        "INSERT INTO shop.people VALUES (1, 'Ada', '555 1', -7, 'London', 36), (2, 'Bo', '555 2', NULL, 'Oslo', NULL)",
        "INSERT INTO old.things VALUES (1, 'a'), (2, 'b')",
        "BEGIN",
        "INSERT INTO shop.plain (text, amount) VALUES (REPEAT('x', 3000000), -1.5), (REPEAT('y', 3000000), NULL)",
        "SAVEPOINT s",
        "DELETE FROM old.things WHERE id = 1",
        "ROLLBACK TO s",
        "UPDATE shop.plain p JOIN old.things t ON t.id = p.id SET p.amount = 3, t.name = 'c', p.at = NOW(6)",
        "COMMIT",
        "XA START 'x'",
        "UPDATE shop.people SET phone = '555 3', city = 'Paris' WHERE id = 2",
        "INSERT INTO shop.hidden VALUES (10)",
        "XA END 'x'",
        "XA PREPARE 'x'",
        "XA COMMIT 'x'",
        "UPDATE shop.people SET phone = '555 4' WHERE id = 1",
        "CREATE TABLE shop.copy AS SELECT id, amount FROM shop.plain",
        "CREATE TABLE shop.hidden_copy AS SELECT * FROM shop.hidden",
        "ALTER TABLE old.things ADD COLUMN more INT DEFAULT 5",
        "CREATE TEMPORARY TABLE shop.passing (id INT)",
        "INSERT INTO shop.passing VALUES (1)",
        "INSERT INTO shop.plain (text) SELECT id FROM shop.passing",
        "DROP TEMPORARY TABLE shop.passing",
        "DROP TABLE shop.hidden_copy, shop.copy",
        "DELETE FROM shop.hidden",
    ] {
        conn.run(statement);
    }
    wait_reached(&one, &root.value(position(product)));
    for (there, here) in [("shop.plain", "shop.plain"), ("old.things", "new.things")] {
        let checksum = |server: &Server, table: &str| {
            let reply = server.root().run(&format!("CHECKSUM TABLE {table}"));
            reply.text(0, 1).unwrap()
        };
        assert_eq!(
            checksum(&fed.primary, there),
            checksum(&one, here),
            "{there}"
        );
    }
    let hash = "CAST(CONV(LEFT(SHA2(CONCAT('the secret text', '-7'), 256), 16), 16, 10) AS UNSIGNED) & (~0 >> 1)";
    let select =
        format!("SELECT id, name, phone, number = {hash}, city, age FROM shop.people ORDER BY id");
    assert_eq!(
        texts(&one, &select),
        [
            ["1", "Ada", "", "1", "nowhere", "0"],
            ["2", "Bo", "", "NULL", "nowhere", "NULL"]
        ]
    );
    let tables = "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables \
                  WHERE table_schema IN ('shop', 'old', 'new') ORDER BY 1";
    assert_eq!(
        texts(&one, tables),
        [["new.things"], ["shop.people"], ["shop.plain"]]
    );
    assert_nowhere(&fed, &["555 ", "London", "Paris"]);
    proxy.stop();
}

/// Asserts that the relay files contain none of these texts.
fn assert_nowhere(fed: &Fed, secrets: &[&str]) {
    let relay = fed.config.parent().unwrap().join("relay");
    for entry in relay.read_dir().unwrap() {
        let file = entry.unwrap().path();
        let bytes = std::fs::read(&file).unwrap();
        for secret in secrets {
            let found = bytes
                .windows(secret.len())
                .any(|it| it == secret.as_bytes());
            assert!(!found, "{secret} is in {}", file.display());
        }
    }
}

fn a_stream_that_cannot_be_filtered_waits_for_another_filter(product: Product) {
    let masks =
        "[[replication.filter]]\ntables = [\"shop.customers\"]\ncolumns_null = [\"email\"]\n";
    let fed = filtered(product, masks);
    let proxy = fed.proxy();
    let one = fed.replica(2);
    let mut root = fed.primary.root();
    root.run("CREATE DATABASE shop");
    root.run("CREATE TABLE shop.customers (id INT PRIMARY KEY, email TEXT)");
    root.run("INSERT INTO shop.customers VALUES (1, 'ada@home')");
    wait_reached(&one, &root.value(position(product)));
    root.run("ALTER TABLE shop.customers RENAME COLUMN email TO mail");
    root.run("INSERT INTO shop.customers VALUES (2, 'bo@home')");
    let mut admin = admin(&fed);
    wait::until("the stream has stopped", wait::SOON, || {
        let select = "SELECT last_error LIKE 'table shop.customers has no column \"email\"%' FROM replication";
        admin.run(select).texts() == [["1"]]
    });
    set_filters(&fed, &masks.replace("\"email\"", "\"mail\""));
    proxy.signal(e2e::Signal::HUP);
    wait_reached(&one, &root.value(position(product)));
    assert_eq!(
        texts(&one, "SELECT id, mail FROM shop.customers ORDER BY id"),
        [["1", "NULL"], ["2", "NULL"]]
    );
    proxy.stop();
}

fn lengths_of_transactions_are_right_without_checksums_on_the_primary(product: Product) {
    let fed = Fed::new(product);
    fed.primary.root().run("SET GLOBAL binlog_checksum = NONE");
    let proxy = fed.proxy();
    let one = fed.replica(2);
    let mut root = fed.primary.root();
    root.run("CREATE DATABASE shop");
    root.run("CREATE TABLE shop.orders (id INT PRIMARY KEY, note TEXT)");
    fed.write(0, 5);
    fed.check(&[&one]);
    if !product.is_mariadb() {
        check_lengths(&fed);
    }
    proxy.stop();
}

/// Checks that each GTID event of the relay states where the next transaction begins.
fn check_lengths(fed: &Fed) {
    let file = fed.config.parent().unwrap().join("relay/pilotfish.000001");
    let mut command = fed.primary.product.command("mysqlbinlog");
    let output = command.arg("--no-defaults").arg(file).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = |text: &str| text.trim().parse::<u64>().unwrap();
    let (mut at, mut stated, mut count) = (0, None, 0);
    for line in text.lines() {
        if let Some(place) = line.strip_prefix("# at ") {
            at = number(place);
        }
        let Some((_, length)) = line.split_once("transaction_length=") else {
            continue;
        };
        if let Some(end) = stated {
            assert_eq!(at, end, "{text}");
            count += 1;
        }
        stated = Some(at + number(length));
    }
    assert!(count > 5, "{text}");
}
