//! The scripts that are shipped, each with the task that it is for.

use std::fs;

use super::*;

in_both_ways! {
    the_auditing_script_logs_logins_and_statements
    statements_are_counted_by_their_form
    running_statements_are_shown
    a_deadlocks_transactions_are_shown
    warnings_are_printed
    the_rewrite_script_rewrites_shell_commands
    the_union_script_combines_results_of_schemas
    the_xtab_script_makes_a_crosstab
    the_active_transactions_script_keeps_a_transaction_after_an_error
    connections_outlive_their_clients
    keepalive_rolls_back_the_open_transaction_of_a_disconnected_client
    scripts_are_loaded_and_unloaded
    scripts_loaded_by_load_multi_run_beside_configured_scripts
}

/// A proxy with one of the shipped scripts, and a schema for this test.
fn shipped(product: Product, name: &str) -> (Scripted, Login) {
    shipped_in(product, name, schema_of(name))
}

/// A second test of a script needs a schema of its own: tests run at the same time.
fn shipped_in(product: Product, name: &str, schema: String) -> (Scripted, Login) {
    let path = format!("{}/../scripts/{name}.lua", env!("CARGO_MANIFEST_DIR"));
    let mut root = Server::shared(product).root();
    root.run(&format!("DROP DATABASE IF EXISTS {schema}"));
    root.run(&format!("CREATE DATABASE {schema}"));
    let scripted = Scripted::start(product, &fs::read_to_string(path).unwrap());
    (scripted, Login::app().schema(&schema))
}

fn the_auditing_script_logs_logins_and_statements(product: Product) {
    let (scripted, login) = shipped(product, "auditing");
    scripted.proxy.wait_event("ready", &[]);
    let mut conn = scripted.connect_as(&login);
    conn.run("SELECT 'audited'");
    conn.quit();
    for words in [
        ["app@127.0.0.1", "logged in"],
        ["app@127.0.0.1", "[COM_QUERY] SELECT 'audited'"],
        ["app@127.0.0.1", "left"],
    ] {
        scripted.proxy.wait_logged(&words);
    }
    let wrong = login.with_password("wrong");
    RawConn::connect(&scripted.proxy.address(), &wrong).unwrap_err();
    scripted.proxy.wait_logged(&["app@", "was refused"]);
}

fn statements_are_counted_by_their_form(product: Product) {
    let (scripted, login) = shipped(product, "histogram");
    let mut conn = scripted.connect_as(&login);
    conn.run("CREATE TABLE t (a INT)");
    for number in 0..3 {
        conn.run(&format!("INSERT INTO t VALUES ({number})"));
    }
    conn.run("SELECT a FROM t WHERE a = 1");
    let counted = conn.run("SELECT * FROM histogram.queries").texts();
    let count_of = |form: &str| {
        let row = counted.iter().find(|row| row[0] == form);
        row.unwrap_or_else(|| panic!("{form} in {counted:?}"))[1].clone()
    };
    assert_eq!(count_of("INSERT INTO `t` VALUES ( ? ) "), "3");
    assert_eq!(count_of("SELECT `a` FROM `t` WHERE `a` = ? "), "1");
    let tables = rows(&conn.run("select * from histogram.tables"));
    let schema = schema_of("histogram");
    assert_eq!(tables, [format!("{schema}.t|1|4")]);
    conn.run("DELETE FROM histogram.queries");
    assert!(
        conn.run("SELECT * FROM histogram.queries")
            .texts()
            .is_empty()
    );
    conn.run("PROXY SET GLOBAL histogram.collect_queries = FALSE");
    conn.run("SELECT 1");
    assert!(
        conn.run("SELECT * FROM histogram.queries")
            .texts()
            .is_empty()
    );
}

fn schema_of(name: &str) -> String {
    let way = if TAKES_TURNS.get() { "_pooled" } else { "" };
    format!("t_shipped_{}{way}", name.replace('-', "_"))
}

fn running_statements_are_shown(product: Product) {
    let (scripted, login) = shipped(product, "active-queries");
    let mut conn = scripted.connect_as(&login);
    conn.run("SELECT 'seen running'");
    scripted
        .proxy
        .wait_logged(&["1 running: [", "app", "SELECT 'seen running'"]);
    conn.quit();
    scripted.proxy.wait_logged(&["0 running: "]);
}

fn a_deadlocks_transactions_are_shown(product: Product) {
    let (scripted, login) = shipped(product, "active-transactions");
    let mut one = scripted.connect_as(&login);
    let mut two = scripted.connect_as(&login);
    one.run("CREATE TABLE t (a INT PRIMARY KEY) ENGINE=InnoDB");
    one.run("INSERT INTO t VALUES (1)");
    one.run("BEGIN");
    one.run("UPDATE t SET a = 1 WHERE a = 1");
    two.run("SET innodb_lock_wait_timeout = 1");
    two.run("BEGIN");
    assert_eq!(two.query("DELETE FROM t").error().unwrap().code, 1205);
    scripted
        .proxy
        .wait_logged(&["error 1205; transactions that are open:"]);
    scripted
        .proxy
        .wait_logged(&["UPDATE t SET a = 1 WHERE a = 1"]);
    scripted.proxy.wait_logged(&["DELETE FROM t"]);
    one.run("COMMIT");
}

