//! The PROXY protocol: accepted from trusted networks, and sent to servers that expect it.

use e2e::raw::{Login, RawConn};
use e2e::{Product, Proxy, Server, Settings, has_ipv6, wait};

const V1: &[u8] = b"PROXY TCP4 192.0.2.7 198.51.100.1 4711 4040\r\n";
const V1_V6: &[u8] = b"PROXY TCP6 2001:db8::7 2001:db8::1 4711 4040\r\n";
const V1_UNKNOWN: &[u8] = b"PROXY UNKNOWN\r\n";

/// A version 2 header with an IPv4 address and a TLV.
fn v2() -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    header.extend([0x21, 0x11, 0, 12 + 6]);
    header.extend([192, 0, 2, 8, 198, 51, 100, 1, 0x12, 0x67, 0x0F, 0xC8]);
    header.extend([0x01, 0, 3, b'a', b'p', b'p']);
    header
}

/// The header that a balancer's own health check sends.
fn v2_local() -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    header.extend([0x20, 0, 0, 0]);
    header
}

fn with(preface: &[u8]) -> Login {
    let mut login = Login::app();
    login.preface = preface.to_vec();
    login
}

#[test]
fn headers_from_trusted_networks_are_understood() {
    for product in [Product::MariaDb, Product::MySql] {
        let settings = Settings::in_front_of([Server::shared(product)])
            .set("proxy_protocol.trusted_networks", ["127.0.0.0/8"]);
        let proxy = Proxy::start(&settings);
        for header in [
            V1.to_vec(),
            V1_V6.to_vec(),
            V1_UNKNOWN.to_vec(),
            v2(),
            v2_local(),
        ] {
            proxy.connect_as(&with(&header)).run("SELECT 1");
            proxy.connect_as(&with(&header).over_tls()).run("SELECT 1");
        }
        // The log has the client's address, not the balancer's.
        let mut wrong = with(V1);
        wrong.passwords = vec!["wrong".into()];
        assert!(RawConn::connect(&proxy.address(), &wrong).is_err());
        proxy.wait_event("login_refused", &["client=192.0.2.7:4711"]);
    }
}

#[test]
fn headers_from_other_networks_are_refused() {
    let proxy = Proxy::start(&Settings::in_front_of([Server::shared(Product::MariaDb)]));
    for header in [V1.to_vec(), v2()] {
        assert!(RawConn::connect(&proxy.address(), &with(&header)).is_err());
    }
    proxy.connect().run("SELECT 1");
    assert!(!proxy.log().contains("192.0.2.7:4711"));
}

#[test]
fn a_connection_without_its_header_is_cut_off() {
    let settings = Settings::in_front_of([Server::shared(Product::MariaDb)])
        .set("proxy_protocol.trusted_networks", ["127.0.0.0/8"])
        .set("limits.timeout_login", "2s");
    let proxy = Proxy::start(&settings);
    // The client waits for a greeting, and the proxy waits for a header.
    assert!(RawConn::connect(&proxy.address(), &Login::app()).is_err());
    for broken in [
        &b"PROXY TCP4 nonsense\r\n"[..],
        b"PROXY TCP4 1.2.3.4",
        &[0xFF; 200],
    ] {
        assert!(RawConn::connect(&proxy.address(), &with(broken)).is_err());
    }
    proxy.wait_event("proxy_header", &["side=client"]);
    // On a busy machine, other clients may take as long.
    wait::until("others are served", wait::SOON, || {
        RawConn::connect(&proxy.address(), &with(V1))
            .is_ok_and(|mut conn| conn.value("SELECT 1") == "1")
    });
}

#[test]
fn the_server_gets_the_clients_address() {
    let server = Server::start(
        Product::MariaDb,
        &["--proxy-protocol-networks=127.0.0.1,localhost"],
    );
    let settings = Settings::in_front_of([&server]).set("proxy_protocol.send", "v2");
    let host = |conn: &mut RawConn| conn.value("SELECT SUBSTRING_INDEX(USER(), '@', -1)");
    for backend_tls in ["off", "required"] {
        let settings = settings.clone().set("backend_tls.mode", backend_tls);
        let proxy = Proxy::start(&settings);
        assert_eq!(host(&mut proxy.connect()), "127.0.0.1");
        let trusting = settings.set("proxy_protocol.trusted_networks", ["127.0.0.0/8"]);
        let proxy = Proxy::start(&trusting);
        assert_eq!(host(&mut proxy.connect_as(&with(V1))), "192.0.2.7");
        assert_eq!(host(&mut proxy.connect_as(&with(&v2()))), "192.0.2.8");
        assert_eq!(host(&mut proxy.connect_as(&with(V1_V6))), "2001:db8::7");
        let local = host(&mut proxy.connect_as(&with(&v2_local())));
        assert_eq!(local, "127.0.0.1");
    }
}

#[test]
fn two_proxies_in_a_row_pass_the_clients_address() {
    let server = Server::start(Product::MariaDb, &["--proxy-protocol-networks=127.0.0.1"]);
    let inner = Proxy::start(
        &Settings::in_front_of([&server])
            .set("proxy_protocol.trusted_networks", ["127.0.0.1/32"])
            .set("proxy_protocol.send", "v2"),
    );
    let outer = Proxy::start(
        &Settings::default()
            .backend(inner.tcp())
            .set(
                "proxy_protocol.trusted_networks",
                ["127.0.0.1/32", "::1/128"],
            )
            .set("proxy_protocol.send", "v2"),
    );
    let mut conn = outer.connect_as(&with(V1));
    assert_eq!(
        conn.value("SELECT SUBSTRING_INDEX(USER(), '@', -1)"),
        "192.0.2.7"
    );
    assert!(has_ipv6() || outer.count_events("ready") > 0);
}
