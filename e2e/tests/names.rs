//! Which tables a statement touches, by the servers' word: an account without any privilege on a table runs statements
//! that may name it, and is refused. The table is `sql/tests/names.tsv`, which the tests of the crate `sql` read.

use std::path::Path;

use e2e::raw::{Address, Login, Outcome, RawConn, ServerError, Shape};
use e2e::{LeasedServer, Product, Server};

/// In the order of the table's columns.
pub(crate) const PRODUCTS: [Product; 3] = [Product::MySql, Product::MariaDb, Product::MariaDbNext];

/// If this variable is set, the table is written anew.
const WRITE: &str = "PILOTFISH_WRITE";

/// Errors for a missing privilege on a table, a column or an object of a view.
pub(crate) const DENIED: [u16; 3] = [1142, 1143, 1147];

/// The error for an object that is not a sequence, at the place of a sequence.
pub(crate) const NO_SEQUENCE: u16 = 4089;

/// Tables on which the account has every privilege.
const OPEN: [&str; 8] = [
    "other",
    "third",
    "parted",
    "period",
    "versioned",
    "fresh",
    "fresh2",
    "view_of_secret",
];

const SETUP: &[&str] = &[
    "CREATE TABLE secret (a INT, b INT)",
    "CREATE TABLE other (a INT PRIMARY KEY, b INT, `from` INT)",
    "CREATE TABLE third (a INT, b INT)",
    "CREATE TABLE parted (a INT, b INT) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10), \
     PARTITION p1 VALUES LESS THAN (100))",
    "CREATE PROCEDURE p(x INT) BEGIN END",
    "CREATE PROCEDURE p2(x INT, y INT) BEGIN END",
    "CREATE FUNCTION f(x INT) RETURNS INT DETERMINISTIC RETURN x",
    "CREATE VIEW view_of_secret AS SELECT * FROM secret",
    "GRANT LOCK TABLES, CREATE TEMPORARY TABLES, EVENT, CREATE ROUTINE, EXECUTE ON names.* TO low@localhost",
    "GRANT FILE, RELOAD, PROCESS, SUPER ON *.* TO low@localhost",
];

/// Statements of the setup that only one family accepts.
const SETUP_OF_ONE: &[&str] = &[
    "CREATE TABLE period (a INT, s DATE, e DATE, PERIOD FOR p (s, e))",
    "CREATE TABLE versioned (a INT, b INT) WITH SYSTEM VERSIONING",
    "GRANT SYSTEM_VARIABLES_ADMIN, BACKUP_ADMIN ON *.* TO low@localhost",
];

/// A server with the tables and the account.
pub(crate) fn set_up(product: Product) -> LeasedServer {
    let server = Server::lease(product);
    let mut root = server.root();
    root.run("SET sql_mode = ''");
    root.run("CREATE DATABASE names");
    root.run("USE names");
    for account in ["low", "low2"] {
        root.run(&format!("CREATE USER {account}@localhost"));
    }
    SETUP.iter().for_each(|sql| drop(root.run(sql)));
    SETUP_OF_ONE.iter().for_each(|sql| drop(root.query(sql)));
    for table in OPEN {
        root.run(&format!(
            "GRANT ALL ON names.{table} TO low@localhost WITH GRANT OPTION"
        ));
    }
    server
}

pub(crate) fn names_secret(error: &ServerError) -> bool {
    ["'secret'", "`secret`", "'names.secret'"]
        .iter()
        .any(|name| error.text.contains(name))
}

/// A server's answer to a statement. Each statement has its own connection.
fn said(server: &Server, text: &str) -> &'static str {
    let login = Login::with("low", "").schema("names");
    let address = Address::Unix(server.socket());
    let mut conn = RawConn::connect(&address, &login).unwrap();
    conn.run("SET sql_mode = ''");
    let mut reply = conn.query(text);
    if matches!(reply.outcomes.last(), Some(Outcome::LocalFile(_))) {
        conn.send_on(&[]);
        reply = conn.reply(Shape::Results);
    }
    match reply.error() {
        Some(error) if DENIED.contains(&error.code) && names_secret(error) => "secret",
        Some(error) if error.code == NO_SEQUENCE && names_secret(error) => "sequence",
        _ => "-",
    }
}

#[test]
fn the_table_of_names_matches_the_servers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/tests/names.tsv");
    let old = std::fs::read_to_string(&path).unwrap();
    let servers = PRODUCTS.map(set_up);
    let row = |line: &str| {
        let columns: Vec<_> = line.split('\t').collect();
        let (text, known) = columns.split_last().unwrap();
        let cells = servers
            .iter()
            .zip(known)
            .map(|(server, known)| match *known {
                // This statement needs no privilege, so the server's answer shows nothing.
                "free" => "free",
                _ => said(server, text),
            });
        let cells: Vec<_> = cells.chain([*text]).collect();
        cells.join("\t")
    };
    let fresh: Vec<String> = old
        .lines()
        .map(|line| {
            if line.starts_with('#') {
                line.to_owned()
            } else {
                row(line)
            }
        })
        .collect();
    if std::env::var_os(WRITE).is_some() {
        return std::fs::write(&path, fresh.join("\n") + "\n").unwrap();
    }
    let other: Vec<_> = fresh
        .iter()
        .zip(old.lines())
        .filter(|(fresh, old)| fresh != old)
        .collect();
    assert!(
        other.is_empty(),
        "the servers say otherwise ({WRITE}=1 writes the table): {other:#?}"
    );
}
