//! Profiles: the cost of statements that are chosen by chance, by rules or by hints. The clients do not notice the
//! profiling.

use std::fs;
use std::thread;

use e2e::raw::{Execute, Login, Param, RawConn, Reply};
use e2e::{Folder, PASSWORD, Product, Proxy, Server, Settings, free_port, wait};
use serde_json::{Value, json};

use crate::lanes;

both! {
    the_articles_profile_is_written
    the_profiled_users_digests_and_sessions_are_configurable
    values_are_shown_only_if_the_settings_allow_them
    a_profile_has_every_kind_of_result
    the_performance_schema_row_of_a_statement_is_fetched
    profiling_leaves_no_diagnostics
    statements_that_cannot_be_profiled_are_counted
    a_profiled_statement_is_alone_on_its_connection
}

const SCHEMA: &str = "profiled";

/// A server with the article's countries, behind a proxy that writes profiles.
struct Site {
    server: &'static Server,
    proxy: Proxy,
    folder: Folder,
    admin: u16,
}

impl Site {
    fn start(product: Product, more: impl FnOnce(Settings) -> Settings) -> Self {
        let server = Server::shared(product);
        let mut root = server.root();
        root.run(&format!("CREATE DATABASE IF NOT EXISTS {SCHEMA}"));
        root.run(&format!("USE {SCHEMA}"));
        root.run(
            "CREATE TABLE IF NOT EXISTS Country (Code CHAR(3) PRIMARY KEY, Continent VARCHAR(20), \
             Population INT, KEY (Continent)) ENGINE=InnoDB",
        );
        root.run(
            // In the order of their keys: if several tests begin at once, each waits for the first, and they never wait
            // in a circle.
            "REPLACE INTO Country VALUES ('BRA', 'South America', 170115000), ('CHN', 'Asia', 1277558000), \
             ('DEU', 'Europe', 82164700), ('FRA', 'Europe', 59225700), ('NGA', 'Africa', 111506000)",
        );
        let folder = Folder::new("files");
        let admin = free_port();
        let settings = Settings::in_front_of([server])
            .account("app", PASSWORD)
            .set("workers", 1)
            .set("hints.accepted", "pilotfish")
            .set("routing.session", "statement")
            .set("profiling.timeout", "60s")
            .set("profiling.file", &folder.path().join("profiles"))
            .admin_on(admin);
        let proxy = Proxy::start(&more(settings));
        Self {
            server,
            proxy,
            folder,
            admin,
        }
    }

    fn client(&self) -> RawConn {
        self.proxy.connect_as(&Login::app().schema(SCHEMA))
    }

    fn root(&self) -> RawConn {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], self.admin));
        RawConn::connect(&address.into(), &Login::with("root", "all")).unwrap()
    }

    /// The profiles in the file, once there are `count` of them.
    fn profiles(&self, count: usize) -> Vec<Value> {
        let profiles = written(&self.folder, count);
        assert_eq!(profiles.len(), count, "{profiles:?}");
        profiles
    }

    fn left_out(&self, reason: &str) -> String {
        let sql = format!("SELECT statements FROM profiling WHERE reason = '{reason}'");
        self.root().value(&sql)
    }
}

fn written(folder: &Folder, count: usize) -> Vec<Value> {
    e2e::written::json_lines(&folder.path().join("profiles"), count)
}

fn counted(profile: &Value, name: &str) -> i64 {
    profile["status"][name].as_i64().unwrap_or(0)
}

