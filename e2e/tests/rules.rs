//! Rules and hints, end to end: which statements they match, and what they do.

use e2e::raw::{Execute, Login, RawConn, Reply, capability};
use e2e::{Cluster, Leased, LeasedServer, PASSWORD, Product, Proxy, Server, Settings};

/// A cluster in which `SELECT name FROM d.whoami` gives the name of the answering server, with a proxy in front whose
/// sessions use the primary unless a rule sends them elsewhere.
struct Site {
    proxy: Proxy,
    settings: Settings,
    // Dropped after the proxy, because the next test gets the cluster.
    _cluster: Leased,
}

impl Site {
    fn start(product: Product, settings: impl FnOnce(Settings) -> Settings) -> Self {
        let cluster = Cluster::lease(product, 1);
        cluster
            .tell_apart(&["CREATE TABLE d.t (n INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20))"]);
        let common = Settings::of_cluster(&cluster)
            .account("app", PASSWORD)
            .set("workers", 1)
            .set("accounts.explain", true)
            .set("routing.replicas", "primary")
            .set("health.replication_interval", "50ms")
            // On a busy machine, a read should still not go to the primary.
            .set("balance.timeout_consistency", "20s");
        let settings = settings(common);
        let proxy = Proxy::start(&settings);
        Self {
            proxy,
            settings,
            _cluster: cluster,
        }
    }

    fn client(&self) -> RawConn {
        self.proxy.connect_as(&Login::app().schema("d"))
    }
}

const WHO: &str = "SELECT name FROM d.whoami";

both! {
    answers_ask_no_backend
    statements_are_rewritten
    rules_route_statements
    hints_route_statements
    sessions_keep_their_connection_by_rule
    each_match_setting_of_a_rule_is_evaluated
    statements_are_mirrored_in_order
    a_session_may_go_to_another_cluster_for_a_statement
}

fn number_of(reply: &Reply) -> u16 {
    reply.error().map_or(0, |error| error.code)
}

/// The only string of a binary row. A header, a bitmap of NULLs and a length precede it.
fn string_of(reply: &Reply) -> String {
    let row = &reply.results().next().unwrap().rows[0];
    String::from_utf8_lossy(&row[3..]).into_owned()
}

fn answers_ask_no_backend(product: Product) {
    let site = Site::start(product, |settings| {
        settings
            .rule(
                "rows",
                &[
                    ("digest", "\"SELECT * FROM nowhere\""),
                    ("answer", "\"rows\""),
                    ("answer_columns", "[\"one\"]"),
                    ("answer_rows", "[[\"first\"], [\"second\"]]"),
                ],
            )
            .rule("ok", &[("regex", "\"^optimize\""), ("answer", "\"ok\"")])
            .rule(
                "error",
                &[
                    ("kind", "[\"DELETE\"]"),
                    ("answer", "\"error\""),
                    ("answer_error", "1290"),
                    ("answer_message", "\"closed for inventory\""),
                ],
            )
            .rule(
                "refuse",
                &[("kind", "\"TRUNCATE\""), ("refuse", "\"not here\"")],
            )
    });
    let mut client = site.client();
    let texts = client.query("SELECT * FROM nowhere").texts();
    assert_eq!(texts, [["first"], ["second"]]);
    assert_eq!(number_of(&client.query("OPTIMIZE TABLE nowhere")), 0);
    assert_eq!(number_of(&client.query("DELETE FROM t")), 1290);
    let refused = client.query("TRUNCATE TABLE t");
    let error = refused.error().unwrap();
    assert_eq!((error.code, &*error.text), (1227, "not here"));
    // The same with a prepared statement.
    let prepared = client.prepare("SELECT * FROM nowhere");
    let reply = client.execute(&Execute::new(prepared.statement(), &[]));
    assert_eq!(string_of(&reply), "first");
    assert_eq!(number_of(&client.prepare("DELETE FROM t")), 1290);
    assert_eq!(client.value(WHO), "primary");
    site.proxy.assert_sound();
}

