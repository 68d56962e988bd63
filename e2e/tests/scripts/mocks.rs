//! Scripts that answer everything, without a server.

use super::*;

const MOCK: &str = r#"
    local proto = require("mysql.proto")
    function connect_server()
        proxy.response = {
            type = proxy.MYSQLD_PACKET_RAW,
            packets = { proto.to_challenge_packet({ server_version = 50120, server_status = 2, charset = 8 }) },
        }
        return proxy.PROXY_SEND_RESULT
    end
    function read_query(packet)
        if packet:byte() == proxy.COM_QUERY then
            proxy.response = {
                type = proxy.MYSQLD_PACKET_OK,
                resultset = { fields = { { name = "said", type = 254 } }, rows = { { packet:sub(2) } } },
            }
        else
            proxy.response = { type = proxy.MYSQLD_PACKET_OK }
        end
        return proxy.PROXY_SEND_RESULT
    end
"#;

#[test]
fn a_script_alone_is_a_server() {
    let scripted = Scripted::with(Settings::default(), MOCK);
    let mut conn = scripted.connect();
    assert_eq!(conn.value("SELECT 'x'"), "SELECT 'x'");
    assert!(conn.command(command::PING, b"").error().is_none());
    assert_eq!(conn.value("more"), "more");
}

#[test]
fn a_mock_is_a_backend_of_another_proxy() {
    let mock = Scripted::with(Settings::default(), MOCK);
    let settings = Settings::default().backend(mock.proxy.tcp());
    let front = Scripted::with(
        settings,
        r#"
        function read_query(packet)
            proxy.queries:append(1, packet .. " twice", { resultset_is_needed = true })
            return proxy.PROXY_SEND_QUERY
        end
        "#,
    );
    let mut conn = front.connect();
    assert_eq!(conn.value("once"), "once twice");
}

#[test]
fn a_forwarded_command_without_a_backend_gets_an_error_text() {
    let scripted = Scripted::with(
        Settings::default(),
        &MOCK.replace(
            "function read_query(packet)",
            "function read_query(packet)\n if packet:sub(2) == 'pass' then return end",
        ),
    );
    let mut conn = scripted.connect();
    let reply = conn.query("pass");
    let error = reply.error().unwrap();
    assert!(
        error.text.contains("I have no server backend"),
        "{}",
        error.text
    );
    assert!(conn.is_closed_by_server());
}

#[test]
fn connect_server_can_refuse_a_client_without_a_backend() {
    let scripted = Scripted::with(
        Settings::default(),
        r#"
        function connect_server()
            proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "closed on Sundays" }
            return proxy.PROXY_SEND_RESULT
        end
        "#,
    );
    let (code, text) = scripted.refusal();
    assert_eq!(code, 1105);
    assert!(text.contains("closed on Sundays"), "{text}");
}

#[test]
fn without_a_backend_a_client_gets_an_error() {
    let scripted = Scripted::with(Settings::default(), "function read_query() end");
    let (code, text) = scripted.refusal();
    assert_eq!(
        (code, text.as_str()),
        (1105, "(proxy) all backends are down")
    );
}
