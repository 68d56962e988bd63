//! `client_tls.mode = "as_account"`: if a client's connection does not meet the TLS requirements of its account on the
//! servers, the proxy refuses the client as a server would, in every kind of session.

use std::path::PathBuf;

use e2e::raw::{Address, Login, RawConn, TlsChoice};
use e2e::{Certs, LeasedServer, PASSWORD, Product, Proxy, Server, Settings, free_port};

/// A server with accounts for every TLS requirement, and a proxy with one listener for each kind of session.
struct Site {
    proxy: Proxy,
    /// Transparent: the backend's own greeting, or the proxy's; with a script.
    listeners: Vec<Address>,
    socket: PathBuf,
    // Dropped after the proxy, because the next test gets the server.
    server: LeasedServer,
}

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/every_other.lua");

/// An account that requires TLS, and whose login the proxy passes to the backend.
fn passed_on(product: Product) -> &'static str {
    match product {
        Product::MySql => "IDENTIFIED WITH sha256_password BY",
        _ => "IDENTIFIED VIA ed25519 USING PASSWORD",
    }
}

/// Accounts and their requirements. The clients present a certificate of `/CN=app`, and use TLS 1.3 or 1.2.
const DEMANDS: [(&str, &str); 8] = [
    ("issued", "ISSUER '/CN=Pilotfish test authority'"),
    ("other_issuer", "ISSUER '/CN=nobody'"),
    ("subject", "SUBJECT '/CN=app'"),
    ("other_subject", "SUBJECT '/CN=nobody'"),
    ("cipher", "CIPHER 'TLS_AES_256_GCM_SHA384'"),
    ("other_cipher", "CIPHER 'TLS_CHACHA20_POLY1305_SHA256'"),
    (
        "all_three",
        "SUBJECT '/CN=app' AND ISSUER '/CN=Pilotfish test authority' AND CIPHER 'TLS_AES_256_GCM_SHA384'",
    ),
    (
        "not_all_three",
        "SUBJECT '/CN=app' AND ISSUER '/CN=nobody' AND CIPHER 'TLS_AES_256_GCM_SHA384'",
    ),
];

impl Site {
    fn start(product: Product, mode: &str, options: &[&str]) -> Self {
        let mut all = options.to_vec();
        if product == Product::MySql {
            // MySQL takes the cipher that its client prefers. The proxy prefers another cipher.
            all.push("--tls-ciphersuites=TLS_AES_256_GCM_SHA384");
        }
        let server = Server::lease_with(product, &all);
        let mut root = server.root();
        let password = match product {
            Product::MySql => format!("'{PASSWORD}'"),
            _ => format!("('{PASSWORD}')"),
        };
        let how = passed_on(product);
        root.run(&format!("CREATE USER passed {how}{password} REQUIRE SSL"));
        let by = format!("IDENTIFIED BY '{PASSWORD}'");
        for (user, demand) in DEMANDS {
            root.run(&format!("CREATE USER {user} {by} REQUIRE {demand}"));
        }
        let certs = Certs::shared();
        let [transparent, scripted] =
            [free_port(), free_port()].map(|port| format!("127.0.0.1:{port}"));
        let socket = server.folder().join("proxy");
        let script = format!("[{SCRIPT:?}]");
        let settings = Settings::in_front_of([&*server])
            .set("workers", 1)
            .set("client_tls.mode", mode)
            .set("client_tls.ca", &certs.ca)
            .set("client_tls.client_certificate", "optional")
            .set("backend_tls.mode", "verify_ca")
            .set("backend_tls.ca", &certs.ca)
            .set("backend_tls.certificate", &certs.client.certificate)
            .set("backend_tls.key", &certs.client.key)
            .set("accounts.learn", true)
            .set("accounts.delay_failures", false)
            .set("health.monitor_user", "app")
            .set("health.monitor_password", PASSWORD)
            .listener_with(&transparent, &[("routing.session", "\"transparent\"")])
            .listener_with(
                &scripted,
                &[
                    ("routing.session", "\"transparent\""),
                    ("routing.script", &script),
                ],
            )
            .listener_with(
                format!("unix:{}", socket.display()),
                &[("routing.session", "\"transparent\"")],
            );
        let proxy = Proxy::start(&settings);
        proxy.wait_event("accounts_learned", &[]);
        let listeners = [&transparent, &scripted];
        let listeners = listeners.map(|it| Address::Tcp(it.parse().unwrap()));
        Self {
            listeners: [vec![proxy.address()], listeners.to_vec()].concat(),
            server,
            proxy,
            socket,
        }
    }

