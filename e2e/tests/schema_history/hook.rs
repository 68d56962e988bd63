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
    // A change comes once more if the proxy ends after the program took it and before the proxy noted that.
    let changes = || -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(&told).unwrap_or_default();
        let lines = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        let mut changes: Vec<serde_json::Value> = lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        changes.dedup_by(|next, change| next["id"] == change["id"]);
        changes
    };
    let wait_changes = |count: usize| {
        wait::until("the hook is told", wait::SOON, || changes().len() >= count);
    };
    wait_changes(2);
    let following = following.again();
    run(&server, &["ALTER TABLE shop.goods ADD stock INT"]);
    wait_changes(3);
    let changes = changes();
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
