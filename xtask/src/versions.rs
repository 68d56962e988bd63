//! The manual's page of supported versions names the versions that the tests use, and tests that exist.

#![allow(clippy::panic)] // a test tells what is wrong by panicking

use crate::{read, root};

const PAGE: &str = "docs/manual/src/supported-versions.md";

fn text(file: &str) -> String {
    read(&root().join(file)).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// What a file has between a text and the next quote, bracket or end of line.
fn version(file: &str, before: &str) -> String {
    let text = text(file);
    let (_, behind) = text
        .split_once(before)
        .unwrap_or_else(|| panic!("{file} has no {before}"));
    let end = behind.find(['"', '<', '\n', '\'', ' ']);
    behind[..end.unwrap_or(behind.len())].to_owned()
}

/// The page's rows that begin with a name.
fn rows(name: &str) -> Vec<String> {
    let page = text(PAGE);
    let start = format!("| {name} |");
    let rows = page.lines().filter(|line| line.starts_with(&start));
    rows.map(str::to_owned).collect()
}

#[test]
fn the_page_names_the_versions_that_the_tests_use() {
    let java = "e2e/clients/java/pom.xml";
    let python = "e2e/clients/python/requirements.txt";
    let used = [
        ("MySQL", version("e2e/provision.sh", "unpack mysql-")),
        ("MariaDB", version("e2e/provision.sh", "unpack mariadb-")),
        (
            "MariaDB",
            version("e2e/src/product.rs", "distribution installs it ("),
        ),
        (
            "libmysqlclient",
            version("e2e/provision.sh", "unpack mysql-"),
        ),
        (
            "go-sql-driver/mysql",
            version("e2e/clients/go-sql-driver/go.mod", "go-sql-driver/mysql v"),
        ),
        (
            "MySQL Connector/J",
            version(
                java,
                "<artifactId>mysql-connector-j</artifactId>\n      <version>",
            ),
        ),
        (
            "MariaDB Connector/J",
            version(
                java,
                "<artifactId>mariadb-java-client</artifactId>\n      <version>",
            ),
        ),
        (
            "mysql2",
            version("e2e/clients/node-mysql2/package.json", "\"mysql2\": \""),
        ),
        ("PyMySQL", version(python, "PyMySQL==")),
        ("mysqlclient", version(python, "mysqlclient==")),
        (
            "mysql_async",
            version("Cargo.lock", "name = \"mysql_async\"\nversion = \""),
        ),
    ];
    for (name, version) in used {
        let rows = rows(name);
        let cell = format!("| {version} |");
        assert!(
            rows.iter().any(|row| row.contains(&cell)),
            "{PAGE} has no row of {name} with {version}: {rows:?}"
        );
    }
    let rust = version("Cargo.toml", "rust-version = \"");
    assert!(text(PAGE).contains(&format!("Rust {rust} or newer")));
}

#[test]
fn the_tests_that_the_page_names_exist() {
    let page = text(PAGE);
    let named = page.split('`').filter(|word| word.starts_with("e2e/"));
    let named: Vec<&str> = named.collect();
    assert!(!named.is_empty());
    for file in named {
        assert!(root().join(file).exists(), "there is no {file}");
    }
}
