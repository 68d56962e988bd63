//! Reads go to replicas, writes to the primary, and a session sees its own writes. For waits in vain, lost replicas and
//! sessions held at a replica, see `simulation/tests/scenes/splitting.rs` and `reading_transactions.rs`.

use std::collections::BTreeSet;

use e2e::raw::{Execute, Login, Param, RawConn, Reply, Shape, query_with_attributes};
use e2e::{Cluster, Leased, PASSWORD, Product, Proxy, Settings, wait};

/// A cluster in which `SELECT name FROM d.whoami` gives the name of the answering server, with a proxy in front.
struct Site {
    proxy: Proxy,
    // Dropped after the proxy, because the next test gets the cluster.
    cluster: Leased,
}

impl Site {
    fn start(product: Product, settings: impl FnOnce(Settings) -> Settings) -> Self {
        Self::in_front_of(Self::cluster(product), settings)
    }

    fn cluster(product: Product) -> Leased {
        let cluster = Cluster::lease(product, 2);
        cluster
            .tell_apart(&["CREATE TABLE d.t (n INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20))"]);
        cluster
    }

    fn in_front_of(cluster: Leased, settings: impl FnOnce(Settings) -> Settings) -> Self {
        let common = Settings::of_cluster(&cluster)
            .account("app", PASSWORD)
            .set("workers", 1)
            .set("health.replication_interval", "50ms")
            // On a busy machine, a read should still not go to the primary.
            .set("balance.timeout_consistency", "20s");
        let proxy = Proxy::start(&settings(common));
        let site = Self { cluster, proxy };
        site.wait_positions_are_known();
        site
    }

    /// Waits until the monitor knows the primary's position. Before that, the proxy does not know the position of a
    /// write, so a read after it goes to the primary, or fails if it may not.
    fn wait_positions_are_known(&self) {
        let mut client = self.client();
        wait::until("the monitor knows the primary", wait::SOON, || {
            client.run("DELETE FROM t WHERE n = 0");
            let reply = client.query(WHO);
            reply.error().is_none() && reply.text(0, 0).as_deref() != Some("primary")
        });
    }

    fn client(&self) -> RawConn {
        self.proxy.connect_as(&Login::app().schema("d"))
    }
}

const WHO: &str = "SELECT name FROM d.whoami";

both! {
    reads_go_to_replicas_and_all_else_to_the_primary
    a_client_reads_its_own_writes_although_the_replicas_lag
    a_replica_that_catches_up_in_time_is_waited_for
    a_read_after_a_failed_write_waits_for_its_rows_at_a_replica
    a_write_is_seen_by_whoever_is_given_its_gtid
    explain_route_names_the_role_and_the_reason_for_a_statement
    unqualified_system_tables_are_recognised_by_the_sessions_schema
    statements_that_pin_a_session_run_at_the_primary
    explain_of_a_write_runs_at_the_primary
    statements_with_an_implicit_commit_end_a_read_only_transaction_on_a_replica
    stored_functions_listed_as_reading_run_at_replicas
    warnings_of_a_write_survive_reads_of_other_sessions_at_the_replicas
}

/// The session has used the replicas' connections before the other session does.
fn warnings_of_a_write_survive_reads_of_other_sessions_at_the_replicas(product: Product) {
    let site = Site::start(product, |settings| settings);
    let (mut client, mut other) = (site.client(), site.client());
    for _ in 0..4 {
        assert_ne!(client.value(WHO), "primary");
    }
    client.run("INSERT IGNORE INTO t (name) VALUES (REPEAT('x', 30))");
    for _ in 0..8 {
        assert_ne!(other.value(WHO), "primary");
    }
    let warnings = client.run("SHOW WARNINGS").texts();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0][1], "1265");
}

