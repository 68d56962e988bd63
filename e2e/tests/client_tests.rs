//! The servers' own test programs of their C libraries: hundreds of small conversations, mostly
//! with prepared statements, that know nothing of a proxy.

use e2e::{PASSWORD, Product, Proxy, Server, Settings};

/// These tests fail on a direct connection too, because they need another server, or another build of it.
const FAIL_DIRECTLY: &[&str] = &[
    "test_bind_nagative",
    "test_bug1115",
    "test_bug14210",
    "test_bug40365",
    "test_bug56976",
    "test_cursors_with_union",
    "test_double_compare",
    "test_logs",
    "test_tran_bdb",
    "test_view_insert_fields",
];

/// This test kills one connection over another. The killed connection has to be closed before the other one gets its
/// OK, because the client then reconnects by itself. With a proxy, the other session may get its OK first.
const WANT_AN_ORDER: &[&str] = &["test_bug17512527"];

const FAIL_DIRECTLY_ON_MYSQL: &[&str] = &[
    "test_bug11766854",
    "test_bug20444737",
    "test_bug21199582", // after others only
    "test_bug32391415",
    "test_bug32847269",
    "test_explain_bug",
    "test_truncated_rows",
    "test_wl12542",
    "test_wl16221_reconnect",
    "test_wl6587",
];

/// These tests look at the server's TLS as the client sees it, which is the proxy's TLS here.
const LOOK_AT_TLS: &[&str] = &["test_wl13075", "test_wl14839"];

const FAIL_DIRECTLY_ON_MARIADB: &[&str] = &[
    "test_bug13001491",
    "test_bug27876",
    "test_bug53371",
    "test_cache_metadata",
    "test_cursors_with_procedure",
    "test_cuted_rows",
    "test_mysql_insert_id",
    "test_prepare_grant",
    "test_proxy_header",
    "test_ps_query_cache",
];

fn all_but(product: Product, program: &str, excluded: &[&[&str]], backend_tls: &str) {
    let list = product
        .command(program)
        .args(["--no-defaults", "--show-tests"])
        .output()
        .unwrap();
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let names: Vec<&str> = list
        .lines()
        .map(|line| line.trim_end_matches(';'))
        .filter(|line| line.starts_with("test_") && !excluded.concat().contains(line))
        .collect();
    assert!(names.len() > 250, "{list}");
    let server = Server::lease_with(product, &["--log-bin=binlog", "--server-id=1"]);
    server.root().run("CREATE DATABASE test");
    let settings = Settings::in_front_of([&*server]).set("backend_tls.mode", backend_tls);
    let proxy = Proxy::start(&settings);
    let output = product
        .command(program)
        .args([
            "--no-defaults",
            "--host=127.0.0.1",
            "--user=app",
            "--silent",
            "--testcase",
        ])
        .arg(format!("--password={PASSWORD}"))
        .arg(format!("--port={}", proxy.port()))
        .arg(format!("--vardir={}", server.folder().display()))
        .args(&names)
        .current_dir(server.folder())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let tail: Vec<&str> = text.lines().chain(errors.lines()).collect();
    let tail = tail[tail.len().saturating_sub(20)..].join("\n");
    assert!(output.status.success(), "{tail}\n{}", proxy.log_tail());
}

#[test]
fn mysqls_client_tests_pass() {
    all_but(
        Product::MySql,
        "mysql_client_test",
        &[
            FAIL_DIRECTLY,
            FAIL_DIRECTLY_ON_MYSQL,
            WANT_AN_ORDER,
            LOOK_AT_TLS,
        ],
        "off",
    );
}

#[test]
fn mariadbs_client_tests_pass_over_tls() {
    all_but(
        Product::MariaDbNext,
        "mariadb-client-test",
        &[FAIL_DIRECTLY, FAIL_DIRECTLY_ON_MARIADB, WANT_AN_ORDER],
        "required",
    );
}