    fn direct(&self, login: &Login) -> String {
        told(&self.server.tcp().into(), login)
    }
}

/// The result of a login.
fn told(address: &Address, login: &Login) -> String {
    match RawConn::connect(address, login) {
        Ok(mut conn) => conn.value("SELECT CURRENT_USER()"),
        Err(failure) => failure.refusal().to_string(),
    }
}

/// In clear, over TLS, and over TLS with a certificate.
fn ways(user: &str) -> [Login; 3] {
    let clear = match user {
        "nopass" => Login::with(user, ""),
        user => Login::user(user),
    };
    let shown = TlsChoice {
        identity: Some(Certs::shared().client.clone()),
        ..TlsChoice::default()
    };
    let with_certificate = Login {
        tls: Some(shown),
        ..clear.clone()
    };
    [clear.clone(), clear.over_tls(), with_certificate]
}

/// The logins of [`ways`], and one with the certificate over TLS 1.2, whose ciphers have other names.
fn all_ways(user: &str) -> Vec<Login> {
    let mut ways = ways(user).to_vec();
    let mut old = ways[2].clone();
    old.tls.as_mut().unwrap().old = true;
    ways.push(old);
    ways
}

fn a_login_without_the_accounts_tls_is_refused_as_by_the_server(product: Product) {
    let site = Site::start(product, "as_account", &[]);
    let with_demands = DEMANDS.iter().map(|(user, _)| *user);
    for user in ["app", "tls_only", "x509_only"]
        .into_iter()
        .chain(with_demands)
    {
        for login in all_ways(user) {
            let direct = site.direct(&login);
            for address in &site.listeners {
                assert_eq!(
                    told(address, &login),
                    direct,
                    "{user} {:?} {address:?}",
                    login.tls
                );
                let wrong = login.clone().with_password("wrong");
                assert_eq!(told(address, &wrong), site.direct(&wrong), "{address:?}");
            }
        }
    }
    // With the certificate, exactly the accounts whose requirements can be met are let in.
    for (user, _) in DEMANDS {
        let [_, _, with_certificate] = ways(user);
        let can_be_met = !user.starts_with("other") && user != "not_all_three";
        let direct = site.direct(&with_certificate);
        assert_eq!(
            direct == format!("{user}@%"),
            can_be_met,
            "{user}: {direct}"
        );
    }
    // MariaDB's plugin is not one of these clients': they answer when they are asked.
    let [clear, over_tls, _] = ways("passed");
    for address in &site.listeners {
        assert!(told(address, &clear).starts_with("1045 (28000) Access denied for user 'passed'"));
        assert_eq!(told(address, &over_tls), "passed@%");
    }
    site.proxy.assert_sound();
}

fn change_user_is_refused_if_the_connection_lacks_the_accounts_tls(product: Product) {
    let site = Site::start(product, "as_account", &[]);
    for address in &site.listeners {
        for user in ["tls_only", "x509_only", "passed"] {
            let mut conn = RawConn::connect(address, &Login::app()).unwrap();
            let refusal = conn.change_user(&Login::user(user)).unwrap_err().refusal();
            assert_eq!(refusal.code, 1045, "{user}: {refusal}");
        }
        let mut conn = RawConn::connect(address, &Login::app().over_tls()).unwrap();
        conn.change_user(&Login::user("tls_only")).unwrap();
        assert_eq!(conn.value("SELECT CURRENT_USER()"), "tls_only@%");
    }
}

