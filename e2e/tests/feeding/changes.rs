//! The change feed: over HTTP, from each position, and into files.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use e2e::Signal;
use e2e::http::Http;
use serde_json::{Value, json};

use super::*;

mod kafka;
mod types;

both! {
    the_page_of_the_change_feed_does_what_it_says
    changes_arrive_in_order_and_can_be_read_again_from_each_position
    values_are_the_same_whether_the_server_or_the_history_names_the_columns
    a_reader_continues_after_a_kill_of_the_proxy
    a_reader_whose_position_was_purged_gets_an_error_with_the_missing_gtids
    masked_values_and_passwords_are_nowhere_in_the_feed
    only_the_roles_changes_and_admin_read_the_feed
    a_change_file_rotates_and_continues_after_a_kill_of_the_proxy
}

const FEED: &str = include_str!("../../../docs/manual/src/change-feed.md");

/// `feed:read`, `look:some`, `root:all`
const READER: &str = "ZmVlZDpyZWFk";
const LOOKER: &str = "bG9vazpzb21l";
const ADMIN: &str = "cm9vdDphbGw=";

fn blocks(kind: &str) -> Vec<&'static str> {
    let fence = format!("```{kind}\n");
    let found = FEED.split(&*fence).skip(1);
    found
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

/// A primary whose changes can be read over HTTP, with the settings of the manual's page.
struct Feed {
    fed: Fed,
    http: u16,
}

impl Feed {
    fn new(product: Product) -> Self {
        Self::with(product, "")
    }

    /// With more settings below the stream.
    fn with(product: Product, below: &str) -> Self {
        Self::of(Fed::new(product), below)
    }

    fn of(fed: Fed, below: &str) -> Self {
        let http = free_port();
        let folder = fed.config.parent().unwrap();
        std::fs::write(folder.join("feed.password"), "read").unwrap();
        let place = folder.to_str().unwrap();
        let text = std::fs::read_to_string(&fed.config).unwrap();
        let closed = "[http]\naddress = []";
        assert!(text.contains(closed), "{text}");
        let open = format!("[http]\naddress = [\"127.0.0.1:{http}\"]");
        let below = below.replace("/var/lib/pilotfish", place);
        let text = text.replacen(closed, &open, 1).replacen(
            "[[listener]]\n",
            &format!("{below}\n[[listener]]\n"),
            1,
        );
        let user = blocks("toml")[0].replace("/etc/pilotfish", place);
        std::fs::write(&fed.config, format!("{text}\n{user}")).unwrap();
        Self { fed, http }
    }

    fn run(&self, statements: &[&str]) {
        let mut root = self.fed.primary.root();
        for statement in statements {
            root.run(statement);
        }
    }

    /// Waits until the proxy has read all that was written, and knows the definitions of the objects.
    fn wait_followed(&self) {
        let last = |text: &str| text.rsplit(['-', ':']).next().map(str::to_owned);
        let primary = &self.fed.primary;
        let written = last(&primary.root().value(position(primary.product)));
        let mut admin = self.admin();
        wait::until("the proxy has followed", wait::SOON, || {
            let gtid = admin.run("SELECT last_gtid FROM replication").text(0, 0);
            gtid.and_then(|it| last(&it)) == written
        });
    }

    fn admin(&self) -> RawConn {
        let address = Address::Tcp(([127, 0, 0, 1], self.fed.admin).into());
        RawConn::connect(&address, &Login::with("root", "all")).unwrap()
    }

    fn open(&self, query: &str) -> Changes {
        Changes::open(self.http, query, &[])
    }

    /// The answer to a request that is refused.
    fn refused(&self, user: &str, path: &str) -> (u16, String) {
        wait::for_some("the stream has begun", wait::SOON, || {
            let answer = Http::new(self.http).basic(user).get(path);
            (answer.status != 503).then(|| (answer.status, answer.text()))
        })
    }
}

