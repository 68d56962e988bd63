//! The proxy answers a plain BEGIN itself and sends it with the transaction's first statement. The same holds for
//! `SET autocommit = 0`.

use std::time::Duration;

use simulation::client::Reply;
use simulation::scene::{Scene, TestClient, on_both, pass};
use wire::StatusFlags;

use crate::{NOTHING, rule};

const INSERT: &str = "INSERT INTO d.t VALUES (1)";
const COUNT: &str = "SELECT COUNT(*) FROM d.t";

async fn table(scene: &Scene) -> TestClient {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT)").await;
    root
}

/// Returns a client whose session has used a connection.
async fn client(scene: &Scene) -> TestClient {
    let mut client = scene.client().await;
    client.run("SELECT 1").await;
    scene.ran();
    client
}

fn is_in_transaction(reply: &Reply) -> bool {
    let status = reply.status();
    status.is_some_and(|status| status.contains(StatusFlags::IN_TRANS))
}

#[test]
fn a_transaction_without_statements_asks_no_backend() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = client(scene).await;
            for [begin, end] in [
                ["BEGIN", "COMMIT"],
                ["START TRANSACTION", "ROLLBACK"],
                ["begin work", "COMMIT AND NO CHAIN NO RELEASE"],
            ] {
                assert!(is_in_transaction(&client.run(begin).await));
                assert!(!is_in_transaction(&client.run(end).await));
            }
            assert_eq!(scene.texts(0), NOTHING);
        };
        setup.play(play).await;
    });
}

#[test]
fn deferred_begin_is_sent_before_the_transactions_first_statement() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = client(scene).await;
            let execution = client.prepare(INSERT).await;
            for is_prepared in [false, true] {
                client.run("BEGIN").await;
                match is_prepared {
                    false => drop(client.run(INSERT).await),
                    true => drop(client.execute(execution, &[]).await),
                }
                assert!(is_in_transaction(&client.run(COUNT).await));
                client.run("ROLLBACK").await;
                let expected = ["START TRANSACTION", INSERT, COUNT, "ROLLBACK"];
                assert_eq!(scene.texts(0), expected);
            }
            client.run("BEGIN").await;
            client.run(INSERT).await;
            assert_eq!(root.value(COUNT).await, "0");
            client.run("COMMIT").await;
            assert_eq!(root.value(COUNT).await, "1");
        };
        setup.play(play).await;
    });
}

#[test]
fn each_begin_and_end_is_sent_at_once_if_the_setting_says_so() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = client(scene).await;
            client.run("BEGIN").await;
            client.run("COMMIT").await;
            assert_eq!(scene.texts(0), ["BEGIN", "COMMIT"]);
        };
        setup.set("pool.defer_begin", "false").play(play).await;
    });
}

#[test]
fn a_begin_that_fails_is_the_error_of_the_first_statement() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = client(scene).await;
            for first in [COUNT, INSERT] {
                client.run("BEGIN").await;
                scene.kill_at("START TRANSACTION");
                assert_eq!(client.error(first).await.number, 1317, "{first}");
                assert!(!scene.is_uncut());
                // The statements that follow still run within a transaction.
                assert!(is_in_transaction(&client.run(INSERT).await));
                assert_eq!(root.value(COUNT).await, "0", "{first}");
                client.run("ROLLBACK").await;
                assert_eq!(root.value(COUNT).await, "0", "{first}");
            }
            // No other session gets the connection on which a statement has run without its BEGIN.
            let mut other = scene.client().await;
            assert!(!is_in_transaction(&other.run(COUNT).await));
        };
        setup.play(play).await;
    });
}

#[test]
fn backend_outage_after_deferred_begin_fails_only_the_first_statement() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = client(scene).await;
            client.run("BEGIN").await;
            scene.servers[0].crash();
            pass(Duration::from_secs(1)).await;
            assert_eq!(client.error(INSERT).await.number, 1429);
            client.run("ROLLBACK").await;
            scene.servers[0].start();
            pass(Duration::from_secs(5)).await;
            client.run("BEGIN").await;
            client.run(INSERT).await;
            client.run("COMMIT").await;
            assert_eq!(client.value(COUNT).await, "1");
        };
        setup
            .set("balance.timeout_backend_wait", "\"2s\"")
            .play(play)
            .await;
    });
}

#[test]
fn a_begin_that_a_rule_matches_is_sent_at_once() {
    on_both(async |setup| {
        let rules = rule("of begin", "kind = [\"BEGIN\"]\ntimeout = \"1m\"");
        let play = async |scene: &Scene| {
            let mut client = client(scene).await;
            client.run("BEGIN").await;
            assert_eq!(scene.texts(0), ["BEGIN"]);
            client.run("ROLLBACK").await;
        };
        setup.tables(&rules).play(play).await;
    });
}

#[test]
fn deferred_begin_is_sent_before_the_statements_that_a_rule_injects() {
    on_both(async |setup| {
        let rules = rule(
            "of reads",
            "kind = [\"INSERT\"]\nbefore = [\"SELECT 'before'\"]",
        );
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = client(scene).await;
            client.run("BEGIN").await;
            client.run(INSERT).await;
            let expected = ["START TRANSACTION", "SELECT 'before'", INSERT];
            assert_eq!(scene.texts(0), expected);
            client.run("ROLLBACK").await;
            assert_eq!(root.value(COUNT).await, "0");
        };
        setup.tables(&rules).play(play).await;
    });
}

#[test]
fn autocommit_is_switched_off_with_the_first_statement() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = client(scene).await;
            client.run("SET autocommit = 0").await;
            assert_eq!(scene.texts(0), NOTHING);
            client.run(INSERT).await;
            assert_eq!(root.value(COUNT).await, "0");
            client.run("COMMIT").await;
            assert_eq!(root.value(COUNT).await, "1");
            // Another session gets the connection with autocommit switched on.
            let mut other = scene.client().await;
            other.run(INSERT).await;
            assert_eq!(root.value(COUNT).await, "2");
        };
        setup
            .set("pool.backend_connections_max", "1")
            .play(play)
            .await;
    });
}

/// The first statement sets the transaction's snapshot. A lane, which several sessions share, cannot keep a snapshot.
#[test]
fn reads_of_a_transaction_whose_begin_is_deferred_use_no_lane() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = scene.root(0).await;
            root.run("CREATE TABLE d.t (id INT PRIMARY KEY, v INT)")
                .await;
            root.run("INSERT INTO d.t VALUES (1, 10)").await;
            let mut client = client(scene).await;
            let read = "SELECT v FROM d.t WHERE id = 1";
            for _ in 0..40 {
                client.run(read).await;
            }
            client.run("BEGIN").await;
            assert_eq!(client.value(read).await, "10");
            root.run("UPDATE d.t SET v = 20").await;
            assert_eq!(client.value(read).await, "10");
            client.run("COMMIT").await;
            assert_eq!(client.value(read).await, "20");
        };
        setup.set("routing.lanes", "\"reads\"").play(play).await;
    });
}
