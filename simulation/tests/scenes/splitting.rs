//! Reads go to replicas, and other statements to the primary. A session sees its own writes.

use std::time::Duration;

use simulation::scene::{Scene, Setup, TestClient, on_both, pass, settle};
use tokio::time::Instant;

use crate::rule;

const WRITE: &str = "INSERT INTO d.t VALUES (1)";
const COUNT: &str = "SELECT COUNT(*) FROM d.t";

/// The lag of replicas in some of these scenes.
const HOUR: Duration = Duration::from_secs(3600);

fn split(setup: Setup) -> Setup {
    setup
        .replicas(2)
        .backend(1, "name = \"one\"")
        .backend(2, "name = \"two\"")
        .set("balance.timeout_consistency", "\"20s\"")
}

/// Creates a table, and waits until the replicas have it.
async fn table(scene: &Scene) -> TestClient {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT)").await;
    pass(Duration::from_secs(2)).await;
    root
}

/// Delays the replicas by `by` from now on.
fn delay(scene: &Scene, by: Duration) {
    for replica in &scene.servers[1..] {
        replica.follow(Some(&scene.servers[0]), by);
    }
}

#[test]
fn reads_go_to_replicas_and_all_else_to_the_primary() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            for (before, statement, goes_to_replica) in [
                ("DO 1", COUNT, true),
                ("DO 1", WRITE, false),
                ("DO 1", "SELECT n FROM d.t FOR UPDATE", false),
                ("DO 1", "SELECT @@server_id", false),
                ("BEGIN", COUNT, false),
                ("START TRANSACTION READ ONLY", COUNT, true),
                ("SET autocommit = 0", COUNT, false),
                ("CREATE TEMPORARY TABLE d.own (n INT)", COUNT, false),
            ] {
                client.run(before).await;
                scene.ran();
                client.run(statement).await;
                let places = scene.places(statement);
                assert_eq!(places.len(), 1, "{before}; {statement}");
                assert_eq!(places[0] > 0, goes_to_replica, "{before}; {statement}");
                client.run("ROLLBACK").await;
                client.run("SET autocommit = 1").await;
            }
        };
        split(setup).play(play).await;
    });
}

#[test]
fn a_read_waits_for_a_replica_that_catches_up_in_time() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            delay(scene, Duration::from_secs(5));
            let mut client = scene.client().await;
            client.run(WRITE).await;
            scene.ran();
            let begun = Instant::now();
            assert_eq!(client.value(COUNT).await, "1");
            assert!((4..=6).contains(&begun.elapsed().as_secs()));
            assert!(!scene.places(COUNT).contains(&0));
        };
        split(setup).play(play).await;
    });
}

#[test]
fn a_read_that_waits_in_vain_goes_to_the_primary() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let (mut client, mut other) = (scene.client().await, scene.client().await);
            delay(scene, HOUR);
            client.run(WRITE).await;
            assert_eq!(client.value(COUNT).await, "1");
            assert_eq!(scene.places(COUNT).pop(), Some(0));
            // The other session has written nothing, so it reads on a replica that lags.
            assert_eq!(other.value(COUNT).await, "0");
            client.run("BEGIN").await;
            client.run(WRITE).await;
            client.run("COMMIT").await;
            assert_eq!(client.value(COUNT).await, "2");
            pass(2 * HOUR / 3).await;
            delay(scene, Duration::ZERO);
            pass(Duration::from_secs(5)).await;
            scene.ran();
            assert_eq!(client.value(COUNT).await, "2");
            assert!(!scene.places(COUNT).contains(&0), "they have it by now");
        };
        split(setup)
            .set("balance.timeout_consistency", "\"2s\"")
            .play(play)
            .await;
    });
}

/// If the wait for a replica fails, the read that ran behind it must not change this session or the next one.
#[test]
fn read_behind_a_failed_replica_wait_sets_no_user_variable_in_any_session() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            delay(scene, HOUR);
            let (mut client, mut other) = (scene.client().await, scene.client().await);
            for turn in ["1", "2"] {
                client.run(WRITE).await;
                let read = "SELECT @leak := COUNT(*) FROM d.t /* pilotfish: backend=one */";
                assert_eq!(client.value(read).await, turn);
                assert_eq!(client.value("SELECT @leak").await, turn);
                assert_eq!(other.value("SELECT @leak").await, "NULL");
            }
        };
        split(setup)
            .set("balance.timeout_consistency", "\"2s\"")
            // The monitor looks too rarely to report the lag.
            .set("health.replication_interval", "\"30s\"")
            .set("hints.accepted", "[\"pilotfish\"]")
            .set("pool.backend_connections_max", "1")
            .play(play)
            .await;
    });
}

#[test]
fn all_sessions_see_what_one_has_written_if_consistency_is_global() {
    on_both(async |setup| {
        for (consistency, seen) in [("\"session\"", "0"), ("\"global\"", "1")] {
            let play = async |scene: &Scene| {
                table(scene).await;
                let (mut client, mut other) = (scene.client().await, scene.client().await);
                other.run("DO 1").await;
                delay(scene, Duration::from_secs(5));
                client.run(WRITE).await;
                assert_eq!(other.value(COUNT).await, seen, "{consistency}");
            };
            split(setup.clone())
                .set("routing.consistency", consistency)
                .play(play)
                .await;
        }
    });
}

