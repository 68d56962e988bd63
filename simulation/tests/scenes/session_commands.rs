//! Commands that change a session's schema, state or account.

use simulation::scene::{APP, OTHER, Scene, Setup, on_both, settle};
use wire::Command;

/// Limits the pool to one connection for all sessions.
fn shared(setup: Setup) -> Setup {
    setup
        .set("pool.backend_connections_max", "1")
        .set("pool.timeout_wait", "\"60s\"")
}

#[test]
fn init_db_changes_the_schema_wherever_the_session_goes() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            scene.root(0).await.run("CREATE DATABASE e").await;
            let (mut one, mut two) = (scene.client().await, scene.client().await);
            one.command(Command::INIT_DB, b"d").await;
            two.command(Command::INIT_DB, b"e").await;
            for _ in 0..2 {
                assert_eq!(one.value("SELECT DATABASE()").await, "d");
                assert_eq!(two.value("SELECT DATABASE()").await, "e");
            }
            let error = one.command_error(Command::INIT_DB, b"no_such").await;
            assert_eq!(error.number, 1049);
            assert_eq!(one.value("SELECT DATABASE()").await, "d");
        };
        shared(setup).play(play).await;
    });
}

#[test]
fn a_reset_connection_forgets_all_but_the_schema() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = scene.root(0).await;
            root.run("CREATE TABLE d.t (n INT)").await;
            let mut client = scene.client().await;
            client.run("USE d").await;
            client.run("SET @a = 1, time_zone = '+03:00'").await;
            let statement = client.prepare("SELECT 1").await;
            client.run("CREATE TEMPORARY TABLE own (n INT)").await;
            client.run("BEGIN").await;
            client.run("INSERT INTO t VALUES (1)").await;
            client.command(Command::RESET_CONNECTION, b"").await;
            let look = "SELECT CONCAT_WS(' ', @a, @@time_zone, DATABASE())";
            assert_eq!(client.value(look).await, "SYSTEM d");
            assert_eq!(client.execution_error(statement, &[]).await.number, 1243);
            assert_eq!(client.error("SELECT n FROM own").await.number, 1146);
            assert_eq!(root.value("SELECT COUNT(*) FROM d.t").await, "0");
            // The session holds no state on the connection any more, so another session gets it.
            assert_eq!(scene.client().await.value("SELECT 'in'").await, "in");
        };
        shared(setup).play(play).await;
    });
}

#[test]
fn change_user_starts_a_session_of_the_new_account_without_old_state() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            client.run("SET @a = 1").await;
            client.run("USE d").await;
            let statement = client.prepare("SELECT 1").await;
            client.run("CREATE TEMPORARY TABLE own (n INT)").await;
            let who = "SELECT CONCAT_WS(' ', USER(), @a, DATABASE())";
            for user in [OTHER, APP, APP] {
                client.change_user(user).await;
                let value = client.value(who).await;
                assert!(value.starts_with(&format!("{user}@")), "{value}");
                assert!(!value.contains(' '), "{value}");
                assert_eq!(client.execution_error(statement, &[]).await.number, 1243);
            }
            let mut other = scene.client_of(OTHER).await;
            let value = other.value(who).await;
            assert!(value.starts_with(OTHER), "{value}");
        };
        shared(setup).play(play).await;
    });
}

#[test]
fn a_change_of_user_rolls_back_and_gives_the_connection_back() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = scene.root(0).await;
            root.run("CREATE TABLE d.t (n INT)").await;
            let mut client = scene.client().await;
            client.run("BEGIN").await;
            client.run("INSERT INTO d.t VALUES (1)").await;
            let waiting = scene.client().await.start("SELECT 'let in'");
            settle().await;
            assert!(!waiting.is_answered());
            client.change_user(OTHER).await;
            assert_eq!(waiting.value().await.1, "let in");
            assert_eq!(root.value("SELECT COUNT(*) FROM d.t").await, "0");
        };
        shared(setup).play(play).await;
    });
}

/// A reset or a change of user discards a deferred BEGIN, so the next statement is committed at once.
#[test]
fn a_deferred_begin_ends_with_a_reset_or_a_change_of_user() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = scene.root(0).await;
            root.run("CREATE TABLE d.t (n INT)").await;
            let mut client = scene.client().await;
            let insert = "INSERT INTO d.t VALUES (1)";
            for turn in ["1", "2"] {
                client.run("BEGIN").await;
                match turn {
                    "1" => drop(client.command(Command::RESET_CONNECTION, b"").await),
                    _ => client.change_user(APP).await,
                }
                client.run(insert).await;
                assert_eq!(root.value("SELECT COUNT(*) FROM d.t").await, turn);
            }
        };
        setup.play(play).await;
    });
}
