//! Statements that rules send before and after a client's statements: their results are logged, and the client does not
//! notice them in any diagnostics. For time limits and kills, see `simulation/tests/scenes/injected_statements.rs`.

use e2e::raw::{Execute, Login, Param, RawConn, Reply, capability};
use e2e::{PASSWORD, Product, Proxy, Server, Settings};
use serde_json::Value;

both! {
    changes_by_injected_statements_are_logged
    the_log_has_the_complete_results_of_injected_statements
    executions_are_explained_with_their_values
    injected_statements_leave_no_diagnostics
    variables_that_injected_statements_set_are_restored
    injected_statements_neither_begin_nor_end_a_transaction
    injected_statements_do_not_pin_the_session
    a_failed_injected_statement_does_not_fail_the_statement
    injected_statements_work_while_clients_connect_and_disconnect
}

/// A proxy with one rule, for statements with the tag `looked`.
struct Site {
    server: &'static Server,
    proxy: Proxy,
}

impl Site {
    fn start(product: Product, rule: &[(&str, &str)]) -> Self {
        Self::with(product, rule, |settings| settings)
    }

    fn with(
        product: Product,
        rule: &[(&str, &str)],
        more: impl FnOnce(Settings) -> Settings,
    ) -> Self {
        let server = Server::shared(product);
        server.root().run("CREATE DATABASE IF NOT EXISTS injected");
        // The limit is long, because the machine may be busy.
        let limit = ("timeout_injected", "\"60s\"");
        let mut rule = [&[("tag", "\"looked\"")], rule].concat();
        if rule.iter().all(|(key, _)| *key != limit.0) {
            rule.push(limit);
        }
        let settings = Settings::in_front_of([server])
            .account("app", PASSWORD)
            .set("workers", 1)
            .set("accounts.explain", true)
            .set("pool.backend_connections_max", 2)
            .rule("looks", &rule);
        let proxy = Proxy::start(&more(settings));
        Self { server, proxy }
    }

    fn client(&self) -> RawConn {
        self.proxy.connect_as(&Login::app().schema("injected"))
    }

    /// Makes a table with this name and this number of rows.
    fn table(&self, name: &str, rows: u32) {
        let mut root = self.server.root();
        root.run(&format!("DROP TABLE IF EXISTS injected.{name}"));
        root.run(&format!(
            "CREATE TABLE injected.{name} (n INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20), KEY (v)) \
             ENGINE=InnoDB"
        ));
        for row in 1..=rows {
            root.run(&format!(
                "INSERT INTO injected.{name} VALUES ({row}, 'v{row}')"
            ));
        }
    }

    /// The log entry of each statement, in order. Waits until there are this many.
    fn profiles(&self, count: usize) -> Vec<Value> {
        let json = |line: &String| -> Value {
            serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap()
        };
        let all = || -> Vec<Value> {
            let lines = self.proxy.log_lines();
            let told = |line: &&String| line.contains("kind=\"injected_statement\"");
            lines.iter().filter(told).map(json).collect()
        };
        e2e::wait::until("it is logged", e2e::wait::SOON, || all().len() >= count);
        let all = all();
        assert_eq!(all.len(), count);
        all
    }

    fn backend(&self) -> String {
        self.server.tcp().to_string()
    }

    /// How many statements were injected, and how many of them failed.
    fn counts(&self, client: &mut RawConn) -> (String, String) {
        let row = client.query("EXPLAIN RULES").texts().remove(0);
        (row[7].clone(), row[8].clone())
    }
}

fn number_of(reply: &Reply) -> u16 {
    reply.error().map_or(0, |error| error.code)
}

const STATUS: [(&str, &str); 3] = [
    ("before", "[\"SHOW SESSION STATUS\"]"),
    ("after", "[\"SHOW SESSION STATUS\"]"),
    ("injected", "\"diff\""),
];