/// One stream of changes.
struct Changes {
    reader: BufReader<TcpStream>,
    /// The bytes of the next line that have arrived.
    rest: Vec<u8>,
    content_type: String,
}

impl Changes {
    /// A proxy that has just started answers 503 until its stream has begun.
    fn open(port: u16, query: &str, headers: &[&str]) -> Self {
        wait::for_some("the stream has begun", wait::SOON, || {
            Self::try_open(port, query, headers)
        })
    }

    /// `None` if the answer is 503.
    fn try_open(port: u16, query: &str, headers: &[&str]) -> Option<Self> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut text = format!(
            "GET /changes?{query} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Basic {READER}\r\n"
        );
        for header in headers {
            text.push_str(header);
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut content_type = String::new();
        let mut head = String::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            head.push_str(&line);
            if line.trim_end().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-type:") {
                content_type = value.trim().to_owned();
            }
        }
        if head.starts_with("HTTP/1.1 503") {
            return None;
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        Some(Self {
            reader,
            rest: Vec::new(),
            content_type,
        })
    }

    /// The next line without its line end; `None` after the last one.
    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.rest.iter().position(|it| *it == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(String::from_utf8(line).unwrap().trim_end().to_owned());
            }
            let mut size = String::new();
            self.reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            self.reader.read_exact(&mut chunk).ok()?;
            if size == 0 {
                return None;
            }
            self.rest.extend_from_slice(&chunk[..size]);
        }
    }

    /// The next change.
    fn next(&mut self) -> Value {
        loop {
            let line = self.line().expect("there is another change");
            let value: Value = serde_json::from_str(&line).unwrap();
            if value["op"] != "heartbeat" {
                return value;
            }
        }
    }

    /// The changes up to the first one for which `is_last` is true.
    fn until(&mut self, is_last: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let change = self.next();
            let ends = is_last(&change);
            all.push(change);
            if ends {
                return all;
            }
        }
    }
}

fn is_ddl(text: &'static str) -> impl Fn(&Value) -> bool {
    move |it| it["ddl"].as_str().is_some_and(|ddl| ddl.starts_with(text))
}

/// A change's transaction and its place in the transaction.
fn id(change: &Value) -> (String, u64) {
    let transaction = &change["transaction"];
    let gtid = transaction["id"].as_str().unwrap().to_owned();
    (gtid, transaction["total_order"].as_u64().unwrap())
}

fn ids(changes: &[Value]) -> Vec<(String, u64)> {
    changes.iter().map(id).collect()
}

fn position_of(change: &Value) -> String {
    let text = change["position"].as_str().unwrap();
    text.replace(' ', "")
}

fn the_page_of_the_change_feed_does_what_it_says(product: Product) {
    let feed = Feed::new(product);
    let proxy = feed.fed.proxy();
    let statements: Vec<_> = blocks("sql")[0].split(";\n").map(str::trim).collect();
    feed.run(&statements[..statements.len() - 1]);
    let console = blocks("console")[0];
    let query = console.split("/changes?").nth(1).unwrap();
    let query = query.split('\'').next().unwrap();
    let mut changes = feed.open(query);
    assert_eq!(changes.content_type, "application/x-ndjson");
    let got = changes.until(|it| it["op"] == "d");
    let rows = got.iter().filter(|it| it["op"] != "ddl");
    let rows: Vec<_> = rows
        .map(|it| json!({"op": it["op"], "before": it["before"], "after": it["after"]}))
        .collect();
    let expected = blocks("json")[0].lines();
    let expected: Vec<Value> = expected
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    assert_eq!(rows, expected);
    // The complete line on the page has the same fields.
    let whole = FEED.split("```text\n{\"before\"").nth(1).unwrap();
    let whole = whole.split("```").next().unwrap().replace('\n', "");
    let whole: Value = serde_json::from_str(&format!("{{\"before\"{whole}")).unwrap();
    let names = |it: &Value| -> Vec<String> { it.as_object().unwrap().keys().cloned().collect() };
    let first = got.iter().find(|it| it["op"] == "c").unwrap();
    assert_eq!(names(first), names(&whole));
    assert_eq!(names(&first["source"]), names(&whole["source"]));
    assert_eq!(names(&first["transaction"]), names(&whole["transaction"]));
    proxy.stop();
}

