//! The proxy as a replica: it follows real servers, records the history of their schemas, and continues after a
//! restart.

use std::path::PathBuf;

use e2e::raw::{Address, Login, RawConn};
use e2e::{
    Cluster, Folder, LeasedServer, PASSWORD, Product, Proxy, Server, Settings, free_port, wait,
};

mod accounts;
mod authentication;
mod day;
mod faults;
mod hook;
mod makers;
mod manual;
mod outputs;
mod replica;
mod replicant;

both! {
    each_kind_of_change_is_a_row_and_the_server_is_asked_what_the_object_is
    a_past_schema_can_be_printed
    the_work_of_gh_ost_is_one_change
    the_work_of_pt_online_schema_change_is_one_change
    neither_schema_history_nor_log_contains_a_password_or_hash
    the_history_has_objects_that_existed_before_its_start
    compressed_logs_are_followed
    a_server_is_followed_over_tls
}

#[test]
fn each_kind_of_change_is_a_row_on_mariadb_11_8() {
    each_kind_of_change_is_a_row_and_the_server_is_asked_what_the_object_is(Product::MariaDbNext);
}

/// A proxy that follows a server, with an admin port.
struct Following {
    proxy: Proxy,
    settings: Settings,
    folder: Folder,
}

/// The password of the account that the proxy follows with.
const SECRET: &str = "follows4711";

impl Following {
    fn start(server: &Server, more: &[(&str, &str)]) -> Self {
        Self::start_with(Settings::in_front_of([server]), &[server], more)
    }

    /// Follows these servers with a separate account, which it makes on them.
    fn start_with(settings: Settings, servers: &[&Server], more: &[(&str, &str)]) -> Self {
        for server in servers {
            make_account(server);
        }
        let folder = Folder::new("files");
        let file = folder.path().join("schemas.db");
        let password = format!("{SECRET:?}");
        let own = [
            ("password", password.as_str()),
            ("server_id", "4242"),
            ("heartbeat", "\"1s\""),
        ];
        let settings = settings
            .admin_on(free_port())
            .set("schema_history.file", file.to_str().unwrap())
            .replication("follower", &[&own, more].concat());
        let proxy = Proxy::start(&settings);
        let following = Self {
            proxy,
            settings,
            folder,
        };
        following.wait_streaming();
        following
    }

    fn admin(&self) -> RawConn {
        let text = self.settings.to_toml();
        let address = text.split("address = [\"127.0.0.1:").nth(1).unwrap();
        let port = address.split('"').next().unwrap().parse().unwrap();
        let address = Address::Tcp(([127, 0, 0, 1], port).into());
        RawConn::connect(&address, &Login::with("root", "all")).unwrap()
    }

    fn wait_streaming(&self) {
        self.wait_for(
            "a stream",
            "SELECT count(*) FROM replication WHERE state = 'streaming'",
        );
    }

    /// Waits until the select returns a count above zero.
    #[track_caller]
    fn wait_for(&self, what: &str, select: &str) {
        let mut admin = self.admin();
        wait::until(what, wait::SOON, || admin.value(select) != "0");
    }

    #[track_caller]
    fn wait_change(&self, kind: &str, object: &str) {
        self.wait_for(
            &format!("{kind} {object}"),
            &format!(
                "SELECT count(*) FROM schema_changes WHERE kind = '{kind}' AND object = '{object}'"
            ),
        );
    }

    fn rows(&self, select: &str) -> Vec<Vec<String>> {
        self.admin().run(select).texts()
    }

