//! Pseudo servers with proxies in front of them: replies that real servers do not send any more, or not on demand.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;

/// A pseudo server whose `answers` are a table from statements to replies.
fn mock_with(greeting: &str, answers: &str) -> Scripted {
    let script = format!(
        r#"
        local proto = require("mysql.proto")
        function connect_server()
            proxy.response = {{
                type = proxy.MYSQLD_PACKET_RAW,
                packets = {{ proto.to_challenge_packet({{ {greeting} }}) }},
            }}
            return proxy.PROXY_SEND_RESULT
        end
        local function raw(...) return {{ type = proxy.MYSQLD_PACKET_RAW, packets = {{ ... }} }} end
        local answers = {{ {answers} }}
        function read_query(packet)
            local answer = answers[packet:sub(2)] or answers[packet:byte()]
            proxy.response = answer and answer(packet) or {{ type = proxy.MYSQLD_PACKET_OK }}
            return proxy.PROXY_SEND_RESULT
        end
        "#
    );
    Scripted::with(Settings::default(), &script)
}

const GREETING: &str = "server_version = 50120, server_status = 2, charset = 8";

/// A proxy with a script in front of it.
fn in_front_of(mock: &Scripted, script: &str) -> Scripted {
    let settings = Settings::default().backend(mock.proxy.tcp());
    Scripted::with(settings, &seeing(script))
}

#[test]
fn ok_from_connect_server_accepts_every_login() {
    let scripted = Scripted::with(
        Settings::default(),
        &seeing(
            r#"
            function connect_server()
                proxy.response = { type = proxy.MYSQLD_PACKET_OK }
                return proxy.PROXY_SEND_RESULT
            end
            function read_auth() see("read_auth", proxy.connection.client.username, proxy.connection.client.default_db) end
            function read_query(packet)
                if is_asked(packet) then return seen() end
                if packet == "\003select $$" then
                    -- A client of MySQL 9 asks so what quotes there are.
                    proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errcode = 1064 }
                    return proxy.PROXY_SEND_RESULT
                end
                proxy.response = { type = proxy.MYSQLD_PACKET_OK, resultset = {
                    fields = { { name = "said", type = proxy.MYSQL_TYPE_STRING } }, rows = { { packet:sub(2) } } } }
                return proxy.PROXY_SEND_RESULT
            end
            "#,
        ),
    );
    let mut conn = scripted.connect_as(&Login::with("anybody", "knows").schema("somewhere"));
    assert_eq!(seen(&mut conn), ["read_auth anybody somewhere"]);
    assert_eq!(conn.value("SELECT 'x'"), "SELECT 'x'");
    // Clients of today, with passwords and without.
    for product in [Product::MariaDb, Product::MySql] {
        for password in ["--password=some", "--skip-password"] {
            let mut client = product.client();
            client.args(["--host=127.0.0.1", "--user=anybody", password, "-N", "-B"]);
            client.arg(format!("--port={}", scripted.proxy.port()));
            client.args(["-e", "SELECT 'from a client'"]);
            let output = client.output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(
                text.trim(),
                "SELECT 'from a client'",
                "{product:?} {password}: {errors}"
            );
        }
    }
}

/// The error packet from before 4.1, without a SQLSTATE, and an error number that such clients know.
#[test]
fn a_client_older_than_4_1_gets_an_error() {
    let product = Product::MariaDb;
    for settings in [
        Settings::in_front_of([Server::shared(product)]),
        Settings::pooled(Server::shared(product), 2),
    ] {
        let scripted = Scripted::with(settings, "function read_query() end");
        let mut socket = TcpStream::connect(scripted.proxy.tcp()).unwrap();
        let mut header = [0; 4];
        socket.read_exact(&mut header).unwrap();
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        socket.read_exact(&mut vec![0; length as usize]).unwrap();
        // Capabilities without PROTOCOL_41, a maximum of three bytes, a name, a scramble of eight.
        let answer = b"\x05\0\0\0\x01app\0abcdefgh\0";
        socket.write_all(&[answer.len() as u8, 0, 0, 1]).unwrap();
        socket.write_all(answer).unwrap();
        let mut told = Vec::new();
        socket.read_to_end(&mut told).unwrap();
        let text = b"\xff\xd7\x074.0 protocol is not supported";
        assert_eq!(told[..4], [text.len() as u8, 0, 0, 2]);
        assert_eq!(told[4..], *text);
    }
}