/// Statements of many kinds; the last drops the table.
const MANY: [&str; 16] = [
    "CREATE DATABASE shop",
    "CREATE TABLE shop.orders (id BIGINT UNSIGNED PRIMARY KEY, note VARCHAR(100), state ENUM('new', 'paid'))",
    "CREATE TABLE shop.lines (id INT PRIMARY KEY)",
    "BEGIN",
    "INSERT INTO shop.orders VALUES (18446744073709551615, 'a \\\"text\\\"\\n', 'new'), (2, NULL, 'paid')",
    "INSERT INTO shop.lines VALUES (1)",
    "UPDATE shop.orders SET note = 'b' WHERE id = 2",
    "COMMIT",
    "ALTER TABLE shop.orders ADD COLUMN total DECIMAL(10,2) FIRST",
    "UPDATE shop.orders SET total = 1.5 WHERE id = 2",
    "ALTER TABLE shop.orders CHANGE note remark VARCHAR(200)",
    "DELETE FROM shop.orders WHERE id = 2",
    "CREATE TABLE shop.copy AS SELECT id, remark FROM shop.orders",
    "TRUNCATE TABLE shop.orders",
    "RENAME TABLE shop.orders TO shop.old_orders",
    "DROP TABLE shop.old_orders",
];

fn changes_arrive_in_order_and_can_be_read_again_from_each_position(product: Product) {
    let feed = Feed::new(product);
    let proxy = feed.fed.proxy();
    let mut root = feed.fed.primary.root();
    for statement in MANY {
        root.run(statement);
        // The definition that the server shows now must be the one that it had after the statement.
        let is_ddl = ["CREATE", "ALTER", "TRUNCATE", "RENAME", "DROP"];
        if is_ddl.iter().any(|it| statement.starts_with(it)) {
            feed.wait_followed();
        }
    }
    let all = feed.open("from=oldest").until(is_ddl("DROP TABLE"));
    let rows: Vec<_> = all.iter().filter(|it| it["op"] != "ddl").collect();
    let shown: Vec<_> = rows
        .iter()
        .map(|it| {
            let (op, table) = (&it["op"], &it["source"]["table"]);
            json!([op, table, it["before"], it["after"]])
        })
        .collect();
    let large = json!(u64::MAX);
    let expected = [
        json!(["c", "orders", null, {"id": large, "note": "a \"text\"\n", "state": "new"}]),
        json!(["c", "orders", null, {"id": 2, "note": null, "state": "paid"}]),
        json!(["c", "lines", null, {"id": 1}]),
        json!(["u", "orders", {"id": 2, "note": null, "state": "paid"}, {"id": 2, "note": "b", "state": "paid"}]),
        json!(["u", "orders", {"total": null, "id": 2, "note": "b", "state": "paid"},
               {"total": "1.50", "id": 2, "note": "b", "state": "paid"}]),
        json!(["d", "orders", {"total": "1.50", "id": 2, "remark": "b", "state": "paid"}, null]),
        json!(["c", "copy", null, {"id": large, "remark": "a \"text\"\n"}]),
        json!(["t", "orders", null, null]),
    ];
    assert_eq!(shown, expected);
    let orders: Vec<_> = rows[..4]
        .iter()
        .map(|it| it["transaction"]["total_order"].clone())
        .collect();
    assert_eq!(orders, [1, 2, 3, 4]);

    for (index, change) in all.iter().enumerate().take(all.len() - 1) {
        let query = format!("from={}", position_of(change));
        let rest = feed.open(&query).until(is_ddl("DROP TABLE"));
        let first = all.len() - rest.len();
        assert!(first <= index + 1, "{index}: {first}");
        assert_eq!(ids(&rest), ids(&all[first..]), "{index}");
    }
    // A live reader of some tables.
    let mut few = feed.open("tables=shop.lines,!shop.orders");
    // The heartbeat shows that the reader is connected before the next change.
    let heartbeat = few.line().unwrap();
    assert!(heartbeat.contains("\"heartbeat\""), "{heartbeat}");
    feed.run(&[
        "INSERT INTO shop.copy VALUES (5, 'x')",
        "INSERT INTO shop.lines VALUES (2)",
    ]);
    assert_eq!(few.next()["after"], json!({"id": 2}));
    let mut admin = feed.admin();
    wait::until("the reader is shown", wait::SOON, || {
        let select = "SELECT way, cluster, tables, state, events FROM change_readers WHERE bytes > 100 \
                      AND reader LIKE 'feed from 127.0.0.1:%' AND position <> ''";
        let expected = ["http", "main", "shop.lines,!shop.orders", "live", "1"];
        admin.run(select).texts() == [expected]
    });
    proxy.stop();
}

