//! `connect_server`, `read_handshake`, `read_auth`, `read_auth_result`.

use super::*;

in_both_ways! {
    a_greeting_may_be_refused
    a_login_may_be_refused_before_the_server_hears_of_it
    the_servers_answer_may_be_replaced
    a_refused_login_is_seen
    addresses_are_told
    another_account_may_log_in_later
}

both! { credentials_may_be_replaced }

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

fn a_login_may_be_refused_before_the_server_hears_of_it(product: Product) {
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
    // The native plugin alone can be computed by a script.
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
    let wrong = plain(Login::with("app", "wrong"));
    let refused = RawConn::connect(&scripted.proxy.address(), &wrong);
    assert_eq!(refused.unwrap_err().refusal().code, 1045);
    assert_eq!(seen(&mut scripted.connect()), ["app refused"]);
}

fn addresses_are_told(product: Product) {
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

fn another_account_may_log_in_later(product: Product) {
    let scripted = Scripted::start(product, "function read_query() end");
    let mut conn = scripted.connect();
    conn.change_user(&plain(Login::app())).unwrap();
    assert_eq!(conn.value("SELECT 1"), "1");
    let wrong = plain(Login::with("app", "wrong"));
    conn.change_user(&wrong).unwrap_err();
}
