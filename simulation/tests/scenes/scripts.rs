//! Scripts of MySQL Proxy's kind in pooled sessions: the decisions of hooks, and the state that a session keeps on
//! every connection.

use std::time::Duration;

use simulation::scene::{Scene, Setup, on_both, pass, settle};

use crate::NOTHING;

/// Has sessions run a script of the folder `lua`.
fn scripted(setup: Setup, name: &str) -> Setup {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenes/lua");
    setup.set("routing.script", &format!("\"{folder}/{name}.lua\""))
}

fn deciding(setup: Setup) -> Setup {
    scripted(setup, "decisions")
}

#[test]
fn a_script_answers_a_statement_itself() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            client.run("SELECT 1").await;
            scene.ran();
            assert_eq!(client.value("SELECT answer").await, "the script");
            let refused = client.error("SELECT refusal").await;
            assert_eq!((refused.number, &*refused.text), (4711, "not here"));
            assert_eq!(scene.texts(0), NOTHING);
            assert_eq!(client.value("SELECT 'passes'").await, "passes");
        };
        deciding(setup).play(play).await;
    });
}

#[test]
fn a_script_sends_another_statement_in_place_of_the_clients() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            client.run("SELECT 1").await;
            scene.ran();
            assert_eq!(client.value("SELECT one").await, "two");
            assert_eq!(scene.texts(0), ["SELECT 'two'"]);
        };
        deciding(setup).play(play).await;
    });
}

#[test]
fn script_returns_one_result_of_its_queue_of_statements() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            client.run("SELECT 1").await;
            scene.ran();
            assert_eq!(client.value("SELECT around").await, "set");
            settle().await;
            let texts = scene.texts(0);
            let place = |part: &str| texts.iter().position(|text| text.contains(part));
            let order = ["@before = 'set'", "SELECT @before", "'behind'"].map(place);
            assert!(order[0].is_some() && order.is_sorted(), "{texts:?}");
            assert_eq!(client.value("SELECT 'next'").await, "next");
        };
        deciding(setup).play(play).await;
    });
}

#[test]
fn a_hook_that_sees_a_result_may_send_more_or_replace_it() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            client.run("SELECT 1").await;
            scene.ran();
            assert_eq!(client.value("SELECT sum").await, "22");
            assert_eq!(scene.texts(0), ["SELECT 20", "SELECT 21", "SELECT 22"]);
            let replaced = client.value("SELECT replaced").await;
            assert_eq!(replaced, "in place of an error");
        };
        deciding(setup).play(play).await;
    });
}

#[test]
fn statement_runs_unchanged_if_the_scripts_hook_fails() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let mut client = scene.client().await;
            assert_eq!(client.value("SELECT 'fault'").await, "fault");
            assert_eq!(client.value("SELECT answer").await, "the script");
        };
        deciding(setup).play(play).await;
    });
}

#[test]
fn scripted_session_keeps_its_state_on_a_shared_connection() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let (mut one, mut two) = (scene.client().await, scene.client().await);
            let look = "SELECT CONCAT_WS(' ', @a, @@time_zone, DATABASE())";
            let untouched = two.value(look).await;
            one.run("SET @a = 1, time_zone = '+03:00'").await;
            one.run("USE d").await;
            assert_eq!(two.value(look).await, untouched);
            assert_eq!(one.value(look).await, "1 +03:00 d");
            // Variables that a script's statements set belong to that script's session, and to no other.
            one.run("SELECT around").await;
            assert_eq!(two.value("SELECT @before").await, "NULL");
            assert_eq!(one.value("SELECT @before").await, "set");
            one.run("BEGIN").await;
            assert_eq!(one.value("SELECT 'held'").await, "held");
            let waiting = two.start("SELECT 'let in'");
            settle().await;
            assert!(!waiting.is_answered());
            one.run("COMMIT").await;
            assert_eq!(waiting.value().await.1, "let in");
        };
        deciding(setup)
            .set("pool.backend_connections_max", "1")
            .set("pool.timeout_wait", "\"60s\"")
            .play(play)
            .await;
    });
}

#[test]
fn a_script_chooses_the_backend_of_each_statement() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            scene.root(0).await.run("CREATE TABLE d.t (n INT)").await;
            pass(Duration::from_secs(2)).await;
            let mut client = scene.client().await;
            client.run("SET @a = 'kept'").await;
            for server in [2, 1, 0] {
                scene.ran();
                let read = format!("/* {} */ SELECT @a FROM d.t", server + 1);
                client.run(&read).await;
                assert_eq!(scene.places("FROM d.t"), [server]);
            }
            // A transaction stays on its backend.
            client.run("/* 1 */ BEGIN").await;
            client.run("INSERT INTO d.t VALUES (1)").await;
            client.run("/* 2 */ SELECT n FROM d.t").await;
            assert_eq!(scene.places("SELECT n FROM d.t"), [0]);
            client.run("COMMIT").await;
        };
        scripted(setup, "chooses_backends")
            .replicas(2)
            .play(play)
            .await;
    });
}
