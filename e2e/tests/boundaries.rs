//! Rules as boundaries, on real servers: a statement that the proxy does not understand does not pass a rule that
//! refuses; unknown commands change nothing; only accounts with the privilege replicate.

use e2e::raw::{Login, RawConn, command};
use e2e::{Cluster, Leased, PASSWORD, Product, Proxy, Settings};

both! {
    no_statement_reaches_a_refused_table
    rules_apply_to_commands_that_have_an_equivalent_statement
    an_unknown_command_ends_no_rule
    replication_is_for_accounts_that_may_and_never_past_a_rule
    statements_that_are_not_understood_pass_if_a_rule_allows_them
}

const RULE: [(&str, &str); 2] = [("tables", "\"secret\""), ("refuse", "\"no secrets here\"")];

/// A server with the table `d.secret`, which clients must not read through the proxy.
fn guarded(product: Product, settings: impl FnOnce(Settings) -> Settings) -> (Leased, Proxy) {
    let options = [&e2e::primary_options(product)[..], &["--server-id=1"]].concat();
    let cluster = Cluster::lease_with(product, 0, &options);
    cluster.tell_apart(&[
        "CREATE TABLE d.secret (n INT)",
        "INSERT INTO d.secret VALUES (42)",
        "CREATE TABLE d.open (n INT)",
        "INSERT INTO d.open VALUES (1)",
        "CREATE PROCEDURE d.harmless() DO 1",
    ]);
    let common = Settings::of_cluster(&cluster)
        .account("app", PASSWORD)
        .set("workers", 1);
    let proxy = Proxy::start(&settings(common));
    (cluster, proxy)
}

fn client(proxy: &Proxy) -> RawConn {
    proxy.connect_as(&Login::app().schema("d"))
}

/// The number of the error for a text. No result may contain data of the table.
fn refused(conn: &mut RawConn, text: &[u8]) -> Option<u16> {
    let reply = conn.command(command::QUERY, text);
    let secrets = |rows: &[Vec<String>]| rows.iter().flatten().any(|it| it == "42");
    assert!(!secrets(&reply.texts()), "{}", text.escape_ascii());
    reply.error().map(|error| error.code)
}

fn no_statement_reaches_a_refused_table(product: Product) {
    let (_cluster, proxy) = guarded(product, |it| it.rule("no secrets", &RULE));
    for text in [
        &b"SELECT * FROM secret"[..],
        b"SELECT * FROM d . secret",
        b"SELECT 1; SELECT * FROM secret",
        b"PREPARE p FROM 'SELECT * FROM secret'",
        b"SET @x = 'SELECT * FROM secret'; PREPARE p FROM @x; EXECUTE p",
        b"EXECUTE IMMEDIATE 'SELECT * FROM secret'",
        b"EXECUTE IMMEDIATE CONCAT('SELECT * FROM sec', 'ret')",
        b"BEGIN NOT ATOMIC SELECT * FROM secret; END",
        b"BEGIN NOT ATOMIC EXECUTE IMMEDIATE CONCAT('SELECT * FROM sec', 'ret'); END",
        b"SET sql_mode = ANSI_QUOTES; SELECT * FROM \"secret\"",
        b"SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT '\\', n FROM secret -- '",
        b"SET NAMES gbk; SELECT '\xbf\\', n FROM secret -- '",
        b"CALL harmless(); SELECT \"a\", n FROM secret",
        b"EXPLAIN SELECT * FROM secret",
        b"TABLE secret",
        b"HANDLER secret OPEN",
    ] {
        let mut conn = client(&proxy);
        let code = refused(&mut conn, text);
        assert_eq!(code, Some(1227), "{}", text.escape_ascii());
        // The session continues, and is pooled.
        assert_eq!(conn.value("SELECT n FROM open"), "1");
    }
    let mut conn = client(&proxy);
    for text in [
        "PREPARE p FROM 'SELECT n FROM open'",
        "EXECUTE p",
        "DEALLOCATE PREPARE p",
        "SELECT 1; SELECT n FROM open",
        "CALL harmless(); SELECT 1",
        "SET NAMES utf8mb4; SELECT n FROM open",
    ] {
        assert_eq!(refused(&mut conn, text.as_bytes()), None, "{text}");
    }
    let prepared = conn.command(command::STMT_PREPARE, b"SELECT * FROM secret");
    assert_eq!(prepared.error().map(|it| it.code), Some(1227));
}

