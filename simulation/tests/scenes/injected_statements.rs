//! Statements that a rule injects before and after the client's statement. They run on the client's connection, and the
//! client sees no trace of them.

use simulation::client::Reply;
use simulation::scene::{Scene, Setup, TestClient, on_both, settle};
use tokio::time::Instant;

use crate::rule;

/// The tag of statements to which the rule of these scenes applies.
const TAG: &str = "/* tag: looked */";

/// Adds a rule that injects statements around each statement with the tag.
fn around(setup: Setup, lines: &str) -> Setup {
    let limit = match lines.contains("timeout_injected") {
        true => "",
        false => "timeout_injected = \"60s\"\n",
    };
    setup
        .set("accounts.explain", "true")
        .tables(&rule("looks", &format!("tag = \"looked\"\n{limit}{lines}")))
}

async fn table(scene: &Scene) -> TestClient {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20))")
        .await;
    root
}

/// Returns how many statements the rule has injected, and how many of these have failed.
async fn counts(client: &mut TestClient) -> [String; 2] {
    let rows = client.rows("EXPLAIN RULES").await;
    [rows[0][7].clone(), rows[0][8].clone()]
}

#[test]
fn statements_of_a_rule_are_sent_around_the_clients_on_its_connection() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            client.run("SELECT 1").await;
            scene.ran();
            assert_eq!(client.value(&format!("SELECT 'own' {TAG}")).await, "own");
            assert_eq!(client.value("SELECT 'next'").await, "next");
            let ran = scene.ran();
            let texts: Vec<_> = ran.iter().map(|it| &*it.text).collect();
            let expected = [
                "SELECT 'before'",
                "SELECT 'own'",
                "SELECT 'after'",
                "SHOW SESSION STATUS",
                "SELECT 'next'",
            ];
            assert_eq!(texts, expected);
            assert!(ran[..4].iter().all(|it| it.connection == ran[0].connection));
            assert_eq!(counts(&mut client).await, ["3", "0"]);
        };
        let lines =
            "before = [\"SELECT 'before'\"]\nafter = [\"SELECT 'after'\", \"SHOW SESSION STATUS\"]";
        around(setup, lines).play(play).await;
    });
}

#[test]
fn rule_injects_statements_around_prepared_executions() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            let statement = client
                .prepare(&format!("SELECT COUNT(*) FROM d.t WHERE n > ? {TAG}"))
                .await;
            scene.ran();
            assert_eq!(client.execution_value(statement, &[3]).await, "0");
            settle().await;
            let texts = scene.texts(0);
            assert_eq!(
                texts,
                [
                    "SELECT 'before'",
                    "SELECT COUNT(*) FROM d.t WHERE n > ?",
                    "SELECT 'after'"
                ]
            );
        };
        let lines = "before = [\"SELECT 'before'\"]\nafter = [\"SELECT 'after'\"]";
        around(setup, lines).play(play).await;
    });
}

#[test]
fn an_injected_statement_that_fails_does_not_fail_the_clients() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            for turn in ["0", "1", "2"] {
                let value = client.value(&format!("SELECT {turn} {TAG}")).await;
                assert_eq!(value, turn);
            }
            assert_eq!(counts(&mut client).await, ["6", "3"]);
        };
        let lines = "before = [\"SELECT * FROM d.nowhere\"]\nafter = [\"SELECT 'after'\"]";
        around(setup, lines).play(play).await;
    });
}

#[test]
fn injected_statements_that_take_too_long_are_killed() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            client.run("SELECT 1").await;
            let begun = Instant::now();
            assert_eq!(client.value(&format!("SELECT 'own' {TAG}")).await, "own");
            assert_eq!(begun.elapsed().as_secs(), 3);
            // The injected statement after the client's ends before the session's next statement begins.
            assert_eq!(client.value("SELECT 'next'").await, "next");
            assert_eq!(begun.elapsed().as_secs(), 6);
        };
        let lines = "before = [\"SELECT SLEEP(100) + 1\"]\nafter = [\"SELECT SLEEP(100) + 2\"]\n\
                     timeout_injected = \"3s\"";
        around(setup, lines).play(play).await;
    });
}