/// Columns of many types, and a row.
fn types(product: Product) -> (String, String, Value) {
    let mut columns = "id INT PRIMARY KEY, a TINYINT, b TINYINT UNSIGNED, c MEDIUMINT UNSIGNED, d BIGINT UNSIGNED, \
        e DECIMAL(20,5), f DOUBLE, g BIT(1), h BIT(12), i YEAR, j DATE, k TIME(1), l DATETIME(3), m TIMESTAMP NULL, \
        n CHAR(5), o VARCHAR(300) CHARACTER SET latin1, p TEXT, q BINARY(4), r VARBINARY(10), s BLOB, \
        t ENUM('red','it''s'), u SET('x','y','z'), v JSON, w POINT"
        .to_owned();
    let mut values = "1, -1, 255, 16777215, 18446744073709551615, -12345.6, 0.1, 1, 5, 2026, '2026-02-03', \
        '-12:30:00.5', '2026-02-03 04:05:06.007', '2026-02-03 04:05:06', 'ab', 'na\u{ef}ve', '\u{20ac}', 'xy', '', \
        'plain', 'it''s', 'x,z', '{\"a\": [1, 2]}', ST_GeomFromText('POINT(1 2)')"
        .to_owned();
    let mut expected = json!({
        "id": 1, "a": -1, "b": 255, "c": 16_777_215, "d": u64::MAX, "e": "-12345.60000", "f": 0.1, "g": true, "h": 5,
        "i": 2026, "j": "2026-02-03", "k": "-12:30:00.5", "l": "2026-02-03T04:05:06.007", "m": "2026-02-03T04:05:06Z",
        "n": "ab", "o": "naïve", "p": "€", "q": "eHkAAA==", "r": "", "s": "cGxhaW4=", "t": "it's", "u": "x,z",
        "v": "{\"a\": [1, 2]}", "w": {"srid": 0, "wkb": "AQEAAAAAAAAAAADwPwAAAAAAAABA"},
    });
    match product.is_mariadb() {
        true => {
            columns.push_str(", x UUID, x4 INET4, x6 INET6, y BLOB COMPRESSED");
            values.push_str(
                ", '123e4567-e89b-12d3-a456-426655440000', '10.1.2.0', '2001:db8::', REPEAT('z', 200)",
            );
            expected["x"] = "123e4567-e89b-12d3-a456-426655440000".into();
            expected["x4"] = "10.1.2.0".into();
            expected["x6"] = "2001:db8::".into();
            expected["y"] = "enp6".repeat(66).into();
            let tail = expected["y"].as_str().unwrap().to_owned() + "eno=";
            expected["y"] = tail.into();
        }
        false => {
            columns.push_str(", x VECTOR(2)");
            values.push_str(", STRING_TO_VECTOR('[1,-2.5]')");
            expected["x"] = json!([1.0, -2.5]);
        }
    }
    (columns, values, expected)
}

