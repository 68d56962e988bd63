//! Clusters that several tests use, one after the other.

use e2e::{Cluster, Product, Server, take_writes};

both! {
    a_cluster_is_used_again_unless_a_test_has_changed_its_servers
}

/// An option that no other test asks for, so no other test gets this cluster.
const OPTIONS: &[&str] = &["--back-log=77"];

/// A change that the return of a cluster does not undo.
const CHANGES_AN_ACCOUNT: &str = "ALTER USER nopass@'%' IDENTIFIED BY 'something'";

fn a_cluster_is_used_again_unless_a_test_has_changed_its_servers(product: Product) {
    let first = Cluster::lease_with(product, 1, OPTIONS);
    first.tell_apart(&["CREATE TABLE d.t (n INT)"]);
    first.primary.root().run("CREATE USER visitor");
    let port = first.primary.port();
    let mut left = first.primary.connect("d");
    first.delay(0, 3600);
    first.primary.root().run("DROP TABLE d.t");
    first.stop_replication(0);
    drop(first);

    let second = Cluster::lease_with(product, 1, OPTIONS);
    assert_eq!(second.primary.port(), port);
    assert!(left.try_query("SELECT 1").is_err(), "its session has ended");
    for server in std::iter::once(&second.primary).chain(&second.replicas) {
        let mut root = server.root();
        let visitors = "SELECT COUNT(*) FROM mysql.user WHERE user = 'visitor'";
        assert_eq!(root.value(visitors), "0");
        assert!(root.query("USE d").error().is_some());
    }
    take_writes(&second.replicas[0]);
    drop(second);

    let third = Cluster::lease_with(product, 1, OPTIONS);
    assert_eq!(third.primary.port(), port);
    let is_read_only = third.replicas[0].root().value("SELECT @@global.read_only");
    assert_eq!(is_read_only, "1");
    third.primary.root().run(CHANGES_AN_ACCOUNT);
    drop(third);

    let fourth = Cluster::lease_with(product, 1, OPTIONS);
    assert_ne!(fourth.primary.port(), port);
}

#[test]
fn a_server_is_used_again_unless_a_test_has_changed_it() {
    let product = Product::MariaDb;
    let first = Server::lease_with(product, OPTIONS);
    let port = first.port();
    first.root().run("CREATE DATABASE mine");
    drop(first);

    let second = Server::lease_with(product, OPTIONS);
    assert_eq!(second.port(), port);
    assert!(second.root().query("USE mine").error().is_some());
    let value = "SELECT @@global.max_connections";
    let before = second.root().value(value);
    second.root().run("SET GLOBAL max_connections = 17");
    drop(second);

    let third = Server::lease_with(product, OPTIONS);
    assert_eq!(third.port(), port);
    assert_eq!(third.root().value(value), before);
    third.root().run(CHANGES_AN_ACCOUNT);
    drop(third);
    assert_ne!(Server::lease_with(product, OPTIONS).port(), port);
}
