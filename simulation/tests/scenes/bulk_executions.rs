//! MariaDB's COM_STMT_BULK_EXECUTE: a prepared statement with many rows of parameters.

use simulation::client::Reply;
use simulation::scene::{Scene, TestClient, on, settle};
use simulation::server::Family;
use wire::Command;
use wire::column::ColumnType;
use wire::execute::BulkExecute;

use crate::rule;

const INSERT: &str = "INSERT INTO d.t VALUES (?)";
const COUNT: &str = "SELECT COUNT(*) FROM d.t";

/// Returns the arguments of a bulk execution with one integer a row.
pub(crate) fn rows(statement: u32, numbers: &[i64]) -> Vec<u8> {
    let mut arguments = statement.to_le_bytes().to_vec();
    arguments.extend(BulkExecute::SEND_TYPES.to_le_bytes());
    arguments.extend([ColumnType::LONGLONG.0, 0]);
    for number in numbers {
        arguments.push(0);
        arguments.extend(number.to_le_bytes());
    }
    arguments
}

async fn table(scene: &Scene) -> TestClient {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT PRIMARY KEY)").await;
    root
}

async fn bulk(client: &mut TestClient, statement: u32, numbers: &[i64]) -> Reply {
    let arguments = rows(statement, numbers);
    client.command(Command::STMT_BULK_EXECUTE, &arguments).await
}

#[test]
fn bulk_execution_writes_all_rows_on_any_connection() {
    on(Family::MariaDb, async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let (mut client, mut other) = (scene.client().await, scene.client().await);
            let statement = client.prepare(INSERT).await;
            let reply = bulk(&mut client, statement, &[1, 2, 3]).await;
            assert!(matches!(reply, Reply::Done(ok) if ok.affected_rows == 3));
            other.run("BEGIN").await;
            other.run("SELECT 'it has the connection'").await;
            bulk(&mut client, statement, &[4, 5]).await;
            other.run("COMMIT").await;
            assert_eq!(root.value(COUNT).await, "5");
            let arguments = rows(statement, &[5]);
            let error = client
                .command_error(Command::STMT_BULK_EXECUTE, &arguments)
                .await;
            assert_eq!(error.number, 1062);
            assert_eq!(client.value(COUNT).await, "5");
        };
        setup.play(play).await;
    });
}

#[test]
fn a_bulk_write_is_within_the_transaction_whose_begin_is_deferred() {
    on(Family::MariaDb, async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            let statement = client.prepare(INSERT).await;
            client.run("BEGIN").await;
            bulk(&mut client, statement, &[1, 2]).await;
            assert_eq!(root.value(COUNT).await, "0");
            client.run("ROLLBACK").await;
            assert_eq!(client.value(COUNT).await, "0");
        };
        setup.play(play).await;
    });
}

#[test]
fn a_bulk_write_whose_reply_is_lost_is_not_sent_again() {
    on(Family::MariaDb, async |setup| {
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            let statement = client.prepare(INSERT).await;
            scene.cut_at(INSERT);
            let arguments = rows(statement, &[1]);
            let error = client
                .command_error(Command::STMT_BULK_EXECUTE, &arguments)
                .await;
            assert!(error.text.contains("may have been executed"), "{error:?}");
            settle().await;
            assert_eq!(root.value(COUNT).await, "1");
            assert_eq!(client.value(COUNT).await, "1");
        };
        setup.play(play).await;
    });
}

#[test]
fn rules_apply_to_bulk_executions() {
    on(Family::MariaDb, async |setup| {
        let rules = [
            rule("no", "tables = \"d.refused\"\nrefuse = \"not here\""),
            rule("around", "tables = \"d.t\"\nbefore = [\"SELECT 'before'\"]"),
        ];
        let play = async |scene: &Scene| {
            let mut root = table(scene).await;
            let mut client = scene.client().await;
            let statement = client.prepare(INSERT).await;
            scene.ran();
            bulk(&mut client, statement, &[1]).await;
            assert_eq!(scene.texts(0), ["SELECT 'before'", INSERT]);
            root.run("CREATE TABLE d.refused (n INT)").await;
            let refused = client
                .prepare_error("INSERT INTO d.refused VALUES (?)")
                .await;
            assert_eq!((refused.number, &*refused.text), (1227, "not here"));
        };
        setup.tables(&rules.concat()).play(play).await;
    });
}

#[test]
fn a_bulk_write_is_mirrored_with_all_of_its_rows() {
    on(Family::MariaDb, async |setup| {
        let play = async |scene: &Scene| {
            for server in 0..2 {
                let mut root = scene.root(server).await;
                root.run("CREATE TABLE d.t (n INT PRIMARY KEY)").await;
            }
            let mut client = scene.client().await;
            let statement = client.prepare(INSERT).await;
            bulk(&mut client, statement, &[1, 2]).await;
            bulk(&mut client, statement, &[3]).await;
            settle().await;
            assert_eq!(scene.root(1).await.value(COUNT).await, "3");
        };
        setup
            .primaries(2)
            .backend(0, "cluster = \"main\"")
            .backend(1, "cluster = \"side\"")
            .tables(&rule("copy", "tables = \"d.t\"\nmirror = \"side\""))
            .play(play)
            .await;
    });
}
