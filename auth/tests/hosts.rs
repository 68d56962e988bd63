//! The account that real servers chose for a client, compared with the account that [`Directory`] finds.
//!
//! The files in `hosts/` were recorded: accounts were created at random, a client came from an address
//! (by a PROXY header on MariaDB, from another loopback address on MySQL) and asked for CURRENT_USER().

use std::path::Path;

use pilotfish_auth::{Account, Dialect, Directory, HostPattern, Names, Origin, Rules};

/// The account found, as `user@host`; `-` for none.
fn found(rules: Rules, accounts: &str, origin: &Origin) -> String {
    let accounts = accounts.split(' ').map(|account| {
        let (user, host) = account.split_once('@').unwrap();
        Account::new(user, HostPattern::new(host, rules.dialect), Vec::new())
    });
    let directory = Directory::new(rules, accounts, [0; 32]);
    match directory.find(b"h", origin) {
        Some(account) => format!("{}@{}", account.user, account.host.as_str()),
        None => "-".to_owned(),
    }
}

fn assert_as_recorded(file: &str, dialect: Dialect) {
    let rules = Rules {
        dialect,
        names: Names::Skipped,
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/hosts")
        .join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(" | ").collect())
        .collect();
    assert!(rows.len() > 200, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for row in rows {
        let origin = Origin::tcp(row[0].parse().unwrap(), None);
        let ours = found(rules, row[1], &origin);
        if ours != row[2] {
            wrong.push(format!("{} | {} | {}, not {ours}", row[0], row[1], row[2]));
        }
    }
    assert!(wrong.is_empty(), "{file}:\n{}", wrong.join("\n"));
}

#[test]
fn accounts_are_found_as_mariadb_finds_them() {
    assert_as_recorded("mariadb-10.11.txt", Dialect::MariaDb);
}

#[test]
fn accounts_are_found_as_mysql_finds_them() {
    assert_as_recorded("mysql-9.7.txt", Dialect::MySql);
}
