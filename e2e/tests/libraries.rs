//! The client libraries of seven languages tell the same story with and without the proxy. A binary of its own:
//! few of its tests run at once, since a client keeps a processor busy. Each test has a server of its own.
//!
//! A change is checked through transparent and pooled sessions of both families, with TLS and compression in one
//! variant each or more. All other variants, and scripts, are checked at night.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "libraries/crowd.rs"]
mod crowd;
#[path = "libraries/perl.rs"]
mod perl;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use e2e::{Folder, PASSWORD, Product, Proxy, Server, Settings, free_port};

/// The transcripts of each client without a proxy. They depend on the product and the options only, and all tests of
/// this process share them.
static DIRECT: LazyLock<Folder> = LazyLock::new(|| Folder::new("direct"));

/// How the proxy serves its sessions.
#[derive(Clone, Copy)]
enum Way {
    Transparent,
    /// With so few backend connections that sessions must share them.
    Pooled,
    /// Through a script, with a connection for each client.
    Scripted(&'static str),
    /// Through a script, over shared connections.
    PooledScripted(&'static str),
}

/// A script with every hook, none of which changes anything. It sends each command itself, and keeps each result.
const ALL_KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/all_kept.lua");

/// A script that is shipped with the proxy.
const AUDITING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/auditing.lua");

impl Way {
    fn settings(self, server: &Server) -> Settings {
        match self {
            Self::Transparent => Settings::in_front_of([server]),
            Self::Pooled => Settings::pooled(server, 4),
            Self::Scripted(script) => scripted(Settings::in_front_of([server]), script),
            Self::PooledScripted(script) => scripted(Settings::pooled(server, 4), script),
        }
    }

    /// The options that leave differences out of a comparison.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Transparent | Self::Scripted(_) => &[],
            Self::Pooled | Self::PooledScripted(_) => &["--pooled"],
        }
    }
}

/// The limit lets the script keep results of 200,000 rows and values of 20 MiB.
fn scripted(settings: Settings, script: &str) -> Settings {
    settings
        .set("routing.script", script)
        .set("script.result_bytes_max", 1 << 30)
}

/// The folder of the direct transcripts of a product with these options.
fn direct(product: Product, options: &[&str]) -> PathBuf {
    DIRECT.join(&format!("{}{}", product.name(), options.concat()))
}

fn compare(product: Product, way: Way, options: &[&str]) {
    let server = Server::start(product, &[]);
    server.root().run("CREATE DATABASE app");
    let proxy = Proxy::start(&way.settings(&server));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/compare.sh");
    let output = Command::new(script)
        .arg(server.tcp().to_string())
        .arg(proxy.tcp().to_string())
        .args(["--user", "app", "--password", PASSWORD, "--database", "app"])
        .arg("--direct")
        .arg(direct(product, options))
        .args(options)
        .args(way.options())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{text}\n{errors}\n{}",
        proxy.log_tail()
    );
    print!("{text}");
    proxy.assert_sound();
}

#[test]
fn libraries_see_no_proxy_in_front_of_mysql_over_tls() {
    compare(Product::MySql, Way::Transparent, &["--tls"]);
}

#[test]
fn libraries_see_no_pool_in_front_of_mysql() {
    compare(Product::MySql, Way::Pooled, &[]);
}

#[test]
fn libraries_see_no_pool_in_front_of_mariadb_with_compression() {
    compare(Product::MariaDb, Way::Pooled, &["--compress"]);
}

/// These tests run at night: `xtask` skips this module in the check of a change.
mod nightly {
    use super::{ALL_KEPT, AUDITING, Product, Way, compare};

    #[test]
    fn libraries_see_no_proxy_in_front_of_mariadb() {
        compare(Product::MariaDb, Way::Transparent, &[]);
    }

    #[test]
    fn libraries_see_no_pool_in_front_of_mariadb_over_tls() {
        compare(Product::MariaDb, Way::Pooled, &["--tls"]);
    }

    #[test]
    fn libraries_see_no_pool_in_front_of_mysql_with_compression() {
        compare(Product::MySql, Way::Pooled, &["--compress"]);
    }