fn statements_are_rewritten(product: Product) {
    let site = Site::start(product, |settings| {
        settings
            .rule(
                "by captures",
                &[("regex", "\"old_(\\\\w+)\""), ("rewrite", "\"'new $1'\"")],
            )
            .rule(
                "whole",
                &[
                    ("digest", "\"SELECT 1 FROM elsewhere WHERE n = 7\""),
                    ("rewrite", "\"SELECT 'instead'\""),
                ],
            )
            .rule(
                "to nothing",
                &[("regex", "\"^select 3.*$\""), ("rewrite", "\" \"")],
            )
    });
    let mut client = site.client();
    assert_eq!(client.value("SELECT old_name"), "new name");
    assert_eq!(
        client.value("SELECT 1 FROM elsewhere WHERE n = 5"),
        "instead"
    );
    assert_eq!(number_of(&client.query("SELECT 3")), 1105);
    let prepared = client.prepare("SELECT CONCAT(old_name, ?)");
    let parameter = [e2e::raw::Param::Text("!")];
    let reply = client.execute(&Execute::new(prepared.statement(), &parameter));
    assert_eq!(string_of(&reply), "new name!");
    let counts = client.query("EXPLAIN RULES").texts();
    assert_eq!(counts[0][..3], ["by captures", "no", "2"]);
    assert_eq!(counts[2][3], "1", "its rewriting gave no statement");
}

fn rules_route_statements(product: Product) {
    let site = Site::start(product, |settings| {
        settings
            .rule(
                "reports",
                &[("tag", "\"report\""), ("routing.replicas", "\"replica\"")],
            )
            .rule(
                "there",
                &[("tag", "\"there\""), ("backend", "\"replica1\"")],
            )
            .rule(
                "fresh",
                &[
                    ("tag", "\"fresh\""),
                    ("routing.replicas", "\"replica\""),
                    ("routing.consistency", "\"global\""),
                ],
            )
    });
    let mut client = site.client();
    assert_eq!(client.value(WHO), "primary");
    let report = format!("{WHO} /* tag: report */");
    assert_eq!(client.value(&report), "replica1");
    assert_eq!(client.value(&format!("/* tag: there */ {WHO}")), "replica1");
    // A transaction stays on its server.
    client.run("BEGIN");
    assert_eq!(client.value(WHO), "primary");
    assert_eq!(client.value(&report), "primary");
    client.run("COMMIT");
    // The session sees its write, although its other reads do not go to the primary.
    for turn in 0..10 {
        client.run(&format!("INSERT INTO t (name) VALUES ('turn {turn}')"));
        let count = "SELECT COUNT(*) FROM t /* tag: report */";
        assert_eq!(client.value(count), (turn + 1).to_string());
    }
    let prepared = client.prepare(&report);
    let reply = client.execute(&Execute::new(prepared.statement(), &[]));
    assert_eq!(string_of(&reply), "replica1");
    let explained = client.query(&format!("EXPLAIN ROUTE {report}")).texts();
    let said = |step: &str, subject: &str| {
        let mut rows = explained.iter();
        rows.any(|row| row[0] == step && row[1] == subject)
    };
    assert!(said("rule", "reports"), "{explained:?}");
    assert!(said("decision", "replica1"), "{explained:?}");
}

fn hints_route_statements(product: Product) {
    let site = Site::start(product, |settings| {
        settings
            .set("hints.accepted", ["pilotfish"])
            .set("hints.hostgroups", ["1: replica"])
            .account_with(
                "legacy",
                &[
                    ("password", &format!("{PASSWORD:?}")),
                    ("hints", "[\"proxysql\", \"maxscale\"]"),
                    ("backend_user", "\"app\""),
                    ("backend_password", &format!("{PASSWORD:?}")),
                ],
            )
    });
    let mut client = site.client();
    for (hint, who) in [
        ("pilotfish: replica", "replica1"),
        ("pilotfish: backend=replica1", "replica1"),
        ("pilotfish: primary", "primary"),
        (";hostgroup=1", "primary"),
        ("maxscale route to slave", "primary"),
    ] {
        assert_eq!(client.value(&format!("/* {hint} */ {WHO}")), who, "{hint}");
    }
    let nowhere = format!("/* pilotfish: cluster=nowhere */ {WHO}");
    let error = client.query(&nowhere);
    assert_eq!(number_of(&error), 1105);
    let login = Login::with("legacy", PASSWORD).schema("d");
    let mut legacy = site.proxy.connect_as(&login);
    for (hint, who) in [
        (";hostgroup=1", "replica1"),
        ("maxscale route to slave", "replica1"),
        ("maxscale route to server replica1", "replica1"),
        ("pilotfish: replica", "primary"),
    ] {
        assert_eq!(legacy.value(&format!("/* {hint} */ {WHO}")), who, "{hint}");
    }
}

