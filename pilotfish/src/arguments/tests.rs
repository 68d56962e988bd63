//! The result of parsing the command line.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use config::{LogLevel, Role};

use super::*;

fn parse(line: &str) -> Result<Command, clap::Error> {
    let words = ["pilotfish"].into_iter().chain(line.split_whitespace());
    Command::parse_from(words.map(OsString::from))
}

fn serve(line: &str) -> ServeArguments {
    match parse(line).unwrap() {
        Command::Serve(arguments) | Command::Check(arguments) => arguments,
        other => unreachable!("no test asks for {other:?} here"),
    }
}

fn load(line: &str) -> Config {
    serve(line).load().unwrap().config
}

fn faults(line: &str) -> Vec<String> {
    serve(line)
        .load()
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn the_subcommand_is_parsed() {
    assert!(matches!(parse("--backend db1").unwrap(), Command::Serve(_)));
    assert!(matches!(
        parse("--check -c x.toml").unwrap(),
        Command::Check(_)
    ));
    assert!(matches!(parse("sandbox").unwrap(), Command::Sandbox(_)));
    assert!(matches!(
        parse("explain SHUTDOWN").unwrap(),
        Command::Explain(_)
    ));
    assert!(matches!(
        parse("plan new.toml -c old.toml").unwrap(),
        Command::Plan(_)
    ));
    assert!(matches!(
        parse("probe -c x.toml").unwrap(),
        Command::Probe(_)
    ));
    assert!(matches!(parse("lua x.lua").unwrap(), Command::Lua(_)));
    assert!(parse("lua").is_err(), "which script?");
    assert!(parse("plan new.toml").is_err(), "compared with what?");
    assert!(parse("explain").is_err());
    assert!(parse("probe").is_err(), "which ones?");
}

#[test]
fn one_backend_is_enough() {
    let config = load("--backend 127.0.0.1:3306");
    assert_eq!(config.backends[0].address.to_string(), "127.0.0.1:3306");
    assert_eq!(config.listen[0].to_string(), "0.0.0.0:4040");
    assert_eq!(
        faults(""),
        ["there is no backend; hint: give --backend HOST:PORT, or [[backend]] in the file",]
    );
}

#[test]
fn every_setting_is_an_option() {
    for setting in settings() {
        let arguments = serve(&format!("--{} value", setting.option()));
        assert_eq!(arguments.options[0].words, ["value"], "{}", setting.name);
        let translated = arguments.translate_options();
        assert_eq!(translated.overrides[0].setting, setting.name);
        assert_eq!(
            translated.overrides[0].name,
            format!("--{}", setting.option())
        );
    }
}

#[test]
fn options_are_understood_by_their_old_names() {
    let loaded = serve("--backend a --balance-replicas any --insight-samples true").load();
    let loaded = loaded.unwrap();
    assert_eq!(loaded.config.routing.replicas, config::ReplicaUse::Any);
    assert!(loaded.config.statement_stats.include_values);
    let told: Vec<_> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        told[0],
        "--balance-replicas: has another name now; hint: write --routing-replicas; the next version knows it by that \
         alone"
    );
}

#[test]
fn every_option_of_mysql_proxy_is_known() {
    for legacy in mysql_proxy::OPTIONS {
        let value = if legacy.takes_value { "=value" } else { "" };
        let arguments = serve(&format!("--{}{value}", legacy.name));
        assert_eq!(arguments.options.len(), 1, "{}", legacy.name);
        let did = arguments.translate_options();
        let told = [did.faults, did.warnings].concat();
        let named = did
            .overrides
            .iter()
            .all(|it| it.name == format!("--{}", legacy.name));
        let replicant = usize::from(did.replicant != Replicant::default());
        assert!(
            named && did.overrides.len() + told.len() + replicant == 1,
            "{}",
            legacy.name
        );
    }
}

