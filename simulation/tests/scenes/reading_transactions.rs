//! READ ONLY transactions run on a replica, and a lock that they take pins the session there. Writes leave the replica.

use std::time::Duration;

use simulation::scene::{Scene, Setup, TestClient, on_both, pass};

const COUNT: &str = "SELECT COUNT(*) FROM d.t";
const INSERT: &str = "INSERT INTO d.t VALUES (1)";

fn split(setup: Setup) -> Setup {
    setup
        .replicas(1)
        .set("balance.timeout_consistency", "\"20s\"")
}

async fn table(scene: &Scene) -> TestClient {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT)").await;
    pass(Duration::from_secs(2)).await;
    root
}

/// Begins a READ ONLY transaction, and reads on the replica.
async fn begin(scene: &Scene, client: &mut TestClient) {
    client.run("START TRANSACTION READ ONLY").await;
    scene.ran();
    client.run(COUNT).await;
    assert_eq!(scene.places(COUNT), [1]);
}

#[test]
fn a_reading_transaction_refuses_writes_as_a_server_does() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            begin(scene, &mut client).await;
            let number = client.error(INSERT).await.number;
            assert!([1792, 1290].contains(&number), "{number}");
            client.run(COUNT).await;
            assert_eq!(scene.places(COUNT), [1]);
            client.run("COMMIT").await;
            client.run(INSERT).await;
            assert_eq!(scene.places(INSERT), [0]);
        };
        split(setup).play(play).await;
    });
}

/// A server commits before such a statement and then executes it. The proxy does the same on the primary.
#[test]
fn statement_that_implicitly_ends_a_read_only_transaction_runs_on_the_primary() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            for statements in [
                &["CREATE TABLE d.made (n INT)", INSERT][..],
                &["BEGIN", INSERT, "COMMIT"],
                &["START TRANSACTION READ WRITE", INSERT, "COMMIT"],
                &["LOCK TABLES d.t WRITE", INSERT, "UNLOCK TABLES"],
            ] {
                begin(scene, &mut client).await;
                for statement in statements {
                    client.run(statement).await;
                }
                let places: Vec<_> = scene.places(INSERT);
                assert_eq!(places, [0], "{statements:?}");
            }
            assert_eq!(root.value(COUNT).await, "4");
            let replicas = scene.root(1).await.value(COUNT).await;
            assert_eq!(replicas, "4", "it has each of them once");
        };
        split(setup).play(play).await;
    });
}

#[test]
fn write_of_a_session_that_a_named_lock_pins_to_a_replica_gets_error_1290() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            let prepared = client.prepare(INSERT).await;
            client.run("START TRANSACTION READ ONLY").await;
            assert_eq!(client.value("SELECT GET_LOCK('its', 0)").await, "1");
            client.run("COMMIT").await;
            for write in [INSERT, "DROP TABLE d.t", "CALL no_such()", "BEGIN"] {
                let error = client.error(write).await;
                assert_eq!(error.number, 1290, "{write}: {error:?}");
                assert!(error.text.contains("held at"), "{error:?}");
            }
            assert_eq!(client.execution_error(prepared, &[]).await.number, 1290);
            assert_eq!(client.value("SELECT RELEASE_LOCK('its')").await, "1");
            client.run(INSERT).await;
            client.execute(prepared, &[]).await;
            assert_eq!(root.value(COUNT).await, "2");
            assert_eq!(scene.root(1).await.value(COUNT).await, "2");
        };
        split(setup).play(play).await;
    });
}

/// The error says that the transaction is rolled back. The session goes on after ROLLBACK.
#[test]
fn read_only_transaction_gets_an_error_after_its_replica_crashes() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            begin(scene, &mut client).await;
            scene.servers[1].crash();
            pass(Duration::from_secs(1)).await;
            let error = client.error(COUNT).await;
            assert!(error.text.contains("rolled back"), "{error:?}");
            client.run("ROLLBACK").await;
            assert_eq!(client.value(COUNT).await, "0");
        };
        split(setup).play(play).await;
    });
}
