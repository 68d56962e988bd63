//! A day's work on the schemas of a sandbox: the history, the differences, the Git repository and the page have it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use e2e::http::Http;
use e2e::{Folder, Process, Signal, program};
use serde_json::{Value, json};

use super::outputs::{execute, git, quiet_second};
use super::*;

both! {
    the_history_of_a_sandbox_has_the_work_of_a_day
}

/// The first start takes long, because it makes the data of the servers.
const STARTS_WITHIN: Duration = Duration::from_secs(120);

/// `admin:admin`
const ADMIN: &str = "YWRtaW46YWRtaW4=";

/// The user that executes a statement.
#[derive(Clone, Copy, PartialEq)]
enum User {
    /// A session of `app` through the proxy.
    App,
    /// Root on the primary. MySQL allows only root to make stored programs while the binary log is on.
    Root,
}
use User::{App, Root};

/// The statements of the day.
const WORK: &[(User, &str)] = &[
    (
        App,
        "CREATE TABLE goods (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20), price DECIMAL(8,2))",
    ),
    (
        App,
        "CREATE TABLE orders (id INT PRIMARY KEY, good INT, n INT)",
    ),
    (
        App,
        "INSERT INTO goods (name, price) VALUES ('tea', 3.5), ('pot', 20)",
    ),
    (App, "CREATE INDEX by_price ON goods (price)"),
    (
        App,
        "ALTER TABLE goods ADD COLUMN stock INT DEFAULT 0 AFTER name",
    ),
    (
        App,
        "ALTER TABLE orders ADD CONSTRAINT of_good FOREIGN KEY (good) REFERENCES goods (id)",
    ),
    (App, "ALTER TABLE goods MODIFY name VARCHAR(50) NOT NULL"),
    (
        App,
        "CREATE VIEW cheap AS SELECT name FROM goods WHERE price < 10",
    ),
    (
        App,
        "ALTER VIEW cheap AS SELECT id, name FROM goods WHERE price < 10",
    ),
    (
        Root,
        "CREATE PROCEDURE restock() UPDATE goods SET stock = 10",
    ),
    (
        Root,
        "CREATE FUNCTION tax(price DECIMAL(8,2)) RETURNS DECIMAL(8,2) DETERMINISTIC RETURN price * 0.2",
    ),
    (
        Root,
        "CREATE TRIGGER counts BEFORE INSERT ON orders FOR EACH ROW SET NEW.n = COALESCE(NEW.n, 1)",
    ),
    (
        Root,
        "CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY STARTS '2037-01-01 00:00:00' DO DELETE FROM orders WHERE n = 0",
    ),
    (Root, "ALTER EVENT nightly COMMENT 'by night'"),
    (
        App,
        "ALTER TABLE city ADD COLUMN founded INT, ADD KEY by_founded (founded)",
    ),
    (
        App,
        "CREATE TABLE stores (id INT PRIMARY KEY, town VARCHAR(30))",
    ),
    (App, "INSERT INTO stores VALUES (1, 'Oslo'), (2, 'Turku')"),
    // gh-ost
    (
        Root,
        "CREATE /* gh-ost */ TABLE `demo`.`_stores_gho` LIKE `demo`.`stores`",
    ),
    (
        Root,
        "ALTER /* gh-ost */ TABLE `demo`.`_stores_gho` ADD COLUMN opened DATE",
    ),
    (
        Root,
        "CREATE /* gh-ost */ TABLE `demo`.`_stores_ghc` (id INT)",
    ),
    (
        Root,
        "INSERT /* gh-ost */ INTO `demo`.`_stores_gho` (id, town) SELECT id, town FROM `demo`.`stores`",
    ),
    (
        Root,
        "RENAME /* gh-ost */ TABLE `demo`.`stores` TO `demo`.`_stores_del`, `demo`.`_stores_gho` TO `demo`.`stores`",
    ),
    (
        Root,
        "DROP /* gh-ost */ TABLE IF EXISTS `demo`.`_stores_ghc`",
    ),
    (
        Root,
        "DROP /* gh-ost */ TABLE IF EXISTS `demo`.`_stores_del`",
    ),
    // pt-online-schema-change
    (
        Root,
        "CREATE TABLE `demo`.`_stores_new` (id INT PRIMARY KEY, town VARCHAR(30), opened DATE)",
    ),
    (
        Root,
        "ALTER TABLE `demo`.`_stores_new` ADD COLUMN phone VARCHAR(20)",
    ),
    (
        Root,
        "CREATE TRIGGER `pt_osc_demo_stores_del` AFTER DELETE ON `demo`.`stores` FOR EACH ROW \
            DELETE IGNORE FROM `demo`.`_stores_new` WHERE `demo`.`_stores_new`.`id` <=> OLD.`id`",
    ),
    (
        Root,
        "CREATE TRIGGER `pt_osc_demo_stores_ins` AFTER INSERT ON `demo`.`stores` FOR EACH ROW \
            REPLACE INTO `demo`.`_stores_new` (`id`, `town`) VALUES (NEW.`id`, NEW.`town`)",
    ),
    (
        Root,
        "INSERT LOW_PRIORITY IGNORE INTO `demo`.`_stores_new` (`id`, `town`, `opened`) \
            SELECT `id`, `town`, `opened` FROM `demo`.`stores` LOCK IN SHARE MODE",
    ),
    (
        Root,
        "RENAME TABLE `demo`.`stores` TO `demo`.`_stores_old`, `demo`.`_stores_new` TO `demo`.`stores`",
    ),
    (Root, "DROP TABLE IF EXISTS `demo`.`_stores_old`"),
    (
        Root,
        "DROP TRIGGER IF EXISTS `demo`.`pt_osc_demo_stores_del`",
    ),
    (
        Root,
        "DROP TRIGGER IF EXISTS `demo`.`pt_osc_demo_stores_ins`",
    ),
    (App, "CREATE TABLE copied AS SELECT id, name FROM goods"),
    (App, "TRUNCATE TABLE copied"),
    (App, "RENAME TABLE copied TO old_goods"),
    (App, "DROP TABLE old_goods"),
    (App, "DROP INDEX by_price ON goods"),
    (App, "CREATE UNIQUE INDEX by_name ON goods (name)"),
    (Root, "DROP PROCEDURE restock"),
    (Root, "CREATE DATABASE archive"),
    (Root, "CREATE TABLE archive.goods_2025 (id INT)"),
    (Root, "DROP DATABASE archive"),
    (Root, "CREATE USER clerk IDENTIFIED BY 'clerk4711'"),
    (Root, "GRANT SELECT ON demo.* TO clerk"),
    (Root, "DROP USER clerk"),
];

