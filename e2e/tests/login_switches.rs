//! Logins that the proxy greets and the backend checks: for every greeting, client and account, the client gets one
//! switch of plugins at most. Many clients refuse a second switch.

use e2e::raw::{Login, LoginFailure, RawConn, capability};
use e2e::{Certs, PASSWORD, Product, Proxy, Server, Settings, wait};

const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";

/// The plugins that clients name, which may differ from the account's.
const PLUGINS: [&str; 6] = [
    NATIVE,
    SHA2,
    "sha256_password",
    "mysql_clear_password",
    "client_ed25519",
    "an unknown plugin",
];

/// Accounts whose passwords only the backend can check, each with a different plugin.
fn passed_on(product: Product) -> &'static [&'static str] {
    match product {
        Product::MariaDb => &["ed25519"],
        Product::MariaDbNext => &[
            "ed25519",
            "parsec",
            "two_questions",
            "three_attempts",
            "cleartext",
        ],
        Product::MySql => &["sha256", "cleartext", "two_factors"],
    }
}

/// Accounts whose passwords the proxy could check if their sessions were not transparent.
fn transparent(product: Product) -> &'static [&'static str] {
    match product {
        Product::MariaDb => &["app", "nopass"],
        Product::MariaDbNext => &["app", "nopass", "sha2"],
        Product::MySql => &["app", "nopass"],
    }
}

fn learning(server: &Server) -> Settings {
    Settings::in_front_of([server])
        .set("workers", 1)
        .set("accounts.learn", true)
        .set("accounts.learn_interval", "1h")
        .set("accounts.delay_failures", false)
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD)
}

fn over_tls(settings: Settings) -> Settings {
    settings
        .set("backend_tls.mode", "verify_ca")
        .set("backend_tls.ca", &Certs::shared().ca)
}

fn started(settings: &Settings) -> Proxy {
    let proxy = Proxy::start(settings);
    proxy.wait_event("accounts_learned", &[]);
    proxy
}

fn login(user: &str, plugin: &str, tls: bool) -> Login {
    let mut login = match user {
        "nopass" => Login::with(user, ""),
        user => Login::user(user),
    };
    if user == "two_factors" {
        login.passwords.push("factor two".into());
    }
    let answer = |text: &str| [text.as_bytes(), &[0]].concat();
    if user == "two_questions" {
        login.answers = vec![answer(PASSWORD), answer("yes, of course")];
    } else if user == "three_attempts" {
        login.answers = vec![answer(PASSWORD)];
    }
    login.plugin = Some(plugin.to_owned());
    match tls {
        true => login.over_tls(),
        false => login,
    }
}

fn switches(steps: &[String]) -> usize {
    let is_switch = |step: &&String| step.starts_with("switch");
    steps.iter().filter(is_switch).count()
}

#[track_caller]
fn assert_one_switch(proxy: &Proxy, login: &Login) -> Result<RawConn, LoginFailure> {
    let (steps, result) = RawConn::connect_step_by_step(&proxy.address(), login);
    let (user, plugin) = (&login.user, &login.plugin);
    assert!(switches(&steps) <= 1, "{user} by {plugin:?}: {steps:?}");
    result
}

#[track_caller]
fn assert_in(proxy: &Proxy, login: &Login) {
    let result = assert_one_switch(proxy, login);
    let mut conn =
        result.unwrap_or_else(|error| panic!("{} by {:?}: {error}", login.user, login.plugin));
    let user = format!("{}@%", login.user);
    assert_eq!(conn.value("SELECT CURRENT_USER()"), user);
}

#[track_caller]
fn assert_refused(proxy: &Proxy, login: &Login) {
    let refusal = assert_one_switch(proxy, login).unwrap_err().refusal();
    assert_eq!(
        (refusal.code, &*refusal.state),
        (1045, "28000"),
        "{}",
        login.user
    );
}

fn each_login(users: &[&str], mut act: impl FnMut(&Login)) {
    for user in users {
        for plugin in PLUGINS {
            for tls in [false, true] {
                act(&login(user, plugin, tls));
            }
        }
    }
}

fn a_login_is_passed_on_by_one_switch(product: Product) {
    let server = Server::shared(product);
    for settings in [learning(server), over_tls(learning(server))] {
        let proxy = started(&settings);
        each_login(passed_on(product), |login| assert_in(&proxy, login));
        each_login(passed_on(product), |login| {
            let mut wrong = login.clone().with_password("wrong");
            wrong.answers = vec![b"wrong\0".to_vec(); login.answers.len() + 2];
            assert_refused(&proxy, &wrong);
        });
        each_login(&["nobody"], |login| assert_refused(&proxy, login));
    }
}

#[test]
fn a_login_is_passed_on_by_one_switch_to_mariadb() {
    a_login_is_passed_on_by_one_switch(Product::MariaDb);
}

#[test]
fn a_login_is_passed_on_by_one_switch_to_mariadb_next() {
    a_login_is_passed_on_by_one_switch(Product::MariaDbNext);
}

#[test]
fn a_login_is_passed_on_by_one_switch_to_mysql() {
    a_login_is_passed_on_by_one_switch(Product::MySql);
}

