//! Accounts, listeners and the pool: how the file is read, its faults, and the effect of a reload.

use std::time::Duration;

use super::{File, load, with_backend};
use crate::*;

/// SHA1(SHA1("secret")), as a grant table shows it; these tests use only its form.
const NATIVE: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
/// 20 characters of salt and 43 of digest.
const SHA2: &str = "$A$005$abcdefghij!(klmnopqr0123456789./ABCDEFGHIJKLMNOPQRSTUVWXYZabcde";
const ED25519: &str = "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";

/// The printed faults of a file, or its warnings if it has no faults.
fn faults_or_warnings(text: &str) -> Vec<String> {
    let file = File::new(&with_backend(text))
        .with("secret", "hunter2\n")
        .with("authority.pem", "-----BEGIN CERTIFICATE-----\n");
    match file.load() {
        Err(_) => file.faults(),
        Ok(loaded) => {
            let folder = format!("{}/", file.folder.path().display());
            let open = "stands in a file that every user of this machine can read";
            let warnings = loaded.warnings.iter().map(ToString::to_string);
            let warnings = warnings.filter(|it| !it.contains(open));
            warnings.map(|it| it.replace(&folder, "")).collect()
        }
    }
}

#[test]
fn an_account_has_all_its_settings() {
    let config = load(
        "[[account]]\nuser = \"app\"\nhost = \"10.0.0.%\"\npassword = \"p\"\nschema = \"shop\"\n\
         networks = [\"10.0.0.0/8\", \"192.168.0.1\"]\ntls = \"required\"\nconnections_max = 7\n\
         backend_user = \"pool\"\nbackend_password = \"env:PATH\"\nrouting.session = \"transaction\"\n\
         pin = [\"user_variables\", \"variables\", \"prepared_statements\", \"warnings\"]\n\
         unpin = [\"routines\", \"state\"]\nrouting.cluster = \"main\"\nrouting.replicas = \"any\"\n\
         routing.consistency = \"none\"\nrouting.optimistic_transactions = true\nhints = [\"pilotfish\", \"maxscale\"]\nexplain = true\nreplication = true\ntimeout_idle_transaction = 5",
    );
    let expected = AccountConfig {
        user: "app".to_owned(),
        host: "10.0.0.%".to_owned(),
        password: Some(Secret::new("p")),
        hash: None,
        schema: Some("shop".to_owned()),
        networks: vec![
            "10.0.0.0/8".parse().unwrap(),
            "192.168.0.1/32".parse().unwrap(),
        ],
        tls: AccountTls::Required,
        connections_max: Some(7),
        backend_user: Some("pool".to_owned()),
        backend_password: Some(Secret::new(std::env::var("PATH").unwrap())),
        routing: RoutingOverride {
            session: Some(SessionMode::Transaction),
            cluster: Some("main".to_owned()),
            replicas: Some(ReplicaUse::Any),
            consistency: Some(Consistency::None),
            optimistic_transactions: Some(true),
            ..RoutingOverride::default()
        },
        timeout_idle_transaction: Some(std::time::Duration::from_secs(5)),
        explain: Some(true),
        replication: true,
        pin: vec![
            PinRule::UserVariables,
            PinRule::Variables,
            PinRule::PreparedStatements,
            PinRule::Warnings,
        ],
        unpin: vec![UnpinRule::Routines, UnpinRule::State],
        hints: Some(vec![HintStyle::Pilotfish, HintStyle::MaxScale]),
    };
    assert_eq!(config.configured_accounts, [expected]);
}

#[test]
fn an_account_needs_no_more_than_its_user() {
    let config = load("[[account]]\nuser = \"app\"");
    let [account] = &config.configured_accounts[..] else {
        unreachable!("one account was given");
    };
    assert_eq!(account.title(), "'app'@'%'");
    assert_eq!((&account.password, &account.hash), (&None, &None));
    assert_eq!(
        (account.routing.session, account.connections_max),
        (None, None)
    );
    assert_eq!(account.tls, AccountTls::None);
    assert!(account.networks.is_empty() && account.pin.is_empty() && account.unpin.is_empty());
}