fn warnings_are_printed(product: Product) {
    let (scripted, login) = shipped(product, "warnings");
    let mut conn = scripted.connect_as(&login);
    let reply = conn.run("SELECT CAST('12x' AS SIGNED)");
    assert_eq!(reply.text(0, 0).unwrap(), "12");
    scripted
        .proxy
        .wait_logged(&["Warning 1292: Truncated incorrect"]);
    assert_eq!(conn.value("SELECT 1"), "1");
}

fn the_rewrite_script_rewrites_shell_commands(product: Product) {
    let (scripted, login) = shipped(product, "rewrite");
    let mut conn = scripted.connect_as(&login);
    conn.run("CREATE TABLE here (a INT)");
    assert_eq!(rows(&conn.run("ls")), ["here"]);
    assert!(!conn.run("who").texts().is_empty());
    conn.run("cd mysql");
    assert_eq!(conn.value("SELECT DATABASE()"), "mysql");
    let schema = schema_of("rewrite");
    assert_eq!(rows(&conn.run(&format!("ls {schema}"))), ["here"]);
}

fn the_union_script_combines_results_of_schemas(product: Product) {
    let (scripted, login) = shipped(product, "union");
    let mut conn = scripted.connect_as(&login);
    let schema = schema_of("union");
    conn.run("CREATE TABLE t AS SELECT 1 AS a");
    let text = format!("/* union: {schema}, mysql */ SELECT DATABASE() AS s");
    assert_eq!(rows(&conn.run(&text)), [schema.as_str(), "mysql"]);
    assert_eq!(conn.value("SELECT DATABASE()"), schema);
    let wrong = format!("/* union: {schema}, no_such_schema */ SELECT 1");
    assert_eq!(conn.query(&wrong).error().unwrap().code, 1049);
    let no_rows = format!("/* union: {schema} */ DO 1");
    assert_eq!(conn.query(&no_rows).error().unwrap().code, 1105);
    assert_eq!(conn.value("SELECT DATABASE()"), schema);
}

fn the_xtab_script_makes_a_crosstab(product: Product) {
    let (scripted, login) = shipped(product, "xtab");
    let mut conn = scripted.connect_as(&login);
    conn.run("CREATE TABLE sales (country VARCHAR(9), year INT, amount INT)");
    conn.run("INSERT INTO sales VALUES ('de', 1, 5), ('de', 2, 6), ('fr', 1, 7), ('fr', 1, 1)");
    let reply = conn.run("XTAB sales country year SUM amount");
    assert_eq!(rows(&reply), ["de|5|6", "fr|8|NULL"]);
    let reply = conn.run("xtab sales country year sum amount summary;");
    assert_eq!(rows(&reply), ["de|5|6|11", "fr|8|NULL|8", "NULL|13|6|19"]);
    conn.run("XTAB QUERY");
    assert!(
        conn.value("XTAB sales country year MAX amount")
            .starts_with("SELECT `country`, MAX(")
    );
    assert_eq!(
        conn.query("XTAB sales country year").error().unwrap().code,
        1105
    );
    assert_eq!(
        conn.query("XTAB no_table a b SUM c").error().unwrap().code,
        1146
    );
    assert_eq!(conn.value("SELECT 1"), "1");
}

/// The path of a shipped script.
fn file_of(name: &str) -> String {
    format!("{}/../scripts/{name}.lua", env!("CARGO_MANIFEST_DIR"))
}

fn the_active_transactions_script_keeps_a_transaction_after_an_error(product: Product) {
    let schema = schema_of("active-transactions-error");
    let (scripted, login) = shipped_in(product, "active-transactions", schema);
    let mut one = scripted.connect_as(&login);
    let mut two = scripted.connect_as(&login);
    one.run("CREATE TABLE kept (a INT PRIMARY KEY) ENGINE=InnoDB");
    one.run("INSERT INTO kept VALUES (1)");
    one.run("BEGIN");
    one.run("UPDATE kept SET a = 2 WHERE a = 1");
    assert_eq!(one.query("SELECT nonsense").error().unwrap().code, 1054);
    one.prepare("SELECT 'prepared meanwhile'");
    two.run("SET innodb_lock_wait_timeout = 1");
    assert_eq!(two.query("DELETE FROM kept").error().unwrap().code, 1205);
    for statement in ["UPDATE kept SET a = 2 WHERE a = 1", "SELECT nonsense"] {
        scripted.proxy.wait_logged(&[statement]);
    }
    one.run("COMMIT");
    one.run("DO 'outside'");
    assert_eq!(two.value("SELECT 7"), "7");
}

