//! The user of a change: from the server's log, or else from the session that sent it through the proxy.

use e2e::raw::Login;

use super::*;

both! {
    statements_over_shared_connections_have_the_session_s_user
    statements_over_a_session_s_own_connection_have_its_user
}

impl Following {
    /// A session through the proxy.
    fn session(&self, user: &str, password: &str) -> RawConn {
        self.proxy.connect_as(&Login::with(user, password))
    }

    fn maker(&self, object: &str) -> [String; 2] {
        let select = format!(
            "SELECT ifnull(account, 'unknown'), ifnull(host, 'unknown') FROM schema_changes WHERE object = '{object}'"
        );
        let rows = self.rows(&select);
        rows[0].clone().try_into().unwrap()
    }
}

/// Makes users with all privileges.
fn make_users(server: &Server, users: &[&str]) {
    for user in users {
        run(
            server,
            &[
                &format!("CREATE USER {user} IDENTIFIED BY '{PASSWORD}'"),
                &format!("GRANT ALL ON *.* TO {user}"),
            ],
        );
    }
}

fn statements_over_shared_connections_have_the_session_s_user(product: Product) {
    let server = start(product);
    make_users(&server, &["ann", "bob"]);
    let settings = Settings::in_front_of([&*server])
        .account("ann", PASSWORD)
        .account("bob", PASSWORD)
        .set("workers", 1)
        .set("routing.session", "statement")
        .set("pool.backend_connections_max", 2);
    let following = Following::start_with(settings, &[&server], &[]);
    let mut ann = following.session("ann", PASSWORD);
    let mut bob = following.session("bob", PASSWORD);
    ann.run("CREATE DATABASE shop");
    bob.run("CREATE TABLE shop.of_bob (a INT)");
    ann.run("CREATE TABLE shop.of_ann (a INT)");
    bob.run("CREATE TABLE shop.of_bob_too (a INT)");
    // The server logs this statement in its own words.
    ann.run("DROP TABLE shop.of_bob_too, shop.of_bob");
    server
        .root()
        .run("CREATE TABLE shop.past_the_proxy (a INT)");
    following.wait_change("CREATE TABLE", "past_the_proxy");
    let of = |user: &str| [user.to_owned(), "127.0.0.1".to_owned()];
    assert_eq!(following.maker("shop"), of("ann"));
    assert_eq!(following.maker("of_bob"), of("bob"));
    assert_eq!(following.maker("of_ann"), of("ann"));
    assert_eq!(following.maker("past_the_proxy"), ["unknown", "unknown"]);
    let dropped =
        following.rows("SELECT account, host FROM schema_changes WHERE kind = 'DROP TABLE'");
    assert_eq!(dropped, [["ann", "127.0.0.1"]]);
    // The account is the author of a commit.
    let folder = following.folder.path().join("repository");
    let config = following.folder.path().join("pilotfish.toml");
    std::fs::write(&config, following.settings.to_toml()).unwrap();
    let exported = std::process::Command::new(e2e::program())
        .args(["schema", "export", "main", "--schema", "shop", "--git"])
        .arg(&folder)
        .arg("-c")
        .arg(&config)
        .status();
    assert!(exported.unwrap().success());
    let log = std::process::Command::new("git")
        .arg("-C")
        .arg(&folder)
        .args(["log", "--format=%an|%s"])
        .output();
    let log = String::from_utf8(log.unwrap().stdout).unwrap();
    assert!(log.contains("ann|CREATE TABLE shop.of_ann"), "{log}");
}

fn statements_over_a_session_s_own_connection_have_its_user(product: Product) {
    let server = start(product);
    make_users(&server, &["ann"]);
    let following = Following::start(&server, &[]);
    let mut ann = following.session("ann", PASSWORD);
    ann.run("CREATE DATABASE shop");
    ann.run("CREATE TABLE shop.of_ann (a INT)");
    following.wait_change("CREATE TABLE", "of_ann");
    assert_eq!(following.maker("of_ann"), ["ann", "127.0.0.1"]);
    server
        .root()
        .run("CREATE TABLE shop.past_the_proxy (a INT)");
    following.wait_change("CREATE TABLE", "past_the_proxy");
    assert_eq!(following.maker("past_the_proxy"), ["unknown", "unknown"]);
}
