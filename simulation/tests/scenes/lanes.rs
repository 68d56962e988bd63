//! Lanes: several sessions read on one connection. Each session gets its own reply, even if other reads fail.

use std::time::Duration;

use simulation::scene::{Running, Scene, Setup, TestClient, on_both, pass, settle};

fn with_lanes(setup: Setup) -> Setup {
    setup
        .set("accounts.explain", "true")
        .set("pool.backend_connections_max", "6")
        .set("pool.timeout_wait", "\"60s\"")
        .set("routing.lanes", "\"reads\"")
}

/// Creates tables, and reads them until the proxy knows that these reads are short.
async fn known_tables(scene: &Scene) -> TestClient {
    let mut root = scene.root(0).await;
    for table in ["t", "held"] {
        root.run(&format!(
            "CREATE TABLE d.{table} (id INT PRIMARY KEY, v INT)"
        ))
        .await;
        for id in 0..10 {
            root.run(&format!(
                "INSERT INTO d.{table} VALUES ({id}, {})",
                100 + id
            ))
            .await;
        }
    }
    let mut client = scene.client().await;
    for _ in 0..40 {
        for table in ["t", "held"] {
            client.run(&read(table, 7)).await;
        }
    }
    client.quit().await;
    root
}

/// Returns a client that has run a statement, because a session's first statement uses no lane.
async fn client(scene: &Scene) -> TestClient {
    let mut client = scene.client().await;
    client.run("SELECT 1").await;
    client
}

fn read(table: &str, id: u32) -> String {
    format!("SELECT v FROM d.{table} WHERE id = {id}")
}

/// Returns how many statements have had this outcome on lanes.
async fn count(scene: &Scene, outcome: &str) -> u64 {
    let mut client = scene.client().await;
    let reply = client.run("EXPLAIN LANES").await;
    let simulation::client::Reply::Rows { rows, .. } = reply else {
        panic!("{reply:?}");
    };
    let of_it = rows.iter().filter(|row| row[0].as_deref() == Some(outcome));
    of_it
        .map(|row| row[2].as_deref().unwrap().parse::<u64>().unwrap())
        .sum()
}

/// Starts reads of the locked table, each of another client. The first has its own connection; the others use lanes.
async fn waiting(scene: &Scene, count: u32) -> Vec<Running> {
    let mut all = Vec::new();
    for id in 0..count {
        all.push(client(scene).await.start(&read("held", id)));
        settle().await;
    }
    all
}

#[test]
fn each_client_has_its_own_reply() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            known_tables(scene).await;
            scene.servers[0].set_slow(Duration::from_millis(1));
            let mut clients = Vec::new();
            for _ in 0..10 {
                clients.push(client(scene).await);
            }
            for turn in 0..20_u32 {
                let ids = (0..10).map(|number| (number + turn) % 10);
                let running: Vec<_> = clients
                    .drain(..)
                    .zip(ids)
                    .map(|(client, id)| (id, client.start(&read("t", id))))
                    .collect();
                for (id, running) in running {
                    let (client, value) = running.value().await;
                    assert_eq!(value, (100 + id).to_string());
                    clients.push(client);
                }
            }
            assert!(count(scene, "on_lane").await > 50);
        };
        with_lanes(setup).play(play).await;
    });
}

#[test]
fn a_slow_head_delays_no_other_statement() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut holder = known_tables(scene).await;
            holder.run("LOCK TABLES d.held WRITE").await;
            let mut held = waiting(scene, 1).await;
            let (head, one, two) = (
                client(scene).await,
                client(scene).await,
                client(scene).await,
            );
            // All three start at the same moment, so two of them wait behind the first on the lane.
            held.push(head.start(&read("held", 1)));
            let others = [one, two].map(|client| client.start(&read("t", 2)));
            for other in others {
                let (mut other, value) = other.value().await;
                assert_eq!(value, "102");
                assert_eq!(other.value(&read("t", 3)).await, "103");
            }
            assert!(held.iter().all(|running| !running.is_answered()));
            holder.run("UNLOCK TABLES").await;
            for (id, running) in held.into_iter().enumerate() {
                assert_eq!(running.value().await.1, (100 + id).to_string());
            }
            assert!(count(scene, "stalled").await > 0 && count(scene, "moved").await > 0);
        };
        with_lanes(setup).play(play).await;
    });
}

#[test]
fn a_client_that_is_killed_on_a_lane_is_killed_alone() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut holder = known_tables(scene).await;
            holder.run("LOCK TABLES d.held WRITE").await;
            let mut held = waiting(scene, 3).await;
            let mut killer = scene.client().await;
            let victim = held.remove(1);
            killer.run(&format!("KILL QUERY {}", victim.session)).await;
            let (mut victim, error) = victim.error().await;
            assert_eq!(error.number, 1317);
            assert_eq!(victim.value(&read("t", 5)).await, "105");
            assert!(held.iter().all(|running| !running.is_answered()));
            holder.run("UNLOCK TABLES").await;
            for (id, running) in [0, 2].into_iter().zip(held) {
                assert_eq!(running.value().await.1, (100 + id).to_string());
            }
        };
        with_lanes(setup).play(play).await;
    });
}

#[test]
fn a_lane_that_breaks_costs_no_read() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut holder = known_tables(scene).await;
            for _ in 0..5 {
                holder.run("LOCK TABLES d.held WRITE").await;
                let held = waiting(scene, 4).await;
                let to = simulation::world::server_address(0).ip();
                scene.hosts.reset(simulation::world::proxies_host(), to);
                pass(Duration::from_secs(1)).await;
                holder.run("UNLOCK TABLES").await;
                for (id, running) in held.into_iter().enumerate() {
                    assert_eq!(running.value().await.1, (100 + id).to_string());
                }
            }
        };
        with_lanes(setup).play(play).await;
    });
}

#[test]
fn a_server_that_stays_stopped_is_given_up() {
    on_both(async |setup| {
        let setup = setup.set("health.timeout_down", "\"30s\"");
        let play = async |scene: &Scene| {
            known_tables(scene).await;
            let mut clients = Vec::new();
            for id in 0..4 {
                clients.push((id, client(scene).await));
            }
            scene.servers[0].freeze();
            let running: Vec<_> = clients
                .into_iter()
                .map(|(id, client)| client.start(&read("t", id)))
                .collect();
            pass(Duration::from_secs(120)).await;
            for running in running {
                // Each lost read gets an error. No read gets the row of another read.
                let (_, reply) = running.reply().await;
                assert!(
                    matches!(reply, simulation::client::Reply::Error(_)),
                    "{reply:?}"
                );
            }
            scene.servers[0].thaw();
            pass(Duration::from_secs(10)).await;
            assert_eq!(scene.client().await.value(&read("t", 1)).await, "101");
        };
        with_lanes(setup).play(play).await;
    });
}
