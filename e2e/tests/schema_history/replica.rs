//! A stream that follows a replica: which server it reads from while replicas stop, are promoted and come back.

use super::*;

both! {
    a_stream_follows_a_replica_and_another_one_when_it_stops_or_is_promoted
}

/// Three servers whose roles the proxy detects.
fn settings(servers: [&Server; 3]) -> Settings {
    let own = Settings::default()
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD)
        .set("health.monitor_interval", "100ms")
        .set("health.replication_interval", "100ms");
    let names = ["first", "second", "third"];
    servers
        .iter()
        .zip(names)
        .fold(own, |settings, (server, name)| {
            let name = format!("{name:?}");
            let more = [("name", name.as_str()), ("role", "\"auto\"")];
            settings.backend_with(server.tcp(), &more)
        })
}

impl Following {
    fn wait_follows(&self, name: &str) {
        let select = format!(
            "SELECT count(*) FROM replication WHERE backend = '{name}' AND state = 'streaming'"
        );
        self.wait_for(name, &select);
    }

    /// Makes a table on the primary, and waits until the stream has it.
    fn expect(&self, primary: &Server, table: &str) {
        run(primary, &[&format!("CREATE TABLE shop.{table} (a INT)")]);
        self.wait_change("CREATE TABLE", table);
        let known = format!(
            "SELECT count(*) FROM schema_versions WHERE object = '{table}' AND until IS NULL"
        );
        self.wait_for("the definition", &known);
    }
}

/// Whether the proxy is among the replicas of a server.
fn has_stream(server: &Server) -> bool {
    let mut root = server.root();
    let threads = root.run("SHOW PROCESSLIST").texts();
    threads
        .iter()
        .any(|row| row[1] == "follower" && row[4].starts_with("Binlog Dump"))
}

fn a_stream_follows_a_replica_and_another_one_when_it_stops_or_is_promoted(product: Product) {
    let mut cluster = Cluster::start(product, 2);
    for replica in &cluster.replicas {
        e2e::take_writes(replica);
        make_account(replica);
        e2e::set_read_only(replica);
    }
    make_account(&cluster.primary);
    let [second, third] = &cluster.replicas[..] else {
        panic!("there are two replicas");
    };
    let settings = settings([&cluster.primary, second, third]);
    let following = Following::start_with(settings, &[], &[("from", "\"replica\"")]);
    following.wait_follows("second");
    run(&cluster.primary, &["CREATE DATABASE shop"]);
    following.expect(&cluster.primary, "of_second");
    assert!(has_stream(second) && !has_stream(&cluster.primary) && !has_stream(third));

    // The replica stops, so the stream follows another one.
    cluster.replicas[0].kill();
    following.wait_follows("third");
    following.expect(&cluster.primary, "of_third");

    // The stream stays on its replica, although the first one of the list is back.
    cluster.replicas[0].start_again();
    let [second, third] = &cluster.replicas[..] else {
        panic!("there are two replicas");
    };
    e2e::set_read_only(second);
    following.wait_for(
        "the replica is back",
        "SELECT count(*) FROM backends WHERE name = 'second' AND state = 'up' AND role = 'replica'",
    );
    following.expect(&cluster.primary, "of_third_still");
    assert!(has_stream(third) && !has_stream(second));

    // The server is up but does not replicate any more.
    cluster.stop_replication(1);
    following.wait_follows("second");
    following.expect(&cluster.primary, "of_second_again");
    cluster.start_replication(1);
    cluster.wait_caught_up();

    promote_the_one_that_is_followed(&mut cluster, &following);

    // There is no replica left, so the stream follows the primary.
    cluster.replicas[1].kill();
    following.wait_follows("second");
    following.expect(&cluster.replicas[0], "of_the_primary");

    // No change is recorded twice, and none is missing.
    let rows = following.rows("SELECT object, server_id FROM schema_changes ORDER BY id");
    assert_eq!(
        rows,
        [
            ["shop", "1"],
            ["of_second", "1"],
            ["of_third", "1"],
            ["of_third_still", "1"],
            ["of_second_again", "1"],
            ["of_third_again", "2"],
            ["of_the_primary", "2"],
        ]
    );
}

/// Promotes the second server, which the stream follows, to the primary of the third.
fn promote_the_one_that_is_followed(cluster: &mut Cluster, following: &Following) {
    cluster.primary.kill();
    cluster.stop_replication(0);
    cluster.stop_replication(1);
    let [second, third] = &cluster.replicas[..] else {
        panic!("there are two replicas");
    };
    e2e::take_writes(second);
    e2e::follow(third, second.port());
    following.wait_follows("third");
    following.expect(second, "of_third_again");
    assert!(has_stream(third));
}