fn values_are_the_same_whether_the_server_or_the_history_names_the_columns(product: Product) {
    let feed = Feed::new(product);
    let proxy = feed.fed.proxy();
    let (columns, values, expected) = types(product);
    let create = format!("CREATE TABLE shop.kinds ({columns}) DEFAULT CHARSET utf8mb4");
    let insert = format!("INSERT INTO shop.kinds VALUES ({values})");
    feed.run(&["CREATE DATABASE shop", &create]);
    let mut changes = feed.open("from=oldest&tables=shop.kinds");
    for metadata in ["", "FULL"] {
        if !metadata.is_empty() {
            feed.run(&["SET GLOBAL binlog_row_metadata = FULL"]);
        }
        let compression = match product.is_mariadb() {
            true => "SET GLOBAL log_bin_compress = ON",
            false => "SET GLOBAL binlog_transaction_compression = ON",
        };
        feed.run(&["SET time_zone = '+00:00'", compression]);
        let mut root = feed.fed.primary.root();
        root.run("SET NAMES utf8mb4");
        root.run("SET time_zone = '+00:00'");
        root.run(&insert);
        root.run("DELETE FROM shop.kinds");
        let told = changes.until(|it| it["op"] == "d");
        let inserted = told.iter().find(|it| it["op"] == "c").unwrap();
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(inserted["after"][name], *value, "{name} {metadata}");
        }
        assert_eq!(inserted["after"], expected, "{metadata}");
        assert_eq!(told.last().unwrap()["before"], expected, "{metadata}");
    }
    proxy.stop();
}

fn a_reader_continues_after_a_kill_of_the_proxy(product: Product) {
    let feed = Feed::new(product);
    let proxy = feed.fed.proxy();
    feed.run(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, note TEXT)",
    ]);
    feed.fed.write(0, 10);
    // Each number is inserted once; an update changes the row of the third number before.
    let is_insert = |number: u32| move |it: &Value| it["op"] == "c" && it["after"]["id"] == number;
    let mut all = feed.open("from=oldest").until(is_insert(9));
    proxy.kill();
    feed.fed.write(10, 20);
    let proxy = feed.fed.proxy();
    let query = format!("from={}", position_of(all.last().unwrap()));
    let mut changes = feed.open(&query);
    all.extend(changes.until(is_insert(19)));
    // Changed settings of the stream restart it, and its readers stay connected.
    let text = std::fs::read_to_string(&feed.fed.config).unwrap();
    let text = text.replace(
        "server_id = 4242\n",
        "server_id = 4242\nheartbeat = \"4s\"\n",
    );
    std::fs::write(&feed.fed.config, text).unwrap();
    proxy.signal(Signal::HUP);
    feed.fed.write(20, 22);
    all.extend(changes.until(is_insert(21)));

    // A reader of server-sent events sends its last position itself.
    let last = position_of(all.last().unwrap());
    let id = format!("last-event-id: {last}");
    let headers = ["accept: text/event-stream", &id];
    let mut events = Changes::open(feed.http, "from=oldest", &headers);
    assert_eq!(events.content_type, "text/event-stream");
    feed.fed.write(22, 24);
    let mut lines = Vec::new();
    while !lines
        .iter()
        .any(|it: &String| it.starts_with("data: ") && it.contains("\"id\":23,"))
    {
        lines.push(events.line().unwrap());
    }
    let data = lines.iter().filter_map(|it| it.strip_prefix("data: "));
    all.extend(data.map(|it| serde_json::from_str(it).unwrap()));
    let mut ids_of_events = lines.iter().filter_map(|it| it.strip_prefix("id: "));
    assert_eq!(
        ids_of_events.next_back(),
        all.last().unwrap()["position"].as_str()
    );

    let inserted = all.iter().filter(|it| it["op"] == "c");
    let mut numbers: Vec<_> = inserted
        .map(|it| it["after"]["id"].as_u64().unwrap())
        .collect();
    numbers.dedup();
    assert_eq!(numbers, (0..24).collect::<Vec<_>>());
    let mut got = ids(&all);
    got.dedup();
    let whole = feed.open("from=oldest").until(is_insert(23));
    assert_eq!(got, ids(&whole));
    proxy.stop();
}

