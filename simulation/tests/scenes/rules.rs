//! Effects of rules on statements, as far as they do not depend on a real server.

use std::time::Duration;

use simulation::scene::{Scene, TestClient, on_both, pass, settle};
use tokio::time::Instant;

use crate::rule;

/// Returns an administrator that has created a table and locked it.
async fn locked(scene: &Scene) -> TestClient {
    let mut holder = scene.root(0).await;
    holder.run("CREATE TABLE d.t (n INT)").await;
    holder.run("LOCK TABLES d.t WRITE").await;
    holder
}

#[test]
fn answers_ask_no_backend() {
    on_both(async |setup| {
        let rules = [
            rule(
                "rows",
                "digest = \"SELECT * FROM nowhere\"\nanswer = \"rows\"\nanswer_columns = [\"one\"]\nanswer_rows = [[\"first\"]]",
            ),
            rule("ok", "regex = \"^optimize\"\nanswer = \"ok\""),
            rule(
                "error",
                "kind = [\"DELETE\"]\nanswer = \"error\"\nanswer_error = 1290\nanswer_message = \"closed for inventory\"",
            ),
            rule("refuse", "kind = \"TRUNCATE\"\nrefuse = \"not here\""),
        ];
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            scene.servers[0].freeze();
            assert_eq!(client.value("SELECT * FROM nowhere").await, "first");
            client.run("OPTIMIZE TABLE nowhere").await;
            assert_eq!(client.error("DELETE FROM d.t").await.number, 1290);
            let refused = client.error("TRUNCATE TABLE d.t").await;
            assert_eq!((refused.number, &*refused.text), (1227, "not here"));
            scene.servers[0].thaw();
            assert_eq!(client.value("SELECT 1").await, "1");
        };
        setup.tables(&rules.concat()).play(play).await;
    });
}

#[test]
fn a_statement_goes_where_a_rule_says() {
    on_both(async |setup| {
        let rules = [
            rule("there", "tag = \"there\"\nrole = \"replica\""),
            rule(
                "rewritten",
                "regex = \"^SELECT 'before'\"\nrewrite = \"SELECT 'after'\"",
            ),
        ];
        let setup = setup.replicas(1).set("routing.replicas", "\"primary\"");
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            assert_eq!(client.value("SELECT @@server_id").await, "1");
            assert_eq!(
                client.value("SELECT @@server_id /* tag: there */").await,
                "2"
            );
            assert_eq!(client.value("SELECT 'before'").await, "after");
        };
        setup.tables(&rules.concat()).play(play).await;
    });
}

#[test]
fn a_statement_that_takes_too_long_is_killed_and_one_may_be_delayed() {
    on_both(async |setup| {
        let rules = [
            rule("slow", "tag = \"slow\"\ntimeout = \"5s\""),
            rule("late", "tag = \"late\"\ndelay = \"30s\""),
        ];
        let play = async |scene: &Scene| {
            let _holder = locked(scene).await;
            let mut client = scene.client().await;
            let begun = Instant::now();
            let error = client.error("SELECT n FROM d.t /* tag: slow */").await;
            assert_eq!(error.number, 1317);
            assert_eq!(begun.elapsed().as_secs(), 5);
            let begun = Instant::now();
            client.value("SELECT 1 /* tag: late */").await;
            assert_eq!(begun.elapsed().as_secs(), 30);
        };
        setup.tables(&rules.concat()).play(play).await;
    });
}

#[test]
fn rule_refuses_statements_above_its_rate() {
    on_both(async |setup| {
        let rules = rule(
            "rate",
            "tag = \"rate\"\nrate = 0.01\nburst = 2\non_limit = \"refuse\"",
        );
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            for _ in 0..2 {
                client.run("SELECT 1 /* tag: rate */").await;
            }
            assert_eq!(client.error("SELECT 1 /* tag: rate */").await.number, 1226);
            pass(Duration::from_secs(101)).await;
            client.run("SELECT 1 /* tag: rate */").await;
            assert_eq!(client.error("SELECT 1 /* tag: rate */").await.number, 1226);
        };
        setup.tables(&rules).play(play).await;
    });
}

