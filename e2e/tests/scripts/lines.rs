//! MySQL Proxy's behaviour by its documentation, line by line, if no other file here tests it.

use e2e::raw::Outcome;

use super::*;

in_both_ways! {
    each_constant_has_its_number
    script_globals_of_a_client_are_not_shared
    nothing_is_sent_behind_a_command_without_reply
    a_command_without_reply_follows_a_result
    a_queued_com_quit_ends_the_session
    an_injected_command_may_be_longer_than_a_packet
    each_response_type_has_the_expected_bytes_in_the_packet
    fields_and_rows_of_a_response_end_at_the_first_nil
    an_answer_may_be_left_for_the_result
    a_result_hook_can_return_every_decision
    a_result_hook_sees_all_fields_of_a_reply
    figures_count_all_results
    an_error_of_an_execution_has_no_rows
    process_info_is_a_result
    unknown_keys_are_nil
    a_file_that_a_script_requests_is_read_and_discarded
    a_file_that_a_result_hook_requests_is_read_and_discarded
    a_queue_without_its_decision_is_not_sent
}

both! {
    a_queue_ends_where_its_connection_is_given_away
    choosing_a_backend_without_idle_connections_moves_no_session
}

const CONSTANTS: [(&str, i64); 69] = [
    ("PROXY_SEND_QUERY", 1),
    ("PROXY_SEND_RESULT", 2),
    ("PROXY_IGNORE_RESULT", 4),
    ("PROXY_VERSION", 2053),
    ("MYSQLD_PACKET_OK", 0),
    ("MYSQLD_PACKET_ERR", 255),
    ("MYSQLD_PACKET_RAW", 250),
    ("BACKEND_STATE_UNKNOWN", 0),
    ("BACKEND_STATE_UP", 1),
    ("BACKEND_STATE_DOWN", 2),
    ("BACKEND_TYPE_UNKNOWN", 0),
    ("BACKEND_TYPE_RW", 1),
    ("BACKEND_TYPE_RO", 2),
    ("COM_SLEEP", 0),
    ("COM_QUIT", 1),
    ("COM_INIT_DB", 2),
    ("COM_QUERY", 3),
    ("COM_FIELD_LIST", 4),
    ("COM_CREATE_DB", 5),
    ("COM_DROP_DB", 6),
    ("COM_REFRESH", 7),
    ("COM_SHUTDOWN", 8),
    ("COM_STATISTICS", 9),
    ("COM_PROCESS_INFO", 10),
    ("COM_CONNECT", 11),
    ("COM_PROCESS_KILL", 12),
    ("COM_DEBUG", 13),
    ("COM_PING", 14),
    ("COM_TIME", 15),
    ("COM_DELAYED_INSERT", 16),
    ("COM_CHANGE_USER", 17),
    ("COM_BINLOG_DUMP", 18),
    ("COM_TABLE_DUMP", 19),
    ("COM_CONNECT_OUT", 20),
    ("COM_REGISTER_SLAVE", 21),
    ("COM_STMT_PREPARE", 22),
    ("COM_STMT_EXECUTE", 23),
    ("COM_STMT_SEND_LONG_DATA", 24),
    ("COM_STMT_CLOSE", 25),
    ("COM_STMT_RESET", 26),
    ("COM_SET_OPTION", 27),
    ("COM_STMT_FETCH", 28),
    ("COM_DAEMON", 29),
    ("MYSQL_TYPE_DECIMAL", 0),
    ("MYSQL_TYPE_TINY", 1),
    ("MYSQL_TYPE_SHORT", 2),
    ("MYSQL_TYPE_LONG", 3),
    ("MYSQL_TYPE_FLOAT", 4),
    ("MYSQL_TYPE_DOUBLE", 5),
    ("MYSQL_TYPE_NULL", 6),
    ("MYSQL_TYPE_TIMESTAMP", 7),
    ("MYSQL_TYPE_LONGLONG", 8),
    ("MYSQL_TYPE_INT24", 9),
    ("MYSQL_TYPE_DATE", 10),
    ("MYSQL_TYPE_TIME", 11),
    ("MYSQL_TYPE_DATETIME", 12),
    ("MYSQL_TYPE_YEAR", 13),
    ("MYSQL_TYPE_NEWDATE", 14),
    ("MYSQL_TYPE_BIT", 16),
    ("MYSQL_TYPE_NEWDECIMAL", 246),
    ("MYSQL_TYPE_ENUM", 247),
    ("MYSQL_TYPE_SET", 248),
    ("MYSQL_TYPE_TINY_BLOB", 249),
    ("MYSQL_TYPE_MEDIUM_BLOB", 250),
    ("MYSQL_TYPE_LONG_BLOB", 251),
    ("MYSQL_TYPE_BLOB", 252),
    ("MYSQL_TYPE_VAR_STRING", 253),
    ("MYSQL_TYPE_STRING", 254),
    ("MYSQL_TYPE_GEOMETRY", 255),
];

