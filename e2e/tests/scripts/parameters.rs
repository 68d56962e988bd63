//! `pilotfish.query` with parameters: a value stays a value, whatever characters it has.

use e2e::{Cluster, PASSWORD};

use super::waiting::TELLS;
use super::*;

in_both_ways! {
    a_parameter_value_cannot_inject_sql
    values_have_types
    a_wrong_number_of_parameters_gives_an_error
    a_script_gets_the_servers_error_for_a_query_with_parameters
    a_parameter_of_an_invalid_type_gives_an_error
}

both! {
    statements_prepared_for_parameters_are_closed
    queries_with_parameters_run_on_other_backends
}

/// `DO run EXPRESSION` answers with the expression's value.
const RUNS: &str = r#"
    function read_query(packet)
        local text = packet:match("^\003DO run (.*)")
        if not text then return end
        local run = assert(loadstring("return " .. text))
        local function words(result, ...)
            if type(result) ~= "table" then return result, ... end
            local words = {}
            for at, row in ipairs(result.rows) do
                for column = 1, #result.fields do
                    words[#words + 1] = type(row[column]) .. ":" .. tostring(row[column])
                end
            end
            return table.concat(words, " ") .. " " .. tostring(result.affected_rows)
        end
        local ran, told, cause = pilotfish.pcall(function() return words(run()) end)
        return tell(ran and told or tostring(cause or told))
    end
"#;

fn started(product: Product) -> (Scripted, RawConn) {
    let scripted = Scripted::start(product, &format!("{TELLS}{RUNS}"));
    let conn = scripted.connect();
    (scripted, conn)
}

fn a_parameter_value_cannot_inject_sql(product: Product) {
    let (_scripted, mut conn) = started(product);
    // Settings that make quoted values unsafe: backslashes that escape nothing, character sets in which a backslash
    // may be half of a character.
    for state in [
        "SET sql_mode = ''",
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
        "SET sql_mode = 'ANSI_QUOTES'",
        "SET NAMES gbk",
        "SET NAMES sjis",
        "SET NAMES latin1",
    ] {
        conn.run(state);
        for value in [
            r"' OR 1=1 -- ",
            r"\' OR 1=1 -- ",
            r"\\' OR 1=1 -- ",
            r#"" OR 1=1 -- "#,
            r"x' UNION SELECT 1; DROP TABLE t; -- ",
            r"\191\039 OR 1=1 -- ",
            r"\131\092\039 OR 1=1 -- ",
            r"\000\' OR 1=1 -- ",
        ] {
            // Bytes are written as Lua's escapes, other backslashes are doubled.
            let is_bytes = value.starts_with(r"\1") || value.starts_with(r"\000");
            let lua = match is_bytes {
                true => value.to_owned(),
                false => value.replace('\\', r"\\"),
            };
            let lua = lua.replace('\'', r"\039").replace('"', r"\034");
            let asked = format!(
                "DO run pilotfish.query(nil, 'SELECT COUNT(*) FROM (SELECT 1 AS n) AS t WHERE ? = ?', '{lua}', 'x')"
            );
            let told = conn.value(&asked);
            assert!(
                told == "number:0 nil" || told.starts_with("Cannot convert string"),
                "{state} {value}: {told}"
            );
        }
        let equal = "DO run pilotfish.query(nil, 'SELECT HEX(?), HEX(?)', '\\092\\039', '\\034;')";
        assert_eq!(conn.value(equal), "string:5C27 string:223B nil", "{state}");
    }
}

fn values_have_types(product: Product) {
    let (_scripted, mut conn) = started(product);
    conn.run("CREATE TEMPORARY TABLE mysql.pf_values (n BIGINT, d DOUBLE, s VARCHAR(99), b BOOL)");
    let insert = "DO run pilotfish.query(nil, 'INSERT INTO mysql.pf_values VALUES (?, ?, ?, ?), (?, ?, ?, ?)', \
                  -9007199254740991, 0.25, 'it\\039s', true, nil, nil, nil, nil)";
    assert_eq!(conn.value(insert), " 2");
    let select =
        "DO run pilotfish.query(nil, 'SELECT * FROM mysql.pf_values ORDER BY n DESC LIMIT ?', 2)";
    let told = "number:-9.007199254741e+15 number:0.25 string:it's number:1 nil:nil nil:nil nil:nil nil:nil nil";
    assert_eq!(conn.value(select), told);
    // Without parameters, the values are texts as before.
    let select = "DO run pilotfish.query(nil, 'SELECT d, b FROM mysql.pf_values WHERE b')";
    assert_eq!(conn.value(select), "string:0.25 string:1 nil");
    let long = "DO run pilotfish.query(nil, 'SELECT LENGTH(?), ?', ('x'):rep(70000), nil)";
    assert_eq!(conn.value(long), "number:70000 nil:nil nil");
    assert_eq!(conn.value("SELECT COUNT(*) FROM mysql.pf_values"), "2");
}

fn a_wrong_number_of_parameters_gives_an_error(product: Product) {
    let (_scripted, mut conn) = started(product);
    let asked = "DO run pilotfish.query(nil, 'SELECT ?', 1, nil)";
    assert_eq!(conn.value(asked), "the statement has 1 placeholders, not 2");
    let asked = "DO run pilotfish.query(nil, 'SELECT 1', 1)";
    assert_eq!(conn.value(asked), "the statement has 0 placeholders, not 1");
    assert_eq!(conn.value("SELECT 7"), "7");
}

fn a_script_gets_the_servers_error_for_a_query_with_parameters(product: Product) {
    let (_scripted, mut conn) = started(product);
    let number = "DO run select(3, pilotfish.query(nil, 'SELECT ? FROM nowhere.at_all', 1))";
    assert!(["1146", "1049"].contains(&&*conn.value(number)));
    // The statement can be prepared, but its execution fails.
    let number =
        "DO run select(3, pilotfish.query(nil, 'SELECT (SELECT ? UNION ALL SELECT 2)', 1))";
    assert_eq!(conn.value(number), "1242");
    // Several statements in one text are refused.
    let number = "DO run select(3, pilotfish.query(nil, 'SELECT ?; SELECT 2', 1))";
    assert_eq!(conn.value(number), "1064");
    assert_eq!(conn.value("SELECT 7"), "7");
}

fn a_parameter_of_an_invalid_type_gives_an_error(product: Product) {
    let (_scripted, mut conn) = started(product);
    for (value, cause) in [
        ("{}", "parameter 2 cannot be a table"),
        ("print", "parameter 2 cannot be a function"),
        ("0/0", "parameter 2 is no finite number"),
        ("-1/0", "parameter 2 is no finite number"),
    ] {
        let told = conn.value(&format!(
            "DO run pilotfish.query(nil, 'SELECT ?, ?', 1, {value})"
        ));
        assert!(told.ends_with(cause), "{told}");
    }
}

/// On the session's own connection.
fn statements_prepared_for_parameters_are_closed(product: Product) {
    let (_scripted, mut conn) = started(product);
    for number in 1..=5 {
        let asked = format!("DO run pilotfish.query(nil, 'SELECT ? + 1', {number})");
        conn.value(&asked);
        conn.value("DO run pilotfish.query(nil, 'SELECT ?', 1, 2)");
    }
    let count = |conn: &mut RawConn, name: &str| {
        let shown = conn.run(&format!("SHOW SESSION STATUS LIKE 'Com_stmt_{name}'"));
        shown.texts()[0][1].clone()
    };
    assert_eq!(count(&mut conn, "prepare"), "10");
    assert_eq!(count(&mut conn, "close"), "10");
}

fn queries_with_parameters_run_on_other_backends(product: Product) {
    let cluster = Cluster::lease(product, 1);
    cluster.tell_apart(&[]);
    let settings = Settings::of_cluster(&cluster)
        .account("app", PASSWORD)
        .set("health.replication_interval", "50ms");
    let scripted = Scripted::with(settings, &format!("{TELLS}{RUNS}"));
    scripted
        .proxy
        .wait_event("backend_up", &["backend=\"replica1\""]);
    let mut conn = scripted.connect_as(&Login::app().schema("d"));
    conn.run("BEGIN");
    for (place, name) in [("primary", "primary"), ("replica", "replica1")] {
        for _ in 0..3 {
            let told = conn.value(&format!(
                "DO run pilotfish.query({{ role = '{place}' }}, 'SELECT name, ?, ? FROM whoami', '\\039', nil)"
            ));
            assert_eq!(told, format!("string:{name} string:' nil:nil nil"));
        }
    }
    let told = conn.value("DO run pilotfish.query({ role = 'replica' }, 'SELECT ?', 1, 2)");
    assert_eq!(told, "the statement has 1 placeholders, not 2");
    let told = conn
        .value("DO run select(3, pilotfish.query({ role = 'primary' }, 'SELECT ? FROM none', 1))");
    assert_eq!(told, "1146");
    conn.run("ROLLBACK");
}