/// The objects at the end of the day: schema, kind and object.
const EXPECTED: &[[&str; 3]] = &[
    ["demo", "CREATE TABLE", "goods"],
    ["demo", "CREATE TABLE", "orders"],
    ["demo", "CREATE INDEX", "goods"],
    ["demo", "ALTER TABLE", "goods"],
    ["demo", "ALTER TABLE", "orders"],
    ["demo", "ALTER TABLE", "goods"],
    ["demo", "CREATE VIEW", "cheap"],
    ["demo", "ALTER VIEW", "cheap"],
    ["demo", "CREATE PROCEDURE", "restock"],
    ["demo", "CREATE FUNCTION", "tax"],
    ["demo", "CREATE TRIGGER", "counts"],
    ["demo", "CREATE EVENT", "nightly"],
    ["demo", "ALTER EVENT", "nightly"],
    ["demo", "ALTER TABLE", "city"],
    ["demo", "CREATE TABLE", "stores"],
    ["demo", "ALTER TABLE", "stores"],
    ["demo", "ALTER TABLE", "stores"],
    ["demo", "CREATE TABLE", "copied"],
    ["demo", "TRUNCATE", "copied"],
    ["demo", "RENAME TABLE", "copied"],
    ["demo", "DROP TABLE", "old_goods"],
    ["demo", "DROP INDEX", "goods"],
    ["demo", "CREATE INDEX", "goods"],
    ["demo", "DROP PROCEDURE", "restock"],
    ["archive", "CREATE DATABASE", "archive"],
    ["archive", "CREATE TABLE", "goods_2025"],
    ["archive", "DROP DATABASE", "archive"],
    ["", "CREATE USER", "clerk@%"],
    ["", "GRANT", "clerk@%"],
    ["", "DROP USER", "clerk@%"],
];