/// Returns a reply as a text: its rows, its counts, or its error.
fn heard(reply: &Reply) -> String {
    match reply {
        Reply::Rows { rows, warnings, .. } => format!("{rows:?} {warnings}"),
        Reply::Done(ok) => format!("{} {} {}", ok.affected_rows, ok.last_insert_id, ok.warnings),
        Reply::Error(error) => format!("{} {}", error.number, error.text),
    }
}

/// Statements by which a client asks about its previous statement.
const QUESTIONS: [&str; 4] = [
    "SHOW WARNINGS",
    "SELECT ROW_COUNT()",
    "SELECT FOUND_ROWS()",
    "SELECT LAST_INSERT_ID()",
];

/// Statements that set warnings, row counts or insert ids.
const STATEMENTS: [&str; 9] = [
    "INSERT INTO d.t (v) VALUES ('a'), ('b')",
    "UPDATE d.t SET v = 'c' WHERE n < 3",
    "SELECT n FROM d.t LIMIT 1",
    "SELECT 2",
    "SELECT nothing",
    "SET @x = 1",
    "DELETE FROM d.t WHERE v = 'nobody'",
    "DROP TABLE IF EXISTS d.nobody",
    "INSERT INTO d.t VALUES (1, 'twice')",
];

/// Sends each statement, `between`, and each question, directly and through the proxy. The replies must be the same.
async fn leave_the_same(scene: &Scene, tag: &str, between: Option<&str>) {
    let mut root = table(scene).await;
    let mut client = scene.client().await;
    let mut direct = scene.root(0).await;
    for question in QUESTIONS {
        for statement in STATEMENTS {
            let mut told = Vec::new();
            for client in [&mut direct, &mut client] {
                root.run("TRUNCATE TABLE d.t").await;
                root.run("INSERT INTO d.t (v) VALUES ('first')").await;
                let statement = format!("{statement} {tag}");
                let mut replies = Vec::new();
                let texts = [Some(&*statement), between, Some(question)];
                for text in texts.into_iter().flatten() {
                    replies.push(heard(&client.query(text).await.unwrap()));
                }
                told.push(replies);
            }
            assert_eq!(told[0], told[1], "{statement}; {between:?}; {question}");
        }
    }
}

/// Adds a rule whose injected statements change warnings and row counts.
fn disturbing(setup: Setup) -> Setup {
    let lines = "before = [\"SELECT nothing\", \"SELECT n FROM d.t LIMIT 2\"]\n\
                 after = [\"SELECT n FROM d.t LIMIT 3\", \"SHOW WARNINGS\", \"SELECT nothing\"]\n\
                 injected = \"discard\"";
    around(setup, lines)
}

#[test]
fn injected_statements_leave_nothing_that_the_client_could_ask_for() {
    on_both(async |setup| {
        let play = async |scene: &Scene| leave_the_same(scene, TAG, None).await;
        disturbing(setup).play(play).await;
    });
}

/// The rule applies to a SET. After the SET the client can still ask about the statement before it.
#[test]
fn injected_statements_take_nothing_that_the_client_could_ask_for() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let between = format!("SET @y = 1 {TAG}");
            leave_the_same(scene, "", Some(&between)).await;
        };
        disturbing(setup).play(play).await;
    });
}

#[test]
fn variables_that_injected_statements_set_are_set_back() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            let asked = "SELECT CONCAT(@@profiling, ' ', @@long_query_time)";
            client.run("SET long_query_time = 7").await;
            let before = client.value(asked).await;
            scene.ran();
            client.run(&format!("SELECT 'own' {TAG}")).await;
            assert_eq!(client.value(asked).await, before);
            let texts = scene.texts(0);
            let place = |part: &str| texts.iter().position(|text| text.contains(part));
            let (set, own) = (place("long_query_time = 0.5"), place("'own'"));
            assert!(set.is_some() && set < own, "{texts:?}");
        };
        around(
            setup,
            "before = [\"SET profiling = 1, long_query_time = 0.5\"]",
        )
        .play(play)
        .await;
    });
}