/// A SELECT with a stored function may write, unless a setting lists the function as reading.
fn stored_functions_listed_as_reading_run_at_replicas(product: Product) {
    let site = Site::start(product, |settings| {
        settings.set("balance.functions_that_read", &["d.who_reads"][..])
    });
    let mut root = site.cluster.primary.root();
    for name in ["who_reads", "who_writes"] {
        root.run(&format!(
            "CREATE FUNCTION d.{name}() RETURNS VARCHAR(20) READS SQL DATA \
             RETURN (SELECT name FROM d.whoami)"
        ));
    }
    site.cluster.wait_caught_up();
    let mut client = site.client();
    assert_ne!(client.value("SELECT `d`.WHO_reads() AS name"), "primary");
    let prepared = client.prepare("SELECT d.who_reads() AS name");
    let reply = client.execute(&Execute::new(prepared.statement(), &[]));
    assert_ne!(reply.text(0, 0).as_deref(), Some("primary"));
    let both = "SELECT CONCAT(d.who_reads(), d.who_writes()) AS name";
    assert_eq!(client.value(both), "primaryprimary");
}

/// Servers commit implicitly before DDL and BEGIN. That also ends a read-only transaction on a replica, and writes
/// after it go to the primary.
fn statements_with_an_implicit_commit_end_a_read_only_transaction_on_a_replica(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    let begin = |client: &mut RawConn| {
        client.run("START TRANSACTION READ ONLY");
        assert_ne!(client.value(WHO), "primary");
    };
    begin(&mut client);
    client.run("CREATE TABLE made (n INT)");
    assert_ne!(client.value(WHO), "primary", "no transaction is open");
    begin(&mut client);
    client.run("BEGIN");
    assert_eq!(client.value(WHO), "primary");
    client.run("INSERT INTO made VALUES (1)");
    client.run("ROLLBACK");
    assert_eq!(client.value("SELECT COUNT(*) FROM made"), "0");
    begin(&mut client);
    client.run("START TRANSACTION READ ONLY");
    assert_ne!(client.value(WHO), "primary", "it only reads, too");
    let prepared = client.prepare("DROP TABLE made");
    client.execute(&Execute::new(prepared.statement(), &[]));
    client.run("CREATE TABLE made (n INT)");
    client.run("SET completion_type = 'CHAIN'");
    begin(&mut client);
    client.run("DROP TABLE made");
    client.run("SET completion_type = 'NO_CHAIN'");
    client.run("ROLLBACK");
    begin(&mut client);
    let refused = client.query("INSERT INTO t (name) VALUES ('a')");
    assert!(refused.error().is_some(), "it only reads");
    client.run("COMMIT");
    assert_eq!(client.value("SELECT COUNT(*) FROM t"), "0");
}

/// A role, and variables that belong to their connection, pin the session. The pinned connection must be the primary's,
/// which accepts the session's writes.
fn statements_that_pin_a_session_run_at_the_primary(product: Product) {
    let site = Site::start(product, |settings| settings);
    for holding in [
        "SET ROLE NONE",
        "SET profiling = 1",
        "SET optimizer_trace = 'enabled=on'",
        "SET session_track_schema = OFF",
        "SET rand_seed1 = 5",
    ] {
        let mut client = site.client();
        assert_ne!(client.value(WHO), "primary");
        client.run(holding);
        client.run("INSERT INTO t (name) VALUES ('a')");
    }
}

/// An ERR packet does not have the position of the write that the failed statement left.
fn a_read_after_a_failed_write_waits_for_its_rows_at_a_replica(product: Product) {
    let site = Site::start(product, |settings| {
        settings.set("balance.fallback", "error")
    });
    let mut client = site.client();
    client.run("CREATE TABLE kept (n INT PRIMARY KEY) ENGINE=MyISAM");
    for n in 0..4 {
        let reply = client.query(&format!("INSERT INTO kept VALUES ({n}), ({n})"));
        assert_eq!(reply.error().unwrap().code, 1062);
        assert_ne!(client.value(WHO), "primary");
        let kept = client.value("SELECT COUNT(*) FROM kept");
        assert_eq!(kept, (n + 1).to_string());
    }
}

fn explain_of_a_write_runs_at_the_primary(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    for planned in [
        "EXPLAIN UPDATE t SET name = 'b'",
        "EXPLAIN DELETE FROM t WHERE n = 1",
        "EXPLAIN INSERT INTO t (name) VALUES ('a')",
        "EXPLAIN SELECT * FROM t FOR UPDATE",
    ] {
        assert_ne!(client.value(WHO), "primary");
        client.run(planned);
    }
}

