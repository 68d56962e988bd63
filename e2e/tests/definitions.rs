//! Views, triggers and routines that do more than their names say: the definitions that the proxy learns, and how it
//! treats statements that name these objects.

use e2e::raw::{Execute, Login, RawConn};
use e2e::{Cluster, Leased, PASSWORD, Product, Proxy, Settings, free_port, wait};

/// A cluster with views over functions, and a proxy that has learned their definitions.
struct Site {
    proxy: Proxy,
    admin: u16,
    // Dropped after the proxy, because the next test gets the cluster.
    cluster: Leased,
}

/// MySQL does not write a function into the binary log unless the function is declared deterministic.
const DEFINITIONS: &[&str] = &[
    "CREATE TABLE d.log (id INT PRIMARY KEY AUTO_INCREMENT, n INT)",
    "CREATE TABLE d.t (n INT PRIMARY KEY)",
    "INSERT INTO d.t VALUES (1)",
    "CREATE FUNCTION d.note() RETURNS INT DETERMINISTIC MODIFIES SQL DATA \
     BEGIN INSERT INTO d.log (n) VALUES (1); RETURN 1; END",
    "CREATE FUNCTION d.locks() RETURNS INT DETERMINISTIC RETURN GET_LOCK('taken', 0)",
    "CREATE FUNCTION d.calls() RETURNS INT DETERMINISTIC RETURN d.locks()",
    "CREATE FUNCTION d.reads(x INT) RETURNS INT DETERMINISTIC READS SQL DATA \
     BEGIN DECLARE y INT; SELECT MAX(n) INTO y FROM t WHERE n <= x; RETURN y; END",
    "CREATE VIEW d.writing AS SELECT d.note() AS n",
    "CREATE VIEW d.locking AS SELECT d.calls() AS n",
    "CREATE VIEW d.Over AS SELECT n FROM d.locking",
    "CREATE VIEW d.plain AS SELECT n FROM d.t",
    "CREATE VIEW d.reading AS SELECT d.reads(n) AS n FROM d.t",
    "CREATE TABLE d.triggered (n INT)",
    "CREATE TRIGGER d.takes BEFORE INSERT ON d.triggered FOR EACH ROW SET NEW.n = d.locks()",
    "CREATE TABLE d.computed (n INT)",
    "CREATE TRIGGER d.computes BEFORE INSERT ON d.computed FOR EACH ROW SET NEW.n = NEW.n + 1",
    "CREATE PROCEDURE d.inserts() INSERT INTO triggered VALUES (1)",
];

impl Site {
    fn start(product: Product, settings: impl FnOnce(Settings) -> Settings) -> Self {
        let cluster = Cluster::lease(product, 1);
        cluster.tell_apart(DEFINITIONS);
        let mut root = cluster.primary.root();
        root.run(&format!("CREATE USER lesser IDENTIFIED BY '{PASSWORD}'"));
        root.run("GRANT REPLICATION CLIENT ON *.* TO lesser");
        root.run("GRANT SELECT ON d.* TO lesser");
        cluster.wait_caught_up();
        let admin = free_port();
        let common = Settings::of_cluster(&cluster)
            .account("app", PASSWORD)
            .admin_on(admin)
            .set("workers", 1)
            .set("accounts.explain", true)
            .set("health.replication_interval", "50ms")
            .set("balance.timeout_consistency", "20s");
        let proxy = Proxy::start(&settings(common));
        Self {
            cluster,
            proxy,
            admin,
        }
    }

    fn wait_learned(&self) {
        wait::until("definitions are learned", wait::SOON, || {
            self.listed().iter().any(|row| row[1] == "locking")
        });
        let mut client = self.client();
        wait::until("reads go to the replica", wait::SOON, || {
            client.value("SELECT name FROM whoami") == "replica1"
        });
    }

    fn client(&self) -> RawConn {
        self.proxy.connect_as(&Login::app().schema("d"))
    }