fn the_articles_profile_is_written(product: Product) {
    let site = Site::start(product, |settings| {
        let mark = [("kind", "\"SELECT\""), ("set_tag", "\"query-cost\"")];
        settings
            .set("profiling.sample_one_in", 1)
            .rule("mark", &mark)
    });
    let mut client = site.client();
    let asked = "SELECT MAX(population), continent FROM Country GROUP BY continent";
    assert_eq!(client.run(asked).texts().len(), 4);
    let profile = &site.profiles(1)[0];
    assert_eq!(profile["command"], "Query");
    assert_eq!(profile["query"], asked);
    assert_eq!(profile["tags"], json!(["query-cost"]));
    let id = client.value("SELECT CONNECTION_ID()");
    assert_eq!(profile["thread_id"].to_string(), id);
    assert!(profile["timestamp"].as_str().unwrap().ends_with('Z'));
    assert!(profile["exec_time"].as_f64().unwrap() > 0.0);
    // The profile has the statement's own cost only.
    assert_eq!(counted(profile, "Com_select"), 1, "{profile}");
    assert_eq!(
        counted(profile, "Bytes_received"),
        5 + asked.len() as i64,
        "{profile}"
    );
    assert!(
        (50..1000).contains(&counted(profile, "Bytes_sent")),
        "{profile}"
    );
    assert_eq!(counted(profile, "Questions"), 1, "{profile}");
    assert_eq!(counted(profile, "Com_show_status"), 0, "{profile}");
    let read: i64 = ["first", "key", "next", "rnd_next"]
        .iter()
        .map(|how| counted(profile, &format!("Handler_read_{how}")))
        .sum();
    assert!((5..40).contains(&read), "{profile}");
    assert!(!profile["status"]["Last_query_cost"].is_null(), "{profile}");
    assert_eq!(profile["cost"]["statements"], 2);
    assert!(profile["cost"]["microseconds"].as_u64().unwrap() > 0);
    // The admin table has the same profile.
    let sql = "SELECT statement, tag, chosen_by, rows_sent, sent, status ->> '$.Com_select', db, command, \
               session FROM profiles WHERE statement LIKE '%continent%'";
    let row = site.root().run(sql).texts().remove(0);
    let expected = [
        asked,
        "query-cost",
        "chance",
        "4",
        "2",
        "1",
        SCHEMA,
        "Query",
        &id,
    ];
    assert_eq!(row, expected);
    let log = "SELECT written, trouble IS NULL FROM logs WHERE log = 'profiling'";
    wait::until("both are written", wait::SOON, || {
        site.root().run(log).texts() == [["2", "1"]]
    });
    site.proxy.assert_sound();
}

