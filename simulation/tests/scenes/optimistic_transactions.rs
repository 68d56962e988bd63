//! Optimistic transactions. They begin on a replica, and move to the primary at their first write if their reads give
//! the same results there.

use std::time::Duration;

use simulation::scene::{Scene, Setup, TestClient, on_both, pass};
use simulation::world::{proxies_host, server_address};
use wire::Command;

use crate::{NOTHING, rule};

const INSERT: &str = "INSERT INTO d.t VALUES (1)";
const READ: &str = "SELECT v FROM d.seen WHERE n = 2";
const COUNT: &str = "SELECT COUNT(*) FROM d.t";

/// The number of reads that the proxy repeats on the primary for one transaction, at most.
const READS_MAX: usize = 100;

fn optimistic(setup: Setup) -> Setup {
    setup
        .replicas(2)
        .set("routing.optimistic_transactions", "true")
        .set("balance.timeout_consistency", "\"20s\"")
}

/// Creates tables, and waits until the replicas have them.
async fn tables(scene: &Scene) -> TestClient {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT PRIMARY KEY)").await;
    root.run("CREATE TABLE d.seen (n INT PRIMARY KEY, v INT)")
        .await;
    for n in 1..4 {
        root.run(&format!("INSERT INTO d.seen VALUES ({n}, {n}0)"))
            .await;
    }
    pass(Duration::from_secs(2)).await;
    root
}

/// Begins a transaction, reads on a replica, and returns the replica's number.
async fn begin(scene: &Scene, client: &mut TestClient) -> usize {
    scene.ran();
    client.run("BEGIN").await;
    assert_eq!(client.value(READ).await, "20");
    let places = scene.places(READ);
    assert!(places == [1] || places == [2], "{places:?}");
    places[0]
}

/// Delays the replicas by `by` from now on.
fn delay(scene: &Scene, by: Duration) {
    for replica in &scene.servers[1..] {
        replica.follow(Some(&scene.servers[0]), by);
    }
}

/// Resets the proxy's connections to a server.
fn reset(scene: &Scene, server: usize) {
    let to = server_address(server).ip();
    scene.hosts.reset(proxies_host(), to);
}

#[test]
fn the_first_write_goes_to_the_primary_where_the_reads_are_repeated() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = tables(scene).await;
            let mut client = scene.client().await;
            begin(scene, &mut client).await;
            // The proxy also repeats a read that gave an error.
            let unknown = "SELECT nothing FROM d.t";
            assert_eq!(client.error(unknown).await.number, 1054);
            scene.ran();
            client.run(INSERT).await;
            let texts = scene.texts(0);
            let place = |part: &str| texts.iter().position(|text| text.contains(part));
            let order = [place(READ), place(unknown), place(INSERT)];
            assert!(order[0].is_some() && order.is_sorted(), "{texts:?}");
            assert_eq!(client.value(COUNT).await, "1");
            assert_eq!(root.value(COUNT).await, "0", "it is not committed");
            client.run("COMMIT").await;
            assert_eq!(root.value(COUNT).await, "1");
            begin(scene, &mut client).await;
            client.run("DELETE FROM d.t").await;
            client.run("ROLLBACK").await;
            assert_eq!(root.value(COUNT).await, "1");
        };
        optimistic(setup).play(play).await;
    });
}

#[test]
fn a_transaction_that_only_reads_asks_nothing_of_the_primary() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            tables(scene).await;
            let mut client = scene.client().await;
            for end in ["COMMIT", "ROLLBACK"] {
                begin(scene, &mut client).await;
                client.run(end).await;
                assert_eq!(scene.texts(0), NOTHING);
            }
        };
        optimistic(setup).play(play).await;
    });
}

