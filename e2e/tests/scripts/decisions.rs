//! The decisions of `read_query`: forward the command, send another one, answer it.

use super::*;

in_both_ways! {
    a_script_answers_itself
    hooks_come_in_their_order
    a_rewritten_statement_is_sent
    answers_are_made_of_lua_values
    raw_packets_are_sent_as_they_are
    errors_have_their_number
    an_answer_of_a_script_does_not_end_the_session
    a_script_sees_the_sessions_schema
    constants_equal_those_of_mysql_proxy
    scripts_can_use_old_names_of_fields_and_functions
    a_script_can_end_the_session
}

fn a_script_answers_itself(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            if packet:sub(2) == "SELECT mine" then
                proxy.response = {
                    type = proxy.MYSQLD_PACKET_OK,
                    resultset = {
                        fields = { { name = "a", type = proxy.MYSQL_TYPE_STRING }, { name = "b", type = proxy.MYSQL_TYPE_LONG } },
                        rows = { { "x", 1 }, { nil, 2.5 } },
                    },
                }
                return proxy.PROXY_SEND_RESULT
            end
        end
        "#,
    );
    let mut conn = scripted.connect();
    let reply = conn.run("SELECT mine");
    assert_eq!(rows(&reply), ["x|1", "NULL|2.5"]);
    // The definitions' payloads hold the names.
    let columns = &reply.results().next().unwrap().columns;
    assert!(columns[0].ends_with(b"\x01a\0\x0c\x08\0\x20\0\0\0\xfe\x02\0\0\0\0"));
    assert_eq!(conn.value("SELECT 1 + 1"), "2");
}

fn hooks_come_in_their_order(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function connect_server() see("connect_server", proxy.connection.server, proxy.connection.backend_ndx) end
            function read_handshake() see("read_handshake", proxy.connection.backend_ndx, proxy.connection.server.thread_id > 0) end
            function read_auth() see("read_auth", proxy.connection.client.username) end
            function read_auth_result(auth) see("read_auth_result", auth.packet:byte(), proxy.connection.server.username) end
            function read_query(packet)
                if is_asked(packet) then return seen() end
                see("read_query", packet:byte(), packet:sub(2))
            end
            function read_query_result() see("never") end
            function disconnect_client() see("disconnect_client", proxy.connection.server ~= nil) end
            "#,
        ),
    );
    let mut first = scripted.connect();
    first.run("SELECT 1");
    let mut lines = seen(&mut first);
    // With caching_sha2_password the server sends more than an OK.
    lines.retain(|line| line != "read_auth_result 1 app");
    assert_eq!(
        lines,
        [
            "connect_server nil 0",
            "read_handshake 1 true",
            "read_auth app",
            "read_auth_result 0 app",
            "read_query 3 SELECT 1",
        ]
    );
    first.quit();
    let mut second = scripted.connect();
    let lines = e2e::wait::for_some("the first client has left", e2e::wait::SOON, || {
        let lines = seen(&mut second);
        let at = lines
            .iter()
            .position(|line| line.starts_with("disconnect"))?;
        Some(lines[at].clone())
    });
    assert_eq!(lines, "disconnect_client true");
}

fn a_rewritten_statement_is_sent(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            if packet:byte() == proxy.COM_QUERY and packet:sub(2) == "SELECT one" then
                proxy.queries:append(1, string.char(proxy.COM_QUERY) .. "SELECT 'two'")
                return proxy.PROXY_SEND_QUERY
            end
        end
        "#,
    );
    let mut conn = scripted.connect();
    assert_eq!(conn.value("SELECT one"), "two");
    assert_eq!(conn.value("SELECT 'other'"), "other");
}

fn answers_are_made_of_lua_values(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            if packet:sub(2) ~= "SELECT values" then return end
            proxy.response.type = proxy.MYSQLD_PACKET_OK
            proxy.response.resultset = {
                fields = { { name = "v" } },
                rows = { { 1 / 3 }, { 10000000000 }, { true }, { {} }, { "cut\0here" }, { "" } },
            }
            return "2"
        end
        "#,
    );
    let mut conn = scripted.connect();
    let reply = conn.run("SELECT values");
    let expected = ["0.33333333333333", "10000000000", "NULL", "NULL", "cut", ""];
    assert_eq!(rows(&reply), expected);
}