#[test]
fn a_command_line_of_mysql_proxy_sets_the_equivalent_settings() {
    let config = load(
        "-P :4000 -b db1:3306 -b db2,db3 -r db4 --log-level=critical --event-threads=2 \
         --proxy-connect-timeout=0.5 --plugins=proxy --max-open-files=8192",
    );
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
            ("db3:3306", Role::Primary),
            ("db4:3306", Role::Replica),
        ]
    );
    assert_eq!(config.listen[0].to_string(), "0.0.0.0:4000");
    assert_eq!(config.log.level, LogLevel::Error);
    assert_eq!((config.workers, config.open_files_max), (2, Some(8192)));
    assert_eq!(config.health.timeout_connect.as_millis(), 500);
}

#[test]
fn both_names_of_a_list_add_up_and_the_last_of_a_value_wins() {
    let config = load("--backend a -b b --proxy-connect-timeout 3 --health-timeout-connect 4s");
    assert_eq!(config.backends.len(), 2);
    assert_eq!(config.health.timeout_connect.as_secs(), 4);
    let config = load("--backend a --health-timeout-connect 4s --proxy-connect-timeout 3");
    assert_eq!(config.health.timeout_connect.as_secs(), 3);
}

#[test]
fn refused_options_are_faults_beside_all_others() {
    let found = faults("--no-proxy --replicant-username x --workers many --backend a");
    let starts = ["--no-proxy: ", "--replicant-username: ", "--workers: "];
    for start in starts {
        assert!(
            found.iter().any(|fault| fault.starts_with(start)),
            "{start}{found:?}"
        );
    }
    assert_eq!(found.len(), starts.len());
    let loaded = serve("--backend a --lua-cpath x --daemon --keepalive");
    assert_eq!(loaded.load().unwrap().warnings.len(), 3);
}

#[test]
fn script_options_of_mysql_proxy_set_the_script_settings() {
    let config = load("--basedir /opt/mp -s x.lua --lua-path y --backend a");
    assert_eq!(config.routing.script, [Path::new("/opt/mp/x.lua")]);
    let config = config.script;
    assert_eq!(config.base_folder.unwrap(), Path::new("/opt/mp"));
    assert_eq!(config.lua_path.unwrap(), "y");
}

#[test]
fn the_defaults_file_is_read_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mysql-proxy.cnf");
    let line = format!("--defaults-file {} --workers 2", path.display());
    let arguments = serve(&line);
    for backend in ["db1", "db2"] {
        let text = format!("[mysql-proxy]\nproxy-backend-addresses={backend}\nevent-threads=9\n");
        std::fs::write(&path, text).unwrap();
        let config = arguments.load().unwrap().config;
        assert_eq!(config.backends[0].name, format!("{backend}:3306"));
        assert_eq!(config.workers, 2);
    }
    assert!(parse("--defaults-file a --config b").is_err());
}

#[test]
fn check_prints_every_fault_or_the_differences_from_the_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pilotfish.toml");
    let check = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let (report, code) = check::report(&serve(&format!("--check --config {}", path.display())));
        (
            report.replace(&path.display().to_string(), "pilotfish.toml"),
            code,
        )
    };
    let (report, code) = check("workers = -1\n[log]\nlevl = 1\n");
    assert_eq!(code, 1);
    assert_eq!(
        report.lines().collect::<Vec<_>>(),
        [
            "pilotfish.toml:1:11: workers: must be from 1 to 1024, or 0 (one for each core), not -1",
            "pilotfish.toml:3:1: log.levl: is no setting; hint: did you mean \"level\"?",
        ]
    );
    let (report, code) =
        check("[log]\nlevel = \"debug\"\nformat = \"text\"\n[[backend]]\naddress = \"db1\"\n");
    assert_eq!(code, 0);
    assert_eq!(
        report,
        "pilotfish.toml: no fault found\n\n# What differs from the defaults:\n\
         [log]\nlevel = \"debug\"\n\n[[backend]]\naddress = \"db1:3306\"\n"
    );
}