fn a_transparent_account_is_passed_on_by_one_switch(product: Product) {
    let server = Server::shared(product);
    let accounts = transparent(product);
    let settings = accounts.iter().fold(learning(server), |settings, user| {
        let password = if *user == "nopass" { "" } else { PASSWORD };
        let password = format!("{password:?}");
        settings.account_with(
            user,
            &[
                ("password", &password),
                ("routing.session", "\"transparent\""),
            ],
        )
    });
    for settings in [settings.clone(), over_tls(settings)] {
        let proxy = started(&settings);
        each_login(accounts, |login| assert_in(&proxy, login));
        each_login(accounts, |login| {
            assert_refused(&proxy, &login.clone().with_password("wrong"));
        });
    }
}

#[test]
fn a_transparent_account_is_passed_on_by_one_switch_to_mariadb() {
    a_transparent_account_is_passed_on_by_one_switch(Product::MariaDb);
}

#[test]
fn a_transparent_account_is_passed_on_by_one_switch_to_mariadb_next() {
    a_transparent_account_is_passed_on_by_one_switch(Product::MariaDbNext);
}

#[test]
fn a_transparent_account_is_passed_on_by_one_switch_to_mysql() {
    a_transparent_account_is_passed_on_by_one_switch(Product::MySql);
}

fn a_change_of_user_is_passed_on_by_one_switch(product: Product) {
    let server = Server::shared(product);
    let proxy = started(&learning(server));
    each_login(passed_on(product), |login| {
        let mut first = Login::app();
        first.tls.clone_from(&login.tls);
        let mut conn = proxy.connect_as(&first);
        conn.change_user(login)
            .unwrap_or_else(|error| panic!("{}: {error}", login.user));
        let steps = &conn.login_path;
        assert!(
            switches(steps) <= 1,
            "{} by {:?}: {steps:?}",
            login.user,
            login.plugin
        );
        let user = format!("{}@%", login.user);
        assert_eq!(conn.value("SELECT CURRENT_USER()"), user);
    });
}

#[test]
fn a_change_of_user_is_passed_on_by_one_switch_to_mariadb() {
    a_change_of_user_is_passed_on_by_one_switch(Product::MariaDb);
}

#[test]
fn a_change_of_user_is_passed_on_by_one_switch_to_mariadb_next() {
    a_change_of_user_is_passed_on_by_one_switch(Product::MariaDbNext);
}

#[test]
fn a_change_of_user_is_passed_on_by_one_switch_to_mysql() {
    a_change_of_user_is_passed_on_by_one_switch(Product::MySql);
}

/// An account is changed on the server, to a plugin that only a backend can check.
fn a_changed_account_is_known_soon_and_asked_by_one_switch(product: Product) {
    let (before, after) = match product {
        Product::MySql => (
            "IDENTIFIED WITH caching_sha2_password BY",
            "IDENTIFIED WITH sha256_password BY",
        ),
        _ => (
            "IDENTIFIED VIA mysql_native_password USING PASSWORD",
            "IDENTIFIED VIA ed25519 USING PASSWORD",
        ),
    };
    let how = |how: &str, password: &str| match product {
        Product::MySql => format!("{how} '{password}'"),
        _ => format!("{how}('{password}')"),
    };
    let server = Server::lease(product);
    let mut root = server.root();
    for plugin in PLUGINS {
        for tls in [false, true] {
            root.run("DROP USER IF EXISTS walker@'%'");
            root.run(&format!(
                "CREATE USER walker@'%' {}",
                how(before, "the first")
            ));
            let proxy = started(&learning(&server));
            let with = |password: &str| login("walker", plugin, tls).with_password(password);
            assert_in(&proxy, &with("the first"));
            root.run(&format!(
                "ALTER USER walker@'%' {}",
                how(after, "the second")
            ));
            let login = with("the second");
            // The proxy does not repeat a query for accounts within a second.
            e2e::wait::until("the change is known", e2e::wait::SOON, || {
                assert_one_switch(&proxy, &login).is_ok()
            });
            assert_in(&proxy, &login);
            assert_refused(&proxy, &with("the first"));
        }
    }
}

both! {
    a_changed_account_is_known_soon_and_asked_by_one_switch
    a_client_without_authentication_plugins_gets_the_error_for_old_clients
    a_changed_plugin_is_examined_at_once
}

/// The client gets no question that it could not understand.
fn a_client_without_authentication_plugins_gets_the_error_for_old_clients(product: Product) {
    let server = Server::shared(product);
    let proxy = started(&learning(server));
    let mut login = login(passed_on(product)[0], NATIVE, false);
    login.capabilities &= !(capability::PLUGIN_AUTH | capability::PLUGIN_AUTH_LENENC);
    let direct = RawConn::connect(&server.tcp().into(), &login);
    let direct = direct.unwrap_err().refusal();
    let refusal = RawConn::connect(&proxy.address(), &login)
        .unwrap_err()
        .refusal();
    assert_eq!(refusal.code, 1251);
    assert_eq!(refusal.to_string(), direct.to_string());
}

/// The account changes between two plugins that the proxy can check.
fn a_changed_plugin_is_examined_at_once(product: Product) {
    if product.is_mariadb() {
        return;
    }
    let server = Server::lease(product);
    let mut root = server.root();
    root.run("CREATE USER walker@'%' IDENTIFIED BY 'the first'");
    let proxy = started(&learning(&server));
    root.run("ALTER USER walker@'%' IDENTIFIED BY ''");
    wait::until("it is let in without a password", wait::SOON, || {
        assert_one_switch(&proxy, &Login::with("walker", "")).is_ok()
    });
}
