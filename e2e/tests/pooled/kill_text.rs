//! KILL by the ids that clients see, in each form of SQL text and of prepared statements.

use e2e::raw::{Execute, Login, Outcome, Param, RawConn, Rows, Shape, command};
use e2e::{LeasedServer, Product, Proxy, Server, Settings, wait};

const PRODUCTS: [Product; 3] = [Product::MariaDb, Product::MariaDbNext, Product::MySql];

const SLEEP: &str = "SELECT SLEEP(60) FROM (SELECT 1 UNION SELECT 2) AS two";

/// ER_NOT_SUPPORTED_YET.
const NOT_SUPPORTED: u16 = 1235;

fn start(product: Product) -> (LeasedServer, Proxy) {
    let server = Server::lease(product);
    let proxy = Proxy::start(&Settings::pooled(&server, 6).set("workers", 2));
    (server, proxy)
}

/// Lets a session sleep on the server.
fn sleep(server: &Server, victim: &mut RawConn) {
    victim.send_query(SLEEP).unwrap();
    let ask = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'";
    let mut root = server.root();
    wait::until("it sleeps", wait::SOON, || root.value(ask) == "1");
}

#[track_caller]
fn is_interrupted(victim: &mut RawConn, how: &str) {
    let reply = victim.reply(Shape::Results);
    let code = reply.error().map(|error| error.code);
    assert_eq!(code, Some(1317), "{how}");
    assert_eq!(victim.value("SELECT 'alive'"), "alive", "{how}");
}

/// Statements, the last of which kills the query of a session.
fn ways(product: Product, id: u32) -> Vec<Vec<String>> {
    let one = |text: &str| vec![text.replace('#', &id.to_string())];
    let several = |texts: &[&str]| texts.iter().flat_map(|text| one(text)).collect();
    let mut ways = vec![
        one("KILL QUERY #"),
        one("KILL QUERY '#'"),
        one("KILL QUERY (#)"),
        one("KILL QUERY # + 0"),
        one("/*! KILL QUERY # */"),
        one("/*!50000 KILL QUERY */ #"),
        one("KILL /*!50000 QUERY */ # -- it"),
        one("KILL /* all */ QUERY /*! # */"),
        one("KILL QUERY IF(CONNECTION_ID() = #, 0, #)"),
        several(&["SET @id = #", "KILL QUERY @id"]),
        several(&["SET @id = #", "KILL QUERY (SELECT @id)"]),
        several(&["SET @id = # - 1", "KILL QUERY @id + 1"]),
        several(&["PREPARE s FROM 'KILL QUERY #'", "EXECUTE s"]),
        several(&[
            "SET @id = #",
            "PREPARE s FROM 'KILL QUERY @id'",
            "EXECUTE s",
        ]),
        several(&[
            "SET @s = CONCAT('KI', 'LL QUERY #')",
            "PREPARE s FROM @s",
            "EXECUTE s",
        ]),
        several(&[
            "SET @s = 'KILL QUERY # /* ж */'",
            "PREPARE s FROM @s",
            "EXECUTE s",
        ]),
    ];
    if product.is_mariadb() {
        ways.extend([
            one("KILL SOFT QUERY #"),
            one("KILL HARD QUERY #"),
            one("SET STATEMENT max_statement_time = 9 FOR KILL QUERY #"),
            several(&[
                "SET @id = #",
                "PREPARE s FROM 'KILL QUERY ?'",
                "EXECUTE s USING @id",
            ]),
            several(&[
                "PREPARE s FROM 'KILL QUERY ? + ?'",
                "EXECUTE s USING # - 2, 2",
            ]),
            several(&["PREPARE s FROM CONCAT('KILL QUERY ', #)", "EXECUTE s"]),
            one("EXECUTE IMMEDIATE 'KILL QUERY #'"),
            one("EXECUTE IMMEDIATE 'KILL QUERY ?' USING #"),
            one("EXECUTE IMMEDIATE CONCAT('KILL QUERY ', #)"),
            several(&["SET @s = 'KILL QUERY #'", "EXECUTE IMMEDIATE @s"]),
            one("EXECUTE IMMEDIATE @s := CONCAT('KILL QUERY ', #)"),
        ]);
    }
    ways
}

#[test]
fn every_text_that_kills_hits_the_session_with_the_id_that_clients_see() {
    for product in PRODUCTS {
        let (server, proxy) = start(product);
        let mut victim = proxy.connect();
        for way in ways(product, victim.id) {
            let mut killer = proxy.connect();
            sleep(&server, &mut victim);
            let (last, before) = way.split_last().unwrap();
            for statement in before {
                killer.run(statement);
            }
            let reply = killer.query(last);
            assert!(
                reply.error().is_none(),
                "{product:?}: {last}: {:?}",
                reply.error()
            );
            is_interrupted(&mut victim, last);
        }
    }
}