#[test]
fn check_reports_missing_and_invalid_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let (path, script) = (folder.path().join("x.toml"), folder.path().join("x.lua"));
    let text = format!(
        "[[backend]]\naddress = \"db1\"\n[routing]\nscript = [{:?}]\n",
        script.display().to_string()
    );
    std::fs::write(&path, text).unwrap();
    let check = || check::report(&serve(&format!("--check --config {}", path.display())));
    let (report, code) = check();
    assert_eq!(code, 1, "there is no such file: {report}");
    std::fs::write(&script, "function read_query(packet").unwrap();
    let (report, code) = check();
    assert_eq!(code, 1, "{report}");
    assert!(report.contains("x.lua"), "{report}");
    std::fs::write(&script, "function read_query(packet) end").unwrap();
    assert_eq!(check().1, 0);
}

#[test]
fn check_tells_of_accounts_and_shows_no_password() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pilotfish.toml");
    let check = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let (report, code) = check::report(&serve(&format!("--check --config {}", path.display())));
        let report = report.replace(&path.display().to_string(), "pilotfish.toml");
        (report.lines().map(str::to_owned).collect::<Vec<_>>(), code)
    };
    let (report, code) = check(
        "[[backend]]\naddress = \"db1\"\n[[account]]\nuser = \"a\"\nhash = \"hunter2\"\n\
         [[account]]\nuser = \"a\"\nbackend_password = \"hunter2\"\n[accounts]\nlearn = true",
    );
    assert_eq!(code, 1);
    let lines: Vec<_> = report
        .iter()
        .filter_map(|fault| fault.split(": ").nth(1))
        .collect();
    let expected = [
        "account.hash",
        "account.user",
        "account.backend_password",
        "accounts.learn",
    ];
    assert_eq!(lines, expected, "{report:#?}");
    assert!(!report.concat().contains("hunter2"));

    let (report, code) =
        check("[[backend]]\naddress = \"db1\"\n[[account]]\nuser = \"a\"\npassword = \"hunter2\"");
    assert_eq!(code, 0);
    let shown = ["[[account]]", "user = \"a\"", "password = \"…\""];
    assert_eq!(report[report.len() - 3..], shown, "{report:#?}");
}

#[test]
fn pool_and_accounts_are_set_by_options_too() {
    let config = load(
        "--backend a --routing-session transaction --pool-timeout-wait 2s --accounts-learn on \
         --health-monitor-user m",
    );
    assert_eq!(config.routing.session, config::SessionMode::Transaction);
    assert_eq!(config.pool.timeout_wait.as_secs(), 2);
    assert!(config.accounts.learn);
}

/// The configuration file that is installed with the service, as it is and with its commented-out settings.
#[test]
fn the_packaged_file_has_no_fault() {
    let packaged = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/pilotfish.toml");
    let text = std::fs::read_to_string(packaged).unwrap();
    let is_setting = |line: &str| {
        let is_table = line.starts_with('[');
        let names_a_file = line.contains("/etc/");
        let is_again = line.starts_with("listen =");
        (is_table || line.contains(" = ")) && !names_a_file && !is_again
    };
    let all: Vec<_> = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(setting) if is_setting(setting) => setting,
            _ => line,
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    for (text, sections) in [(text.clone(), 0), (all.join("\n"), 1)] {
        let path = folder.path().join("pilotfish.toml");
        std::fs::write(&path, text).unwrap();
        let loaded = serve(&format!("--config {}", path.display())).load();
        let config = loaded.unwrap().config;
        assert_eq!(config.listeners.len(), sections);
        assert_eq!(config.configured_accounts.len(), sections);
        assert_eq!(config.accounts.learn, sections == 1);
    }
}

#[test]
fn help_and_version_are_no_mistakes() {
    for line in [
        "-h",
        "-?",
        "--help",
        "--help-all",
        "-V",
        "--version",
        "sandbox --help",
    ] {
        let told = parse(line).unwrap_err();
        assert_eq!(told.exit_code(), 0, "{line}");
    }
    let long = parse("--help").unwrap_err().to_string();
    let short = parse("-h").unwrap_err().to_string();
    assert!(long.contains("--limits-sessions-max N") && !short.contains("--limits-sessions-max"));
    assert!(short.contains("--read-only-backend ADDRESS"));
}

