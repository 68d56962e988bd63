//! `connect_server`, `read_handshake`, `read_auth`, `read_auth_result`.

use super::*;

in_both_ways! {
    a_greeting_may_be_refused
    a_login_can_be_refused_before_the_server_gets_it
    the_servers_answer_may_be_replaced
    a_refused_login_is_seen
    a_script_gets_the_addresses
    a_session_with_a_script_can_change_its_user
    a_deprecated_decision_of_read_handshake_still_refuses_the_login
    scramble_and_challenge_are_as_on_the_wire
    read_auth_may_let_a_client_in
    a_decision_that_means_nothing_lets_a_login_pass
}

both! { credentials_may_be_replaced a_replaced_login_has_the_scripts_values }

fn a_greeting_may_be_refused(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_handshake()
            proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "not today", errcode = 1129 }
            return proxy.PROXY_SEND_RESULT
        end
        "#,
    );
    assert_eq!(scripted.refusal().0, 1129);
}

fn a_login_can_be_refused_before_the_server_gets_it(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_auth()
            if proxy.connection.client.username == "app" then
                proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "not you", errcode = 1045, sqlstate = "28000" }
                return proxy.PROXY_SEND_RESULT
            end
        end
        "#,
    );
    assert_eq!(scripted.refusal(), (1045, "not you".to_owned()));
}

fn the_servers_answer_may_be_replaced(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_auth_result(auth)
            if auth.packet:byte() == proxy.MYSQLD_PACKET_OK then
                proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "after all not" }
                return proxy.PROXY_SEND_RESULT
            end
        end
        "#,
    );
    assert_eq!(scripted.refusal(), (1105, "after all not".to_owned()));
}

fn credentials_may_be_replaced(product: Product) {
    // A script can compute only the native plugin's answer.
    if product == Product::MySql {
        return;
    }
    let mut root = Server::shared(product).root();
    root.run("CREATE OR REPLACE USER scripted_alias IDENTIFIED BY 'secret'");
    let scripted = Scripted::start(
        product,
        r#"
        local proto = require("mysql.proto")
        local password = require("mysql.password")
        function read_auth()
            local c, s = proxy.connection.client, proxy.connection.server
            local packet = proto.to_response_packet({
                username = "scripted_alias",
                response = password.scramble(s.scramble_buffer:sub(1, 20), password.hash("secret")),
                charset = 8,
                database = c.default_db,
                max_packet_size = 1024 * 1024,
            })
            proxy.queries:append(1, packet)
            return proxy.PROXY_SEND_QUERY
        end
        "#,
    );
    let mut conn = scripted.connect();
    assert_eq!(
        conn.value("SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"),
        "scripted_alias"
    );
}

fn a_refused_login_is_seen(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_auth_result(auth)
                if auth.packet:byte() == proxy.MYSQLD_PACKET_ERR then see(proxy.connection.client.username, "refused") end
            end
            function read_query(packet) if is_asked(packet) then return seen() end end
            "#,
        ),
    );
    let wrong = Login::with("app", "wrong");
    let refused = RawConn::connect(&scripted.proxy.address(), &wrong);
    assert_eq!(refused.unwrap_err().refusal().code, 1045);
    assert_eq!(seen(&mut scripted.connect()), ["app refused"]);
}

