//! Two clusters: statements that a rule copies to the second cluster, and statements that a rule sends there.

use std::time::Duration;

use simulation::client::Reply;
use simulation::scene::{Scene, Setup, on_both, pass};

use crate::rule;

/// More statements than one session's queue for a cluster can hold.
const TOO_MANY: usize = 1100;

/// Sets up two servers without replication: server 0 is the cluster `main`, server 1 the cluster `side`.
fn two_clusters(setup: Setup) -> Setup {
    setup
        .primaries(2)
        .backend(0, "cluster = \"main\"")
        .backend(1, "cluster = \"side\"")
        .set("accounts.explain", "true")
}

fn mirrored(setup: Setup) -> Setup {
    two_clusters(setup).tables(&rule("copy", "tables = \"d.t\"\nmirror = \"side\""))
}

async fn tables(scene: &Scene) {
    for server in 0..2 {
        let mut root = scene.root(server).await;
        root.run("CREATE TABLE d.t (n INT PRIMARY KEY)").await;
    }
}

#[test]
fn copies_come_in_order_and_no_client_waits_for_them() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            tables(scene).await;
            let mut client = scene.client().await;
            let insert = client.prepare("INSERT INTO d.t VALUES (?)").await;
            scene.ran();
            scene.servers[1].freeze();
            let mut expected = Vec::new();
            for n in 0..10 {
                let text = format!("INSERT INTO d.t VALUES ({n})");
                client.run(&text).await;
                expected.push(text);
            }
            for n in 10..15 {
                client.execute(insert, &[n]).await;
                expected.push("INSERT INTO d.t VALUES (?)".to_owned());
            }
            client.run("SELECT 'of no table'").await;
            scene.servers[1].thaw();
            pass(Duration::from_secs(5)).await;
            let texts = scene.texts(1);
            let copies: Vec<_> = texts.iter().filter(|it| it.contains("d.t")).collect();
            assert_eq!(copies, expected.iter().collect::<Vec<_>>());
            assert!(!texts.iter().any(|text| text.contains("no table")));
            let count = "SELECT COUNT(*) FROM d.t WHERE n < 15";
            assert_eq!(scene.root(1).await.value(count).await, "15");
        };
        mirrored(setup).play(play).await;
    });
}

#[test]
fn failed_mirror_copy_does_not_fail_the_clients_statement() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            tables(scene).await;
            scene.root(1).await.run("DROP TABLE d.t").await;
            let mut client = scene.client().await;
            for n in 0..3 {
                let reply = client.run(&format!("INSERT INTO d.t VALUES ({n})")).await;
                assert!(matches!(reply, Reply::Done(ok) if ok.affected_rows == 1));
            }
            scene.servers[1].crash();
            pass(Duration::from_secs(1)).await;
            client.run("INSERT INTO d.t VALUES (3)").await;
            assert_eq!(client.value("SELECT COUNT(*) FROM d.t").await, "4");
        };
        mirrored(setup).play(play).await;
    });
}

#[test]
fn mirror_copies_that_exceed_the_queue_are_dropped_and_counted() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            tables(scene).await;
            let mut client = scene.client().await;
            scene.servers[1].freeze();
            for _ in 0..TOO_MANY {
                client.run("DELETE FROM d.t WHERE n = 1").await;
            }
            let rows = client.rows("EXPLAIN RULES").await;
            let dropped: usize = rows[0][6].parse().unwrap();
            assert!((1..TOO_MANY).contains(&dropped), "{rows:?}");
            scene.servers[1].thaw();
        };
        mirrored(setup).play(play).await;
    });
}

#[test]
fn a_rule_sends_a_statement_to_another_cluster_with_the_sessions_state() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            tables(scene).await;
            let mut client = scene.client().await;
            client.run("SET @kept = 'mine'").await;
            client.run("USE d").await;
            scene.ran();
            let aside = "SELECT CONCAT(@kept, DATABASE()) /* tag: side */";
            assert_eq!(client.value(aside).await, "mined");
            assert_eq!(scene.places("CONCAT"), [1]);
            client.run("SELECT CONCAT('at home')").await;
            assert_eq!(scene.places("CONCAT"), [0]);
            // A transaction that begins on its own cluster stays there.
            client.run("BEGIN").await;
            client.run(aside).await;
            client.run("COMMIT").await;
            assert_eq!(scene.places("CONCAT"), [0]);
        };
        two_clusters(setup)
            .tables(&rule("aside", "tag = \"side\"\nrouting.cluster = \"side\""))
            .play(play)
            .await;
    });
}