#[test]
fn mistakes_are_reported_with_a_suggestion() {
    let told = parse("--bakend db1").unwrap_err();
    assert_eq!(told.exit_code(), 2);
    assert!(told.to_string().contains("'--backend'"), "{told}");
    assert_eq!(parse("db1").unwrap_err().exit_code(), 2);
}

#[test]
fn the_sandbox_takes_its_own_arguments() {
    let Command::Sandbox(sandbox) =
        parse("sandbox --replicas 1 --listen :4000 --folder /f --server /s --load").unwrap()
    else {
        unreachable!("the first word says sandbox");
    };
    assert_eq!(sandbox.replicas, 1);
    assert!(sandbox.load);
    assert_eq!(sandbox.listen.unwrap().to_string(), "0.0.0.0:4000");
    assert_eq!(sandbox.folder.as_deref(), Some(Path::new("/f")));
    assert_eq!(sandbox.server.as_deref(), Some(Path::new("/s")));
    for line in [
        "sandbox --replicas 10",
        "sandbox --listen /p.sock",
        "sandbox --backend x",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn check_runs_the_tests_of_rules_and_names_failures() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pilotfish.toml");
    let check = |text: &str| {
        std::fs::write(&path, text.to_owned() + "[[backend]]\naddress = \"db1\"\n").unwrap();
        let (report, code) = check::report(&serve(&format!("--check --config {}", path.display())));
        let report = report.replace(&path.display().to_string(), "pilotfish.toml");
        (report.lines().next().unwrap().to_owned(), code)
    };
    for (text, first_line, expected) in [
        (
            "[[rule]]\nname = \"a\"\nregex = \"(\"\n",
            "pilotfish.toml:3:9: rule.regex: is no regular expression: unclosed group, at character 1",
            1,
        ),
        (
            "[[rule]]\nname = \"a\"\nregex = \"x\"\n[[rule.test]]\nstatement = \"SELECT y\"\n",
            "pilotfish.toml:5:13: rule.test.statement: is not taken by the rule: its regex does not match",
            1,
        ),
        (
            "[[rule]]\nname = \"a\"\npercentage = 0\n",
            "warning: pilotfish.toml:3:14: rule.percentage: is 0, so the rule never matches",
            0,
        ),
        (
            "[[rule]]\nname = \"a\"\nregex = \"x\"\n[[rule.test]]\nstatement = \"SELECT x\"\n",
            "pilotfish.toml: no fault found",
            0,
        ),
    ] {
        assert_eq!(check(text), (first_line.to_owned(), expected));
    }
}

#[test]
fn arguments_after_a_script_belong_to_the_script() {
    let lua = |line: &str| match parse(line).unwrap() {
        Command::Lua(arguments) => arguments,
        other => unreachable!("{other:?}"),
    };
    let run = lua("lua x.lua --check -v 5");
    assert!(!run.check);
    assert_eq!(run.words, ["x.lua", "--check", "-v", "5"]);
    let check = lua("lua --check --lua-path ?.lua x.lua y.lua");
    assert!(check.check);
    assert_eq!(check.lua_path.as_deref(), Some("?.lua"));
    assert_eq!(check.words, ["x.lua", "y.lua"]);
}

/// Each command has a help with an example and its exit codes, and completions and man pages have all commands.
#[test]
fn commands_for_a_proxy_that_runs_have_an_example_in_their_help() {
    let names = [
        "status",
        "backends",
        "sessions",
        "pools",
        "digests",
        "rules",
        "drain",
        "disable",
        "kill",
        "reload",
        "set",
        "settings",
        "log-level",
        "init",
        "import",
    ];
    for name in names {
        let help =
            Command::parse_from(["pilotfish", name, "--help"].map(OsString::from)).unwrap_err();
        let help = help.to_string();
        assert!(
            help.contains(&format!("Example:\n  pilotfish {name}")),
            "{help}"
        );
        assert!(help.contains("Exit codes: 0 "), "{help}");
    }
    let mut completions = Vec::new();
    clap_complete::generate(
        clap_complete::Shell::Bash,
        &mut command_line(),
        "pilotfish",
        &mut completions,
    );
    let completions = String::from_utf8(completions).unwrap();
    assert!(names.iter().all(|it| completions.contains(it)));
}