fn reads_go_to_replicas_and_all_else_to_the_primary(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    let who: BTreeSet<String> = (0..20).map(|_| client.value(WHO)).collect();
    let both = ["replica1", "replica2"].map(str::to_owned);
    assert!(who.iter().all(|name| both.contains(name)), "{who:?}");
    client.run("INSERT INTO t (name) VALUES ('a')");
    assert_eq!(client.value("SELECT LAST_INSERT_ID()"), "1");
    assert_eq!(client.value(&format!("{WHO} FOR UPDATE")), "primary");
    client.run("BEGIN");
    assert_eq!(client.value(WHO), "primary");
    client.run("COMMIT");
    client.run("START TRANSACTION READ ONLY");
    assert_ne!(client.value(WHO), "primary");
    client.run("COMMIT");
    client.run("SET autocommit = 0");
    assert_eq!(client.value(WHO), "primary");
    client.run("COMMIT");
    client.run("SET autocommit = 1");
    assert_ne!(client.value(WHO), "primary");
    client.run("CREATE TEMPORARY TABLE own (n INT)");
    assert_eq!(client.value(WHO), "primary");
    client.run("DROP TEMPORARY TABLE own");
    client.run("SET @who = 'me', time_zone = '+03:00'");
    let row = client
        .run("SELECT name, @who FROM whoami")
        .texts()
        .remove(0);
    assert_ne!(row[0], "primary");
    assert_eq!(row[1], "me");
    assert_eq!(
        client.value("SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP())"),
        "03:00:00"
    );
}

/// Keeps new writes from the replicas, which still replicate and answer reads.
fn hold_back(site: &Site) {
    for replica in 0..2 {
        site.cluster.delay(replica, 3600);
    }
    // Replication was stopped for a moment to set the delay.
    for replica in 0..2 {
        let server = &site.cluster.replicas[replica];
        let status = match server.product.is_mariadb() {
            true => "SHOW SLAVE STATUS",
            false => "SHOW REPLICA STATUS",
        };
        wait::until("a replica replicates", wait::SOON, || {
            server.root().run(status).text(0, 10).as_deref() == Some("Yes")
        });
    }
    let mut client = site.client();
    let mut row = 0;
    wait::until("reads go to replicas", wait::SOON, || {
        row = match client.value(WHO) == "primary" {
            true => 0,
            false => row + 1,
        };
        row > 50
    });
}

fn a_client_reads_its_own_writes_although_the_replicas_lag(product: Product) {
    let site = Site::start(product, |settings| {
        settings.set("balance.timeout_consistency", "50ms")
    });
    let mut client = site.client();
    let mut other = site.client();
    hold_back(&site);
    assert_eq!(client.value("SELECT COUNT(*) FROM t"), "0");
    client.run("INSERT INTO t (name) VALUES ('a')");
    assert_eq!(client.value("SELECT COUNT(*) FROM t"), "1");
    assert_eq!(client.value(WHO), "primary");
    // The other session has not written.
    assert_ne!(other.value(WHO), "primary");
    assert_eq!(other.value("SELECT COUNT(*) FROM t"), "0");
    client.run("BEGIN");
    client.run("INSERT INTO t (name) VALUES ('b')");
    client.run("COMMIT");
    assert_eq!(client.value("SELECT COUNT(*) FROM t"), "2");
    for replica in 0..2 {
        site.cluster.delay(replica, 0);
    }
    site.cluster.wait_caught_up();
    wait::until("reads go to replicas again", wait::SOON, || {
        client.value(WHO) != "primary"
    });
    assert_eq!(client.value("SELECT COUNT(*) FROM t"), "2");
}

fn a_replica_that_catches_up_in_time_is_waited_for(product: Product) {
    let site = Site::start(product, |settings| {
        // The monitor's interval is too long to learn of each write in time.
        settings
            .set("balance.timeout_consistency", "20s")
            .set("health.replication_interval", "2s")
    });
    let mut client = site.client();
    for number in 1..=20 {
        client.run("INSERT INTO t (name) VALUES ('a')");
        let asked = "SELECT COUNT(*), (SELECT name FROM whoami) FROM t";
        let row = client.run(asked).texts().remove(0);
        assert_eq!(row[0], number.to_string());
        assert_ne!(row[1], "primary");
    }
}

