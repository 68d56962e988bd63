//! How a client with a script gets its backend, and the error for an answer that cannot be built on the way.

use super::*;

in_both_ways! {
    answers_that_cannot_be_built_refuse_a_login
    a_connection_that_was_not_taken_is_opened
}

both! { connect_server_is_called_again an_injected_dump_streams }

fn answers_that_cannot_be_built_refuse_a_login(product: Product) {
    for hook in [
        "connect_server",
        "read_handshake",
        "read_auth",
        "read_auth_result",
    ] {
        for (response, logged) in [
            ("{ type = 77 }", "proxy.response.type is 77"),
            ("{ type = 250, packets = {} }", "packets is empty"),
            ("nil", "proxy.response.type is nil"),
        ] {
            let script = format!(
                "function {hook}(auth)
                if auth and auth.packet and auth.packet:byte() ~= 0 then return end
                proxy.response = {response}
                return proxy.PROXY_SEND_RESULT
            end"
            );
            let scripted = Scripted::start(product, &script);
            let (code, text) = scripted.refusal();
            let failed = "(lua) handling proxy.response failed, check error-log";
            assert_eq!(
                (code, text.trim_start_matches("#07000")),
                (1105, failed),
                "{hook}"
            );
            scripted.proxy.wait_logged(&[logged]);
        }
    }
}

/// PROXY_IGNORE_RESULT if no pool had a connection, and decisions that mean nothing there.
fn a_connection_that_was_not_taken_is_opened(product: Product) {
    for decision in [
        "proxy.PROXY_IGNORE_RESULT",
        "proxy.PROXY_SEND_QUERY",
        "77",
        "'x'",
    ] {
        let script = format!(
            "function connect_server() proxy.connection.backend_ndx = 1 return {decision} end
             function read_handshake() return {decision} == 1 and 0 or 77 end"
        );
        let scripted = Scripted::start(product, &script);
        assert_eq!(
            scripted.connect().value("SELECT 'well'"),
            "well",
            "{decision}"
        );
    }
}

/// The backend that a script has chosen is down, so the script chooses again.
fn connect_server_is_called_again(product: Product) {
    let gone = Scripted::with(
        Settings::default(),
        r#"function connect_server()
            proxy.response = { type = proxy.MYSQLD_PACKET_OK }
            return proxy.PROXY_SEND_RESULT
        end"#,
    );
    let address = gone.proxy.tcp();
    let settings = Settings::default()
        .backend(address)
        .backend(Server::shared(product).tcp());
    let scripted = Scripted::with(
        settings,
        &seeing(
            r#"
            function connect_server()
                local backends = proxy.global.backends
                see(proxy.connection.server, proxy.connection.backend_ndx, backends[1].state, backends[2].state)
                proxy.connection.backend_ndx = 1
            end
            function read_handshake() see("at", proxy.connection.backend_ndx, proxy.global.backends[2].connected_clients) end
            function read_query(packet) if is_asked(packet) then return seen() end end
            "#,
        ),
    );
    scripted
        .proxy
        .wait_event("backend_up", &[&address.to_string()]);
    let up = Server::shared(product).tcp().to_string();
    scripted.proxy.wait_event("backend_up", &[&up]);
    drop(gone);
    let mut conn = scripted.connect();
    // A client does not get a backend that is down, though the script names it.
    assert_eq!(seen(&mut conn), ["nil 0 1 1", "nil 0 2 1", "at 2 1"]);
}

/// A reply without an end is not kept in memory, though a script asks for it.
fn an_injected_dump_streams(product: Product) {
    let script = r#"
        function read_query(packet)
            if packet:byte() == proxy.COM_BINLOG_DUMP then
                proxy.queries:append(1, packet, { resultset_is_needed = true })
                return proxy.PROXY_SEND_QUERY
            end
        end
    "#;
    let scripted = Scripted::start(product, script);
    let mut conn = scripted.connect_as(&Login::app());
    let (status, checksum) = match product.is_mariadb() {
        true => ("SHOW MASTER STATUS", "@master_binlog_checksum"),
        false => ("SHOW BINARY LOG STATUS", "@source_binlog_checksum"),
    };
    conn.run(&format!("SET {checksum} = @@global.binlog_checksum"));
    conn.run("SET @mariadb_slave_capability = 4");
    let file = Server::shared(product)
        .root()
        .run(status)
        .text(0, 0)
        .unwrap();
    // The dump starts at the beginning of the file and does not wait for new events. A server ends a dump if
    // another dump begins with the same server id, so no other test uses this id.
    let mut dump = vec![command::BINLOG_DUMP, 4, 0, 0, 0, 1, 0, 0xB6, 0x12, 0, 0];
    dump.extend(file.as_bytes());
    conn.send(&dump);
    for event in 0..2 {
        let packet = match event {
            0 => conn.packet(),
            _ => conn.more(),
        };
        let packet = packet.unwrap();
        assert_eq!(packet[0], 0, "{}", packet.escape_ascii());
    }
}