    #[test]
    fn libraries_see_no_proxy_in_front_of_mysql() {
        compare(Product::MySql, Way::Transparent, &[]);
    }

    #[test]
    fn libraries_see_no_proxy_in_front_of_mariadb_over_tls() {
        compare(Product::MariaDb, Way::Transparent, &["--tls"]);
    }

    #[test]
    fn libraries_see_no_proxy_in_front_of_mysql_with_compression() {
        compare(Product::MySql, Way::Transparent, &["--compress"]);
    }

    #[test]
    fn libraries_see_no_pool_in_front_of_mariadb() {
        compare(Product::MariaDb, Way::Pooled, &[]);
    }

    #[test]
    fn libraries_see_no_script_in_front_of_mariadb() {
        compare(Product::MariaDb, Way::Scripted(ALL_KEPT), &[]);
    }

    #[test]
    fn libraries_see_no_script_in_front_of_mysql() {
        compare(Product::MySql, Way::Scripted(ALL_KEPT), &["--compress"]);
    }

    #[test]
    fn libraries_see_no_pool_behind_a_script_in_front_of_mariadb() {
        compare(Product::MariaDb, Way::PooledScripted(ALL_KEPT), &["--tls"]);
    }

    #[test]
    fn libraries_see_no_pool_behind_a_script_in_front_of_mysql() {
        compare(Product::MySql, Way::PooledScripted(ALL_KEPT), &[]);
    }

    #[test]
    fn libraries_are_audited_in_front_of_mariadb() {
        compare(Product::MariaDb, Way::PooledScripted(AUDITING), &[]);
    }

    #[test]
    fn libraries_are_audited_in_front_of_mysql() {
        compare(Product::MySql, Way::Scripted(AUDITING), &[]);
    }
}

/// The transcript of every library on the admin port.
const ADMINISTRATION: &str = "\
user: root@127.0.0.1
joined: 1 | 777
tables: sessions
prepared: 7 | it's 🐟 | limits.sessions_max
schema: stats
changed: 1 | 888
rolled back: 888
reverted: 777
unknown table: 1146
syntax: 1064
wrong password: 1045
alive: 42
";

/// The answers to JDBC's metadata queries, which tools send.
const METADATA: &str = "\
catalogs: [information_schema, main, pilotfish, stats]
table types: some
backends: [backends]
views: [backends]
column: outcome | TEXT | -1 | 1 | YES
column: reason | TEXT | -1 | 2 | YES
column: statements | BIGINT | -5 | 3 | YES
types: true
product: some | 8
isolation: 4
warnings: null
afterwards: 43
";

/// A client that always verifies the certificate, and cannot be told to trust that of the admin port.
const WITHOUT_TLS: &str = "perl-dbd-mariadb";

fn administer(options: &[&str]) {
    let port = free_port();
    let nowhere = format!("127.0.0.1:{}", free_port());
    let settings = Settings::default().backend(nowhere);
    let settings = settings.set("limits.sessions_max", 777).admin_on(port);
    let proxy = Proxy::start(&settings);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/run.sh");
    let list = ["--list", "--administration"];
    let list = Command::new(&script).args(list).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.lines().count() > 12, "{list}");
    let able = |client: &&str| options.is_empty() || *client != WITHOUT_TLS;
    for client in list.lines().filter(able) {
        let output = Command::new(&script)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args(["--user", "root", "--password", "all"])
            .args([
                "--database",
                "pilotfish",
                "--administration",
                "--only",
                client,
            ])
            .args(options)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        let metadata = match client.starts_with("java") {
            true => METADATA,
            false => "",
        };
        let expected = format!("{ADMINISTRATION}{metadata}");
        assert_eq!(told, expected, "{client}: {errors}\n{}", proxy.log_tail());
        assert!(output.status.success(), "{client}: {errors}");
    }
    proxy.assert_sound();
}

#[test]
fn client_libraries_work_on_the_admin_port() {
    administer(&[]);
}

#[test]
fn client_libraries_work_on_the_admin_port_over_tls() {
    administer(&["--tls"]);
}
