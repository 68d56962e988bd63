//! Idle transactions and pins of one account leave connections for other accounts.

use std::time::Duration;

use simulation::client::{Reply, ServerError};
use simulation::scene::{APP, OTHER, Scene, Setup, TestClient, on_both, pass};

/// The idle time after which a session may have to give up its connection.
const IDLE: Duration = Duration::from_secs(5);

fn shared(setup: Setup, connections_max: usize) -> Setup {
    setup
        .set("pool.backend_connections_max", &connections_max.to_string())
        .set("pool.timeout_wait", "\"60s\"")
}

async fn clients(scene: &Scene, user: &str, count: usize) -> Vec<TestClient> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(scene.client_of(user).await);
    }
    all
}

async fn table(scene: &Scene) {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT PRIMARY KEY)").await;
    root.quit().await;
}

/// Returns clients of the other account. Each keeps a connection.
async fn others(scene: &Scene, count: usize) -> Vec<TestClient> {
    let mut all = clients(scene, OTHER, count).await;
    for client in &mut all {
        client.run("BEGIN").await;
        assert_eq!(client.value("SELECT COUNT(*) FROM d.t").await, "0");
    }
    all
}

/// Runs a statement on each client, and returns the errors with the clients' numbers.
async fn errors(clients: &mut [TestClient], statement: &str) -> Vec<(usize, ServerError)> {
    let mut errors = Vec::new();
    for (number, client) in clients.iter_mut().enumerate() {
        match client.query(statement).await {
            Ok(Reply::Error(error)) => errors.push((number, error)),
            Ok(_) => {}
            Err(broken) => panic!("{number}: {broken:?}"),
        }
    }
    errors
}

/// The first account is alone, so it holds all connections when a session of another account comes. From then on its
/// idle sessions may keep four fifths of the connections at most.
#[test]
fn accounts_idle_transactions_are_ended_above_account_kept_percent_max() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut greedy = clients(scene, APP, 20).await;
            for (n, client) in greedy.iter_mut().enumerate() {
                client.run("BEGIN").await;
                client.run(&format!("INSERT INTO d.t VALUES ({n})")).await;
            }
            pass(IDLE).await;
            let mut modest = scene.client_of(OTHER).await;
            assert_eq!(modest.value("SELECT 1").await, "1");
            pass(IDLE).await;
            let more = others(scene, 3).await;
            let ended = errors(&mut greedy, "COMMIT").await;
            assert_eq!(ended.len(), 4, "{ended:?}");
            for (number, error) in ended {
                assert_eq!(error.number, 4031, "{error:?}");
                assert!(error.text.contains("account_kept_percent_max"), "{error:?}");
                // The session goes on without its transaction.
                assert_eq!(greedy[number].value("SELECT 1").await, "1");
            }
            assert_eq!(modest.value("SELECT COUNT(*) FROM d.t").await, "16");
            drop(more);
        };
        shared(setup, 20).play(play).await;
    });
}

#[test]
fn session_with_temporary_table_ends_if_its_account_keeps_too_many_connections() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut greedy = clients(scene, APP, 10).await;
            for (n, client) in greedy.iter_mut().enumerate() {
                match n {
                    9 => {
                        client.run("BEGIN").await;
                        client.run("INSERT INTO d.t VALUES (1)").await;
                    }
                    _ => {
                        let create = format!("CREATE TEMPORARY TABLE d.temporary{n} (n INT)");
                        client.run(&create).await;
                    }
                }
            }
            pass(IDLE).await;
            let modest = others(scene, 2).await;
            pass(IDLE).await;
            let ended = errors(&mut greedy, "SELECT COUNT(*) FROM d.t").await;
            // The proxy ends the transaction first. Its session goes on when a connection is free.
            let [(first, lost), (last, transaction)] = &ended[..] else {
                panic!("{ended:?}");
            };
            assert_eq!((*last, transaction.number), (9, 4031), "{transaction:?}");
            assert!(!transaction.text.contains("temporary"), "{transaction:?}");
            assert_eq!(lost.number, 4031, "{lost:?}");
            let table = format!("temporary{first}");
            assert!(
                lost.text.contains(&table),
                "it names what is lost: {lost:?}"
            );
            assert!(greedy[*first].is_ended().await);
            for client in modest {
                client.quit().await;
            }
            greedy[9].run("ROLLBACK").await;
            assert_eq!(greedy[9].value("SELECT 1").await, "1");
        };
        shared(setup, 10).play(play).await;
    });
}