fn the_profiled_users_digests_and_sessions_are_configurable(product: Product) {
    let site = Site::start(product, |settings| {
        settings.rule("asked", &[("tag", "\"looked\""), ("profile", "true")])
    });
    let mut client = site.client();
    client.run("SELECT 1");
    client.run("SELECT 2 /* tag: looked */");
    client.run("SELECT 3, 3 /* pilotfish: profile */");
    let prepared = client.prepare("SELECT Code FROM Country WHERE Code = ? /* tag: looked */");
    let execute = Execute::new(prepared.statement(), &[Param::Text("DEU")]);
    assert!(client.execute(&execute).error().is_none());
    let chosen = |profiles: &[Value]| -> Vec<(String, String)> {
        let text = |it: &Value| it.as_str().unwrap().to_owned();
        let both = |it: &Value| (text(&it["chosen_by"]), text(&it["command"]));
        profiles.iter().map(both).collect()
    };
    let pair = |by: &str, command: &str| (by.to_owned(), command.to_owned());
    let expected = [
        pair("asked", "Query"),
        pair("hint", "Query"),
        pair("asked", "Execute"),
    ];
    assert_eq!(chosen(&site.profiles(3)), expected);
    // From now on, only one session and one digest are profiled.
    let mut other = site.client();
    let id = client.value("SELECT CONNECTION_ID()");
    let set = |name: &str, value: &str| {
        let sql = format!("UPDATE settings SET value = '{value}' WHERE name = 'profiling.{name}'");
        site.root().run(&sql);
    };
    set("session", &format!("[{id}]"));
    set("digest", r#"["SELECT Code FROM Country"]"#);
    set("sample_one_in", "1");
    let code = "SELECT Code FROM Country";
    wait::until("it holds", wait::SOON, || {
        client.run(code);
        site.root().value("SELECT count(*) FROM profiles") != "3"
    });
    // The proxy makes a profile after the reply was sent, and before the session's next statement.
    let other_digest = "SELECT Continent FROM Country";
    client.run(other_digest);
    let before = site.root().value("SELECT count(*) FROM profiles");
    other.run(code);
    client.run(other_digest);
    assert_eq!(site.root().value("SELECT count(*) FROM profiles"), before);
    set("session", "[]");
    set("user", r#"["nobody"]"#);
    wait::until("it holds", wait::SOON, || {
        let had = site.root().value("SELECT count(*) FROM profiles");
        other.run(code);
        other.run(other_digest);
        site.root().value("SELECT count(*) FROM profiles") == had
    });
    site.proxy.assert_sound();
    site.root().run("RESET PROFILES");
    assert_eq!(site.root().value("SELECT count(*) FROM profiles"), "0");
}

fn values_are_shown_only_if_the_settings_allow_them(product: Product) {
    let more = |settings: Settings| {
        settings.set("profiling.sample_one_in", 1).set(
            "profiling.collect",
            ["status", "warnings", "explain"].as_slice(),
        )
    };
    let secret = "SELECT Code FROM Country WHERE Continent = 'hidden' AND 1 = 'hidden'";
    let with_parameter = "SELECT Code FROM Country WHERE Code = ? AND Population > 1";
    let hear = |site: &Site| {
        let mut client = site.client();
        client.run(secret);
        let prepared = client.prepare(with_parameter);
        let execute = Execute::new(prepared.statement(), &[Param::Text("hidden")]);
        assert!(client.execute(&execute).error().is_none());
        site.profiles(2)
    };
    let hidden = Site::start(product, more);
    let profiles = hear(&hidden);
    assert_eq!(
        profiles[0]["query"],
        "SELECT Code FROM Country WHERE Continent = ? AND ? = ?"
    );
    let text = fs::read_to_string(hidden.folder.path().join("profiles")).unwrap();
    assert!(!text.contains("hidden"), "{text}");
    let told = hidden.root().run("SELECT * FROM profiles").texts();
    assert!(!format!("{told:?}").contains("hidden"), "{told:?}");
    // The statement is explained although its values are hidden.
    let explained = |profile: &Value| {
        let results = profile["results"].as_array().unwrap();
        let is_plan = |it: &&Value| it["statement"].as_str().unwrap().starts_with("EXPLAIN");
        let plan = results.iter().find(is_plan).unwrap();
        plan["result"]["rows"][0][0].clone()
    };
    assert_eq!(explained(&profiles[1]), "1", "{}", profiles[1]);

    let open = Site::start(product, |settings| {
        more(settings).set("profiling.include_values", true)
    });
    let profiles = hear(&open);
    assert_eq!(profiles[0]["query"], secret);
    let filled = profiles[1]["query"].as_str().unwrap();
    assert!(filled.contains("Code = 'hidden' AND"), "{filled}");
}

fn a_profile_has_every_kind_of_result(product: Product) {
    let asks = ["status", "warnings", "explain", "profile", "trace"];
    let site = Site::start(product, |settings| {
        settings
            .set("profiling.sample_one_in", 1)
            .set("profiling.include_values", true)
            .set("profiling.collect", asks.as_slice())
    });
    let mut client = site.client();
    client.run("SELECT COUNT(*) FROM Country WHERE Continent = 'Europe' AND Code <> 'x'");
    let profile = &site.profiles(1)[0];
    assert_eq!(counted(profile, "Com_select"), 1, "{profile}");
    let results = profile["results"].as_array().unwrap();
    let rows = |statement: &str| -> Vec<Value> {
        let found = results
            .iter()
            .find(|it| it["statement"].as_str().unwrap().starts_with(statement));
        let rows = found.and_then(|it| it["result"]["rows"].as_array());
        rows.unwrap_or_else(|| panic!("{statement}: {profile}"))
            .clone()
    };
    assert!(rows("SHOW PROFILE").len() > 2, "{profile}");
    assert_eq!(rows("SHOW WARNINGS"), [] as [Value; 0]);
    assert_eq!(rows("EXPLAIN")[0][2], "Country");
    let trace = rows("SELECT trace")[0][0].as_str().unwrap().to_owned();
    assert!(trace.contains("Continent"), "{trace}");
    let sql = "SELECT failed FROM profiling WHERE outcome = 'profiled'";
    assert_eq!(site.root().value(sql), "0", "{profile}");
    // The proxy restores the variables that it has set.
    let asked = "SELECT @@profiling, @@optimizer_trace";
    let own = site.server.connect(SCHEMA).run(asked).texts();
    assert_eq!(client.run(asked).texts(), own);
}

/// The result of the query of performance_schema.
fn events(profile: &Value) -> &Value {
    let results = profile["results"].as_array().unwrap();
    let found = results.iter().find(|it| {
        it["statement"]
            .as_str()
            .unwrap()
            .contains("events_statements_history")
    });
    found.unwrap_or_else(|| panic!("{profile}"))
}

fn of_event(event: &Value, column: &str) -> i64 {
    let columns = event["result"]["columns"].as_array().unwrap();
    let at = columns.iter().position(|it| it == column).unwrap();
    let value = event["result"]["rows"][0][at].as_str().unwrap();
    value.parse().unwrap()
}

fn the_performance_schema_row_of_a_statement_is_fetched(product: Product) {
    let switch = |on: bool| match on {
        true => &[
            "--performance-schema=ON",
            "--performance-schema-instrument=statement/%=ON",
            "--performance-schema-consumer-events-statements-current=ON",
            "--performance-schema-consumer-events-statements-history=ON",
        ][..],
        false => &["--performance-schema=OFF"][..],
    };
    let asked = "SELECT Name FROM things WHERE Size > 7 ORDER BY Size";
    for is_on in [true, false] {
        let server = Server::start(product, switch(is_on));
        let mut root = server.root();
        root.run("GRANT SELECT ON *.* TO 'app'@'%'");
        root.run("CREATE DATABASE IF NOT EXISTS profiled");
        root.run("CREATE TABLE profiled.things (Name VARCHAR(20), Size INT)");
        root.run("INSERT INTO profiled.things VALUES ('a', 5), ('b', 9), ('c', 8), ('d', 7)");
        let folder = Folder::new("files");
        let admin = free_port();
        let settings = Settings::in_front_of([&server])
            .account("app", PASSWORD)
            .set("workers", 1)
            .set("routing.session", "statement")
            .set("profiling.sample_one_in", 1)
            .set("profiling.timeout", "60s")
            .set(
                "profiling.collect",
                ["status", "warnings", "events"].as_slice(),
            )
            .set("profiling.file", &folder.path().join("profiles"))
            .admin_on(admin);
        let proxy = Proxy::start(&settings);
        let mut client = proxy.connect_as(&Login::app().schema(SCHEMA));
        assert_eq!(client.run(asked).texts().len(), 2);
        let id = client
            .prepare("SELECT Name FROM things WHERE Size > ?")
            .statement();
        client.execute(&Execute::new(id, &[Param::Int(7)]));
        let profiles = written(&folder, 2);
        if !is_on {
            let why = events(&profiles[0])["skipped"].as_str();
            assert_eq!(
                why,
                Some("performance_schema is off on the server"),
                "{profiles:?}"
            );
            continue;
        }
        for (profile, sorted) in profiles.iter().zip([2, 0]) {
            let event = events(profile);
            assert!(event["result"].is_object(), "{profile}");
            let of = |column: &str| of_event(event, column);
            assert_eq!(of("ROWS_SENT"), 2, "{profile}");
            assert!(of("ROWS_EXAMINED") >= 4, "{profile}");
            assert_eq!(
                (of("NO_INDEX_USED"), of("SORT_ROWS")),
                (1, sorted),
                "{profile}"
            );
            // The profile has no value of the statement.
            assert!(!event["result"].to_string().contains("Size"), "{profile}");
        }
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], admin));
        let mut root = RawConn::connect(&address.into(), &Login::with("root", "all")).unwrap();
        let examined = "SELECT count(*) FROM digests WHERE rows_examined_avg >= 4";
        // The proxy writes the profile before it counts the statement.
        wait::until("both digests know it", wait::SOON, || {
            root.value(examined) == "2"
        });
    }
}