    /// Kind, name and effects of each listed object.
    fn listed(&self) -> Vec<[String; 3]> {
        let address = e2e::raw::Address::Tcp(([127, 0, 0, 1], self.admin).into());
        let mut admin = RawConn::connect(&address, &Login::with("root", "all")).unwrap();
        let rows =
            admin.run("SELECT kind, name, does FROM definitions WHERE db = 'd' OR db IS NULL");
        let rows = rows.texts().into_iter();
        rows.map(|row| [row[0].clone(), row[1].clone(), row[2].clone()])
            .collect()
    }

    fn lock_is_free(&self) -> bool {
        self.cluster
            .primary
            .root()
            .value("SELECT IS_FREE_LOCK('taken')")
            == "1"
    }
}

/// The value of an item of EXPLAIN SESSION.
fn told(client: &mut RawConn, item: &str) -> String {
    let rows = client.run("EXPLAIN SESSION").texts();
    let row = rows.into_iter().find(|row| row[0] == item);
    row.unwrap_or_else(|| panic!("no {item}")).remove(1)
}

/// The role that EXPLAIN ROUTE names for a statement.
fn role(client: &mut RawConn, statement: &str) -> String {
    let rows = client.run(&format!("EXPLAIN ROUTE {statement}")).texts();
    let row = rows.into_iter().find(|row| row[0] == "role").unwrap();
    row[1].clone()
}

both! {
    objects_that_do_more_than_read_are_listed
    reads_of_views_are_routed_and_pinned_by_the_effects_of_the_views
    writes_of_tables_with_triggers_are_pinned_by_the_effects_of_the_triggers
    the_proxy_learns_definitions_from_ddl_that_clients_run
    a_monitor_account_without_the_privilege_for_definitions_is_logged
    no_definitions_are_learned_if_learn_definitions_is_off
}

/// MariaDB only: MySQL refuses defaults of this kind.
#[test]
fn a_default_that_moves_a_sequence_is_known() {
    let site = Site::start(Product::MariaDb, |settings| settings);
    site.wait_learned();
    let mut client = site.client();
    client.run("CREATE SEQUENCE s");
    client.run("CREATE TABLE numbered (a INT, b INT DEFAULT (NEXT VALUE FOR s))");
    wait::until("the default is known", wait::SOON, || {
        site.listed().iter().any(|row| row[1] == "numbered.b")
    });
    client.run("INSERT INTO numbered (a) VALUES (1)");
    assert!(told(&mut client, "pins").contains("routine"));
    assert_eq!(client.value("SELECT LASTVAL(s)"), "1");
}

fn objects_that_do_more_than_read_are_listed(product: Product) {
    let site = Site::start(product, |settings| settings);
    site.wait_learned();
    let listed = site.listed();
    let rows: Vec<String> = listed.iter().map(|row| row.join(" ")).collect();
    for row in [
        "function calls anything",
        "function locks anything",
        "function note writes",
        "procedure inserts anything",
        "trigger takes anything",
        "view Over anything",
        "view locking anything",
        "view writing writes",
    ] {
        assert!(rows.iter().any(|it| it == row), "{row}: {rows:?}");
    }
    for name in ["plain", "reading", "reads", "computes"] {
        assert!(listed.iter().all(|row| row[1] != name), "{name}: {rows:?}");
    }
    site.proxy.assert_sound();
}