fn each_constant_has_its_number(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                for name in packet:gmatch("[%u_%d]+") do see(name, proxy[name]) end
                see(proxy.MYSQL_TYPE_VARCHAR, proxy.PROXY_NO_DECISION, proxy.SERVER_STATUS_IN_TRANS)
                proxy.response = { type = proxy.MYSQLD_PACKET_OK }
                return proxy.PROXY_SEND_RESULT
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    let names: Vec<_> = CONSTANTS.iter().map(|(name, _)| *name).collect();
    conn.run(&names.join(" "));
    let lines = seen(&mut conn);
    for ((name, value), line) in CONSTANTS.iter().zip(&lines) {
        assert_eq!(*line, format!("{name} {value}"));
    }
    assert_eq!(lines[69..], ["nil nil nil"]);
}

/// `proxy.x` and a script's globals belong to one client; `proxy.global` and `_G.x` belong to all clients.
fn script_globals_of_a_client_are_not_shared(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            own = (own or 0) + 1
            proxy.mine = (proxy.mine or 0) + 1
            _G.ours = (_G.ours or 0) + 1
            proxy.global.all = (proxy.global.all or 0) + 1
            function read_query(packet)
                if is_asked(packet) then return seen() end
                own, proxy.mine = own + 1, proxy.mine + 1
                see(own, proxy.mine, _G.ours, proxy.global.all, __proxy.mine)
            end
            "#,
        ),
    );
    let mut one = scripted.connect();
    let mut two = scripted.connect();
    one.run("SELECT 1");
    one.run("SELECT 1");
    two.run("SELECT 1");
    assert_eq!(seen(&mut one), ["2 2 2 2 2", "3 3 2 2 3", "2 2 2 2 2"]);
}

/// Such commands do not close the client's session either. The client has its result already.
fn a_command_without_reply_follows_a_result(product: Product) {
    use e2e::raw::Execute;
    use e2e::raw::Param::Sent;
    let script = r#"
        local statement
        function read_query(packet)
            if is_asked(packet) then return seen() end
            if packet:sub(2) ~= "SELECT 'asked'" then return end
            proxy.queries:append(1, "\022SELECT ?", { resultset_is_needed = true })
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result(inj)
            if inj.id ~= 1 then return end
            statement = inj.resultset.raw:sub(2, 5)
            see(statement:byte(1) + 256 * statement:byte(2))
            proxy.queries:append(2, "\003SELECT 'answered'")
            proxy.queries:append(3, LAST)
            return proxy.PROXY_IGNORE_RESULT
        end
    "#;
    let close = r#""\025" .. statement"#;
    let send = r#""\024" .. statement .. "\0\0sent""#;
    for (last, is_closed) in [(close, true), (send, false)] {
        let scripted = Scripted::start(product, &seeing(&script.replace("LAST", last)));
        let mut conn = scripted.connect();
        assert_eq!(conn.value("SELECT 'asked'"), "answered");
        let id = seen(&mut conn)[0].parse().unwrap();
        let reply = conn.execute(&Execute::new(id, &[Sent]));
        assert_eq!(reply.error().is_some(), is_closed, "{reply:?}");
    }
}

