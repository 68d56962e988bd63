//! Reads that write: a replica refuses them, and the client does not notice it.

use std::thread;

use e2e::raw::{Execute, Login, Param, RawConn, Reply};
use e2e::{Cluster, Folder, Leased, PASSWORD, Product, Proxy, Settings, wait};

/// A cluster in which `SELECT n FROM d.v` writes a row, takes a lock and sets a user variable, and in which the
/// account `lesser` may not write on a read-only server.
struct Site {
    proxy: Proxy,
    // Dropped after the proxy, because the next test gets the cluster.
    cluster: Leased,
}

/// MySQL does not write a function into the binary log unless the function is declared deterministic.
const NOTE: &str = "CREATE FUNCTION d.note() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN \
                    DO GET_LOCK('noted', 0); SET @noted = 1; \
                    INSERT INTO d.log (n) VALUES (1); RETURN 1; END";

const READ: &str = "SELECT n FROM v";

const COUNT: &str = "SELECT COUNT(*) FROM d.log";

impl Site {
    fn start(product: Product, settings: impl FnOnce(Settings) -> Settings) -> Self {
        let cluster = Cluster::lease(product, 1);
        cluster.tell_apart(&[
            "CREATE TABLE d.log (id INT PRIMARY KEY AUTO_INCREMENT, n INT)",
            "CREATE TABLE d.t (n INT PRIMARY KEY)",
            "INSERT INTO d.t VALUES (1)",
            NOTE,
            "CREATE VIEW d.v AS SELECT d.note() AS n",
            "CREATE VIEW d.later AS SELECT n FROM d.t",
        ]);
        let mut root = cluster.primary.root();
        root.run(&format!("CREATE USER lesser IDENTIFIED BY '{PASSWORD}'"));
        root.run("GRANT SELECT, INSERT, EXECUTE ON d.* TO lesser");
        cluster.wait_caught_up();
        let common = Settings::of_cluster(&cluster)
            .account("lesser", PASSWORD)
            .set("workers", 1)
            .set("accounts.explain", true)
            .set("balance.learn_definitions", false)
            .set("health.replication_interval", "50ms")
            .set("balance.timeout_consistency", "20s");
        let proxy = Proxy::start(&settings(common));
        let site = Self { cluster, proxy };
        site.wait_reads_go_to_the_replica();
        site
    }

    fn wait_reads_go_to_the_replica(&self) {
        let mut client = self.client();
        wait::until("reads go to the replica", wait::SOON, || {
            client.value("SELECT name FROM d.whoami") == "replica1"
        });
    }

    fn client(&self) -> RawConn {
        self.proxy
            .connect_as(&Login::with("lesser", PASSWORD).schema("d"))
    }

    /// Checks what this number of reads has written: rows on the primary, and no lock on the replica.
    #[track_caller]
    fn assert_wrote(&self, times: u32) {
        let mut primary = self.cluster.primary.root();
        assert_eq!(primary.value(COUNT), times.to_string());
        let mut replica = self.cluster.replicas[0].root();
        assert_eq!(replica.value("SELECT IS_FREE_LOCK('noted')"), "1");
    }

    fn refusals(&self) -> usize {
        self.proxy.count_events("read_refused")
    }
}

/// The value of an item of EXPLAIN SESSION.
fn told(client: &mut RawConn, item: &str) -> String {
    let rows = client.run("EXPLAIN SESSION").texts();
    let row = rows.into_iter().find(|row| row[0] == item);
    row.unwrap_or_else(|| panic!("no {item}")).remove(1)
}

#[track_caller]
fn assert_refused(reply: &Reply) {
    let code = reply.error().expect("it was refused").code;
    assert!([1290, 1792].contains(&code), "{code}");
}

both! {
    a_read_that_a_replica_refuses_runs_on_the_primary
    a_prepared_read_that_a_replica_refuses_runs_on_the_primary
    a_repeated_statement_has_the_session_state
    in_a_transaction_and_after_other_results_the_client_gets_the_error
    an_optimistic_transaction_goes_to_the_primary_with_a_refused_read
    a_rule_with_retry_0_prevents_the_repetition
    a_script_sees_the_primarys_reply_only
    a_read_on_a_lane_that_a_replica_refuses_runs_on_the_primary
}

