//! Statements that a script sends, and `read_query_result`.

use super::*;

in_both_ways! {
    results_are_shown_to_the_script
    an_injected_statement_is_hidden
    a_result_is_replaced
    a_result_hook_can_add_queries
    figures_of_a_query_are_available_without_its_result
    a_query_with_an_ignored_result_is_answered
    a_second_result_is_not_sent
    a_queue_without_end_is_an_error
    a_change_of_user_is_the_clients_own
    prepared_statements_pass
    a_file_passes_through_an_injection
    long_statements_are_seen_whole
}

fn results_are_shown_to_the_script(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                proxy.queries:append(7, packet, { resultset_is_needed = true })
                return proxy.PROXY_SEND_QUERY
            end
            function read_query_result(inj)
                local set = inj.resultset
                see(inj.id, inj.type, inj.query:sub(2), inj.query_time <= inj.response_time)
                see(set.query_status, set.affected_rows, set.insert_id, set.warning_count, set.row_count, set.bytes)
                see(set.flags.in_trans, set.flags.auto_commit, #set.fields, set.rows ~= nil, set.raw:byte())
                for at = 1, #set.fields do see(set.fields[at].name, set.fields[at].type, set.fields[at].length) end
                if set.rows then for row in set.rows do see(row[1], row[2]) end end
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    let reply = conn.run("SELECT 1 AS a, NULL AS b UNION ALL SELECT 22, 'x'");
    assert_eq!(rows(&reply), ["1|NULL", "22|x"]);
    let lines = seen(&mut conn);
    let text = "SELECT 1 AS a, NULL AS b UNION ALL SELECT 22, 'x'";
    assert_eq!(lines[0], format!("7 7 {text} true"));
    assert_eq!(lines[1], "0 nil nil 0 2 16");
    assert_eq!(lines[2], "false true 2 true 2");
    assert!(
        lines[3].starts_with("a ") && lines[3].ends_with(" nil"),
        "{lines:?}"
    );
    assert_eq!(lines[5..], ["1 nil", "22 x"]);
    conn.query("no statement");
    let lines = seen(&mut conn);
    assert_eq!(lines[1], "255 0 0 0 0 0");
    assert_eq!(lines[2], "false false 0 false 255");
    conn.run("DO 1");
    assert_eq!(seen(&mut conn)[1], "0 0 0 0 0 0");
}

fn an_injected_statement_is_hidden(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                if packet:byte() ~= proxy.COM_QUERY then return end
                proxy.queries:append(1, packet)
                proxy.queries:append(2, string.char(proxy.COM_QUERY) .. "SELECT 'hidden'", { resultset_is_needed = true })
                proxy.queries:prepend(3, string.char(proxy.COM_QUERY) .. "SET @before = 'set'", { resultset_is_needed = true })
                return proxy.PROXY_SEND_QUERY
            end
            function read_query_result(inj)
                see(inj.id)
                if inj.id ~= 1 then return proxy.PROXY_IGNORE_RESULT end
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    assert_eq!(conn.value("SELECT @before"), "set");
    assert_eq!(seen(&mut conn), ["3", "1", "2"]);
    assert_eq!(conn.value("SELECT 5"), "5");
}

fn a_result_is_replaced(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            if packet:byte() ~= proxy.COM_QUERY then return end
            proxy.queries:append(1, packet, { resultset_is_needed = true })
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result(inj)
            if inj.resultset.query_status == proxy.MYSQLD_PACKET_ERR then
                proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "it went wrong", errcode = 4711 }
                return proxy.PROXY_SEND_RESULT
            end
        end
        "#,
    );
    let mut conn = scripted.connect();
    let reply = conn.query("no statement");
    assert_eq!(reply.error().unwrap().code, 4711);
    assert_eq!(conn.value("SELECT 5"), "5");
}

