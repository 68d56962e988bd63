//! Clusters: what the proxy learns of its backends' roles, lag and positions from real servers. For its decisions see
//! `simulation/tests/scenes/clusters.rs`.

use std::process::ExitStatus;

use e2e::raw::{Login, RawConn};
use e2e::{
    Cluster, Folder, Leased, PASSWORD, Product, Proxy, Server, Settings, set_read_only,
    take_writes, wait,
};

both! {
    a_stopped_or_delayed_replica_of_the_tests_lacks_new_rows
    roles_follow_read_only
    a_replica_that_lags_is_left_out_and_comes_back
    a_replica_with_stopped_replication_is_left_out_until_it_restarts
    a_replica_that_does_not_replicate_is_left_out
    a_replica_of_unknown_lag_is_used_or_left_out
    a_read_after_a_write_goes_to_a_backend_that_has_the_write
    writes_without_gtids_are_read_where_they_were_made
    pilotfish_probe_prints_role_lag_and_position_of_each_backend
    a_missing_privilege_is_logged_and_can_be_granted_later
    a_refused_monitor_account_is_logged
}

/// The replicas in a site's cluster.
const REPLICAS: u32 = 2;

const READ: &str = "SELECT COUNT(*) FROM d.t";
const WRITE: &str = "INSERT INTO d.t VALUES (1)";

/// A cluster whose roles the proxy has to find out, with an empty table `d.t`, and a proxy in front of it.
struct Site {
    proxy: Proxy,
    // Dropped after the proxy, because the next test gets the cluster.
    cluster: Leased,
}

impl Site {
    fn start(product: Product, settings: impl FnOnce(Settings) -> Settings) -> Self {
        let cluster = Cluster::lease(product, REPLICAS);
        let mut root = cluster.primary.root();
        root.run("CREATE DATABASE d");
        root.run("CREATE TABLE d.t (n INT)");
        root.run(&format!(
            "CREATE USER looker@'%' IDENTIFIED BY '{PASSWORD}'"
        ));
        cluster.wait_caught_up();
        let common = auto(&cluster)
            .account("app", PASSWORD)
            .set("accounts.explain", true)
            .set("workers", 1)
            .set("health.monitor_user", "app")
            .set("health.monitor_password", PASSWORD)
            .set("health.monitor_interval", "100ms")
            .set("health.replication_interval", "50ms");
        let proxy = Proxy::start(&settings(common));
        Self { cluster, proxy }
    }

    fn client(&self) -> RawConn {
        self.proxy.connect_as(&Login::app().schema("d"))
    }

    /// What EXPLAIN ROUTE says about a backend for a new session's statement.
    fn finding(&self, backend: &str, statement: &str) -> String {
        let rows = explained(&mut self.client(), statement);
        let mut found = rows.into_iter();
        let found = found.find(|row| row[0] == "candidate" && row[1] == backend);
        found.map_or_else(String::new, |mut row| row.remove(2))
    }

    /// Waits until a new session's statement would go to this backend.
    fn wait_goes(&self, statement: &str, backend: &str) {
        let what = format!("{statement} goes to {backend}");
        wait::until(&what, wait::SOON, || {
            let mut client = self.client();
            // Until the session sends a statement, EXPLAIN ROUTE repeats the same random choice.
            client.value(READ);
            decision(&mut client, statement) == backend
        });
    }

    /// Waits until EXPLAIN ROUTE says these words about a backend for a read.
    fn wait_found(&self, backend: &str, words: &str) {
        let what = format!("{backend} {words}");
        wait::until(&what, wait::SOON, || {
            self.finding(backend, READ).contains(words)
        });
    }
}

/// The settings of a proxy that has to find out the roles of a cluster.
fn auto(cluster: &Cluster) -> Settings {
    let servers = std::iter::once(&cluster.primary).chain(&cluster.replicas);
    let names = ["\"primary\"", "\"replica1\"", "\"replica2\""];
    servers
        .zip(names)
        .fold(Settings::default(), |it, (server, name)| {
            it.backend_with(server.tcp(), &[("name", name), ("role", "\"auto\"")])
        })
}

