use super::*;

fn matches(pattern: &str, dialect: Dialect, origin: &Origin, names: Names) -> bool {
    HostPattern::new(pattern, dialect).matches(origin, names)
}

fn tcp(address: &str, name: Option<&str>) -> Origin {
    Origin::tcp(address.parse().unwrap(), name.map(str::to_owned))
}

/// Cases that need a host name; the other cases were recorded from servers (`tests/hosts.rs`).
#[test]
fn host_names_match_only_if_names_are_resolved() {
    use Names::{Resolved, Skipped};
    let here = tcp("127.0.0.1", None);
    let here_v6 = tcp("::1", None);
    let app = tcp("10.1.2.3", Some("App1.example.com"));
    let unnamed = tcp("10.1.2.3", None);
    for (pattern, origin, names, expected) in [
        ("localhost", &Origin::unix(), Resolved, true),
        ("localhost", &Origin::unix(), Skipped, true),
        ("LocalHost", &Origin::unix(), Skipped, true),
        ("127.0.0.1", &Origin::unix(), Resolved, false),
        ("%", &Origin::unix(), Skipped, true),
        ("localhost", &here, Resolved, true),
        ("localhost", &here_v6, Resolved, true),
        ("127.0.0.1", &here, Resolved, true),
        ("::1", &here_v6, Resolved, true),
        ("localhost", &here, Skipped, false),
        ("localhost", &tcp("127.0.0.2", None), Resolved, false),
        ("app1.example.com", &app, Resolved, true),
        ("app1.example.com", &app, Skipped, false),
        ("app1.example.com", &unnamed, Resolved, false),
        ("%.example.com", &app, Resolved, true),
        ("%.example.org", &app, Resolved, false),
        ("app_.example.com", &app, Resolved, true),
        ("10.1.%", &app, Resolved, true),
        ("10.1.%", &app, Skipped, true),
    ] {
        for dialect in [Dialect::MariaDb, Dialect::MySql, Dialect::MySqlWithoutCidr] {
            let found = matches(pattern, dialect, origin, names);
            assert_eq!(
                found, expected,
                "{pattern} for {origin:?}, {names:?}, {dialect:?}"
            );
        }
    }
}

#[test]
fn hosts_in_the_syntax_of_newer_mysql_are_texts_to_other_servers() {
    let origin = tcp("10.1.2.3", None);
    for (pattern, mariadb, mysql, mysql_before) in [
        ("10.0.0.0/8", false, true, false),
        ("10.1.2.3/8", false, false, false),
        ("10.0.0.0/255.0.0.0", true, true, true),
        ("10.0.2.0/255.0.255.0", true, false, true),
        ("10.1.2.3/33", false, false, false),
        ("10.1.2.0/+24", false, false, false),
    ] {
        let found = [Dialect::MariaDb, Dialect::MySql, Dialect::MySqlWithoutCidr]
            .map(|dialect| matches(pattern, dialect, &origin, Names::Skipped));
        assert_eq!(found, [mariadb, mysql, mysql_before], "{pattern}");
    }
}

#[test]
fn an_ipv4_client_of_an_ipv6_socket_is_an_ipv4_client() {
    let mapped = tcp("::ffff:10.1.2.3", None);
    assert!(matches("10.1.2.%", Dialect::MySql, &mapped, Names::Skipped));
    assert!(matches(
        "10.0.0.0/8",
        Dialect::MySql,
        &mapped,
        Names::Skipped
    ));
    assert_eq!(mapped.shown(Names::Skipped), "10.1.2.3");
}

#[test]
fn the_version_selects_the_dialect() {
    for (version, dialect) in [
        ("10.11.19-MariaDB-0+deb12u1", Dialect::MariaDb),
        ("5.5.5-10.11.19-MariaDB-0+deb12u1", Dialect::MariaDb),
        ("9.7.4-2", Dialect::MySql),
        ("8.0.23", Dialect::MySql),
        ("8.0.22-13", Dialect::MySqlWithoutCidr),
        ("5.7.44-log", Dialect::MySqlWithoutCidr),
    ] {
        assert_eq!(Dialect::of_version(version), dialect, "{version}");
    }
}

#[test]
fn only_names_have_to_be_looked_up() {
    let wants = |text: &str| HostPattern::new(text, Dialect::MySql).needs_host_name();
    assert!(wants("app1.example.com") && wants("%.example.com"));
    assert!(!wants("localhost") && !wants("10.1.%") && !wants("fe80::1") && !wants("%"));
    assert!(!wants("10.0.0.0/8"));
}
