//! Connections that break. The proxy repeats a read whose reply is lost. A session that has lost a transaction goes on
//! after its end; a session that has lost more state ends, and its error names this state. No write is executed twice.

use std::time::Duration;

use simulation::scene::{Scene, TestClient, on_both, pass};
use simulation::world::Counted;

/// ER_CONNECT_TO_FOREIGN_DATA_SOURCE: no backend is available.
const NO_BACKEND: u16 = 1429;

/// Statements by which a client ends a lost transaction, and the text of the error that answers each, if any.
const ENDS: &[(&str, Option<&str>)] = &[
    ("ROLLBACK", None),
    ("rollback /* it */ work", None),
    ("BEGIN", None),
    ("START TRANSACTION", None),
    ("COMMIT", Some("Nothing was committed")),
];

async fn table(scene: &Scene) -> TestClient {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT)").await;
    root
}

async fn count(root: &mut TestClient) -> String {
    root.value("SELECT COUNT(*) FROM d.t").await
}

/// Asserts that the proxy refuses a statement because a connection has broken.
async fn refused(client: &mut TestClient, statement: &str, words: &str) {
    let error = client.error(statement).await;
    assert_eq!(
        (error.number, &*error.state),
        (1158, "08S01"),
        "{statement}: {error:?}"
    );
    assert!(error.text.contains(words), "{statement}: {error:?}");
}

#[test]
fn a_read_whose_reply_is_lost_is_sent_again() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            client.run("SET @a = 5").await;
            scene.cut_at("'a read'");
            assert_eq!(client.value("SELECT CONCAT('a read', @a)").await, "a read5");
            assert!(!scene.is_uncut());
        };
        setup.play(play).await;
    });
}

#[test]
fn a_write_whose_reply_is_lost_is_reported_and_not_sent_again() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            for row in 1..=2 {
                let insert = format!("INSERT INTO d.t VALUES ({row})");
                scene.cut_at("INSERT");
                refused(&mut client, &insert, "10.0.0.1:3306").await;
                assert_eq!(count(&mut root).await, row.to_string());
            }
            client.run("SELECT 'it goes on'").await;
        };
        setup.play(play).await;
    });
}

#[test]
fn a_transaction_that_is_cut_in_a_statement_is_rolled_back_and_the_session_goes_on() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            let words = "the transaction is rolled back";
            client.run("BEGIN").await;
            client.run("INSERT INTO d.t VALUES (1)").await;
            scene.cut_at("VALUES (2)");
            refused(&mut client, "INSERT INTO d.t VALUES (2)", words).await;
            refused(&mut client, "INSERT INTO d.t VALUES (3)", words).await;
            client.run("ROLLBACK").await;
            client.run("SELECT 'it goes on'").await;
            assert_eq!(count(&mut root).await, "0");
        };
        setup.play(play).await;
    });
}

#[test]
fn a_commit_whose_reply_is_lost_is_reported_as_in_doubt() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            client.run("BEGIN").await;
            client.run("INSERT INTO d.t VALUES (4)").await;
            scene.cut_at("COMMIT");
            refused(&mut client, "COMMIT", "may have been executed").await;
            client.run("SELECT 'it goes on'").await;
            assert_eq!(count(&mut root).await, "1");
        };
        setup.play(play).await;
    });
}

#[test]
fn a_begin_whose_reply_is_lost_is_sent_again() {
    for defers in ["true", "false"] {
        on_both(async |setup| {
            let play = async |scene: &Scene| {
                let mut root = table(scene).await;
                let mut client = scene.client().await;
                scene.cut_at("START TRANSACTION");
                client.run("START TRANSACTION").await;
                client.run("INSERT INTO d.t VALUES (1)").await;
                client.run("ROLLBACK").await;
                assert_eq!(count(&mut root).await, "0");
                assert!(!scene.is_uncut());
            };
            setup.set("pool.defer_begin", defers).play(play).await;
        });
    }
}

#[test]
fn proxy_refuses_statements_after_a_lost_transaction_until_the_client_ends_it() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await.quit().await;
            let mut clients = Vec::new();
            for &end in ENDS {
                let mut client = scene.client().await;
                client.run("SET @a = 5").await;
                client.run("BEGIN").await;
                client.run("INSERT INTO d.t VALUES (1)").await;
                clients.push((client, end));
            }
            scene.servers[0].crash();
            pass(Duration::from_secs(1)).await;
            scene.servers[0].start();
            for (client, (end, answer)) in &mut clients {
                for statement in [
                    "INSERT INTO d.t VALUES (2)",
                    "SELECT 1",
                    "ROLLBACK TO SAVEPOINT s",
                    "SET autocommit = 1",
                ] {
                    refused(client, statement, "the transaction is rolled back").await;
                }
                match answer {
                    None => drop(client.run(end).await),
                    Some(words) => refused(client, end, words).await,
                }
                assert_eq!(client.value("SELECT @a").await, "5");
                client.run("INSERT INTO d.t VALUES (3)").await;
                client.run("ROLLBACK").await;
            }
            // After BEGIN and START TRANSACTION, ROLLBACK removed the row. The other three rows are committed.
            let mut root = scene.root(0).await;
            assert_eq!(count(&mut root).await, "3");
        };
        setup
            .set("balance.timeout_backend_wait", "\"30s\"")
            .play(play)
            .await;
    });
}

#[test]
fn a_statement_that_is_refused_before_its_transaction_begins_again_is_counted() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await.quit().await;
            let mut client = scene.client().await;
            let prepared = client.prepare("INSERT INTO d.t VALUES (1)").await;
            for is_prepared in [false, true] {
                client.run("BEGIN").await;
                scene.servers[0].crash();
                pass(Duration::from_secs(1)).await;
                let before = scene.counted().await;
                let error = match is_prepared {
                    true => client.execution_error(prepared, &[]).await,
                    false => client.error("INSERT INTO d.t VALUES (1)").await,
                };
                assert_eq!(error.number, NO_BACKEND, "{error:?}");
                let after = scene.counted().await;
                assert_eq!(after.statements, before.statements + 1);
                assert_eq!(after.failed, before.failed + 1);
                let refused = |counted: &Counted| counted.errors.get(&NO_BACKEND).copied();
                assert_eq!(refused(&after), Some(1 + refused(&before).unwrap_or(0)));
                scene.servers[0].start();
                pass(Duration::from_secs(3)).await;
                client.run("ROLLBACK").await;
            }
        };
        setup
            .set("pool.defer_begin", "false")
            .set("balance.timeout_backend_wait", "\"2s\"")
            .play(play)
            .await;
    });
}

#[test]
fn error_names_the_state_that_was_lost_with_a_connection() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            client
                .run("CREATE TEMPORARY TABLE d.treasure (n INT)")
                .await;
            client.run("SELECT GET_LOCK('my lock', 1)").await;
            scene.cut_at("'a read'");
            let error = client.error("SELECT 'a read'").await;
            assert_eq!(error.number, 1158);
            for name in ["temporary_table", "treasure", "named_lock", "my lock"] {
                assert!(error.text.contains(name), "no {name} in {error:?}");
            }
            // Statements without the temporary table and the lock would be wrong, so the proxy ends the session.
            assert!(client.is_ended().await);
        };
        setup.play(play).await;
    });
}