/// The hint is a comment. MySQL's clients also send it as an attribute of a query or an execution.
fn a_write_is_seen_by_whoever_is_given_its_gtid(product: Product) {
    let site = Site::start(product, |settings| {
        settings
            .set("balance.timeout_consistency", "50ms")
            .set("hints.accepted", ["pilotfish"])
    });
    hold_back(&site);
    site.client().run("INSERT INTO t (name) VALUES ('a')");
    let token = format!("gtid={}", site.cluster.position().replace('\n', ""));
    let mut client = site.client();
    let count = "SELECT CONCAT('x', COUNT(*)) FROM t";
    assert_eq!(client.value(count), "x0");
    let hinted = format!("{count} /* pilotfish: {token} */");
    assert_eq!(client.value(&hinted), "x1");
    if product != Product::MySql {
        return;
    }
    let login = Login::app().schema("d");
    let login = login.and(e2e::raw::capability::QUERY_ATTRIBUTES);
    let mut client = site.proxy.connect_as(&login);
    let attribute = Param::Text(&token);
    client.send(&query_with_attributes(&[("pilotfish", attribute)], count));
    assert_eq!(client.reply(Shape::Results).texts(), [["x1"]]);
    let prepared = client.prepare(count);
    let execute = Execute::new(prepared.statement(), &[]);
    let value = |reply: &Reply| {
        let row = &reply.results().next().unwrap().rows[0];
        // A header, a bitmap of NULLs and a length precede the value.
        String::from_utf8_lossy(&row[3..]).into_owned()
    };
    assert_eq!(value(&client.execute(&execute)), "x0");
    let execute = execute.attribute("pilotfish", attribute);
    assert_eq!(value(&client.execute(&execute)), "x1");
}

fn unqualified_system_tables_are_recognised_by_the_sessions_schema(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    let who = client.value("SELECT @@server_id");
    assert_eq!(client.value("SELECT CONNECTION_ID() > 0"), "1");
    let here = "SELECT variable_value FROM global_variables WHERE variable_name = 'server_id'";
    let home = match product.is_mariadb() {
        true => "information_schema",
        false => "performance_schema",
    };
    client.run(&format!("USE {home}"));
    assert_eq!(client.value(here), who, "by USE");
    let prepared = client.prepare(here);
    let reply = client.execute(&Execute::new(prepared.statement(), &[]));
    let row = &reply.results().next().unwrap().rows[0];
    assert_eq!(String::from_utf8_lossy(&row[3..]), who, "when prepared");
    client.run("USE d");
    assert_ne!(client.value(WHO), "primary");
    let mut other = site.proxy.connect_as(&Login::app().schema(home));
    assert_eq!(other.value(here), who, "by the login");
    // Other tables may be read on any server.
    let tables = "SELECT COUNT(*) FROM d.t WHERE (SELECT name FROM d.whoami) = 'primary'";
    assert_eq!(other.value(tables), "0");
}

fn explain_route_names_the_role_and_the_reason_for_a_statement(product: Product) {
    let site = Site::start(product, |settings| {
        settings
            .set("accounts.explain", true)
            .set("hints.accepted", ["pilotfish"])
    });
    let mut client = site.client();
    let told = client
        .run(&format!("EXPLAIN ROUTE {WHO}"))
        .texts()
        .concat()
        .join(" ");
    assert!(
        told.contains("replica") && told.contains("it reads"),
        "{told}"
    );
    let told = client
        .run("EXPLAIN ROUTE DELETE FROM t")
        .texts()
        .concat()
        .join(" ");
    assert!(
        told.contains("primary") && told.contains("it writes"),
        "{told}"
    );
    let rows = client
        .run(&format!("EXPLAIN ROUTE {WHO} /* pilotfish: primary */"))
        .texts();
    let row = |step: &str| rows.iter().find(|row| row[0] == step).unwrap()[1].clone();
    assert_eq!(row("role"), "primary", "{rows:?}");
    assert_eq!(row("decision"), "primary", "{rows:?}");
    client.run("BEGIN");
    let told = client
        .run(&format!("EXPLAIN ROUTE {WHO}"))
        .texts()
        .concat()
        .join(" ");
    assert!(told.contains("transaction"), "{told}");
}