fn a_script_gets_the_addresses(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                local c, s = proxy.connection.client, proxy.connection.server
                see(c.src.address, c.dst.port, c.src.type, c.src.name == c.src.address .. ":" .. c.src.port)
                see(s.dst.name == proxy.global.backends[proxy.connection.backend_ndx].dst.name, s.src.address, s.dst.nothing)
                see(#s.scramble_buffer >= 20, c.auth_plugin_name ~= nil, s.mysqld_version > 50000, s.thread_id == c.thread_id)
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    conn.run("SELECT 1");
    let port = scripted.proxy.port();
    assert_eq!(
        seen(&mut conn),
        [
            format!("127.0.0.1 {port} 2 true"),
            "true 127.0.0.1 nil".to_owned(),
            "true true true true".to_owned(),
        ]
    );
}

fn a_session_with_a_script_can_change_its_user(product: Product) {
    let scripted = Scripted::start(product, "function read_query() end");
    let mut conn = scripted.connect();
    conn.change_user(&Login::app()).unwrap();
    assert_eq!(conn.value("SELECT 1"), "1");
    let wrong = Login::with("app", "wrong");
    conn.change_user(&wrong).unwrap_err();
}

fn a_deprecated_decision_of_read_handshake_still_refuses_the_login(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_handshake()
            proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "not today", errcode = 1129 }
            return proxy.PROXY_SEND_QUERY
        end
        "#,
    );
    assert_eq!(scripted.refusal().0, 1129);
    scripted
        .proxy
        .wait_logged(&["(read_handshake)", "PROXY_SEND_QUERY is deprecated"]);
}

/// 20 bytes and a NUL, as in each greeting that names a plugin.
fn scramble_and_challenge_are_as_on_the_wire(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            local password = require("mysql.password")
            function read_query(packet)
                if is_asked(packet) then return seen() end
                local client, server = proxy.connection.client, proxy.connection.server
                see(#client.scramble_buffer, #server.scramble_buffer, server.scramble_buffer:byte(21))
                local hashed = password.hash("x")
                local response = password.scramble(client.scramble_buffer, hashed)
                see(password.check(client.scramble_buffer, response, password.hash(hashed)))
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    conn.run("SELECT 1");
    assert_eq!(seen(&mut conn), ["21 21 0", "true"]);
}

/// No server has checked the login. The script answers each command.
fn read_auth_may_let_a_client_in(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_auth()
                proxy.response = { type = proxy.MYSQLD_PACKET_OK }
                return proxy.PROXY_SEND_RESULT
            end
            function read_query(packet)
                if is_asked(packet) then
                    see(proxy.connection.server, proxy.connection.client.username)
                    return seen()
                end
            end
            "#,
        ),
    );
    let mut conn = scripted.connect_as(&Login::with("who", "knows"));
    assert_eq!(seen(&mut conn), ["nil who"]);
    let reply = conn.query("SELECT 1");
    assert_eq!(
        reply.error().unwrap().text,
        "I have no server backend, closing connection"
    );
}

/// The character set is the script's if the script names one, else the client's.
fn a_replaced_login_has_the_scripts_values(product: Product) {
    if product == Product::MySql {
        return;
    }
    let mut root = Server::shared(product).root();
    root.run("CREATE OR REPLACE USER scripted_charset IDENTIFIED BY 'secret'");
    for (charset, expected) in [("charset = 8,", "latin1"), ("", "utf8mb4")] {
        let script = r#"
            local proto = require("mysql.proto")
            local password = require("mysql.password")
            function read_auth()
                local packet = proto.to_response_packet({
                    username = "scripted_charset", CHARSET
                    response = password.scramble(proxy.connection.server.scramble_buffer, password.hash("secret")),
                })
                proxy.queries:append(1, packet)
                return proxy.PROXY_SEND_QUERY
            end
        "#;
        let scripted = Scripted::start(product, &script.replace("CHARSET", charset));
        let mut conn = scripted.connect();
        assert_eq!(conn.value("SELECT @@character_set_client"), expected);
    }
}

/// PROXY_SEND_QUERY with an empty queue, and numbers that are no decision.
fn a_decision_that_means_nothing_lets_a_login_pass(product: Product) {
    for decision in ["1", "4", "99", "'word'", "true", "nil", "error('now')"] {
        let script = format!(
            "function read_auth() return {decision} end
             function read_auth_result(auth) return {decision} end"
        );
        let scripted = Scripted::start(product, &script);
        assert_eq!(scripted.connect().value("SELECT 'in'"), "in", "{decision}");
    }
}