fn changes_by_injected_statements_are_logged(product: Product) {
    let rule = [&STATUS[..], &[("set_tag", "\"query-cost\"")]].concat();
    let site = Site::start(product, &rule);
    site.table("injected_diff", 20);
    let mut client = site.client();
    let scan = "SELECT COUNT(v + 0) FROM injected_diff /* tag: looked */";
    client.run(scan);
    client.run("SELECT 1");
    let prepared = client.prepare("SELECT v FROM injected_diff WHERE n = ? /* tag: looked */");
    let execute = Execute::new(prepared.statement(), &[Param::Int(7)]);
    assert_eq!(number_of(&client.execute(&execute)), 0);
    client.query("SELECT nothing FROM injected_diff /* tag: looked */");
    let profiles = site.profiles(3);
    let scanned = &profiles[0];
    assert_eq!(scanned["command"], "Query");
    assert_eq!(scanned["query"], "SELECT COUNT(v + ?) FROM injected_diff");
    assert_eq!(scanned["tags"], serde_json::json!(["query-cost"]));
    assert_eq!(scanned["rule"], "looks");
    assert_eq!(scanned["rows"], 1);
    assert!(scanned["thread_id"].as_u64().unwrap() >= 1 << 30);
    assert!(scanned["exec_time"].as_f64().unwrap() > 0.0);
    assert!(scanned["timestamp"].as_str().unwrap().ends_with('Z'));
    let counted = |profile: &Value, name: &str| profile["status"][name].as_i64().unwrap_or(0);
    // Of the two status queries, the second counts itself.
    assert_eq!(counted(scanned, "Com_select"), 1, "{scanned}");
    let read = counted(scanned, "Handler_read_next") + counted(scanned, "Handler_read_rnd_next");
    assert!(read >= 20, "{scanned}");
    assert_eq!(profiles[1]["command"], "Execute");
    assert!(
        counted(&profiles[1], "Handler_read_key") >= 1,
        "{}",
        profiles[1]
    );
    assert_eq!(profiles[2]["error"], 1054);
    assert_eq!(site.counts(&mut client), ("6".to_owned(), "0".to_owned()));
    site.proxy.assert_sound();
}

fn the_log_has_the_complete_results_of_injected_statements(product: Product) {
    let site = Site::start(
        product,
        &[
            ("before", "[\"EXPLAIN FORMAT=JSON {statement}\"]"),
            (
                "after",
                "[\"SHOW WARNINGS\", \"SELECT 'x' AS a, NULL AS b\"]",
            ),
        ],
    );
    site.table("injected_log", 3);
    let mut client = site.client();
    let warns = "SELECT v, 1 + 'y' FROM injected_log WHERE v = 'v2' /* tag: looked */";
    client.run(warns);
    client.run("SET @a = 1 /* tag: looked */");
    let profiles = site.profiles(2);
    let results = profiles[0]["results"].as_array().unwrap();
    let explained = &results[0];
    assert_eq!(explained["statement"], "EXPLAIN FORMAT=JSON {statement}");
    assert_eq!(explained["when"], "before");
    let plan = explained["result"]["rows"][0][0].as_str().unwrap();
    let plan: Value = serde_json::from_str(plan).unwrap();
    assert!(plan.to_string().contains("injected_log"), "{plan}");
    let warned = &results[1]["result"]["rows"][0];
    assert_eq!(warned[1], "1292", "{}", profiles[0]);
    assert_eq!(
        results[2]["result"]["columns"],
        serde_json::json!(["a", "b"])
    );
    assert_eq!(
        results[2]["result"]["rows"],
        serde_json::json!([["x", null]])
    );
    // A statement that cannot be explained is skipped, which does not count as a failure.
    assert!(profiles[1]["results"][0]["skipped"].is_string());
    assert_eq!(site.counts(&mut client).1, "0");
    // The client still gets its own warning.
    client.run(warns);
    assert_eq!(client.query("SHOW WARNINGS").texts()[0][1], "1292");
}