fn reads_of_views_are_routed_and_pinned_by_the_effects_of_the_views(product: Product) {
    let site = Site::start(product, |settings| settings);
    site.wait_learned();
    let mut client = site.client();
    assert_eq!(role(&mut client, "SELECT n FROM plain"), "replica");
    assert_eq!(role(&mut client, "SELECT n FROM reading"), "replica");
    // A view that only writes data does not pin its session.
    assert_eq!(client.value("SELECT n FROM writing"), "1");
    assert_eq!(client.value("SELECT name FROM whoami"), "replica1");
    let prepared = client.prepare("SELECT n FROM d.writing").statement();
    let reply = client.execute(&Execute::new(prepared, &[]));
    assert!(reply.error().is_none(), "{:?}", reply.error());
    let ask = "SELECT COUNT(*) FROM d.log";
    assert_eq!(site.cluster.primary.root().value(ask), "2");
    site.cluster.wait_caught_up();
    assert_eq!(site.cluster.replicas[0].root().value(ask), "2");
    // A view that takes a lock pins its session.
    for read in ["SELECT n FROM `Over`", "SELECT * FROM t JOIN d.`Over` AS o"] {
        let mut client = site.client();
        client.run(read);
        assert!(told(&mut client, "pins").contains("routine"), "{read}");
        assert_eq!(told(&mut client, "connection"), "primary");
        assert!(!site.lock_is_free());
        client.quit();
        wait::until("the lock is free", wait::SOON, || site.lock_is_free());
    }
    let mut client = site.client();
    client.run("PREPARE p FROM 'SELECT n FROM locking'");
    client.run("EXECUTE p");
    assert!(told(&mut client, "pins").contains("routine"));
    client.quit();
    wait::until("the lock is free", wait::SOON, || site.lock_is_free());
    let mut client = site.client();
    let prepared = client
        .prepare("SELECT n FROM locking WHERE n = 1")
        .statement();
    client.execute(&Execute::new(prepared, &[]));
    assert!(told(&mut client, "pins").contains("routine"));
    site.proxy.assert_sound();
}

fn writes_of_tables_with_triggers_are_pinned_by_the_effects_of_the_triggers(product: Product) {
    let site = Site::start(product, |settings| settings);
    site.wait_learned();
    for write in ["INSERT INTO triggered VALUES (5)", "CALL inserts()"] {
        let mut client = site.client();
        client.run("INSERT INTO computed VALUES (1)");
        assert_eq!(client.value("SELECT name FROM whoami"), "replica1");
        client.run(write);
        assert!(told(&mut client, "pins").contains("routine"), "{write}");
        assert!(!site.lock_is_free());
        client.quit();
        wait::until("the lock is free", wait::SOON, || site.lock_is_free());
    }
    site.proxy.assert_sound();
}

fn the_proxy_learns_definitions_from_ddl_that_clients_run(product: Product) {
    let site = Site::start(product, |settings| settings);
    site.wait_learned();
    let mut client = site.client();
    client.run("CREATE VIEW made AS SELECT n FROM locking");
    wait::until("the new view is known", wait::SOON, || {
        role(&mut client, "SELECT n FROM made") == "primary"
    });
    client.run("ALTER VIEW made AS SELECT n FROM t");
    wait::until("the changed view is known", wait::SOON, || {
        role(&mut client, "SELECT n FROM made") == "replica"
    });
    // The new function changes the effects of the views that call it.
    client.run("DROP FUNCTION locks");
    client.run("CREATE FUNCTION locks() RETURNS INT DETERMINISTIC RETURN 1");
    wait::until("the changed function is known", wait::SOON, || {
        role(&mut client, "SELECT n FROM `Over`") == "replica"
    });
    site.proxy.assert_sound();
}

fn a_monitor_account_without_the_privilege_for_definitions_is_logged(product: Product) {
    let site = Site::start(product, |settings| {
        settings.set("health.monitor_user", "lesser")
    });
    site.proxy
        .wait_event("definitions_unknown", &["SHOW VIEW", "TRIGGER"]);
    wait::until("the table tells", wait::SOON, || {
        site.listed().iter().any(|row| row[0] == "unknown")
    });
}

fn no_definitions_are_learned_if_learn_definitions_is_off(product: Product) {
    let site = Site::start(product, |settings| {
        settings.set("balance.learn_definitions", false)
    });
    let mut client = site.client();
    wait::until("reads go to the replica", wait::SOON, || {
        client.value("SELECT name FROM whoami") == "replica1"
    });
    assert_eq!(role(&mut client, "SELECT n FROM `Over`"), "replica");
    assert_eq!(site.listed(), Vec::<[String; 3]>::new());
}
