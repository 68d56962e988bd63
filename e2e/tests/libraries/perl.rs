//! The tests of Perl's DBD::MariaDB, as Debian ships them: each test that passes without a proxy passes through a
//! pool, too. They run at night: `xtask` skips this module in the check of a change.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use e2e::{PASSWORD, Product, Proxy, Server, Settings, cache};

/// This test fails in a pool, because a pooled connection's attributes name the proxy and the account.
const OTHERWISE: &[&str] = &["56connattr.t"];

/// The time limit of one test file, in seconds.
const LIMIT: &str = "120";

fn folder() -> PathBuf {
    let folder = cache().join("clients/dbd-mariadb");
    assert!(
        folder.join("t/lib.pl").exists(),
        "{}: run e2e/clients/provision.sh",
        folder.display()
    );
    folder
}

/// The path of the driver and of the modules that its tests use.
fn library() -> String {
    let root = folder().join("usr");
    let versioned = fs::read_dir(root.join("lib/x86_64-linux-gnu/perl5")).unwrap();
    let versioned = versioned.map(|entry| entry.unwrap().path());
    let folders = versioned.chain([root.join("share/perl5")]);
    let folders: Vec<String> = folders.map(|path| path.display().to_string()).collect();
    folders.join(":")
}

fn files() -> Vec<String> {
    let names = fs::read_dir(folder().join("t")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".t")).collect();
    names.sort();
    assert!(names.len() > 80, "{names:?}");
    names
}

/// The numbers of a file's tests that pass (none if the file is skipped), and the output.
fn run(file: &str, address: SocketAddr) -> (Vec<u32>, String) {
    let (host, port) = (address.ip(), address.port());
    let output = Command::new("timeout")
        .args([LIMIT, "perl", &format!("t/{file}")])
        .current_dir(folder())
        .env("PERL5LIB", library())
        .env(
            "DBI_DSN",
            format!("DBI:MariaDB:database=perl;host={host};port={port}"),
        )
        .env("DBI_USER", "app")
        .env("DBI_PASS", PASSWORD)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let passed = said.lines().filter_map(|line| line.strip_prefix("ok "));
    let numbers = passed.filter_map(|rest| rest.split_whitespace().next()?.parse().ok());
    let passed = numbers.collect();
    (passed, said + &String::from_utf8_lossy(&output.stderr))
}

fn is_not_lost_in_a_pool(product: Product) {
    let schema = "CREATE DATABASE perl CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci";
    let [alone, pooled] = [(), ()].map(|()| {
        let server = Server::start(product, &["--performance-schema=ON"]);
        server.root().run(schema);
        server
    });
    let proxy = Proxy::start(&Settings::pooled(&pooled, 8));
    let (mut lost, mut count) = (BTreeMap::new(), 0);
    for file in files() {
        let (expected, _) = run(&file, alone.tcp());
        let (passed, said) = run(&file, proxy.tcp());
        count += expected.len();
        if !expected.iter().all(|number| passed.contains(number)) {
            lost.insert(file, said);
        }
    }
    println!("{count} tests pass on a server alone");
    assert!(count > 2000, "{count}");
    lost.retain(|file, _| !OTHERWISE.contains(&file.as_str()));
    assert!(lost.is_empty(), "{lost:#?}\n{}", proxy.log_tail());
    proxy.assert_sound();
}

#[test]
fn no_test_of_perls_driver_is_lost_in_a_pool_in_front_of_mariadb() {
    is_not_lost_in_a_pool(Product::MariaDb);
}

#[test]
fn no_test_of_perls_driver_is_lost_in_a_pool_in_front_of_mysql() {
    is_not_lost_in_a_pool(Product::MySql);
}