fn executions_are_explained_with_their_values(product: Product) {
    let site = Site::start(product, &[("after", "[\"EXPLAIN {statement}\"]")]);
    site.table("injected_exec", 30);
    let mut client = site.client();
    let prepared =
        client.prepare("SELECT * FROM injected_exec WHERE n = ? OR v = ? /* tag: looked */");
    let parameters = [Param::Int(7), Param::Text("it's")];
    let execute = Execute::new(prepared.statement(), &parameters);
    assert_eq!(number_of(&client.execute(&execute)), 0);
    // The types are not sent again, because the server knows them.
    assert_eq!(number_of(&client.execute(&execute.without_types())), 0);
    for profile in site.profiles(2) {
        let result = &profile["results"][0]["result"];
        assert!(result["rows"][0].is_array(), "{profile}");
        assert!(!profile["query"].as_str().unwrap().contains("it's"));
    }
    assert_eq!(site.counts(&mut client), ("2".to_owned(), "0".to_owned()));
}

/// These injected statements warn, fail, count rows and read tables.
const NOISY: [(&str, &str); 3] = [
    (
        "before",
        "[\"SELECT 1 + 'before'\", \"SELECT nothing\", \"SELECT n FROM injected_rows LIMIT 2\", \
         \"EXPLAIN {statement}\"]",
    ),
    (
        "after",
        "[\"SELECT n FROM injected_rows LIMIT 3\", \"SELECT 1 + 'after'\", \"SHOW WARNINGS\", \
         \"SELECT nothing\"]",
    ),
    ("injected", "\"discard\""),
];

fn injected_statements_leave_no_diagnostics(product: Product) {
    let site = Site::with(product, &NOISY, |settings| {
        settings.set("routing.session", "statement")
    });
    site.table("injected_rows", 5);
    site.table("injected_made", 0);
    let mut through = site.client();
    let mut direct = site.server.connect("injected");
    // Each statement is followed by each of these queries.
    let asks = [
        "SHOW WARNINGS",
        "SHOW COUNT(*) WARNINGS",
        "SELECT ROW_COUNT(), FOUND_ROWS()",
        "SELECT LAST_INSERT_ID()",
        "SELECT @@warning_count, @@error_count",
        "SHOW ERRORS",
    ];
    let statements = [
        "INSERT INTO injected_made (v) VALUES ('a'), ('b')",
        "INSERT INTO injected_made (v) VALUES (LAST_INSERT_ID())",
        "UPDATE injected_made SET v = 'c' WHERE n < 3",
        "SELECT SQL_CALC_FOUND_ROWS n FROM injected_rows LIMIT 1",
        "SELECT 1 + 'own'",
        "SELECT 2",
        "SELECT nothing",
        "SET @x = 1",
        "SELECT @x",
        "DELETE FROM injected_made WHERE v = 'nobody'",
        "DROP TABLE IF EXISTS injected_nobody",
        "SELECT 3; SELECT 1 + 'two'; SELECT 4",
        "START TRANSACTION",
        "SELECT COUNT(*) FROM injected_made",
        "COMMIT",
    ];
    for ask in asks {
        for statement in statements {
            let marked = format!("{statement} /* tag: looked */");
            let hear = |client: &mut RawConn| {
                let said = [client.query(&marked), client.query(ask), client.query(ask)];
                let shown = |reply: &Reply| (reply.texts(), number_of(reply), reply.status());
                said.iter().map(shown).collect::<Vec<_>>()
            };
            if statement.starts_with("INSERT") || statement.starts_with("UPDATE") {
                for client in [&mut direct, &mut through] {
                    client.run("TRUNCATE TABLE injected_made");
                    client.run("INSERT INTO injected_made (v) VALUES ('first')");
                }
                site.server
                    .root()
                    .run("TRUNCATE TABLE injected.injected_made");
                let expected = hear(&mut direct);
                site.server
                    .root()
                    .run("TRUNCATE TABLE injected.injected_made");
                assert_eq!(hear(&mut through), expected, "{statement}; {ask}");
                continue;
            }
            let expected = hear(&mut direct);
            assert_eq!(hear(&mut through), expected, "{statement}; {ask}");
        }
    }
    let (injected, _) = site.counts(&mut through);
    assert!(injected.parse::<u32>().unwrap() > 300, "{injected}");
    site.proxy.assert_sound();
}

