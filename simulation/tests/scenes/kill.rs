//! KILL through the proxy ends the named session's statement, and never another session's.

use simulation::scene::{Scene, on_both, settle};

#[test]
fn kill_query_ends_the_right_statement() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut killer = scene.client().await;
            let [victim, neighbour] = [scene.client().await, scene.client().await];
            let victim = victim.start("SELECT 'victim', SLEEP(60)");
            let neighbour = neighbour.start("SELECT SLEEP(30)");
            settle().await;
            killer.run(&format!("KILL QUERY {}", victim.session)).await;
            settle().await;
            assert!(victim.is_answered() && !neighbour.is_answered());
            let (mut victim, _) = victim.reply().await;
            assert_eq!(victim.value("SELECT 'alive'").await, "alive");
            assert_eq!(neighbour.value().await.1, "0");
        };
        setup.play(play).await;
    });
}

#[test]
fn kill_ends_the_right_session() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut killer = scene.client().await;
            let mut idle = scene.client().await;
            let mut neighbour = scene.client().await;
            idle.run("SELECT 1").await;
            killer.run(&format!("KILL {}", idle.id())).await;
            settle().await;
            assert!(idle.query("SELECT 1").await.is_err() || idle.is_ended().await);
            assert_eq!(neighbour.value("SELECT 2").await, "2");
            let unknown = killer.error("KILL 999999").await;
            assert_eq!(unknown.number, 1094);
        };
        setup
            .set("pool.backend_connections_max", "1")
            .play(play)
            .await;
    });
}

/// Another session uses the connection that the idle session used before.
#[test]
fn an_idle_session_is_killed_without_harm_to_others() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut holder = scene.root(0).await;
            holder.run("CREATE TABLE d.t (n INT)").await;
            holder.run("LOCK TABLES d.t WRITE").await;
            let (mut idle, mut killer) = (scene.client().await, scene.client().await);
            idle.run("SELECT 1").await;
            let other = scene.client().await.start("SELECT COUNT(*) FROM d.t");
            settle().await;
            for kill in ["KILL QUERY", "KILL"] {
                // MySQL and MariaDB differ in the reply to KILL of an idle session, so the test ignores it.
                let _ = killer.query(&format!("{kill} {}", idle.id())).await;
            }
            settle().await;
            assert!(!other.is_answered());
            holder.run("UNLOCK TABLES").await;
            let (mut other, count) = other.value().await;
            assert_eq!(count, "0");
            assert_eq!(other.value("SELECT 2").await, "2");
        };
        setup
            .set("pool.backend_connections_max", "1")
            .play(play)
            .await;
    });
}

#[test]
fn a_killed_transaction_is_rolled_back() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = scene.root(0).await;
            root.run("CREATE TABLE d.t (n INT PRIMARY KEY)").await;
            let (mut victim, mut killer) = (scene.client().await, scene.client().await);
            victim.run("BEGIN").await;
            victim.run("INSERT INTO d.t VALUES (1)").await;
            killer.run(&format!("KILL {}", victim.id())).await;
            settle().await;
            // The row's lock is free.
            root.run("INSERT INTO d.t VALUES (1)").await;
            assert_eq!(root.value("SELECT COUNT(*) FROM d.t").await, "1");
        };
        setup.play(play).await;
    });
}

#[test]
fn proxy_ends_the_statement_of_a_client_that_disconnects() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = scene.root(0).await;
            root.run("CREATE TABLE d.t (n INT)").await;
            let leaving = scene.client().await.start("SELECT SLEEP(3000)");
            settle().await;
            let busy = scene.servers[0].connections();
            leaving.leave().await;
            simulation::scene::pass(std::time::Duration::from_secs(30)).await;
            assert!(scene.servers[0].connections() < busy + 1);
            assert_eq!(scene.proxy.sessions(), 0);
        };
        setup.play(play).await;
    });
}