#[test]
fn hashes_are_distinguished_by_their_form() {
    for (text, form) in [
        (NATIVE, Some(HashForm::Native)),
        (&NATIVE.to_lowercase(), Some(HashForm::Native)),
        (SHA2, Some(HashForm::CachingSha2)),
        (ED25519, Some(HashForm::Ed25519)),
        (&NATIVE[1..], None),
        (&NATIVE[..40], None),
        (&NATIVE.replace('A', "G"), None),
        (&SHA2[..69], None),
        (&SHA2.replace("005", "0x5"), None),
        (&SHA2.replace("005", "000"), None),
        (&ED25519[..42], None),
        (&ED25519.replace('+', "-"), None),
        ("", None),
        ("hunter2", None),
    ] {
        assert_eq!(HashForm::of(text), form, "{text}");
    }
}

#[test]
fn a_hash_may_be_written_in_hexadecimal() {
    // A salt often has control characters.
    let hash = SHA2.replace('(', "\u{1}");
    let digits: String = hash.bytes().map(|byte| format!("{byte:02X}")).collect();
    let config = load(&format!(
        "[[account]]\nuser = \"app\"\nhash = \"0x{digits}\"\n"
    ));
    let account = &config.configured_accounts[0];
    assert_eq!(account.hash, Some(Secret::new(hash)));
    assert_eq!(account.hash_form(), Some(HashForm::CachingSha2));
    for strange in ["0x2", "0x2g", "0xff", "0x+1+1", "0x"] {
        let text = format!("[[account]]\nuser = \"app\"\nhash = \"{strange}\"\n");
        assert!(
            faults_or_warnings(&text)[0].contains("is no hash"),
            "{strange}"
        );
    }
}

