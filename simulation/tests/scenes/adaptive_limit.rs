//! The adaptive limit of statements that run at once on a server. A transaction waits before it begins, and not later.

use std::time::Duration;

use route::KillScope;
use simulation::scene::{Running, Scene, Setup, TestClient, on_both, pass, settle};

const READ: &str = "SELECT n FROM d.held";

fn limited(setup: Setup, limit: u32, counts_for: &str) -> Setup {
    setup
        .set("pool.timeout_wait", "\"60s\"")
        .set("pool.adaptive_limit_min", &limit.to_string())
        .set("pool.adaptive_limit_max", &limit.to_string())
        .set(
            "pool.adaptive_limit_counts_for",
            &format!("\"{counts_for}\""),
        )
}

/// Starts `count` clients whose statements run until the returned administrator unlocks the table.
async fn running(scene: &Scene, count: usize) -> (TestClient, Vec<Running>) {
    let mut holder = scene.root(0).await;
    holder.run("CREATE TABLE d.held (n INT PRIMARY KEY)").await;
    holder.run("CREATE TABLE d.free (n INT PRIMARY KEY)").await;
    holder.run("INSERT INTO d.held VALUES (7)").await;
    holder.run("LOCK TABLES d.held WRITE").await;
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(scene.client().await.start(READ));
    }
    settle().await;
    (holder, all)
}

#[test]
fn adaptive_limit_delays_new_statements_but_not_open_transactions() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut inside = scene.client().await;
            let (mut holder, mut clients) = running(scene, 1).await;
            inside.run("BEGIN").await;
            inside.run("INSERT INTO d.free VALUES (1)").await;
            clients.push(scene.client().await.start(READ));
            settle().await;
            let third = scene.client().await.start("SELECT 3");
            let killed = scene.client().await.start("SELECT 4");
            let leaving = scene.client().await.start("SELECT 5");
            settle().await;
            assert!(!third.is_answered() && !killed.is_answered());
            // The limit does not delay statements of a transaction that has begun.
            assert_eq!(inside.value("SELECT COUNT(*) FROM d.free").await, "1");
            inside.run("COMMIT").await;
            leaving.leave().await;
            scene.proxy.kill(killed.session, KillScope::Statement).await;
            let (mut killed, error) = killed.error().await;
            assert_eq!(error.number, 1317);
            assert!(!third.is_answered());
            holder.run("UNLOCK TABLES").await;
            for client in clients {
                assert_eq!(client.value().await.1, "7");
            }
            assert_eq!(third.value().await.1, "3");
            assert_eq!(killed.value("SELECT 6").await, "6");
        };
        limited(setup, 2, "1h").play(play).await;
    });
}

#[test]
fn adaptive_limit_delays_first_statement_after_deferred_begin() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut late = scene.client().await;
            // From now on the proxy knows the server's global variables, so it answers a BEGIN.
            late.run("SELECT 1").await;
            let (mut holder, clients) = running(scene, 1).await;
            late.run("BEGIN").await;
            let first = late.start("SELECT COUNT(*) FROM d.free");
            settle().await;
            assert!(!first.is_answered());
            holder.run("UNLOCK TABLES").await;
            let (mut late, count) = first.value().await;
            assert_eq!(count, "0");
            late.run("COMMIT").await;
            for client in clients {
                assert_eq!(client.value().await.1, "7");
            }
        };
        limited(setup, 1, "1h").play(play).await;
    });
}

#[test]
fn adaptive_limit_does_not_count_statements_older_than_its_threshold() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let (mut holder, clients) = running(scene, 5).await;
            let other = scene.client().await.start("SELECT 1");
            settle().await;
            assert!(!other.is_answered());
            // Each statement of the table has run for more than 100 ms, so the limit does not count it any more.
            pass(Duration::from_secs(1)).await;
            assert_eq!(other.value().await.1, "1");
            holder.run("UNLOCK TABLES").await;
            for client in clients {
                assert_eq!(client.value().await.1, "7");
            }
        };
        limited(setup, 1, "100ms").play(play).await;
    });
}

#[test]
fn statement_that_waits_too_long_for_adaptive_limit_gets_error_1040() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let (mut holder, clients) = running(scene, 1).await;
            let late = scene.client().await.start("SELECT 2");
            pass(Duration::from_secs(59)).await;
            assert!(!late.is_answered());
            let (mut late, error) = late.error().await;
            assert_eq!((error.number, &*error.state), (1040, "08004"));
            for word in [
                "pool.adaptive_limit",
                "pool.timeout_wait",
                "nothing was executed",
            ] {
                assert!(error.text.contains(word), "no {word} in: {error:?}");
            }
            holder.run("UNLOCK TABLES").await;
            for client in clients {
                assert_eq!(client.value().await.1, "7");
            }
            assert_eq!(late.value("SELECT 2").await, "2");
        };
        limited(setup, 1, "1h").play(play).await;
    });
}

#[test]
fn the_adaptive_limit_is_changed_and_switched_off_while_statements_wait() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let (mut holder, mut clients) = running(scene, 1).await;
            let next = scene.client().await.start("SELECT 2");
            settle().await;
            assert!(!next.is_answered());
            scene.reload(|setup| limited(setup, 2, "1h"));
            let (mut next, value) = next.value().await;
            assert_eq!(value, "2");
            clients.push(scene.client().await.start(READ));
            settle().await;
            let more = scene.client().await.start("SELECT 3");
            settle().await;
            assert!(!more.is_answered());
            scene.reload(|setup| setup.set("pool.adaptive_limit", "false"));
            assert_eq!(more.value().await.1, "3");
            assert_eq!(next.value("SELECT 4").await, "4");
            holder.run("UNLOCK TABLES").await;
            for client in clients {
                assert_eq!(client.value().await.1, "7");
            }
        };
        limited(setup, 1, "1h").play(play).await;
    });
}
