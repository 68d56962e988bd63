//! The first example of the manual's page works as shown.

use std::process::Command;

use e2e::page::{blocks, is_like};
use e2e::{Folder, program};

use super::*;

both! {
    the_page_of_the_manual_does_what_it_says
    schema_diff_refuses_a_missing_history_file_and_an_invalid_time
}

const PAGE: &str = include_str!("../../../docs/manual/src/schema-history.md");

fn statements(block: &str) -> impl Iterator<Item = &str> {
    block
        .split(";\n")
        .map(str::trim)
        .filter(|it| !it.is_empty())
}

/// The page's settings, added to those of a proxy in front of the server, with files in this folder.
fn settings(server: &Server, admin: u16, folder: &Folder) -> String {
    let [page, ..] = blocks(PAGE, "toml")[..] else {
        panic!("the page begins with a block of settings");
    };
    let password = folder.path().join("password");
    std::fs::write(&password, "a password").unwrap();
    let file = folder.path().join("schemas.db");
    let page = page
        .replace("/var/lib/pilotfish/schemas.db", file.to_str().unwrap())
        .replace(
            "/etc/pilotfish/replication.password",
            password.to_str().unwrap(),
        );
    let own = Settings::in_front_of([server]).admin_on(admin).to_toml();
    format!("{own}\n{page}")
}

/// The server's time, in seconds.
fn clock(root: &mut RawConn) -> u64 {
    root.value("SELECT UNIX_TIMESTAMP()").parse().unwrap()
}

fn the_page_of_the_manual_does_what_it_says(product: Product) {
    let server = start(product);
    let mut root = server.root();
    root.run("CREATE DATABASE shop");
    root.run("CREATE TABLE shop.goods (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(8,2))");
    let [account, changes] = blocks(PAGE, "sql")[..] else {
        panic!("the page has two blocks of SQL");
    };
    statements(account).for_each(|statement| drop(root.run(statement)));
    let more = match product.is_mariadb() {
        true => "GRANT BINLOG MONITOR ON *.* TO pilotfish_repl",
        false => "GRANT SHOW_ROUTINE ON *.* TO pilotfish_repl",
    };
    assert!(PAGE.contains(more));
    root.run(more);
    let folder = Folder::new("files");
    let admin = free_port();
    let text = settings(&server, admin, &folder);
    let config = folder.path().join("pilotfish.toml");
    std::fs::write(&config, &text).unwrap();
    let proxy = Proxy::start_with(&[
        "--config",
        config.to_str().unwrap(),
        "--listen",
        &format!("127.0.0.1:{}", free_port()),
    ]);
    let address = Address::Tcp(([127, 0, 0, 1], admin).into());
    let mut admin = RawConn::connect(&address, &Login::with("root", "all")).unwrap();
    wait::until("the stream has begun", wait::SOON, || {
        admin.value("SELECT count(*) FROM replication WHERE state = 'streaming'") != "0"
    });
    // The time between must be in another second than the start and the changes.
    let begun = clock(&mut root);
    wait::until("a second has passed", wait::SOON, || {
        clock(&mut root) > begun + 1
    });
    let between = admin.value(&format!(
        "SELECT strftime('%Y-%m-%d %H:%M:%S', {}, 'unixepoch')",
        begun + 1
    ));
    statements(changes).for_each(|statement| drop(root.run(statement)));
    wait::until("both changes are written", wait::SOON, || {
        admin.value("SELECT count(*) FROM schema_changes") == "2"
    });
    check_admin(&mut admin);
    check_program(&config, &between);
    drop(proxy);
}

fn check_admin(admin: &mut RawConn) {
    let [text] = blocks(PAGE, "text")[..] else {
        panic!("the page has one block of the admin port");
    };
    let mut rows: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(statement) = line.strip_prefix("admin> ") {
            assert!(rows.is_empty(), "{rows:?} is not on the page");
            let result = admin.run(statement.trim_end_matches(';')).texts();
            rows = result.iter().map(|row| row.join(" | ")).collect();
            continue;
        }
        assert!(!rows.is_empty(), "{line} is not there");
        let row = rows.remove(0);
        assert!(is_like(&row, line), "{row}\nis not\n{line}");
    }
    assert!(rows.is_empty(), "{rows:?} is not on the page");
}

fn check_program(config: &std::path::Path, from: &str) {
    let consoles = blocks(PAGE, "console");
    assert_eq!(consoles.len(), 3);
    for console in consoles {
        check_command(console, config, from);
    }
}

/// Runs a command of the page with the file and the time of this test.
fn check_command(console: &str, config: &std::path::Path, from: &str) {
    let (command, expected) = console.split_once('\n').unwrap();
    let repository = config.with_file_name("repository");
    let arguments = command
        .strip_prefix("$ pilotfish ")
        .unwrap()
        .replace("\"2026-11-26 12:00\"", "TIME")
        .replace("/srv/schemas", repository.to_str().unwrap())
        .replace("pilotfish.toml", config.to_str().unwrap());
    let arguments = arguments
        .split(' ')
        .map(|it| if it == "TIME" { from } else { it });
    let output = Command::new(program()).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = printed.lines().collect();
    let expected: Vec<_> = expected.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{printed}");
    for (line, page) in lines.iter().zip(expected) {
        assert!(is_like(line, page), "{line}\nis not\n{page}");
    }
}

fn schema_diff_refuses_a_missing_history_file_and_an_invalid_time(product: Product) {
    let server = Server::shared(product);
    let folder = Folder::new("files");
    let text = settings(server, free_port(), &folder);
    let config = folder.path().join("pilotfish.toml");
    std::fs::write(&config, text).unwrap();
    let refused = |arguments: &[&str]| {
        let output = Command::new(program())
            .args(["schema", "diff", "main", "-c", config.to_str().unwrap()])
            .args(arguments)
            .output()
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let nothing = refused(&["--from", "2026-11-26"]);
    assert!(nothing.contains("schemas.db"), "{nothing}");
    let no_time = refused(&["--from", "soon"]);
    assert!(no_time.contains("no time"), "{no_time}");
}
