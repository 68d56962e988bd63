//! The client libraries of seven languages tell the same story with and without the proxy. A binary
//! of its own: each library wants the machine for itself for some seconds.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use e2e::{PASSWORD, Product, Proxy, Server, Settings};

/// Programs are built once and run one after the other.
static TURN: Mutex<()> = Mutex::new(());

fn compare(product: Product, options: &[&str]) {
    let _turn = TURN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let server = Server::start(product, &[]);
    server.root().run("CREATE DATABASE app");
    let proxy = Proxy::start(&Settings::in_front_of([&server]));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/compare.sh");
    let output = Command::new(script)
        .arg(server.tcp().to_string())
        .arg(proxy.tcp().to_string())
        .args(["--user", "app", "--password", PASSWORD, "--database", "app"])
        .args(options)
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
    compare(Product::MariaDb, &[]);
}

#[test]
fn libraries_see_no_proxy_in_front_of_mysql() {
    compare(Product::MySql, &[]);
}

#[test]
fn libraries_see_no_proxy_in_front_of_mariadb_over_tls() {
    compare(Product::MariaDb, &["--tls"]);
}

#[test]
fn libraries_see_no_proxy_in_front_of_mysql_over_tls() {
    compare(Product::MySql, &["--tls"]);
}

#[test]
fn libraries_see_no_proxy_in_front_of_mysql_with_compression() {
    compare(Product::MySql, &["--compress"]);
}
