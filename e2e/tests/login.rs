//! Logins: every authentication plugin, with TLS on neither, either and both sides.

use e2e::raw::{Login, RawConn, Transcript, capability};
use e2e::{PASSWORD, Product, Proxy, Scripted, Server, Settings, Site};

/// Makes an account for this scenario. The server's cache does not know its password yet.
fn account(site: &Site, how: &str) -> String {
    let name = &site.schema[..site.schema.len().min(32)];
    let mut root = site.server.root();
    root.run(&format!("DROP USER IF EXISTS {name}@'%'"));
    root.run(&format!("CREATE USER {name}@'%' {how}"));
    name.to_owned()
}

/// Logs in, and drops the connection. Returns the steps of the login.
fn path(site: &Site, user: &str, password: &str, plugin: &str) -> Vec<String> {
    let mut login = site.login_as(user);
    login.passwords = vec![password.to_owned()];
    login.plugin = Some(plugin.to_owned());
    let mut conn = site.connect_as(&login);
    assert_eq!(conn.value("SELECT CURRENT_USER()"), format!("{user}@%"));
    conn.login_path
}

fn noted(text: impl std::fmt::Debug) -> Transcript {
    let mut transcript = Transcript::default();
    transcript.note(format!("{text:?}"));
    transcript
}

const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";
const SHA256: &str = "sha256_password";

scenario!(native_passwords_are_checked_by_the_server on mariadb, mariadb_next);
fn native_passwords_are_checked_by_the_server(site: &Site) -> Transcript {
    assert_eq!(path(site, "native", PASSWORD, NATIVE), ["OK"]);
    assert_eq!(path(site, "nopass", "", NATIVE), ["OK"]);
    let other = path(site, "native", PASSWORD, "mysql_clear_password");
    assert_eq!(other, ["switch to mysql_native_password", "OK"]);
    noted(())
}

scenario!(caching_sha2_proves_the_password_once_then_is_fast on mysql, mariadb_next except pooled: "who passes through is asked once more, by the backend's plugin");
fn caching_sha2_proves_the_password_once_then_is_fast(site: &Site) -> Transcript {
    let how = match site.product() {
        Product::MySql => format!("IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}'"),
        _ => format!("IDENTIFIED VIA caching_sha2_password USING PASSWORD('{PASSWORD}')"),
    };
    let user = account(site, &how);
    let full = path(site, &user, PASSWORD, SHA2);
    let steps: Vec<&str> = full
        .iter()
        .map(String::as_str)
        .filter(|s| !s.starts_with("sw"))
        .collect();
    if site.tls {
        assert_eq!(steps, ["full", "OK"]);
    } else {
        assert_eq!(steps, ["full", "key wanted", "RSA", "OK"]);
    }
    let fast = path(site, &user, PASSWORD, SHA2);
    let switched = path(site, &user, PASSWORD, NATIVE);
    assert_eq!(switched[0], "switch to caching_sha2_password");
    // MariaDB has no cache of passwords, so its login is never fast.
    if site.product() == Product::MySql {
        assert_eq!(fast[fast.len() - 2..], ["fast", "OK"]);
        assert_eq!(switched[1..], ["fast", "OK"]);
    }
    noted(())
}

scenario!(caching_sha2_takes_long_and_empty_passwords on mysql);
fn caching_sha2_takes_long_and_empty_passwords(site: &Site) -> Transcript {
    for password in ["", "x", &"long ".repeat(20), "größe 🐟"] {
        let how = format!("IDENTIFIED WITH caching_sha2_password BY '{password}'");
        let user = account(site, &how);
        path(site, &user, password, SHA2);
        path(site, &user, password, SHA2);
    }
    noted(())
}

scenario!(sha256_passwords_are_checked_by_the_server on mysql except pooled: "who passes through is asked once more, by the backend's plugin");
fn sha256_passwords_are_checked_by_the_server(site: &Site) -> Transcript {
    let steps = path(site, "sha256", PASSWORD, SHA256);
    // The account does not have the greeting's default plugin, so the server switches.
    assert_eq!(steps.last().unwrap(), "OK");
    if !site.tls {
        assert!(steps.contains(&"RSA".to_owned()), "{steps:?}");
    }
    path(site, "sha256", PASSWORD, SHA2);
    noted(())
}

scenario!(clear_passwords_are_relayed on mysql, mariadb_next except pooled: "who passes through is asked once more, by the backend's plugin");
fn clear_passwords_are_relayed(site: &Site) -> Transcript {
    let steps = path(site, "cleartext", PASSWORD, "mysql_clear_password");
    noted(steps)
}