fn a_read_that_a_replica_refuses_runs_on_the_primary(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    assert_eq!(client.value(READ), "1");
    site.assert_wrote(1);
    assert_eq!(site.refusals(), 1);
    // The read has taken a lock on the primary that the proxy does not know of, so the session stays there.
    assert_eq!(told(&mut client, "connection"), "primary");
    assert_eq!(
        client.value("SELECT IS_USED_LOCK('noted') = CONNECTION_ID()"),
        "1"
    );
    client.quit();
    // Statements of other sessions with the same digest go to the primary at once.
    let mut other = site.client();
    assert_eq!(other.value("select n\nfrom v"), "1");
    site.assert_wrote(2);
    assert_eq!(site.refusals(), 1);
    other.quit();
    let mut third = site.client();
    let route = third.run(&format!("EXPLAIN ROUTE {READ}")).texts();
    let role = route.iter().find(|row| row[0] == "role").unwrap();
    assert_eq!(role[1], "primary");
    let marks = route.iter().find(|row| row[1] == "marks").unwrap();
    assert!(marks[2].contains("refused"), "{marks:?}");
    // Other reads still go to the replica.
    assert_eq!(third.value("SELECT name FROM whoami"), "replica1");
    site.proxy.assert_sound();
}

fn a_prepared_read_that_a_replica_refuses_runs_on_the_primary(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    let prepared = client.prepare("SELECT n + ? FROM v").statement();
    let execute = |client: &mut RawConn, number: i64| {
        let reply = client.execute(&Execute::new(prepared, &[Param::Int(number)]));
        assert!(reply.error().is_none(), "{:?}", reply.error());
        assert_eq!(reply.results().next().expect("a result").rows.len(), 1);
    };
    execute(&mut client, 41);
    site.assert_wrote(1);
    assert_eq!(told(&mut client, "connection"), "primary");
    execute(&mut client, 42);
    site.assert_wrote(2);
    client.quit();
    let mut other = site.client();
    let prepared = other.prepare("SELECT n + ? FROM v").statement();
    let reply = other.execute(&Execute::new(prepared, &[Param::Int(1)]));
    assert!(reply.error().is_none(), "{:?}", reply.error());
    site.assert_wrote(3);
    assert_eq!(site.refusals(), 1);
    site.proxy.assert_sound();
}

fn a_repeated_statement_has_the_session_state(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    client.run("SET @own = 'mine', time_zone = '+03:00'");
    let row = client
        .run("SELECT n, @own, @noted, TIMEDIFF(NOW(), UTC_TIMESTAMP()) FROM v")
        .texts()
        .remove(0);
    assert_eq!((&*row[0], &*row[1], &*row[3]), ("1", "mine", "03:00:00"));
    site.assert_wrote(1);
    client.quit();
    // The next session on the replica's connection sees no state of the refused attempt.
    let mut other = site.client();
    let row = other
        .run("SELECT name, @noted, @own FROM whoami")
        .texts()
        .remove(0);
    assert_eq!(row, ["replica1", "NULL", "NULL"]);
}

fn in_a_transaction_and_after_other_results_the_client_gets_the_error(product: Product) {
    let site = Site::start(product, |settings| settings);
    let mut client = site.client();
    client.run("START TRANSACTION READ ONLY");
    assert_eq!(client.value("SELECT name FROM whoami"), "replica1");
    assert_refused(&client.query(READ));
    client.run("ROLLBACK");
    client.quit();
    site.wait_lock_is_free();
    let mut client = site.client();
    let reply = client.query(&format!("SELECT name FROM whoami; {READ}"));
    assert_eq!(reply.text(0, 0).as_deref(), Some("replica1"));
    assert_refused(&reply);
    client.quit();
    site.wait_lock_is_free();
    site.assert_wrote(0);
    // If the first statement is refused, no part of the reply was passed on, so the proxy can repeat it.
    let mut client = site.client();
    let reply = client.run(&format!("{READ}; SELECT name FROM whoami"));
    let rows: Vec<_> = reply.results().collect();
    assert_eq!(rows.len(), 2);
    site.assert_wrote(1);
    site.proxy.assert_sound();
}

impl Site {
    /// Until it ends, a session that got the error may hold a lock on the replica.
    fn wait_lock_is_free(&self) {
        let mut replica = self.cluster.replicas[0].root();
        wait::until("the replica's lock is free", wait::SOON, || {
            replica.value("SELECT IS_FREE_LOCK('noted')") == "1"
        });
    }
}

