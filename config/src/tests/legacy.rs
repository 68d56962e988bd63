//! MySQL Proxy's options and its defaults file.

use std::path::Path;

use crate::mysql_proxy::{
    Legacy, Meaning, OPTIONS, Replicant, ReplicantOption, Translation, names_of, read_defaults_file,
};
use crate::*;

fn legacy(name: &str) -> &'static Legacy {
    OPTIONS.iter().find(|option| option.name == name).unwrap()
}

fn translate(given: &[(&str, &str)]) -> Translation {
    let mut translation = Translation::default();
    for (name, word) in given {
        let option = legacy(name);
        let words = if option.takes_value {
            vec![(*word).to_owned()]
        } else {
            vec![]
        };
        translation.add(
            option,
            format!("--{name}"),
            SourceLocation::COMMAND_LINE,
            words,
        );
    }
    translation
}

fn load(given: &[(&str, &str)]) -> Config {
    let translation = translate(given);
    assert_eq!(translation.faults, []);
    Config::load(None, &translation.overrides).unwrap().config
}

#[test]
fn every_alias_sets_its_setting() {
    let config = load(&[
        ("proxy-address", "1.2.3.4:4000"),
        ("proxy-backend-addresses", "a:1,b:2"),
        ("proxy-read-only-backend-addresses", "c"),
        ("proxy-connect-timeout", "2.5"),
        ("proxy-read-timeout", "28800"),
        ("event-threads", "3"),
        ("max-open-files", "4096"),
        ("pid-file", "/p.pid"),
        ("user", "mysql"),
        ("log-level", "message"),
        ("log-file", "/p.log"),
    ]);
    assert_eq!(config.listen, ["1.2.3.4:4000".parse().unwrap()]);
    let names: Vec<_> = config
        .backends
        .iter()
        .map(|it| (it.name.as_str(), it.role))
        .collect();
    assert_eq!(
        names,
        [
            ("a:1", Role::Primary),
            ("b:2", Role::Primary),
            ("c:3306", Role::Replica)
        ]
    );
    assert_eq!(config.health.timeout_connect.as_millis(), 2500);
    assert_eq!(config.limits.timeout_idle.as_secs(), 28800);
    assert_eq!(config.workers, 3);
    assert_eq!(config.open_files_max, Some(4096));
    assert_eq!(config.pid_file.as_deref(), Some(Path::new("/p.pid")));
    assert_eq!(config.user.as_deref(), Some("mysql"));
    assert_eq!(config.log.level, LogLevel::Info);
    assert_eq!(config.log.file.as_deref(), Some(Path::new("/p.log")));
}

#[test]
fn every_alias_names_a_setting() {
    for option in OPTIONS {
        if let Meaning::Setting(name) = option.meaning {
            assert!(
                setting(name).is_some() || [PRIMARIES, REPLICAS].contains(&name),
                "{name}"
            );
        }
    }
    let names: Vec<_> = names_of("listen").map(|option| option.name).collect();
    assert_eq!(names, ["proxy-address"]);
}

#[test]
fn log_levels_of_mysql_proxy_are_read() {
    for (level, ours) in [
        ("error", LogLevel::Error),
        ("critical", LogLevel::Error),
        ("warning", LogLevel::Warning),
        ("message", LogLevel::Info),
        ("info", LogLevel::Info),
        ("debug", LogLevel::Debug),
    ] {
        let config = load(&[("proxy-backend-addresses", "a"), ("log-level", level)]);
        assert_eq!(config.log.level, ours, "{level}");
    }
}

#[test]
fn an_address_without_a_port_has_the_port_of_mysql_proxy() {
    for (address, listen) in [
        ("1.2.3.4", "1.2.3.4:3306"),
        ("[::1]", "[::1]:3306"),
        (":4041", "0.0.0.0:4041"),
        ("/p.sock", "unix:/p.sock"),
    ] {
        let config = load(&[("proxy-backend-addresses", "a"), ("proxy-address", address)]);
        assert_eq!(config.listen[0].to_string(), listen);
    }
}