fn a_reader_whose_position_was_purged_gets_an_error_with_the_missing_gtids(product: Product) {
    let feed = Feed::with(product, "relay_bytes_max = 1048576");
    let proxy = feed.fed.proxy();
    feed.run(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, note LONGTEXT)",
        "INSERT INTO shop.orders VALUES (1, 'x')",
    ]);
    let early = position_of(&feed.open("from=oldest").until(|it| it["op"] == "c")[0]);
    let path = format!("/changes?from={early}");
    for number in 2..12 {
        feed.run(&[&format!(
            "INSERT INTO shop.orders VALUES ({number}, REPEAT('x', 400000))"
        )]);
    }
    let is_gone = || {
        // While the relay still has the position, the answer does not end.
        let mut stream = TcpStream::connect(("127.0.0.1", feed.http)).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Basic {READER}\r\n\r\n",
            feed.http
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status).unwrap();
        status.starts_with("HTTP/1.1 410")
    };
    wait::until("the relay has deleted files", wait::SOON, is_gone);
    feed.wait_followed();
    let (status, text) = feed.refused(READER, &path);
    assert_eq!(status, 410);
    assert!(text.contains("The missing ones are"), "{text}");
    // A reader can start at the oldest position of the relay and reads up to the last change.
    feed.open("from=oldest").until(|it| it["after"]["id"] == 11);
    proxy.stop();
}

fn masked_values_and_passwords_are_nowhere_in_the_feed(product: Product) {
    let filter = "[[replication.filter]]\ntables = [\"shop.customers\"]\ncolumns_null = [\"card\"]\n\
                  columns_constant = [\"email=nobody\"]\n";
    let feed = Feed::with(product, filter);
    feed.run(&["SET GLOBAL binlog_row_metadata = FULL"]);
    let proxy = feed.fed.proxy();
    feed.run(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.customers (id INT PRIMARY KEY, email VARCHAR(50), card VARCHAR(20), name TEXT)",
        "INSERT INTO shop.customers VALUES (1, 'ada@home', '4111', 'Ada')",
        "UPDATE shop.customers SET email = 'ada@work', card = '4222', name = 'A.' WHERE id = 1",
        "CREATE USER kim IDENTIFIED BY 'kims-secret'",
        "DROP USER kim",
        "DELETE FROM shop.customers",
    ]);
    let mut changes = feed.open("from=oldest");
    let mut lines = Vec::new();
    while !lines
        .last()
        .is_some_and(|it: &String| it.contains("\"op\":\"d\""))
    {
        lines.push(changes.line().unwrap());
    }
    let text = lines.concat();
    for secret in ["ada@", "4111", "4222", "kims-secret"] {
        assert!(!text.contains(secret), "{text}");
    }
    let expected = "\"after\":{\"id\":1,\"email\":\"nobody\",\"card\":null,\"name\":\"A.\"}";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.contains("CREATE USER") && text.contains("<secret>"),
        "{text}"
    );
    proxy.stop();
}

fn only_the_roles_changes_and_admin_read_the_feed(product: Product) {
    let feed = Feed::new(product);
    let proxy = feed.fed.proxy();
    assert_eq!(feed.refused(LOOKER, "/changes").0, 403);
    assert_eq!(Http::new(feed.http).get("/changes").status, 401);
    for path in [
        "/api/tables",
        "/api/tables/sessions",
        "/",
        "/api/changes",
        "/metrics",
    ] {
        assert_eq!(feed.refused(READER, path).0, 403, "{path}");
    }
    let address = Address::Tcp(([127, 0, 0, 1], feed.fed.admin).into());
    assert!(RawConn::connect(&address, &Login::with("feed", "read")).is_err());
    assert!(RawConn::connect(&address, &Login::with("look", "some")).is_ok());
    for user in [READER, ADMIN] {
        for (path, status) in [
            ("/changes?cluster=other", 404),
            ("/changes?from=somewhere", 400),
            ("/changes?table=a", 400),
            ("/changes?tables=a.b.c", 400),
        ] {
            assert_eq!(feed.refused(user, path).0, status, "{path}");
        }
    }
    // An empty relay cannot tell that a position is ahead of its source.
    feed.run(&["CREATE DATABASE shop"]);
    feed.open("from=oldest").until(is_ddl("CREATE DATABASE"));
    let ahead = match product.is_mariadb() {
        true => "0-1-999999".to_owned(),
        false => {
            let uuid = feed.fed.primary.root().value("SELECT @@server_uuid");
            format!("{uuid}:1-999999")
        }
    };
    let (status, text) = feed.refused(READER, &format!("/changes?from={ahead}"));
    assert_eq!(status, 409, "{text}");
    proxy.stop();
}