/// The output of `pilotfish probe` for these settings, with one blank between columns.
fn backends(settings: &Settings) -> (ExitStatus, String) {
    let folder = Folder::new("backends");
    let file = folder.write("pilotfish.toml", settings.to_toml());
    let file = file.display().to_string();
    let (status, text) = Proxy::run_to_the_end(&["probe", "--config", &file]);
    let narrow = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(narrow).collect();
    (status, lines.join("\n"))
}

/// The rows of EXPLAIN ROUTE.
fn explained(client: &mut RawConn, statement: &str) -> Vec<Vec<String>> {
    client.run(&format!("EXPLAIN ROUTE {statement}")).texts()
}

/// The backend that a statement would go to.
fn decision(client: &mut RawConn, statement: &str) -> String {
    let mut rows = explained(client, statement).into_iter();
    let found = rows.find(|row| row[0] == "decision");
    found.expect("there is a decision").remove(1)
}

fn rows(conn: &mut RawConn) -> String {
    conn.value("SELECT COUNT(*) FROM d.t")
}

/// Tests the tests' own helpers: a stopped or delayed replica does not have the primary's new rows.
fn a_stopped_or_delayed_replica_of_the_tests_lacks_new_rows(product: Product) {
    let cluster = Cluster::lease(product, 2);
    let mut primary = cluster.primary.root();
    primary.run("CREATE DATABASE d");
    primary.run("CREATE TABLE d.t (n INT PRIMARY KEY)");
    cluster.wait_caught_up();
    cluster.stop_replication(0);
    cluster.delay(1, 3600);
    primary.run("INSERT INTO d.t VALUES (1)");
    let [mut stopped, mut delayed] = [0, 1].map(|index| cluster.replicas[index].root());
    assert_eq!(rows(&mut stopped), "0");
    assert_eq!(rows(&mut delayed), "0");
    cluster.start_replication(0);
    cluster.delay(1, 0);
    cluster.wait_caught_up();
    assert_eq!(rows(&mut stopped), "1");
    assert_eq!(rows(&mut delayed), "1");
}

/// A planned switch, as a tool or a person does it.
fn roles_follow_read_only(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    assert_eq!(decision(&mut client, WRITE), "primary");
    assert!(decision(&mut client, READ).starts_with("replica"));
    client.run(WRITE);
    site.cluster.wait_caught_up();

    set_read_only(&site.cluster.primary);
    site.proxy.wait_event("primary_missing", &[]);
    site.cluster.stop_replication(0);
    take_writes(&site.cluster.replicas[0]);
    site.proxy
        .wait_event("primary_found", &["primary=\"replica1\""]);
    site.wait_goes(WRITE, "replica1");
    client.run(WRITE);
    assert_eq!(client.value(READ), "2");
    assert_eq!(rows(&mut site.cluster.replicas[0].root()), "2");
    assert_eq!(rows(&mut site.cluster.primary.root()), "1");
}

/// Only on MySQL: on MariaDB the account is exempt from read_only.
#[test]
fn a_session_that_is_pinned_to_a_former_primary_writes_nothing_there() {
    let site = Site::start(Product::MySql, |settings| settings);
    let mut client = site.client();
    client.run("CREATE TEMPORARY TABLE own (n INT)");
    client.run("INSERT INTO own VALUES (7)");
    set_read_only(&site.cluster.primary);
    site.cluster.stop_replication(0);
    take_writes(&site.cluster.replicas[0]);
    site.wait_goes(WRITE, "replica1");
    // The session's temporary table exists on this server only. So the session stays, and gets the server's error.
    let refused = client.query(WRITE);
    assert_eq!(refused.error().expect("it is read-only").code, 1290);
    assert_eq!(client.value("SELECT n FROM own"), "7");
    assert_eq!(rows(&mut site.cluster.primary.root()), "0");
    client.run("DROP TEMPORARY TABLE own");
    client.run(WRITE);
    assert_eq!(rows(&mut site.cluster.replicas[0].root()), "1");
    assert_eq!(rows(&mut site.cluster.primary.root()), "0");
}

