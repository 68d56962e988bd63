//! Listeners with `session = "kernel"`, and the settings that they refuse.

use super::{File, load, with_backend};

/// A listener that gives no warning if clients do not use TLS.
const LISTENER: &str = "[[listener]]\naddress = \":4050\"\nrouting.session = \"kernel\"\n";
const NO_STATEMENTS: &str =
    "needs statements, and the proxy sees none with routing.session = \"kernel\"";

/// The printed faults of a file, or its warnings if it has no faults.
fn faults_or_warnings(text: &str) -> Vec<String> {
    let file = File::new(text).with("a.lua", "");
    match file.load() {
        Err(_) => file.faults(),
        Ok(loaded) => {
            let folder = format!("{}/", file.folder.path().display());
            let warnings = loaded.warnings.iter().map(ToString::to_string);
            warnings.map(|it| it.replace(&folder, "")).collect()
        }
    }
}

/// The only fault or warning of a file with `before`, the listener, and then `more`. The location is cut
/// off.
fn only(before: &str, more: &str) -> String {
    let off = match before.contains("[client_tls]") {
        true => "",
        false => "[client_tls]\nmode = \"off\"\n",
    };
    let text = with_backend(&format!("{off}{before}{LISTENER}{more}"));
    let mut told = faults_or_warnings(&text);
    assert_eq!(told.len(), 1, "{text}\n{told:?}");
    let told = told.remove(0);
    let behind = told.split_once(": listener.").map(|(_, text)| text);
    behind.unwrap_or(&told).to_owned()
}

#[test]
fn a_listener_may_have_its_sessions_joined_in_the_kernel() {
    let text = format!(
        "[client_tls]\nmode = \"off\"\n[proxy_protocol]\nsend = \"v2\"\n{LISTENER}redirect = \"backend\"\nrouting.cluster = \"main\"\n\
         routing.replicas = \"primary\"\nrouting.lanes = \"off\"\nrouting.consistency = \"none\"\ntimeout_idle_transaction = \"0s\"\n[[account]]\n\
         user = \"app\"\npassword = \"p\"\n[[rule]]\nname = \"r\"\nkind = \"select\"\nrefuse = \"no\"\n"
    );
    let config = load(&text);
    let listener = &config.listeners[0];
    assert!(listener.joins_in_kernel());
    assert_eq!(listener.mode(), Some(crate::SessionMode::Transparent));
}

#[test]
fn settings_of_the_listener_that_need_statements_are_refused() {
    for setting in [
        "routing.replicas = \"split\"",
        "routing.lanes = \"reads\"",
        "routing.consistency = \"global\"",
        "routing.optimistic_transactions = true",
        "timeout_idle_transaction = \"5s\"",
    ] {
        let (name, _) = setting.split_once(' ').unwrap();
        let expected = format!("{name}: {NO_STATEMENTS}");
        let told = only("", setting);
        assert!(told.contains(&expected), "{told}");
    }
}

#[test]
fn scripts_and_rules_for_the_listener_are_refused() {
    let hint = "hint: routing.script = [] of the listener, and no script of an account";
    for (before, more) in [
        ("", "routing.script = \"a.lua\""),
        ("[routing]\nscript = \"a.lua\"\n", ""),
        (
            "[[account]]\nuser = \"a\"\npassword = \"p\"\nrouting.script = \"a.lua\"\n",
            "",
        ),
    ] {
        let told = only(before, more);
        assert!(told.contains("\"kernel\" hides the statements"), "{told}");
        assert!(told.ends_with(hint), "{told}");
    }
    let rule = "[[rule]]\nname = \"r\"\nlistener = \":4050\"\nkind = \"select\"\nrefuse = \"no\"\n";
    let told = only("", rule);
    assert!(
        told.contains("rule.listener: 0.0.0.0:4050 has routing.session = \"kernel\""),
        "{told}"
    );
}

#[test]
fn limits_of_idle_sessions_are_refused() {
    let told = only("[limits]\ntimeout_idle = \"5m\"\n", "");
    assert!(
        told.ends_with("the servers' wait_timeout ends idle sessions"),
        "{told}"
    );
    let limit = "[limits]\ntimeout_idle_transaction = \"5s\"\n";
    let told = only(limit, "");
    assert!(
        told.ends_with("hint: timeout_idle_transaction = \"0s\" of the listener"),
        "{told}"
    );
}

#[test]
fn settings_that_exclude_every_kernel_session_are_refused() {
    for (before, expected) in [
        (
            "[client_tls]\nmode = \"required\"\ncertificate = \"c.pem\"\nkey = \"c.pem\"\n",
            "client_tls.mode = \"required\": no session is joined, because the proxy must decrypt its bytes",
        ),
        (
            "[backend_tls]\nmode = \"required\"\n",
            "backend_tls.mode = \"required\": no session is joined, because the proxy must encrypt its bytes",
        ),
        (
            "[compression]\nbackend = \"zlib\"\n",
            "compression.backend = \"zlib\": no session is joined, because the proxy must compress its bytes",
        ),
    ] {
        let off = match before.contains("[client_tls]") {
            true => "",
            false => "[client_tls]\nmode = \"off\"\n",
        };
        let text = with_backend(&format!("{off}{before}{LISTENER}"));
        let told = faults_or_warnings(&text);
        assert!(told.iter().any(|it| it.ends_with(expected)), "{told:?}");
    }
    let socket = "[client_tls]\nmode = \"off\"\n[[listener]]\naddress = \"/p.sock\"\nrouting.session = \"kernel\"";
    let told_of_socket = faults_or_warnings(&with_backend(socket));
    let expected = "listener.routing.session: \"kernel\" joins TCP connections only, and this listener has a Unix socket";
    assert!(told_of_socket[0].ends_with(expected), "{told_of_socket:?}");
    let backend = format!(
        "[client_tls]\nmode = \"off\"\n{LISTENER}[[backend]]\nname = \"db1\"\naddress = \"/b.sock\""
    );
    let expected =
        "\"kernel\" joins TCP connections only, and the backend \"db1\" has a Unix socket";
    assert!(faults_or_warnings(&backend)[0].ends_with(expected));
}

#[test]
fn clients_that_may_use_tls_are_worth_a_warning() {
    let told = faults_or_warnings(&with_backend(LISTENER));
    assert_eq!(
        told,
        [
            "pilotfish.toml:3:19: listener.routing.session: \"kernel\" joins no session whose client uses TLS, and most clients \
             do if they can; hint: client_tls.mode = \"off\", or no TLS in the clients' options"
        ]
    );
}

#[test]
fn only_a_listener_has_sessions_in_the_kernel() {
    for text in [
        "[routing]\nsession = \"kernel\"",
        "[[account]]\nuser = \"a\"\npassword = \"p\"\nrouting.session = \"kernel\"",
        "[[rule]]\nname = \"r\"\nkind = \"select\"\nrouting.session = \"kernel\"",
    ] {
        let told = faults_or_warnings(&with_backend(text));
        let is_told = |it: &String| it.contains("\"kernel\" is for a [[listener]] only");
        assert!(told.iter().any(is_told), "{told:?}");
    }
}