    fn again(self) -> Self {
        let Self {
            proxy,
            settings,
            folder,
        } = self;
        proxy.stop();
        let proxy = Proxy::start(&settings);
        Self {
            proxy,
            settings,
            folder,
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("schemas.db")
    }
}

/// Makes an account with the privileges that the manual names, without writing to the log, where they would be changes.
fn make_account(server: &Server) {
    let mut root = server.root();
    root.run("SET sql_log_bin = 0");
    root.run(&format!("CREATE USER follower IDENTIFIED BY '{SECRET}'"));
    root.run("GRANT REPLICATION SLAVE, SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO follower");
    root.run(match server.product.is_mariadb() {
        true => "GRANT BINLOG MONITOR ON *.* TO follower",
        false => "GRANT SHOW_ROUTINE ON *.* TO follower",
    });
}

fn start(product: Product) -> LeasedServer {
    start_with(product, &[])
}

fn start_with(product: Product, more: &[&str]) -> LeasedServer {
    let mut options = e2e::primary_options(product);
    options.push("--server-id=1");
    options.extend(more);
    Server::lease_with(product, &options)
}

fn run(server: &Server, statements: &[&str]) {
    let mut root = server.root();
    for statement in statements {
        root.run(statement);
    }
}

const STATEMENTS: &[&str] = &[
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(10))",
    "INSERT INTO t (name) VALUES ('a'), ('b')",
    "CREATE TEMPORARY TABLE hidden (a INT)",
    "CREATE INDEX by_name ON t (name)",
    "ALTER TABLE t ADD COLUMN price DECIMAL(10, 2)",
    "CREATE VIEW v AS SELECT name FROM t",
    "CREATE PROCEDURE p() SELECT 1",
    "CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1",
    "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.name = 'x'",
    "CREATE EVENT e ON SCHEDULE EVERY 1 YEAR DO SELECT 1",
    "CREATE TABLE copied AS SELECT name FROM t",
    "ALTER DATABASE CHARACTER SET utf8mb4",
    "TRUNCATE t",
    "RENAME TABLE t TO `new name`",
    "DROP INDEX by_name ON `new name`",
    "CREATE USER jane IDENTIFIED BY 'jane4711'",
    "DROP EVENT e",
    "DROP TRIGGER g",
    "DROP FUNCTION f",
    "DROP PROCEDURE p",
    "DROP VIEW v",
    "DROP TABLE copied, `new name`",
    "DROP USER jane",
];

/// MariaDB has sequences.
const OF_SEQUENCES: &[&str] = &[
    "CREATE SEQUENCE s INCREMENT BY 5",
    "DO NEXTVAL(s)",
    "ALTER SEQUENCE s MAXVALUE 1000",
    "RENAME TABLE s TO numbers",
    "DROP SEQUENCE numbers",
];

const LAST: &str = "CREATE TABLE last_one (a INT)";

const EXPECTED: &[[&str; 4]] = &[
    ["CREATE DATABASE", "shop", "shop", "schema"],
    ["CREATE TABLE", "shop", "t", "table"],
    ["CREATE INDEX", "shop", "t", "table"],
    ["ALTER TABLE", "shop", "t", "table"],
    ["CREATE VIEW", "shop", "v", "view"],
    ["CREATE PROCEDURE", "shop", "p", "procedure"],
    ["CREATE FUNCTION", "shop", "f", "function"],
    ["CREATE TRIGGER", "shop", "g", "trigger"],
    ["CREATE EVENT", "shop", "e", "event"],
    ["CREATE TABLE", "shop", "copied", "table"],
    ["ALTER DATABASE", "shop", "shop", "schema"],
    ["TRUNCATE", "shop", "t", "table"],
    ["RENAME TABLE", "shop", "t", "table"],
    ["DROP INDEX", "shop", "new name", "table"],
    ["CREATE USER", "", "jane@%", "account"],
    ["DROP EVENT", "shop", "e", "event"],
    ["DROP TRIGGER", "shop", "g", "trigger"],
    ["DROP FUNCTION", "shop", "f", "function"],
    ["DROP PROCEDURE", "shop", "p", "procedure"],
    ["DROP VIEW", "shop", "v", "view"],
    ["DROP TABLE", "shop", "copied", "table"],
    ["DROP USER", "", "jane@%", "account"],
];

const EXPECTED_OF_SEQUENCES: &[[&str; 4]] = &[
    ["CREATE SEQUENCE", "shop", "s", "sequence"],
    ["ALTER SEQUENCE", "shop", "s", "sequence"],
    ["RENAME TABLE", "shop", "s", "table"],
    ["DROP SEQUENCE", "shop", "numbers", "sequence"],
];

const EXPECTED_LAST: [&str; 4] = ["CREATE TABLE", "shop", "last_one", "table"];

fn is_change(statement: &str) -> bool {
    let is_none = statement.contains("TEMPORARY");
    !is_none
        && !["USE", "INSERT", "DO "]
            .iter()
            .any(|it| statement.starts_with(it))
}