/// COM_STMT_CLOSE of an unknown id gets no error.
fn nothing_is_sent_behind_a_command_without_reply(product: Product) {
    for first in ["\\025\\099\\0\\0\\0", "\\024\\099\\0\\0\\0\\0\\0x"] {
        let script = r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                if packet:sub(2) == "DO queue" then
                    proxy.queries:append(1, "FIRST", { resultset_is_needed = true })
                    proxy.queries:append(2, "\003SET @behind = 1", { resultset_is_needed = true })
                    return proxy.PROXY_SEND_QUERY
                end
            end
            function read_query_result(inj) see(inj.id) end
        "#;
        let scripted = Scripted::start(product, &seeing(&script.replace("FIRST", first)));
        let mut conn = scripted.connect();
        // The client waits for a reply and gets one.
        assert!(conn.query("DO queue").error().is_none());
        assert!(seen(&mut conn).is_empty());
        scripted
            .proxy
            .wait_logged(&["queries are queued behind a command that has no reply"]);
        assert_eq!(conn.run("SELECT @behind").text(0, 0), None);
    }
    // A client that waits for no reply gets none, whatever the script sends for it.
    let script = r#"
        function read_query(packet)
            if is_asked(packet) then return seen() end
            if packet:byte() == proxy.COM_STMT_CLOSE then
                proxy.queries:append(1, "\003SELECT 'not for you'")
                proxy.queries:append(2, "\003SELECT 'nor this'", { resultset_is_needed = true })
                proxy.queries:append(3, packet)
                return proxy.PROXY_SEND_QUERY
            end
        end
        function read_query_result(inj) see(inj.id, inj.resultset.query_status) end
    "#;
    let scripted = Scripted::start(product, &seeing(script));
    let mut conn = scripted.connect();
    let statement = conn.prepare("SELECT 1").statement();
    conn.close_statement(statement);
    assert_eq!(conn.value("SELECT 'well'"), "well");
    assert_eq!(seen(&mut conn), ["1 0", "2 0"]);
}

fn a_queued_com_quit_ends_the_session(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            if packet:sub(2) == "DO quit" then
                proxy.queries:append(1, string.char(proxy.COM_QUIT))
                proxy.queries:append(2, packet)
                return proxy.PROXY_SEND_QUERY
            end
        end
        "#,
    );
    let mut conn = scripted.connect();
    conn.send_query("DO quit").unwrap();
    assert!(conn.is_closed_by_server());
    assert_eq!(scripted.connect().value("SELECT 'well'"), "well");
}

fn an_injected_command_may_be_longer_than_a_packet(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            if packet:sub(2) == "DO long" then
                local text = string.char(proxy.COM_QUERY) .. "SELECT LENGTH('" .. ("x"):rep(17000000) .. "')"
                proxy.queries:append(1, text, { resultset_is_needed = true })
                return proxy.PROXY_SEND_QUERY
            end
        end
        "#,
    );
    let mut conn = scripted.connect();
    let reply = conn.query("DO long");
    match reply.error() {
        // max_allowed_packet
        Some(error) => assert_eq!(error.code, 1153),
        None => {
            assert_eq!(reply.text(0, 0).unwrap(), "17000000");
            assert_eq!(conn.value("SELECT 'next'"), "next");
        }
    }
}

