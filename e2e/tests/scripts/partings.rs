//! `disconnect_client` runs once for each client, however its session ends. After it, no pool lists a connection
//! that does not exist.

use std::net::TcpStream;

use e2e::{free_port, wait};

use super::*;

in_both_ways! {
    disconnect_client_runs_after_a_refused_login
    disconnect_client_runs_for_a_client_that_disconnects_during_login
    disconnect_client_runs_after_a_script_refuses_the_login
    disconnect_client_runs_once_for_each_client
}

/// Records each end. `SELECT seen` returns the records.
const ENDS: &str = r#"
    function read_query(packet) if is_asked(packet) then return seen() end end
    function disconnect_client() see("end of", proxy.connection.client.username, proxy.connection.client.src.port) end
"#;

/// The recorded ends, once there are so many.
fn ends(scripted: &Scripted, count: usize) -> Vec<String> {
    let mut conn = scripted.connect();
    let mut lines = Vec::new();
    wait::until("sessions have ended", wait::SOON, || {
        lines.extend(seen(&mut conn));
        lines.len() >= count
    });
    lines
}

fn disconnect_client_runs_after_a_refused_login(product: Product) {
    let scripted = Scripted::start(product, &seeing(ENDS));
    let wrong = Login::with("app", "wrong");
    RawConn::connect(&scripted.proxy.address(), &wrong).unwrap_err();
    let lines = ends(&scripted, 1);
    assert!(lines[0].starts_with("end of app "), "{lines:?}");
    assert_eq!(lines.len(), 1, "{lines:?}");
}

fn disconnect_client_runs_for_a_client_that_disconnects_during_login(product: Product) {
    let scripted = Scripted::start(product, &seeing(ENDS));
    let socket = TcpStream::connect(scripted.proxy.tcp()).unwrap();
    let port = socket.local_addr().unwrap().port();
    // The proxy's greeting has arrived, so the script has begun.
    socket.peek(&mut [0]).unwrap();
    drop(socket);
    assert_eq!(ends(&scripted, 1), [format!("end of nil {port}")]);
}

fn disconnect_client_runs_after_a_script_refuses_the_login(product: Product) {
    for hook in [
        "connect_server",
        "read_handshake",
        "read_auth",
        "read_auth_result",
    ] {
        let script = format!(
            r#"
            proxy.global.clients = (proxy.global.clients or 0) + 1
            local is_first = proxy.global.clients == 1
            function {hook}(auth)
                if not is_first or auth and auth.packet and auth.packet:byte() ~= 0 then return end
                proxy.response = {{ type = proxy.MYSQLD_PACKET_ERR, errmsg = "not you" }}
                return proxy.PROXY_SEND_RESULT
            end
            {ENDS}
            "#
        );
        let scripted = Scripted::start(product, &seeing(&script));
        assert_eq!(
            scripted.refusal().1.trim_start_matches("#07000"),
            "not you",
            "{hook}"
        );
        assert_eq!(ends(&scripted, 1).len(), 1, "{hook}");
    }
}

fn disconnect_client_runs_once_for_each_client(product: Product) {
    let scripted = Scripted::start(product, &seeing(ENDS));
    for turn in 0..3 {
        let mut conn = scripted.connect();
        conn.run("SELECT 1");
        match turn {
            0 => conn.quit(),
            1 => drop(conn),
            _ => {
                let id = conn.value("SELECT CONNECTION_ID()");
                // The KILL ends this session itself.
                let _ = conn.query(&format!("KILL {id}"));
            }
        }
    }
    let lines = ends(&scripted, 3);
    assert_eq!(lines.len(), 3, "{lines:?}");
    let mut ports: Vec<_> = lines
        .iter()
        .filter_map(|it| it.rsplit(' ').next())
        .collect();
    ports.dedup();
    assert_eq!(ports.len(), 3, "{lines:?}");
}

#[test]
fn disconnect_client_runs_for_a_client_without_a_backend() {
    let script = r#"
        function disconnect_client() print("the end of " .. proxy.connection.client.src.port) end
    "#;
    let settings = Settings::default().backend(format!("127.0.0.1:{}", free_port()));
    let scripted = Scripted::with(settings, script);
    assert_eq!(scripted.refusal().1, "(proxy) all backends are down");
    scripted.proxy.wait_logged(&["the end of "]);
}