fn each_kind_of_change_is_a_row_and_the_server_is_asked_what_the_object_is(product: Product) {
    let server = start(product);
    let following = Following::start(&server, &[]);
    let (of_sequences, expected) = match product.is_mariadb() {
        true => (
            OF_SEQUENCES,
            [EXPECTED, EXPECTED_OF_SEQUENCES, &[EXPECTED_LAST]],
        ),
        false => (&[][..], [EXPECTED, &[], &[EXPECTED_LAST]]),
    };
    let expected = expected.concat();
    let mut root = server.root();
    let mut changes = 0;
    for statement in [STATEMENTS, of_sequences, &[LAST]].concat() {
        root.run(statement);
        if is_change(statement) {
            // The proxy asks the server for the object's definition, so the next statement must not change the object
            // before that.
            changes += 1;
            let select = format!("SELECT count(*) >= {changes} FROM schema_changes");
            following.wait_for(statement, &select);
        }
    }
    let rows = following
        .rows("SELECT kind, ifnull(db, ''), object, object_kind FROM schema_changes ORDER BY id");
    assert_eq!(rows, expected);
    let select = "SELECT count(*), count(DISTINCT gtid), min(server_id), max(error_code), min(thread_id) > 0, \
                  min(time) > '2026' FROM schema_changes";
    let count = expected.len().to_string();
    let facts = following.rows(select);
    assert_eq!(facts, [[&count, &count, "1", "0", "1", "1"]]);
    let address = "SELECT value FROM proxy_config WHERE option = 'repclient.master_address'";
    assert_eq!(following.rows(address), [[server.tcp().to_string()]]);
    let shown = following.admin().run("SHOW REPLICATION").texts();
    assert_eq!(shown.len(), 1);
    let metrics = following.rows("SELECT changes, errors, ifnull(last_error, '') FROM replication");
    assert_eq!(metrics, [[&count, "0", ""]]);
    check_versions(&following, product);
}

fn check_versions(following: &Following, product: Product) {
    // The server's log has the accounts that made these views.
    let makers =
        following.rows("SELECT object, account FROM schema_changes WHERE kind = 'CREATE VIEW'");
    assert_eq!(makers, [["v", "root"]]);
    let versions = |object: &str| {
        let select = format!(
            "SELECT kind, definition, until IS NULL FROM schema_versions WHERE object = '{object}' ORDER BY id"
        );
        following.rows(&select)
    };
    // The table was made, got an index, and got a column. TRUNCATE does not change the definition.
    let of_table = versions("t");
    assert_eq!(of_table.len(), 3, "{of_table:?}");
    assert!(!of_table[0][1].contains("by_name"), "{of_table:?}");
    assert!(of_table[1][1].contains("by_name") && !of_table[1][1].contains("price"));
    assert!(
        of_table[2][1].contains("`price` decimal(10,2)"),
        "{of_table:?}"
    );
    assert!(!of_table[2][1].contains("AUTO_INCREMENT="), "{of_table:?}");
    for (object, kind, word) in [
        ("v", "view", "VIEW"),
        ("p", "procedure", "PROCEDURE"),
        ("f", "function", "FUNCTION"),
        ("e", "event", "EVENT"),
    ] {
        let found = versions(object);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0][0].as_str(), found[0][2].as_str()), (kind, "0"));
        assert!(found[0][1].contains(word), "{found:?}");
    }
    // The rename of the table moved the trigger, too.
    let of_trigger = versions("g");
    assert_eq!(of_trigger.len(), 2, "{of_trigger:?}");
    assert!(of_trigger[1][1].contains("`new name`"), "{of_trigger:?}");
    assert_eq!(versions("last_one").len(), 1);
    if product.is_mariadb() {
        // Taking a number changes nothing. A renamed sequence is still a sequence.
        let of_sequence = versions("s");
        let [made, altered] = &of_sequence[..] else {
            panic!("{of_sequence:?}");
        };
        assert!(made[1].contains(" increment by 5 "), "{made:?}");
        assert!(altered[1].contains(" maxvalue 1000 "), "{altered:?}");
        let renamed = versions("numbers");
        assert_eq!(renamed.len(), 1, "{renamed:?}");
        assert_eq!(renamed[0][0], "sequence");
        assert!(
            renamed[0][1].starts_with("CREATE SEQUENCE `numbers`"),
            "{renamed:?}"
        );
    }
    let present = following
        .rows("SELECT object FROM schema_versions WHERE db = 'shop' AND until IS NULL ORDER BY 1");
    assert_eq!(present, [["last_one"], ["shop"]]);
}

fn a_past_schema_can_be_printed(product: Product) {
    let server = start(product);
    run(
        &server,
        &["CREATE DATABASE shop", "CREATE TABLE shop.t (a INT)"],
    );
    let following = Following::start(&server, &[]);
    run(&server, &["ALTER TABLE shop.t ADD b INT"]);
    following.wait_change("ALTER TABLE", "t");
    let mut admin = following.admin();
    let now = admin.value("SELECT schema_at('shop', 'now')");
    assert!(now.contains("`b` int"), "{now}");
    let before = admin.value(
        "SELECT schema_at('shop', strftime('%Y-%m-%d %H:%M:%S', time, '-1 second')) FROM schema_changes",
    );
    assert!(!before.contains("`b` int"), "{before}");
    assert_eq!(admin.value("SELECT schema_at('shop', '2001-01-01')"), "");
    let is_null = admin.value("SELECT schema_at('shop', 'soon') IS NULL");
    assert_eq!(is_null, "1");
}