#[test]
fn one_of_several_statements_kills_and_the_others_run() {
    for product in PRODUCTS {
        let (server, proxy) = start(product);
        let mut victim = proxy.connect();
        let id = victim.id;
        for (text, values) in [
            (format!("KILL QUERY {id}; SELECT 5"), vec!["5"]),
            (
                format!("SELECT 5; KILL QUERY {id}; SELECT 6; SELECT 7"),
                vec!["5", "6", "7"],
            ),
            (
                format!("SET @id = {id}; KILL QUERY @id; SELECT 8"),
                vec!["8"],
            ),
            (
                format!("SET @s = 'KILL QUERY {id}'; PREPARE s FROM @s; EXECUTE s; SELECT 9"),
                vec!["9"],
            ),
            (format!("SELECT 5; /*! KILL QUERY {id} */"), vec!["5"]),
        ] {
            let mut killer = proxy.connect();
            sleep(&server, &mut victim);
            let reply = killer.query(&text);
            assert!(
                reply.error().is_none(),
                "{product:?}: {text}: {:?}",
                reply.error()
            );
            // Each row is one value after its length byte.
            let value = |rows: &Rows| String::from_utf8_lossy(&rows.rows[0][1..]).into_owned();
            let told: Vec<_> = reply.results().map(value).collect();
            assert_eq!(told, values, "{product:?}: {text}");
            is_interrupted(&mut victim, &text);
        }
        // Statements after a failed one are not executed.
        let mut killer = proxy.connect();
        let reply = killer.query("SELECT 5; KILL QUERY 1999999999; SET @not = 1");
        assert_eq!(reply.error().unwrap().code, 1094);
        assert_eq!(killer.value("SELECT @not IS NULL"), "1");
    }
}

#[test]
fn a_prepared_statement_kills_the_session_with_the_id_that_clients_see() {
    for product in PRODUCTS {
        let (server, proxy) = start(product);
        let mut victim = proxy.connect();
        let mut killer = proxy.connect();
        let id = victim.id;
        killer.run(&format!("SET @id = {id}"));
        for text in [format!("KILL QUERY {id}"), "KILL QUERY @id".to_owned()] {
            let statement = killer.prepare(&text).statement();
            for _ in 0..2 {
                sleep(&server, &mut victim);
                let reply = killer.execute(&Execute::new(statement, &[]));
                assert!(
                    reply.error().is_none(),
                    "{product:?}: {text}: {:?}",
                    reply.error()
                );
                is_interrupted(&mut victim, &text);
            }
        }
        if product.is_mariadb() {
            let statement = killer.prepare("KILL QUERY ? + ?").statement();
            let text = (id - 3).to_string();
            for first in [Param::Int(i64::from(id) - 3), Param::Text(&text)] {
                sleep(&server, &mut victim);
                let execute = Execute::new(statement, &[first, Param::Int(3)]);
                let reply = killer.execute(&execute);
                assert!(reply.error().is_none(), "{product:?}: {:?}", reply.error());
                is_interrupted(&mut victim, "placeholders");
            }
            let nobody = Execute::new(statement, &[Param::Null, Param::Int(3)]);
            assert_eq!(killer.execute(&nobody).error().unwrap().code, 1094);
        }
        let own = killer.prepare("KILL QUERY CONNECTION_ID()").statement();
        let reply = killer.execute(&Execute::new(own, &[]));
        assert_eq!(reply.error().unwrap().code, 1317);
        assert_eq!(killer.value("SELECT 'alive'"), "alive");
    }
}

#[test]
fn errors_of_kill_are_the_servers() {
    for product in PRODUCTS {
        let (server, proxy) = start(product);
        let mut direct = server.connect("");
        let mut pooled = proxy.connect();
        for conn in [&mut direct, &mut pooled] {
            conn.run("CREATE DATABASE IF NOT EXISTS d");
            conn.run("CREATE OR REPLACE VIEW d.v AS SELECT 1");
            conn.run("USE d");
            conn.query("CREATE FUNCTION f() RETURNS INT RETURN 5");
            conn.run("SET @nil = NULL");
        }
        for text in [
            "KILL",
            "KILL QUERY",
            "KILL QUERY foo",
            "KILL QUERY @nil",
            "KILL QUERY NULL",
            "KILL QUERY '999999x'",
            "KILL QUERY -5",
            "KILL QUERY 999999.7",
            "KILL QUERY 1) + (999999",
            "KILL QUERY 5 5",
            "KILL QUERY 5, 7",
            "KILL QUERY (5, 7)",
            "KILL QUERY COUNT(*)",
            "KILL QUERY ?",
            "KILL QUERY f()",
            "KILL QUERY (SELECT 1 FROM d.v)",
            "KILL QUERY 18446744073709551616",
            "KILL QUERY 18446744073709551615",
            "KILL QUERY 999999 + 1",
            "KILL THREAD 5",
            "KILL CONNECTION ID 5",
            "KILL QUERY ID 999999999",
            "KILL QUERY 1073741824 + 900000000",
            "KILL QUERY 1973741824",
            "KILL SOFT QUERY @nil",
            "PREPARE s FROM 'KILL QUERY foo'",
            "EXECUTE IMMEDIATE 'KILL QUERY 5 5'",
            "EXECUTE IMMEDIATE NULL",
            "EXECUTE IMMEDIATE foo",
        ] {
            let told = [&mut direct, &mut pooled].map(|conn| {
                let reply = conn.query(text);
                let told = reply.error().map(ToString::to_string);
                // The other warnings depend on how the server evaluates the expression.
                let shown = conn.query("SHOW WARNINGS").texts();
                let code = reply.error().map(|error| error.code.to_string());
                let is_shown = shown.iter().any(|row| code.as_ref() == row.get(1));
                (told, is_shown)
            });
            let [directly, pooled] = told;
            assert_eq!(pooled, directly, "{product:?}: {text}");
        }
    }
}