/// A script that gives its connection away at the wrong time.
fn parking(when: &str) -> String {
    let script = format!(
        r#"
        local function idle() return proxy.global.backends[1].pool.users["app"].cur_idle_connections end
        {when}
        function read_query(packet)
            if is_asked(packet) then
                see(idle(), proxy.global.backends[1].connected_clients)
                return seen()
            end
        end
        "#
    );
    seeing(&script)
}

both! {
    no_pool_gets_a_connection_that_is_not_logged_in
    a_connection_given_away_within_its_login_ends_it
    a_taken_connection_returns_to_its_pool_after_a_failed_login
}

fn no_pool_gets_a_connection_that_is_not_logged_in(product: Product) {
    for when in [
        "function disconnect_client() proxy.connection.backend_ndx = 0 end",
        "function read_auth_result(auth) if auth.packet:byte() == 255 then proxy.connection.backend_ndx = 0 end end",
    ] {
        let scripted = Scripted::start(product, &parking(when));
        let wrong = Login::with("app", "wrong");
        RawConn::connect(&scripted.proxy.address(), &wrong).unwrap_err();
        assert_eq!(seen(&mut scripted.connect()), ["0 1"], "{when}");
    }
}

/// The account's plugin is not the one of the greeting, so the server asks again. At this point the script gives
/// the connection away.
fn a_connection_given_away_within_its_login_ends_it(product: Product) {
    let scripted = Scripted::start(
        product,
        &parking(
            "function read_auth_result(auth) if auth.packet:byte() == 254 then proxy.connection.backend_ndx = 0 end end",
        ),
    );
    let mut root = Server::shared(product).root();
    let user = "scripted_switched";
    let plugin = match product.is_mariadb() {
        true => "IDENTIFIED VIA ed25519 USING PASSWORD('pw')",
        false => "IDENTIFIED WITH sha256_password BY 'pw'",
    };
    root.run(&format!("DROP USER IF EXISTS {user}"));
    root.run(&format!("CREATE USER {user} {plugin}"));
    let login = Login::with(user, "pw");
    let refused = RawConn::connect(&scripted.proxy.address(), &login);
    let error = refused.unwrap_err().refusal();
    let text = "(lua) read-auth-old-password failed as backend_ndx got reset.";
    assert_eq!((error.code, error.text.as_str()), (1105, text));
    assert_eq!(seen(&mut scripted.connect()), ["0 1"]);
}

/// The connection belongs to the account that has logged in over it, not to the client that has taken it.
fn a_taken_connection_returns_to_its_pool_after_a_failed_login(product: Product) {
    let script = r#"
        local function idle(user) return proxy.global.backends[1].pool.users[user].cur_idle_connections end
        function connect_server()
            if proxy.global.takes then
                proxy.connection.backend_ndx = 1
                return proxy.PROXY_IGNORE_RESULT
            end
        end
        function read_auth_result(auth)
            if auth.packet:byte() == 0 and not proxy.global.takes then
                proxy.connection.backend_ndx = 0
                proxy.global.takes = true
            end
        end
        function read_query(packet)
            if is_asked(packet) then
                see(idle("app"), idle("scripted_nobody"))
                return seen()
            end
        end
    "#;
    let scripted = Scripted::start(product, &seeing(script));
    let mut first = scripted.connect();
    assert_eq!(seen(&mut first), ["1 0"]);
    let mut socket = TcpStream::connect(scripted.proxy.tcp()).unwrap();
    socket.peek(&mut [0]).unwrap();
    // The login packet is incomplete: its fixed part, a user name, and an answer that is too short.
    let mut answer = vec![0u8; 32];
    answer[..4].copy_from_slice(&0x8200u32.to_le_bytes());
    answer.extend_from_slice(b"scripted_nobody\0\x14short");
    let mut packet = u32::try_from(answer.len()).unwrap().to_le_bytes();
    packet[3] = 1;
    std::io::Write::write_all(&mut socket, &packet).unwrap();
    std::io::Write::write_all(&mut socket, &answer).unwrap();
    wait::until("the connection is back", wait::SOON, || {
        seen(&mut first) == ["1 0"]
    });
}