fn the_work_of_gh_ost_is_one_change(product: Product) {
    let server = start(product);
    run(
        &server,
        &["CREATE DATABASE shop", "CREATE TABLE shop.t (a INT)"],
    );
    let following = Following::start(&server, &[]);
    run(
        &server,
        &[
            "USE shop",
            "CREATE /* gh-ost */ TABLE `shop`.`_t_gho` LIKE `shop`.`t`",
            "ALTER /* gh-ost */ TABLE `shop`.`_t_gho` ADD COLUMN b INT",
            "CREATE /* gh-ost */ TABLE `shop`.`_t_ghc` (id INT)",
            "INSERT INTO _t_gho (a) SELECT a FROM t",
            "RENAME /* gh-ost */ TABLE `shop`.`t` TO `shop`.`_t_del`, `shop`.`_t_gho` TO `shop`.`t`",
            "DROP /* gh-ost */ TABLE IF EXISTS `shop`.`_t_ghc`",
            "DROP /* gh-ost */ TABLE IF EXISTS `shop`.`_t_del`",
            "CREATE TABLE last_one (a INT)",
        ],
    );
    following.wait_change("CREATE TABLE", "last_one");
    let rows =
        following.rows("SELECT kind, object, ifnull(tool, '') FROM schema_changes ORDER BY id");
    assert_eq!(
        rows,
        [
            ["ALTER TABLE", "t", "gh-ost"],
            ["CREATE TABLE", "last_one", ""]
        ]
    );
    let statement = following.rows("SELECT statement FROM schema_changes WHERE object = 't'");
    assert!(
        statement[0][0].contains("ADD COLUMN b INT"),
        "{statement:?}"
    );
    let present = following.rows(
        "SELECT object, definition LIKE '%`b` int%' FROM schema_versions \
         WHERE kind = 'table' AND until IS NULL ORDER BY 1",
    );
    assert_eq!(present, [["last_one", "0"], ["t", "1"]]);
}

/// The statements that version 3.2 of the tool writes into the log.
fn the_work_of_pt_online_schema_change_is_one_change(product: Product) {
    let server = start(product);
    run(
        &server,
        &[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.t (a INT PRIMARY KEY)",
            "INSERT INTO shop.t VALUES (1)",
        ],
    );
    let following = Following::start(&server, &[]);
    run(
        &server,
        &[
            "USE shop",
            "CREATE TABLE `shop`.`_t_new` (a INT PRIMARY KEY)",
            "ALTER TABLE `shop`.`_t_new` ADD COLUMN b INT",
            "CREATE TRIGGER `pt_osc_shop_t_del` AFTER DELETE ON `shop`.`t` FOR EACH ROW \
             DELETE IGNORE FROM `shop`.`_t_new` WHERE `shop`.`_t_new`.`a` <=> OLD.`a`",
            "CREATE TRIGGER `pt_osc_shop_t_upd` AFTER UPDATE ON `shop`.`t` FOR EACH ROW \
             BEGIN DELETE IGNORE FROM `shop`.`_t_new` WHERE !(OLD.`a` <=> NEW.`a`) AND `shop`.`_t_new`.`a` <=> OLD.`a`; \
             REPLACE INTO `shop`.`_t_new` (`a`) VALUES (NEW.`a`); END",
            "CREATE TRIGGER `pt_osc_shop_t_ins` AFTER INSERT ON `shop`.`t` FOR EACH ROW \
             REPLACE INTO `shop`.`_t_new` (`a`) VALUES (NEW.`a`)",
            "INSERT LOW_PRIORITY IGNORE INTO `shop`.`_t_new` (`a`) SELECT `a` FROM `shop`.`t` LOCK IN SHARE MODE",
            "ANALYZE TABLE `shop`.`_t_new` /* pt-online-schema-change */",
            "RENAME TABLE `shop`.`t` TO `shop`.`_t_old`, `shop`.`_t_new` TO `shop`.`t`",
            "DROP TABLE IF EXISTS `shop`.`_t_old`",
            "DROP TRIGGER IF EXISTS `shop`.`pt_osc_shop_t_del`",
            "DROP TRIGGER IF EXISTS `shop`.`pt_osc_shop_t_upd`",
            "DROP TRIGGER IF EXISTS `shop`.`pt_osc_shop_t_ins`",
            "CREATE TABLE last_one (a INT)",
        ],
    );
    following.wait_change("CREATE TABLE", "last_one");
    let rows =
        following.rows("SELECT kind, object, ifnull(tool, '') FROM schema_changes ORDER BY id");
    assert_eq!(
        rows,
        [
            ["ALTER TABLE", "t", "pt-online-schema-change"],
            ["CREATE TABLE", "last_one", ""]
        ]
    );
    let present = following.rows(
        "SELECT kind, object, definition LIKE '%`b` int%' FROM schema_versions \
         WHERE until IS NULL AND kind IN ('table', 'trigger') ORDER BY object",
    );
    assert_eq!(present, [["table", "last_one", "0"], ["table", "t", "1"]]);
}