fn sessions_keep_their_connection_by_rule(product: Product) {
    let site = Site::start(product, |settings| {
        settings.rule(
            "keeps",
            &[("tag", "\"keeps\""), ("routing.session", "\"transparent\"")],
        )
    });
    let mut client = site.client();
    let connection = |client: &mut RawConn| {
        let rows = client.query("EXPLAIN SESSION").texts();
        let row = rows.into_iter().find(|row| row[0] == "connection");
        row.unwrap()[1].clone()
    };
    client.value(WHO);
    assert!(connection(&mut client).starts_with("(none"));
    client.value(&format!("{WHO} /* tag: keeps */"));
    assert_eq!(connection(&mut client), "primary");
}

/// Each rule answers with its name, or does not match, and the server answers.
fn each_match_setting_of_a_rule_is_evaluated(product: Product) {
    let rules: [(&str, &[(&str, &str)]); 12] = [
        ("user", &[("user", "\"app\""), ("tag", "\"user\"")]),
        ("nobody", &[("user", "\"!app\"")]),
        ("schema", &[("schema", "\"D\""), ("tag", "\"schema\"")]),
        (
            "network",
            &[("networks", "[\"127.0.0.0/8\"]"), ("tag", "\"network\"")],
        ),
        ("strangers", &[("networks", "[\"10.0.0.0/8\"]")]),
        ("digest", &[("digest", "\"SELECT 'x', 2\"")]),
        (
            "digest text",
            &[("digest_regex", "\"^select \\\\? \\\\+ \\\\?$\"")],
        ),
        ("tables", &[("tables", "\"d.special\"")]),
        ("kind", &[("kind", "\"CHECKSUM TABLE\"")]),
        ("all of them", &[("percentage", "100"), ("tag", "\"all\"")]),
        ("none of them", &[("percentage", "0"), ("tag", "\"none\"")]),
        (
            "all day",
            &[
                (
                    "days",
                    "[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"]",
                ),
                ("tag", "\"day\""),
            ],
        ),
    ];
    let site = Site::start(product, |settings| {
        rules.iter().fold(settings, |settings, (name, matches)| {
            let rows = format!("[[{name:?}]]");
            let mut all = vec![
                ("answer", "\"rows\""),
                ("answer_columns", "[\"rule\"]"),
                ("answer_rows", rows.as_str()),
            ];
            all.extend_from_slice(matches);
            settings.rule(name, &all)
        })
    });
    let mut client = site.client();
    for (statement, answer) in [
        ("SELECT 'server' /* tag: user */", "user"),
        ("SELECT 'server' /* tag: schema */", "schema"),
        ("SELECT 'server' /* tag: network */", "network"),
        ("SELECT 'server'", "server"),
        ("SELECT 'a', 1", "digest"),
        ("SELECT 1 + 2", "digest text"),
        ("SELECT * FROM special", "tables"),
        ("CHECKSUM TABLE t", "kind"),
        ("SELECT 'server' /* tag: all */", "all of them"),
        ("SELECT 'server' /* tag: none */", "server"),
        ("SELECT 'server' /* tag: day */", "all day"),
    ] {
        assert_eq!(client.value(statement), answer, "{statement}");
    }
}