#[test]
fn no_option_is_ignored_in_silence() {
    for option in OPTIONS {
        let word = if option.name == "basedir" { "/" } else { "9" };
        let did = translate(&[(option.name, word)]);
        let refused = matches!(
            option.meaning,
            Meaning::Refused(_) | Meaning::Plugins | Meaning::Replicant(ReplicantOption::Mode)
        );
        assert_eq!(!did.faults.is_empty(), refused, "{}", option.name);
        assert!(
            refused
                || did.base_folder.is_some()
                || did.replicant != Replicant::default()
                || did.overrides.len() + did.warnings.len() == 1,
            "{}",
            option.name
        );
        for fault in did.faults.iter().chain(&did.warnings) {
            assert!(
                fault
                    .to_string()
                    .starts_with(&format!("--{}: ", option.name)),
                "{fault}"
            );
        }
    }
}

#[test]
fn built_in_plugins_of_mysql_proxy_are_accepted_and_others_refused() {
    assert_eq!(translate(&[("plugins", "proxy,admin")]).faults, []);
    let faults = translate(&[("plugins", "proxy,replicant"), ("plugins", "debug")]).faults;
    let faults: Vec<_> = faults.iter().map(Fault::to_string).collect();
    assert_eq!(faults.len(), 2);
    assert!(faults[0].contains("[[replication]]") && faults[1].contains("no plugin \"debug\""));
}

#[test]
fn the_replication_client_is_asked_for_in_each_way_of_mysql_proxy() {
    let followed = |options: &[(&str, &str)]| {
        let mut given = translate(options);
        given.follow_source();
        assert_eq!(given.faults, []);
        assert!(given.replicant.is_asked_for());
        let config = Config::load(None, &given.overrides).unwrap().config;
        let address = config.backends[0].address.to_string();
        (address, given.replicant.username().to_owned())
    };
    let of = |address: &str, user: &str| (address.to_owned(), user.to_owned());
    assert_eq!(
        followed(&[("mode", "reverse")]),
        of("127.0.0.1:3306", "repl")
    );
    assert_eq!(
        followed(&[("repclient-port", "3307")]),
        of("127.0.0.1:3307", "repl")
    );
    let options = [
        ("plugins", "replicant"),
        ("replicant-master-address", "10.0.0.1"),
        ("replicant-username", "app"),
        ("replicant-password", "x"),
    ];
    assert_eq!(followed(&options), of("10.0.0.1:3306", "app"));
    let mut given = translate(&options);
    assert_eq!(given.replicant.password.take(), Some(Secret::new("x")));
    let mut file = translate(&[("basedir", "/srv"), ("replicant-read-binlogs", "log.1")]);
    file.resolve_paths();
    assert_eq!(
        file.replicant.binlogs.as_deref(),
        Some(Path::new("/srv/log.1"))
    );
}

#[test]
fn unsupported_options_of_the_replication_client_are_refused() {
    for options in [
        &[("mode", "reverse"), ("proxy-backend-addresses", "a")][..],
        &[("mode", "reverse"), ("proxy-address", ":1")],
        &[("replicant-username", "a")],
        &[("repclient-port", "0")],
        &[("mode", "forward")],
    ] {
        let mut given = translate(options);
        given.follow_source();
        assert_eq!(given.faults.len(), 1, "{options:?}");
    }
    let mut proxy = translate(&[("proxy-backend-addresses", "a")]);
    proxy.follow_source();
    assert!(proxy.faults.is_empty() && !proxy.replicant.is_asked_for());
}

#[test]
fn relative_paths_start_from_the_base_folder() {
    let mut given = translate(&[
        ("log-file", "p.log"),
        ("pid-file", "/p.pid"),
        ("basedir", "/srv"),
        ("user", "u"),
    ]);
    given.resolve_paths();
    let words: Vec<_> = given
        .overrides
        .iter()
        .map(|it| it.words[0].as_str())
        .collect();
    assert_eq!(words, ["/srv/p.log", "/p.pid", "/srv", "u"]);
    assert_eq!(translate(&[("basedir", "srv")]).faults.len(), 1);
}

fn read(text: &str) -> Translation {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mysql-proxy.cnf");
    std::fs::write(&path, text).unwrap();
    let strip = |mut faults: Vec<Fault>| {
        for fault in &mut faults {
            fault.location.file = Some("mysql-proxy.cnf".into());
        }
        faults
    };
    let read = read_defaults_file(&path);
    Translation {
        warnings: strip(read.warnings),
        faults: strip(read.faults),
        ..read
    }
}

fn shown(faults: &[Fault]) -> Vec<String> {
    faults.iter().map(Fault::to_string).collect()
}