scenario!(a_second_factor_is_asked_for on mysql);
fn a_second_factor_is_asked_for(site: &Site) -> Transcript {
    let mut login = site.login_as("two_factors");
    login.passwords.push("factor two".into());
    let mut conn = site.connect_as(&login);
    assert!(
        conn.login_path
            .contains(&"factor 2 by mysql_clear_password".to_owned())
    );
    assert_eq!(conn.value("SELECT CURRENT_USER()"), "two_factors@%");
    login.passwords[1] = "wrong".into();
    let refused = RawConn::connect(&site.address, &login)
        .unwrap_err()
        .refusal();
    noted(refused)
}

scenario!(dialogs_are_relayed_question_by_question on mariadb_next);
fn dialogs_are_relayed_question_by_question(site: &Site) -> Transcript {
    let mut login = site.login_as("two_questions");
    let answer = |text: &str| [text.as_bytes(), &[0]].concat();
    login.answers = vec![answer(PASSWORD), answer("yes, of course")];
    let mut conn = site.connect_as(&login);
    assert_eq!(conn.value("SELECT CURRENT_USER()"), "two_questions@%");
    let mut transcript = noted(&conn.login_path);
    assert_eq!(
        conn.login_path
            .iter()
            .filter(|step| step.starts_with("asked"))
            .count(),
        2
    );
    let mut login = site.login_as("three_attempts");
    login.answers = ["no", "neither", PASSWORD].map(answer).to_vec();
    let conn = site.connect_as(&login);
    transcript.note(format!("{:?}", conn.login_path));
    login.answers = ["no", "neither", "nor this"].map(answer).to_vec();
    let refused = RawConn::connect(&site.address, &login)
        .unwrap_err()
        .refusal();
    transcript.note(format!("{refused}"));
    transcript
}

scenario!(the_products_own_client_logs_in on mariadb, mariadb_next, mysql except pooled: "MySQL's client has no plugin for an account known by its SHA1 hash");
fn the_products_own_client_logs_in(site: &Site) -> Transcript {
    let users = match site.product() {
        Product::MariaDb => &["app", "native", "nopass", "ed25519"][..],
        Product::MariaDbNext => &["app", "native", "nopass", "ed25519", "parsec", "sha2"],
        Product::MySql => &["app", "sha2", "sha256", "nopass"],
    };
    let e2e::raw::Address::Tcp(address) = site.address else {
        panic!("TCP")
    };
    let mut transcript = Transcript::default();
    for user in users {
        let mut client = site.product().client();
        client
            .args(["--host=127.0.0.1", "--batch", "--skip-column-names"])
            .arg(format!("--port={}", address.port()))
            .arg(format!("--user={user}"))
            .args(["-e", "SELECT CURRENT_USER(), 1 + 1"]);
        if *user != "nopass" {
            client.arg(format!("--password={PASSWORD}"));
        }
        match (site.product(), site.tls) {
            (Product::MySql, true) => client.arg("--ssl-mode=REQUIRED"),
            (Product::MySql, false) => {
                client.args(["--ssl-mode=DISABLED", "--get-server-public-key"])
            }
            (_, true) => client.args(["--ssl", "--skip-ssl-verify-server-cert"]),
            (_, false) => client.arg("--skip-ssl"),
        };
        let output = client.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{user}: {errors}\n{}",
            site.proxy_log()
        );
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(answer.trim(), format!("{user}@%\t2"));
        transcript.note(answer);
    }
    transcript
}

scenario!(a_refused_login_gives_the_servers_error on mariadb, mariadb_next, mysql);
fn a_refused_login_gives_the_servers_error(site: &Site) -> Transcript {
    let mut users = vec![
        ("app", "wrong"),
        ("app", ""),
        ("nobody", "x"),
        ("nobody", ""),
        ("", ""),
    ];
    match site.product() {
        Product::MySql => {
            users.extend([("sha2", "wrong"), ("sha256", "wrong"), ("cleartext", "no")])
        }
        _ => users.extend([("native", "wrong"), ("nopass", "wrong")]),
    }
    let mut transcript = Transcript::default();
    for (user, password) in users {
        let mut login = Login::with(user, password);
        login.tls = site.tls.then(Default::default);
        match RawConn::connect(&site.address, &login) {
            Ok(_) => transcript.note(format!("{user}: in")),
            // For unknown users, MariaDB may name any plugin.
            Err(error) => transcript.note(format!("{user}: {error}")),
        }
    }
    transcript
}

scenario!(a_login_to_a_missing_schema_gives_the_servers_error on mariadb, mysql);
fn a_login_to_a_missing_schema_gives_the_servers_error(site: &Site) -> Transcript {
    let login = site.login().schema("no_such_schema");
    let refused = RawConn::connect(&site.address, &login)
        .unwrap_err()
        .refusal();
    assert_eq!(refused.code, 1049);
    noted(refused)
}