fn rules_apply_to_commands_that_have_an_equivalent_statement(product: Product) {
    let kinds = "[\"USE\", \"FLUSH\", \"SHUTDOWN\", \"KILL\", \"DROP SCHEMA\"]";
    let rule = [("kind", kinds), ("refuse", "\"not here\"")];
    let (_cluster, proxy) = guarded(product, |it| {
        it.rule("no commands", &rule).rule("no secrets", &RULE)
    });
    let mut conn = client(&proxy);
    for (byte, argument) in [
        (command::INIT_DB, &b"d"[..]),
        (0x07, &[1]),
        (0x08, &[]),
        (command::PROCESS_KILL, &[9, 0, 0, 0]),
        (0x06, b"d"),
        (command::FIELD_LIST, b"secret\0"),
    ] {
        let reply = conn.command(byte, argument);
        assert_eq!(reply.error().map(|it| it.code), Some(1227), "{byte:#x}");
    }
    assert_eq!(conn.value("SELECT n FROM open"), "1");
}

fn an_unknown_command_ends_no_rule(product: Product) {
    let (_cluster, proxy) = guarded(product, |it| it.rule("no secrets", &RULE));
    let mut conn = client(&proxy);
    for byte in [0x00, 0x0b, 0x0f, 0x10, 0x14, 0x1d, 0x22, 0x7f, 0xc0, 0xff] {
        let reply = conn.command(byte, b"whatever");
        assert_eq!(reply.error().map(|it| it.code), Some(1047), "{byte:#x}");
        assert_eq!(
            refused(&mut conn, b"SELECT * FROM secret"),
            Some(1227),
            "{byte:#x}"
        );
    }
    conn.command(0x7f, b"");
    let warnings = conn.run("SHOW WARNINGS");
    assert_eq!(warnings.text(0, 1).as_deref(), Some("1047"));
}

fn replication_is_for_accounts_that_may_and_never_past_a_rule(product: Product) {
    let replica = |it: Settings| {
        let settings = [
            ("password", "\"another password\""),
            ("replication", "true"),
        ];
        it.account_with("other", &settings)
    };
    let (_cluster, proxy) = guarded(product, replica);
    let answer = |proxy: &Proxy, user: &str, byte: u8| {
        let mut conn = match user {
            "app" => proxy.connect_as(&Login::app()),
            _ => proxy.connect_as(&Login::with(user, "another password")),
        };
        let code = conn.command(byte, b"x").error().map(|it| it.code);
        let goes_on = conn.try_query("SELECT 1").is_ok();
        (code, goes_on)
    };
    for byte in [0x12, 0x13, 0x15, 0x1e, 0x20, 0x21] {
        assert_eq!(answer(&proxy, "app", byte), (Some(1227), true), "{byte:#x}");
        let (code, _) = answer(&proxy, "other", byte);
        // The server answers this command, not the rule.
        assert!(
            code.is_some_and(|code| code != 1227 || byte == 0x20),
            "{byte:#x} {code:?}"
        );
    }
    let (_cluster, proxy) = guarded(product, |it| replica(it).rule("no secrets", &RULE));
    assert_eq!(answer(&proxy, "other", 0x15), (Some(1227), true));
}

fn statements_that_are_not_understood_pass_if_a_rule_allows_them(product: Product) {
    let passes = [RULE[0], RULE[1], ("when_unsure", "\"pass\"")];
    let (_cluster, proxy) = guarded(product, |it| it.rule("no secrets", &passes));
    let mut conn = client(&proxy);
    assert_eq!(refused(&mut conn, b"SET @x = 'SELECT n FROM open'"), None);
    assert_eq!(refused(&mut conn, b"PREPARE p FROM @x"), None);
    assert_eq!(refused(&mut conn, b"EXECUTE p"), None);
    assert_eq!(
        refused(&mut conn, b"PREPARE p FROM 'SELECT n FROM secret'"),
        Some(1227)
    );
}