/// Each statement is followed by a query of diagnostics.
fn profiling_leaves_no_diagnostics(product: Product) {
    let site = Site::start(product, |settings| {
        settings.set("profiling.sample_one_in", 1).set(
            "profiling.collect",
            ["status", "warnings", "explain", "profile"].as_slice(),
        )
    });
    let mut root = site.server.root();
    root.run(&format!(
        "CREATE TABLE IF NOT EXISTS {SCHEMA}.made (n INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20))"
    ));
    let mut through = site.client();
    let mut direct = site.server.connect(SCHEMA);
    let asks = [
        "SHOW WARNINGS",
        "SELECT ROW_COUNT(), FOUND_ROWS()",
        "SELECT LAST_INSERT_ID()",
        "SELECT @@warning_count, @@error_count",
    ];
    let statements = [
        "INSERT INTO made (v) VALUES ('a'), ('b')",
        "UPDATE made SET v = 'c' WHERE n < 3",
        "SELECT SQL_CALC_FOUND_ROWS Code FROM Country LIMIT 1",
        "SELECT 1 + 'own'",
        "SELECT nothing",
        "SET @x = 1",
        "DELETE FROM made WHERE v = 'nobody'",
        "SELECT 3; SELECT 1 + 'two'; SELECT 4",
        "START TRANSACTION",
        "SELECT COUNT(*) FROM made",
        "COMMIT",
    ];
    for ask in asks {
        for statement in statements {
            let mut hear = |client: &mut RawConn| {
                root.run(&format!("TRUNCATE TABLE {SCHEMA}.made"));
                let said = [
                    client.query(statement),
                    client.query(ask),
                    client.query(ask),
                ];
                let error = |it: &Reply| it.error().map(|it| it.code);
                let shown = |it: &Reply| (it.texts(), error(it), it.status());
                let heard: Vec<_> = said.iter().map(shown).collect();
                client.query("COMMIT");
                heard
            };
            let expected = hear(&mut direct);
            assert_eq!(hear(&mut through), expected, "{statement}; {ask}");
        }
    }
    let sql = "SELECT statements FROM profiling WHERE outcome = 'profiled'";
    let profiled: u32 = site.root().value(sql).parse().unwrap();
    assert!(profiled > 80, "{profiled}");
    site.proxy.assert_sound();
}

