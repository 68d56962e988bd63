//! A terminal: a folder, bash, and the programs `pilotfish` and `mariadb`.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use e2e::{Folder, Process, Product, Ready, Signal, program, wait};

/// The end of a command that starts a proxy.
const IN_BACKGROUND: &str = " &";

/// Further options of the proxy, because a busy machine may be slow.
const PATIENCE: &str = "--limits-timeout-login 60s --health-timeout-connect 20s";

/// How long a read-only command is repeated, and the pause between two attempts.
const LOOKS_FOR: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);

/// Read-only commands.
const LOOKS: &[&str] = &[
    "pilotfish status",
    "pilotfish backends",
    "pilotfish sessions",
    "pilotfish pools",
    "pilotfish digests",
    "pilotfish rules",
    "pilotfish settings",
    "pilotfish probe",
    "pilotfish health",
    "pilotfish explain",
    "curl -s http",
    "cat ",
    "grep ",
    "head ",
    "tail ",
];

/// Runs an example's commands, each with a bash of its own, in one folder.
#[derive(Debug)]
pub struct Terminal {
    folder: Folder,
    proxies: Vec<Process>,
}

impl Terminal {
    pub fn new() -> Self {
        let folder = Folder::new("manual");
        for part in ["bin", "here"] {
            std::fs::create_dir(folder.join(part)).expect("the folder is writable");
        }
        symlink(program(), folder.join("bin/pilotfish")).expect("the folder is writable");
        let client = Product::MariaDb.command("mariadb");
        let client = client.get_program().to_string_lossy().into_owned();
        let script = format!("#!/bin/sh\nexec {client} --no-defaults \"$@\"\n");
        let path = folder.write("bin/mariadb", script);
        let executable = PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, executable).expect("the file is ours");
        Self {
            folder,
            proxies: Vec::new(),
        }
    }

    /// Writes `pilotfish.toml`, which only its owner may read.
    pub fn write_file(&self, text: &str) {
        let path = self.folder.write("here/pilotfish.toml", text);
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).expect("it is ours");
    }

    /// Runs a command, and returns its output. A read-only command is repeated until `is_done`.
    pub fn run(&mut self, command: &str, is_done: impl Fn(&str) -> bool) -> String {
        if let Some(command) = command.strip_suffix(IN_BACKGROUND) {
            self.start(command);
            return String::new();
        }
        let mut output = self.output(command);
        if !only_looks(command) {
            return output;
        }
        let limit = Instant::now() + LOOKS_FOR;
        while !is_done(&output) && Instant::now() < limit {
            std::thread::sleep(PAUSE);
            output = self.output(command);
        }
        output
    }

    /// Stops the proxies, which must end without an error.
    pub fn end(mut self) {
        for mut proxy in std::mem::take(&mut self.proxies) {
            proxy.signal(Signal::TERM);
            let status = proxy.wait_ended(wait::SOON);
            let log = proxy.log();
            assert!(status.success(), "the proxy ended with {status}\n{log}");
            assert!(!log.contains("panicked at"), "the proxy panicked\n{log}");
        }
    }

    /// The last lines of the proxies' logs.
    pub fn log_tail(&self) -> String {
        self.proxies.iter().map(Process::log_tail).collect()
    }

    fn start(&mut self, command: &str) {
        let number = self.proxies.len();
        let own = format!("proxy-{number}");
        let own = self.folder.join(&own);
        std::fs::create_dir(&own).expect("the folder is writable");
        let ready = Ready::bind(&own);
        let patience = match command.starts_with("pilotfish -c ") {
            true => PATIENCE,
            false => "",
        };
        let mut bash = self.bash(&format!("exec {command} {patience}"));
        bash.env("NOTIFY_SOCKET", ready.path())
            .stdin(Stdio::piped());
        let mut proxy = Process::start_with_input("pilotfish", bash, &own.join("log"));
        ready.wait(&mut proxy);
        self.proxies.push(proxy);
    }

    fn output(&self, command: &str) -> String {
        let log = self.folder.join("output");
        let _ = std::fs::remove_file(&log);
        let mut bash = Process::start("bash", self.bash(command), &log);
        bash.wait_ended(wait::SOON);
        bash.log()
    }

    /// Bash in the folder of the example.
    fn bash(&self, script: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.folder.join("bin");
        let here = self.folder.join("here");
        let mut bash = Command::new("bash");
        bash.args(["-c", script])
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("HOME", &here)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("STATE_DIRECTORY")
            .current_dir(here);
        bash
    }
}

/// Whether a command changes nothing.
fn only_looks(command: &str) -> bool {
    let selects = [" -e 'SELECT ", " -e \"SELECT "];
    let is_select = selects.iter().any(|select| command.contains(select));
    command.starts_with("mariadb ") && is_select
        || LOOKS.iter().any(|look| command.starts_with(look))
}
