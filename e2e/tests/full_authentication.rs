//! A backend that asks for the full password. Over a connection without TLS it does not get the password by a key that
//! it presents itself.

use std::sync::{Arc, Mutex};

use e2e::raw::{Login, RawConn};
use e2e::scripted::Dialogue;
use e2e::{PASSWORD, Product, Proxy, Scripted, Server, Settings};

const SHA2: &str = "caching_sha2_password";

/// A server without TLS that asks each client for its full password, and records the packets that it receives.
fn thief(heard: &Arc<Mutex<Vec<Vec<u8>>>>) -> Scripted {
    let heard = Arc::clone(heard);
    Scripted::start(move |dialogue: &mut Dialogue| {
        dialogue.greet(SHA2)?;
        dialogue.read()?;
        // perform_full_authentication
        dialogue.send(&[1, 4])?;
        loop {
            let said = dialogue.read()?;
            heard.lock().unwrap().push(said);
            dialogue.send(b"\x01-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")?;
        }
    })
}

#[test]
fn a_server_that_presents_a_key_of_its_own_gets_no_password() {
    let heard = Arc::default();
    let thief = thief(&heard);
    let settings = strict(Settings::default())
        .backend(thief.tcp())
        .set("workers", 1)
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD);
    let transparent = settings.clone();
    for settings in [settings.account("app", PASSWORD), transparent] {
        let proxy = Proxy::start(&settings);
        let login = Login::user("app").over_tls();
        let told = match RawConn::connect(&proxy.address(), &login) {
            Ok(mut conn) => {
                let reply = conn.query("SELECT 1");
                reply.error().expect("no backend has let it in").clone()
            }
            Err(failure) => failure.refusal(),
        };
        assert_eq!(told.code, 1429, "{}", told.text);
        for way in ["mode", "server_public_key", "get_server_public_key"] {
            let name = format!("backend_tls.{way}");
            assert!(told.text.contains(&name), "{}", told.text);
        }
    }
    let heard = heard.lock().unwrap();
    assert!(heard.is_empty(), "{heard:?}");
}

/// Empties the server's cache of `caching_sha2_password`.
fn chill(server: &Server) {
    server.root().run("FLUSH PRIVILEGES");
}

fn account(server: &Server, product: Product) {
    let how = match product {
        Product::MySql => format!("WITH {SHA2} BY '{PASSWORD}'"),
        _ => format!("VIA {SHA2} USING PASSWORD('{PASSWORD}')"),
    };
    let mut root = server.root();
    root.run(&format!("CREATE USER cold@'%' IDENTIFIED {how}"));
    root.run("GRANT ALL ON *.* TO cold@'%'");
}

/// Servers that have the plugin.
const PRODUCTS: [Product; 2] = [Product::MySql, Product::MariaDbNext];

/// Takes no public key from a server.
fn strict(settings: Settings) -> Settings {
    settings.set("backend_tls.get_server_public_key", false)
}

fn pooled(server: &Server) -> Settings {
    strict(Settings::in_front_of([server]))
        .set("workers", 1)
        .account("cold", PASSWORD)
}

#[test]
fn a_cold_cache_is_warmed_over_tls() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        account(&server, product);
        let login = Login::user("cold").over_tls();
        for settings in [pooled(&server), strict(Settings::in_front_of([&*server]))] {
            chill(&server);
            let proxy = Proxy::start(&settings);
            let mut conn = proxy.connect_as(&login);
            let cipher = "SHOW SESSION STATUS LIKE 'Ssl_cipher'";
            let told = conn.run(cipher).texts();
            assert!(!told[0][1].is_empty(), "{product:?}: {told:?}");
            assert_eq!(conn.value("SELECT CURRENT_USER()"), "cold@%");
            // MySQL's cache is warm now, so TLS is not needed any more. MariaDB has no cache.
            if product != Product::MySql {
                continue;
            }
            let other = Proxy::start(&settings);
            let told = other.connect_as(&login).run(cipher).texts();
            assert_eq!(told[0][1], "", "{product:?}");
        }
    }
}

#[test]
fn without_tls_an_rsa_key_authenticates() {
    let server = Server::start(Product::MySql, &["--tls-version="]);
    account(&server, Product::MySql);
    let shown = "SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key'";
    let key = server.root().run(shown).texts()[0][1].clone();
    let login = Login::user("cold").over_tls();
    for settings in [pooled(&server), strict(Settings::in_front_of([&server]))] {
        chill(&server);
        let proxy = Proxy::start(&settings);
        let refused = match RawConn::connect(&proxy.address(), &login) {
            Ok(mut conn) => conn.query("DO 1").error().map(|error| error.code),
            Err(failure) => Some(failure.refusal().code),
        };
        assert_eq!(refused, Some(1429));
        proxy.wait_event("full_authentication", &[]);
        drop(proxy);
        let file = server.folder().join("key.pem");
        std::fs::write(&file, &key).unwrap();
        for settings in [
            settings
                .clone()
                .set("backend_tls.get_server_public_key", true),
            settings.clone().set("backend_tls.server_public_key", &file),
        ] {
            chill(&server);
            let proxy = Proxy::start(&settings);
            proxy.connect_as(&login).run("DO 1");
        }
    }
}

#[test]
fn the_monitor_account_may_have_a_cold_cache() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        account(&server, product);
        let settings = strict(Settings::in_front_of([&*server]))
            .set("health.monitor_user", "cold")
            .set("health.monitor_password", PASSWORD)
            .set("accounts.learn", true);
        let proxy = Proxy::start(&settings);
        proxy.wait_event("accounts_learned", &[]);
    }
}
