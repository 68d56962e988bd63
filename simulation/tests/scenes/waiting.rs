//! The queue for connections: its order, its limits of length and time, and its error.

use std::time::Duration;

use simulation::scene::{Running, Scene, on_both, pass, settle};

/// Starts clients that wait while another client holds the only connection.
async fn queue(scene: &Scene, statements: &[String]) -> Vec<Running> {
    let mut all = Vec::new();
    for statement in statements {
        all.push(scene.client().await.start(statement));
        settle().await;
    }
    all
}

fn same(statement: &str, count: usize) -> Vec<String> {
    vec![statement.to_owned(); count]
}

#[test]
fn waiting_for_a_pinned_connection_ends_with_a_clear_error() {
    on_both(async |setup| {
        let setup = setup
            .set("pool.backend_connections_max", "1")
            .set("pool.timeout_wait", "\"60s\"");
        let play = async |scene: &Scene| {
            let (mut one, two) = (scene.client().await, scene.client().await);
            one.run("CREATE TEMPORARY TABLE d.tt (n INT)").await;
            let waits = two.start("SELECT 1");
            pass(Duration::from_secs(59)).await;
            assert!(!waits.is_answered());
            let (mut two, error) = waits.error().await;
            assert_eq!((error.number, &*error.state), (1040, "08004"));
            for word in ["10.0.0.1:3306", "pool.timeout_wait", "60s"] {
                assert!(error.text.contains(word), "no {word} in: {error:?}");
            }
            one.run("DROP TEMPORARY TABLE d.tt").await;
            assert_eq!(two.value("SELECT 1").await, "1");
        };
        setup.play(play).await;
    });
}

#[test]
fn clients_that_wait_are_served_in_order() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = scene.root(0).await;
            root.run("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, n INT)")
                .await;
            let mut first = scene.client().await;
            first.run("BEGIN").await;
            first.run("SELECT n FROM d.t").await;
            let inserts: Vec<_> = (0..8)
                .map(|n| format!("INSERT INTO d.t (n) VALUES ({n})"))
                .collect();
            let clients = queue(scene, &inserts).await;
            assert!(clients.iter().all(|client| !client.is_answered()));
            first.run("COMMIT").await;
            for client in clients {
                client.reply().await;
            }
            for n in 0..8 {
                let sql = format!("SELECT n FROM d.t WHERE id = {}", n + 1);
                assert_eq!(root.value(&sql).await, n.to_string());
            }
        };
        setup
            .set("pool.backend_connections_max", "1")
            .play(play)
            .await;
    });
}

#[test]
fn only_so_many_may_wait() {
    on_both(async |setup| {
        let setup = setup
            .set("pool.backend_connections_max", "1")
            .set("pool.waiters_max", "2");
        let play = async |scene: &Scene| {
            let mut first = scene.client().await;
            first.run("CREATE TEMPORARY TABLE d.tt (n INT)").await;
            let mut clients = queue(scene, &same("SELECT 'waited'", 3)).await;
            let (_, error) = clients.remove(2).error().await;
            assert_eq!(error.number, 1040, "{error:?}");
            assert!(error.text.contains("pool.waiters_max"), "{error:?}");
            first.quit().await;
            for client in clients {
                assert_eq!(client.value().await.1, "waited");
            }
        };
        setup.play(play).await;
    });
}

#[test]
fn queue_skips_a_waiting_client_that_disconnects() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut first = scene.client().await;
            first.run("CREATE TEMPORARY TABLE d.tt (n INT)").await;
            let mut clients = queue(scene, &same("SELECT 'waited'", 3)).await;
            clients.remove(1).leave().await;
            first.quit().await;
            for client in clients {
                assert_eq!(client.value().await.1, "waited");
            }
        };
        setup
            .set("pool.backend_connections_max", "1")
            .play(play)
            .await;
    });
}

/// A statement that waits for a connection or for a rule's delay has reached no server. KILL ends it at once, and the
/// proxy never sends it.
#[test]
fn a_client_that_is_killed_while_it_waits_is_answered_at_once() {
    on_both(async |setup| {
        let setup = setup
            .set("pool.backend_connections_max", "1")
            .set("pool.timeout_wait", "\"60s\"")
            .tables("[[rule]]\nname = \"late\"\ntag = \"late\"\ndelay = \"60s\"");
        let play = async |scene: &Scene| {
            let mut root = scene.root(0).await;
            root.run("CREATE TABLE d.t (n INT)").await;
            let (mut holder, mut killer) = (scene.client().await, scene.client().await);
            holder.run("CREATE TEMPORARY TABLE d.tt (n INT)").await;
            for sql in [
                "INSERT INTO d.t VALUES (1)",
                "INSERT INTO d.t VALUES (1) /* tag: late */",
            ] {
                let victim = scene.client().await.start(sql);
                settle().await;
                killer.run(&format!("KILL QUERY {}", victim.session)).await;
                let begun = tokio::time::Instant::now();
                let (_, error) = victim.error().await;
                assert_eq!((error.number, &*error.state), (1317, "70100"));
                assert!(begun.elapsed() < Duration::from_secs(1));
            }
            holder.quit().await;
            pass(Duration::from_secs(120)).await;
            assert_eq!(root.value("SELECT COUNT(*) FROM d.t").await, "0");
        };
        setup.play(play).await;
    });
}
