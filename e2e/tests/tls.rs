//! TLS on each side separately: modes, certificates, and connections without TLS.

use e2e::raw::{Login, LoginFailure, RawConn, TlsChoice};
use e2e::{Certs, Folder, Product, Proxy, Scripted, Server, Settings, wait};

fn server() -> &'static Server {
    Server::shared(Product::MariaDb)
}

fn settings() -> Settings {
    Settings::in_front_of([server()])
}

/// Settings with the certificate for this machine.
fn certified() -> Settings {
    let own = &Certs::shared().server;
    settings()
        .set("client_tls.certificate", &own.certificate)
        .set("client_tls.key", &own.key)
}

fn connect(proxy: &Proxy, tls: Option<TlsChoice>) -> Result<RawConn, LoginFailure> {
    let mut login = Login::app();
    login.tls = tls;
    RawConn::connect(&proxy.address(), &login)
}

fn anyhow() -> Option<TlsChoice> {
    Some(TlsChoice::default())
}

/// The cipher of the backend's side; empty without TLS.
fn cipher(conn: &mut RawConn) -> String {
    conn.run("SHOW STATUS LIKE 'Ssl_cipher'")
        .text(0, 1)
        .unwrap()
}

#[test]
fn a_certificate_is_made_when_none_is_given() {
    let proxy = Proxy::start(&settings());
    connect(&proxy, anyhow()).unwrap().run("SELECT 1");
    connect(
        &proxy,
        Some(TlsChoice {
            old: true,
            ..Default::default()
        }),
    )
    .unwrap()
    .run("SELECT 1");
    connect(&proxy, None).unwrap().run("SELECT 1");
}

#[test]
fn tls_towards_clients_can_be_switched_off() {
    let proxy = Proxy::start(&settings().set("client_tls.mode", "off"));
    let error = connect(&proxy, anyhow()).unwrap_err().to_string();
    assert!(error.contains("not offered"), "{error}");
    connect(&proxy, None).unwrap().run("SELECT 1");
}

#[test]
fn tls_can_be_required_of_clients() {
    let proxy = Proxy::start(&certified().set("client_tls.mode", "required"));
    let refused = connect(&proxy, None).unwrap_err().refusal();
    // ER_SECURE_TRANSPORT_REQUIRED, with the servers' number.
    assert_eq!(refused.code, 3159, "{refused}");
    connect(&proxy, anyhow()).unwrap().run("SELECT 1");
}

#[test]
fn the_given_certificate_is_shown_to_clients() {
    let certs = Certs::shared();
    let proxy = Proxy::start(&certified());
    let trusting = |ca: &std::path::PathBuf| TlsChoice {
        ca: Some(ca.clone()),
        ..Default::default()
    };
    connect(&proxy, Some(trusting(&certs.ca)))
        .unwrap()
        .run("SELECT 1");
    assert!(connect(&proxy, Some(trusting(&certs.foreign_ca))).is_err());
    connect(&proxy, anyhow()).unwrap().run("SELECT 1");
}

#[test]
fn a_changed_certificate_is_shown_without_a_restart() {
    let certs = Certs::shared();
    let folder = Folder::new("pem");
    let copy = |name: &str, from: &std::path::Path| {
        let path = folder.join(name);
        std::fs::copy(from, &path).unwrap();
        path
    };
    let certificate = copy("c.pem", &certs.stranger.certificate);
    let key = copy("k.pem", &certs.stranger.key);
    let proxy = Proxy::start(
        &settings()
            .set("client_tls.certificate", &certificate)
            .set("client_tls.key", &key),
    );
    let choice = TlsChoice {
        ca: Some(certs.ca.clone()),
        ..Default::default()
    };
    assert!(connect(&proxy, Some(choice.clone())).is_err());
    let mut before = connect(&proxy, anyhow()).unwrap();
    copy("c.pem", &certs.server.certificate);
    copy("k.pem", &certs.server.key);
    wait::until("the new certificate is shown", wait::SOON, || {
        connect(&proxy, Some(choice.clone())).is_ok()
    });
    before.run("SELECT 'not disturbed'");
}

