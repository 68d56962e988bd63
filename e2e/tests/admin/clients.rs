//! The command-line clients, as people use them.

use std::process::{Command, Output};

use e2e::Product;

use super::Watched;

/// Adds the admin port's address and the account to a client's command.
fn to(command: Command, watched: &Watched) -> Command {
    to_as(command, watched, ["-ulook", "-psome"])
}

fn to_as(mut command: Command, watched: &Watched, whom: [&str; 2]) -> Command {
    let port = watched.port.to_string();
    command.args(["-h127.0.0.1", "-P", &port]).args(whom);
    command
}

fn output(mut command: Command) -> String {
    let Output {
        stdout,
        stderr,
        status,
    } = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(status.success(), "{}{}", text(&stdout), text(&stderr));
    text(&stdout)
}

both!(the_command_line_client_works_with_completion);
fn the_command_line_client_works_with_completion(product: Product) {
    let watched = Watched::alone();
    let ask = |database: &str, sql: &str| {
        let mut client = to(product.client(), &watched);
        // With completion, the client asks for schemas, tables and columns.
        client.args(["--batch", "--auto-rehash", "-D", database, "-e", sql]);
        output(client)
    };
    let told = ask(
        "pilotfish",
        "SELECT name, state FROM backends; SELECT @@version_comment LIMIT 1",
    );
    assert!(told.contains("name\tstate\n127.0.0.1:"), "{told}");
    assert!(told.contains("Pilotfish, the admin port"), "{told}");
    let told = ask(
        "stats",
        "SHOW TABLES; USE pilotfish; SHOW TABLES LIKE 'sess%'",
    );
    assert!(told.contains("stats_mysql_processlist\n"), "{told}");
    assert!(told.ends_with("sessions\n"), "{told}");
    let told = ask(
        "pilotfish",
        "SHOW DATABASES; SHOW VARIABLES LIKE 'version'; SHOW WARNINGS",
    );
    assert!(
        told.contains("information_schema\n") && told.contains("version\t8."),
        "{told}"
    );
    let told = ask(
        "pilotfish",
        "SELECT * FROM help WHERE command LIKE \"%proc%\"",
    );
    assert!(told.contains("SHOW PROCESSLIST\t"), "{told}");
}

both!(the_administrators_client_is_answered);
fn the_administrators_client_is_answered(product: Product) {
    let watched = Watched::alone();
    let program = match product {
        Product::MySql => "mysqladmin",
        Product::MariaDb | Product::MariaDbNext => "mariadb-admin",
    };
    let admin = |words: &[&str]| {
        let mut command = product.command(program);
        command.arg("--no-defaults");
        let mut command = to(command, &watched);
        command.args(words);
        output(command)
    };
    assert!(admin(&["ping"]).contains("is alive"));
    assert!(admin(&["status"]).contains("Threads_connected: 0"));
    assert!(admin(&["version"]).contains("pilotfish"));
    assert!(admin(&["processlist"]).contains("Command"));
    assert!(admin(&["variables"]).contains("limits.sessions_max"));
    assert!(admin(&["extended-status"]).contains("Backends_usable"));
    for words in ["flush-logs", "flush-status"] {
        let mut command = product.command(program);
        command.arg("--no-defaults");
        let mut command = to_as(command, &watched, ["-uroot", "-pall"]);
        command.arg(words);
        output(command);
    }
    watched
        .proxy
        .wait_event("admin_flush_logs", &["root@127.0.0.1"]);
}

#[test]
fn mysqls_command_line_client_can_reset_its_connection() {
    let watched = Watched::alone();
    let mut client = to(Product::MySql.client(), &watched);
    // The client resets its connection with `resetconnection` (`\x`).
    let sql = r"USE stats; \x SELECT DATABASE()";
    client.args(["--batch", "--commands", "-e", sql]);
    let told = output(client);
    assert!(told.ends_with("stats\n"), "{told}");
}