fn connections_outlive_their_clients(product: Product) {
    let (scripted, login) = shipped(product, "keepalive");
    let id = |conn: &mut RawConn| conn.value("SELECT CONNECTION_ID()");
    let mut first: Vec<RawConn> = (0..2).map(|_| scripted.connect_as(&login)).collect();
    let mut ids: Vec<String> = first.iter_mut().map(id).collect();
    for mut conn in first {
        conn.run("SET @mine = 'of another'");
        conn.quit();
    }
    // One connection stays idle (min_idle_connections). When both are in the pool, the next client takes one.
    let mut next = e2e::wait::for_some("one is taken over", e2e::wait::SOON, || {
        let mut conn = scripted.connect_as(&login);
        let is_old = TAKES_TURNS.get() || ids.contains(&id(&mut conn));
        if !is_old {
            ids.push(id(&mut conn));
        }
        is_old.then_some(conn)
    });
    assert_eq!(next.run("SELECT @mine").text(0, 0), None);
    assert_eq!(next.value("SELECT DATABASE()"), schema_of("keepalive"));
}

fn keepalive_rolls_back_the_open_transaction_of_a_disconnected_client(product: Product) {
    let schema = schema_of("keepalive-rollback");
    let (scripted, login) = shipped_in(product, "keepalive", schema);
    let mut conn = scripted.connect_as(&login);
    conn.run("CREATE TABLE t (a INT) ENGINE=InnoDB");
    conn.run("BEGIN");
    conn.run("INSERT INTO t VALUES (1)");
    assert_eq!(conn.query("SELECT nonsense").error().unwrap().code, 1054);
    conn.quit();
    let mut next = scripted.connect_as(&login);
    next.run("SET innodb_lock_wait_timeout = 60");
    // If the transaction were still open, the row would be locked.
    next.run("DELETE FROM t");
    assert_eq!(next.value("SELECT COUNT(*) FROM t"), "0");
}

fn scripts_are_loaded_and_unloaded(product: Product) {
    let (scripted, login) = shipped(product, "load-multi");
    let mut conn = scripted.connect_as(&login);
    let mut other = scripted.connect_as(&login);
    conn.run("CREATE TABLE here (a INT)");
    assert_eq!(conn.query("ls").error().unwrap().code, 1064);
    assert_eq!(
        rows(&conn.run(&format!("PLOAD {}", file_of("rewrite")))),
        ["rewrite"]
    );
    assert_eq!(
        rows(&conn.run(&format!("pload '{}';", file_of("histogram")))),
        ["histogram"]
    );
    assert_eq!(rows(&other.run("PLOAD_LIST")), ["rewrite", "histogram"]);
    for client in [&mut conn, &mut other] {
        assert_eq!(rows(&client.run("ls")), ["here"]);
        client.run("SELECT a FROM here");
    }
    let counted = conn.run("SELECT * FROM histogram.queries").texts();
    let form = "SELECT `a` FROM `here` ";
    let row = counted.iter().find(|row| row[0] == form).unwrap();
    assert_eq!(row[1], "2", "{counted:?}");
    conn.run("PUNLOAD rewrite");
    assert_eq!(other.query("ls").error().unwrap().code, 1064);
    assert_eq!(rows(&other.run("PLOAD_LIST")), ["histogram"]);
    assert_eq!(other.query("PUNLOAD rewrite").error().unwrap().code, 1105);
    assert_eq!(other.query("PLOAD /no/such").error().unwrap().code, 1105);
    assert_eq!(other.run("PLOAD_HELP").texts().len(), 4);
}

fn scripts_loaded_by_load_multi_run_beside_configured_scripts(product: Product) {
    let schema = schema_of("chained");
    let mut root = Server::shared(product).root();
    root.run(&format!("DROP DATABASE IF EXISTS {schema}"));
    root.run(&format!("CREATE DATABASE {schema}"));
    let files = ["auditing", "load-multi", "histogram"].map(file_of);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let settings = usual(product).set("workers", 1);
    let proxy = Proxy::start(&settings.set("routing.script", &files[..]));
    let mut conn = proxy.connect_as(&Login::app().schema(&schema));
    conn.run("CREATE TABLE here (a INT)");
    conn.run(&format!("PLOAD {}", file_of("rewrite")));
    // Each reply goes to the script that has sent the statement.
    assert_eq!(rows(&conn.run("ls")), ["here"]);
    conn.run("SELECT a FROM here");
    let counted = conn.run("SELECT * FROM histogram.queries").texts();
    let count_of = |form: &str| counted.iter().filter(|row| row[0] == form).count();
    assert_eq!(count_of("SELECT `a` FROM `here` "), 1, "{counted:?}");
    assert_eq!(count_of("SHOW TABLES "), 0, "{counted:?}");
    for text in ["ls", "SELECT a FROM here"] {
        proxy.wait_logged(&["[COM_QUERY]", text]);
    }
}