fn statements_that_cannot_be_profiled_are_counted(product: Product) {
    let site = Site::start(product, |settings| {
        settings
            .set("profiling.sample_one_in", 1)
            .rule("answers", &[("tag", "\"answered\""), ("answer", "\"ok\"")])
            .rule(
                "looks",
                &[("tag", "\"own\""), ("after", "[\"SHOW WARNINGS\"]")],
            )
    });
    let mut client = site.client();
    client.run("SELECT 1 /* tag: own */");
    client.run("SELECT 1 /* tag: answered */");
    client.run("SELECT FOUND_ROWS() FROM Country");
    let counts = ["rule", "unanswered", "transaction"].map(|reason| site.left_out(reason));
    assert_eq!(counts, ["1", "1", "0"]);
    // On MariaDB, the proxy puts a number in place of the function.
    let asks = matches!(product, Product::MySql);
    let expected = u32::from(asks).to_string();
    assert_eq!(site.left_out("asks_about_last"), expected);
    client.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    client.run("SELECT Code FROM Country");
    assert_eq!(site.left_out("transaction"), "2");
    site.client().run("SELECT 3");
    let profiles = site.profiles(2 - usize::from(asks));
    assert_eq!(profiles.last().unwrap()["query"], "SELECT ?");
    site.proxy.assert_sound();
}

fn a_profiled_statement_is_alone_on_its_connection(product: Product) {
    let folder = Folder::new("files");
    let site = lanes::Site::at(Server::lease(product), 6, |settings| {
        settings
            .set("hints.accepted", "pilotfish")
            .set("profiling.timeout", "60s")
            .set("profiling.file", &folder.path().join("profiles"))
    });
    site.teach();
    thread::scope(|scope| {
        for number in 0..8u32 {
            let site = &site;
            scope.spawn(move || {
                let mut client = site.client();
                for turn in 0..100 {
                    lanes::read(&mut client, "t", number * 10 + turn % 10);
                    if turn % 10 == 0 {
                        let asked = "SELECT id, v FROM t WHERE id = 7 /* pilotfish: profile */";
                        client.send_query(asked).unwrap();
                        lanes::answered(&mut client, 7);
                    }
                }
            });
        }
    });
    assert!(site.count("on_lane") > 0, "{:?}", site.counts());
    let profiles = written(&folder, 80);
    assert_eq!(profiles.len(), 80);
    for profile in profiles {
        assert_eq!(counted(&profile, "Com_select"), 1, "{profile}");
        assert!(counted(&profile, "Handler_read_key") <= 2, "{profile}");
    }
    site.proxy.assert_sound();
}