fn raw_packets_are_sent_as_they_are(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            if packet:sub(2) ~= "DO raw" then return end
            proxy.response = { type = proxy.MYSQLD_PACKET_RAW, packets = { "\000\007\000\002\000\000\000" } }
            return proxy.PROXY_SEND_RESULT
        end
        "#,
    );
    let mut conn = scripted.connect();
    let reply = conn.run("DO raw");
    assert_eq!(reply.status(), 2);
    assert_eq!(conn.value("SELECT 1"), "1");
}

fn errors_have_their_number(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        local errors = {
            ["DO whole"] = { errmsg = "no", errcode = 1234, sqlstate = "42000" },
            ["DO bare"] = {},
            ["DO short"] = { errmsg = "s", sqlstate = "42" },
        }
        function read_query(packet)
            local response = errors[packet:sub(2)]
            if response then
                response.type = proxy.MYSQLD_PACKET_ERR
                proxy.response = response
                return proxy.PROXY_SEND_RESULT
            end
        end
        "#,
    );
    let mut conn = scripted.connect();
    for (sql, code, state, text) in [
        ("DO whole", 1234, "42000", "no"),
        (
            "DO bare",
            1105,
            "07000",
            "(lua) proxy.response.errmsg is nil",
        ),
        ("DO short", 1105, "42   ", "s"),
    ] {
        let reply = conn.query(sql);
        let error = reply.error().unwrap();
        assert_eq!((error.code, error.text.as_str()), (code, text));
        assert_eq!(error.state, state);
    }
    assert_eq!(conn.value("SELECT 1"), "1");
}

fn an_answer_of_a_script_does_not_end_the_session(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            if packet:sub(2) ~= "DO both" then return end
            proxy.queries:append(1, string.char(proxy.COM_QUERY) .. "SELECT 'not sent'")
            proxy.response = { type = proxy.MYSQLD_PACKET_OK, affected_rows = 3, insert_id = 7 }
            return proxy.PROXY_SEND_RESULT
        end
        "#,
    );
    let mut conn = scripted.connect();
    conn.run("DO both");
    assert_eq!(conn.value("SELECT 'next'"), "next");
}

fn a_script_sees_the_sessions_schema(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                see(proxy.connection.client.default_db, proxy.connection.server.default_db)
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    conn.run("SELECT 1");
    conn.command(command::INIT_DB, b"mysql");
    conn.command(command::INIT_DB, b"no_such_schema");
    conn.run("SELECT 1");
    let lines = seen(&mut conn);
    assert_eq!(lines[0].trim(), "");
    assert_eq!(lines[3], "mysql mysql");
}

fn scripts_can_use_old_names_of_fields_and_functions(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_handshake(t)
                local server = proxy.connection.server
                see(t.scramble == server.scramble_buffer, t.thread_id == server.thread_id, t.server_addr == server.dst.name)
                see(t.client_addr == proxy.connection.client.src.name, t.mysqld_version == server.mysqld_version)
            end
            function read_auth(t) see(t.username, #t.password == #proxy.connection.client.scrambled_password, t.default_db) end
            function read_query(packet)
                if is_asked(packet) then return seen() end
                for _, token in ipairs(proxy.tokenize(packet:sub(2))) do see(token.token_name, token.text, token.token_id) end
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    conn.run("SELECT 1");
    assert_eq!(
        seen(&mut conn),
        [
            "true true true",
            "true true",
            "app true ",
            "TK_SQL_SELECT SELECT 204",
            "TK_INTEGER 1 11"
        ]
    );
}

fn constants_equal_those_of_mysql_proxy(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                see(_VERSION, proxy.PROXY_VERSION, proxy.COM_DAEMON, proxy.MYSQL_TYPE_GEOMETRY)
                see(proxy.MYSQLD_PACKET_EOF, proxy.nothing, #proxy.queries, proxy.queries:len())
                see(#proxy.global.backends, proxy.global.backends[1].type, proxy.global.backends[1].state ~= proxy.BACKEND_STATE_DOWN)
                see(proxy.global.backends[2], proxy.global.backends[0], proxy.backends[1].dst.port == proxy.global.backends[1].dst.port)
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    conn.run("SELECT 1");
    assert_eq!(
        seen(&mut conn),
        [
            "Lua 5.1 2053 29 255",
            "254 nil 0 0",
            "1 1 true",
            "nil nil true"
        ]
    );
}

fn a_script_can_end_the_session(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            if packet:sub(2) == "SELECT 'last'" then proxy.connection.connection_close = true end
        end
        "#,
    );
    let mut conn = scripted.connect();
    assert_eq!(conn.value("SELECT 'first'"), "first");
    assert_eq!(conn.value("SELECT 'last'"), "last");
    assert!(conn.is_closed_by_server());
}