/// The bytes for each key of `proxy.response`.
fn each_response_type_has_the_expected_bytes_in_the_packet(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        local answers = {
            ["DO ok"] = { type = "0", affected_rows = 300, insert_id = 7, errmsg = "not used" },
            ["DO plain"] = { type = proxy.MYSQLD_PACKET_OK, resultset = 5 },
            ["DO err"] = { type = proxy.MYSQLD_PACKET_ERR, errmsg = ("x"):rep(600), errcode = "1234", sqlstate = "42S02" },
            ["DO raw"] = { type = proxy.MYSQLD_PACKET_RAW, packets = { "\1", "\3def\0\0\0\1a\0\12\8\0\32\0\0\0\253\0\0\0\0\0", "\254\0\0\2\0", 5, "\254\0\0\2\0", nil, "never" } },
        }
        function read_query(packet)
            local answer = answers[packet:sub(2)]
            if answer then
                proxy.response = answer
                return proxy.PROXY_SEND_RESULT
            end
        end
        "#,
    );
    let mut conn = scripted.connect();
    conn.send_query("DO ok").unwrap();
    assert_eq!(conn.packet().unwrap(), b"\0\xfc\x2c\x01\x07\x02\0\0\0");
    conn.send_query("DO plain").unwrap();
    assert_eq!(conn.packet().unwrap(), b"\0\0\0\x02\0\0\0");
    conn.send_query("DO err").unwrap();
    let err = conn.packet().unwrap();
    assert_eq!(err[..9], *b"\xff\xd2\x04#42S02");
    assert_eq!(err.len(), 9 + 512);
    // Packet numbers are consecutive, numbers are sent as texts, and the first nil ends the list.
    let login = Login::app().without(capability::DEPRECATE_EOF);
    let mut conn = scripted.connect_as(&login);
    let reply = conn.run("DO raw");
    assert_eq!(reply.results().next().unwrap().rows, [b"5".to_vec()]);
    assert_eq!(conn.value("SELECT 1"), "1");
}

/// `fields` and `rows` end with their first nil, and a row has as many values as there are fields.
fn fields_and_rows_of_a_response_end_at_the_first_nil(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        local field = { name = "a", type = 254 }
        local answers = {
            ["SELECT fields"] = { fields = { field, nil, field }, rows = { { 1, 2, 3 }, {}, nil, { 4 } } },
            ["SELECT unnamed"] = { fields = { {} }, rows = {} },
            ["SELECT none"] = { fields = { field } },
        }
        function read_query(packet)
            local answer = answers[packet:sub(2)]
            if answer then
                proxy.response = { type = proxy.MYSQLD_PACKET_OK, resultset = answer }
                return proxy.PROXY_SEND_RESULT
            end
        end
        "#,
    );
    let mut conn = scripted.connect();
    let reply = conn.run("SELECT fields");
    assert_eq!(rows(&reply), ["1", "NULL"]);
    assert_eq!(reply.results().next().unwrap().columns.len(), 1);
    let reply = conn.run("SELECT unnamed");
    let column = &reply.results().next().unwrap().columns[0];
    // "def", five empty names around this one, latin1, 32 long, a string, part of a key, no decimals.
    let expected = b"\x03def\0\0\0\x0dno-field-name\0\x0c\x08\0\x20\0\0\0\xfe\x02\0\0\0\0";
    assert_eq!(column, expected);
    scripted
        .proxy
        .wait_logged(&["fields[1].type is nil: taken for MYSQL_TYPE_STRING"]);
    assert!(rows(&conn.run("SELECT none")).is_empty());
}

/// A response that read_query has put into `proxy.response` stays there until the next command.
fn an_answer_may_be_left_for_the_result(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                see(proxy.response.errmsg)
                proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "left behind" }
                proxy.queries:append(1, packet, { resultset_is_needed = true })
                return proxy.PROXY_SEND_QUERY
            end
            function read_query_result(inj) return proxy.PROXY_SEND_RESULT end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    for _ in 0..2 {
        assert_eq!(conn.query("SELECT 1").error().unwrap().text, "left behind");
    }
    assert_eq!(seen(&mut conn), ["nil", "nil"]);
}

