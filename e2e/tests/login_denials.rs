//! The error of a refused client: the server's text, with the host that the server would name.

use e2e::raw::{Address, Login, RawConn, TlsChoice};
use e2e::{LeasedServer, PASSWORD, Product, Proxy, Server, Settings, free_port};

/// Two servers of a product: one that resolves hosts to names, and one that does not.
fn servers(product: Product) -> [LeasedServer; 2] {
    let named = Server::lease_with(product, &["--skip-name-resolve=OFF"]);
    [Server::lease(product), named]
}

fn configured(server: &Server) -> Settings {
    Settings::in_front_of([server])
        .set("workers", 1)
        .set("accounts.delay_failures", false)
        .account("app", PASSWORD)
        .account_with(
            "tls_only",
            &[
                ("password", &format!("{PASSWORD:?}")),
                ("tls", "\"required\""),
            ],
        )
}

fn learning(server: &Server) -> Settings {
    Settings::in_front_of([server])
        .set("workers", 1)
        .set("accounts.learn", true)
        .set("accounts.delay_failures", false)
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD)
}

fn refusal(address: &Address, login: &Login) -> String {
    let refusal = RawConn::connect(address, login).unwrap_err().refusal();
    refusal.to_string()
}

fn logins() -> Vec<Login> {
    let users = [
        ("app", "wrong"),
        ("app", ""),
        ("tls_only", PASSWORD),
        ("tls_only", "wrong"),
    ];
    let logins = users.map(|(user, password)| Login::with(user, password));
    let over_tls = logins.clone().map(|login| Login {
        tls: Some(TlsChoice::default()),
        ..login
    });
    let mut all = [logins, over_tls].concat();
    // The login of `tls_only` over TLS with the right password would succeed.
    all.retain(|login| {
        login.tls.is_none() || login.user == "app" || login.passwords[0] != PASSWORD
    });
    all
}

both! {
    a_refused_login_names_the_host_as_the_server_does
    a_refused_change_of_user_names_the_host_that_the_server_would_name
}

fn a_refused_login_names_the_host_as_the_server_does(product: Product) {
    for server in servers(product) {
        for settings in [configured(&server), learning(&server)] {
            let socket = server.folder().join(format!("p{}", free_port()));
            let settings = settings.listener_with(format!("unix:{}", socket.display()), &[]);
            let proxy = Proxy::start(&settings);
            if settings.to_toml().contains("learn") {
                proxy.wait_event("accounts_learned", &[]);
            }
            for login in logins() {
                let direct = refusal(&server.tcp().into(), &login);
                assert_eq!(refusal(&proxy.address(), &login), direct);
                if login.tls.is_none() {
                    let direct = refusal(&Address::Unix(server.socket()), &login);
                    assert_eq!(refusal(&Address::Unix(socket.clone()), &login), direct);
                }
            }
        }
    }
}

fn a_refused_change_of_user_names_the_host_that_the_server_would_name(product: Product) {
    for server in servers(product) {
        for settings in [configured(&server), learning(&server)] {
            let proxy = Proxy::start(&settings);
            if settings.to_toml().contains("learn") {
                proxy.wait_event("accounts_learned", &[]);
            }
            let told = |mut conn: RawConn| {
                let refusal = conn.change_user(&Login::with("app", "wrong")).unwrap_err();
                refusal.refusal().to_string()
            };
            let direct = RawConn::connect(&server.tcp().into(), &Login::app()).unwrap();
            assert_eq!(told(proxy.connect()), told(direct));
        }
    }
}
