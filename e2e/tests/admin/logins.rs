//! Logins to the admin port that succeed, and logins that fail.

use e2e::raw::{Login, RawConn, capability, command};
use e2e::{Proxy, Settings, Signal, free_port};

use super::Watched;

#[test]
fn both_roles_log_in_with_either_plugin_with_and_without_tls() {
    let watched = Watched::alone();
    for (user, password) in [("root", "all"), ("look", "some")] {
        for plugin in ["caching_sha2_password", "mysql_native_password"] {
            let login = Login {
                plugin: Some(plugin.to_owned()),
                ..Login::with(user, password)
            };
            for login in [login.clone(), login.over_tls()] {
                let mut conn = watched.connect(&login);
                let expected = format!("{user}@127.0.0.1");
                assert_eq!(conn.value("SELECT USER()"), expected);
                assert_eq!(conn.value("SELECT CONNECTION_ID()"), conn.id.to_string());
                conn.quit();
            }
        }
    }
}

#[test]
fn wrong_users_and_passwords_cannot_log_in() {
    let watched = Watched::alone();
    for (user, password) in [
        ("root", "some"),
        ("root", ""),
        ("look", "all"),
        ("nobody", "all"),
        ("", ""),
        ("Root", "all"),
    ] {
        for plugin in ["caching_sha2_password", "mysql_native_password"] {
            let login = Login {
                plugin: Some(plugin.to_owned()),
                ..Login::with(user, password)
            };
            let failure = RawConn::connect(&watched.address(), &login).err();
            let refusal = failure.expect("it is refused").refusal();
            assert_eq!(refusal.code, 1045, "{user} {password} {plugin}");
        }
    }
    watched.proxy.wait_event("admin_login_failed", &["nobody"]);
}

/// An account of the proxy's clients cannot log in to the admin port, and an account of the admin port is no client's.
#[test]
fn accounts_of_clients_cannot_log_in_to_the_admin_port() {
    let port = free_port();
    let settings = Settings::default()
        .backend(format!("127.0.0.1:{}", free_port()))
        .account("app", "secret")
        .admin_on(port);
    let proxy = Proxy::start(&settings);
    let admin = Watched { proxy, port };
    let app = RawConn::connect(&admin.address(), &Login::with("app", "secret"));
    assert_eq!(app.err().unwrap().refusal().code, 1045);
    let root = RawConn::connect(&admin.proxy.address(), &Login::with("root", "all"));
    assert!(root.is_err());
}

#[test]
fn a_login_may_name_an_existing_schema() {
    let watched = Watched::alone();
    let login = Login::with("look", "some");
    let login = Login {
        capabilities: login.capabilities | capability::CONNECT_WITH_DB,
        ..login
    };
    let mut conn = watched.connect(&login.clone().schema("stats"));
    assert_eq!(conn.value("SELECT DATABASE()"), "stats");
    conn.command(command::INIT_DB, b"pilotfish");
    assert_eq!(conn.value("SELECT DATABASE()"), "pilotfish");
    let unknown = conn.command(command::INIT_DB, b"shop");
    assert_eq!(unknown.error().unwrap().code, 1049);
    let refused = RawConn::connect(&watched.address(), &login.schema("shop"));
    assert_eq!(refused.err().unwrap().refusal().code, 1049);
}

#[test]
fn connections_have_a_limit() {
    let port = free_port();
    let settings = Settings::default()
        .backend(format!("127.0.0.1:{}", free_port()))
        .set("admin.connections_max", 2)
        .admin_on(port);
    let proxy = Proxy::start(&settings);
    let watched = Watched { proxy, port };
    let first = watched.root();
    let mut second = watched.look();
    let mut third = watched.look();
    let told = third.try_query("SELECT 1");
    assert!(told.map_or(true, |reply| reply.error().is_some()));
    first.quit();
    e2e::wait::until("there is room", e2e::wait::SOON, || {
        watched
            .look()
            .try_query("SELECT 1")
            .is_ok_and(|it| it.error().is_none())
    });
    assert_eq!(second.value("SELECT 1"), "1");
}

#[test]
fn an_admin_port_in_use_does_not_stop_the_proxy() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let settings = Settings::default().backend(format!("127.0.0.1:{}", free_port()));
    let proxy = Proxy::start(&settings.admin_on(port));
    let line = proxy.wait_event("admin_port_failed", &[]);
    assert!(
        line.contains("ERROR") && line.contains(&port.to_string()),
        "{line}"
    );
}

#[test]
fn a_reload_may_add_the_first_user_and_remove_the_last() {
    let port = free_port();
    let without = Settings::default().backend(format!("127.0.0.1:{}", free_port()));
    let address = format!("127.0.0.1:{port}");
    let without = without.set("admin.address", [address.as_str()]);
    let proxy = Proxy::start(&without);
    let watched = Watched { proxy, port };
    assert!(std::net::TcpStream::connect(&address).is_err());
    watched.proxy.reload(&without.clone().admin_on(port));
    watched.proxy.wait_event("admin_port_open", &[]);
    watched.look().quit();
    watched
        .proxy
        .write_settings(&without.clone().admin_account("other", "x").to_toml());
    watched.proxy.signal(Signal::HUP);
    let login = Login::with("look", "some");
    e2e::wait::until("look is gone", e2e::wait::SOON, || {
        RawConn::connect(&watched.address(), &login).is_err()
    });
    watched.connect(&Login::with("other", "x")).quit();
}