#[test]
fn a_defaults_file_is_read() {
    let read = read(
        "# comment\n[mysqld]\nport = 3306\nnonsense\n\n[mysql-proxy]\n\
         proxy-backend-addresses = 10.0.0.1:3306, 10.0.0.2\n\
         proxy_address=:4000\n  log-level = debug\ndaemon = false\nproxy-skip-profiling = true\n\
         pid-file = /my\\sproxy.pid\n",
    );
    assert_eq!(read.faults, []);
    assert_eq!(
        shown(&read.warnings),
        ["mysql-proxy.cnf:11:1: proxy-skip-profiling: there is no profiling to skip",]
    );
    let config = Config::load(None, &read.overrides).unwrap().config;
    assert_eq!(config.backends.len(), 2);
    assert_eq!(config.listen, [":4000".parse().unwrap()]);
    assert_eq!(config.log.level, LogLevel::Debug);
    assert_eq!(config.pid_file.as_deref(), Some(Path::new("/my proxy.pid")));
}

#[test]
fn faults_of_a_defaults_file_have_their_lines() {
    let found = read(
        "[mysql-proxy]\nproxy-adress = :1\nlog-use-syslog = true\ndaemon = maybe\nnonsense\n\
         mode = x\nevent-threads = many\nproxy-backend-addresses = a\n",
    );
    assert_eq!(
        shown(&found.warnings),
        [
            "mysql-proxy.cnf:2:1: proxy-adress: is no option, and left out; hint: did you mean \"proxy-address\"?",
        ]
    );
    let faults = shown(&found.faults);
    let starts = [
        "mysql-proxy.cnf:3:1: log-use-syslog: the log goes",
        "mysql-proxy.cnf:4:1: daemon: must be true or false",
        "mysql-proxy.cnf:5:1: is neither",
        "mysql-proxy.cnf:6:1: mode: must be",
    ];
    assert_eq!(faults.len(), starts.len());
    for (fault, start) in faults.iter().zip(starts) {
        assert!(fault.starts_with(start), "{fault}");
    }
    let faults = Config::load(None, &found.overrides).unwrap_err();
    assert_eq!(faults[0].setting.as_deref(), Some("event-threads"));
    assert_eq!(faults[0].location.position, Some((7, 1)));
    assert_eq!(shown(&read("x = 1\n").faults).len(), 1);
    assert_eq!(
        shown(&read("[other]\n").warnings),
        ["mysql-proxy.cnf: has no group [mysql-proxy]"]
    );
    assert_eq!(read_defaults_file(Path::new("/none.cnf")).faults.len(), 1);
}

#[test]
fn the_command_line_wins_over_the_defaults_file() {
    let file =
        read("[mysql-proxy]\nlog-level = debug\nproxy-backend-addresses = a\nbasedir = /one\n");
    let both = file.then(translate(&[
        ("log-level", "error"),
        ("proxy-backend-addresses", "b"),
        ("basedir", "/two"),
    ]));
    let config = Config::load(None, &both.overrides).unwrap().config;
    assert_eq!(config.log.level, LogLevel::Error);
    assert_eq!(config.backends.len(), 1);
    assert_eq!(config.backends[0].name, "b:3306");
    assert_eq!(both.base_folder.as_deref(), Some(Path::new("/two")));
}

#[test]
fn the_manual_names_every_option() {
    let page = include_str!("../../../docs/manual/src/mysql-proxy.md");
    for option in OPTIONS {
        let name = option.name;
        let (plain, with_value) = (format!("`--{name}`"), format!("`--{name}="));
        assert!(
            page.contains(&plain) || page.contains(&with_value),
            "--{name}"
        );
    }
}

#[test]
fn a_password_is_warned_of_where_others_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proxy.cnf");
    let text = "[mysql-proxy]\nproxy-backend-addresses=a\nadmin-username=root\nadmin-password=x\n";
    std::fs::write(&file, text).unwrap();
    for (mode, told) in [(0o640, None), (0o644, Some("every user of this machine"))] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let translation = read_defaults_file(&file);
        let loaded = Config::load(None, &translation.overrides).unwrap();
        let warned = loaded.warnings.first().map(ToString::to_string);
        assert_eq!(warned.is_some(), told.is_some(), "{warned:?}");
        if let (Some(warned), Some(told)) = (warned, told) {
            assert!(warned.contains(told), "{warned}");
            assert!(!warned.contains("list of processes"), "{warned}");
        }
    }
}