/// Files, each with the faults or warnings that the proxy prints for it.
const CASES: &[(&str, &[&str])] = &[
    (
        "[client_tls]\nmode = \"as_account\"",
        &[
            "pilotfish.toml:2:8: client_tls.mode: \"as_account\" refuses no client, because no account is \
             known; hint: accounts.learn has the servers' accounts read",
        ],
    ),
    (
        "[client_tls]\nmode = \"as_account\"\n[[account]]\nuser = \"app\"\npassword = \"x\"\ntls = \"required\"",
        &[],
    ),
    ("[[account]]\nuser = \"app\"\npassword = \"p\"", &[]),
    (
        "[[account]]\nuser = \"app\"\npassword = \"file:secret\"",
        &[],
    ),
    (
        "[[account]]\npassword = \"p\"",
        &["pilotfish.toml:1:1: account.user: is missing from this account"],
    ),
    (
        "[[account]]\nuser = \"\"\npassword = \"p\"",
        &["pilotfish.toml:2:8: account.user: must name a user"],
    ),
    (
        "[[account]]\nuser = \"app\"\npasword = \"p\"",
        &["pilotfish.toml:3:1: account.pasword: is no setting; hint: did you mean \"password\"?"],
    ),
    (
        "[[account]]\nuser = \"app\"",
        &[
            "pilotfish.toml:2:8: account.user: 'app'@'%' has no password; hint: give \
           account.password or account.hash",
        ],
    ),
    (
        "[[account]]\nuser = \"app\"\npassword = \"\"",
        &[
            "pilotfish.toml:2:8: account.user: 'app'@'%' has no password; hint: give \
           account.password or account.hash",
        ],
    ),
    (
        "[[account]]\nuser = \"app\"\npassword = \"p\"\nhash = \"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7\"",
        &[
            "pilotfish.toml:4:8: account.hash: stands beside account.password; hint: give one of the two",
        ],
    ),
    (
        "[[account]]\nuser = \"app\"\nhash = \"hunter2\"",
        &[
            "pilotfish.toml:3:8: account.hash: is no hash of mysql_native_password, \
           caching_sha2_password or ed25519; hint: \"*\" and 40 hexadecimal digits, \"$A$005$…\" of \
           70 characters, or 43 of base 64; a password goes into account.password",
        ],
    ),
    (
        "[[account]]\nuser = \"app\"\nhash = \"file:secret\"",
        &[
            "pilotfish.toml:3:8: account.hash: is no hash of mysql_native_password, \
           caching_sha2_password or ed25519; hint: \"*\" and 40 hexadecimal digits, \"$A$005$…\" of \
           70 characters, or 43 of base 64; a password goes into account.password",
        ],
    ),
    (
        "[[account]]\nuser = \"app\"\npassword = \"env:PILOTFISH_UNSET\"",
        &["pilotfish.toml:3:12: account.password: the environment has no PILOTFISH_UNSET"],
    ),
    (
        "[[account]]\nuser = \"app\"\npassword = \"p\"\nbackend_password = \"q\"",
        &["pilotfish.toml:4:20: account.backend_password: is of no use without backend_user"],
    ),
    (
        "[[account]]\nuser = \"app\"\npassword = \"p\"\nbackend_user = \"pool\"",
        &[
            "pilotfish.toml:4:16: account.backend_user: \"pool\" logs in to backends without a \
           password; hint: give account.backend_password",
        ],
    ),
    // One user may have several hosts, in upper or lower case.
    (
        "[[account]]\nuser = \"app\"\npassword = \"p\"\n[[account]]\nuser = \"app\"\nhost = \"db\"\n\
         password = \"p\"\n[[account]]\nuser = \"App\"\npassword = \"p\"",
        &[],
    ),
    (
        "[[account]]\nuser = \"app\"\nhost = \"db\"\npassword = \"p\"\n[[account]]\nhost = \"DB\"\n\
         user = \"app\"\npassword = \"p\"",
        &[
            "pilotfish.toml:7:8: account.user: 'app'@'DB' is given twice; hint: accounts of one user \
           differ in host",
        ],
    ),
    // Networks as hosts.
    (
        "[[account]]\nuser = \"a\"\nhost = \"10.0.0.0/8\"\npassword = \"p\"\n[[account]]\nuser = \"a\"\n\
         host = \"10.0.0.0/255.255.0.0\"\npassword = \"p\"",
        &[],
    ),
    (
        "[[account]]\nuser = \"a\"\nhost = \"10.1.2.3/8\"\npassword = \"p\"",
        &[
            "pilotfish.toml:3:8: account.host: no address is in \"10.1.2.3/8\"; hint: did you mean \"10.0.0.0/8\"?",
        ],
    ),
    (
        "[[account]]\nuser = \"a\"\nhost = \"fd00::/8\"\npassword = \"p\"",
        &[
            "pilotfish.toml:3:8: account.host: \"fd00::/8\" is no network; hint: \"10.0.0.0/8\" or \
           \"10.0.0.0/255.0.0.0\"; IPv6 goes into account.networks",
        ],
    ),
    // A listener can require TLS only if TLS is configured.
    (
        "[client_tls]\nmode = \"off\"\n[[account]]\nuser = \"app\"\npassword = \"p\"\ntls = \"required\"",
        &[
            "pilotfish.toml:6:7: account.tls: \"required\" cannot be had with client_tls.mode = \"off\"",
        ],
    ),
    (
        "[[account]]\nuser = \"app\"\npassword = \"p\"\ntls = \"x509\"",
        &[
            "pilotfish.toml:4:7: account.tls: \"x509\" needs client_tls.client_certificate = \
           \"optional\" or \"required\"",
        ],
    ),
    (
        "[client_tls]\nca = \"authority.pem\"\nclient_certificate = \"optional\"\n[[account]]\n\
         user = \"app\"\npassword = \"p\"\ntls = \"x509\"",
        &[],
    ),
    // Learning.
    (
        "[accounts]\nlearn = true",
        &[
            "pilotfish.toml:2:9: accounts.learn: needs health.monitor_user; hint: an account that \
           may read the servers' grant tables",
        ],
    ),
    (
        "[accounts]\nlearn = \"on\"\n[health]\nmonitor_user = \"m\"",
        &[],
    ),
    (
        "[accounts]\nlearn = 1",
        &["pilotfish.toml:2:9: accounts.learn: must be true or false, not 1"],
    ),
    // Names of tables.
    (
        "[account]\nuser = \"app\"",
        &[
            "pilotfish.toml:1:2: account: must be a list of tables; hint: write [[account]], once for each account",
        ],
    ),
    (
        "[[accounts]]\nuser = \"app\"",
        &["pilotfish.toml:1:3: accounts: must be a table; hint: did you mean [[account]]?"],
    ),
    (
        "[[pool]]\nsession = \"statement\"",
        &[
            "pilotfish.toml:1:3: pool: must be a table; hint: write [pool], and its settings on the lines below",
        ],
    ),
    (
        "[listeners]\n",
        &[
            "pilotfish.toml:1:2: [listeners]: is no table of settings; hint: did you mean [[listener]]?",
        ],
    ),
    // Listeners.
    ("[[listener]]\naddress = \":4050\"", &[]),
    ("listen = []\n[[listener]]\naddress = \":4050\"", &[]),
    (
        "[[listener]]\nrouting.session = \"transparent\"",
        &["pilotfish.toml:1:1: listener.address: is missing from this listener"],
    ),
    (
        "[[listener]]\naddress = \":4040\"",
        &[
            "pilotfish.toml:2:11: listener.address: 0.0.0.0:4040 is given twice; hint: listen has \
           it, too; what stands here may be taken out there",
        ],
    ),
    (
        "[[listener]]\naddress = \":4050\"\n[[listener]]\naddress = \"4050\"",
        &["pilotfish.toml:4:11: listener.address: 0.0.0.0:4050 is given twice"],
    ),
    (
        "[[listener]]\naddress = \"/none/p.sock\"",
        &["pilotfish.toml:2:11: listener.address: there is no folder /none"],
    ),
    (
        "[[listener]]\naddress = \":3306\"\n[[backend]]\naddress = \"127.0.0.1\"",
        &[
            "pilotfish.toml:2:11: listener.address: 0.0.0.0:3306 is also the backend \
           \"127.0.0.1:3306\"; hint: the proxy would connect to itself",
        ],
    ),
    (
        "[[listener]]\naddress = \":4050\"\nrouting.session = \"pooled\"",
        &[
            "pilotfish.toml:3:19: listener.routing.session: must be one of \"transparent\", \"transaction\", \
           \"statement\", \"kernel\", not \"pooled\"",
        ],
    ),
    // Destinations of clients.
    (
        "[[listener]]\naddress = \":4050\"\nredirect = \"backend\"\n[[listener]]\naddress = \":4051\"\n\
         redirect = \"proxy2:4040\"",
        &[],
    ),
    (
        "[[listener]]\naddress = \":4050\"\nredirect = \"backend\"\n[[account]]\nuser = \"a\"\n\
         [[listener]]\naddress = \":4051\"\nredirect = \"backend\"\nrouting.session = \"transparent\"",
        &[
            "pilotfish.toml:3:12: listener.redirect: \"backend\" needs sessions with a backend of their own, and \
           this listener's are pooled; hint: routing.session = \"transparent\", or the address of another proxy",
        ],
    ),
    (
        "[routing]\nscript = \"a.lua\"\n[[listener]]\naddress = \":4050\"\nredirect = \"proxy2\"",
        &[
            "pilotfish.toml:5:12: listener.redirect: leads clients past the scripts of this listener's sessions; \
           hint: routing.script = [] of the listener, and no script of an account",
        ],
    ),
    (
        "[[listener]]\naddress = \":4050\"\nredirect = \"[::1]:4040\"",
        &[
            "pilotfish.toml:3:12: listener.redirect: must be \"backend\" or an address such as \"proxy2:4040\": \
           redirect_url cannot name [::1]:4040; a host name or an IPv4 address can be named",
        ],
    ),
    // The pool.
    (
        "workers = 4\n[pool]\nconnections_min = 6\nbackend_connections_max = 20",
        &[
            "pilotfish.toml:3:19: pool.connections_min: 6 in each of 4 workers are more than \
           pool.backend_connections_max, 20",
        ],
    ),
    (
        "workers = 4\n[pool]\nconnections_min = 5\nbackend_connections_max = 20",
        &[],
    ),
];