#[test]
fn a_read_that_has_become_stale_gives_error_1213_until_the_client_ends_the_transaction() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = tables(scene).await;
            delay(scene, Duration::from_secs(3600));
            root.run("UPDATE d.seen SET v = 5 WHERE n = 3").await;
            let mut client = scene.client().await;
            // The transaction's reads give the same results on the primary.
            begin(scene, &mut client).await;
            client.run(INSERT).await;
            client.run("ROLLBACK").await;
            client.run("BEGIN").await;
            assert_eq!(client.value("SELECT v FROM d.seen WHERE n = 3").await, "30");
            for _ in 0..2 {
                let error = client.error(INSERT).await;
                assert_eq!((error.number, &*error.state), (1213, "40001"));
            }
            client.run("ROLLBACK").await;
            assert_eq!(root.value(COUNT).await, "0");
            // The next transaction does not fail again, because it begins on the primary.
            scene.ran();
            client.run("BEGIN").await;
            assert_eq!(client.value("SELECT v FROM d.seen WHERE n = 3").await, "5");
            assert_eq!(scene.places("d.seen"), [0]);
            client.run(INSERT).await;
            client.run("COMMIT").await;
            assert_eq!(root.value(COUNT).await, "1");
        };
        optimistic(setup).play(play).await;
    });
}

#[test]
fn a_replica_that_breaks_between_two_statements_costs_no_transaction() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = tables(scene).await;
            let mut client = scene.client().await;
            let replica = begin(scene, &mut client).await;
            reset(scene, replica);
            pass(Duration::from_secs(1)).await;
            client.run(INSERT).await;
            client.run("COMMIT").await;
            assert_eq!(root.value(COUNT).await, "1");
            assert_eq!(scene.places(READ), [0]);
            // COMMIT without a write repeats no reads.
            for _ in 0..2 {
                let replica = begin(scene, &mut client).await;
                scene.servers[replica].crash();
                pass(Duration::from_secs(1)).await;
                client.command(Command::PING, b"").await;
                client.run("COMMIT").await;
            }
            client.run("BEGIN").await;
            client.run(COUNT).await;
            assert_eq!(scene.places(COUNT), [0], "no replica is left");
            client.run("COMMIT").await;
        };
        optimistic(setup).play(play).await;
    });
}

#[test]
fn a_replica_that_breaks_within_a_read_costs_no_transaction() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = tables(scene).await;
            let mut client = scene.client().await;
            begin(scene, &mut client).await;
            scene.crash_at(COUNT);
            assert_eq!(client.value(COUNT).await, "0");
            assert!(!scene.is_uncut());
            let ran = scene.ran();
            assert!(
                ran.iter().any(|ran| ran.server == 0 && ran.text == READ),
                "it was read again: {ran:?}"
            );
            client.run(INSERT).await;
            client.run("COMMIT").await;
            assert_eq!(root.value(COUNT).await, "1");
        };
        optimistic(setup).play(play).await;
    });
}

#[test]
fn executions_are_repeated_with_their_values() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = tables(scene).await;
            let mut client = scene.client().await;
            let read = client.prepare("SELECT v FROM d.seen WHERE n = ?").await;
            let write = client.prepare("INSERT INTO d.t VALUES (?)").await;
            client.run("BEGIN").await;
            for n in 1..4_i64 {
                let value = client.execution_value(read, &[n]).await;
                assert_eq!(value, (10 * n).to_string());
            }
            scene.ran();
            client.execute(write, &[7]).await;
            let texts = scene.texts(0);
            let repeated = texts.iter().filter(|text| text.contains("n = ?"));
            assert_eq!(repeated.count(), 3, "{texts:?}");
            client.run("COMMIT").await;
            assert_eq!(root.value("SELECT n FROM d.t").await, "7");
            // The read gives another result on the primary.
            client.run("BEGIN").await;
            client.execution_value(read, &[1]).await;
            for replica in &scene.servers[1..] {
                replica.stop_replica();
            }
            root.run("UPDATE d.seen SET v = 5 WHERE n = 1").await;
            assert_eq!(client.execution_error(write, &[8]).await.number, 1213);
            client.run("ROLLBACK").await;
        };
        optimistic(setup).play(play).await;
    });
}