/// A sandbox that keeps the history of its schemas.
struct Sandbox {
    product: Product,
    process: Process,
    folder: PathBuf,
    own: Folder,
}

impl Sandbox {
    fn start(product: Product) -> Self {
        let own = Folder::new("sandbox");
        let folder = own.join("servers");
        let mut command = Command::new(program());
        command
            .args(["sandbox", "--schema-history", "--replicas", "1"])
            .arg(format!("--listen=127.0.0.1:{}", free_port()))
            .arg(format!("--folder={}", folder.display()))
            .arg(format!(
                "--server={}",
                product.server_program(own.path()).display()
            ));
        let mut process = Process::start("sandbox", command, &own.join("log"));
        wait::until("the sandbox is ready", STARTS_WITHIN, || {
            if let Some(status) = process.ended() {
                panic!("it has ended: {status}\n{}", process.log_tail());
            }
            process.log().contains("\n  http ") && process.log().contains("/*/server.log")
        });
        let sandbox = Self {
            product,
            process,
            folder,
            own,
        };
        let mut admin = sandbox.admin();
        wait::until("the stream has begun", wait::SOON, || {
            admin.value("SELECT count(*) FROM replication WHERE state = 'streaming'") == "1"
        });
        sandbox
    }

    /// The port that the guide names.
    fn port(&self, name: &str) -> u16 {
        let log = self.process.log();
        let mut lines = log
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        let found = lines.find(|words| words.len() == 2 && words[0] == name);
        let address = found.unwrap_or_else(|| panic!("{log}"))[1].trim_end_matches('/');
        address.rsplit(':').next().unwrap().parse().unwrap()
    }

    fn connect(&self, name: &str, login: &Login) -> RawConn {
        let address = Address::Tcp(([127, 0, 0, 1], self.port(name)).into());
        RawConn::connect(&address, login).unwrap()
    }

    fn admin(&self) -> RawConn {
        self.connect("admin", &Login::with("admin", "admin"))
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("primary/server.sock")
    }

    fn root(&self) -> RawConn {
        let login = Login::root().schema("demo");
        RawConn::connect(&Address::Unix(self.socket()), &login).unwrap()
    }

    /// Waits until the history has all that the primary has written.
    fn wait_followed(&self) {
        let last = |text: &str| text.rsplit(['-', ':']).next().map(str::to_owned);
        let written = last(&self.root().value(e2e::position(self.product)));
        let mut admin = self.admin();
        wait::until("the proxy has followed", wait::SOON, || {
            let gtid = admin.run("SELECT last_gtid FROM replication").text(0, 0);
            gtid.and_then(|it| last(&it)) == written
        });
    }