fn a_result_hook_can_add_queries(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            if packet:sub(2) ~= "SELECT sum" then return end
            proxy.queries:append(1, string.char(proxy.COM_QUERY) .. "SELECT 20", { resultset_is_needed = true })
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result(inj)
            for row in inj.resultset.rows do
                local value = tonumber(row[1])
                if value < 22 then
                    local text = string.char(proxy.COM_QUERY) .. "SELECT " .. (value + 1)
                    proxy.queries:append(inj.id + 1, text, { resultset_is_needed = true })
                    return proxy.PROXY_IGNORE_RESULT
                end
            end
        end
        "#,
    );
    let mut conn = scripted.connect();
    assert_eq!(conn.value("SELECT sum"), "22");
}

fn figures_of_a_query_are_available_without_its_result(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                proxy.queries:append(1, packet)
                return proxy.PROXY_SEND_QUERY
            end
            function read_query_result(inj)
                see(inj.resultset.query_status, inj.resultset.row_count)
                for _, key in ipairs({ "fields", "rows", "raw" }) do
                    local ok, why = pcall(function() return inj.resultset[key] end)
                    see(ok, why:match("%.resultset.*"))
                end
                return proxy.PROXY_IGNORE_RESULT
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    assert_eq!(rows(&conn.run("SELECT 1 UNION ALL SELECT 2")), ["1", "2"]);
    let lines = seen(&mut conn);
    assert_eq!(lines[0], "0 2");
    for (at, key) in ["fields", "rows", "raw"].into_iter().enumerate() {
        let text =
            format!("false .resultset.{key} isn't available if 'resultset_is_needed ~= true'");
        assert_eq!(lines[at + 1], text);
    }
}

fn a_query_with_an_ignored_result_is_answered(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            proxy.queries:append(1, packet, { resultset_is_needed = true })
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result() return proxy.PROXY_IGNORE_RESULT end
        "#,
    );
    let mut conn = scripted.connect();
    for _ in 0..3 {
        let reply = conn.query("SELECT 1");
        assert!(reply.error().is_none() && reply.results().next().is_none());
    }
}

fn a_second_result_is_not_sent(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            if packet:byte() ~= proxy.COM_QUERY then return end
            local streams = packet:find("stream")
            proxy.queries:append(1, packet, { resultset_is_needed = true })
            proxy.queries:append(2, packet, { resultset_is_needed = not streams })
            return proxy.PROXY_SEND_QUERY
        end
        "#,
    );
    let mut conn = scripted.connect();
    assert_eq!(conn.value("SELECT 'kept'"), "kept");
    assert_eq!(conn.value("SELECT 'kept again'"), "kept again");
    // The client has its result already and would get a second one, so the session ends.
    assert_eq!(conn.value("SELECT 'streamed'"), "streamed");
    assert!(conn.is_closed_by_server());
}

/// For each result the script queues the next statement. The session continues, and so does its transaction.
fn a_queue_without_end_is_an_error(product: Product) {
    let scripted = Scripted::with(
        usual(product).set("script.statements_max", 3),
        r#"
        local count = "\003SET @count = IFNULL(@count, 0) + 1"
        local left
        local function more()
            left = left - 1
            if left >= 0 then proxy.queries:append(2, count, { resultset_is_needed = true }) end
        end
        function read_query(packet)
            local kind = packet:match("endless") or packet:match("shown") or packet:match("ends")
            if not kind then return end
            left = kind == "ends" and 2 or math.huge
            proxy.queries:append(1, packet, { resultset_is_needed = kind ~= "shown" })
            if kind == "shown" then more() end
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result()
            more()
            return proxy.PROXY_IGNORE_RESULT
        end
        "#,
    );
    let mut conn = scripted.connect();
    conn.run("SET autocommit = 0");
    let refused = conn.query("SELECT 'endless'");
    let error = refused.error().unwrap();
    assert_eq!(error.code, 1105);
    assert!(error.text.contains("script.statements_max"), "{error:?}");
    assert_eq!(conn.value("SELECT @count"), "2");
    assert_eq!(conn.value("SELECT 'shown'"), "shown");
    assert_eq!(conn.value("SELECT @count"), "4");
    // A script may send as many statements as the limit allows.
    assert!(conn.query("SELECT 'ends'").error().is_none());
    assert_eq!(rows(&conn.run("SELECT @count, @@autocommit")), ["6|0"]);
}

