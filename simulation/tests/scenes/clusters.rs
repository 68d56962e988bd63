//! Routing by the roles and the lag of backends. Tests with real servers check how servers report these.

use std::time::Duration;

use simulation::client::Reply;
use simulation::scene::{Scene, Setup, TestClient, on_both, pass};

const READ: &str = "SELECT COUNT(*) FROM d.t";
const WRITE: &str = "INSERT INTO d.t VALUES (1)";

/// The time after which the control plane has seen a change of a server.
const SEEN: Duration = Duration::from_secs(5);

/// Sets up a primary with two replicas. The proxy detects the roles.
fn cluster(setup: Setup) -> Setup {
    setup
        .replicas(2)
        .set("accounts.explain", "true")
        .find_roles()
}

async fn table(scene: &Scene) {
    scene.root(0).await.run("CREATE TABLE d.t (n INT)").await;
    pass(SEEN).await;
}

/// Returns a client that has written a row a minute ago. Both replicas apply the row ten minutes late.
async fn client_whose_write_no_replica_has(scene: &Scene) -> TestClient {
    table(scene).await;
    let mut client = scene.client().await;
    for replica in &scene.servers[1..] {
        replica.follow(Some(&scene.servers[0]), Duration::from_secs(600));
    }
    client.run(WRITE).await;
    pass(Duration::from_secs(60)).await;
    client
}

/// Returns the address of the backend to which the proxy would send a statement.
async fn decision(client: &mut TestClient, statement: &str) -> String {
    // EXPLAIN ROUTE chooses the same backend again until the client sends another statement.
    client.run("SELECT 1").await;
    let Reply::Rows { rows, .. } = client.run(&format!("EXPLAIN ROUTE {statement}")).await else {
        panic!("no rows");
    };
    let decision = rows
        .iter()
        .find(|row| row[0].as_deref() == Some("decision"));
    decision.unwrap()[1].clone().unwrap()
}

fn address(server: usize) -> String {
    simulation::world::server_address(server).to_string()
}

#[test]
fn proxy_uses_one_primary_if_two_servers_take_writes() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            scene.servers[1].set_read_only(false);
            scene.servers[1].follow(None, Duration::ZERO);
            pass(SEEN).await;
            for _ in 0..10 {
                assert_eq!(decision(&mut client, WRITE).await, address(0));
                assert_eq!(decision(&mut client, READ).await, address(2));
            }
            scene.servers[1].set_read_only(true);
            scene.servers[1].follow(Some(&scene.servers[0]), Duration::ZERO);
            pass(SEEN).await;
            let mut seen = Vec::new();
            for _ in 0..20 {
                seen.push(decision(&mut client, READ).await);
            }
            assert!(seen.contains(&address(1)), "{seen:?}");
        };
        cluster(setup).play(play).await;
    });
}

#[test]
fn a_primary_that_dies_is_replaced_by_the_server_that_takes_writes() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            client.run(WRITE).await;
            pass(SEEN).await;
            scene.servers[0].crash();
            pass(Duration::from_secs(15)).await;
            let error = client.error(WRITE).await;
            assert!(error.text.contains(&address(0)), "{error:?}");
            scene.servers[2].follow(None, Duration::ZERO);
            scene.servers[2].set_read_only(false);
            pass(SEEN).await;
            assert_eq!(decision(&mut client, WRITE).await, address(2));
            client.run(WRITE).await;
            assert_eq!(scene.root(2).await.value(READ).await, "2");
        };
        cluster(setup)
            .set("balance.timeout_backend_wait", "\"2s\"")
            .play(play)
            .await;
    });
}

#[test]
fn reads_go_to_the_primary_if_all_replicas_lag() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = client_whose_write_no_replica_has(scene).await;
            for _ in 0..10 {
                assert_eq!(decision(&mut client, READ).await, address(0));
            }
            assert_eq!(client.value(READ).await, "1");
            pass(Duration::from_secs(660)).await;
            assert_ne!(decision(&mut client, READ).await, address(0));
        };
        cluster(setup)
            .set("balance.lag_max", "\"10s\"")
            .play(play)
            .await;
    });
}

#[test]
fn reads_fail_if_all_replicas_lag_and_fallback_is_error() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = client_whose_write_no_replica_has(scene).await;
            let error = client.error(READ).await;
            assert!(error.text.contains(&address(1)), "{error:?}");
            client.run(WRITE).await;
            client.run("START TRANSACTION").await;
            assert_eq!(
                client.value(READ).await,
                "2",
                "a transaction is on the primary"
            );
        };
        cluster(setup)
            .set("balance.lag_max", "\"10s\"")
            .set("balance.fallback", "\"error\"")
            .play(play)
            .await;
    });
}

/// Without a primary there are no new writes, so the replicas' data cannot become stale.
#[test]
fn replicas_serve_reads_after_their_primary_crashes() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            scene.servers[0].crash();
            pass(Duration::from_secs(60)).await;
            for _ in 0..20 {
                assert_ne!(decision(&mut client, READ).await, address(0));
                assert_eq!(client.value(READ).await, "0");
            }
        };
        cluster(setup)
            .set("balance.lag_max", "\"1m\"")
            .play(play)
            .await;
    });
}

#[test]
fn reads_stay_in_their_zone_until_its_replica_drains() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            let near = |drain: &'static str| {
                scene
                    .reload(|setup| setup.backend(1, &format!("zone = \"near\"\ndrain = {drain}")));
            };
            for (drain, place) in [("false", 1), ("true", 2), ("false", 1)] {
                near(drain);
                pass(SEEN).await;
                for _ in 0..10 {
                    assert_eq!(decision(&mut client, READ).await, address(place));
                }
            }
        };
        cluster(setup)
            .set("zone", "\"near\"")
            .backend(0, "zone = \"far\"")
            .backend(1, "zone = \"near\"")
            .backend(2, "zone = \"far\"")
            .play(play)
            .await;
    });
}
