use std::time::Duration;

use super::columns::verifier;
use super::*;
use crate::{Expiry, Plugin, TlsRequirement, Verifier};

const MARIADB: &str = "10.11.19-MariaDB";
const MYSQL: &str = "9.7.4-2";

fn learned(version: &str, values: &[Option<&str>]) -> Result<Option<Account>, MalformedRow> {
    let row: Vec<Option<&[u8]>> = values.iter().map(|it| it.map(str::as_bytes)).collect();
    account(version, &row)
}

/// A row of `mysql.global_priv`.
fn mariadb(json: &str) -> Account {
    let row = [Some("app"), Some("10.%"), Some(json), Some("0")];
    learned(MARIADB, &row).unwrap().unwrap()
}

/// A row of `mysql.user`: plugin, hash, and the columns that differ from the defaults.
fn mysql(plugin: &str, stored: &str, others: &[(usize, Option<&str>)]) -> Account {
    let mut row = vec![
        Some("app"),
        Some("10.%"),
        Some(plugin),
        Some(stored),
        Some(""),
        Some(""),
        Some(""),
        Some(""),
        Some("0"),
        Some("N"),
        Some("N"),
        Some("1795188380"),
        Some("0"),
        None,
    ];
    for (column, value) in others {
        row[*column] = *value;
    }
    learned(MYSQL, &row).unwrap().unwrap()
}

fn verifiers(account: &Account) -> &[Verifier] {
    match &account.login_method {
        LoginMethod::Examined(verifiers) => verifiers,
        LoginMethod::PassedThrough(reason) => panic!("passed through: {reason}"),
    }
}

const HASH: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
const SHA2: &str = "$A$005$6U`~m'-h:xRA.'Ts?w30ME1jCujyU035ycW63y4kHwMGnpthGV4gRracJPEqMp9";