fn variables_that_injected_statements_set_are_restored(product: Product) {
    let site = Site::start(
        product,
        &[
            (
                "before",
                "[\"SET profiling = 1, long_query_time = 0.5, optimizer_switch = 'mrr=on'\"]",
            ),
            ("after", "[\"SHOW PROFILE\", \"SHOW PROFILES\"]"),
        ],
    );
    let mut client = site.client();
    let asked = "SELECT @@profiling, @@long_query_time, @@optimizer_switch";
    client.run("SET long_query_time = 7");
    client.run("BEGIN");
    let before = client.query(asked).texts();
    client.run("SELECT 'profiled' /* tag: looked */");
    assert_eq!(client.query(asked).texts(), before);
    client.run("COMMIT");
    assert_eq!(client.query(asked).texts(), before);
    let mut profile = site.profiles(1).remove(0);
    let results = profile["results"].take();
    let last = results[1]["result"]["rows"]
        .as_array()
        .unwrap()
        .last()
        .cloned();
    assert!(
        last.unwrap()[2].as_str().unwrap().contains("profiled"),
        "{results}"
    );
    assert!(
        results[0]["result"]["rows"].as_array().unwrap().len() > 2,
        "{results}"
    );
    assert_eq!(site.counts(&mut client).1, "0");
}

fn injected_statements_neither_begin_nor_end_a_transaction(product: Product) {
    let site = Site::start(
        product,
        &[
            ("before", "[\"SELECT COUNT(*) FROM injected_tx\"]"),
            ("after", "[\"SELECT COUNT(*) FROM injected_tx\"]"),
            ("injected", "\"diff\""),
        ],
    );
    site.table("injected_tx", 1);
    let mut client = site.client();
    const IN_TRANS: u16 = 1;
    client.run("SET autocommit = 0");
    let looked = |statement: &str| format!("{statement} /* tag: looked */");
    let reply = client.query(&looked("SELECT 1"));
    assert_eq!(reply.status() & IN_TRANS, 0);
    // An open transaction would make this statement fail.
    let set = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
    assert_eq!(number_of(&client.query(&looked(set))), 0);
    // The client's first read uses the characteristics, not an injected statement.
    client.run(&looked("SELECT COUNT(*) FROM injected_tx"));
    site.server
        .root()
        .run("INSERT INTO injected.injected_tx (v) VALUES ('x')");
    assert_eq!(client.value("SELECT COUNT(*) FROM injected_tx"), "2");
    client.run("ROLLBACK");
    // Injected statements do not end the client's transaction.
    client.run("SET autocommit = 1");
    client.run("BEGIN");
    client.run(&looked("INSERT INTO injected_tx (v) VALUES ('y')"));
    assert_ne!(client.query("SELECT 1").status() & IN_TRANS, 0);
    client.run("ROLLBACK");
    assert_eq!(client.value("SELECT COUNT(*) FROM injected_tx"), "2");
    // The snapshot begins with the client's next statement, not with the statement injected after COMMIT.
    client.run("SET autocommit = 0");
    client.run(&looked("COMMIT"));
    site.server
        .root()
        .run("INSERT INTO injected.injected_tx (v) VALUES ('z')");
    assert_eq!(client.value("SELECT COUNT(*) FROM injected_tx"), "3");
    site.proxy.assert_sound();
}