#[test]
fn injected_statements_neither_begin_nor_end_a_transaction() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            let count = "SELECT COUNT(*) FROM d.t";
            client.run("SET autocommit = 0").await;
            client.run(&format!("SELECT 1 {TAG}")).await;
            // The client's own read sets the snapshot. The injected read of the statement before does not.
            root.run("INSERT INTO d.t (v) VALUES ('x')").await;
            assert_eq!(client.value(count).await, "1");
            client.run(&format!("COMMIT {TAG}")).await;
            root.run("INSERT INTO d.t (v) VALUES ('y')").await;
            assert_eq!(client.value(count).await, "2");
            client.run("ROLLBACK").await;
            // Injected statements do not commit the client's transaction.
            client.run("SET autocommit = 1").await;
            client.run("BEGIN").await;
            client
                .run(&format!("INSERT INTO d.t (v) VALUES ('z') {TAG}"))
                .await;
            client.run("ROLLBACK").await;
            assert_eq!(root.value(count).await, "2");
        };
        let lines =
            "before = [\"SELECT COUNT(*) FROM d.t\"]\nafter = [\"SELECT COUNT(*) FROM d.t\"]";
        around(setup, lines).play(play).await;
    });
}

/// All sessions share one connection, so another session waits as long as the first session is pinned.
#[test]
fn injected_statements_keep_no_connection() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let (mut client, mut other) = (scene.client().await, scene.client().await);
            for (begin, end) in [("BEGIN", "COMMIT"), ("SELECT 1", "SELECT 2")] {
                client.run(&format!("{begin} {TAG}")).await;
                client.run(&format!("UPDATE d.t SET v = 'x' {TAG}")).await;
                client.error(&format!("SELECT nothing {TAG}")).await;
                client.run(&format!("{end} {TAG}")).await;
                assert_eq!(other.value("SELECT 'other'").await, "other");
            }
        };
        let lines = "before = [\"SET profiling = 1\", \"SELECT 1\"]\nafter = [\"SELECT 1\", \"SELECT nothing\"]";
        around(setup, lines)
            .set("pool.backend_connections_max", "1")
            .set("pool.timeout_wait", "\"5s\"")
            .play(play)
            .await;
    });
}

#[test]
fn kill_query_within_an_injected_statement_kills_the_clients_statement() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut holder = table(scene).await;
            holder.run("LOCK TABLES d.t WRITE").await;
            let victim = scene.client().await;
            scene.ran();
            let victim = victim.start(&format!("SELECT 'own' {TAG}"));
            settle().await;
            assert!(!victim.is_answered());
            let mut killer = scene.client().await;
            killer.run(&format!("KILL QUERY {}", victim.session)).await;
            let (mut victim, error) = victim.error().await;
            assert_eq!(error.number, 1317);
            holder.run("UNLOCK TABLES").await;
            assert_eq!(victim.value("SELECT @@profiling").await, "0");
            let texts = scene.texts(0);
            assert!(
                !texts.iter().any(|text| text.contains("'own'")),
                "{texts:?}"
            );
        };
        around(
            setup,
            "before = [\"SET profiling = 1\", \"SELECT COUNT(*) FROM d.t\"]",
        )
        .play(play)
        .await;
    });
}

#[test]
fn explain_route_shows_the_injected_statements() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            let told = client
                .rows(&format!("EXPLAIN ROUTE SELECT 1 FROM d.t {TAG}"))
                .await;
            for (setting, said) in [
                ("before", "SHOW SESSION STATUS (rule \"looks\")"),
                ("injected", "diff (rule \"looks\")"),
            ] {
                let mut rows = told.iter();
                let row = rows.find(|row| row[0] == "rules say" && row[1] == setting);
                assert_eq!(row.unwrap()[2], said, "{told:?}");
            }
            assert_eq!(counts(&mut client).await, ["0", "0"]);
        };
        let status = "[\"SHOW SESSION STATUS\"]";
        let lines = &format!("before = {status}\nafter = {status}\ninjected = \"diff\"");
        around(setup, lines).play(play).await;
    });
}