/// The rows of a change file and of its rotated files, each change once.
fn in_files(folder: &Path) -> Vec<Value> {
    let files = folder.read_dir().unwrap().map(|it| it.unwrap().path());
    let is_data = |it: &PathBuf| {
        let name = it.file_name().unwrap().to_str().unwrap();
        let suffix = name.strip_prefix("changes.jsonl");
        suffix.is_some_and(|it| it.is_empty() || it.starts_with(".0"))
    };
    let mut files: Vec<_> = files.filter(is_data).collect();
    // The file without a number is the newest.
    files.sort_by_key(|it| (it.extension().is_some_and(|it| it == "jsonl"), it.clone()));
    let mut all: Vec<Value> = Vec::new();
    for file in files {
        // The proxy may have rotated the file since its name was read.
        let Ok(text) = std::fs::read_to_string(file) else {
            return in_files(folder);
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            let is_new = !all.iter().any(|it| id(it) == id(&value));
            if is_new {
                all.push(value);
            }
        }
    }
    all
}

fn a_change_file_rotates_and_continues_after_a_kill_of_the_proxy(product: Product) {
    let below = blocks("toml")[1].replace("256MiB", "20KiB");
    let feed = Feed::with(product, &below);
    let folder = feed.fed.config.parent().unwrap().to_owned();
    let proxy = feed.fed.proxy();
    feed.run(&[
        "CREATE DATABASE shop",
        "CREATE DATABASE other",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, note TEXT)",
        "CREATE TABLE other.orders (id INT PRIMARY KEY)",
        "INSERT INTO other.orders VALUES (1)",
    ]);
    feed.fed.write(0, 10);
    let has = |number: u32| {
        let all = in_files(&folder);
        let mut inserted = all.iter().filter(|it| it["op"] == "c");
        inserted.any(|it| it["after"]["id"] == number)
    };
    wait::until("the file has the changes", wait::SOON, || has(9));
    proxy.kill();
    feed.fed.write(10, 20);
    let proxy = feed.fed.proxy();
    wait::until("the file has the changes", wait::SOON, || has(19));
    proxy.stop();
    feed.fed.write(20, 25);
    let proxy = feed.fed.proxy();
    wait::until("the file has the changes", wait::SOON, || has(24));

    let is_last = |it: &Value| it["op"] == "c" && it["after"]["id"] == 24;
    let expected = feed.open("from=oldest&tables=shop.*").until(is_last);
    let mut got = in_files(&folder);
    got.truncate(expected.len());
    assert_eq!(ids(&got), ids(&expected));
    assert!(
        got.iter()
            .all(|it| it["source"]["db"] != "other" || it["op"] == "ddl")
    );
    assert!(folder.join("changes.jsonl.000002").exists());
    let mut admin = feed.admin();
    wait::until("the file is shown", wait::SOON, || {
        let select = "SELECT tables, state FROM change_readers WHERE way = 'file' AND events > 5 \
                      AND reader LIKE '%/changes.jsonl' AND last_error IS NULL";
        admin.run(select).texts() == [["shop.*", "live"]]
    });
    proxy.stop();
}