#[test]
fn a_write_is_seen_by_whoever_is_given_its_gtid() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            delay(scene, Duration::from_secs(5));
            scene.client().await.run(WRITE).await;
            let gtid = scene.servers[0].executed();
            let mut client = scene.client().await;
            assert_eq!(client.value(COUNT).await, "0");
            let hinted = format!("{COUNT} /* pilotfish: gtid={gtid} */");
            assert_eq!(client.value(&hinted).await, "1");
        };
        split(setup)
            .set("hints.accepted", "[\"pilotfish\"]")
            .play(play)
            .await;
    });
}

#[test]
fn a_client_that_disconnects_while_its_read_waits_for_a_replica_is_noticed() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            delay(scene, HOUR);
            let mut client = scene.client().await;
            client.run(WRITE).await;
            let reading = client.start(COUNT);
            pass(Duration::from_secs(1)).await;
            let waits = async || {
                let mut count = 0;
                for server in 1..3 {
                    let list = scene.root(server).await.rows("SHOW PROCESSLIST").await;
                    let waits = list.iter().filter(|row| row.concat().contains("GTID"));
                    count += waits.count();
                }
                count
            };
            assert_eq!(waits().await, 1);
            reading.leave().await;
            pass(Duration::from_secs(10)).await;
            assert_eq!(waits().await, 0);
        };
        split(setup)
            .set("balance.timeout_consistency", "\"1m\"")
            .play(play)
            .await;
    });
}

#[test]
fn read_is_sent_to_the_primary_after_its_replica_crashes() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            for _ in 0..2 {
                scene.ran();
                scene.crash_at(COUNT);
                assert_eq!(client.value(COUNT).await, "0");
                let places = scene.places(COUNT);
                assert!(
                    places.len() == 2 && places[0] > 0 && places[1] == 0,
                    "{places:?}"
                );
            }
            for _ in 0..5 {
                assert_eq!(client.value(COUNT).await, "0");
            }
        };
        split(setup).play(play).await;
    });
}

#[test]
fn read_without_replicas_fails_at_once_if_fallback_is_error() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            client.run(COUNT).await;
            scene.servers[1].crash();
            scene.servers[2].crash();
            pass(Duration::from_secs(5)).await;
            let begun = Instant::now();
            for _ in 0..3 {
                assert_eq!(client.error(COUNT).await.number, 1429);
            }
            assert!(begun.elapsed().as_secs() < 5);
            client.run(WRITE).await;
            client.run(&format!("{COUNT} FOR UPDATE")).await;
        };
        split(setup)
            .set("balance.fallback", "\"error\"")
            .set("balance.timeout_backend_wait", "\"30m\"")
            .play(play)
            .await;
    });
}

#[test]
fn hints_and_rules_say_where_a_statement_goes() {
    on_both(async |setup| {
        let rules = [
            rule(
                "reports",
                "tag = \"report\"\nrouting.replicas = \"replica\"",
            ),
            rule("there", "tag = \"there\"\nbackend = \"two\""),
        ];
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            for (words, places) in [
                ("", &[0][..]),
                ("pilotfish: replica", &[1, 2]),
                ("pilotfish: backend=one", &[1]),
                ("pilotfish: primary", &[0]),
                (";hostgroup=1", &[0]),
                ("tag: report", &[1, 2]),
                ("tag: there", &[2]),
            ] {
                scene.ran();
                client.run(&format!("{COUNT} /* {words} */")).await;
                let ran = scene.places(COUNT);
                assert!(
                    ran.len() == 1 && places.contains(&ran[0]),
                    "{words}: {ran:?}"
                );
            }
            let nowhere = format!("{COUNT} /* pilotfish: cluster=nowhere */");
            assert_eq!(client.error(&nowhere).await.number, 1105);
            // A transaction stays on its backend.
            client.run("BEGIN").await;
            client.run(COUNT).await;
            client.run(&format!("{COUNT} /* tag: report */")).await;
            assert_eq!(scene.places(COUNT), [0, 0]);
            client.run("COMMIT").await;
        };
        split(setup)
            .set("routing.replicas", "\"primary\"")
            .set("hints.accepted", "[\"pilotfish\"]")
            .set("hints.hostgroups", "[\"1: replica\"]")
            .tables(&rules.concat())
            .play(play)
            .await;
    });
}

#[test]
fn prepared_statements_are_routed_when_they_are_executed() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            let statement = client.prepare(COUNT).await;
            client.execute(statement, &[]).await;
            let places = scene.places(COUNT);
            assert!(places == [1] || places == [2], "{places:?}");
            client.run("BEGIN").await;
            client.execute(statement, &[]).await;
            assert_eq!(scene.places(COUNT), [0]);
            client.run("COMMIT").await;
        };
        split(setup).play(play).await;
    });
}

#[test]
fn session_keeps_a_writes_warnings_while_other_sessions_read_on_its_replica() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let (mut client, mut other) = (scene.client().await, scene.client().await);
            for _ in 0..4 {
                client.run(COUNT).await;
            }
            client.run("DROP TABLE IF EXISTS d.nobody").await;
            for _ in 0..8 {
                other.run(COUNT).await;
            }
            settle().await;
            let warnings = client.rows("SHOW WARNINGS").await;
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert_eq!(warnings[0][1], "1051");
        };
        split(setup)
            .set("pool.backend_connections_max", "1")
            .play(play)
            .await;
    });
}
