//! The history as statements that lead from one state to another, and as a Git repository.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use e2e::program;

use super::*;

both! {
    the_statements_of_a_difference_make_the_same_schema
    each_change_is_a_commit
}

const BEFORE: &[&str] = &[
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "USE shop",
    "CREATE TABLE goods (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20), price DECIMAL(8,2), \
     note VARCHAR(50) COMMENT 'a, b (c) ''d''', KEY by_name (name), KEY by_price (price))",
    "CREATE TABLE orders (id INT PRIMARY KEY, good INT, n INT, CONSTRAINT of_good FOREIGN KEY (good) \
     REFERENCES goods (id), CONSTRAINT some CHECK (n > 0))",
    "CREATE TABLE old (n INT)",
    "CREATE TABLE parts (n INT NOT NULL) PARTITION BY HASH (n) PARTITIONS 2",
    "CREATE TABLE whole (n INT NOT NULL)",
    "CREATE TABLE texts (t VARCHAR(10), u VARCHAR(10) CHARACTER SET utf8mb4, n INT) DEFAULT CHARSET=latin1",
    "CREATE VIEW cheap AS SELECT name FROM goods WHERE price < 10",
    "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END",
    "CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1",
    "CREATE TRIGGER counts BEFORE INSERT ON orders FOR EACH ROW SET NEW.n = NEW.n + 1",
    "CREATE TABLE behind (n INT)",
];

const AFTER: &[&str] = &[
    "USE shop",
    "ALTER TABLE goods ADD COLUMN stock INT DEFAULT 5 AFTER id, DROP COLUMN note, \
     MODIFY price DECIMAL(10,2) NOT NULL, DROP KEY by_name, ADD UNIQUE KEY by_name (name, price), COMMENT='it''s; new'",
    "ALTER TABLE goods MODIFY name VARCHAR(20) AFTER price",
    "ALTER TABLE orders DROP FOREIGN KEY of_good, DROP CONSTRAINT some",
    "ALTER TABLE orders ADD CONSTRAINT of_good FOREIGN KEY (good) REFERENCES goods (id) ON DELETE CASCADE",
    "DROP TABLE old",
    "CREATE TABLE fresh (n INT, g INT GENERATED ALWAYS AS (n + 1) VIRTUAL)",
    "ALTER TABLE parts REMOVE PARTITIONING",
    "ALTER TABLE whole PARTITION BY RANGE (n) (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN MAXVALUE)",
    "ALTER TABLE texts CONVERT TO CHARACTER SET utf8mb4",
    "CREATE OR REPLACE VIEW cheap AS SELECT id, name FROM goods WHERE price < 20",
    "CREATE VIEW a_first AS SELECT name FROM cheap",
    "DROP PROCEDURE p",
    "CREATE PROCEDURE p(x INT) BEGIN SELECT x; SELECT 'a;b'; END",
    "DROP FUNCTION f",
    "CREATE EVENT e ON SCHEDULE EVERY 1 DAY STARTS '2037-01-01 00:00:00' DO SELECT 1",
    "ALTER DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "CREATE TABLE last_one (n INT)",
];

impl Following {
    /// Runs `pilotfish schema` with these arguments and the proxy's settings.
    fn schema(&self, arguments: &[&str]) -> Output {
        let config = self.folder.path().join("pilotfish.toml");
        std::fs::write(&config, self.settings.to_toml()).unwrap();
        let mut command = Command::new(program());
        command.arg("schema").args(arguments).arg("-c").arg(config);
        command.output().unwrap()
    }