#[test]
fn a_kill_that_cannot_be_translated_is_refused_with_the_reason() {
    let (server, proxy) = start(Product::MariaDb);
    let mut victim = proxy.connect();
    let mut killer = proxy.connect();
    sleep(&server, &mut victim);
    let id = victim.id;
    let block = format!("BEGIN NOT ATOMIC KILL QUERY {id}; END");
    for text in [
        block.clone(),
        format!("IF 1 THEN KILL QUERY {id}; END IF"),
        format!("SELECT 1; BEGIN NOT ATOMIC DECLARE x INT DEFAULT {id}; KILL x; END"),
        format!("EXECUTE IMMEDIATE 'BEGIN NOT ATOMIC KILL QUERY {id}; END'"),
    ] {
        let reply = killer.query(&text);
        let error = reply.error().unwrap_or_else(|| panic!("{text}"));
        assert_eq!(error.code, NOT_SUPPORTED, "{text}: {error}");
        assert!(error.text.contains("statement of its own"), "{error}");
        let shown = killer.run("SHOW WARNINGS").texts();
        assert_eq!(shown[0][1], NOT_SUPPORTED.to_string());
    }
    let statement = killer.prepare(&block).statement();
    let reply = killer.execute(&Execute::new(statement, &[]));
    assert_eq!(reply.error().unwrap().code, NOT_SUPPORTED);
    // A routine with KILL can be created, but not called.
    killer.run("CREATE DATABASE d");
    killer.run("CREATE PROCEDURE d.p(id BIGINT) KILL QUERY id");
    killer.run(&format!("KILL QUERY {id}"));
    is_interrupted(&mut victim, "in the end");
}

#[test]
fn kill_user_ends_the_sessions_of_that_user() {
    for product in [Product::MariaDb, Product::MariaDbNext] {
        let (server, proxy) = start(product);
        let mut other = proxy.connect_as(&Login::with("other", "another password"));
        let mut victims = [proxy.connect(), proxy.connect()];
        sleep(&server, &mut victims[0]);
        let reply = other.run("KILL QUERY USER app");
        assert!(matches!(reply.outcomes[0], Outcome::Ok { affected: 2, .. }));
        is_interrupted(&mut victims[0], "KILL QUERY USER");
        other.run("KILL USER 'app'");
        for victim in &mut victims {
            assert!(victim.is_closed_by_server());
        }
        assert_eq!(other.value("SELECT 'alive'"), "alive");
        let error = other.query("KILL USER 'app'@'10.1.2.3'");
        assert_eq!(error.error().unwrap().code, NOT_SUPPORTED);
        other.run("KILL USER CURRENT_USER");
        assert!(other.is_closed_by_server());
    }
}

/// An unknown id must not reach the server, where another thread may have it.
#[test]
fn the_proxy_answers_a_kill_of_an_unknown_id() {
    for product in PRODUCTS {
        let (server, proxy) = start(product);
        let mut root = server.root();
        root.run("SET GLOBAL log_output = 'TABLE'");
        root.run("SET GLOBAL general_log = ON");
        let mut killer = proxy.connect();
        for text in ["KILL 1973741824", "KILL QUERY 1973741824 + 0"] {
            assert_eq!(killer.query(text).error().unwrap().code, 1094, "{text}");
        }
        if product.is_mariadb() {
            let reply = killer.command(command::PROCESS_KILL, &1_973_741_824_u32.to_le_bytes());
            assert_eq!(reply.error().unwrap().code, 1094);
        }
        root.run("SET GLOBAL general_log = OFF");
        let said = "SELECT COUNT(*) FROM mysql.general_log WHERE command_type IN ('Query', 'Processkill') \
                    AND argument LIKE 'KILL%'";
        assert_eq!(root.value(said), "0", "{product:?}");
    }
}
