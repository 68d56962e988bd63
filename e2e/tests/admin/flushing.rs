//! FLUSH LOGS, and commands of ProxySQL that Pilotfish does not have.

use std::fs;
use std::path::{Path, PathBuf};

use e2e::raw::command;
use e2e::{Folder, Product, Server, Settings, Signal, wait};

use super::{Watched, refused};

/// Log files in a folder, as log rotation moves them.
struct Logs {
    folder: Folder,
}

impl Logs {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn move_away(&self) {
        for name in ["log", "slow"] {
            let _ = fs::rename(self.path(name), self.path(&format!("{name}.1")));
        }
    }
}

/// Whether a process has a file open.
fn has_open(pid: u32, path: &Path) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let mut links = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    links.any(|link| link == path)
}

#[test]
fn moved_log_files_are_reopened() {
    let folder = Folder::new("files");
    let logs = Logs { folder };
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 2)
        .set("log.file", &logs.path("log"))
        .set("slow_log.file", &logs.path("slow"))
        .set("slow_log.threshold", "0s");
    let mut watched = Watched::start(settings);
    let pid = watched.proxy.process().pid();
    let (mut root, mut look) = (watched.root(), watched.look());
    let mut client = watched.proxy.connect();
    assert_eq!(refused(&mut look, "FLUSH LOGS"), 1227);
    for (round, statement) in [
        "FLUSH LOGS",
        "FLUSH NO_WRITE_TO_BINLOG LOGS",
        "FLUSH LOCAL LOGS",
        "",
    ]
    .into_iter()
    .enumerate()
    {
        let said = format!("SELECT {round} AS round_{round}");
        client.run(&said);
        let digest = format!("round_{round}");
        wait::until("it is written", wait::SOON, || {
            logs.read("slow").contains(&digest)
        });
        logs.move_away();
        let moved = [logs.path("log.1"), logs.path("slow.1")];
        assert!(moved.iter().all(|it| has_open(pid, it)));
        match statement {
            // Older clients send COM_REFRESH in place of FLUSH LOGS.
            "" => assert!(root.command(command::REFRESH, &[2]).error().is_none()),
            statement => drop(root.run(statement)),
        }
        wait::until("they are let go", wait::SOON, || {
            moved.iter().all(|it| !has_open(pid, it))
        });
        let told = "an administrator has had logs opened again";
        wait::until("the log begins anew", wait::SOON, || {
            logs.read("log").matches(told).count() == 1
        });
    }
}

#[test]
fn a_signal_has_logs_opened_again_and_unsaved_changes_stay() {
    let folder = Folder::new("files");
    let logs = Logs { folder };
    let backend = format!("127.0.0.1:{}", e2e::free_port());
    let settings = Settings::default().backend(backend);
    let mut watched = Watched::start(settings.set("log.file", &logs.path("log")));
    let pid = watched.proxy.process().pid();
    let mut root = watched.root();
    root.run("SET GLOBAL limits.sessions_max = 777");
    logs.move_away();
    assert!(has_open(pid, &logs.path("log.1")));
    watched.proxy.signal(Signal::USR1);
    wait::until("the log begins anew", wait::SOON, || {
        logs.read("log")
            .contains("SIGUSR1: log files are opened again")
    });
    assert!(!has_open(pid, &logs.path("log.1")));
    assert_eq!(root.value("SELECT @@limits.sessions_max"), "777");
}

#[test]
fn a_log_that_cannot_be_opened_gives_an_error() {
    let folder = Folder::new("files");
    let below = folder.path().join("below");
    fs::create_dir(&below).unwrap();
    let backend = format!("127.0.0.1:{}", e2e::free_port());
    let settings = Settings::default().backend(backend);
    let watched = Watched::start(settings.set("log.file", &below.join("log")));
    fs::rename(&below, folder.path().join("moved")).unwrap();
    let mut root = watched.root();
    let reply = root.query("FLUSH LOGS");
    let error = reply.error().expect("there is no folder");
    assert!(
        error.text.starts_with("The log cannot be opened"),
        "{}",
        error.text
    );
    fs::create_dir(&below).unwrap();
    root.run("FLUSH LOGS");
    assert!(below.join("log").exists());
}

#[test]
fn commands_of_proxysql_are_refused_with_an_alternative() {
    let watched = Watched::alone();
    let mut root = watched.root();
    for (sql, expected) in [
        ("PROXYSQL FLUSH CONFIGDB", "REVERT"),
        ("proxysql shutdown slow", "SIGTERM"),
        ("PROXYSQL PAUSE", "draining"),
        ("PROXYSQL FLUSH LOGS", "FLUSH LOGS"),
        ("PROXYSQL WHATEVER", "help"),
    ] {
        let reply = root.query(sql);
        let error = reply.error().unwrap_or_else(|| panic!("{sql} is answered"));
        assert_eq!(error.code, 1235, "{sql}");
        assert!(error.text.contains(expected), "{}", error.text);
    }
    let tables = root.command(command::REFRESH, &[4]);
    assert_eq!(tables.error().unwrap().code, 1235);
}
