//! MySQL Proxy's replication client, started by MySQL Proxy's options.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;

both! {
    the_options_of_mysql_proxy_follow_a_server
    a_binary_log_is_read_by_the_option_of_mysql_proxy
}

fn the_options_of_mysql_proxy_follow_a_server(product: Product) {
    let server = start(product);
    make_account(&server);
    let address = format!("--replicant-master-address={}", server.tcp());
    let port = format!("--repclient-port={}", server.port());
    let account = [
        "--replicant-username=follower".to_owned(),
        format!("--replicant-password={SECRET}"),
    ];
    let ways = [
        ["--plugins=replicant", address.as_str()],
        ["--mode=reverse", port.as_str()],
    ];
    for (number, way) in ways.iter().enumerate() {
        let mut program = Command::new(e2e::program())
            .args(way)
            .args(&account)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(program.stdout.take().unwrap());
        let mut lines = output.lines().map(Result::unwrap);
        // The program prints this when the server has begun to send.
        let first = lines.next().unwrap();
        assert!(
            first.starts_with("reading binlog from: binlog-file: ")
                && first.contains(", binlog-pos: "),
            "{first}"
        );
        run(&server, &[&format!("CREATE DATABASE shop{number}")]);
        let printed: Vec<_> = lines.by_ref().take(2).collect();
        program.kill().unwrap();
        program.wait().unwrap();
        assert!(printed[0].starts_with("(DDL) thread-id = "), "{printed:?}");
        assert!(printed[0].ends_with(", error-code = 0000"), "{printed:?}");
        assert_eq!(printed[1], format!("QUERY: CREATE DATABASE shop{number}"));
    }
}

fn a_binary_log_is_read_by_the_option_of_mysql_proxy(product: Product) {
    let server = start(product);
    let mut root = server.root();
    root.run("CREATE DATABASE shop");
    root.run("CREATE TABLE shop.t (a INT)");
    root.run("INSERT INTO shop.t VALUES (1)");
    let file = root.value("SELECT @@log_bin_basename");
    root.run("FLUSH BINARY LOGS");
    let logs = root.run("SHOW BINARY LOGS").texts();
    let logs = logs.iter().map(|row| row[0].clone());
    let mut printed = String::new();
    for log in logs {
        let path = PathBuf::from(&file).with_file_name(log);
        let output = Command::new(e2e::program())
            .arg(format!("--replicant-read-binlogs={}", path.display()))
            .output()
            .unwrap();
        printed.push_str(&String::from_utf8(output.stdout).unwrap());
    }
    assert!(
        printed.contains("QUERY: CREATE TABLE shop.t (a INT)\n"),
        "{printed}"
    );
    assert!(!printed.contains("INSERT"), "{printed}");
}

#[test]
fn unsupported_options_of_the_replication_client_are_refused() {
    for arguments in [
        &["--plugins=proxy,replicant"][..],
        &["--mode=reverse", "--backend=127.0.0.1:3306"],
        &["--replicant-username=a"],
    ] {
        let output = Command::new(e2e::program())
            .args(arguments)
            .output()
            .unwrap();
        assert!(!output.status.success());
        let fault = String::from_utf8(output.stderr).unwrap();
        assert!(fault.contains("replica"), "{fault}");
    }
}