/// The proxy refuses a script's own COM_CHANGE_USER. A client's COM_CHANGE_USER passes the script's queue.
fn a_change_of_user_is_the_clients_own(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            local change = "\017app\0\0demo\0\33\0mysql_native_password\0"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                if packet:byte() == proxy.COM_CHANGE_USER then
                    proxy.queries:append(3, packet, { resultset_is_needed = true })
                elseif packet:find("shown") then
                    proxy.queries:append(4, change)
                else
                    proxy.queries:append(1, change, { resultset_is_needed = true })
                    proxy.queries:append(2, packet, { resultset_is_needed = true })
                end
                return proxy.PROXY_SEND_QUERY
            end
            function read_query_result(inj)
                local set, raw = inj.resultset
                if inj.id < 3 then raw = set.raw:byte() end
                see(inj.id, set.query_status, raw, inj.id == 3 or inj.query_time >= 0)
                if inj.id == 1 then return proxy.PROXY_IGNORE_RESULT end
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    assert!(conn.value("SELECT CURRENT_USER()").starts_with("app@"));
    assert_eq!(seen(&mut conn), ["1 255 255 true", "2 0 1 true"]);
    let refused = conn.query("SELECT 'shown'");
    let error = refused.error().unwrap();
    assert!(
        error.code == 1105 && error.text.contains("COM_CHANGE_USER of its own"),
        "{error:?}"
    );
    assert_eq!(seen(&mut conn), ["4 255 nil true"]);
    conn.change_user(&Login::app()).unwrap();
    assert_eq!(seen(&mut conn), ["3 0 nil true"]);
    assert_eq!(conn.value("SELECT 5"), "5");
}

fn prepared_statements_pass(product: Product) {
    use e2e::raw::Execute;
    use e2e::raw::Param::Int;
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                proxy.queries:append(packet:byte(), packet, { resultset_is_needed = true })
                return proxy.PROXY_SEND_QUERY
            end
            function read_query_result(inj)
                local ok, why = pcall(function() return inj.resultset.rows end)
                see(inj.id, inj.resultset.query_status, inj.resultset.row_count, ok and "" or why:match("isn't.*"))
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    let id = conn.prepare("SELECT ? + 1").statement();
    let reply = conn.execute(&Execute::new(id, &[Int(41)]));
    assert!(reply.error().is_none());
    let lines = seen(&mut conn);
    assert_eq!(lines[0], "22 0 0 ");
    assert_eq!(lines[1], "23 0 1 isn't available for prepared statements");
}

fn a_file_passes_through_an_injection(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            proxy.queries:append(1, packet, { resultset_is_needed = true })
            return proxy.PROXY_SEND_QUERY
        end
        "#,
    );
    let schema = "t_scripted_file";
    let mut root = Server::shared(product).root();
    root.run(&format!("CREATE DATABASE IF NOT EXISTS {schema}"));
    let login = Login::app().schema(schema).and(capability::LOCAL_FILES);
    let mut conn = scripted.connect_as(&login);
    conn.run("CREATE TEMPORARY TABLE scripted_file (a INT)");
    conn.send_query("LOAD DATA LOCAL INFILE 'x' INTO TABLE scripted_file")
        .unwrap();
    let request = conn.packet().unwrap();
    assert_eq!(request.first(), Some(&0xfb), "{request:?}");
    conn.send_on(b"1\n2\n");
    conn.send_on(b"");
    assert!(conn.reply(Shape::Results).error().is_none());
    assert_eq!(conn.value("SELECT SUM(a) FROM scripted_file"), "3");
}

fn long_statements_are_seen_whole(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            if #packet < 17000000 then return end
            proxy.response = {
                type = proxy.MYSQLD_PACKET_OK,
                resultset = { fields = { { name = "bytes", type = 3 } }, rows = { { #packet - 1 } } },
            }
            return proxy.PROXY_SEND_RESULT
        end
        "#,
    );
    let mut conn = scripted.connect();
    let text = format!("SELECT '{}'", "x".repeat(17_000_000));
    assert_eq!(conn.value(&text), text.len().to_string());
    assert_eq!(conn.value("SELECT 1"), "1");
}
