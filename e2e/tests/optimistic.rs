//! Optimistic transactions: they begin on a replica, and move to the primary with their first write if their reads give
//! the same result there. For faults, limits and rules, see `simulation/tests/scenes/optimistic_transactions.rs`.

use e2e::raw::{Execute, Login, Param, RawConn, Reply, capability};
use e2e::{Cluster, Leased, PASSWORD, Product, Proxy, Settings, wait};

/// A cluster in which `SELECT name FROM d.whoami` gives the name of the answering server, with a proxy in front.
struct Site {
    proxy: Proxy,
    // Dropped after the proxy, because the next test gets the cluster.
    cluster: Leased,
}

const INSERT: &str = "INSERT INTO t VALUES (1, 'a')";
const COUNT: &str = "SELECT COUNT(*) FROM t";
const WHO: &str = "SELECT name FROM whoami";

impl Site {
    fn start(product: Product, settings: impl FnOnce(Settings) -> Settings) -> Self {
        let cluster = Cluster::lease(product, 2);
        cluster.tell_apart(&[
            "CREATE TABLE d.t (n INT PRIMARY KEY, name VARCHAR(20))",
            "CREATE TABLE d.seen (n INT PRIMARY KEY, name VARCHAR(20))",
            "INSERT INTO d.seen VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        ]);
        let common = Settings::of_cluster(&cluster)
            .account("app", PASSWORD)
            .set("workers", 1)
            .set("accounts.explain", true)
            .set("health.replication_interval", "50ms")
            .set("routing.optimistic_transactions", true)
            // On a busy machine, a transaction should still begin on a replica.
            .set("balance.timeout_consistency", "20s");
        let proxy = Proxy::start(&settings(common));
        let site = Self { cluster, proxy };
        wait_begins_at_replica(&mut site.client());
        site
    }

    fn client(&self) -> RawConn {
        self.proxy.connect_as(&Login::app().schema("d"))
    }

    /// The number of committed rows on the primary. Checks that the replicas have the same rows.
    fn count(&self) -> String {
        let ask = "SELECT COUNT(*) FROM d.t";
        let count = self.cluster.primary.root().value(ask);
        self.cluster.wait_caught_up();
        for replica in &self.cluster.replicas {
            assert_eq!(replica.root().value(ask), count);
        }
        count
    }

    /// The index of the replica whose connection the client's session holds.
    fn replica_of(client: &mut RawConn) -> usize {
        let name = held_at(client);
        let number = name
            .strip_prefix("replica")
            .unwrap_or_else(|| panic!("{name}"));
        number.parse::<usize>().unwrap() - 1
    }
}

/// The value of an item of EXPLAIN SESSION.
fn told(client: &mut RawConn, item: &str) -> String {
    let rows = client.run("EXPLAIN SESSION").texts();
    rows.into_iter()
        .find(|row| row[0] == item)
        .unwrap()
        .remove(1)
}

/// The backend whose connection the client's session holds.
fn held_at(client: &mut RawConn) -> String {
    told(client, "connection")
}

/// Waits until the monitor knows that a replica has the client's writes.
fn wait_begins_at_replica(client: &mut RawConn) {
    wait::until("the monitor knows who has what", wait::SOON, || {
        client.run("DELETE FROM seen WHERE n = 0");
        client.run("BEGIN");
        let is_at_replica = held_at(client) != "primary";
        client.run("ROLLBACK");
        is_at_replica
    });
}

/// Begins a transaction on a replica, with a read. Repeats that if the proxy begins it on the primary, because
/// replication seemed to be stopped.
fn begin(client: &mut RawConn) {
    wait::until("a transaction begins at a replica", wait::SOON, || {
        client.run("BEGIN");
        assert_eq!(client.value("SELECT name FROM seen WHERE n = 2"), "b");
        let is_at_replica = held_at(client) != "primary";
        if !is_at_replica {
            client.run("ROLLBACK");
        }
        is_at_replica
    });
    Site::replica_of(client);
}

/// Checks for the error of a transaction whose reads give another result on the primary.
fn assert_changed(reply: &Reply) {
    let error = reply.error().unwrap();
    assert_eq!((error.code, &*error.state), (1213, "40001"), "{error}");
}

both! {
    an_optimistic_transaction_moves_to_the_primary_with_its_first_write
    a_transaction_that_only_reads_ends_on_its_replica
    a_read_that_has_become_stale_gives_error_1213
    a_first_write_fails_only_if_the_replicas_rows_were_stale
    optimistic_transactions_work_with_compression_and_without_deprecate_eof
    prepared_reads_are_repeated_too
    statements_that_are_no_plain_reads_run_at_the_primary
    diagnostics_of_a_read_are_available
}

fn an_optimistic_transaction_moves_to_the_primary_with_its_first_write(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    begin(&mut client);
    assert_eq!(client.value(COUNT), "0");
    // An error is a result that the transaction repeats as well.
    assert_eq!(
        client.query("SELECT nothing FROM t").error().unwrap().code,
        1054
    );
    assert_eq!(client.run(INSERT).status() & 1, 1, "in a transaction");
    assert_eq!(held_at(&mut client), "primary");
    assert_eq!(client.value(COUNT), "1");
    assert_eq!(site.count(), "0", "it is not committed");
    client.run("COMMIT");
    assert_eq!(site.count(), "1");
    begin(&mut client);
    client.run("DELETE FROM t");
    client.run("ROLLBACK");
    assert_eq!(site.count(), "1");
    // Here the write is the transaction's first statement.
    client.run("BEGIN");
    client.run("DELETE FROM t");
    client.run("COMMIT");
    assert_eq!(site.count(), "0");
    assert_eq!(client.run("SELECT 1").status() & 1, 0);
}

fn a_transaction_that_only_reads_ends_on_its_replica(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    for end in ["COMMIT", "ROLLBACK", "commit and no chain"] {
        begin(&mut client);
        // This read gives another result on the primary.
        assert_ne!(client.value(WHO), "primary");
        client.run(end);
        assert!(held_at(&mut client).starts_with("(none"));
        assert_eq!(client.run("SELECT 1").status() & 1, 0);
    }
    client.run("SET completion_type = 'CHAIN'");
    begin(&mut client);
    assert_ne!(client.value(WHO), "primary");
    assert_eq!(client.run("COMMIT").status() & 1, 1);
    // The chained transaction has not read yet.
    client.run(INSERT);
    client.run("COMMIT AND NO CHAIN");
    assert_eq!(site.count(), "1");
    client.run("SET completion_type = 'NO_CHAIN'");
    client.run("BEGIN");
    assert_ne!(client.value(WHO), "primary");
    client.command(0x1f, b"");
    assert_eq!(client.run("SELECT 1").status() & 1, 0);
}

fn a_read_that_has_become_stale_gives_error_1213(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    for (way, ending) in [
        (INSERT, "ROLLBACK"),
        ("CREATE TABLE made (n INT)", "COMMIT"),
    ] {
        begin(&mut client);
        assert_ne!(client.value(WHO), "primary");
        assert_changed(&client.query(way));
        // If the client ignores the error, its next write is not executed outside of a transaction.
        let next = client.query(INSERT);
        assert_eq!(next.error().unwrap().code, 1213);
        match ending {
            "ROLLBACK" => drop(client.run("ROLLBACK")),
            _ => assert_eq!(client.query(ending).error().unwrap().code, 1213),
        }
        assert_eq!(site.count(), "0");
        client.run("START TRANSACTION READ ONLY");
        client.run("COMMIT");
        // After such an error, the next transaction begins on the primary.
        client.run("BEGIN");
        assert_eq!(client.value(WHO), "primary");
        client.run(INSERT);
        client.run("ROLLBACK");
    }
    begin(&mut client);
    client.run("ROLLBACK");
    assert_eq!(site.count(), "0");
    let made = client.query("SELECT * FROM made");
    assert_eq!(made.error().unwrap().code, 1146);
}

fn a_first_write_fails_only_if_the_replicas_rows_were_stale(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    for replica in 0..2 {
        site.cluster.delay(replica, 3600);
    }
    let mut root = site.cluster.primary.root();
    root.run("UPDATE d.seen SET name = 'x' WHERE n = 3");
    for (changed, read) in [
        (true, "SELECT * FROM seen WHERE n = 3"),
        (false, "SELECT * FROM seen WHERE n < 3"),
        (true, "SELECT name FROM seen ORDER BY n"),
        (false, "SELECT COUNT(*) FROM seen"),
    ] {
        client.run("BEGIN");
        client.run(read);
        Site::replica_of(&mut client);
        let reply = client.query(INSERT);
        match changed {
            true => assert_changed(&reply),
            false => assert!(reply.error().is_none(), "{read}"),
        }
        client.run("ROLLBACK");
        // After such an error, the next transaction begins on the primary, once.
        client.run("BEGIN");
        client.run("ROLLBACK");
    }
    // The primary handles changes between the repeated reads and the write.
    begin(&mut client);
    client.run("UPDATE seen SET name = 'y' WHERE n = 3 AND name = 'x'");
    client.run("COMMIT");
    assert_eq!(root.value("SELECT name FROM d.seen WHERE n = 3"), "y");
}

fn optimistic_transactions_work_with_compression_and_without_deprecate_eof(product: Product) {
    let site = Site::start(product, |settings| settings);
    let logins = || {
        [
            Login::app().schema("d").compressed(false),
            Login::app().schema("d").without(capability::DEPRECATE_EOF),
            Login::app().schema("d"),
        ]
    };
    for login in logins() {
        let mut client = site.proxy.connect_as(&login);
        client.run("BEGIN");
        let mut asked = client.prepare("SELECT * FROM seen WHERE n > ?");
        for number in 0..3 {
            client.run("SELECT * FROM seen");
            client.execute(&Execute::new(asked.statement(), &[Param::Int(number)]));
            asked = client.prepare("SELECT n FROM seen WHERE n > ?");
        }
        assert_eq!(
            client.query("SELECT * FROM nowhere").error().unwrap().code,
            1146
        );
        Site::replica_of(&mut client);
        client.run(INSERT);
        assert_eq!(held_at(&mut client), "primary");
        client.run("COMMIT");
        assert_eq!(client.value("SELECT COUNT(*) FROM t"), "1");
        client.run("BEGIN");
        assert_ne!(client.value(WHO), "primary");
        assert_changed(&client.query(INSERT));
        client.run("ROLLBACK");
        client.run("DELETE FROM t");
    }
}

fn prepared_reads_are_repeated_too(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    let read = client.prepare("SELECT name FROM seen WHERE n >= ? ORDER BY n");
    let insert = client.prepare("INSERT INTO t VALUES (?, ?)");
    let who = client.prepare(WHO);
    let from = |from| Execute::new(read.statement(), &[Param::Int(from)]);
    let one = Execute::new(insert.statement(), &[Param::Int(7), Param::Text("a")]);
    client.run("BEGIN");
    for number in [2, 3, 1] {
        let rows = client.execute(&from(number));
        assert_eq!(
            rows.results().next().unwrap().rows.len(),
            4 - number as usize
        );
    }
    // The server knows the types by now.
    client.execute(&from(3).without_types());
    let of_its_own = client.prepare("SELECT COUNT(*) FROM seen");
    client.execute(&Execute::new(of_its_own.statement(), &[]));
    client.close_statement(of_its_own.statement());
    Site::replica_of(&mut client);
    assert!(client.execute(&one).error().is_none());
    assert_eq!(held_at(&mut client), "primary");
    client.run("COMMIT");
    assert_eq!(site.count(), "1");
    client.run("BEGIN");
    client.execute(&from(2));
    client.execute(&Execute::new(who.statement(), &[]));
    Site::replica_of(&mut client);
    assert_changed(&client.execute(&one));
    client.run("ROLLBACK");
    client.run("BEGIN");
    client.run("COMMIT");
    // A cursor would keep the transaction on the replica. Long data is not kept.
    begin(&mut client);
    client.execute(&from(2).cursor());
    client.fetch(read.statement(), 10);
    assert_eq!(held_at(&mut client), "primary");
    client.run("COMMIT");
    let text = client.prepare("SELECT n FROM seen WHERE name = ?");
    begin(&mut client);
    client.send_long_data(text.statement(), 0, b"b");
    Site::replica_of(&mut client);
    client.execute(&Execute::new(text.statement(), &[Param::Sent]));
    assert_eq!(held_at(&mut client), "primary");
    client.run("COMMIT");
    begin(&mut client);
    client.prepare("DELETE FROM t WHERE n = ?");
    assert_eq!(held_at(&mut client), "primary");
    client.run("COMMIT");
}

fn statements_that_are_no_plain_reads_run_at_the_primary(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    for other in [
        "SELECT * FROM t FOR UPDATE",
        "SELECT * FROM t LOCK IN SHARE MODE",
        "SELECT NOW()",
        "SELECT UUID(), RAND()",
        "SELECT @a := 1",
        "SELECT @a",
        "SELECT COUNT(*) FROM t INTO @a",
        "SELECT CONNECTION_ID()",
        "SELECT LAST_INSERT_ID()",
        "SELECT @@transaction_isolation",
        "SELECT SLEEP(0)",
        "SHOW WARNINGS",
        "SHOW TABLES",
        "EXPLAIN SELECT * FROM t",
        "SET @b = 1",
        "SET SESSION sql_mode = ''",
        "USE d",
        "SAVEPOINT a",
        "DO 1",
        "SELECT * FROM information_schema.processlist",
        "CREATE TEMPORARY TABLE own (n INT)",
        "no_such_word",
    ] {
        let mut client = site.client();
        begin(&mut client);
        client.query(other);
        assert_eq!(held_at(&mut client), "primary", "{other}");
    }
    begin(&mut client);
    assert_eq!(client.run("BEGIN").status() & 1, 1);
    assert_eq!(held_at(&mut client), "primary");
    client.run("COMMIT AND CHAIN");
    client.run(INSERT);
    client.run("COMMIT");
    begin(&mut client);
    client.command(0x02, b"d");
    assert_eq!(held_at(&mut client), "primary");
    client.run("ROLLBACK");
    assert_eq!(site.count(), "1");
    // Several statements at once.
    begin(&mut client);
    client.command(0x1b, &[0, 0]);
    client.query("SELECT 1; SELECT 2");
    assert_eq!(held_at(&mut client), "primary");
    client.run("COMMIT");
    client.query("BEGIN; SELECT LAST_INSERT_ID()");
    assert_eq!(held_at(&mut client), "primary");
    client.run("COMMIT");
}

fn diagnostics_of_a_read_are_available(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    client.run("BEGIN");
    client.run("SELECT CAST('x' AS SIGNED)");
    Site::replica_of(&mut client);
    let warnings = client.run("SHOW WARNINGS").texts();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0][1], "1292");
    assert_eq!(held_at(&mut client), "primary");
    client.run("COMMIT");
    client.run("BEGIN");
    client.run("SELECT * FROM seen");
    Site::replica_of(&mut client);
    assert_eq!(client.value("SELECT FOUND_ROWS()"), "3");
    client.run("COMMIT");
}
