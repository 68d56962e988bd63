//! LOAD DATA LOCAL: the client sends a file that the server asks for. Either side may disconnect within the file.

use std::time::Duration;

use simulation::client::Reply;
use simulation::scene::{Scene, TestClient, on_both, pass, settle};
use simulation::world::{proxies_host, server_address};

const LOAD: &str = "LOAD DATA LOCAL INFILE 'rows.txt' INTO TABLE d.t";
const COUNT: &str = "SELECT COUNT(*) FROM d.t";

async fn table(scene: &Scene) -> TestClient {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT PRIMARY KEY, v VARCHAR(9))")
        .await;
    root
}

/// Returns a client that has sent the first part of its file.
async fn loading(scene: &Scene) -> TestClient {
    let mut client = scene.client().await;
    assert_eq!(client.begin_file(LOAD).await, "rows.txt");
    client.send_file_part("1\tone\n2\ttwo\n3\tth").await;
    client
}

#[test]
fn a_local_file_is_loaded_part_by_part() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = loading(scene).await;
            pass(Duration::from_secs(5)).await;
            client.send_file_part("ree\n").await;
            let reply = client.end_file().await;
            assert!(matches!(reply, Reply::Done(ok) if ok.affected_rows == 3));
            assert_eq!(root.value("SELECT v FROM d.t WHERE n = 3").await, "three");
            // LOAD DATA LOCAL is part of a transaction, as any other write.
            client.run("BEGIN").await;
            client.begin_file(LOAD).await;
            client.send_file_part("4\tfour\n").await;
            client.end_file().await;
            assert_eq!(client.value(COUNT).await, "4");
            client.run("ROLLBACK").await;
            assert_eq!(client.value(COUNT).await, "3");
        };
        setup.play(play).await;
    });
}

#[test]
fn session_goes_on_after_its_server_is_lost_within_a_local_file() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = loading(scene).await;
            settle().await;
            let to = server_address(0).ip();
            scene.hosts.reset(proxies_host(), to);
            settle().await;
            client.send_file_part("ree\n").await;
            let Reply::Error(error) = client.end_file().await else {
                panic!("a file that nobody has got is loaded");
            };
            assert_eq!(error.state, "08S01", "{error:?}");
            assert_eq!(root.value(COUNT).await, "0");
            assert_eq!(client.value("SELECT 'it goes on'").await, "it goes on");
        };
        setup.play(play).await;
    });
}

#[test]
fn client_that_disconnects_within_a_local_file_loads_no_row() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let client = loading(scene).await;
            settle().await;
            drop(client);
            pass(Duration::from_secs(10)).await;
            assert_eq!(root.value(COUNT).await, "0");
            // The pool does not reuse the connection, which is in the middle of a file.
            let mut other = scene.client().await;
            assert_eq!(other.value(COUNT).await, "0");
        };
        setup
            .set("pool.backend_connections_max", "1")
            .play(play)
            .await;
    });
}