fn a_replica_that_lags_is_left_out_and_comes_back(product: Product) {
    let site = Site::start(product, |settings| settings.set("balance.lag_max", "1s"));
    site.cluster.delay(0, 3600);
    // Replication was stopped for a moment. The proxy has to see the replica without a lag before the test makes it
    // lag.
    site.wait_goes(READ, "replica1");
    site.cluster.primary.root().run(WRITE);
    site.proxy
        .wait_event("replica_left_out", &["backend=\"replica1\"", "lag=lags"]);
    site.wait_found("replica1", "1s are allowed");
    for _ in 0..10 {
        assert_ne!(decision(&mut site.client(), READ), "replica1");
    }
    site.cluster.delay(0, 0);
    site.wait_goes(READ, "replica1");
}

/// This test sets no limit for the lag.
fn a_replica_that_does_not_replicate_is_left_out(product: Product) {
    let site = Site::start(product, |settings| settings);
    site.wait_goes(READ, "replica2");
    site.cluster.stop_replication(1);
    site.wait_found("replica2", "has stopped replicating");
    assert_eq!(decision(&mut site.client(), READ), "replica1");
    // The proxy has seen the replica replicate. Now it does not replicate from any server.
    let forget = match product.is_mariadb() {
        true => "RESET SLAVE ALL",
        false => "RESET REPLICA ALL",
    };
    site.cluster.replicas[1].root().run(forget);
    site.wait_found("replica2", "follows none now");
    assert_eq!(decision(&mut site.client(), READ), "replica1");
}

/// If the proxy has never seen a replica replicate, the configuration decides whether it is used.
fn a_replica_of_unknown_lag_is_used_or_left_out(product: Product) {
    let servers = [Server::lease(product), Server::lease(product)];
    set_read_only(&servers[1]);
    let settings = Settings::in_front_of([&*servers[0]])
        .backend_with(
            servers[1].tcp(),
            &[("name", "\"alone\""), ("role", "\"replica\"")],
        )
        .account("app", PASSWORD)
        .set("accounts.explain", true)
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD);
    let proxy = Proxy::start(&settings);
    proxy.wait_event("replica_without_source", &[]);
    assert_eq!(decision(&mut proxy.connect(), "SELECT 1"), "alone");
    drop(proxy);
    let proxy = Proxy::start(&settings.set("balance.lag_unknown", "leave_out"));
    let primary = servers[0].tcp().to_string();
    assert_eq!(decision(&mut proxy.connect(), "SELECT 1"), primary);
}

fn a_replica_with_stopped_replication_is_left_out_until_it_restarts(product: Product) {
    let site = Site::start(product, |settings| settings.set("balance.lag_max", "1h"));
    site.cluster.stop_replication(1);
    site.proxy
        .wait_event("replication_stopped", &["backend=\"replica2\"", "stopped"]);
    site.wait_found("replica2", "has stopped replicating");
    assert_eq!(decision(&mut site.client(), READ), "replica1");
    site.cluster.start_replication(1);
    site.proxy
        .wait_event("replication_running", &["backend=\"replica2\""]);
    site.wait_goes(READ, "replica2");
}

fn a_read_after_a_write_goes_to_a_backend_that_has_the_write(product: Product) {
    let site = Site::start(product, |settings| {
        settings.set("balance.timeout_consistency", "0s")
    });
    for replica in 0..2 {
        site.cluster.stop_replication(replica);
    }
    let mut client = site.client();
    client.run(WRITE);
    let found = explained(&mut client, READ);
    let must_see = found.iter().find(|row| row[0] == "must see").unwrap();
    let position = site.cluster.position();
    let has_all = position.replace('\n', "").contains(&must_see[2]);
    assert!(
        has_all || !product.is_mariadb(),
        "{must_see:?} of {position}"
    );
    assert_eq!(decision(&mut client, READ), "primary", "{found:?}");
    assert_eq!(client.value(READ), "1");
    site.cluster.start_replication(1);
    wait::until("the read goes to replica2", wait::SOON, || {
        decision(&mut client, READ) == "replica2"
    });
    assert_eq!(client.value(READ), "1");
}

