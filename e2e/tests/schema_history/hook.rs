//! A program that is told of each change.

use super::*;

both! {
    a_hook_is_told_of_each_change_and_again_until_it_takes_it
}

fn a_hook_is_told_of_each_change_and_again_until_it_takes_it(product: Product) {
    let server = start(product);
    let hook = tempfile::tempdir().unwrap();
    let [told, ready] = ["told", "ready"].map(|name| hook.path().join(name));
    let script = format!(
        "test -e {} || {{ echo not yet >&2; exit 3; }}; cat >> {}",
        ready.display(),
        told.display()
    );
    let settings =
        Settings::in_front_of([&server]).set("schema_history.hook", ["sh", "-c", &script]);
    let following = Following::start_with(settings, &[&server], &[]);
    run(
        &server,
        &["CREATE DATABASE shop", "CREATE TABLE shop.goods (id INT)"],
    );
    following
        .proxy
        .wait_event("schema_hook_failed", &["not yet", "exit status: 3"]);
    assert!(!told.exists());
    std::fs::write(&ready, "").unwrap();
    let lines = || std::fs::read_to_string(&told).unwrap_or_default();
    let wait_lines = |count: usize| {
        wait::until("the hook is told", wait::SOON, || {
            lines().lines().count() >= count
        });
    };
    wait_lines(2);
    let following = following.again();
    run(&server, &["ALTER TABLE shop.goods ADD stock INT"]);
    wait_lines(3);
    let changes: Vec<serde_json::Value> = lines()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<_> = changes
        .iter()
        .map(|it| it["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["CREATE DATABASE", "CREATE TABLE", "ALTER TABLE"]);
    assert_eq!(
        changes[2]["statement"],
        "ALTER TABLE shop.goods ADD stock INT"
    );
    assert_eq!(changes[2]["schema"], "shop");
    assert_eq!(changes[2]["object"], "goods");
    let gtid = following.rows("SELECT gtid FROM schema_changes ORDER BY id DESC LIMIT 1");
    assert_eq!(changes[2]["gtid"], gtid[0][0]);
}
