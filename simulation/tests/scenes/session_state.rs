//! A session's state follows the session to every connection that it gets, and reaches no other session.

use std::time::Duration;

use simulation::scene::{Scene, Setup, TestClient, on_both, pass, settle};

/// Limits the pool to one connection for all sessions.
fn shared(setup: Setup) -> Setup {
    setup
        .set("pool.backend_connections_max", "1")
        .set("pool.timeout_wait", "\"60s\"")
}

async fn table(scene: &Scene) -> TestClient {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT PRIMARY KEY)").await;
    root
}

/// A statement that reads all variables which the sessions of these scenes set.
const LOOK: &str = "SELECT CONCAT_WS(' ', @@sql_mode, @@time_zone, @@group_concat_max_len, @a, DATABASE(), @@autocommit, @@collation_connection)";

#[test]
fn sessions_on_one_connection_have_each_their_own_state() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let (mut one, mut two) = (scene.client().await, scene.client().await);
            let untouched = one.value(LOOK).await;
            for statement in [
                "SET sql_mode = 'ANSI_QUOTES', time_zone = '+03:00'",
                "SET group_concat_max_len = 20, @a = 'of one'",
                "USE d",
                "SET autocommit = 0",
                "SET NAMES latin1",
            ] {
                one.run(statement).await;
                assert_eq!(two.value(LOOK).await, untouched, "{statement}");
            }
            let own = one.value(LOOK).await;
            for part in ["ANSI_QUOTES", "+03:00", " 20 ", "of one", " d 0 ", "latin1"] {
                assert!(own.contains(part), "no {part} in {own}");
            }
            one.run("COMMIT").await;
            two.run("SET @a = 'of two', sql_mode = ''").await;
            assert_eq!(one.value(LOOK).await, own);
            one.run("COMMIT").await;
            one.quit().await;
            let mut three = scene.client().await;
            assert_eq!(three.value(LOOK).await, untouched);
        };
        shared(setup).play(play).await;
    });
}

#[test]
fn a_set_that_the_server_refuses_changes_nothing() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let (mut one, mut two) = (scene.client().await, scene.client().await);
            one.run("SET @a = 1, time_zone = '+01:00'").await;
            let before = one.value(LOOK).await;
            for (statement, number) in [
                ("SET no_such_variable = 1", 1193),
                ("SET max_connections = 5", 1229),
                ("SET NAMES nonsense", 1115),
            ] {
                assert_eq!(one.error(statement).await.number, number, "{statement}");
                two.run("SELECT 1").await;
                assert_eq!(one.value(LOOK).await, before, "{statement}");
            }
        };
        shared(setup).play(play).await;
    });
}

#[test]
fn a_prepared_statement_is_prepared_again_on_another_connection() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let (mut client, mut other) = (scene.client().await, scene.client().await);
            let read = client.prepare("SELECT n FROM d.t WHERE n = ?").await;
            let write = client.prepare("INSERT INTO d.t VALUES (?)").await;
            client.execute(write, &[1]).await;
            assert_eq!(client.execution_value(read, &[1]).await, "1");
            scene.ran();
            // The other session takes the connection on which the statements are prepared.
            other.run("BEGIN").await;
            other.run("SELECT 'it'").await;
            client.execute(write, &[2]).await;
            assert_eq!(client.execution_value(read, &[2]).await, "2");
            let ran = scene.ran();
            let connection = |part: &str| {
                let found = ran.iter().find(|ran| ran.text.contains(part));
                found.unwrap().connection
            };
            assert_ne!(connection("'it'"), connection("WHERE n = ?"));
            other.run("COMMIT").await;
            client.close_statement(read).await;
            assert_eq!(client.execution_error(read, &[]).await.number, 1243);
        };
        setup
            .set("pool.backend_connections_max", "2")
            .play(play)
            .await;
    });
}

#[test]
fn prepared_statement_keeps_its_schema_if_two_schemas_share_its_text() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut root = scene.root(0).await;
            for schema in ["one", "two"] {
                root.run(&format!("CREATE DATABASE {schema}")).await;
                root.run(&format!("CREATE TABLE {schema}.t (v VARCHAR(9))"))
                    .await;
                root.run(&format!("INSERT INTO {schema}.t VALUES ('{schema}')"))
                    .await;
            }
            let mut clients = Vec::new();
            for schema in ["one", "two"] {
                let mut client = scene.client().await;
                client.run(&format!("USE {schema}")).await;
                let statement = client.prepare("SELECT v FROM t").await;
                clients.push((client, statement, schema));
            }
            for _ in 0..2 {
                for (client, statement, schema) in &mut clients {
                    let value = client.execution_value(*statement, &[]).await;
                    assert_eq!(value, *schema);
                }
            }
            // A prepared statement keeps the schema in which it was prepared.
            let (client, statement, _) = &mut clients[0];
            client.run("USE two").await;
            assert_eq!(client.execution_value(*statement, &[]).await, "one");
            assert_eq!(client.value("SELECT v FROM t").await, "two");
        };
        shared(setup).play(play).await;
    });
}

