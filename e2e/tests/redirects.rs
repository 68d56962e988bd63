//! Clients that get another address to connect to (`listener.redirect`).

use std::net::SocketAddr;

use e2e::raw::{Login, RawConn, capability};
use e2e::{Product, Proxy, Server, Settings, free_port};

both! {
    clients_get_the_backend_address_of_their_session
    clients_with_a_login_answered_by_the_proxy_get_the_address_of_another_proxy
    clients_with_a_passed_through_login_get_the_address_of_another_proxy
}

/// Adds the capability for changes of the session state.
fn tracked(login: Login) -> Login {
    login.and(capability::SESSION_TRACK)
}

/// The value of `redirect_url` in the login's OK.
fn told(conn: &RawConn) -> Option<String> {
    const NAME: &[u8] = b"redirect_url";
    let ok = &conn.login_ok;
    let at = ok.windows(NAME.len()).position(|it| it == NAME)? + NAME.len();
    let length = usize::from(ok[at]);
    Some(String::from_utf8(ok[at + 1..at + 1 + length].to_vec()).unwrap())
}

/// A proxy, and the address of its second listener, which redirects clients to `redirect`.
fn with_listener(settings: Settings, redirect: &str, more: &[(&str, &str)]) -> (Proxy, SocketAddr) {
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let redirect = format!("{redirect:?}");
    let more = [&[("redirect", redirect.as_str())], more].concat();
    let proxy = Proxy::start(&settings.listener_with(address, &more));
    (proxy, address)
}

fn connect(address: SocketAddr, login: &Login) -> RawConn {
    RawConn::connect(&address.into(), login).unwrap()
}

fn clients_get_the_backend_address_of_their_session(product: Product) {
    let server = Server::shared(product);
    let transparent = [("routing.session", "\"transparent\"")];
    let (proxy, address) = with_listener(Settings::pooled(server, 4), "backend", &transparent);
    let login = tracked(Login::app());
    let mut conn = connect(address, &login);
    let url = told(&conn).unwrap();
    let backend: SocketAddr = url.strip_prefix("mariadb://").unwrap().parse().unwrap();
    assert_eq!(backend, server.tcp());
    // A driver can connect to that address, and a driver that stays is served.
    assert_eq!(told(&connect(backend, &login)), None);
    assert_eq!(conn.value("SELECT 1"), "1");
    assert_eq!(
        told(&connect(address, &Login::app())),
        None,
        "without trackers"
    );
    assert_eq!(
        told(&proxy.connect_as(&login)),
        None,
        "of the other listener"
    );
    proxy.assert_sound();
}

fn clients_with_a_login_answered_by_the_proxy_get_the_address_of_another_proxy(product: Product) {
    let server = Server::shared(product);
    let (proxy, address) = with_listener(Settings::pooled(server, 4), "proxy2:4040", &[]);
    let mut conn = connect(address, &tracked(Login::app()));
    assert_eq!(told(&conn).as_deref(), Some("mariadb://proxy2:4040"));
    assert_eq!(conn.value("SELECT 1"), "1");
    assert_eq!(
        told(&connect(address, &Login::app())),
        None,
        "without trackers"
    );
    proxy.assert_sound();
}

fn clients_with_a_passed_through_login_get_the_address_of_another_proxy(product: Product) {
    let server = Server::shared(product);
    let learned = Settings::in_front_of([server])
        .account_with("app", &[("routing.session", "\"transparent\"")]);
    for settings in [Settings::in_front_of([server]), learned] {
        let (proxy, address) = with_listener(settings, "proxy2:4040", &[]);
        let mut conn = connect(address, &tracked(Login::app()).over_tls());
        assert_eq!(told(&conn).as_deref(), Some("mariadb://proxy2:4040"));
        assert_eq!(conn.value("SELECT 1"), "1");
        proxy.assert_sound();
    }
}
