//! Transactions that clients leave idle. They end after `limits.timeout_idle_transaction`, and the error says why.

use std::time::Duration;

use simulation::scene::{OTHER, Scene, TestClient, on_both, pass};

const LIMIT: &str = "limits.timeout_idle_transaction";

async fn table(scene: &Scene) -> TestClient {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT PRIMARY KEY)").await;
    root
}

async fn begin(client: &mut TestClient, row: u32) {
    client.run("BEGIN").await;
    client.run(&format!("INSERT INTO d.t VALUES ({row})")).await;
}

/// Asserts that the server has rolled the transaction back, so no session holds the row's lock.
async fn assert_rolled_back(root: &mut TestClient) {
    root.run("INSERT INTO d.t VALUES (1)").await;
    root.run("DELETE FROM d.t").await;
}

#[test]
fn an_idle_transaction_of_a_pooled_session_is_rolled_back_and_the_session_goes_on() {
    on_both(async |setup| {
        let setup = setup
            .set(LIMIT, "\"1m\"")
            .set("pool.backend_connections_max", "1");
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            begin(&mut client, 1).await;
            pass(Duration::from_secs(59)).await;
            client.run("SELECT 1").await;
            pass(Duration::from_secs(62)).await;
            assert_rolled_back(&mut root).await;
            for statement in ["INSERT INTO d.t VALUES (2)", "SELECT 1", "COMMIT"] {
                let error = client.error(statement).await;
                assert_eq!(error.number, 4031, "{statement}: {error:?}");
                assert!(error.text.contains(LIMIT), "{statement}: {error:?}");
                assert!(error.text.contains("60s"), "{statement}: {error:?}");
            }
            assert_eq!(client.value("SELECT COUNT(*) FROM d.t").await, "0");
            // A transaction with only a BEGIN loses nothing at the timeout, and holds no connection.
            client.run("BEGIN").await;
            pass(Duration::from_secs(300)).await;
            scene.client().await.run("SELECT 1").await;
            client.run("INSERT INTO d.t VALUES (3)").await;
            client.run("COMMIT").await;
            assert_eq!(client.value("SELECT COUNT(*) FROM d.t").await, "1");
        };
        setup.play(play).await;
    });
}

#[test]
fn idle_transaction_ends_a_pooled_session_that_has_a_temporary_table() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            client.run("CREATE TEMPORARY TABLE d.tt (n INT)").await;
            begin(&mut client, 1).await;
            pass(Duration::from_secs(62)).await;
            assert_rolled_back(&mut root).await;
            let error = client.error("SELECT * FROM d.tt").await;
            assert_eq!(error.number, 4031, "{error:?}");
            assert!(
                error.text.contains("tt"),
                "it names what is lost: {error:?}"
            );
            assert!(client.is_ended().await);
        };
        setup.set(LIMIT, "\"1m\"").play(play).await;
    });
}

#[test]
fn an_idle_transaction_ends_a_session_that_is_not_pooled() {
    on_both(async |setup| {
        let setup = setup
            .set(LIMIT, "\"1m\"")
            .second_listener("routing.session = \"transparent\"");
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client_on_second().await;
            let mut other = scene.client_on_second().await;
            begin(&mut client, 1).await;
            pass(Duration::from_secs(62)).await;
            assert_rolled_back(&mut root).await;
            let error = client.error("COMMIT").await;
            assert_eq!(error.number, 4031, "{error:?}");
            assert!(error.text.contains("timeout_idle_transaction"), "{error:?}");
            assert!(client.is_ended().await);
            // This session was idle for as long, but outside of a transaction.
            assert_eq!(other.value("SELECT 1").await, "1");
        };
        setup.play(play).await;
    });
}

#[test]
fn an_account_and_a_listener_have_limits_of_their_own() {
    on_both(async |setup| {
        let setup = setup
            .set(LIMIT, "\"5m\"")
            .account("timeout_idle_transaction = \"0\"")
            .second_listener("timeout_idle_transaction = \"1m\"");
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut patient = scene.client_of(OTHER).await;
            let mut endless = scene.client_on_second().await;
            begin(&mut patient, 7).await;
            begin(&mut endless, 8).await;
            pass(Duration::from_secs(62)).await;
            patient.run("SELECT 1").await;
            pass(Duration::from_secs(302)).await;
            assert_eq!(patient.error("COMMIT").await.number, 4031);
            endless.run("COMMIT").await;
            assert_eq!(endless.value("SELECT n FROM d.t").await, "8");
        };
        setup.play(play).await;
    });
}