#[test]
fn named_prepared_statements_go_with_their_session() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let (mut one, mut two) = (scene.client().await, scene.client().await);
            one.run("PREPARE s FROM 'SELECT CONCAT(\\'one\\', ?)'")
                .await;
            one.run("SET @x = 1").await;
            assert_eq!(two.error("EXECUTE s USING @x").await.number, 1243);
            two.run("PREPARE s FROM 'SELECT \\'two\\''").await;
            assert_eq!(one.value("EXECUTE s USING @x").await, "one1");
            assert_eq!(two.value("EXECUTE s").await, "two");
            one.run("DEALLOCATE PREPARE s").await;
            assert_eq!(one.error("EXECUTE s USING @x").await.number, 1243);
        };
        shared(setup).play(play).await;
    });
}

/// A second session waits for the only connection until the first session has no state on it.
#[test]
fn session_keeps_its_connection_until_its_last_pin_is_gone() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut one = scene.client().await;
            for (begin, end) in [
                (
                    "CREATE TEMPORARY TABLE d.own (n INT)",
                    "DROP TEMPORARY TABLE d.own",
                ),
                ("SELECT GET_LOCK('its', 1)", "SELECT RELEASE_LOCK('its')"),
                ("LOCK TABLES d.t READ", "UNLOCK TABLES"),
                ("BEGIN", "COMMIT"),
            ] {
                one.run(begin).await;
                one.run("SELECT 'in between'").await;
                let two = scene.client().await.start("SELECT 'let in'");
                pass(Duration::from_secs(10)).await;
                one.run("SELECT 'still there'").await;
                settle().await;
                assert!(!two.is_answered(), "{begin}");
                one.run(end).await;
                assert_eq!(two.value().await.1, "let in", "{end}");
            }
        };
        shared(setup).play(play).await;
    });
}

#[test]
fn of_two_temporary_tables_both_must_go() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut one = scene.client().await;
            for name in ["one", "two"] {
                let create = format!("CREATE TEMPORARY TABLE d.{name} (n INT)");
                one.run(&create).await;
            }
            one.run("DROP TEMPORARY TABLE d.one").await;
            let two = scene.client().await.start("SELECT 'let in'");
            settle().await;
            one.run("INSERT INTO d.two VALUES (7)").await;
            assert_eq!(one.value("SELECT n FROM d.two").await, "7");
            assert!(!two.is_answered());
            one.run("DROP TABLE d.two").await;
            assert_eq!(two.value().await.1, "let in");
        };
        shared(setup).play(play).await;
    });
}

#[test]
fn named_lock_is_released_after_its_client_disconnects() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut one = scene.client().await;
            assert_eq!(one.value("SELECT GET_LOCK('its', 1)").await, "1");
            drop(one);
            let mut two = scene.client().await;
            assert_eq!(two.value("SELECT GET_LOCK('its', 20)").await, "1");
            two.run("SELECT RELEASE_LOCK('its')").await;
        };
        shared(setup).play(play).await;
    });
}

#[test]
fn a_server_that_starts_anew_gives_sessions_without_a_connection_no_error() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            client.run("SET @a = 'kept', time_zone = '+03:00'").await;
            client.run("USE d").await;
            let statement = client
                .prepare("SELECT CONCAT(@a, @@time_zone, DATABASE())")
                .await;
            let before = client.execution_value(statement, &[]).await;
            for is_orderly in [true, false] {
                match is_orderly {
                    true => scene.servers[0].shut_down(),
                    false => scene.servers[0].crash(),
                }
                pass(Duration::from_secs(3)).await;
                scene.servers[0].start();
                let value = client.execution_value(statement, &[]).await;
                assert_eq!(value, before);
                client.run("INSERT INTO t VALUES (1)").await;
                client.run("DELETE FROM t").await;
            }
        };
        setup
            .set("balance.timeout_backend_wait", "\"30s\"")
            .play(play)
            .await;
    });
}