fn a_server_may_demand_tls_of_all_clients(product: Product) {
    let site = Site::start(product, "as_account", &["--require-secure-transport=ON"]);
    for user in ["app", "nopass", "tls_only"] {
        for login in ways(user) {
            let direct = site.direct(&login);
            for address in &site.listeners {
                // A server gives this error to every client, or to clients with the right password.
                let told = told(address, &login);
                match user {
                    "tls_only" if login.tls.is_none() => assert!(!told.contains('%'), "{told}"),
                    _ => assert_eq!(told, direct, "{address:?}"),
                }
            }
        }
    }
    // A Unix socket counts as secure transport for the server, but does not meet an account's own requirement of TLS.
    let socket = Address::Unix(site.socket.clone());
    assert_eq!(told(&socket, &Login::app()), "app@%");
    let direct = told(
        &Address::Unix(site.server.socket()),
        &Login::user("tls_only"),
    );
    assert_eq!(told(&socket, &Login::user("tls_only")), direct);
}

fn an_account_that_changes_demands_tls_from_then_on(product: Product) {
    let site = Site::start(product, "as_account", &[]);
    let mut admin = site.proxy.connect();
    for address in &site.listeners {
        let login = Login::user("other_issuer");
        for (demand, is_met) in [("NONE", true), ("SSL", false), ("NONE", true)] {
            admin.run(&format!("ALTER USER other_issuer REQUIRE {demand}"));
            e2e::wait::until("the account is learned", e2e::wait::SOON, || {
                (told(address, &login) == "other_issuer@%") == is_met
            });
        }
    }
}

/// With the mode `optional`, TLS on each side is independent of the other side.
fn the_proxys_tls_meets_what_an_account_demands(product: Product) {
    let site = Site::start(product, "optional", &[]);
    let [transparent, scripted] = &site.listeners[1..] else {
        panic!("two are transparent");
    };
    for address in [transparent, scripted] {
        assert_eq!(told(address, &Login::user("tls_only")), "tls_only@%");
    }
}

fn an_account_that_is_not_known_is_judged_by_the_backend(product: Product) {
    let server = Server::shared(product);
    let settings = Settings::in_front_of([server])
        .set("client_tls.mode", "as_account")
        .set("backend_tls.mode", "required");
    let proxy = Proxy::start(&settings);
    assert_eq!(
        told(&proxy.address(), &Login::user("tls_only")),
        "tls_only@%"
    );
    // The proxy knows the password of a configured account.
    let password = format!("{PASSWORD:?}");
    let known = [
        ("password", &*password),
        ("tls", "\"required\""),
        ("routing.session", "\"transparent\""),
    ];
    let proxy = Proxy::start(&settings.account_with("tls_only", &known));
    let [clear, over_tls, _] = ways("tls_only");
    assert!(told(&proxy.address(), &clear).starts_with("1045"));
    assert_eq!(told(&proxy.address(), &over_tls), "tls_only@%");
}

/// A configured account without TLS settings.
fn a_configured_account_has_to_meet_its_servers_tls_requirements(product: Product) {
    let server = Server::shared(product);
    let settings = Settings::in_front_of([server])
        .set("client_tls.mode", "as_account")
        .set("backend_tls.mode", "required")
        .set("accounts.learn", true)
        .set("accounts.delay_failures", false)
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD)
        .account("tls_only", PASSWORD);
    let proxy = Proxy::start(&settings);
    proxy.wait_event("accounts_learned", &[]);
    let [clear, over_tls, _] = ways("tls_only");
    let direct = told(&server.tcp().into(), &clear);
    assert_eq!(told(&proxy.address(), &clear), direct);
    assert_eq!(told(&proxy.address(), &over_tls), "tls_only@%");
}

macro_rules! on_each_product {
    ($($name:ident)+) => { $(
        mod $name {
            #[test]
            fn mariadb() {
                super::$name(e2e::Product::MariaDb);
            }

            #[test]
            fn mariadb_next() {
                super::$name(e2e::Product::MariaDbNext);
            }

            #[test]
            fn mysql() {
                super::$name(e2e::Product::MySql);
            }
        }
    )+ };
}

on_each_product! {
    a_login_without_the_accounts_tls_is_refused_as_by_the_server
    change_user_is_refused_if_the_connection_lacks_the_accounts_tls
    a_server_may_demand_tls_of_all_clients
    an_account_that_changes_demands_tls_from_then_on
    the_proxys_tls_meets_what_an_account_demands
    an_account_that_is_not_known_is_judged_by_the_backend
    a_configured_account_has_to_meet_its_servers_tls_requirements
}