scenario!(a_locked_account_is_refused on mariadb, mysql);
fn a_locked_account_is_refused(site: &Site) -> Transcript {
    let user = account(site, &format!("IDENTIFIED BY '{PASSWORD}' ACCOUNT LOCK"));
    let refused = RawConn::connect(&site.address, &site.login_as(&user))
        .unwrap_err()
        .refusal();
    noted(refused.code)
}

scenario!(an_expired_password_may_only_be_changed on mariadb, mysql);
fn an_expired_password_may_only_be_changed(site: &Site) -> Transcript {
    let user = account(site, &format!("IDENTIFIED BY '{PASSWORD}' PASSWORD EXPIRE"));
    // MariaDB accepts the login, but the session may only set a new password.
    let mut conn = match RawConn::connect(&site.address, &site.login_as(&user)) {
        Ok(conn) => conn,
        Err(error) => return noted(error.refusal()),
    };
    assert_eq!(conn.query("SELECT 1").error().unwrap().code, 1820);
    conn.run("SET PASSWORD = PASSWORD('new')");
    conn.run("SELECT 1");
    conn.transcript()
}

scenario!(the_greeting_is_the_servers on mariadb, mariadb_next, mysql except pooled: "the capability of cached metadata is not offered where clients take turns", scripted: "what no script can read is not offered");
fn the_greeting_is_the_servers(site: &Site) -> Transcript {
    // The client asks for all capabilities except TLS and compression, which the proxy negotiates itself.
    let own = capability::SSL | capability::COMPRESS | capability::ZSTD;
    let mut login = site.login().and(!own & !(0xFFFF_FFFF << 37)).without(own);
    login.capabilities |= if site.tls { capability::SSL } else { 0 };
    let conn = site.connect_as(&login);
    let capabilities = conn.capabilities & !own;
    noted(format!("{} {capabilities:#x}", conn.version))
}

/// An unknown plugin, with packets of every form.
#[test]
fn an_unknown_plugin_is_relayed_byte_for_byte() {
    let server = Scripted::start(|dialogue| {
        dialogue.greet("mysql_native_password")?;
        dialogue.read()?;
        dialogue.send(b"\xFEhouse_plugin\0first question\0\x01\xFF")?;
        let first = dialogue.read()?;
        dialogue.send(b"\x01second question")?;
        let second = dialogue.read()?;
        dialogue.send(&[0x07; 5000])?;
        let third = dialogue.read()?;
        if (first, second, third) == (b"\x00one\xFF".to_vec(), vec![], vec![9; 3000]) {
            dialogue.send_ok()?;
        } else {
            dialogue.send_error(1045, "that is not what was sent")?;
        }
        dialogue.answer_with_ok()
    });
    let proxy = Proxy::start(&Settings::default().backend(server.tcp()));
    for tls in [false, true] {
        let mut login = Login::with("anybody", "irrelevant");
        login.tls = tls.then(Default::default);
        login.answers = vec![b"\x00one\xFF".to_vec(), vec![], vec![9; 3000]];
        for address in [server.tcp().into(), proxy.address()] {
            if tls && address != proxy.address() {
                continue; // the scripted server has no TLS
            }
            let mut conn = RawConn::connect(&address, &login).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(conn.login_path[0], "switch to house_plugin");
            assert_eq!(conn.login_path[1], "asked first question\\x00\\x01\\xff");
            assert_eq!(conn.login_path[2], "asked \\x01second question");
            assert!(conn.command(e2e::raw::command::PING, b"").error().is_none());
        }
    }
}

/// The server answers the connection with an error in place of a greeting.
#[test]
fn a_login_at_max_connections_gives_the_servers_error() {
    for product in [Product::MariaDb, Product::MySql] {
        let server = Server::lease_set(product, &[("max_connections", "10")]);
        let settings = Settings::in_front_of([&*server]).set("pool.timeout_wait", "1s");
        let proxy = Proxy::start(&settings);
        // A probe that is refused now would mark the backend as down.
        proxy.wait_event("backend_up", &[]);
        let mut kept = Vec::new();
        let refused = loop {
            match RawConn::connect(&proxy.address(), &Login::user("nopass").with_password("")) {
                Ok(conn) => kept.push(conn),
                Err(error) => break error.refusal(),
            }
            assert!(kept.len() < 12);
        };
        assert_eq!(
            (refused.code, refused.text.as_str()),
            (1040, "Too many connections")
        );
        // One connection is free again. A new login succeeds, because the backend was not marked as down.
        kept.pop().unwrap().quit();
        e2e::wait::until("there is a place again", e2e::wait::SOON, || {
            RawConn::connect(&proxy.address(), &Login::user("nopass").with_password("")).is_ok()
        });
    }
}