#[test]
fn faults_of_accounts_and_listeners_have_their_line() {
    for (text, expected) in CASES {
        assert_eq!(faults_or_warnings(text), *expected, "\n{text}");
    }
}

#[test]
fn a_host_with_a_slash_is_a_network_of_ipv4() {
    for host in [
        "10.0.0.0/33",
        "10.0.0.0/0",
        "10.0.0.0/+8",
        "10.0.0.0/",
        "10.0.0/8",
        "10.%/8",
        "10.0.0.0/255.0.255.0",
        "10.0.0.0/0.0.0.0",
        "db/8",
    ] {
        let text = format!("[[account]]\nuser = \"a\"\npassword = \"p\"\nhost = \"{host}\"");
        let told = faults_or_warnings(&text);
        assert!(
            told.len() == 1 && told[0].contains("is no network"),
            "{told:?}"
        );
    }
}

#[test]
fn ed25519_proves_a_client_but_serves_no_pool() {
    let account = |more: &str, rest: &str| {
        faults_or_warnings(&format!(
            "{rest}\n[[account]]\nuser = \"app\"\nhash = \"{ED25519}\"\n{more}"
        ))
    };
    let fault = "account.hash: of ed25519 yields nothing with which the proxy could log in to a \
                 backend; hint: give account.password instead, or backend_user and \
                 backend_password, or routing.session = \"transparent\"";
    let pooled_listener = "[[listener]]\naddress = \":4050\"\nrouting.session = \"transaction\"";
    let transparent = "[routing]\nsession = \"transparent\"";
    for (more, rest) in [
        ("", ""),
        ("routing.session = \"transaction\"", ""),
        ("routing.session = \"statement\"", transparent),
        ("", &format!("{transparent}\n{pooled_listener}")),
    ] {
        let told = account(more, rest);
        assert!(
            told.len() == 1 && told[0].ends_with(fault),
            "{more} {rest}: {told:?}"
        );
    }
    for (more, rest) in [
        ("routing.session = \"transparent\"", pooled_listener),
        ("", transparent),
        ("backend_user = \"b\"\nbackend_password = \"p\"", ""),
    ] {
        assert_eq!(account(more, rest), [""; 0], "{more} {rest}");
    }
    // Other hashes are enough for a backend's login, or the proxy learns the password from a client's login.
    for hash in [NATIVE, SHA2] {
        let text = format!("[[account]]\nuser = \"app\"\nhash = \"{hash}\"");
        assert_eq!(faults_or_warnings(&text), [""; 0]);
    }
}