#[test]
fn statements_of_a_rule_are_logged_without_their_values() {
    let site = Site::start(Product::MariaDb, |settings| {
        settings.rule(
            "audit",
            &[
                ("tables", "\"t\""),
                ("log", "true"),
                ("set_tag", "\"payroll\""),
            ],
        )
    });
    let mut client = site.client();
    client.run("INSERT INTO t (name) VALUES ('secret')");
    let line = site.proxy.wait_event("rule_statement", &[]);
    for part in ["audit", "payroll", "primary", "INSERT INTO"] {
        assert!(line.contains(part), "{line}");
    }
    assert!(!line.contains("secret"), "{line}");
}

/// Two servers without replication between them, each a cluster, with a proxy in front.
struct TwoClusters {
    proxy: Proxy,
    // Dropped after the proxy, because the next tests get the servers.
    main: LeasedServer,
    side: LeasedServer,
}

impl TwoClusters {
    fn start(product: Product, settings: impl FnOnce(Settings) -> Settings) -> Self {
        let [main, side] = ["main", "side"].map(|name| {
            let server = Server::lease(product);
            let mut root = server.root();
            root.run("CREATE DATABASE d");
            root.run("CREATE TABLE d.t (n INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20))");
            root.run("CREATE TABLE d.whoami (name VARCHAR(20))");
            root.run(&format!("INSERT INTO d.whoami VALUES ('{name}')"));
            root.run(&format!("CREATE TABLE d.only_{name} (n INT)"));
            server
        });
        let of = |name: &'static str| [("name", name), ("cluster", name)];
        let common = Settings::default()
            .backend_with(main.tcp(), &of("\"main\""))
            .backend_with(side.tcp(), &of("\"side\""))
            .account("app", PASSWORD)
            .set("workers", 1)
            .set("accounts.explain", true);
        let proxy = Proxy::start(&settings(common));
        Self { main, side, proxy }
    }

    fn client(&self) -> RawConn {
        self.proxy.connect_as(&Login::app().schema("d"))
    }
}

fn statements_are_mirrored_in_order(product: Product) {
    let site = TwoClusters::start(product, |settings| {
        settings.rule("copy", &[("tables", "\"t\""), ("mirror", "\"side\"")])
    });
    let mut client = site.client();
    for turn in 0..50 {
        client.run(&format!("INSERT INTO t (name) VALUES ('{turn}')"));
    }
    let insert = client
        .prepare("INSERT INTO t (name) VALUES (?)")
        .statement();
    for turn in 50..60 {
        let name = turn.to_string();
        let parameter = [e2e::raw::Param::Text(&name)];
        client.execute(&Execute::new(insert, &parameter));
    }
    client.run("UPDATE t SET name = CONCAT(name, ' of ', DATABASE())");
    let all = "SELECT COUNT(*), GROUP_CONCAT(name ORDER BY n) FROM d.t WHERE name LIKE '% of d'";
    let there = site.main.root().run(all).texts();
    assert_eq!(there[0][0], "60");
    let mut side = site.side.root();
    e2e::wait::until("the other cluster has it all", e2e::wait::SOON, || {
        side.run(all).texts() == there
    });
    // If the mirror refuses a statement, the client does not notice it.
    client.run("CREATE TABLE extra (n INT)");
    assert_eq!(client.value("SELECT COUNT(*) FROM only_main, t"), "0");
    let counts = client.query("EXPLAIN RULES").texts();
    assert_eq!(counts[0][6], "0");
    site.proxy.assert_sound();
}