/// The proxy cannot know whether a replica has such writes. These two servers do not even replicate.
fn writes_without_gtids_are_read_where_they_were_made(product: Product) {
    let servers = [(); 2].map(|()| Server::lease(product));
    for server in &servers {
        let mut root = server.root();
        root.run("CREATE DATABASE d");
        root.run("CREATE TABLE d.t (n INT)");
    }
    set_read_only(&servers[1]);
    let settings = Settings::default()
        .backend_with(servers[0].tcp(), &[("name", "\"primary\"")])
        .backend_with(
            servers[1].tcp(),
            &[("name", "\"replica1\""), ("role", "\"replica\"")],
        )
        .account("app", PASSWORD)
        .set("accounts.explain", true)
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD);
    let proxy = Proxy::start(&settings);
    proxy.wait_event("replica_without_source", &["backend=\"replica1\""]);
    let mut client = proxy.connect();
    assert_eq!(decision(&mut client, READ), "replica1");
    client.run(WRITE);
    assert_eq!(decision(&mut client, READ), "primary");
    assert_eq!(client.value(READ), "1");
    let mut other = proxy.connect();
    assert_eq!(other.value(READ), "0");
}

fn pilotfish_probe_prints_role_lag_and_position_of_each_backend(product: Product) {
    let mut cluster = Cluster::lease(product, REPLICAS);
    let mut root = cluster.primary.root();
    root.run("CREATE DATABASE d");
    root.run(&format!(
        "CREATE USER looker@'%' IDENTIFIED BY '{PASSWORD}'"
    ));
    cluster.wait_caught_up();
    let settings = auto(&cluster)
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD);
    // MySQL reports a lag until its next checkpoint, even if the replica has caught up.
    let told = wait::for_some("replicas that do not lag", wait::SOON, || {
        let (status, told) = backends(&settings);
        assert!(status.success(), "{told}");
        (told.matches("does not lag").count() == 2).then_some(told)
    });
    let family = match product.is_mariadb() {
        true => "MariaDB",
        false => "MySQL",
    };
    let position = cluster.position().replace('\n', "");
    for expected in [
        format!("primary main primary up, {family} "),
        "takes writes, has ".to_owned(),
        format!("replica2 main replica up, {family} "),
        format!("is read-only, does not lag, has {position}"),
    ] {
        assert!(told.contains(&expected), "{told} lacks {expected}");
    }

    cluster.replicas[1].kill();
    cluster.stop_replication(0);
    let (status, told) = backends(&settings.clone().set("health.monitor_user", "looker"));
    assert!(!status.success());
    let words = [
        "its lag is not known, what helps is GRANT",
        "replica2 main no role down: ",
    ];
    assert!(words.iter().all(|it| told.contains(it)), "{told}");
    let (_, told) = backends(&settings);
    assert!(
        told.contains("is read-only, has stopped replicating"),
        "{told}"
    );
}

fn a_missing_privilege_is_logged_and_can_be_granted_later(product: Product) {
    let site = Site::start(product, |settings| {
        settings
            .set("health.monitor_user", "looker")
            .set("balance.lag_max", "1h")
    });
    let told = site
        .proxy
        .wait_event("lag_unknown", &["backend=\"replica1\""]);
    // The roles are known although the privilege is missing.
    assert_eq!(decision(&mut site.client(), WRITE), "primary");
    site.wait_found("replica1", "its lag is not known, what helps is GRANT");
    site.cluster.stop_replication(0);
    let grant = told.split_once("GRANT").expect("what would help is told").1;
    let grant = grant.split_once('"').unwrap().0;
    let replica = &site.cluster.replicas[0];
    take_writes(replica);
    let mut root = replica.root();
    root.run("SET sql_log_bin = 0");
    root.run(&format!("GRANT{grant}"));
    set_read_only(replica);
    site.proxy
        .wait_event("lag_known", &["backend=\"replica1\""]);
    site.wait_found("replica1", "has stopped replicating");
}

fn a_refused_monitor_account_is_logged(product: Product) {
    let cluster = Cluster::lease(product, REPLICAS);
    let settings = Settings::of_cluster(&cluster)
        .account("app", PASSWORD)
        .set("accounts.explain", true)
        .set("health.monitor_password", "another");
    let proxy = Proxy::start(&settings);
    let told = proxy.wait_event("replication_status_denied", &["backend=\"replica1\""]);
    assert!(told.contains("Access denied"), "{told}");
    let mut client = proxy.connect();
    assert!(decision(&mut client, "SELECT * FROM d.t").starts_with("replica"));
    proxy.reload(&settings.set("health.monitor_password", PASSWORD));
    proxy.wait_event("replication_status_known", &["backend=\"replica1\""]);
}
