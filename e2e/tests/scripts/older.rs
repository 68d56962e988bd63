//! Statements of scripts for releases 0.5 to 0.7, and the addresses of a session.

use e2e::raw::Address;
use e2e::{Folder, has_ipv6};

use super::*;

in_both_ways! {
    names_of_release_0_5_are_known
    script_results_always_shows_results_without_resultset_is_needed
    each_old_way_to_read_the_queue_length_works
    addresses_of_unix_sockets_are_paths
    addresses_of_ipv6_are_in_brackets
    user_names_are_nil_before_the_login
}

/// A script that records the values of expressions.
fn tells(expressions: &[&str]) -> String {
    let lines = expressions.iter().map(|it| format!("see({it})\n"));
    seeing(&format!(
        "function read_query(packet)
            if is_asked(packet) then return seen() end
            local connection, backends = proxy.connection, proxy.global.backends
            local client, server = connection.client, connection.server
            {}
        end",
        lines.collect::<String>()
    ))
}

fn names_of_release_0_5_are_known(product: Product) {
    let scripted = Scripted::start(
        product,
        &tells(&[
            "proxy.servers == proxy.backends, proxy.backends == backends, #proxy.servers",
            "proxy.servers[1].address == backends[1].dst.name, backends[1].address == backends[1].dst.name",
            "connection.server_version == server.mysqld_version, connection.mysqld_version == server.mysqld_version",
            "connection.thread_id == server.thread_id, connection.thread_id > 0",
            "connection.default_db, connection.default_db == client.default_db",
            "client.address == client.src.name, server.address == server.dst.name",
            "type(connection.server_version), server.mysqld_version >= 50000",
        ]),
    );
    let mut conn = scripted.connect_as(&Login::app().schema("mysql"));
    conn.run("SELECT 1");
    assert_eq!(
        seen(&mut conn),
        [
            "true true 1",
            "true true",
            "true true",
            "true true",
            "mysql true",
            "true true",
            "number true",
        ]
    );
    // Each warning is logged once, however often it applies.
    conn.run("SELECT 1");
    for name in [
        "proxy.global.backends[...].address is an old name",
        "proxy.connection.thread_id is an old name; use proxy.connection.server.thread_id",
        "proxy.connection.default_db is an old name",
        "proxy.connection.client.address is an old name",
        "proxy.connection.server.address is an old name",
    ] {
        scripted.proxy.wait_logged(&[name]);
        assert_eq!(scripted.proxy.log().matches(name).count(), 1, "{name}");
    }
}

/// As in release 0.6, whose scripts did not have `resultset_is_needed`.
fn script_results_always_shows_results_without_resultset_is_needed(product: Product) {
    let script = seeing(
        r#"
        function read_query(packet)
            if is_asked(packet) then return seen() end
            proxy.queries:append(1, packet)
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result(inj)
            for row in inj.resultset.rows do see(row[1]) end
            return proxy.PROXY_IGNORE_RESULT
        end
        "#,
    );
    let settings = usual(product).set("script.results", "always");
    let scripted = Scripted::with(settings, &script);
    let mut conn = scripted.connect();
    let reply = conn.run("SELECT 7 UNION ALL SELECT 8");
    assert!(reply.texts().is_empty());
    assert_eq!(seen(&mut conn), ["7", "8"]);
}

fn each_old_way_to_read_the_queue_length_works(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                local queries = proxy.queries
                see(queries:append(1, packet), queries:prepend(2, packet))
                queries:append("3", 5)
                see(#queries, queries:len(), queries:__len())
                queries:reset()
                see(#queries, queries:len(), queries:__len())
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    assert_eq!(conn.value("SELECT 7"), "7");
    assert_eq!(seen(&mut conn), ["nil", "3 3 3", "0 0 0"]);
}

const ADDRESSES: [&str; 4] = [
    "client.src.name, client.src.address, client.src.port, client.src.type",
    "client.dst.name, client.dst.address, client.dst.port, client.dst.type",
    "server.dst.name, server.dst.address, server.dst.port, server.dst.type",
    "backends[1].dst.name, backends[1].dst.address, backends[1].dst.port, backends[1].dst.type",
];

fn addresses_of_unix_sockets_are_paths(product: Product) {
    let folder = Folder::new("listen");
    let path = folder.join("sock");
    let listen = path.display().to_string();
    let server = Server::shared(product);
    let backend = server.socket().display().to_string();
    let settings = in_front_of(product, &backend).set("listen", [listen.as_str()]);
    let _scripted = Scripted::with(settings, &tells(&ADDRESSES));
    let mut conn = RawConn::connect(&path.into(), &Login::app()).unwrap();
    conn.run("SELECT 1");
    let lines = seen(&mut conn);
    // A client on a Unix socket has no address.
    assert_eq!(
        lines,
        [
            "  nil 1".to_owned(),
            format!("{listen} {listen} nil 1"),
            format!("{backend} {backend} nil 1"),
            format!("{backend} {backend} nil 1"),
        ]
    );
}

fn addresses_of_ipv6_are_in_brackets(product: Product) {
    if !has_ipv6() {
        return;
    }
    let backend = Server::shared(product).tcp_v6().unwrap();
    let port = e2e::free_port();
    let listen = format!("[::1]:{port}");
    let settings = in_front_of(product, &backend.to_string()).set("listen", [listen.as_str()]);
    let _scripted = Scripted::with(settings, &tells(&ADDRESSES));
    let address: std::net::SocketAddr = listen.parse().unwrap();
    let mut conn = RawConn::connect(&Address::from(address), &Login::app()).unwrap();
    conn.run("SELECT 1");
    let lines = seen(&mut conn);
    let own: Vec<&str> = lines[0].split(' ').collect();
    assert_eq!(own[0], format!("[::1]:{}", own[2]));
    assert_eq!((own[1], own[3]), ("::1", "10"));
    assert_eq!(lines[1], format!("{listen} ::1 {port} 10"));
    let there = format!("{backend} ::1 {} 10", backend.port());
    assert_eq!(lines[2..], [there.clone(), there]);
}

/// Like `usual`, in front of a backend with this address.
fn in_front_of(product: Product, backend: &str) -> Settings {
    let settings = Settings::default().backend(backend);
    match TAKES_TURNS.get() {
        true => settings.sharing(product, 4),
        false => settings,
    }
}

fn user_names_are_nil_before_the_login(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            local function both()
                local client, server = proxy.connection.client, proxy.connection.server
                see(client.username, server and server.username, server and server.scrambled_password ~= nil)
            end
            function read_handshake() both() end
            function read_auth_result(auth) if auth.packet:byte() == 0 then both() end end
            function read_query(packet) if is_asked(packet) then return seen() end end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    let lines = seen(&mut conn);
    assert_eq!(lines.last().unwrap(), "app app true");
    assert!(lines[0].starts_with("nil nil"), "{lines:?}");
    let logged = "proxy.connection.server.username is not known before read_auth_result";
    scripted.proxy.wait_logged(&[logged]);
}