    #[track_caller]
    fn printed(&self, arguments: &[&str]) -> String {
        let output = self.schema(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// The server's definition of each object in the schema.
fn definitions(server: &Server) -> Vec<Vec<String>> {
    let mut root = server.root();
    root.run("SET SESSION sql_mode = ''");
    let lists = [
        (
            "TABLE",
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop' ORDER BY 1",
        ),
        (
            "PROCEDURE",
            "SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'shop' AND routine_type = 'PROCEDURE' ORDER BY 1",
        ),
        (
            "FUNCTION",
            "SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'shop' AND routine_type = 'FUNCTION' ORDER BY 1",
        ),
        (
            "TRIGGER",
            "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = 'shop' ORDER BY 1",
        ),
        (
            "EVENT",
            "SELECT event_name FROM information_schema.events WHERE event_schema = 'shop' ORDER BY 1",
        ),
        (
            "SEQUENCE",
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop' AND table_type = 'SEQUENCE'",
        ),
    ];
    let mut all = root.run("SHOW CREATE DATABASE shop").texts();
    for (kind, list) in lists {
        for name in root.run(list).texts().concat() {
            let mut row = root
                .run(&format!("SHOW CREATE {kind} shop.{name}"))
                .texts()
                .remove(0);
            // The columns after the definition are the creation time and the character sets of its client.
            row.truncate(if kind == "TABLE" { 2 } else { 3 });
            all.push(row.iter().map(|text| with_keys_in_order(text)).collect());
        }
    }
    all
}

/// A definition with sorted indexes: an index that is dropped and added again comes last.
fn with_keys_in_order(definition: &str) -> String {
    let is_key = |line: &str| line.contains("KEY `") && !line.contains("FOREIGN");
    let plain = definition.lines().map(|line| line.trim_end_matches(','));
    let (mut keys, mut others): (Vec<&str>, Vec<&str>) = plain.partition(|line| is_key(line));
    keys.sort_unstable();
    others.append(&mut keys);
    others.join("\n")
}

/// A time, in seconds of the server's clock, that has passed and had no change.
fn time_between(server: &Server) -> String {
    quiet_second(&mut server.root())
}

/// The same, for the server of this connection.
pub(super) fn quiet_second(root: &mut RawConn) -> String {
    let mut clock = || -> u64 { root.value("SELECT UNIX_TIMESTAMP()").parse().unwrap() };
    let begun = clock();
    wait::until("a second has passed", wait::SOON, || clock() > begun + 1);
    root.run("SET time_zone = '+00:00'");
    root.value(&format!("SELECT FROM_UNIXTIME({})", begun + 1))
}

/// Executes a script with the product's command-line client.
pub(super) fn execute(product: Product, socket: &Path, script: &Path) {
    let output = product
        .client()
        .args(["--user=root", "--protocol=socket"])
        .arg(format!("--socket={}", socket.display()))
        .stdin(Stdio::from(std::fs::File::open(script).unwrap()))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

fn the_statements_of_a_difference_make_the_same_schema(product: Product) {
    let [changed, migrated] = [(); 2].map(|()| start(product));
    let following = Following::start(&changed, &[]);
    // MySQL has no sequences.
    let [made, altered]: [&[&str]; 2] = match product.is_mariadb() {
        true => [
            &["CREATE SEQUENCE shop.numbers START WITH 7"],
            &[
                "ALTER SEQUENCE shop.numbers INCREMENT BY 5 MAXVALUE 1000",
                "CREATE SEQUENCE shop.other NOCACHE CYCLE",
            ],
        ],
        false => [&[]; 2],
    };
    let before = [
        &BEFORE[..BEFORE.len() - 1],
        made,
        &BEFORE[BEFORE.len() - 1..],
    ]
    .concat();
    let after = [altered, AFTER].concat();
    run(&changed, &before);
    following.wait_change("CREATE TABLE", "behind");
    let between = time_between(&changed);
    run(&changed, &after);
    following.wait_change("CREATE TABLE", "last_one");
    let diff = ["diff", "main", "--from", &between, "--sql"];
    let script = following.folder.path().join("forth.sql");
    std::fs::write(&script, following.printed(&diff)).unwrap();
    run(&migrated, &before);
    let before = definitions(&migrated);
    execute(product, &migrated.socket(), &script);
    let text = std::fs::read_to_string(&script).unwrap();
    assert_eq!(definitions(&migrated), definitions(&changed), "{text}");
    assert!(!text.contains("-- "), "{text}");
    // The statements of the other direction give the second server the first state.
    let back = following.folder.path().join("back.sql");
    let now = time_between(&changed);
    let diff = ["diff", "main", "--from", &now, "--to", &between, "--sql"];
    std::fs::write(&back, following.printed(&diff)).unwrap();
    execute(product, &migrated.socket(), &back);
    let text = std::fs::read_to_string(&back).unwrap();
    assert_eq!(definitions(&migrated), before, "{text}");
}

/// The output of Git for a repository.
#[track_caller]
pub(super) fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn each_change_is_a_commit(product: Product) {
    let server = start(product);
    run(
        &server,
        &[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.goods (id INT)",
            "CREATE DATABASE other",
        ],
    );
    let following = Following::start(&server, &[]);
    let folder = following.folder.path().join("repository");
    let export = || {
        following.printed(&[
            "export",
            "main",
            "--git",
            folder.to_str().unwrap(),
            "--schema",
            "shop",
        ])
    };
    let subjects = || git(&folder, &["log", "--reverse", "--format=%an|%s"]);
    let file = |name: &str| std::fs::read_to_string(folder.join("schemas/shop").join(name));
    assert_eq!(export(), "1 commits\n");
    assert_eq!(subjects(), "Pilotfish|Objects as the proxy has read them\n");
    assert!(
        file("schema.sql")
            .unwrap()
            .starts_with("CREATE DATABASE `shop`")
    );
    for (statement, kind, object) in [
        (
            "ALTER TABLE shop.goods ADD stock INT",
            "ALTER TABLE",
            "goods",
        ),
        (
            "CREATE VIEW shop.`a/../b` AS SELECT 1",
            "CREATE VIEW",
            "a/../b",
        ),
        ("CREATE TABLE other.t (n INT)", "CREATE TABLE", "t"),
        ("TRUNCATE shop.goods", "TRUNCATE", "goods"),
    ] {
        run(&server, &[statement]);
        following.wait_change(kind, object);
    }
    assert_eq!(export(), "3 commits\n");
    assert_eq!(export(), "0 commits\n");
    assert_eq!(
        subjects(),
        "Pilotfish|Objects as the proxy has read them\nPilotfish|ALTER TABLE shop.goods\n\
         root|CREATE VIEW shop.a/../b\nPilotfish|TRUNCATE shop.goods\n"
    );
    assert!(file("table/goods.sql").unwrap().contains("`stock` int"));
    assert!(file("view/a%2F..%2Fb.sql").is_ok());
    let change = git(&folder, &["show", "--stat", "--format=%B", "HEAD~2"]);
    assert!(
        change.contains("ALTER TABLE shop.goods ADD stock INT\n\nGTID: "),
        "{change}"
    );
    assert!(change.contains("1 file changed"), "{change}");
    run(&server, &["DROP TABLE shop.goods"]);
    following.wait_change("DROP TABLE", "goods");
    assert_eq!(export(), "1 commits\n");
    assert!(file("table/goods.sql").is_err());
    assert_eq!(git(&folder, &["status", "--porcelain"]), "");
    git(&folder, &["fsck", "--strict"]);
    refuses_what_is_not_its_own(&following, &folder);
}

fn refuses_what_is_not_its_own(following: &Following, folder: &Path) {
    let refused = |folder: &Path| {
        let output = following.schema(&["export", "main", "--git", folder.to_str().unwrap()]);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    std::fs::write(folder.join("notes.txt"), "mine").unwrap();
    let fault = refused(folder);
    assert!(fault.contains("not committed"), "{fault}");
    git(folder, &["add", "."]);
    git(
        folder,
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-qm",
            "mine",
        ],
    );
    let fault = refused(folder);
    assert!(fault.contains("not of a schema history"), "{fault}");
    assert!(folder.join("notes.txt").exists());
    // A folder that has files and is no repository.
    let fault = refused(following.folder.path());
    assert!(fault.contains("not empty"), "{fault}");
}
