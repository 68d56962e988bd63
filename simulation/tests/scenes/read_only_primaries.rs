//! Writes while the primary is read-only, as within a switchover. They wait for a primary that takes writes, for every
//! command that can write, and each is executed once.

use std::time::Duration;

use simulation::scene::{Scene, Setup, TestClient, on, on_both, pass};
use simulation::server::Family;
use wire::Command;

use crate::{NOTHING, bulk_executions};

const INSERT: &str = "INSERT INTO d.t VALUES (?)";
const COUNT: &str = "SELECT COUNT(*) FROM d.t";

fn patient(setup: Setup) -> Setup {
    setup.set("balance.timeout_backend_wait", "\"30s\"")
}

async fn table(scene: &Scene) -> TestClient {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT PRIMARY KEY)").await;
    root
}

/// Makes the primary read-only, and waits until the proxy knows it.
async fn becomes_read_only(scene: &Scene) {
    scene.servers[0].set_read_only(true);
    pass(Duration::from_secs(3)).await;
    scene.ran();
}

#[test]
fn a_write_is_not_sent_to_a_primary_that_is_known_to_be_read_only() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            client.run("SELECT 1").await;
            becomes_read_only(scene).await;
            // Reads do not wait.
            assert_eq!(client.value(COUNT).await, "0");
            scene.ran();
            let writing = client.start("INSERT INTO d.t VALUES (1)");
            pass(Duration::from_secs(10)).await;
            assert!(!writing.is_answered());
            assert_eq!(scene.texts(0), NOTHING);
            scene.servers[0].set_read_only(false);
            writing.reply().await;
            assert_eq!(root.value(COUNT).await, "1");
        };
        patient(setup).play(play).await;
    });
}

#[test]
fn a_write_that_a_primary_refuses_is_sent_again_until_it_is_taken() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            let statement = client.prepare(INSERT).await;
            client.run("SELECT 1").await;
            for is_prepared in [false, true] {
                scene.servers[0].set_read_only(true);
                let writing = match is_prepared {
                    false => client.start("INSERT INTO d.t VALUES (1)"),
                    true => client.start_execution(statement, &[2]),
                };
                pass(Duration::from_secs(5)).await;
                assert!(!writing.is_answered());
                scene.servers[0].set_read_only(false);
                let (back, reply) = writing.reply().await;
                assert!(reply.status().is_some(), "{reply:?}");
                client = back;
                pass(Duration::from_secs(2)).await;
            }
            assert_eq!(root.value(COUNT).await, "2");
        };
        patient(setup).play(play).await;
    });
}

#[test]
fn a_transaction_of_which_only_the_begin_has_run_begins_again() {
    for defers in ["true", "false"] {
        on_both(async |setup| {
            let play = async |scene: &Scene| {
                let mut root = table(scene).await;
                let mut client = scene.client().await;
                client.run("BEGIN").await;
                scene.servers[0].set_read_only(true);
                let writing = client.start("INSERT INTO d.t VALUES (1)");
                pass(Duration::from_secs(5)).await;
                assert!(!writing.is_answered());
                scene.servers[0].set_read_only(false);
                let (mut client, reply) = writing.reply().await;
                assert!(reply.status().is_some(), "{reply:?}");
                assert_eq!(root.value(COUNT).await, "0", "it is within the transaction");
                client.run("COMMIT").await;
                assert_eq!(root.value(COUNT).await, "1");
            };
            patient(setup)
                .set("pool.defer_begin", defers)
                .play(play)
                .await;
        });
    }
}

#[test]
fn a_write_that_waits_in_vain_gets_an_error() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            client.run("SELECT 1").await;
            scene.servers[0].set_read_only(true);
            let error = client.error("INSERT INTO d.t VALUES (1)").await;
            assert!([1290, 1429].contains(&error.number), "{error:?}");
            assert_eq!(client.value(COUNT).await, "0");
        };
        patient(setup).play(play).await;
    });
}

#[test]
fn a_session_leaves_a_primary_that_has_become_read_only_for_one_that_takes_writes() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            for server in 0..2 {
                let mut root = scene.root(server).await;
                root.run("CREATE TABLE d.t (n INT PRIMARY KEY)").await;
            }
            let mut client = scene.client().await;
            let statement = client.prepare(INSERT).await;
            client.execute(statement, &[1]).await;
            let first = scene.places(INSERT)[0];
            scene.servers[first].set_read_only(true);
            pass(Duration::from_secs(3)).await;
            client.execute(statement, &[2]).await;
            assert_eq!(scene.places(INSERT), [1 - first]);
        };
        patient(setup).primaries(2).play(play).await;
    });
}

/// An execution that asks for a cursor may write as well: some clients ask for one with every statement.
#[test]
fn an_execution_with_a_cursor_is_not_sent_to_a_primary_that_is_known_to_be_read_only() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            let statement = client.prepare(INSERT).await;
            becomes_read_only(scene).await;
            let writing = client.start_cursor(statement, &[1]);
            pass(Duration::from_secs(10)).await;
            assert!(!writing.is_answered());
            assert_eq!(scene.texts(0), NOTHING);
            scene.servers[0].set_read_only(false);
            let (_, reply) = writing.reply().await;
            assert!(reply.status().is_some(), "{reply:?}");
            assert_eq!(root.value(COUNT).await, "1");
        };
        patient(setup).play(play).await;
    });
}

#[test]
fn a_bulk_write_is_not_sent_to_a_primary_that_is_known_to_be_read_only() {
    on(Family::MariaDb, async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            let statement = client.prepare(INSERT).await;
            becomes_read_only(scene).await;
            let arguments = bulk_executions::rows(statement, &[1, 2]);
            let writing = client.start_command(Command::STMT_BULK_EXECUTE, arguments);
            pass(Duration::from_secs(10)).await;
            assert!(!writing.is_answered());
            assert_eq!(scene.texts(0), NOTHING);
            scene.servers[0].set_read_only(false);
            let (_, reply) = writing.reply().await;
            assert!(reply.status().is_some(), "{reply:?}");
            assert_eq!(root.value(COUNT).await, "2");
        };
        patient(setup).play(play).await;
    });
}