#[test]
fn rule_queues_or_refuses_statements_above_its_concurrency() {
    on_both(async |setup| {
        let rules = [
            rule(
                "one at a time",
                "tag = \"one\"\nconcurrency = 1\ntimeout_queue = \"60s\"",
            ),
            rule(
                "or not at all",
                "tag = \"only\"\nconcurrency = 1\non_limit = \"refuse\"",
            ),
        ];
        let play = async |scene: &Scene| {
            let mut holder = locked(scene).await;
            let first = scene
                .client()
                .await
                .start("SELECT COUNT(*) FROM d.t /* tag: one */");
            settle().await;
            let second = scene.client().await.start("SELECT 'second' /* tag: one */");
            let late = scene
                .client()
                .await
                .start("SELECT COUNT(*) FROM d.t /* tag: only */");
            settle().await;
            let mut third = scene.client().await;
            assert_eq!(third.error("SELECT 1 /* tag: only */").await.number, 1226);
            pass(Duration::from_secs(50)).await;
            assert!(!second.is_answered());
            holder.run("UNLOCK TABLES").await;
            assert_eq!(first.value().await.1, "0");
            assert_eq!(second.value().await.1, "second");
            assert_eq!(late.value().await.1, "0");
            assert_eq!(third.value("SELECT 1 /* tag: only */").await, "1");
        };
        setup.tables(&rules.concat()).play(play).await;
    });
}

#[test]
fn statement_that_waits_longer_than_timeout_queue_gets_error_1226() {
    on_both(async |setup| {
        let rules = rule(
            "one",
            "tag = \"one\"\nconcurrency = 1\ntimeout_queue = \"10s\"",
        );
        let play = async |scene: &Scene| {
            let mut holder = locked(scene).await;
            let first = scene
                .client()
                .await
                .start("SELECT COUNT(*) FROM d.t /* tag: one */");
            settle().await;
            let begun = Instant::now();
            let mut second = scene.client().await;
            assert_eq!(second.error("SELECT 1 /* tag: one */").await.number, 1226);
            assert_eq!(begun.elapsed().as_secs(), 10);
            holder.run("UNLOCK TABLES").await;
            assert_eq!(first.value().await.1, "0");
        };
        setup.tables(&rules).play(play).await;
    });
}

#[test]
fn a_rule_with_dry_run_only_counts_and_acts_after_a_reload() {
    on_both(async |setup| {
        let dry_run = rule("no", "kind = \"SELECT\"\nrefuse = \"no\"\ndry_run = true");
        let acting = rule("no", "kind = \"SELECT\"\nrefuse = \"no\"");
        let plain = setup.clone();
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            assert_eq!(client.value("SELECT 1").await, "1");
            scene.reload(|_| plain.tables(&acting));
            settle().await;
            // The new rule applies to a session that began before the reload.
            assert_eq!(client.error("SELECT 1").await.number, 1227);
        };
        setup.tables(&dry_run).play(play).await;
    });
}

/// If a reply is lost with its connection, the proxy repeats the read unless a rule forbids it.
#[test]
fn reads_are_sent_again_as_often_as_a_rule_says() {
    on_both(async |setup| {
        let rules = rule("once", "tag = \"once\"\nretry = 0");
        let play = async |scene: &Scene| {
            let mut holder = scene.root(0).await;
            holder.run("CREATE TABLE d.t (n INT)").await;
            for (statement, number) in [
                ("SELECT COUNT(*) FROM d.t", None),
                ("SELECT COUNT(*) FROM d.t /* tag: once */", Some(1158)),
            ] {
                holder.run("LOCK TABLES d.t WRITE").await;
                let running = scene.client().await.start(statement);
                settle().await;
                scene.hosts.reset(
                    simulation::world::proxies_host(),
                    simulation::world::server_address(0).ip(),
                );
                pass(Duration::from_secs(2)).await;
                holder.run("UNLOCK TABLES").await;
                match number {
                    None => assert_eq!(running.value().await.1, "0"),
                    Some(number) => assert_eq!(running.error().await.1.number, number),
                }
            }
        };
        setup.tables(&rules).play(play).await;
    });
}