#[test]
fn clients_may_have_to_show_a_certificate() {
    let certs = Certs::shared();
    let shown = |identity: &e2e::Identity| {
        Some(TlsChoice {
            identity: Some(identity.clone()),
            ..Default::default()
        })
    };
    let with = |mode: &str| {
        Proxy::start(
            &certified()
                .set("client_tls.mode", "required")
                .set("client_tls.ca", &certs.ca)
                .set("client_tls.client_certificate", mode),
        )
    };
    let required = with("required");
    connect(&required, shown(&certs.client))
        .unwrap()
        .run("SELECT 1");
    assert!(connect(&required, anyhow()).is_err());
    assert!(connect(&required, shown(&certs.stranger)).is_err());
    let optional = with("optional");
    connect(&optional, shown(&certs.client))
        .unwrap()
        .run("SELECT 1");
    connect(&optional, anyhow()).unwrap().run("SELECT 1");
    assert!(connect(&optional, shown(&certs.stranger)).is_err());
}

#[test]
fn garbage_instead_of_tls_is_cut_off() {
    let proxy = Proxy::start(&settings());
    let mut other = proxy.connect();
    let mut stream = std::net::TcpStream::connect(proxy.tcp()).unwrap();
    use std::io::{Read, Write};
    let mut greeting = [0; 1024];
    assert!(stream.read(&mut greeting).unwrap() > 30);
    // A request for TLS, and then bytes that are not TLS.
    let mut request = vec![32, 0, 0, 1];
    request.extend((e2e::raw::capability::USUAL | e2e::raw::capability::SSL).to_le_bytes());
    request.truncate(8);
    request.extend([0, 0, 0, 1, 45]);
    request.extend([0; 23]);
    stream.write_all(&request).unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\n\r\n, and so on, and so on")
        .unwrap();
    stream.set_read_timeout(Some(wait::SOON)).unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest); // an alert, perhaps, then the end
    proxy.wait_event("client_tls", &["side=client"]);
    other.run("SELECT 1");
}

#[test]
fn the_mode_decides_about_tls_towards_backends() {
    let certs = Certs::shared();
    let with = |mode: &str| settings().set("backend_tls.mode", mode);
    for (settings, encrypted) in [
        (with("off"), false),
        (with("preferred"), true),
        (with("required"), true),
        (with("verify_ca").set("backend_tls.ca", &certs.ca), true),
        (
            with("verify_identity").set("backend_tls.ca", &certs.ca),
            true,
        ),
    ] {
        let proxy = Proxy::start(&settings);
        assert_eq!(
            !cipher(&mut proxy.connect()).is_empty(),
            encrypted,
            "{settings:?}"
        );
    }
}

/// Checks that the client's session is refused with an ERR packet that names the backend and contains `words`.
fn refused(settings: &Settings, words: &[&str]) {
    let proxy = Proxy::start(settings);
    let refused = connect(&proxy, None).unwrap_err().refusal();
    for word in words {
        assert!(refused.text.contains(word), "no {word:?} in: {refused}");
    }
    proxy.wait_logged(&[words[0]]);
}

#[test]
fn a_backend_with_another_authoritys_certificate_is_not_trusted() {
    let port = server().port().to_string();
    for mode in ["verify_ca", "verify_identity"] {
        let settings = settings()
            .set("backend_tls.mode", mode)
            .set("backend_tls.ca", &Certs::shared().foreign_ca);
        refused(&settings, &[&port, "ertificate"]);
    }
}

#[test]
fn a_backend_with_another_hosts_certificate_is_not_trusted() {
    let certs = Certs::shared();
    let elsewhere = &certs.elsewhere;
    let certificate = format!("--ssl-cert={}", elsewhere.certificate.display());
    let key = format!("--ssl-key={}", elsewhere.key.display());
    let server = Server::start(Product::MariaDb, &[&certificate, &key]);
    let settings = Settings::in_front_of([&server]).set("backend_tls.ca", &certs.ca);
    refused(
        &settings.clone().set("backend_tls.mode", "verify_identity"),
        &[&server.port().to_string(), "ertificate"],
    );
    let proxy = Proxy::start(&settings.set("backend_tls.mode", "verify_ca"));
    assert!(!cipher(&mut proxy.connect()).is_empty());
}

