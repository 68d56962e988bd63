//! The client libraries of seven languages tell the same story with and without the proxy. A binary
//! of its own: each library wants the machine for itself for some seconds.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use e2e::{PASSWORD, Product, Proxy, Server, Settings};

/// Programs are built once and run one after the other.
static TURN: Mutex<()> = Mutex::new(());

/// How the proxy serves its sessions.
#[derive(Clone, Copy)]
enum Way {
    Transparent,
    /// Over so few backend connections that they must be shared.
    Pooled,
}

fn compare(product: Product, way: Way, options: &[&str]) {
    let _turn = TURN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let server = Server::start(product, &[]);
    server.root().run("CREATE DATABASE app");
    let proxy = Proxy::start(&match way {
        Way::Transparent => Settings::in_front_of([&server]),
        Way::Pooled => Settings::pooled(&server, 4),
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/compare.sh");
    let output = Command::new(script)
        .arg(server.tcp().to_string())
        .arg(proxy.tcp().to_string())
        .args(["--user", "app", "--password", PASSWORD, "--database", "app"])
        .args(options)
        .args(match way {
            Way::Transparent => &[][..],
            Way::Pooled => &["--pooled"],
        })
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
fn libraries_see_no_proxy_in_front_of_mariadb() {
    compare(Product::MariaDb, Way::Transparent, &[]);
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
fn libraries_see_no_proxy_in_front_of_mysql_over_tls() {
    compare(Product::MySql, Way::Transparent, &["--tls"]);
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
fn libraries_see_no_pool_in_front_of_mysql() {
    compare(Product::MySql, Way::Pooled, &[]);
}

#[test]
fn libraries_see_no_pool_in_front_of_mariadb_over_tls() {
    compare(Product::MariaDb, Way::Pooled, &["--tls"]);
}

#[test]
fn libraries_see_no_pool_in_front_of_mysql_with_compression() {
    compare(Product::MySql, Way::Pooled, &["--compress"]);
}