    /// Runs `pilotfish schema` with the sandbox's settings.
    #[track_caller]
    fn schema(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(program());
        command.args(["schema", arguments[0], "main", "--schema", "demo"]);
        let config = self.folder.join("pilotfish.toml");
        let output = command
            .args(&arguments[1..])
            .arg("-c")
            .arg(config)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Executes the statements of the difference between two times.
    fn migrate(&self, from: &str, to: &str) {
        let text = self.schema(&["diff", "--from", from, "--to", to, "--sql"]);
        assert!(!text.contains("-- "), "{text}");
        execute(
            self.product,
            &self.socket(),
            &self.own.write("script.sql", text),
        );
        self.wait_followed();
    }
}

fn the_history_of_a_sandbox_has_the_work_of_a_day(product: Product) {
    let mut sandbox = Sandbox::start(product);
    let mut root = sandbox.root();
    let morning = quiet_second(&mut root);
    let mut app = sandbox.connect("proxy", &Login::with("app", "app").schema("demo"));
    for (user, statement) in WORK {
        match user {
            App => app.run(statement),
            Root => root.run(statement),
        };
        // The server must be asked for the object's definition before the next change.
        sandbox.wait_followed();
    }
    let evening = quiet_second(&mut root);
    check_history(&sandbox);
    check_page(&sandbox);
    check_difference(&sandbox, &morning);
    check_repository(&sandbox);

    // One difference leads back to the morning, the next one to the evening again.
    sandbox.migrate(&evening, &morning);
    assert_eq!(sandbox.schema(&["diff", "--from", &morning]), "");
    sandbox.migrate(&morning, &evening);
    assert_eq!(sandbox.schema(&["diff", "--from", &evening]), "");
    drop((app, root));
    if product.is_mariadb() {
        check_guide(&sandbox);
    }
    sandbox.process.signal(Signal::TERM);
    sandbox.process.wait_ended(STARTS_WITHIN);
    assert!(!sandbox.folder.exists());
}

/// Follows the sandbox's own guide, which names MariaDB's client if that is installed.
fn check_guide(sandbox: &Sandbox) {
    let log = sandbox.process.log();
    let mut lines = log.lines().map(str::trim);
    let change = lines.find(|line| line.starts_with("before=")).unwrap();
    let difference = lines.next().unwrap();
    let script = format!("{change}; {difference}");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("+   `mayor` varchar(40)"), "{output:?}");
}

fn check_history(sandbox: &Sandbox) {
    let mut admin = sandbox.admin();
    let select = "SELECT ifnull(db, ''), kind, object FROM schema_changes ORDER BY id";
    assert_eq!(admin.run(select).texts(), EXPECTED);
    let select = "SELECT tool, count(*) FROM schema_changes WHERE tool IS NOT NULL GROUP BY tool ORDER BY tool";
    let tools = [["gh-ost", "1"], ["pt-online-schema-change", "1"]];
    assert_eq!(admin.run(select).texts(), tools);
    let select =
        "SELECT DISTINCT account FROM schema_changes WHERE object IN ('goods', 'orders', 'cheap')";
    assert_eq!(admin.run(select).texts(), [["app"]]);
    let select = "SELECT count(*) FROM schema_changes WHERE statement LIKE '%clerk4711%'";
    assert_eq!(admin.value(select), "0");
    // The history has each version of a table that a tool has changed, and none of the tool's own tables.
    let select = "SELECT definition LIKE '%`opened` date%', definition LIKE '%`phone` varchar(20)%', until IS NULL \
                  FROM schema_versions WHERE object = 'stores' ORDER BY id";
    let versions = [["0", "0", "0"], ["1", "0", "0"], ["1", "1", "1"]];
    assert_eq!(admin.run(select).texts(), versions);
    let select = "SELECT count(*) FROM schema_versions WHERE until IS NULL \
                  AND substr(object, 1, 7) IN ('_stores', 'pt_osc_')";
    assert_eq!(admin.value(select), "0");
}