fn neither_schema_history_nor_log_contains_a_password_or_hash(product: Product) {
    let server = start(product);
    let following = Following::start(&server, &[]);
    run(
        &server,
        &[
            "CREATE USER jane IDENTIFIED BY 'jane4711'",
            "ALTER USER jane IDENTIFIED BY 'jane4712'",
        ],
    );
    following.wait_change("ALTER USER", "jane@%");
    following.wait_for(
        "the definition",
        "SELECT count(*) FROM schema_versions WHERE kind = 'account' AND definition LIKE '%<secret>%'",
    );
    let statements = following.rows("SELECT statement FROM schema_changes");
    assert!(
        statements.iter().all(|row| row[0].contains("'<secret>'")),
        "{statements:?}"
    );
    let hash = match product.is_mariadb() {
        true => "*",
        false => "$A$005$",
    };
    let wal = following.folder.path().join("schemas.db-wal");
    for file in [following.file(), wal] {
        let bytes = std::fs::read(file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for secret in [
            "jane4711",
            "jane4712",
            &format!("PASSWORD '{hash}"),
            &format!("AS '{hash}"),
        ] {
            assert!(!text.contains(secret), "{secret}");
        }
    }
    assert!(!following.proxy.log().contains("jane47"));
}

fn the_history_has_objects_that_existed_before_its_start(product: Product) {
    let server = start(product);
    run(
        &server,
        &[
            "CREATE DATABASE shop",
            "USE shop",
            "CREATE TABLE t (a INT)",
            "CREATE VIEW v AS SELECT a FROM t",
            "CREATE PROCEDURE p() SELECT 1",
            "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1",
            "CREATE EVENT e ON SCHEDULE EVERY 1 YEAR DO SELECT 1",
        ],
    );
    let following = Following::start(&server, &[]);
    let select = "SELECT object, kind, made_by IS NULL, fault IS NULL FROM schema_versions WHERE db = 'shop' \
                  ORDER BY object";
    assert_eq!(
        following.rows(select),
        [
            ["e", "event", "1", "1"],
            ["g", "trigger", "1", "1"],
            ["p", "procedure", "1", "1"],
            ["shop", "schema", "1", "1"],
            ["t", "table", "1", "1"],
            ["v", "view", "1", "1"],
        ]
    );
    assert_eq!(
        following.rows("SELECT count(*) FROM schema_changes"),
        [["0"]]
    );
    run(&server, &["DROP DATABASE shop"]);
    following.wait_change("DROP DATABASE", "shop");
    let left = "SELECT count(*) FROM schema_versions WHERE db = 'shop' AND until IS NULL";
    assert_eq!(following.rows(left), [["0"]]);
}

fn compressed_logs_are_followed(product: Product) {
    let option = match product.is_mariadb() {
        true => "--log-bin-compress=ON",
        false => "--binlog-transaction-compression=ON",
    };
    let server = start_with(product, &[option, "--max-allowed-packet=64M"]);
    let following = Following::start(&server, &[]);
    run(
        &server,
        &[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.t (a LONGBLOB)",
            // An event with more than one packet, even with compression.
            "INSERT INTO shop.t VALUES (REPEAT('x', 1000))",
            "SET @blob = ''",
            "INSERT INTO shop.t VALUES (RANDOM_BYTES(1024))",
            "ALTER TABLE shop.t ADD COLUMN comment_that_is_long INT COMMENT \
             'a comment that is so long that the statement is worth compressing: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\
              xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\
              xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
        ],
    );
    following.wait_change("ALTER TABLE", "t");
    assert_eq!(following.rows("SELECT errors FROM replication"), [["0"]]);
}

fn a_server_is_followed_over_tls(product: Product) {
    let server = start(product);
    let settings = Settings::in_front_of([&*server]).set("backend_tls.mode", "required");
    let following = Following::start_with(settings, &[&server], &[]);
    run(&server, &["CREATE DATABASE shop"]);
    following.wait_change("CREATE DATABASE", "shop");
}
