//! Defaults, ranges, kinds of values, and the conversion back to TOML.

use std::time::Duration;

use proptest::prelude::*;

use super::{File, load, load_options, load_path, option, with_backend};
use crate::setting::{BACKEND, Setting, ValueType, settings};
use crate::*;

/// Every setting and its default, as the manual shows it.
const DEFAULTS: &[(&str, &str)] = &[
    ("listen", "[\"0.0.0.0:4040\"]"),
    ("workers", "0"),
    ("pid_file", "\"\""),
    ("user", "\"\""),
    ("open_files_max", "0"),
    ("zone", "\"\""),
    ("timeout_drain", "\"30s\""),
    ("routing.cluster", "the first backend's"),
    ("routing.replicas", "\"split\""),
    ("routing.consistency", "\"session\""),
    ("routing.optimistic_transactions", "false"),
    ("routing.session", "\"statement\""),
    ("routing.lanes", "\"reads\""),
    ("routing.script", "[]"),
    ("balance.policy", "\"fewest_sessions\""),
    ("balance.reads", "\"fewest_in_flight\""),
    ("balance.lag_max", "\"0s\""),
    ("balance.lag_return", "80"),
    ("balance.lag_unknown", "\"use\""),
    ("balance.fallback", "\"primary\""),
    ("balance.functions_that_read", "[]"),
    ("balance.learn_definitions", "true"),
    ("balance.learn_definitions_interval", "\"10m\""),
    ("balance.timeout_consistency", "\"500ms\""),
    ("balance.slow_start", "\"10s\""),
    ("balance.timeout_backend_wait", "\"30s\""),
    ("pool.defer_begin", "true"),
    ("pool.backend_connections_max", "100"),
    ("pool.account_connections_max", "0"),
    ("pool.account_kept_percent_max", "80"),
    ("pool.adaptive_limit", "true"),
    ("pool.adaptive_limit_min", "4"),
    ("pool.adaptive_limit_max", "1000"),
    ("pool.adaptive_limit_counts_for", "\"100ms\""),
    ("pool.connections_min", "0"),
    ("pool.waiters_max", "10000"),
    ("pool.timeout_wait", "\"10s\""),
    ("pool.timeout_idle", "\"5m\""),
    ("pool.age_max", "\"1h\""),
    ("pool.login_age_max", "\"1m\""),
    ("pool.ping_interval", "\"30s\""),
    ("pool.globals_interval", "\"1s\""),
    ("pool.opens_per_second", "100"),
    ("pool.opens_burst", "20"),
    ("pool.prepared_max", "200"),
    ("pool.statement_bytes_max", "\"16MiB\""),
    ("pool.long_data_bytes_max", "\"64MiB\""),
    ("accounts.learn", "false"),
    ("accounts.learn_interval", "\"30s\""),
    ("accounts.end_dropped_sessions", "false"),
    ("accounts.delay_failures", "true"),
    ("accounts.others", "\"relay\""),
    ("accounts.explain", "false"),
    ("health.timeout_connect", "\"2s\""),
    ("health.probe_interval", "\"250ms\""),
    ("health.probe_interval_max", "\"500ms\""),
    ("health.timeout_down", "\"10s\""),
    ("health.resolve_interval", "\"30s\""),
    ("health.monitor_user", "\"\""),
    ("health.monitor_password", "\"\""),
    ("health.monitor_interval", "\"5s\""),
    ("health.replication_interval", "\"500ms\""),
    ("limits.sessions_max", "20000"),
    ("limits.backend_sessions_max", "0"),
    (
        "limits.memory_bytes_max",
        "three quarters of the memory of the machine or the container",
    ),
    ("limits.over_limit", "\"refuse\""),
    ("limits.timeout_over_limit", "\"10s\""),
    ("limits.timeout_login", "\"10s\""),
    ("limits.connect_errors_max", "0"),
    ("limits.timeout_idle", "\"0s\""),
    ("limits.timeout_idle_transaction", "\"0s\""),
    ("limits.timeout_half_closed", "\"5s\""),
    ("limits.packet_bytes_max", "\"1GiB\""),
    ("hints.accepted", "[]"),
    ("hints.hostgroups", "[]"),
    ("client_tls.mode", "\"optional\""),
    ("client_tls.certificate", "\"\""),
    ("client_tls.key", "\"\""),
    ("client_tls.ca", "\"\""),
    ("client_tls.client_certificate", "\"not_asked\""),
    ("backend_tls.mode", "\"off\""),
    ("backend_tls.ca", "\"\""),
    ("backend_tls.certificate", "\"\""),
    ("backend_tls.key", "\"\""),
    ("backend_tls.server_public_key", "\"\""),
    ("backend_tls.get_server_public_key", "false"),
    ("compression.client", "[\"zlib\", \"zstd\"]"),
    ("compression.backend", "\"off\""),
    ("compression.zstd_level", "3"),
    ("proxy_protocol.trusted_networks", "[]"),
    ("proxy_protocol.send", "\"off\""),
    ("log.level", "\"info\""),
    ("log.format", "\"text\""),
    ("log.file", "\"\""),
    ("log.slow_statements", "\"0s\""),
    ("log.failed_statements", "false"),
    ("log.sample_one_in", "0"),
    ("script.isolation", "\"shared\""),
    ("script.results", "\"asked\""),
    ("script.lua_path", "what `LUA_PATH` says"),
    ("script.base_folder", "\"\""),
    ("script.instructions_max", "20000000"),
    ("script.time_max", "\"1s\""),
    ("script.timeout_query", "\"1m\""),
    ("script.memory_bytes_max", "\"256MiB\""),
    ("script.shared_bytes_max", "\"16MiB\""),
    ("script.result_bytes_max", "\"64MiB\""),
    ("script.statements_max", "10000"),
    ("admin.address", "[\"127.0.0.1:4041\"]"),
    ("admin.username", "\"\""),
    ("admin.password", "\"\""),
    ("admin.script", "\"\""),
    ("admin.connections_max", "100"),
    ("admin.timeout_statement", "\"10s\""),
    ("admin.rows_max", "100000"),
    ("http.address", r#"["127.0.0.1:4042"]"#),
    ("http.token", r#""""#),
    ("http.names", "[]"),
    ("http.metrics", r#""login""#),
    ("http.connections_max", "256"),
    ("http.change_readers_max", "32"),
    ("statement_stats.digests", "true"),
    ("statement_stats.transparent", "false"),
    ("statement_stats.digests_bytes_max", "\"64MiB\""),
    ("statement_stats.slow_statements", "\"1s\""),
    ("statement_stats.slow_statements_max", "1000"),
    ("statement_stats.include_values", "false"),
    ("statement_stats.index_usage", "false"),
    ("statement_stats.explain_interval", "\"10m\""),
    ("statement_stats.explains_per_second_max", "10"),
    ("statement_stats.history", "\"file\""),
    ("statement_stats.history_file", "\"\""),
    ("statement_stats.history_interval", "\"1m\""),
    ("statement_stats.history_load_interval", "\"10s\""),
    ("statement_stats.history_retention", "\"7d\""),
    ("statement_stats.history_digests_max", "200"),
    ("statement_stats.history_bytes_max", "\"256MiB\""),
    ("statement_stats.plan_file", "\"\""),
    ("statement_stats.plan_digests_max", "1000"),
    ("statement_stats.plan_interval", "\"1m\""),
    ("schema_history.file", "\"\""),
    ("schema_history.bytes_max", "\"1GiB\""),
    ("schema_history.hook", "[]"),
    ("schema_history.webhook", "\"\""),
    ("schema_history.webhook_ca", "\"\""),
    ("schema_history.script", "\"\""),
    ("schema_history.timeout_hook", "\"30s\""),
    ("slow_log.file", "\"\""),
    ("slow_log.format", "\"mysql\""),
    ("slow_log.threshold", "\"1s\""),
    ("slow_log.sample_one_in", "1"),
    ("slow_log.include_values", "false"),
    ("query_log.file", "\"\""),
    ("query_log.format", "\"json\""),
    ("query_log.sample_one_in", "1"),
    ("query_log.per_second_max", "0"),
    ("query_log.include_values", "false"),
    ("audit_log.file", "\"\""),
    ("profiling.sample_one_in", "0"),
    ("profiling.user", "[]"),
    ("profiling.digest", "[]"),
    ("profiling.session", "[]"),
    ("profiling.collect", "[\"status\"]"),
    ("profiling.timeout", "\"1s\""),
    ("profiling.answer_bytes_max", "\"64KiB\""),
    ("profiling.kept_max", "100"),
    ("profiling.file", "\"\""),
    ("profiling.include_values", "false"),
    ("tracing.endpoint", "\"\""),
    ("tracing.metrics_endpoint", "\"\""),
    ("tracing.metrics_interval", "\"1m\""),
    ("tracing.ca", "\"\""),
    ("tracing.header", "\"\""),
    ("tracing.sample_one_in", "1000"),
    ("tracing.parents", "\"follow\""),
    ("tracing.include_values", "false"),
    ("tracing.service", "\"pilotfish\""),
    ("tracing.timeout", "\"10s\""),
];

fn shown_default(setting: &Setting<Config>) -> String {
    let shown = || (setting.show)(&Config::default());
    setting
        .traits
        .default_text
        .map_or_else(shown, str::to_owned)
}

#[test]
fn every_setting_has_its_documented_default() {
    let defaults: Vec<_> = settings().map(|it| (it.name, shown_default(it))).collect();
    let expected: Vec<_> = DEFAULTS
        .iter()
        .map(|(name, it)| (*name, (*it).to_owned()))
        .collect();
    assert_eq!(defaults, expected);
}

#[test]
fn a_backend_needs_no_more_than_its_address() {
    let config = load("");
    let address = BackendAddress::Tcp {
        host: "db1".to_owned(),
        port: 3306,
    };
    assert_eq!(
        config.backends,
        [BackendConfig {
            name: "db1:3306".to_owned(),
            address,
            cluster: "main".to_owned(),
            role: Role::Primary,
            independent: false,
            weight: 1,
            zone: None,
            tags: Vec::new(),
            lag_max: None,
            drain: false,
            disable: false,
            sessions_max: None,
        }]
    );
}

#[test]
fn no_worker_count_means_one_for_each_core() {
    assert_eq!(load("workers = 0").workers, model::cores());
    assert_eq!(Config::default().workers, model::cores());
    assert_eq!(load("workers = 3").workers, 3);
}

/// A number as the file writes it, in the simplest form of its kind.
fn written(kind: ValueType, measure: i128) -> String {
    match kind {
        ValueType::Duration => format!("\"{measure}ms\""),
        _ => measure.to_string(),
    }
}

/// Loads a file with this one setting. Returns the setting as it is shown, or the faults.
fn shown_when_set(setting: &Setting<Config>, value: &str) -> Result<String, Vec<String>> {
    let line = match setting.name.split_once('.') {
        Some((table, key)) => format!("[{table}]\n{key} = {value}"),
        None => format!("{} = {value}", setting.key),
    };
    // Another test checks that the longest probe interval is not below the shortest one.
    let line = match setting.name {
        "health.probe_interval" => format!("{line}\nprobe_interval_max = \"1d\""),
        "balance.lag_max" => format!("{line}\n[health]\nmonitor_user = \"m\""),
        "health.probe_interval_max" => format!("{line}\nprobe_interval = \"50ms\""),
        // Another test checks that the connections which workers keep open do not exceed the limit.
        "pool.connections_min" => {
            format!("workers = 1000\n{line}\nbackend_connections_max = 1000000")
        }
        _ => line,
    };
    let file = File::new(&with_backend(&line));
    match file.load() {
        Ok(loaded) => Ok((setting.show)(&loaded.config)),
        Err(_) => Err(file.faults()),
    }
}

#[test]
fn every_setting_accepts_exactly_the_limits_of_its_range() {
    let measured = settings().filter(|setting| setting.kind.is_measured());
    for setting in measured {
        let (least, most) = setting.traits.range;
        for inside in [least, most] {
            let value = written(setting.kind, inside.into());
            let shown = shown_when_set(setting, &value);
            let spelled = setting.kind.spell(inside);
            assert_eq!(
                shown.unwrap().trim_matches('"'),
                spelled,
                "{} = {value}",
                setting.name
            );
        }
        for outside in [i128::from(least) - 1, i128::from(most) + 1] {
            if outside == 0 && setting.traits.nothing.is_some()
                || outside < 0 && setting.kind == ValueType::Duration
            {
                continue;
            }
            let value = written(setting.kind, outside);
            let faults = shown_when_set(setting, &value).unwrap_err();
            let range = format!(
                "{}: must be from {} to {}",
                setting.name,
                setting.kind.spell(least),
                setting.kind.spell(most)
            );
            assert!(
                faults.len() == 1 && faults[0].contains(&range),
                "{value}: {faults:?}"
            );
        }
    }
}

#[test]
fn the_value_0_is_allowed_only_for_settings_that_define_it() {
    for setting in settings().filter(|setting| setting.kind.is_measured()) {
        let zero = shown_when_set(setting, "0");
        assert_eq!(
            zero.is_ok(),
            setting.traits.nothing.is_some(),
            "{}",
            setting.name
        );
    }
    assert_eq!(
        load("[limits]\nbackend_sessions_max = 0")
            .limits
            .backend_sessions_max,
        None
    );
    assert_eq!(load("pid_file = \"\"").pid_file, None);
}

#[test]
fn every_choice_is_read_under_each_of_its_names() {
    let choosing = settings().filter_map(|it| Some((it, it.kind.choices()?)));
    for (setting, choices) in choosing.filter(|(setting, _)| !setting.kind.is_list()) {
        for choice in choices {
            for name in [choice.name].iter().chain(choice.also) {
                for spelled in [(*name).to_owned(), name.to_uppercase().replace('_', "-")] {
                    let mut config = Config::default();
                    let options = [option(setting.name, &[&spelled])];
                    let given = crate::raw_setting::RawSetting {
                        raw: crate::raw_setting::Raw::Word(&options[0].words[0]),
                        location: SourceLocation::COMMAND_LINE,
                        name: setting.name,
                        traits: &setting.traits,
                        folder: std::path::Path::new(""),
                    };
                    (setting.read)(&mut config, &given).unwrap();
                    assert_eq!((setting.show)(&config), format!("\"{}\"", choice.name));
                }
            }
        }
    }
}

#[test]
fn durations_are_read_as_people_write_them() {
    for (text, milliseconds) in [
        ("2", 2000),
        ("2.5", 2500),
        ("\"2s\"", 2000),
        ("\"2\"", 2000),
        ("\"1.5s\"", 1500),
        ("\"500ms\"", 500),
        ("\"10m\"", 600_000),
        ("\"10 min\"", 600_000),
        ("\"1h 30m\"", 5_400_000),
        ("\"1d\"", 86_400_000),
    ] {
        let config = load(&format!("timeout_drain = {text}"));
        assert_eq!(
            config.timeout_drain,
            Duration::from_millis(milliseconds),
            "{text}"
        );
    }
    for text in [
        "\"\"",
        "\"s\"",
        "\"2 weeks\"",
        "\"1e3\"",
        "\"-2s\"",
        "\"inf\"",
        "nan",
        "true",
        "[1]",
    ] {
        let file = File::new(&with_backend(&format!("timeout_drain = {text}")));
        let faults = file.faults();
        assert!(
            faults[0].contains("timeout_drain: must be a duration"),
            "{text}: {faults:?}"
        );
    }
}

#[test]
fn sizes_are_read_as_people_write_them() {
    for (text, bytes) in [
        ("1024", 1 << 10),
        ("16_777_216", 16 << 20),
        ("0x100000", 1 << 20),
        ("\"4096\"", 4096),
        ("\"64K\"", 64 << 10),
        ("\"16M\"", 16 << 20),
        ("\"16MiB\"", 16 << 20),
        ("\"1.5 GiB\"", 3 << 29),
        ("\"1TiB\"", 1 << 40),
    ] {
        let config = load(&format!("[limits]\npacket_bytes_max = {text}"));
        assert_eq!(config.limits.packet_bytes_max, bytes, "{text}");
    }
    for text in ["\"16MB\"", "\"1.0001K\"", "\"MiB\"", "1.5"] {
        let file = File::new(&with_backend(&format!(
            "[limits]\npacket_bytes_max = {text}"
        )));
        assert!(file.faults()[0].contains("must be a size"), "{text}");
    }
}

#[test]
fn addresses_to_listen_on_are_read_in_every_form() {
    for (text, shown) in [
        ("1.2.3.4:4000", "1.2.3.4:4000"),
        ("1.2.3.4", "1.2.3.4:4040"),
        ("[::1]:4000", "[::1]:4000"),
        ("[::1]", "[::1]:4040"),
        ("::1", "[::1]:4040"),
        (":4000", "0.0.0.0:4000"),
        ("*:4000", "0.0.0.0:4000"),
        ("4000", "0.0.0.0:4000"),
        ("localhost:4000", "127.0.0.1:4000"),
        ("unix:/run/p.sock", "unix:/run/p.sock"),
        ("/run/p.sock", "unix:/run/p.sock"),
    ] {
        assert_eq!(
            text.parse::<ListenAddress>().unwrap().to_string(),
            shown,
            "{text}"
        );
    }
    assert_eq!(load("listen = 4000").listen, [":4000".parse().unwrap()]);
    assert_eq!(
        load("listen = \":4000\"").listen,
        [":4000".parse().unwrap()]
    );
    for text in [
        "",
        ":",
        ":0",
        ":65536",
        ":+1",
        "[::1",
        "[::1]4",
        "[1.2.3.4]:1",
        "db1:1",
        "unix:p",
        "/",
    ] {
        // The path "/" of a Unix socket has valid syntax; a check elsewhere reports its folder.
        assert_eq!(
            text.parse::<ListenAddress>().is_err(),
            text != "/",
            "{text}"
        );
    }
    assert!(
        format!("/{}", "x".repeat(107))
            .parse::<ListenAddress>()
            .is_err()
    );
}

#[test]
fn addresses_of_backends_are_read_in_every_form() {
    for (text, shown) in [
        ("db1", "db1:3306"),
        ("db1.example.org:3307", "db1.example.org:3307"),
        ("10.0.0.1", "10.0.0.1:3306"),
        ("[fe80::1]:3307", "[fe80::1]:3307"),
        ("fe80::1", "[fe80::1]:3306"),
        ("my_db-1:1", "my_db-1:1"),
        ("/run/mysqld/mysqld.sock", "unix:/run/mysqld/mysqld.sock"),
    ] {
        let address: BackendAddress = text.parse().unwrap();
        assert_eq!(address.to_string(), shown, "{text}");
        assert_eq!(address, shown.parse().unwrap(), "{text}");
    }
    for text in [
        "",
        ":3306",
        "db 1",
        "db1:",
        "db1:x",
        "-x:1",
        ".x",
        "a@b:1",
        "http://db1",
        "unix:x",
    ] {
        assert!(text.parse::<BackendAddress>().is_err(), "{text}");
    }
}

#[test]
fn options_win_over_the_file_and_lists_take_commas_and_repetition() {
    let file = File::new(&with_backend(
        "workers = 2\nlisten = \":1\"\n[log]\nlevel = \"debug\"",
    ));
    let options = [
        option("workers", &["3", "4"]),
        option("listen", &[":2,:3", "/run/p.sock"]),
        option(
            "proxy_protocol.trusted_networks",
            &["10.0.0.0/8, 192.168.1.1"],
        ),
        option("read_only_backend", &["db3"]),
        option("backend", &["db1,db2"]),
    ];
    let config = Config::load(Some(&file.path()), &options).unwrap().config;
    assert_eq!(config.workers, 4);
    let listen: Vec<_> = config.listen.iter().map(ToString::to_string).collect();
    assert_eq!(listen, ["0.0.0.0:2", "0.0.0.0:3", "unix:/run/p.sock"]);
    let networks: Vec<_> = config
        .proxy_protocol
        .trusted_networks
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(networks, ["10.0.0.0/8", "192.168.1.1/32"]);
    let backends: Vec<_> = config
        .backends
        .iter()
        .map(|it| (it.name.as_str(), it.role))
        .collect();
    assert_eq!(
        backends,
        [
            ("db1:3306", Role::Primary),
            ("db2:3306", Role::Primary),
            ("db3:3306", Role::Replica),
        ]
    );
    assert_eq!(config.log.level, LogLevel::Debug);
}

#[test]
fn paths_of_the_file_start_from_its_folder() {
    let file = File::new(&with_backend(
        "pid_file = \"p.pid\"\n[log]\nfile = \"/tmp/p.log\"",
    ));
    let config = load_path(&file.path());
    assert_eq!(config.pid_file.unwrap(), file.folder.path().join("p.pid"));
    assert_eq!(config.log.file.unwrap().to_str(), Some("/tmp/p.log"));
    let config = load_options(&[option("pid_file", &["p.pid"])]).unwrap();
    assert_eq!(config.pid_file.unwrap().to_str(), Some("p.pid"));
}

#[test]
fn a_secret_can_be_read_from_a_file_and_is_masked() {
    let health = |password: &str| {
        let text = format!("[health]\nmonitor_user = \"m\"\nmonitor_password = \"{password}\"");
        let file = File::new(&with_backend(&text)).with("secret", "hunter2\n");
        file.load().unwrap()
    };
    let loaded = health("file:secret");
    assert_eq!(
        loaded
            .config
            .health
            .monitor_password
            .as_ref()
            .unwrap()
            .expose(),
        "hunter2"
    );
    assert_eq!(loaded.warnings, []);
    let loaded = health("hunter2");
    assert_eq!(
        loaded
            .config
            .health
            .monitor_password
            .as_ref()
            .unwrap()
            .expose(),
        "hunter2"
    );
    assert_eq!(
        loaded.warnings.len(),
        1,
        "the file of the test is open to all"
    );
    for shown in [
        format!("{loaded:?}"),
        manual::to_toml(&loaded.config),
        manual::differences(&loaded.config),
    ] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    let path = std::env::var("PATH").unwrap();
    let loaded = health("env:PATH");
    assert_eq!(
        loaded.config.health.monitor_password.unwrap().expose(),
        path
    );
}

#[test]
fn printed_default_settings_load_as_the_defaults() {
    let default = Config {
        backends: load("").backends,
        ..Config::default()
    };
    assert_eq!(
        load_path(&File::new(&manual::to_toml(&default)).path()),
        default
    );
    let differing = manual::differences(&default);
    assert_eq!(differing, "[[backend]]\naddress = \"db1:3306\"\n");
}

/// A value for a setting, different from its default, in the form of the command line.
fn another_value(setting: &Setting<Config>) -> BoxedStrategy<String> {
    let (least, most) = setting.traits.range;
    match (setting.name, setting.kind) {
        // These settings need files, or depend on one another.
        (name, _) if name.contains("tls") || name.starts_with("health.probe") => {
            Just(String::new()).boxed()
        }
        ("accounts.learn" | "balance.lag_max" | "pool.connections_min" | "admin.username", _) => {
            Just(String::new()).boxed()
        }
        (
            "profiling.collect"
            | "tracing.endpoint"
            | "tracing.metrics_endpoint"
            | "statement_stats.index_usage"
            | "statement_stats.history",
            _,
        ) => Just(String::new()).boxed(),
        (_, ValueType::Truth) => {
            prop_oneof![Just("off".to_owned()), Just("true".to_owned())].boxed()
        }
        ("routing.cluster", _) => Just("main".to_owned()).boxed(),
        // The kernel can join only sessions of listeners.
        ("routing.session", _) => prop_oneof![
            Just("transparent".to_owned()),
            Just("transaction".to_owned())
        ]
        .boxed(),
        ("routing.replicas", _) => {
            prop_oneof![Just("any".to_owned()), Just("primary".to_owned())].boxed()
        }
        (_, ValueType::Count | ValueType::Size) => {
            (least..=most).prop_map(|it| it.to_string()).boxed()
        }
        (_, ValueType::Duration) => (least..=most).prop_map(|it| format!("{it}ms")).boxed(),
        (_, kind) if kind.choices().is_some() => {
            let choices = kind.choices().unwrap();
            (0..choices.len())
                .prop_map(|index| choices[index].name.to_owned())
                .boxed()
        }
        (_, ValueType::List(ValueType::ListenAddress)) => (1u16..)
            .prop_map(|port| format!("[::1]:{port},/p.sock"))
            .boxed(),
        (_, ValueType::List(ValueType::Network)) => (0u8..=32)
            .prop_map(|bits| format!("0.0.0.0/{bits},::1"))
            .boxed(),
        (_, ValueType::Text) => "[a-z\"\\\\' #=\\[\u{e9}-\u{ff}]{1,9}".boxed(),
        (_, ValueType::Path) => "/[a-z\"\\\\' #\u{e9}-\u{ff}]{1,9}".boxed(),
        _ => Just(String::new()).boxed(),
    }
}

fn any_options() -> impl Strategy<Value = Vec<Override>> {
    let each: Vec<_> = settings()
        .map(|setting| {
            proptest::option::of(another_value(setting)).prop_map(move |word| {
                word.filter(|word| !word.is_empty())
                    .map(|word| option(setting.name, &[&word]))
            })
        })
        .collect();
    each.prop_map(|options| options.into_iter().flatten().collect())
}

proptest! {
    #[test]
    fn any_configuration_printed_and_read_is_the_same(options in any_options()) {
        let config = load_options(&options).map_err(|faults| TestCaseError::fail(faults.join("\n")))?;
        for printed in [manual::to_toml(&config), manual::differences(&config)] {
            prop_assert_eq!(&load_path(&File::new(&printed).path()), &config, "{}", printed);
        }
    }

    #[test]
    fn no_text_makes_loading_panic(text in "\\PC*") {
        let _ = File::new(&text).load();
        for setting in settings() {
            let _ = load_options(&[option(setting.name, &[&text])]);
        }
    }
}

/// The texts of all pages of settings in the manual.
pub(super) fn all_pages() -> String {
    let pages = manual::settings_pages().into_iter();
    pages.map(|page| page.text).collect()
}

#[test]
fn every_setting_is_documented_and_named_in_manual_and_help() {
    let page = all_pages();
    let help = manual::options_help(SECTIONS);
    for setting in settings() {
        assert!(
            setting.about().ends_with('.'),
            "{}: {}",
            setting.name,
            setting.about()
        );
        assert!(
            page.contains(&format!("## `{}`\n", setting.name)),
            "{}",
            setting.name
        );
        assert!(
            help.contains(&format!("  --{} ", setting.option())),
            "{}",
            setting.name
        );
    }
    for setting in BACKEND.settings {
        assert!(
            page.contains(&format!("## `backend.{}`\n", setting.key)),
            "{}",
            setting.name
        );
    }
    for option in mysql_proxy::OPTIONS {
        assert!(
            page.contains(&format!("| `--{}`", option.name)),
            "{}",
            option.name
        );
    }
    let widest = help.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 100, "{widest}");
}
