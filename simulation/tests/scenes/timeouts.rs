//! Time limits of sessions and of the proxy's stop, and idle pooled connections that a server closes.

use std::rc::Rc;
use std::time::Duration;

use simulation::client::NotIn;
use simulation::scene::{Scene, on_both, pass, settle};
use tokio::task::spawn_local;
use tokio::time::Instant;

/// A wait that is longer than every timeout after which a client's session ends.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_session_without_a_connection_ends_by_its_own_wait_timeout() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut idle = scene.client().await;
            let mut reset = scene.client().await;
            let mut patient = scene.client().await;
            let mut talking = scene.client().await;
            idle.run("SET wait_timeout = 6").await;
            reset.run("SET wait_timeout = 6").await;
            reset.command(wire::Command::RESET_CONNECTION, b"").await;
            patient.run("SET wait_timeout = 600").await;
            // Another session has the connection, and keeps sending statements.
            talking.run("SET wait_timeout = 6").await;
            for _ in 0..20 {
                pass(Duration::from_secs(3)).await;
                assert_eq!(talking.value("SELECT @@wait_timeout").await, "6");
            }
            assert!(idle.is_ended().await);
            assert_eq!(patient.value("SELECT @@wait_timeout").await, "600");
            assert_ne!(reset.value("SELECT @@wait_timeout").await, "6");
        };
        setup
            .set("pool.backend_connections_max", "1")
            .play(play)
            .await;
    });
}

#[test]
fn a_session_that_waits_for_a_connection_is_not_idle() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let (mut waiting, mut holding) = (scene.client().await, scene.client().await);
            waiting.run("SET wait_timeout = 6").await;
            holding.run("BEGIN").await;
            holding.run("SELECT 1").await;
            let waiting = waiting.start("SELECT 'waited'");
            pass(Duration::from_secs(30)).await;
            holding.run("COMMIT").await;
            let (mut waiting, value) = waiting.value().await;
            assert_eq!(value, "waited");
            assert_eq!(waiting.value("SELECT 'again'").await, "again");
        };
        setup
            .set("pool.backend_connections_max", "1")
            .set("pool.timeout_wait", "\"60s\"")
            .play(play)
            .await;
    });
}

#[test]
fn an_idle_session_ends_and_one_whose_statement_runs_does_not() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut idle = scene.client().await;
            idle.run("SELECT 1").await;
            let running = scene.client().await.start("SELECT SLEEP(60)");
            pass(LONG + Duration::from_secs(1)).await;
            assert!(idle.is_ended().await);
            let (mut client, value) = running.value().await;
            assert_eq!(value, "0");
            client.run("SELECT 'it goes on'").await;
        };
        setup.set("limits.timeout_idle", "\"10s\"").play(play).await;
    });
}

#[test]
fn a_pooled_connection_that_its_server_closes_costs_no_statement() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            scene.root(0).await.run("SET GLOBAL wait_timeout = 5").await;
            pass(Duration::from_secs(2)).await;
            let (mut client, mut other) = (scene.client().await, scene.client().await);
            client.run("SET wait_timeout = 1000").await;
            for turn in 0..3 {
                // This statement sets the connection's wait_timeout to that of `other`.
                other.run("SELECT 'other'").await;
                scene.ran();
                pass(Duration::from_secs(4)).await;
                other.command(wire::Command::PING, b"").await;
                pass(Duration::from_secs(4)).await;
                other.command(wire::Command::PING, b"").await;
                let value = client.value("SELECT 'mine'").await;
                assert_eq!(value, "mine", "{turn}");
                let ran = scene.ran();
                let mine = ran.iter().filter(|ran| ran.text == "SELECT 'mine'");
                assert_eq!(mine.count(), 1, "{ran:?}");
            }
        };
        setup
            .set("pool.backend_connections_max", "1")
            .set("pool.ping_interval", "\"1h\"")
            .play(play)
            .await;
    });
}

/// Stops the proxy as SIGTERM does. The task returns how many sessions it had to end.
fn stop(scene: &Scene, limit: u64) -> tokio::task::JoinHandle<usize> {
    let proxy = Rc::clone(&scene.proxy);
    spawn_local(async move { proxy.drain(Duration::from_secs(limit)).await })
}

#[test]
fn a_stop_waits_for_statements_and_transactions_and_takes_no_more_clients() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = scene.root(0).await;
            root.run("CREATE TABLE d.t (n INT)").await;
            let running = scene.client().await.start("SELECT SLEEP(10)");
            let mut open = scene.client().await;
            open.run("BEGIN").await;
            open.run("INSERT INTO d.t VALUES (1)").await;
            let mut idle = scene.client().await;
            idle.run("SELECT 1").await;
            let stopping = stop(scene, 60);
            settle().await;
            assert!(idle.is_ended().await);
            assert!(matches!(
                scene.another().await.err(),
                Some(NotIn::Broken(_) | NotIn::Refused(_))
            ));
            open.run("SELECT 'still there'").await;
            open.run("COMMIT").await;
            assert_eq!(running.value().await.1, "0");
            assert_eq!(stopping.await.unwrap(), 0);
            assert_eq!(root.value("SELECT COUNT(*) FROM d.t").await, "1");
        };
        setup.play(play).await;
    });
}

#[test]
fn a_stop_ends_statements_that_take_too_long() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let running = scene.client().await.start("SELECT SLEEP(1000)");
            settle().await;
            let begun = Instant::now();
            let stopping = stop(scene, 20);
            let (_, error) = running.error().await;
            assert_eq!(error.number, 1053);
            assert!((19..23).contains(&begun.elapsed().as_secs()));
            assert_eq!(stopping.await.unwrap(), 1);
        };
        setup.play(play).await;
    });
}
