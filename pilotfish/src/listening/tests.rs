//! The listener through which a client connected, on loopback ports that the kernel chooses.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::net::{SocketAddr, TcpStream};

use config::{ListenerConfig, RoutingOverride, SessionMode};

use super::*;

/// A socket as a service manager passes it to the proxy.
fn socket(address: &str) -> (Listener, SocketAddr) {
    let endpoint = Endpoint::Tcp(address.parse().unwrap());
    let listener = Listener::bind(&endpoint, ListenOptions::default()).unwrap();
    match *listener.endpoint() {
        Endpoint::Tcp(address) => (listener, address),
        Endpoint::Unix(_) => panic!("not TCP"),
    }
}

fn configured(address: &str, session: SessionMode) -> ListenerConfig {
    ListenerConfig {
        address: address.parse().unwrap(),
        routing: RoutingOverride {
            session: Some(session),
            ..RoutingOverride::default()
        },
        ..ListenerConfig::default()
    }
}

#[tokio::test]
async fn an_accepted_client_has_the_session_mode_of_its_listener() {
    let (plain, plain_address) = socket("127.0.0.1:0");
    let (own, own_address) = socket("127.0.0.1:0");
    let config = Config {
        listeners: vec![configured(
            &own_address.to_string(),
            SessionMode::Transparent,
        )],
        ..Config::default()
    };
    let mut listening = Listening::start(adopt(vec![own, plain], &config));
    for (address, mode) in [
        (plain_address, None),
        (own_address, Some(SessionMode::Transparent)),
        (plain_address, None),
    ] {
        let client = TcpStream::connect(address).unwrap();
        let accepted = listening.next().await;
        assert_eq!(
            accepted.accepted.remote,
            client.local_addr().unwrap().into()
        );
        assert_eq!(accepted.listener.routing.session, mode);
    }
}

#[tokio::test]
async fn the_proxy_binds_every_configured_address() {
    // Ports that were free when the test started.
    let free = || socket("127.0.0.1:0").1;
    let (first, second) = (free(), free());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.sock");
    let config = Config {
        listen: vec![ListenAddress::Tcp(first), ListenAddress::Unix(path.clone())],
        listeners: vec![configured(&second.to_string(), SessionMode::Transaction)],
        ..Config::default()
    };
    let bound = bind(&config).unwrap();
    let found: Vec<_> = bound
        .iter()
        .map(|it| (it.listener.endpoint().clone(), it.config.routing.session))
        .collect();
    assert_eq!(
        found,
        [
            (first.into(), None),
            (Endpoint::Unix(path), None),
            (second.into(), Some(SessionMode::Transaction)),
        ]
    );
}

#[test]
fn a_port_on_all_addresses_is_the_same_in_both_families() {
    let endpoint = |text: &str| Endpoint::Tcp(text.parse().unwrap());
    for (socket, address, expected) in [
        ("[::]:4050", ":4050", true),
        ("0.0.0.0:4050", ":4050", true),
        ("[::]:4051", ":4050", false),
        ("127.0.0.1:4050", ":4050", false),
        ("[::1]:4050", "127.0.0.1:4050", false),
        ("127.0.0.1:4050", "/p.sock", false),
    ] {
        let found = is_at(&endpoint(socket), &address.parse().unwrap());
        assert_eq!(found, expected, "{socket} {address}");
    }
    let path = |text: &str| Endpoint::Unix(text.into());
    assert!(is_at(&path("/p.sock"), &"/p.sock".parse().unwrap()));
    assert!(!is_at(&path("/q.sock"), &"/p.sock".parse().unwrap()));
}