#[test]
fn a_transaction_with_too_many_reads_goes_on_at_the_primary() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            tables(scene).await;
            let mut client = scene.client().await;
            begin(scene, &mut client).await;
            for _ in 1..READS_MAX {
                client.run(COUNT).await;
            }
            assert!(!scene.places(COUNT).contains(&0));
            client.run(COUNT).await;
            client.run("SELECT 'behind it'").await;
            assert_eq!(scene.places("behind it"), [0]);
            client.run("COMMIT").await;
            // The proxy does not keep a statement of this length.
            begin(scene, &mut client).await;
            let long = format!("{COUNT} WHERE '{}' <> 'x'", "x".repeat(70_000));
            client.run(&long).await;
            assert_eq!(scene.places(COUNT), [0]);
            client.run("COMMIT").await;
            // After a result of this size the next statement goes to the primary.
            begin(scene, &mut client).await;
            let big = client.value("SELECT REPEAT('x', 2000000)").await;
            assert_eq!(big.len(), 2_000_000);
            assert!(!scene.places("REPEAT").contains(&0));
            client.run(COUNT).await;
            assert_eq!(scene.places(COUNT), [0]);
            client.run(INSERT).await;
            client.run("ROLLBACK").await;
        };
        optimistic(setup).play(play).await;
    });
}

#[test]
fn explain_shows_where_an_optimistic_transaction_runs() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            tables(scene).await;
            let mut client = scene.client().await;
            let route = async |client: &mut TestClient, statement: &str| {
                let told = client.rows(&format!("EXPLAIN ROUTE {statement}")).await;
                told.concat().join(" ")
            };
            let told = route(&mut client, "BEGIN").await;
            let words = "goes to the primary with its first write";
            assert!(told.contains(words), "{told}");
            begin(scene, &mut client).await;
            let told = client.rows("EXPLAIN SESSION").await.concat().join(" ");
            assert!(told.contains("reads to be repeated then: 1"), "{told}");
            let told = route(&mut client, INSERT).await;
            assert!(told.contains("reads again"), "{told}");
            let told = route(&mut client, COUNT).await;
            assert!(told.contains("stays in its transaction"), "{told}");
            // EXPLAIN ROUTE does not move the transaction.
            client.run(COUNT).await;
            assert!(!scene.places(COUNT).contains(&0));
            client.run("COMMIT").await;
        };
        optimistic(setup)
            .set("accounts.explain", "true")
            .play(play)
            .await;
    });
}

#[test]
fn statements_that_are_no_plain_reads_take_the_transaction_to_the_primary() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            tables(scene).await;
            for other in [
                "SELECT * FROM d.t FOR UPDATE",
                "SELECT UUID()",
                "SELECT CONNECTION_ID()",
                "SELECT LAST_INSERT_ID()",
                "SELECT @@autocommit",
                "SHOW TABLES FROM d",
                "SET @b = 1",
                "SAVEPOINT a",
                "DO 1",
                "CREATE TEMPORARY TABLE d.own (n INT)",
                "no_such_word",
            ] {
                let mut client = scene.client().await;
                begin(scene, &mut client).await;
                // The statement may fail; only its effect on the routing matters.
                let _ = client.query(other).await;
                client.run("SELECT 'behind it'").await;
                assert_eq!(scene.places("behind it"), [0], "{other}");
            }
        };
        optimistic(setup).play(play).await;
    });
}

#[test]
fn transactions_that_cannot_be_optimistic_begin_at_the_primary() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            tables(scene).await;
            for [before, begin] in [
                ["DO 1", "START TRANSACTION READ WRITE"],
                ["DO 1", "START TRANSACTION WITH CONSISTENT SNAPSHOT"],
                ["SET autocommit = 0", "BEGIN"],
                [
                    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                    "BEGIN",
                ],
                ["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN"],
            ] {
                let mut client = scene.client().await;
                client.run(before).await;
                client.run(begin).await;
                scene.ran();
                client.run(READ).await;
                assert_eq!(scene.places(READ), [0], "{before}; {begin}");
            }
        };
        optimistic(setup).play(play).await;
    });
}

