//! Cursors of prepared statements. A session keeps its connection as long as a cursor is open on it.

use simulation::client::Reply;
use simulation::scene::{Running, Scene, Setup, TestClient, on_both, settle};
use wire::{Command, StatusFlags};

/// Limits the pool to one connection for all sessions.
fn shared(setup: Setup) -> Setup {
    setup
        .set("pool.backend_connections_max", "1")
        .set("pool.timeout_wait", "\"60s\"")
}

/// Returns a client with a prepared statement that reads the numbers from 1 to 5 above its parameter.
async fn client(scene: &Scene) -> (TestClient, u32) {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT PRIMARY KEY)").await;
    root.run("INSERT INTO d.t VALUES (1), (2), (3), (4), (5)")
        .await;
    let mut client = scene.client().await;
    let statement = client
        .prepare("SELECT n FROM d.t WHERE n > ? ORDER BY n")
        .await;
    (client, statement)
}

/// Starts another session's statement, which waits for the connection.
async fn other(scene: &Scene) -> Running {
    let other = scene.client().await.start("SELECT 'let in'");
    settle().await;
    other
}

fn has_cursor(reply: &Reply) -> bool {
    let status = reply.status();
    status.is_some_and(|status| status.contains(StatusFlags::CURSOR_EXISTS))
}

#[test]
fn rows_are_fetched_piece_by_piece() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let (mut client, statement) = client(scene).await;
            assert!(has_cursor(&client.open_cursor(statement, &[1]).await));
            assert_eq!(client.fetch(statement, 3).await.concat(), ["2", "3", "4"]);
            client.run("SELECT 'between'").await;
            let other = other(scene).await;
            assert!(!other.is_answered(), "the cursor keeps its connection");
            // This fetch returns the last row and closes the cursor.
            assert_eq!(client.fetch(statement, 3).await.concat(), ["5"]);
            assert_eq!(other.value().await.1, "let in");
        };
        shared(setup).play(play).await;
    });
}

#[test]
fn a_cursor_that_is_closed_keeps_no_connection() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let (mut client, statement) = client(scene).await;
            for closes in [true, false] {
                client.open_cursor(statement, &[0]).await;
                client.fetch(statement, 1).await;
                let other = other(scene).await;
                assert!(!other.is_answered());
                let id = statement.to_le_bytes();
                match closes {
                    true => drop(client.command(Command::STMT_RESET, &id).await),
                    false => client.close_statement(statement).await,
                }
                assert_eq!(other.value().await.1, "let in");
                let fetch = [&id[..], &5_u32.to_le_bytes()].concat();
                client.command_error(Command::STMT_FETCH, &fetch).await;
            }
        };
        shared(setup).play(play).await;
    });
}

#[test]
fn an_execution_of_the_same_statement_begins_a_new_cursor() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let (mut client, statement) = client(scene).await;
            client.open_cursor(statement, &[0]).await;
            client.fetch(statement, 2).await;
            client.open_cursor(statement, &[3]).await;
            assert_eq!(client.fetch(statement, 9).await.concat(), ["4", "5"]);
            // Without a cursor all rows come at once.
            client.open_cursor(statement, &[0]).await;
            assert_eq!(client.execution_value(statement, &[4]).await, "5");
            assert_eq!(other(scene).await.value().await.1, "let in");
        };
        shared(setup).play(play).await;
    });
}

#[test]
fn a_cursor_that_is_lost_with_its_connection_ends_the_session() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let (mut client, statement) = client(scene).await;
            client.open_cursor(statement, &[0]).await;
            client.fetch(statement, 1).await;
            scene.cut_at("'a read'");
            let error = client.error("SELECT 'a read'").await;
            assert!(error.text.contains("cursor"), "{error:?}");
            assert!(client.is_ended().await);
        };
        shared(setup).play(play).await;
    });
}
