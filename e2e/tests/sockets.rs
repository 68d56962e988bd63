//! Unix sockets and IPv6, on either side, and several listeners at once.

use e2e::raw::{Address, Login, RawConn};
use e2e::{Folder, Product, Proxy, Server, Settings, free_port, has_ipv6};

const PRODUCTS: [Product; 2] = [Product::MariaDb, Product::MySql];

fn value(address: &Address, login: &Login) -> String {
    let mut conn = RawConn::connect(address, login).unwrap_or_else(|error| panic!("{error}"));
    conn.value("SELECT 'here'")
}

#[test]
fn a_backend_may_be_behind_a_unix_socket() {
    for product in PRODUCTS {
        let socket = Server::shared(product).socket();
        let proxy = Proxy::start(&Settings::default().backend(socket.display()));
        assert_eq!(value(&proxy.address(), &Login::app()), "here");
        assert_eq!(value(&proxy.address(), &Login::app().over_tls()), "here");
    }
}

#[test]
fn clients_may_connect_to_a_unix_socket() {
    for product in PRODUCTS {
        let folder = Folder::new("listen");
        let path = folder.join("sock");
        let listen = path.display().to_string();
        let settings = Settings::in_front_of([Server::shared(product)]);
        let proxy = Proxy::start(&settings.set("listen", [listen.as_str()]));
        assert_eq!(value(&path.clone().into(), &Login::app()), "here");
        assert_eq!(
            value(&path.clone().into(), &Login::app().over_tls()),
            "here"
        );
        drop(proxy);
        assert!(!path.exists(), "the socket is gone with the proxy");
    }
}

/// The client considers the Unix socket safe and sends its password in clear. The connection to the server is not safe.
#[test]
fn a_full_login_over_a_unix_socket_reaches_a_server_over_tcp() {
    let server = Server::shared(Product::MySql);
    let mut root = server.root();
    root.run("DROP USER IF EXISTS unix_to_tcp@'%'");
    root.run("CREATE USER unix_to_tcp@'%' IDENTIFIED WITH caching_sha2_password BY 'pass word'");
    let folder = Folder::new("listen");
    let path = folder.join("sock");
    let listen = path.display().to_string();
    let settings = Settings::in_front_of([server]);
    let _proxy = Proxy::start(&settings.set("listen", [listen.as_str()]));
    let login = Login::with("unix_to_tcp", "pass word");
    let conn = RawConn::connect(&path.into(), &login).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        conn.login_path.contains(&"full".to_owned()),
        "{:?}",
        conn.login_path
    );
}

/// The reverse: the server's side is a Unix socket, and the client's side is not.
#[test]
fn a_full_login_over_tcp_reaches_a_server_over_a_unix_socket() {
    let server = Server::shared(Product::MySql);
    let mut root = server.root();
    root.run("DROP USER IF EXISTS tcp_to_unix@'%'");
    root.run("CREATE USER tcp_to_unix@'%' IDENTIFIED WITH caching_sha2_password BY 'pass word'");
    let proxy = Proxy::start(&Settings::default().backend(server.socket().display()));
    let conn = proxy.connect_as(&Login::with("tcp_to_unix", "pass word"));
    assert!(
        conn.login_path.contains(&"RSA".to_owned()),
        "{:?}",
        conn.login_path
    );
}

#[test]
fn a_stale_unix_socket_is_replaced() {
    let folder = Folder::new("listen");
    let path = folder.join("sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let listen = path.display().to_string();
    let settings = Settings::in_front_of([Server::shared(Product::MariaDb)]);
    let _proxy = Proxy::start(&settings.set("listen", [listen.as_str()]));
    assert_eq!(value(&path.into(), &Login::app()), "here");
}

#[test]
fn ipv6_works_on_both_sides() {
    if !has_ipv6() {
        return;
    }
    for product in PRODUCTS {
        let backend = Server::shared(product).tcp_v6().unwrap();
        let port = free_port();
        let listen = format!("[::1]:{port}");
        let settings = Settings::default()
            .backend(backend)
            .set("listen", [listen.as_str()]);
        let _proxy = Proxy::start(&settings);
        let address: std::net::SocketAddr = listen.parse().unwrap();
        assert_eq!(value(&address.into(), &Login::app()), "here");
    }
}

#[test]
fn several_listeners_serve_at_once() {
    let folder = Folder::new("listen");
    let path = folder.join("sock");
    let (one, two) = (free_port(), free_port());
    let listen = [
        format!("127.0.0.1:{one}"),
        format!("127.0.0.1:{two}"),
        path.display().to_string(),
    ];
    let listen = [listen[0].as_str(), listen[1].as_str(), listen[2].as_str()];
    let settings = Settings::in_front_of([Server::shared(Product::MariaDb)]);
    let _proxy = Proxy::start(&settings.set("listen", listen));
    let tcp = |port: u16| Address::Tcp(([127, 0, 0, 1], port).into());
    for address in [tcp(one), tcp(two), path.into()] {
        assert_eq!(value(&address, &Login::app()), "here");
    }
}

#[test]
fn a_backend_may_be_named() {
    let port = Server::shared(Product::MariaDb).port();
    let proxy = Proxy::start(&Settings::default().backend(format!("localhost:{port}")));
    assert_eq!(value(&proxy.address(), &Login::app()), "here");
}

#[test]
fn the_command_line_alone_is_enough() {
    let backend = Server::shared(Product::MariaDb).tcp().to_string();
    let listen = "--listen=127.0.0.1:{port}";
    let proxy = Proxy::start_with(&["--backend", &backend, listen]);
    assert_eq!(value(&proxy.address(), &Login::app()), "here");
    // With the options of MySQL Proxy.
    let backends = format!("--proxy-backend-addresses={backend}");
    let proxy = Proxy::start_with(&[&backends, "--proxy-address=127.0.0.1:{port}"]);
    assert_eq!(value(&proxy.address(), &Login::app()), "here");
}