#[test]
fn a_primary_that_is_away_ends_the_transaction_and_not_the_session() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            tables(scene).await;
            let mut client = scene.client().await;
            begin(scene, &mut client).await;
            scene.servers[0].crash();
            let error = client.error(INSERT).await;
            assert!([1429, 1158].contains(&error.number), "{error:?}");
            let error = client.error("SELECT 1").await;
            assert!(error.text.contains("ROLLBACK"), "{error:?}");
            client.run("ROLLBACK").await;
            // A transaction that only reads needs no primary.
            begin(scene, &mut client).await;
            client.run("COMMIT").await;
            scene.servers[0].start();
            pass(Duration::from_secs(5)).await;
            begin(scene, &mut client).await;
            client.run(INSERT).await;
            client.run("COMMIT").await;
            assert_eq!(scene.root(0).await.value(COUNT).await, "1");
        };
        optimistic(setup)
            .set("balance.timeout_backend_wait", "\"2s\"")
            .play(play)
            .await;
    });
}

#[test]
fn rules_apply_within_an_optimistic_transaction() {
    on_both(async |setup| {
        let rules = [
            rule(
                "put",
                "regex = \"^SELECT 'write'\"\nrewrite = \"INSERT INTO d.t VALUES (5)\"",
            ),
            rule(
                "there",
                "regex = \"^SELECT 'there'\"\nrouting.replicas = \"primary\"",
            ),
            rule("said", "regex = \"^SELECT 'said'\"\nanswer = \"ok\""),
        ];
        let play = async |scene: &Scene| {
            let mut root = tables(scene).await;
            let mut client = scene.client().await;
            begin(scene, &mut client).await;
            client.run("SELECT 'said'").await;
            assert_eq!(scene.texts(0), NOTHING);
            client.run("SELECT 'write'").await;
            client.run("COMMIT").await;
            assert_eq!(root.value("SELECT n FROM d.t").await, "5");
            begin(scene, &mut client).await;
            client.run("SELECT 'there'").await;
            assert_eq!(scene.places("'there'"), [0]);
            client.run("COMMIT").await;
        };
        optimistic(setup).tables(&rules.concat()).play(play).await;
    });
}

#[test]
fn optimistic_transaction_with_savepoint_runs_on_the_primary() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = tables(scene).await;
            let mut client = scene.client().await;
            begin(scene, &mut client).await;
            client.run("SAVEPOINT a").await;
            client.run(INSERT).await;
            client.run("SAVEPOINT b").await;
            client.run("INSERT INTO d.t VALUES (2)").await;
            client.run("ROLLBACK TO SAVEPOINT b").await;
            assert_eq!(client.value(COUNT).await, "1");
            client.run("RELEASE SAVEPOINT a").await;
            client.run("COMMIT").await;
            assert_eq!(root.value("SELECT n FROM d.t").await, "1");
        };
        optimistic(setup).play(play).await;
    });
}

/// A session's transactions see its own writes, on a replica and on the primary.
#[test]
fn a_transaction_behind_a_write_reads_that_write() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            tables(scene).await;
            let mut client = scene.client().await;
            delay(scene, Duration::from_secs(3600));
            client.run(INSERT).await;
            client.run("BEGIN").await;
            assert_eq!(client.value(COUNT).await, "1");
            client.run("COMMIT").await;
            delay(scene, Duration::ZERO);
            pass(Duration::from_secs(2)).await;
            scene.ran();
            client.run("BEGIN").await;
            assert_eq!(client.value(COUNT).await, "1");
            client.run("COMMIT").await;
            assert!(!scene.places(COUNT).contains(&0), "they have it by now");
        };
        optimistic(setup)
            .set("balance.timeout_consistency", "\"1s\"")
            .play(play)
            .await;
    });
}

/// The client's session may end while its transaction is on a replica.
#[test]
fn a_client_that_disconnects_leaves_no_transaction_on_a_replica() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            tables(scene).await;
            let mut client = scene.client().await;
            let replica = begin(scene, &mut client).await;
            let running = client.start("SELECT SLEEP(600), v FROM d.seen");
            pass(Duration::from_secs(1)).await;
            running.leave().await;
            pass(Duration::from_secs(10)).await;
            let list = scene.root(replica).await.rows("SHOW PROCESSLIST").await;
            let sleeps = list
                .iter()
                .filter(|row| row.concat().contains("SLEEP(600)"));
            assert_eq!(sleeps.count(), 0, "{list:?}");
        };
        optimistic(setup).play(play).await;
    });
}
