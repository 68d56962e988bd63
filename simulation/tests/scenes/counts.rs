//! What is counted of statements that the proxy itself answers with an error: each once, by its digest and by the error,
//! whichever command brings it.

use simulation::scene::{Scene, TestClient, on_both};
use simulation::world::Counted;
use wire::Command;

/// ER_NET_READ_ERROR: the transaction is rolled back.
const CUT_TRANSACTION: u16 = 1158;
/// ER_WRONG_ARGUMENTS
const WRONG_ARGUMENTS: u16 = 1210;

/// The statement of a command is refused with this error, and counted.
async fn refused(
    scene: &Scene,
    client: &mut TestClient,
    (command, arguments): (Command, &[u8]),
    number: u16,
) {
    let before = scene.counted().await;
    let error = client.command_error(command, arguments).await;
    assert_eq!(error.number, number, "{command}: {error:?}");
    let after = scene.counted().await;
    assert_eq!(after.statements, before.statements + 1, "{command}");
    assert_eq!(after.failed, before.failed + 1, "{command}");
    let of_number = |counted: &Counted| counted.errors.get(&number).copied().unwrap_or(0);
    assert_eq!(of_number(&after), of_number(&before) + 1, "{command}");
}

#[test]
fn each_statement_that_is_refused_behind_a_cut_transaction_is_counted() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = scene.root(0).await;
            root.run("CREATE TABLE d.t (n INT)").await;
            let mut client = scene.client().await;
            let insert = "INSERT INTO d.t VALUES (1)";
            let prepared = client.prepare(insert).await.to_le_bytes();
            client.run("BEGIN").await;
            client.run(insert).await;
            scene.cut_at("'a read'");
            client.error("SELECT 'a read'").await;
            let execution = [&prepared[..], &[0, 1, 0, 0, 0]].concat();
            let bulk = [&prepared[..], &[0, 0]].concat();
            for command in [
                (Command::QUERY, insert.as_bytes()),
                (Command::STMT_EXECUTE, &execution),
                (Command::STMT_BULK_EXECUTE, &bulk),
            ] {
                refused(scene, &mut client, command, CUT_TRANSACTION).await;
            }
            client.run("ROLLBACK").await;
        };
        setup.play(play).await;
    });
}

#[test]
fn an_execution_whose_parameters_are_malformed_is_counted() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = scene.root(0).await;
            root.run("CREATE TABLE d.t (n INT)").await;
            let mut client = scene.client().await;
            let prepared = client.prepare("INSERT INTO d.t VALUES (?)").await;
            // The list of parameters that are NULL is missing.
            let execution = [&prepared.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat();
            let command = (Command::STMT_EXECUTE, &execution[..]);
            refused(scene, &mut client, command, WRONG_ARGUMENTS).await;
            client.run("SELECT 'it goes on'").await;
        };
        setup.play(play).await;
    });
}