/// Injected statements do not pin, whatever the client's own statements did before, and even if they fail.
fn injected_statements_do_not_pin_the_session(product: Product) {
    let site = Site::start(
        product,
        &[
            ("before", "[\"SET profiling = 1\", \"SELECT 1\"]"),
            ("after", "[\"SELECT 1\", \"SELECT nothing\"]"),
            ("injected", "\"discard\""),
        ],
    );
    site.table("injected_pins", 1);
    let connection = |client: &mut RawConn| {
        let rows = client.query("EXPLAIN SESSION").texts();
        let row = rows.into_iter().find(|row| row[0] == "connection");
        row.unwrap()[1].clone()
    };
    let looked = |statement: &str| format!("{statement} /* tag: looked */");
    let ways = [
        ("BEGIN", "COMMIT"),
        ("BEGIN", "ROLLBACK"),
        ("SELECT 1; BEGIN", "SELECT 1; COMMIT"),
        ("BEGIN", "CREATE TABLE IF NOT EXISTS injected_more (n INT)"),
        ("BEGIN", "SET autocommit = 1; COMMIT"),
    ];
    let login = Login::app().schema("injected");
    let old = login.clone().without(capability::DEPRECATE_EOF);
    let mut clients = [login, old].map(|login| site.proxy.connect_as(&login));
    for (index, (begin, end)) in (0..2).flat_map(|index| ways.map(|way| (index, way))) {
        let client = &mut clients[index];
        client.run(&looked(begin));
        client.run(&looked("UPDATE injected_pins SET v = 'x'"));
        let again = client.query(&looked("INSERT INTO injected_pins VALUES (1, 'again')"));
        assert_eq!(number_of(&again), 1062);
        assert_eq!(connection(client), site.backend());
        client.run(&looked("SELECT * FROM injected_pins"));
        client.run(&looked(end));
        assert!(
            connection(client).starts_with("(none"),
            "{end}: {:?}",
            client.query("EXPLAIN SESSION").texts()
        );
    }
}

fn a_failed_injected_statement_does_not_fail_the_statement(product: Product) {
    let site = Site::start(
        product,
        &[
            ("before", "[\"SELECT * FROM injected_nobody\"]"),
            ("after", "[\"SELECT REPEAT('x', 5000)\", \"SELECT 1\"]"),
            ("injected_bytes_max", "4096"),
        ],
    );
    let mut client = site.client();
    for turn in 0..3 {
        assert_eq!(
            client.value(&format!("SELECT {turn} /* tag: looked */")),
            turn.to_string()
        );
    }
    let profiles = site.profiles(3);
    let results = profiles[2]["results"].as_array().unwrap();
    assert!(
        results[0]["error"]
            .as_str()
            .unwrap()
            .starts_with("error 1146")
    );
    assert!(
        results[1]["error"]
            .as_str()
            .unwrap()
            .contains("injected_bytes_max")
    );
    assert_eq!(results[2]["result"]["rows"], serde_json::json!([["1"]]));
    assert_eq!(site.counts(&mut client), ("9".to_owned(), "6".to_owned()));
    assert_eq!(site.proxy.count_events("injected_failed"), 1);
    site.proxy.assert_sound();
}

/// Clients that disconnect at once, and many clients that share two connections.
fn injected_statements_work_while_clients_connect_and_disconnect(product: Product) {
    let site = Site::start(product, &STATUS);
    std::thread::scope(|scope| {
        for turn in 0..6 {
            let site = &site;
            scope.spawn(move || {
                for round in 0..5 {
                    let mut client = site.client();
                    let sum = format!("SELECT {turn} * 10 + {round} /* tag: looked */");
                    assert_eq!(client.value(&sum), (turn * 10 + round).to_string());
                    if round % 2 == 0 {
                        client.quit();
                    }
                }
            });
        }
    });
    site.profiles(30);
    site.proxy.assert_sound();
}