#[test]
fn the_mode_that_keeps_a_connection_longer_holds() {
    use SessionMode::{Statement, Transaction, Transparent};
    let pool = |session| RoutingConfig {
        session,
        ..RoutingConfig::default()
    };
    for (default, listener, account, expected) in [
        (Statement, None, None, Statement),
        (Transparent, None, None, Transparent),
        (Transparent, None, Some(Statement), Statement),
        (Transparent, Some(Transaction), None, Transaction),
        (Statement, Some(Transaction), Some(Statement), Transaction),
        (Statement, Some(Statement), Some(Transaction), Transaction),
        (Statement, Some(Transparent), Some(Statement), Transparent),
        (Statement, Some(Statement), Some(Transparent), Transparent),
    ] {
        let found = pool(default).mode(listener, account);
        assert_eq!(found, expected, "{default} {listener:?} {account:?}");
    }
}

#[test]
fn secrets_of_accounts_are_masked_in_all_output() {
    let hash = NATIVE.to_owned();
    let text = format!(
        "[[account]]\nuser = \"a\"\npassword = \"hunter2\"\nbackend_user = \"b\"\n\
         backend_password = \"hunter3\"\n[[account]]\nuser = \"b\"\nhash = \"{hash}\""
    );
    let file = File::new(&with_backend(&text));
    let loaded = file.load().unwrap();
    let open: Vec<_> = loaded
        .warnings
        .iter()
        .map(|it| it.setting.clone())
        .collect();
    let settings = [
        "account.password",
        "account.backend_password",
        "account.hash",
    ];
    assert_eq!(open, settings.map(|it| Some(it.to_owned())));
    let changes = diff(&load(""), &loaded.config);
    for shown in [
        format!("{loaded:?}"),
        manual::to_toml(&loaded.config),
        manual::differences(&loaded.config),
        changes.iter().map(ToString::to_string).collect(),
    ] {
        for secret in ["hunter2", "hunter3", NATIVE] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}

#[test]
fn accounts_and_listeners_come_go_and_change() {
    let old = load(
        "[[listener]]\naddress = \":1\"\n[[listener]]\naddress = \":2\"\n[[account]]\nuser = \"a\"\n\
         [[account]]\nuser = \"b\"\npassword = \"p\"",
    );
    let new = load(
        "[[listener]]\naddress = \":2\"\nrouting.session = \"transparent\"\n[[listener]]\naddress = \":3\"\n\
         [[account]]\nuser = \"c\"\n[[account]]\nuser = \"b\"\npassword = \"q\"\nschema = \"s\"",
    );
    let changes =
        |old, new| -> Vec<String> { diff(old, new).iter().map(Change::to_string).collect() };
    let listeners = [
        "listener: 0.0.0.0:1 goes (needs a restart)",
        "listener[0.0.0.0:2].routing.session: \"\" becomes \"transparent\" (needs a restart)",
        "listener: 0.0.0.0:3 is new (needs a restart)",
    ];
    let accounts = [
        "account: 'a'@'%' goes",
        "account: 'c'@'%' is new",
        "account['b'@'%'].password: \"…\" becomes \"…\"",
        "account['b'@'%'].schema: \"\" becomes \"s\"",
    ];
    assert_eq!(
        changes(&old, &new),
        [&listeners[..], &accounts[..]].concat()
    );

    // The next reload reports changes that need a restart again.
    let reloaded = old.reloaded(&new);
    assert_eq!(reloaded.listeners, old.listeners);
    assert_eq!(reloaded.configured_accounts, new.configured_accounts);
    assert_eq!(changes(&reloaded, &new), listeners);
}

#[test]
fn printed_lists_can_be_read_again() {
    let config = load(
        "[routing]\nsession = \"transaction\"\n[pool]\nage_max = 0\n[[listener]]\naddress = \"[::1]:4050\"\n\
         routing.session = \"transparent\"\n[[account]]\nuser = \"a\\\"b\"\nnetworks = \"10.0.0.0/8\"\n\
         pin = \"warnings\"",
    );
    assert_eq!(config.pool.age_max, Duration::ZERO);
    for printed in [manual::to_toml(&config), manual::differences(&config)] {
        let read = File::new(&printed).load().unwrap().config;
        assert_eq!(read, config, "{printed}");
    }
}

#[test]
fn every_setting_of_a_list_is_documented() {
    let page = super::values::all_pages();
    let names = LISTENER.settings.iter().map(|it| (it.name, it.about()));
    let names = names.chain(ACCOUNT.settings.iter().map(|it| (it.name, it.about())));
    for (name, about) in names {
        assert!(about.ends_with('.'), "{name}: {about}");
        let in_table = name
            .split_once(".routing.")
            .map(|(_, key)| format!("- `routing.{key}`: "));
        let heading = in_table.unwrap_or_else(|| format!("## `{name}`\n"));
        assert!(page.contains(&heading), "{name}");
    }
}