/// Rows of MariaDB 10.11 and 11.8, `Priv` as JSON_COMPACT shows it.
#[test]
fn accounts_of_mariadb_are_learned() {
    let plain = mariadb(
        r#"{"access":0,"version_id":101119,"plugin":"mysql_native_password","authentication_string":"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7","password_last_changed":1795188380,"default_role":"therole"}"#,
    );
    assert_eq!(verifiers(&plain), [verifier("", HASH.as_bytes()).unwrap()]);
    assert_eq!(plain.name(), "'app'@'10.%'");
    assert_eq!(plain.default_role.as_deref(), Some("therole"));
    assert_eq!(plain.conditions.expiry, Expiry::Never);
    assert_eq!(
        (
            plain.conditions.locked,
            plain.conditions.user_connections_max
        ),
        (false, None)
    );

    // The row that the installation makes, with neither plugin nor password.
    let root = mariadb(r#"{"access":18446744073709551615}"#);
    assert_eq!(verifiers(&root), [Verifier::Empty(Plugin::Native)]);

    let system = mariadb(
        r#"{"access":0,"plugin":"mysql_native_password","authentication_string":"","account_locked":true,"password_last_changed":0}"#,
    );
    assert_eq!(
        (system.conditions.locked, system.conditions.expiry),
        (true, Expiry::Expired)
    );

    let limited = mariadb(
        r#"{"access":0,"plugin":"mysql_native_password","authentication_string":"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7","max_user_connections":7,"password_last_changed":1795188380,"password_lifetime":90}"#,
    );
    let at = Duration::from_secs(1_795_188_380 + 90 * 24 * 60 * 60);
    assert_eq!(limited.conditions.expiry, Expiry::At(at));
    assert_eq!(limited.conditions.user_connections_max, Some(7));
}

#[test]
fn tls_requirements_of_mariadb_are_learned() {
    let tls = |rest: &str| {
        mariadb(&format!(
            r#"{{"access":0,"plugin":"mysql_native_password","authentication_string":"",{rest}}}"#
        ))
        .conditions
        .tls
    };
    let empty = r#""ssl_cipher":"","x509_issuer":"","x509_subject":"""#;
    assert_eq!(
        tls(&format!(r#""ssl_type":1,{empty}"#)),
        TlsRequirement::Any
    );
    assert_eq!(
        tls(&format!(r#""ssl_type":2,{empty}"#)),
        TlsRequirement::X509
    );
    let specified = tls(
        r#""ssl_type":3,"ssl_cipher":"TLS_AES_256_GCM_SHA384","x509_issuer":"/CN=ca","x509_subject":"/CN=client""#,
    );
    assert_eq!(
        specified,
        TlsRequirement::Specified {
            has_certificate: false,
            cipher: Some("TLS_AES_256_GCM_SHA384".to_owned()),
            issuer: Some("/CN=ca".to_owned()),
            subject: Some("/CN=client".to_owned()),
        }
    );
}

#[test]
fn alternative_plugins_of_an_account_are_learned_if_all_are_known() {
    let native = r#""plugin":"mysql_native_password","authentication_string":"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7""#;
    let sha2 = format!(r#"{{"plugin":"caching_sha2_password","authentication_string":"{SHA2}"}}"#);
    let both = mariadb(&format!(r#"{{{native},"auth_or":[{sha2},{{}}]}}"#));
    let expected = [
        verifier("caching_sha2_password", SHA2.as_bytes()).unwrap(),
        verifier("mysql_native_password", HASH.as_bytes()).unwrap(),
    ];
    assert_eq!(verifiers(&both), expected);

    let ed25519 = r#"{"plugin":"ed25519","authentication_string":"Q4Dlp4kExfMj4nHnTuB0s7yLF0/eeNZCp1qf5mQtkPU"}"#;
    let one_of_no_use = mariadb(&format!(r#"{{{native},"auth_or":[{{}},{ed25519}]}}"#));
    let reason = PassThrough::Plugin("ed25519".to_owned());
    assert_eq!(
        one_of_no_use.login_method,
        LoginMethod::PassedThrough(reason)
    );

    // A client behind a proxy has no operating system user on the server's socket.
    let socket = r#"{"plugin":"unix_socket"}"#;
    let or_socket = mariadb(&format!(r#"{{{native},"auth_or":[{{}},{socket}]}}"#));
    assert_eq!(verifiers(&or_socket).len(), 1);
    let only_socket = mariadb(r#"{"access":0,"plugin":"unix_socket"}"#);
    let reason = PassThrough::Plugin("unix_socket".to_owned());
    assert_eq!(only_socket.login_method, LoginMethod::PassedThrough(reason));
}

#[test]
fn roles_and_accounts_without_connections_cannot_log_in() {
    let role = [
        Some("therole"),
        Some(""),
        Some(r#"{"access":0,"is_role":true}"#),
        Some("0"),
    ];
    assert_eq!(learned(MARIADB, &role), Ok(None));
    let none = mariadb(r#"{"plugin":"mysql_native_password","max_user_connections":-1}"#);
    assert_eq!(
        none.login_method,
        LoginMethod::PassedThrough(PassThrough::NoConnection)
    );
}

#[test]
fn accounts_of_mysql_are_learned() {
    let plain = mysql("caching_sha2_password", SHA2, &[]);
    let expected = verifier("caching_sha2_password", SHA2.as_bytes()).unwrap();
    assert_eq!(verifiers(&plain), [expected]);
    assert_eq!(
        (plain.conditions.expiry, plain.conditions.locked),
        (Expiry::Never, false)
    );
    assert_eq!(plain.conditions.tls, TlsRequirement::None);

    let empty = mysql("caching_sha2_password", "", &[]);
    assert_eq!(verifiers(&empty), [Verifier::Empty(Plugin::CachingSha2)]);

    let strict = [
        (4, Some("X509")),
        (8, Some("7")),
        (9, Some("Y")),
        (11, Some("1795188380.000000")),
        (12, Some("90")),
    ];
    let strict = mysql("caching_sha2_password", SHA2, &strict);
    assert_eq!(strict.conditions.tls, TlsRequirement::X509);
    assert_eq!(
        (
            strict.conditions.locked,
            strict.conditions.user_connections_max
        ),
        (true, Some(7))
    );
    let at = Duration::from_secs(1_795_188_380 + 90 * 24 * 60 * 60);
    assert_eq!(strict.conditions.expiry, Expiry::At(at));
    let expired = mysql("caching_sha2_password", SHA2, &[(10, Some("Y"))]);
    assert_eq!(expired.conditions.expiry, Expiry::Expired);

    let sha256 = mysql("sha256_password", "$5$…", &[]);
    let reason = PassThrough::Plugin("sha256_password".to_owned());
    assert_eq!(sha256.login_method, LoginMethod::PassedThrough(reason));
}

/// `User_attributes` as MySQL 9.7 shows them.
#[test]
fn attributes_of_mysql_are_understood() {
    let with = |attributes: &str| {
        mysql("caching_sha2_password", SHA2, &[(13, Some(attributes))]).login_method
    };
    let factors = r#"{"multi_factor_authentication": [{"plugin": "cleartext_plugin_server", "passwordless": 0, "authentication_string": "factor two", "requires_registration": 0}]}"#;
    assert_eq!(
        with(factors),
        LoginMethod::PassedThrough(PassThrough::Factors)
    );
    let counted =
        r#"{"Password_locking": {"failed_login_attempts": 3, "password_lock_time_days": 2}}"#;
    assert_eq!(
        with(counted),
        LoginMethod::PassedThrough(PassThrough::CountsFailures)
    );
    let comment = r#"{"metadata": {"comment": "hello"}}"#;
    assert!(matches!(with(comment), LoginMethod::Examined(it) if it.len() == 1));
    let former = format!(r#"{{"additional_password": "{SHA2}"}}"#);
    assert!(matches!(with(&former), LoginMethod::Examined(it) if it.len() == 2));
}

#[test]
fn an_invalid_hash_authenticates_no_client() {
    // The hash of MySQL's `mysql.sys`, which is well formed, and of MariaDB's root.
    for (plugin, stored) in [
        (
            "caching_sha2_password",
            "$A$005$THISISACOMBINATIONOFINVALIDSALTANDPASSWORDTHATMUSTNEVERBRBEUSED",
        ),
        ("mysql_native_password", "invalid"),
        (
            "mysql_native_password",
            "*THISISNOTAVALIDPASSWORDTHATCANBEUSEDHERE",
        ),
    ] {
        let verifier = verifier(plugin, stored.as_bytes()).unwrap();
        assert!(!verifier.is_empty());
        assert_eq!(
            verifier.check_native(b"abcdefghijklmnopqrst", &[0; 20]),
            None
        );
        assert!(!verifier.is_password(&crate::Password::new(stored)));
    }
}

#[test]
fn malformed_rows_are_reported() {
    let row = [Some("app"), Some("%"), Some("no JSON"), Some("0")];
    assert_eq!(learned(MARIADB, &row), Err(MalformedRow("Priv")));
    assert_eq!(learned(MARIADB, &[]), Err(MalformedRow("Priv")));
    let row = [Some("app"), Some("%"), Some(r#"{"ssl_type":9}"#), Some("0")];
    assert_eq!(learned(MARIADB, &row), Err(MalformedRow("ssl_type")));
    let mut row = [None; 14];
    row[4] = Some("WHAT");
    assert_eq!(learned(MYSQL, &row), Err(MalformedRow("ssl_type")));
    row[4] = None;
    row[13] = Some("[");
    assert_eq!(learned(MYSQL, &row), Err(MalformedRow("User_attributes")));
}

#[test]
fn each_family_is_asked_in_its_own_way() {
    assert!(query(MARIADB).ends_with("FROM mysql.global_priv"));
    assert!(query(MYSQL).contains("User_attributes"));
    assert!(query("8.0.14").contains("User_attributes"));
    assert!(!query("8.0.13").contains("User_attributes"));
    assert!(!query("5.7.44").contains("User_attributes"));
}

#[test]
fn an_account_whose_row_is_not_understood_passes_through() {
    let row: [Option<&[u8]>; 4] = [Some(b"app"), Some(b"10.%"), Some(b"{"), None];
    let malformed = account(MARIADB, &row).unwrap_err();
    let passed = unreadable(MARIADB, &row, malformed).unwrap();
    assert_eq!(passed.name(), "'app'@'10.%'");
    let why = PassThrough::Unreadable(MalformedRow("Priv"));
    assert_eq!(passed.login_method, LoginMethod::PassedThrough(why));

    for row in [[Some(b"\xff".as_slice()), Some(b"%")], [Some(b"app"), None]] {
        assert_eq!(unreadable(MYSQL, &row, malformed), None);
    }
}
