//! Rows that a script rewrites on their way to the client, and parameters of prepared statements that it sees.

use e2e::raw::{Execute, Param};

use super::*;

in_both_ways! {
    rows_are_changed_and_dropped_as_they_come
    each_result_of_several_is_rewritten
    rows_of_prepared_statements_are_rewritten
    a_row_that_cannot_be_rewritten_is_an_error
    a_long_result_is_rewritten_in_little_memory
    rows_of_a_queue_are_rewritten
    rows_of_cursors_are_refused_where_rows_are_rewritten
    load_data_local_works_while_rows_are_rewritten
    a_failed_hook_rewrites_no_rows
    an_execution_is_told_with_its_parameters
    long_data_is_left_out_of_an_execution
}

const NUMBERS: &str =
    "SELECT 1 AS n, 'one' AS name UNION ALL SELECT 2, NULL UNION ALL SELECT 3, 'three'";

fn rewriting(product: Product, body: &str) -> Scripted {
    let script = format!(
        "function read_query(packet)\n\
           if packet:find('plain', 1, true) then return end\n\
           pilotfish.rows(function(row, fields) {body} end)\n\
         end"
    );
    Scripted::start(product, &script)
}

fn rows_are_changed_and_dropped_as_they_come(product: Product) {
    let scripted = rewriting(
        product,
        "if row[1] == '2' then return false end
         if row[2] == 'three' then return { 33, nil } end
         row[2] = row[2] .. fields[2].name .. #fields",
    );
    let mut conn = scripted.connect();
    for _ in 0..3 {
        assert_eq!(rows(&conn.run(NUMBERS)), ["1|onename2", "33|NULL"]);
        assert_eq!(conn.value("SELECT 7, 'x'"), "7");
        conn.run("DO 1");
        // The rewriting ends with its command.
        assert_eq!(rows(&conn.run(&format!("/* plain */ {NUMBERS}"))).len(), 3);
    }
}

fn each_result_of_several_is_rewritten(product: Product) {
    let scripted = rewriting(product, "row[1] = row[1] * 10");
    let login = Login::app().and(capability::MULTI_STATEMENTS);
    let mut conn = scripted.connect_as(&login);
    let reply = conn.run("SELECT 1; DO 2; SELECT 3 UNION ALL SELECT 4");
    let seen: Vec<Vec<u8>> = reply.results().flat_map(|it| it.rows.clone()).collect();
    assert_eq!(seen, [b"\x0210", b"\x0230", b"\x0240"]);
}

fn rows_of_prepared_statements_are_rewritten(product: Product) {
    let scripted = rewriting(
        product,
        "row[1] = row[1] + 1 row[2] = nil row[3] = row[3] .. '!' row[4] = '2026-11-22 01:02:03' row[5] = -row[5]",
    );
    let mut conn = scripted.connect();
    let sql = "SELECT CAST(41 AS SIGNED), 'gone', CAST(? AS CHAR), TIMESTAMP('2001-01-01 00:00:00'), 0.5e0";
    let statement = conn.prepare(sql).statement();
    let reply = conn.execute(&Execute::new(statement, &[Param::Text("here")]));
    let row = &reply.results().next().unwrap().rows[0];
    // A header, the NULL bitmap (the second of five is NULL), 42 in 8 bytes, a text, a date and time, a number.
    let (header, values) = row.split_at(2);
    assert_eq!(header[..2], [0, 0b1000]);
    let wide = values[0] == 42 && values[1..8] == [0; 7];
    let values = if wide { &values[8..] } else { &values[4..] };
    assert_eq!(&values[..6], b"\x05here!");
    assert_eq!(values[6..14], [7, 0xea, 0x07, 11, 22, 1, 2, 3]);
    assert_eq!(values[14..], (-0.5_f64).to_le_bytes());
}

fn a_row_that_cannot_be_rewritten_is_an_error(product: Product) {
    for (body, cause) in [
        ("if row[1] == '2' then error('mine') end", "mine"),
        (
            "if row[1] == '2' then row[2] = {} end",
            "a table is no value",
        ),
        (
            "if row[1] == '2' then return 5 end",
            "gives a row, false or nothing",
        ),
        (
            "if row[1] == '2' then while true do end end",
            "its limit of",
        ),
        ("if row[1] == '2' then pilotfish.sleep(0) end", "can wait"),
    ] {
        let scripted = rewriting(product, body);
        let mut conn = scripted.connect();
        let reply = conn.query(NUMBERS);
        let error = reply.error().unwrap();
        assert_eq!(error.text, "(lua) the script could not rewrite a row");
        scripted.proxy.wait_logged(&["(rows)", cause]);
        // The session continues.
        assert_eq!(conn.value("SELECT 'plain'"), "plain");
    }
}

fn a_long_result_is_rewritten_in_little_memory(product: Product) {
    let scripted = rewriting(product, "row[1] = '' .. #row[1]");
    let mut conn = scripted.connect();
    let ten =
        "(SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4)";
    let sql = format!(
        "SELECT REPEAT('x', 1000) FROM {ten} a, {ten} b, {ten} c, {ten} d, {ten} e, {ten} f"
    );
    let reply = conn.run(&sql);
    let seen = rows(&reply);
    assert_eq!(seen.len(), 15_625);
    assert!(seen.iter().all(|row| row == "1000"));
    // A row that is longer than a packet.
    if product == Product::MariaDb {
        assert_eq!(conn.value("SELECT REPEAT('x', 16777216)"), "16777216");
    }
    assert_eq!(conn.value("SELECT REPEAT('x', 16000000)"), "16000000");
}

