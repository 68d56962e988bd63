//! `pilotfish import`: every test configuration, from the command line to a file that `--check` accepts.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_pilotfish"))
        .args(arguments)
        .output();
    command.unwrap()
}

fn configurations(product: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../import/tests/configurations")
        .join(product);
    std::fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect()
}

#[test]
fn every_test_configuration_becomes_a_file_that_check_accepts() {
    let folder = tempfile::tempdir().unwrap();
    for product in [
        "proxysql",
        "maxscale",
        "haproxy",
        "mysqlrouter",
        "mysql-proxy",
    ] {
        let files = configurations(product);
        assert!(files.len() >= 10);
        for file in files {
            let to = folder.path().join(format!(
                "{product}-{}.toml",
                file.file_stem().unwrap().to_string_lossy()
            ));
            let to = to.to_str().unwrap();
            let taken = run(&["import", product, file.to_str().unwrap(), "-o", to]);
            let report = String::from_utf8_lossy(&taken.stderr).into_owned();
            assert!(taken.status.success(), "{report}");
            assert!(report.contains("Next: read the file"), "{report}");
            let checked = run(&["--config", to, "--check"]);
            assert!(
                checked.status.success(),
                "{}",
                String::from_utf8_lossy(&checked.stdout)
            );
        }
    }
}

#[test]
fn the_file_holds_passwords_and_only_its_owner_may_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("out.toml");
    let from = configurations("haproxy").remove(0);
    let arguments = [
        "import",
        "haproxy",
        from.to_str().unwrap(),
        "-o",
        to.to_str().unwrap(),
    ];
    assert!(run(&arguments).status.success());
    assert_eq!(to.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let again = run(&arguments);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("is there already: name a new file"));
}

#[test]
fn mistakes_are_printed_with_the_line_and_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("broken.cnf");
    std::fs::write(&from, "mysql_servers = (\n{ address=\"a\"\n").unwrap();
    let done = run(&["import", "proxysql", from.to_str().unwrap()]);
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1));
    assert!(
        told.contains("broken.cnf:3: the bracket of line 2 is not closed; hint: "),
        "{told}"
    );
    assert!(done.stdout.is_empty());
    let nowhere = run(&["import", "proxysql", "127.0.0.1:1"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&nowhere.stderr)
            .contains("cannot connect to ProxySQL's admin port at 127.0.0.1:1")
    );
    assert_eq!(run(&["import", "pgbouncer", "x"]).status.code(), Some(2));
}