#[test]
fn a_backend_without_tls_is_refused_or_tolerated() {
    let server = Server::start(Product::MariaDb, &["--skip-ssl"]);
    let settings = Settings::in_front_of([&server]);
    let port = server.port().to_string();
    refused(
        &settings.clone().set("backend_tls.mode", "required"),
        &[&port, "TLS"],
    );
    let proxy = Proxy::start(&settings.set("backend_tls.mode", "preferred"));
    assert_eq!(cipher(&mut proxy.connect()), "");
    // The client's side has TLS although the backend's side has not.
    connect(&proxy, anyhow()).unwrap().run("SELECT 1");
}

#[test]
fn a_failed_tls_handshake_with_a_backend_is_logged() {
    let server = Scripted::start(|dialogue| {
        use e2e::raw::capability::{SSL, USUAL};
        dialogue.greet_with("mysql_native_password", USUAL | SSL | 1)?;
        dialogue.read()?;
        dialogue.send_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    });
    let settings = Settings::default()
        .backend(server.tcp())
        .set("backend_tls.mode", "required");
    refused(&settings, &[&server.tcp().port().to_string(), "TLS"]);
}

#[test]
fn the_proxy_shows_its_certificate_to_backends() {
    let certs = Certs::shared();
    let settings = settings().set("backend_tls.mode", "required");
    let proxy = Proxy::start(&settings);
    let mut login = Login::user("x509_only");
    let refused = RawConn::connect(&proxy.address(), &login)
        .unwrap_err()
        .refusal();
    assert_eq!(refused.code, 1045);
    let proxy = Proxy::start(
        &settings
            .set("backend_tls.certificate", &certs.client.certificate)
            .set("backend_tls.key", &certs.client.key),
    );
    proxy.connect_as(&login).run("SELECT 1");
    login.user = "tls_only".into();
    proxy.connect_as(&login).run("SELECT 1");
}

#[test]
fn an_account_that_needs_tls_needs_it_on_the_backends_side() {
    let proxy = Proxy::start(&settings());
    let login = Login::user("tls_only").over_tls();
    let refused = RawConn::connect(&proxy.address(), &login)
        .unwrap_err()
        .refusal();
    assert_eq!(refused.code, 1045);
}

/// Servers report the TLS of their own connection, whose client is the proxy.
fn tls_status_is_that_of_the_backends_side(product: Product) {
    let server = Server::shared(product);
    let certs = Certs::shared();
    for has_backend_tls in [false, true] {
        for is_pooled in [false, true] {
            let mut settings = Settings::in_front_of([server]);
            if is_pooled {
                settings = settings.account("app", e2e::PASSWORD);
            }
            if has_backend_tls {
                settings = settings
                    .set("backend_tls.mode", "verify_ca")
                    .set("backend_tls.ca", &certs.ca);
            }
            let proxy = Proxy::start(&settings);
            let mut direct = server.connect("mysql");
            for tls in [None, anyhow()] {
                let mut conn = connect(&proxy, tls).unwrap();
                for status in ["Ssl_cipher", "Ssl_version"] {
                    let sql = format!("SHOW SESSION STATUS LIKE '{status}'");
                    let told = conn.run(&sql).text(0, 1).unwrap();
                    assert_eq!(!told.is_empty(), has_backend_tls, "{status}: {told:?}");
                }
                if product == Product::MySql {
                    let sql = "SELECT CONNECTION_TYPE FROM performance_schema.threads \
                               WHERE THREAD_ID = PS_CURRENT_THREAD_ID()";
                    let kind = if has_backend_tls { "SSL/TLS" } else { "TCP/IP" };
                    assert_eq!(conn.value(sql), kind);
                }
                // These values are the server's configuration, which a direct client sees as well.
                for pattern in [
                    "have\\_%ssl",
                    "tls\\_%",
                    "ssl\\_%",
                    "require\\_secure\\_transport",
                ] {
                    let sql = format!("SHOW GLOBAL VARIABLES LIKE '{pattern}'");
                    assert_eq!(conn.run(&sql).texts(), direct.run(&sql).texts());
                }
            }
        }
    }
}

#[test]
fn tls_status_is_that_of_the_backends_side_of_mariadb() {
    tls_status_is_that_of_the_backends_side(Product::MariaDb);
}

#[test]
fn tls_status_is_that_of_the_backends_side_of_mariadb_next() {
    tls_status_is_that_of_the_backends_side(Product::MariaDbNext);
}

#[test]
fn tls_status_is_that_of_the_backends_side_of_mysql() {
    tls_status_is_that_of_the_backends_side(Product::MySql);
}