fn rows_of_a_queue_are_rewritten(product: Product) {
    let script = r#"
        function read_query(packet)
            proxy.queries:append(1, packet, { resultset_is_needed = true })
            proxy.queries:append(2, packet)
            pilotfish.rows(function(row) row[1] = row[1] .. "!" end)
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result(inj)
            if inj.id == 1 then return proxy.PROXY_IGNORE_RESULT end
        end
    "#;
    let scripted = Scripted::start(product, script);
    let mut conn = scripted.connect();
    assert_eq!(conn.value("SELECT 'x'"), "x!");
}

fn rows_of_cursors_are_refused_where_rows_are_rewritten(product: Product) {
    let script = r#"
        function read_query(packet)
            local command = packet:byte()
            if command == proxy.COM_QUERY or command == proxy.COM_STMT_EXECUTE then
                pilotfish.rows(function(row) row[1] = "hidden" end)
            end
        end
    "#;
    let scripted = Scripted::start(product, script);
    let mut conn = scripted.connect();
    let statement = conn.prepare("SELECT 'secret'").statement();
    let reply = conn.execute(&Execute::new(statement, &[]).cursor());
    let error = reply.error().unwrap();
    assert_eq!(error.text, "(lua) rows of a cursor cannot be rewritten");
    assert_eq!(conn.value("SELECT 'secret'"), "hidden");
}

fn load_data_local_works_while_rows_are_rewritten(product: Product) {
    let scripted = rewriting(product, "row[1] = row[1] .. '!'");
    let mut conn = scripted.connect();
    // The server may refuse the statement. The session continues in either case.
    conn.query("LOAD DATA LOCAL INFILE 'none' INTO TABLE mysql.pf_nowhere");
    assert_eq!(conn.value("SELECT 7"), "7!");
}

fn a_failed_hook_rewrites_no_rows(product: Product) {
    let script = r#"
        function read_query(packet)
            if packet:find("fails", 1, true) then
                pilotfish.rows(function(row) row[1] = "rewritten" end)
                error("mine")
            end
        end
    "#;
    let scripted = Scripted::start(product, script);
    let mut conn = scripted.connect();
    for _ in 0..3 {
        assert_eq!(conn.value("SELECT 'fails'"), "fails");
        assert_eq!(conn.value("SELECT 'next'"), "next");
    }
}

fn an_execution_is_told_with_its_parameters(product: Product) {
    let script = format!(
        "{}{}",
        waiting::TELLS,
        r#"
        function read_query(packet)
            local execution = pilotfish.execution(packet)
            if packet:byte() == proxy.COM_STMT_EXECUTE then
                local words = {}
                for at = 1, execution.parameter_count do words[at] = tostring(execution.parameters[at]) end
                proxy.global.told = execution.text .. ": " .. table.concat(words, ", ")
            elseif packet == "\003DO tell" then
                return tell(proxy.global.told)
            end
        end
    "#
    );
    let scripted = Scripted::start(product, &script);
    let mut conn = scripted.connect();
    let statement = conn.prepare("SELECT ?, ?, ?").statement();
    let other = conn.prepare("SELECT 1").statement();
    let parameters = [Param::Int(-5), Param::Null, Param::Text("a'b")];
    conn.execute(&Execute::new(statement, &parameters));
    assert_eq!(conn.value("DO tell"), "SELECT ?, ?, ?: -5, nil, a'b");
    // The types stay the same until the client sends others.
    let parameters = [Param::Int(6), Param::Null, Param::Text("")];
    conn.execute(&Execute::new(statement, &parameters).without_types());
    assert_eq!(conn.value("DO tell"), "SELECT ?, ?, ?: 6, nil, ");
    conn.execute(&Execute::new(other, &[]));
    assert_eq!(conn.value("DO tell"), "SELECT 1: ");
    conn.close_statement(other);
    assert_eq!(conn.value("SELECT 7"), "7");
}

fn long_data_is_left_out_of_an_execution(product: Product) {
    let script = format!(
        "{}{}",
        waiting::TELLS,
        r#"
        function read_query(packet)
            local execution = pilotfish.execution(packet)
            if execution then
                proxy.global.told = tostring(execution.parameters[1]) .. " " .. tostring(execution.parameters[2])
            elseif packet == "\003DO tell" then
                return tell(proxy.global.told)
            end
        end
    "#
    );
    let scripted = Scripted::start(product, &script);
    let mut conn = scripted.connect();
    let statement = conn.prepare("SELECT ?, ?").statement();
    conn.send_long_data(statement, 0, b"long");
    conn.execute(&Execute::new(
        statement,
        &[Param::Sent, Param::Text("short")],
    ));
    assert_eq!(conn.value("DO tell"), "nil short");
    conn.execute(&Execute::new(
        statement,
        &[Param::Text("now"), Param::Text("short")],
    ));
    assert_eq!(conn.value("DO tell"), "now short");
}
