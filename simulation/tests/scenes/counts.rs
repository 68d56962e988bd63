//! Counts of statements that the proxy itself answers with an error. The proxy counts each statement once, by its
//! digest and by the error, for every command that carries a statement.

use simulation::scene::{Scene, TestClient, on_both};
use simulation::world::Counted;
use wire::Command;

/// ER_NET_READ_ERROR: the transaction is rolled back.
const CUT_TRANSACTION: u16 = 1158;
/// The length of a text that the proxy reads before its turn.
const LONG_BYTES: usize = 128 << 10;
/// ER_WRONG_ARGUMENTS
const WRONG_ARGUMENTS: u16 = 1210;

/// Asserts that the proxy refuses the statement of a command with this error, and counts it.
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
            let long = format!("{insert}{}", " ".repeat(LONG_BYTES));
            for command in [
                (Command::QUERY, insert.as_bytes()),
                (Command::QUERY, long.as_bytes()),
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

#[test]
fn a_long_text_counts_under_the_digest_of_a_short_one_prepared_or_not() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = scene.root(0).await;
            root.run("CREATE TABLE d.t (n INT)").await;
            let mut client = scene.client().await;
            let insert = "INSERT INTO d.t VALUES (1)";
            let long = format!("{insert}{}", " ".repeat(LONG_BYTES));
            client.run(insert).await;
            client.run(&long).await;
            // The same holds in a transaction that may have begun on a replica.
            client.run("BEGIN").await;
            client.run(&long).await;
            client.run("COMMIT").await;
            let prepared = client.prepare(&long).await;
            client.execute(prepared, &[]).await;
            assert_eq!(root.value("SELECT COUNT(*) FROM d.t").await, "4");
            let view = scene.proxy.counts().await;
            let mut counts = view.digests.iter().map(|(_, row)| row.counts.count);
            assert!(counts.any(|count| count == 4));
        };
        setup.play(play).await;
    });
}