/// MySQL bug 25371.
#[test]
fn change_user_is_refused_for_servers_5_1_14_to_5_1_17() {
    for (version, is_broken) in [
        (50_113, false),
        (50_114, true),
        (50_117, true),
        (50_118, false),
    ] {
        let mock = mock_with(
            &format!("server_version = {version}, server_status = 2"),
            "[proxy.COM_CHANGE_USER] = function() return { type = proxy.MYSQLD_PACKET_OK } end",
        );
        let front = in_front_of(
            &mock,
            r#"function read_query(packet)
                if is_asked(packet) then return seen() end
                see(packet:byte())
            end"#,
        );
        let mut conn = front.connect();
        let changed = conn.change_user(&Login::app());
        assert_eq!(changed.is_err(), is_broken, "{version}");
        if let Err(failure) = changed {
            let error = failure.refusal();
            let text = "COM_CHANGE_USER is broken on 5.1.14-.17, please upgrade the MySQL Server";
            assert_eq!((error.code, error.text.as_str()), (1105, text));
        }
        // The hook has seen only the commands that were forwarded.
        let lines = seen(&mut conn);
        assert_eq!(lines.is_empty(), is_broken, "{version}: {lines:?}");
    }
}

/// A backend that sends ERR in place of a greeting: the ERR is forwarded unchanged, and no hook sees it.
#[test]
fn a_backends_first_err_is_passed_on() {
    let folder = Folder::new("files");
    let is_full = folder.path().join("is_full");
    let script = format!(
        r#"
        function connect_server()
            proxy.response = {{ type = proxy.MYSQLD_PACKET_OK }}
            if io.open({is_full:?}) then
                proxy.response = {{ type = proxy.MYSQLD_PACKET_ERR, errmsg = "full", errcode = 1040, sqlstate = "08004" }}
            end
            return proxy.PROXY_SEND_RESULT
        end
        "#
    );
    let mock = Scripted::with(Settings::default(), &script);
    let front = in_front_of(
        &mock,
        r#"function read_handshake() print("read_handshake was called") end"#,
    );
    front.proxy.wait_event("backend_up", &[]);
    fs::write(&is_full, "").unwrap();
    let mut socket = TcpStream::connect(front.proxy.tcp()).unwrap();
    let mut told = Vec::new();
    socket.read_to_end(&mut told).unwrap();
    assert_eq!(told, b"\x0d\0\0\0\xff\x10\x04#08004full");
    assert!(!front.proxy.log().contains("read_handshake was called"));
}

#[test]
fn statistics_have_no_fields() {
    let mock = mock_with(
        GREETING,
        "[proxy.COM_STATISTICS] = function() return raw('\\5abc  Uptime') end",
    );
    let front = in_front_of(
        &mock,
        r#"
        function read_query(packet)
            if is_asked(packet) then return seen() end
            proxy.queries:append(1, packet, { resultset_is_needed = true })
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result(inj)
            local set = inj.resultset
            see(inj.query:byte(), #set.fields, set.fields[1], set.rows, set.raw, set.query_status)
        end
        "#,
    );
    let mut conn = front.connect();
    conn.send(&[command::STATISTICS]);
    conn.reply(Shape::Single);
    assert_eq!(seen(&mut conn), ["9 0 nil nil \u{5}abc  Uptime 0"]);
}

/// A reply to COM_STMT_PREPARE that is invalid: the backend is at fault, and the proxy continues.
#[test]
fn an_invalid_reply_to_prepare_ends_only_its_session() {
    let mock = mock_with(
        GREETING,
        "[proxy.COM_STMT_PREPARE] = function(packet) return raw(packet:sub(2) == 'odd' and '\\5odd' or '\\0\\1') end",
    );
    for statement in ["odd", "short"] {
        let front = in_front_of(&mock, injecting_all());
        let mut conn = front.connect();
        conn.send(&[&[command::STMT_PREPARE], statement.as_bytes()].concat());
        let told = conn.packet().unwrap();
        assert_eq!(told[0], 0xff, "{}", told.escape_ascii());
        assert!(conn.is_closed_by_server());
        assert!(
            front
                .connect()
                .command(command::PING, b"")
                .error()
                .is_none()
        );
    }
}

fn injecting_all() -> &'static str {
    r#"
    function read_query(packet)
        if is_asked(packet) then return seen() end
        proxy.queries:append(1, packet, { resultset_is_needed = true })
        return proxy.PROXY_SEND_QUERY
    end
    function read_query_result(inj)
        local set = inj.resultset
        local rows = 0
        if set.rows then for row in set.rows do rows = rows + 1 end end
        see(set.query_status, rows, set.row_count, set.bytes, set.warning_count)
    end
    "#
}