/// MariaDB's COM_STMT_BULK_EXECUTE: rules, logs and figures treat it like an execution.
#[test]
fn a_bulk_execution_is_mirrored_recorded_and_seen() {
    let folder = e2e::Folder::new("bulk");
    let file = folder.path().join("seen");
    let site = TwoClusters::start(Product::MariaDb, |settings| {
        settings
            .rule("copy", &[("tables", "\"t\""), ("mirror", "\"side\"")])
            .set("log.failed_statements", true)
            .set("log.slow_statements", "300ms")
            .set("statement_stats.plan_file", file.to_str().unwrap())
            .set("statement_stats.plan_interval", "1s")
    });
    let login = Login::app().schema("d");
    let mut client = site
        .proxy
        .connect_as(&login.and(e2e::raw::capability::BULK_OPERATIONS));
    let mut bulk = |sql: &str, rows: &[&[e2e::raw::Param<'_>]]| {
        let id = client.prepare(sql).statement();
        client.send(&e2e::raw::bulk_execute(id, 0, rows));
        let reply = client.reply(e2e::raw::Shape::Results);
        reply.error().map(|error| error.code)
    };
    let [one, two, three] = [1, 2, 3].map(e2e::raw::Param::Int);
    let sql = "INSERT INTO t (n) VALUES (?)";
    assert_eq!(bulk(sql, &[&[one], &[two]]), None);
    assert_eq!(bulk(sql, &[&[three]]), None);
    let mut side = site.side.root();
    e2e::wait::until("the other cluster has it all", e2e::wait::SOON, || {
        side.value("SELECT GROUP_CONCAT(n ORDER BY n) FROM d.t") == "1,2,3"
    });
    e2e::wait::until("digests are written", e2e::wait::SOON, || {
        let seen = std::fs::read_to_string(&file).unwrap_or_default();
        seen.contains("\tapp\td\tINSERT INTO t(n) VALUES (?)\n")
    });
    assert_eq!(bulk(sql, &[&[one]]), Some(1062));
    let words = ["a statement is recorded", "failed", "error=1062"];
    site.proxy.wait_logged(&words);
    let slow = "UPDATE t SET name = SLEEP(0.5) WHERE n = ?";
    assert_eq!(bulk(slow, &[&[one]]), None);
    let words = ["a statement is recorded", "slow", "kind: UPDATE"];
    site.proxy.wait_logged(&words);
    site.proxy.assert_sound();
}

fn a_session_may_go_to_another_cluster_for_a_statement(product: Product) {
    let site = TwoClusters::start(product, |settings| {
        settings
            .rule(
                "aside",
                &[("tables", "\"only_side\""), ("routing.cluster", "\"side\"")],
            )
            .rule(
                "who",
                &[("tag", "\"side\""), ("routing.cluster", "\"side\"")],
            )
    });
    let mut client = site.client();
    client.run("SET @kept = 'mine', sql_mode = 'ANSI_QUOTES'");
    assert_eq!(client.value(WHO), "main");
    assert_eq!(client.value(&format!("{WHO} /* tag: side */")), "side");
    client.run("INSERT INTO only_side VALUES (1)");
    let value = "SELECT CONCAT(COUNT(*), @kept, @@sql_mode) FROM only_side";
    assert_eq!(client.value(value), "1mineANSI_QUOTES");
    let prepared = client.prepare("SELECT CONCAT('x', COUNT(*)) FROM only_side");
    let reply = client.execute(&Execute::new(prepared.statement(), &[]));
    assert_eq!(string_of(&reply), "x1");
    // A transaction that begins on the session's own cluster stays there.
    client.run("BEGIN");
    assert_eq!(client.value(&format!("{WHO} /* tag: side */")), "main");
    client.run("ROLLBACK");
}

/// MariaDB's clients do not send query attributes.
#[test]
fn query_attributes_are_tags_and_hints() {
    let site = Site::start(Product::MySql, |settings| {
        settings
            .set("hints.accepted", ["pilotfish"])
            .rule(
                "tagged",
                &[("tag", "\"batch\""), ("routing.replicas", "\"replica\"")],
            )
            .rule(
                "named",
                &[("tag", "\"team=red\""), ("routing.replicas", "\"replica\"")],
            )
    });
    let login = Login::app().schema("d");
    let login = login.and(e2e::raw::capability::QUERY_ATTRIBUTES);
    let mut client = site.proxy.connect_as(&login);
    let plain = client.prepare("SELECT CONCAT('x', name) FROM d.whoami");
    let asking = client.prepare("SELECT CONCAT('x', name, ?) FROM d.whoami");
    for (name, value, who) in [
        ("tag", "batch", "replica1"),
        ("team", "red", "replica1"),
        ("team", "blue", "primary"),
        ("pilotfish", "replica", "replica1"),
    ] {
        let attribute = e2e::raw::Param::Text(value);
        client.send(&e2e::raw::query_with_attributes(&[(name, attribute)], WHO));
        let reply = client.reply(e2e::raw::Shape::Results);
        assert_eq!(reply.texts(), [[who]], "{name}={value}");
        let execute = Execute::new(plain.statement(), &[]).attribute(name, attribute);
        let reply = client.execute(&execute);
        assert_eq!(string_of(&reply), format!("x{who}"), "{name}={value}");
        let execute = Execute::new(asking.statement(), &[e2e::raw::Param::Text("!")]);
        let reply = client.execute(&execute.attribute(name, attribute));
        assert_eq!(string_of(&reply), format!("x{who}!"), "{name}={value}");
    }
    // An execution without attributes does not keep those of the previous execution.
    let reply = client.execute(&Execute::new(plain.statement(), &[]));
    assert_eq!(string_of(&reply), "xprimary");
}

#[test]
fn slow_and_failed_statements_are_recorded() {
    let site = Site::start(Product::MariaDb, |settings| {
        settings
            .set("log.slow_statements", "100ms")
            .set("log.failed_statements", true)
            .rule("reports", &[("tag", "\"report\"")])
    });
    let mut client = site.client();
    client.value("SELECT SLEEP(0.2) /* tag: report */");
    let line = site.proxy.wait_event("statement_recorded", &[]);
    for part in ["slow", "primary", "kind: SELECT", "rule reports", "SLEEP"] {
        assert!(line.contains(part), "{line}");
    }
    client.query("SELECT 'secret' FROM no_such_table");
    let line = site
        .proxy
        .wait_event("statement_recorded", &["why=\"failed\""]);
    assert!(line.contains("error=1146"), "{line}");
    assert!(!line.contains("secret"), "{line}");
}

#[test]
fn a_plan_reads_the_digests_of_a_running_proxy() {
    let folder = e2e::Folder::new("digests");
    let file = folder.path().join("seen");
    let site = Site::start(Product::MariaDb, |settings| {
        settings
            .set("statement_stats.plan_file", file.to_str().unwrap())
            .set("statement_stats.plan_interval", "1s")
    });
    let mut client = site.client();
    for number in 0..3 {
        client.run(&format!("SELECT name FROM t WHERE name = 'secret{number}'"));
    }
    let prepared = client.prepare("SELECT n FROM t WHERE n = ?");
    client.execute(&Execute::new(
        prepared.statement(),
        &[e2e::raw::Param::Int(9)],
    ));
    let read = || std::fs::read_to_string(&file).unwrap_or_default();
    let text = "SELECT name FROM t WHERE name = ?";
    e2e::wait::until("digests are written", e2e::wait::SOON, || {
        let seen = read();
        seen.contains("1\tapp\td\tSELECT n FROM t WHERE n = ?")
            && seen.contains(&format!("3\tapp\td\t{text}\n"))
    });
    assert!(!read().contains("secret"));
    // Statements after the file's last regular write are in it as well when the proxy stops.
    client.run("SELECT name FROM t WHERE name = 'x'");
    let old = folder.write("old.toml", site.settings.to_toml());
    let rule = [("tables", "\"t\""), ("routing.replicas", "\"replica\"")];
    let new = site.settings.clone().rule("aside", &rule);
    let new = folder.write("new.toml", new.to_toml());
    site.proxy.stop();
    assert!(
        read().contains(&format!("4\tapp\td\t{text}\n")),
        "{}",
        read()
    );
    let plan = std::process::Command::new(e2e::program())
        .args(["plan", new.to_str().unwrap(), "-c", old.to_str().unwrap()])
        .output()
        .unwrap();
    let plan = String::from_utf8_lossy(&plan.stdout).into_owned();
    let expected = format!("{text} [user app] [schema d]   (seen 4 times)");
    assert!(plan.contains(&expected), "{plan}");
    assert!(plan.contains("role: primary becomes replica"), "{plan}");
}

#[test]
fn a_long_statement_does_not_evade_a_rule() {
    let site = Site::start(Product::MariaDb, |settings| {
        settings
            .set("pool.statement_bytes_max", "64KiB")
            .rule("no", &[("kind", "\"DELETE\""), ("refuse", "\"not here\"")])
    });
    let single = Login::app()
        .schema("d")
        .without(capability::MULTI_STATEMENTS);
    let mut client = site.proxy.connect_as(&single);
    let filler = "x".repeat(200_000);
    let insert = format!("INSERT INTO t (name) VALUES (LEFT('{filler}', 9))");
    client.run(&insert);
    // The part of the statement that the proxy does not read may have another statement.
    let several = site.client().query(&insert);
    assert!(several.error().unwrap().text.contains("too long"));
    let long = client.query(&format!("DELETE FROM t WHERE name <> '{filler}'"));
    assert_eq!(&*long.error().unwrap().text, "not here");
    assert_eq!(site.client().value("SELECT COUNT(*) FROM t"), "1");
}

/// Matches that do not depend on the server: the listener of the client, the statement's text, the hash of its digest,
/// the time of day.
#[test]
fn rules_match_by_listener_text_hash_and_time() {
    let port = e2e::free_port();
    let listener = format!("127.0.0.1:{port}");
    let statement = "SELECT 7 + 8 + 9";
    let hash = format!("\"0x{:016x}\"", sql_hash(statement));
    let site = Site::start(Product::MariaDb, |settings| {
        let says = |name: &str| format!("[[{name:?}]]");
        let rule = |settings: Settings, name: &str, matches: &[(&str, &str)]| {
            let rows = says(name);
            let mut all = vec![
                ("answer", "\"rows\""),
                ("answer_columns", "[\"rule\"]"),
                ("answer_rows", rows.as_str()),
            ];
            all.extend_from_slice(matches);
            settings.rule(name, &all)
        };
        let at_listener = format!("{listener:?}");
        let settings = settings.listener_with(&listener, &[]);
        let tag = ("tag", "\"where\"");
        let settings = rule(settings, "listener", &[("listener", &at_listener), tag]);
        let settings = rule(settings, "text", &[("regex", "\"'X[0-9]+y'\"")]);
        let settings = rule(settings, "hash", &[("digest", &hash)]);
        let morning = [("time", "\"00:00-12:00\""), ("tag", "\"when\"")];
        let settings = rule(settings, "morning", &morning);
        let evening = [("time", "\"12:00-00:00\""), ("tag", "\"when\"")];
        rule(settings, "evening", &evening)
    });
    let asked = "SELECT 'server' /* tag: where */";
    assert_eq!(site.client().value(asked), "server");
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let login = Login::app().schema("d");
    let mut elsewhere = RawConn::connect(&address.into(), &login).unwrap();
    assert_eq!(elsewhere.value(asked), "listener");
    let mut client = site.client();
    assert_eq!(client.value("SELECT 'x77Y'"), "text");
    assert_eq!(client.value("SELECT 'x77'"), "x77");
    assert_eq!(client.value("SELECT 1 + 2 + 3"), "hash");
    let when = client.value("SELECT 'server' /* tag: when */");
    assert!(["morning", "evening"].contains(&&*when), "{when}");
}

/// The hash of a statement's digest, as `pilotfish explain` prints it and rules use it.
fn sql_hash(statement: &str) -> u64 {
    let told = Proxy::run_to_the_end(&["explain", statement]).1;
    let hash = told.split("0x").nth(1).unwrap();
    u64::from_str_radix(&hash[..16], 16).unwrap()
}

/// A rule may pin a session beginning with a statement.
#[test]
fn a_rule_pins_sessions() {
    let site = Site::start(Product::MariaDb, |settings| {
        let pins = [("tag", "\"pins\""), ("pin", "[\"user_variables\"]")];
        settings.rule("pins", &pins)
    });
    let pins = |client: &mut RawConn| {
        let rows = client.query("EXPLAIN SESSION").texts();
        let row = rows.into_iter().find(|row| row[0] == "pins");
        row.unwrap()[1].clone()
    };
    let mut client = site.client();
    client.run("SET @a = 1");
    assert_eq!(pins(&mut client), "(none)");
    client.run("SET @a = 2 /* tag: pins */");
    assert_ne!(pins(&mut client), "(none)");
    assert_eq!(client.value("SELECT @a"), "2");
}