fn an_optimistic_transaction_goes_to_the_primary_with_a_refused_read(product: Product) {
    let site = Site::start(product, |settings| {
        settings.set("routing.optimistic_transactions", true)
    });
    for (end, count) in [("ROLLBACK", 0), ("COMMIT", 1)] {
        let mut client = site.client();
        client.run("BEGIN");
        assert_eq!(client.value("SELECT n FROM t"), "1");
        let text = format!("SELECT n, '{end}' AS {end} FROM v");
        assert_eq!(client.value(&text), "1");
        assert_eq!(told(&mut client, "connection"), "primary");
        client.run(end);
        site.assert_wrote(count);
        client.quit();
    }
    let mut client = site.client();
    client.run("BEGIN");
    let prepared = client.prepare("SELECT n * ? FROM v").statement();
    let reply = client.execute(&Execute::new(prepared, &[Param::Int(1)]));
    assert!(reply.error().is_none(), "{:?}", reply.error());
    client.run("COMMIT");
    site.assert_wrote(2);
    site.proxy.assert_sound();
}

fn a_rule_with_retry_0_prevents_the_repetition(product: Product) {
    let site = Site::start(product, |settings| settings.rule("once", &[("retry", "0")]));
    let mut client = site.client();
    assert_refused(&client.query(READ));
    client.quit();
    site.wait_lock_is_free();
    site.assert_wrote(0);
}

/// The script puts the kind of each reply into the client's next one.
const SCRIPT: &str = r#"
    local failed = 0
    function read_query(packet)
        if packet:sub(2) == "failed" then
            proxy.response = {
                type = proxy.MYSQLD_PACKET_OK,
                resultset = {
                    fields = {{ name = "failed", type = proxy.MYSQL_TYPE_STRING }},
                    rows = {{ tostring(failed) }},
                },
            }
            return proxy.PROXY_SEND_RESULT
        end
        proxy.queries:append(1, packet, { resultset_is_needed = true })
        return proxy.PROXY_SEND_QUERY
    end
    function read_query_result(injected)
        if injected.resultset.query_status == proxy.MYSQLD_PACKET_ERR then
            failed = failed + 1
        end
    end
"#;

fn a_script_sees_the_primarys_reply_only(product: Product) {
    let folder = Folder::new("files");
    let path = folder.path().join("script.lua");
    std::fs::write(&path, SCRIPT).unwrap();
    let file = path.display().to_string();
    let site = Site::start(product, |settings| {
        settings.set("routing.script", file.as_str())
    });
    let mut client = site.client();
    assert_eq!(client.value(READ), "1");
    site.assert_wrote(1);
    assert_eq!(client.value("failed"), "0");
    let refused = client.query("SELECT nothing FROM nowhere");
    assert_eq!(refused.error().unwrap().code, 1146);
    assert_eq!(client.value("failed"), "1");
    assert_eq!(site.refusals(), 1);
    site.proxy.assert_sound();
}

/// Another read is in flight on the replica meanwhile, because a single statement does not use a lane.
fn a_read_on_a_lane_that_a_replica_refuses_runs_on_the_primary(product: Product) {
    let site = Site::start(product, |settings| settings.set("routing.lanes", "reads"));
    let mut client = site.client();
    let read = "SELECT n FROM later";
    wait::until(
        "reads of the view are known to be short",
        3 * wait::SOON,
        || {
            client.value(read);
            let lane = client.run(&format!("EXPLAIN ROUTE {read}")).texts();
            lane.iter()
                .any(|row| row[0] == "lane" && row[2].starts_with("uses a lane"))
        },
    );
    let mut busy = site.client();
    thread::scope(|scope| {
        let long = scope.spawn(|| busy.query("SELECT SLEEP(600) FROM t"));
        wait::until("a read has used a lane", 3 * wait::SOON, || {
            client.value(read);
            on_lane(&mut client) > 0
        });
        let mut root = site.cluster.primary.root();
        root.run("CREATE OR REPLACE VIEW d.later AS SELECT d.note() AS n");
        site.cluster.wait_caught_up();
        assert_eq!(client.value(read), "1");
        site.end_long_read();
        long.join().unwrap();
    });
    site.assert_wrote(1);
    assert_eq!(site.refusals(), 1);
    site.proxy.assert_sound();
}

fn on_lane(client: &mut RawConn) -> u64 {
    let rows = client.run("EXPLAIN LANES").texts();
    let count = rows
        .iter()
        .find(|row| row[0] == "on_lane")
        .map(|row| &row[2]);
    count.map_or(0, |count| count.parse().unwrap())
}

impl Site {
    fn end_long_read(&self) {
        let mut root = self.cluster.replicas[0].root();
        let ask = "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(6%'";
        let ids = root.run(ask).texts();
        for id in ids {
            root.run(&format!("KILL QUERY {}", id[0]));
        }
    }
}