const RESULT: &str = r#"
    "\1", "\3def\0\0\0\1a\0\12\8\0\32\0\0\0\253\0\0\0\0\0"
"#;

/// An invalid row, an ERR within the rows, rows of length 0.
#[test]
fn malformed_replies_are_given_to_the_script_as_far_as_they_are_valid() {
    let answers = format!(
        r#"
        ["ERR within"] = function() return raw({RESULT}, "\254\0\0\2\0", "\1x", "\255\1\4#HY000late") end,
        ["two"] = function() return raw({RESULT}, "\254\0\0\10\0", "\1x", "\254\7\0\10\0", {RESULT}, "\254\0\0\2\0", "\1y", "\2zz", "\254\3\0\2\0") end,
        ["bad row"] = function() return raw({RESULT}, "\254\0\0\2\0", "\9x", "\254\0\0\2\0") end,
        "#
    );
    let mock = mock_with(GREETING, &answers);
    let front = in_front_of(&mock, injecting_all());
    let mut conn = front.connect_as(&Login::app().and(capability::MULTI_STATEMENTS));
    assert_eq!(conn.query("ERR within").error().unwrap().text, "late");
    assert_eq!(seen(&mut conn), ["255 1 1 6 0"]);
    // The rows are those of the first result. The figures count both results.
    assert_eq!(conn.query("two").results().count(), 2);
    assert_eq!(seen(&mut conn), ["0 1 3 19 3"]);
    assert_eq!(conn.query("bad row").results().count(), 1);
    front
        .proxy
        .wait_logged(&["(read_query_result)", "row-data is invalid"]);
    assert!(conn.command(command::PING, b"").error().is_none());
}

/// A chain of three: the middle proxy answers what the outer one has rewritten, and the inner one never sees it.
#[test]
fn each_proxy_of_a_chain_runs_its_script() {
    let mock = mock_with(
        GREETING,
        r#"["SELECT inner"] = function() return { type = 0, resultset = { fields = { { name = "who", type = 254 } }, rows = { { "the mock" } } } } end"#,
    );
    let middle = in_front_of(
        &mock,
        r#"
        function read_query(packet)
            if packet:sub(2) == "SELECT middle" then
                proxy.response = { type = 0, resultset = { fields = { { name = "who", type = 254 } }, rows = { { "the middle" } } } }
                return proxy.PROXY_SEND_RESULT
            end
        end
        "#,
    );
    let front = in_front_of(
        &middle,
        r#"
        function read_query(packet)
            local renamed = packet:gsub("outer", "middle")
            proxy.queries:append(1, renamed, { resultset_is_needed = true })
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result(inj)
            local rows = {}
            for row in inj.resultset.rows do rows[#rows + 1] = { row[1] .. ", told on" } end
            proxy.response = { type = 0, resultset = { fields = { { name = "who", type = 254 } }, rows = rows } }
            return proxy.PROXY_SEND_RESULT
        end
        "#,
    );
    let mut conn = front.connect();
    assert_eq!(conn.value("SELECT outer"), "the middle, told on");
    assert_eq!(conn.value("SELECT inner"), "the mock, told on");
}
