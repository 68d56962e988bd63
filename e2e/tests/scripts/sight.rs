//! No session can change to an account with a script if that script would not see the session's commands.

use e2e::PASSWORD;

use super::*;

both! {
    a_relayed_session_cannot_become_an_account_with_a_script
    a_change_of_user_in_any_packet_split_is_refused
    a_relayed_session_may_change_to_an_account_without_a_script
    a_session_with_a_script_cannot_change_to_an_account_with_another_script
    a_transparent_listener_refuses_accounts_with_scripts
    a_command_that_the_proxy_cannot_follow_ends_the_session
}

/// Accounts that only the server knows, and an account with a script in the proxy's settings.
fn settings(product: Product, folder: &Folder) -> Settings {
    let server = Server::shared(product);
    let mut root = server.root();
    for user in ["sighted", "stray", "stray2"] {
        root.run(&format!(
            "CREATE USER IF NOT EXISTS {user}@'%' IDENTIFIED BY '{PASSWORD}'"
        ));
    }
    let file = folder.path().join("own.lua");
    fs::write(&file, "function read_query() end").unwrap();
    let (password, script) = (format!("{PASSWORD:?}"), format!("[{:?}]", file.display()));
    Settings::pooled(server, 2).account_with(
        "sighted",
        &[("password", &password), ("routing.script", &script)],
    )
}

fn stray() -> Login {
    Login::with("stray", PASSWORD)
}

fn sighted() -> Login {
    Login::with("sighted", PASSWORD)
}

#[track_caller]
fn is_refused(conn: &mut RawConn) {
    let refused = conn.change_user(&sighted());
    let error = refused.unwrap_err().refusal();
    assert_eq!(error.code, 1105);
    assert!(
        error.text.contains("its script would see nothing"),
        "{error}"
    );
    assert!(conn.is_closed_by_server());
}

fn a_relayed_session_cannot_become_an_account_with_a_script(product: Product) {
    let folder = Folder::new("files");
    let proxy = Proxy::start(&settings(product, &folder));
    let mut conn = proxy.connect_as(&stray());
    assert_eq!(conn.value("SELECT 7"), "7");
    is_refused(&mut conn);
    // A pooled session that has become a relayed one.
    let mut conn = proxy.connect();
    conn.command(command::REGISTER_SLAVE, &[0; 20]);
    is_refused(&mut conn);
    // A session that has changed to an account that only the server knows.
    let mut conn = proxy.connect();
    conn.change_user(&stray()).unwrap();
    is_refused(&mut conn);
    assert_eq!(proxy.connect_as(&sighted()).value("SELECT 7"), "7");
}

/// The packets of a change of user, which the proxy refuses before it asks for an answer.
fn change_of_user() -> Vec<u8> {
    let mut payload = vec![command::CHANGE_USER];
    payload.extend(b"sighted\0\0\0\x21\0mysql_native_password\0");
    let length = u8::try_from(payload.len()).unwrap();
    let mut packet = vec![length, 0, 0, 0];
    packet.extend(payload);
    packet
}

fn a_change_of_user_in_any_packet_split_is_refused(product: Product) {
    let folder = Folder::new("files");
    let proxy = Proxy::start(&settings(product, &folder));
    let told = |conn: &mut RawConn| loop {
        let packet = conn.packet_of_any_order().unwrap();
        if packet.first() == Some(&0xff) && packet.ends_with(b"its script would see nothing") {
            return;
        }
    };
    let ping = [1, 0, 0, 0, command::PING];
    let before: [&[u8]; 4] = [
        b"",
        &ping,
        b"\x0e\0\0\0\x03SELECT SLEEP(",
        // A command that the server refuses. It would read the following bytes as commands.
        b"\x0b\0\0\0\x12\0\0\0\0\0\0\0\0\0\0",
    ];
    for (at, before) in before.into_iter().enumerate() {
        for cut in [0, 1, 4, 5, 9] {
            let mut conn = proxy.connect_as(&stray());
            let mut bytes = before.to_vec();
            bytes.extend(change_of_user());
            bytes.extend(b"\x09\0\0\0\x03SELECT 7");
            let cut = before.len() + cut;
            conn.write_bytes(&bytes[..cut]).unwrap();
            if at == 1 {
                // The command before is sent alone, so its reply is read first.
                assert_eq!(conn.packet_of_any_order().unwrap().first(), Some(&0));
            }
            conn.write_bytes(&bytes[cut..]).unwrap();
            told(&mut conn);
            assert!(conn.is_closed_by_server());
        }
    }
}

fn a_relayed_session_may_change_to_an_account_without_a_script(product: Product) {
    let folder = Folder::new("files");
    let proxy = Proxy::start(&settings(product, &folder));
    let mut conn = proxy.connect_as(&stray());
    for _ in 0..2 {
        for user in ["stray2", "stray"] {
            conn.change_user(&Login::with(user, PASSWORD)).unwrap();
            assert!(conn.value("SELECT USER()").starts_with(&format!("{user}@")));
        }
    }
    conn.change_user(&Login::with("stray2", "wrong"))
        .unwrap_err();
}

fn a_session_with_a_script_cannot_change_to_an_account_with_another_script(product: Product) {
    let folder = Folder::new("files");
    let scripted = Scripted::with(settings(product, &folder), "function read_query() end");
    let mut conn = scripted.connect_as(&stray());
    assert_eq!(conn.value("SELECT 7"), "7");
    is_refused(&mut conn);
    let mut conn = scripted.connect_as(&stray());
    conn.change_user(&Login::with("stray2", PASSWORD)).unwrap();
    assert!(conn.value("SELECT USER()").starts_with("stray2@"));
}

fn a_transparent_listener_refuses_accounts_with_scripts(product: Product) {
    let folder = Folder::new("files");
    let port = e2e::free_port();
    let at = format!("127.0.0.1:{port}");
    let script = format!("[{:?}]", folder.path().join("other.lua").display());
    fs::write(folder.path().join("other.lua"), "function read_query() end").unwrap();
    for more in [
        vec![("routing.session", "\"transparent\"")],
        vec![
            ("routing.session", "\"transparent\""),
            ("routing.script", &*script),
        ],
    ] {
        let settings = settings(product, &folder).listener_with(&at, &more);
        let proxy = Proxy::start(&settings);
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], port)).into();
        let mut conn = RawConn::connect(&address, &stray()).unwrap();
        assert_eq!(conn.value("SELECT 7"), "7");
        is_refused(&mut conn);
        let refused = RawConn::connect(&address, &sighted());
        let error = refused.unwrap_err().refusal();
        assert!(
            error.text.contains("its script would see nothing"),
            "{error}"
        );
        proxy.stop();
    }
}

fn a_command_that_the_proxy_cannot_follow_ends_the_session(product: Product) {
    const CLONE: u8 = 0x20;
    let folder = Folder::new("files");
    let proxy = Proxy::start(&settings(product, &folder));
    let mut conn = proxy.connect_as(&stray());
    let reply = conn.command(CLONE, b"");
    let error = reply.error().unwrap();
    assert!(error.text.contains("cannot follow"), "{error}");
    assert!(conn.is_closed_by_server());
}