/// The decisions of read_query_result, for results that were kept and that were not.
fn a_result_hook_can_return_every_decision(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        local judge
        function read_query(packet)
            local needed, body = packet:match("^\003SELECT '(%a+) ([^']+)'")
            if needed then
                judge = loadstring("return " .. body)
                proxy.queries:append(1, packet, { resultset_is_needed = needed == "kept" })
                return proxy.PROXY_SEND_QUERY
            end
        end
        function read_query_result(inj)
            if not judge then error("on purpose") end
            proxy.response = nil
            return judge()
        end
        "#,
    );
    let mut conn = scripted.connect();
    let failed = "(lua) handling proxy.response failed, check error-log";
    for (body, logged) in [
        ("nil", ""),
        ("0", ""),
        ("true", ""),
        ("99", "(read_query_result) 99 is not a decision"),
        ("1", "proxy.PROXY_SEND_QUERY is not a decision"),
        ("3", "(read_query_result) 3 is not a decision"),
        ("no syntax", "on purpose"),
    ] {
        let text = format!("kept {body}");
        assert_eq!(conn.value(&format!("SELECT '{text}'")), text);
        if !logged.is_empty() {
            scripted.proxy.wait_logged(&["(read_query_result)", logged]);
        }
    }
    let reply = conn.query("SELECT 'kept 2'");
    assert_eq!(reply.error().unwrap().text, failed);
    let reply = conn.query("SELECT 'kept 4'");
    assert!(reply.error().is_none() && reply.results().next().is_none());
    for (body, logged) in [
        ("2", "proxy.PROXY_SEND_RESULT"),
        ("4", "proxy.PROXY_IGNORE_RESULT"),
        ("99", "(read_query_result) 99"),
    ] {
        let text = format!("streamed {body}");
        assert_eq!(conn.value(&format!("SELECT '{text}'")), text);
        scripted
            .proxy
            .wait_logged(&[logged, "the client has the result already"]);
    }
    assert_eq!(conn.value("SELECT 'next'"), "next");
}

/// A script that injects statements, and records what `read_query_result` sees of each reply.
fn watcher(product: Product, body: &str) -> Scripted {
    let script = format!(
        "function read_query(packet)
            if is_asked(packet) then return seen() end
            proxy.queries:append(packet:byte(), packet, {{ resultset_is_needed = not packet:find('streamed', 1, true) }})
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result(inj) local set = inj.resultset {body} end"
    );
    Scripted::start(product, &seeing(&script))
}

