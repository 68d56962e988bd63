//! Profiles: which statements the proxy profiles, and that profiling does not change the client's replies.

use simulation::scene::{Scene, Setup, TestClient, on_both, settle};

use crate::rule;

fn profiled(setup: Setup) -> Setup {
    setup
        .set("hints.accepted", "[\"pilotfish\"]")
        .set("profiling.timeout", "\"60s\"")
        .tables(&rule("asked", "tag = \"looked\"\nprofile = true"))
}

/// Returns for each profiled statement, in order, why it was chosen (rule, hint or chance) and its command.
async fn profiles(scene: &Scene) -> Vec<(String, &'static str)> {
    settle().await;
    let view = scene.proxy.counts().await;
    let profiles = view.profiles.iter();
    profiles
        .map(|it| (it.chosen_by.to_string(), it.command))
        .collect()
}

async fn table(scene: &Scene) -> TestClient {
    let mut root = scene.root(0).await;
    root.run("CREATE TABLE d.t (n INT PRIMARY KEY AUTO_INCREMENT, v INT)")
        .await;
    root
}

#[test]
fn a_rule_a_hint_and_chance_choose_statements_to_be_profiled() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            client.run("SELECT 1").await;
            client.run("SELECT 2 /* tag: looked */").await;
            client.run("SELECT 3 /* pilotfish: profile */").await;
            let statement = client
                .prepare("SELECT n FROM d.t WHERE n = ? /* tag: looked */")
                .await;
            client.execute(statement, &[5]).await;
            let expected = [("asked", "Query"), ("hint", "Query"), ("asked", "Execute")];
            let expected = expected.map(|(by, command)| (by.to_owned(), command));
            assert_eq!(profiles(scene).await, expected);
            scene.reload(|setup| setup.set("profiling.sample_one_in", "1"));
            settle().await;
            client.run("SELECT 4").await;
            let last = profiles(scene).await.pop();
            assert_eq!(last, Some(("chance".to_owned(), "Query")));
        };
        profiled(setup).play(play).await;
    });
}

#[test]
fn a_profile_tells_what_the_statement_alone_has_cost() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            client.run("INSERT INTO d.t (v) VALUES (1), (2)").await;
            scene.ran();
            client
                .run("SELECT n FROM d.t WHERE v > 0 /* tag: looked */")
                .await;
            settle().await;
            let texts = scene.texts(0);
            let status = "SHOW SESSION STATUS";
            let expected = [status, "SELECT n FROM d.t WHERE v > 0", status];
            assert_eq!(texts, expected);
            let view = scene.proxy.counts().await;
            let profile = &view.profiles[0];
            assert_eq!(profile.query, "SELECT n FROM d.t WHERE v > ?");
            assert_eq!((profile.rows, profile.sent, profile.error), (2, 2, None));
            assert!(
                profile.status.as_ref().unwrap().contains("\"Questions\":1"),
                "{profile:?}"
            );
        };
        profiled(setup).play(play).await;
    });
}

#[test]
fn profiling_leaves_nothing_that_the_client_could_ask_for() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            table(scene).await;
            let mut client = scene.client().await;
            client
                .run("INSERT INTO d.t (v) VALUES (1), (2), (3) /* tag: looked */")
                .await;
            assert_eq!(client.value("SELECT ROW_COUNT()").await, "3");
            assert_eq!(client.value("SELECT LAST_INSERT_ID()").await, "1");
            client
                .run("SELECT n FROM d.t WHERE v > 1 /* tag: looked */")
                .await;
            assert_eq!(client.value("SELECT FOUND_ROWS()").await, "2");
            client
                .run("DROP TABLE IF EXISTS d.nobody /* tag: looked */")
                .await;
            let warnings = client.rows("SHOW WARNINGS").await;
            assert_eq!(warnings[0][1], "1051", "{warnings:?}");
            assert_eq!(profiles(scene).await.len(), 3);
        };
        profiled(setup).play(play).await;
    });
}