/// The requests of the page: the time line, and the versions of one change.
fn check_page(sandbox: &Sandbox) {
    let page = Http::new(sandbox.port("http")).basic(ADMIN);
    let rows = |sql: &str| -> Vec<Value> {
        let answer = page.query(&json!({ "sql": sql })).json();
        answer["rows"]
            .as_array()
            .unwrap_or_else(|| panic!("{answer}"))
            .clone()
    };
    let line = rows(
        "SELECT id, kind, db, object, tool FROM schema_changes WHERE step_of IS NULL ORDER BY id DESC LIMIT 200",
    );
    assert_eq!(line.len(), EXPECTED.len());
    let change = line.iter().find(|row| row[4] == "gh-ost").unwrap();
    assert_eq!(
        [&change[1], &change[2], &change[3]],
        ["ALTER TABLE", "demo", "stores"]
    );
    let id = &change[0];
    let sides = rows(&format!(
        "SELECT made_by = {id}, definition FROM schema_versions WHERE object = 'stores' \
         AND (made_by = {id} OR ended_by = {id}) ORDER BY id"
    ));
    let has_column = |row: &Value| row[1].as_str().unwrap().contains("`opened`");
    assert_eq!(sides.len(), 2, "{sides:?}");
    assert!(sides[0][0] == 0 && !has_column(&sides[0]), "{sides:?}");
    assert!(sides[1][0] == 1 && has_column(&sides[1]), "{sides:?}");
}

fn check_difference(sandbox: &Sandbox, morning: &str) {
    let text = sandbox.schema(&["diff", "--from", morning]);
    for line in [
        "table demo.goods: created\n",
        "table demo.orders: created\n",
        "table demo.stores: created\n",
        "view demo.cheap: created\n",
        "function demo.tax: created\n",
        "trigger demo.counts: created\n",
        "event demo.nightly: created\n",
        "table demo.city: altered\n",
        "+   `founded` int",
        "+   KEY `by_founded` (`founded`)",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    for word in [
        "copied", "restock", "archive", "clerk", "_stores", "country:",
    ] {
        assert!(!text.contains(word), "{word} is in {text}");
    }
}

fn check_repository(sandbox: &Sandbox) {
    let folder = sandbox.own.join("repository");
    let of_demo = EXPECTED.iter().filter(|it| it[0] == "demo");
    let of_demo: Vec<_> = of_demo
        .map(|it| format!("{} demo.{}", it[1], it[2]))
        .collect();
    let exported = sandbox.schema(&["export", "--git", folder.to_str().unwrap()]);
    assert_eq!(exported, format!("{} commits\n", of_demo.len() + 1));
    let log = git(&folder, &["log", "--reverse", "--format=%an|%s"]);
    let subjects: Vec<_> = log.lines().filter_map(|it| it.split_once('|')).collect();
    let (first, changes) = subjects.split_first().unwrap();
    assert_eq!(first.1, "Objects as the proxy has read them");
    let told: Vec<_> = changes.iter().map(|(_, subject)| *subject).collect();
    assert_eq!(told, of_demo);
    assert_eq!(changes[0].0, "app");
    check_files(&folder);
}

fn check_files(folder: &Path) {
    assert_eq!(git(folder, &["status", "--porcelain"]), "");
    let files = git(folder, &["ls-files", "schemas/demo"]);
    let files: Vec<_> = files
        .lines()
        .map(|it| it.trim_start_matches("schemas/demo/"))
        .collect();
    let expected = [
        "event/nightly.sql",
        "function/tax.sql",
        "schema.sql",
        "table/city.sql",
        "table/country.sql",
        "table/goods.sql",
        "table/orders.sql",
        "table/stores.sql",
        "trigger/counts.sql",
        "view/cheap.sql",
    ];
    assert_eq!(files, expected);
    let stores = std::fs::read_to_string(folder.join("schemas/demo/table/stores.sql")).unwrap();
    assert!(
        stores.contains("`opened` date") && stores.contains("`phone` varchar(20)"),
        "{stores}"
    );
    let log = git(
        folder,
        &["log", "--format=%B", "--", "schemas/demo/table/stores.sql"],
    );
    assert!(log.contains("gh-ost") && log.contains("RENAME"), "{log}");
}