fn a_result_hook_sees_all_fields_of_a_reply(product: Product) {
    let scripted = watcher(
        product,
        r#"
        see(set.query_status, set.affected_rows, set.insert_id, set.warning_count, set.flags.in_trans, set.flags.auto_commit)
        for at = 1, #set.fields do
            local field = set.fields[at]
            see(field.name, field.org_name, field.table, field.org_table, field.type, field.db, field.flags)
        end
        see(set.fields[0], set.fields[99], set.flags.no_index_used ~= nil, set.flags.no_good_index_used)
        for _ = 1, 2 do if set.rows then for row in set.rows do see(unpack(row, 1, #set.fields)) end end end
        "#,
    );
    let mut root = Server::shared(product).root();
    root.run("CREATE DATABASE IF NOT EXISTS t_scripted_lines");
    let mut conn = scripted.connect_as(&Login::app().schema("t_scripted_lines"));
    conn.run("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(9))");
    seen(&mut conn);
    conn.run("INSERT INTO t (b) VALUES ('x'), (NULL)");
    assert_eq!(
        seen(&mut conn),
        ["0 2 1 0 false true", "nil nil true false"]
    );
    conn.run("SET autocommit = 0");
    conn.run("SELECT b AS c FROM t AS u ORDER BY id");
    let lines = seen(&mut conn);
    let at = lines.len() - 6;
    assert_eq!(
        lines[at..],
        [
            "c b u t 253 nil nil",
            "nil nil true false",
            // NULLs of a row are nil. The rows can be read a second time from the start.
            "x",
            "nil",
            "x",
            "nil",
        ]
    );
    assert_eq!(lines[at - 1], "0 nil nil 0 true false");
    conn.run("SELECT CAST('12x' AS SIGNED)");
    assert!(seen(&mut conn)[0].starts_with("0 nil nil 1 "));
    assert!(conn.query("SELECT no_such_column FROM t").error().is_some());
    assert!(seen(&mut conn)[0].starts_with("255 0 0 "));
}

/// The rows and bytes of several results, kept or not.
fn figures_count_all_results(product: Product) {
    let scripted = watcher(product, "see(set.row_count, set.bytes)");
    let login = Login::app().and(capability::MULTI_STATEMENTS);
    let mut conn = scripted.connect_as(&login);
    let text = "SELECT 1 UNION ALL SELECT 22; DO 1; SELECT NULL, 'abc'";
    conn.run(text);
    // Rows of 2, 3 and 5 bytes behind headers of 4.
    assert_eq!(seen(&mut conn), ["3 22"]);
    conn.run(&format!("/* streamed */ {text}"));
    assert_eq!(seen(&mut conn), ["3 22"]);
}

fn an_error_of_an_execution_has_no_rows(product: Product) {
    use e2e::raw::{Execute, Param};
    let scripted = watcher(
        product,
        "if inj.id == 23 then see(set.query_status, pcall(function() return set.rows end)) end",
    );
    let mut conn = scripted.connect();
    let statement = conn.prepare("SET time_zone = ?").statement();
    let reply = conn.execute(&Execute::new(statement, &[Param::Text("nowhere")]));
    assert_eq!(reply.error().unwrap().code, 1298);
    let statement = conn.prepare("DO ?").statement();
    conn.execute(&Execute::new(statement, &[Param::Int(2)]));
    assert_eq!(seen(&mut conn), ["255 true nil", "0 true nil"]);
}

/// COM_PROCESS_INFO, to which servers answer with rows: scripts can read them, whatever was negotiated.
fn process_info_is_a_result(product: Product) {
    let scripted = watcher(
        product,
        "local count = 0 if set.rows then for row in set.rows do count = count + 1 end end
         see(inj.id, #set.fields, set.fields[1] and set.fields[1].name, count > 0)",
    );
    let mut conn = scripted.connect();
    conn.send(&[command::PROCESS_INFO]);
    let reply = conn.reply(Shape::Results);
    if reply.error().is_none() {
        let columns = reply.results().next().unwrap().columns.len();
        assert_eq!(seen(&mut conn), [format!("10 {columns} Id true")]);
    }
}

fn unknown_keys_are_nil(product: Product) {
    let scripted = watcher(
        product,
        r#"
        local client, server = proxy.connection.client, proxy.connection.server
        local backend = proxy.global.backends[1]
        see(inj.nothing, set.nothing, client.nothing, client.src.nothing, proxy.connection.nothing)
        see(backend.nothing, backend.pool.nothing, backend.pool.users.app.nothing, proxy.nothing, proxy.connection.connection_close)
        see(backend.uuid, backend.dst.port == server.dst.port, backend.dst.type, client.dst.type)
        "#,
    );
    let mut conn = scripted.connect();
    conn.run("SELECT 1");
    assert_eq!(
        seen(&mut conn),
        ["nil nil nil nil nil", "nil nil nil nil nil", "nil true 2 2"]
    );
    scripted.proxy.wait_logged(&["inj[nothing] is not known"]);
    scripted
        .proxy
        .wait_logged(&["proxy.connection.(client|server).nothing is not known"]);
}

/// A response that begins with 0xfb: the client sends its file, the proxy discards it and answers OK.
fn a_file_that_a_script_requests_is_read_and_discarded(product: Product) {
    let scripted = Scripted::start(product, ASKS_FOR_FILE);
    sends_its_file(&scripted);
}

#[test]
fn a_mock_may_ask_for_a_file() {
    let greets = r#"
        function connect_server()
            proxy.response = { type = proxy.MYSQLD_PACKET_OK }
            return proxy.PROXY_SEND_RESULT
        end
    "#;
    let script = format!("{greets}{ASKS_FOR_FILE}");
    sends_its_file(&Scripted::with(Settings::default(), &script));
}

const ASKS_FOR_FILE: &str = r#"
    function read_query(packet)
        if packet == "\003DO load" then
            proxy.response = { type = proxy.MYSQLD_PACKET_RAW, packets = { "\251the file" } }
        else
            proxy.response = {
                type = proxy.MYSQLD_PACKET_OK,
                resultset = { fields = { { name = "n", type = 254 } }, rows = { { #packet } } },
            }
        end
        return proxy.PROXY_SEND_RESULT
    end
"#;

fn sends_its_file(scripted: &Scripted) {
    let login = Login::app().and(capability::LOCAL_FILES);
    let mut conn = scripted.connect_as(&login);
    for chunks in [&[&b"one"[..], &[b'x'; 100_000], b"\x03SELECT 1"][..], &[]] {
        conn.send_query("DO load").unwrap();
        assert_eq!(conn.packet().unwrap(), b"\xfbthe file");
        for chunk in chunks {
            conn.send_on(chunk);
        }
        conn.send_on(b"");
        assert!(conn.reply(Shape::Results).error().is_none());
        assert_eq!(conn.value("four"), "5");
    }
    conn.send_query("DO load").unwrap();
    conn.packet().unwrap();
    drop(conn);
    assert_eq!(scripted.connect().value("four"), "5");
}

/// The same in place of a result from the server.
fn a_file_that_a_result_hook_requests_is_read_and_discarded(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            local text = packet:sub(2)
            proxy.queries:append(1, text == "four" and "\003SELECT 5" or "\003SELECT 1", { resultset_is_needed = true })
            if text == "DO load" then
                proxy.queries:append(2, "\003SELECT 2", { resultset_is_needed = true })
            end
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result(inj)
            if inj.id == 2 then return proxy.PROXY_IGNORE_RESULT end
            if inj.query == "\003SELECT 1" then
                proxy.response = { type = proxy.MYSQLD_PACKET_RAW, packets = { "\251the file" } }
                return proxy.PROXY_SEND_RESULT
            end
        end
        "#,
    );
    sends_its_file(&scripted);
}

/// The command itself is forwarded, or answered. The next command finds an empty queue.
fn a_queue_without_its_decision_is_not_sent(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            local decision = packet:match("decides (%a+)")
            if not decision then return end
            proxy.queries:append(1, "\003SET @queued = 1", { resultset_is_needed = true })
            proxy.queries:append(2, "\003SET @queued = 2", { resultset_is_needed = true })
            if decision == "result" then
                proxy.response = { type = proxy.MYSQLD_PACKET_OK, affected_rows = 7 }
                return proxy.PROXY_SEND_RESULT
            end
        end
        function read_query_result() error("there is none") end
        "#,
    );
    let mut conn = scripted.connect();
    assert_eq!(conn.value("SELECT 'decides nothing'"), "decides nothing");
    scripted
        .proxy
        .wait_logged(&["2 queries queued without PROXY_SEND_QUERY"]);
    let reply = conn.run("decides result");
    let is_the_answer = matches!(reply.outcomes[..], [Outcome::Ok { affected: 7, .. }]);
    assert!(is_the_answer, "{:?}", reply.outcomes);
    scripted
        .proxy
        .wait_logged(&["PROXY_SEND_RESULT with 2 queries queued: the proxy drops them"]);
    assert_eq!(conn.run("SELECT @queued").text(0, 0), None);
    assert!(!scripted.proxy.log().contains("there is none"));
}

fn a_queue_ends_where_its_connection_is_given_away(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                proxy.queries:append(1, packet, { resultset_is_needed = true })
                proxy.queries:append(2, packet, { resultset_is_needed = true })
                return proxy.PROXY_SEND_QUERY
            end
            function read_query_result(inj)
                see(inj.id)
                proxy.connection.backend_ndx = 0
                see(proxy.connection.server, proxy.connection.backend_ndx)
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    assert_eq!(conn.value("SELECT 7"), "7");
    assert_eq!(seen(&mut conn), ["1", "nil 0"]);
}

/// The backend has no idle connection, so the session stays on its own.
fn choosing_a_backend_without_idle_connections_moves_no_session(product: Product) {
    let server = Server::shared(product).tcp();
    let settings = Settings::default()
        .backend(server)
        .backend(server.to_string().replace("127.0.0.1", "localhost"));
    let scripted = Scripted::with(
        settings,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                local connection, backends = proxy.connection, proxy.global.backends
                local before = connection.server.thread_id
                connection.backend_ndx = 2
                see(connection.backend_ndx, connection.server.thread_id == before,
                    connection.server.dst.name == backends[1].dst.name,
                    backends[1].connected_clients, backends[2].connected_clients)
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    assert_eq!(conn.value("SELECT 7"), "7");
    assert_eq!(seen(&mut conn), ["2 true true 1 0"]);
}
