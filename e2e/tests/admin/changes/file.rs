//! The file and the running settings: which ones are saved, which ones win, and which ones are never overwritten.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use e2e::raw::Login;
use e2e::{Folder, Settings, free_port};

use super::super::Watched;
use super::{changes, told, value};

#[test]
fn changes_that_others_made_to_the_file_are_not_overwritten() {
    let watched = Watched::alone();
    let mut root = watched.root();
    root.run("SET GLOBAL limits.sessions_max = 700");
    let file = watched.proxy.config_file();
    let text = std::fs::read_to_string(&file).unwrap();
    watched.proxy.write_settings(&format!("# Mine.\n{text}"));
    assert!(told(&mut root, "SAVE").contains("changed by somebody else"));
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .starts_with("# Mine.")
    );
    root.run("REVERT");
    assert_eq!(value(&mut root, "limits.sessions_max"), "20000");
    root.run("SET GLOBAL limits.sessions_max = 701");
    root.run("SAVE");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# Mine.") && text.contains("sessions_max = 701"),
        "{text}"
    );
    std::fs::remove_file(&file).unwrap();
    assert!(told(&mut root, "SAVE").contains("cannot be read"));
    assert!(told(&mut root, "REVERT").contains("cannot be read"));
    assert_eq!(value(&mut root, "limits.sessions_max"), "701");
}

#[test]
fn an_unwritable_configuration_file_gives_an_error() {
    let port = free_port();
    let settings = Settings::default().backend(format!("127.0.0.1:{}", free_port()));
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let settings = match is_root {
        true => settings.set("user", "nobody"),
        false => settings,
    };
    let watched = Watched {
        proxy: e2e::Proxy::start(&settings.admin_on(port)),
        port,
    };
    let file = watched.proxy.config_file();
    let folder = file.parent().unwrap();
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o555)).unwrap();
    let before = std::fs::read_to_string(&file).unwrap();
    let mut root = watched.root();
    root.run("SET GLOBAL limits.sessions_max = 700");
    assert!(told(&mut root, "SAVE").contains("cannot be written"));
    assert_eq!(changes(&mut root).len(), 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_reload_replaces_unsaved_changes_by_the_file() {
    let watched = Watched::alone();
    let mut root = watched.root();
    root.run("SET GLOBAL limits.sessions_max = 700");
    watched.proxy.signal(e2e::Signal::HUP);
    watched.proxy.wait_event("config_reloaded", &[]);
    watched
        .proxy
        .wait_event("unsaved_change_lost", &["20000 becomes 700"]);
    assert!(changes(&mut root).is_empty());
    assert_eq!(value(&mut root, "limits.sessions_max"), "20000");
}

#[test]
fn settings_of_the_command_line_cannot_be_changed() {
    let port = free_port();
    let backend = free_port();
    let folder = Folder::new("files");
    let file = folder.path().join("own.toml");
    let text = format!(
        "[admin]\naddress = \"127.0.0.1:{port}\"\nusername = \"root\"\npassword = \"all\"\n"
    );
    std::fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    let proxy = e2e::Proxy::start_with(&[
        "-c",
        &file,
        "--listen",
        "127.0.0.1:{port}",
        "--backend",
        &format!("127.0.0.1:{backend}"),
        "--limits-sessions-max",
        "50",
    ]);
    let watched = Watched { proxy, port };
    let mut root = watched.root();
    for sql in [
        "SET GLOBAL limits.sessions_max = 60",
        "UPDATE backends SET weight = 2",
        "DELETE FROM backends",
    ] {
        assert!(told(&mut root, sql).contains("command line"), "{sql}");
    }
    root.run("SET GLOBAL limits.timeout_login = 20s");
    root.run("SAVE");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("[limits]\ntimeout_login = \"20s\"\n"),
        "{text}"
    );
    assert!(!text.contains("sessions_max"), "{text}");
}

#[test]
fn without_a_file_settings_can_be_changed_and_not_saved() {
    let port = free_port();
    let proxy = e2e::Proxy::start_with(&[
        "--listen",
        "127.0.0.1:{port}",
        "--backend",
        &format!("127.0.0.1:{}", free_port()),
        "--admin-address",
        &format!("127.0.0.1:{port}"),
        "--admin-username",
        "root",
        "--admin-password",
        "all",
    ]);
    let watched = Watched { proxy, port };
    let mut root = watched.root();
    root.run("UPDATE backends SET weight = 2");
    root.run("INSERT INTO backends (address, role) VALUES ('127.0.0.1:1', 'replica')");
    assert!(told(&mut root, "SAVE").contains("without a file"));
    root.run("REVERT");
    assert_eq!(root.run("SELECT weight FROM backends").texts(), [["1"]]);
    watched.connect(&Login::with("root", "all"));
}

#[test]
fn a_value_cannot_add_another_setting() {
    let watched = Watched::alone();
    let mut root = watched.root();
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
    let name = "a]\"'\\ # [b";
    let text = "x\"'\n[[admin_account]]\nuser = \"eve\"\npassword = \"e\"\n#\'\'\'\"\"\"";
    root.run(&format!(
        "INSERT INTO rules (rule, digest, refuse) VALUES ({}, 'SELECT a, b', {})",
        quoted(name),
        quoted(text)
    ));
    root.run("UPDATE rules SET set_tag = 't', tables = '[\"a]b\"]' WHERE refuse LIKE '%eve%'");
    let shown = [[name, text, "t"]];
    for sql in ["SELECT 1", "SAVE", "REVERT"] {
        root.run(sql);
        let found = root.run("SELECT rule, refuse, set_tag FROM rules").texts();
        assert_eq!(found, shown);
        assert_eq!(root.value("SELECT count(*) FROM admin_accounts"), "1");
    }
    root.run(&format!("DELETE FROM rules WHERE rule = {}", quoted(name)));
    assert_eq!(root.value("SELECT count(*) FROM rules"), "0");
}
