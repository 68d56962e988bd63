//! A fresh Debian in a folder. Programs run in it by chroot; systemd does not run there. A program in the place of
//! `systemctl` records the calls of the packages. The unit's command is started as the unit says: with its account
//! and its folders. The unit's sandbox (`ProtectSystem=` and the like) is not applied.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Command, Output};

use e2e::{Folder, Process, Signal, cache, wait};

use super::{printed, run};

/// The file with the recorded calls of `systemctl`.
const CALLS: &str = "systemctl-calls";

pub struct DebianRoot {
    folder: Folder,
}

/// The service, started as its unit says.
pub struct Service {
    pub process: Process,
}

impl DebianRoot {
    /// Unpacks the root that `e2e/package-tools.sh` has made; `None` if there is no such root.
    pub fn unpack() -> Option<Self> {
        let archive = cache().join("debian-root/root.tar");
        if !archive.exists() || !rustix::process::geteuid().is_root() {
            println!("LEFT OUT: it takes root and e2e/package-tools.sh");
            return None;
        }
        let root = Self {
            folder: Folder::new("debian"),
        };
        let archive = archive.to_str().expect("a path of letters");
        printed(&run("tar", &["-xpf", archive, "-C", root.path()]));
        let hosts = "127.0.0.1 localhost db1\n";
        root.write("etc/hosts", hosts, 0o644);
        // The packages' scripts call systemctl only where systemd runs.
        fs::create_dir_all(root.file("run/systemd/system")).expect("the folder can be written");
        let note = format!("#!/bin/sh\necho \"$*\" >>/{CALLS}\n");
        let _ = fs::remove_file(root.file("usr/bin/systemctl"));
        root.write("usr/bin/systemctl", &note, 0o755);
        Some(root)
    }

    pub fn path(&self) -> &str {
        self.folder.path().to_str().expect("a path of letters")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    fn write(&self, name: &str, text: &str, mode: u32) {
        fs::write(self.file(name), text).expect("the root can be written");
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(self.file(name), mode).expect("it is ours");
    }

    /// Runs a program in the root as root, with /proc.
    pub fn run(&self, words: &[&str]) -> Output {
        let output = self.command("root", words).output();
        output.expect("unshare can be started")
    }

    fn command(&self, account: &str, words: &[&str]) -> Command {
        let script = "mount -t proc proc \"$0/proc\"; root=$0 account=$1; shift; \
             exec chroot --userspec=\"$account:$account\" \"$root\" \"$@\"";
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", script, self.path(), account])
            .args(words)
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            )
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env_remove("TMPDIR");
        command
    }

    /// The calls of systemctl by the packages' scripts since the last call of this function.
    pub fn systemctl_calls(&self) -> String {
        let calls = self.text(CALLS);
        let _ = fs::remove_file(self.file(CALLS));
        calls
    }

    /// The user id and the group id of an account.
    pub fn account(&self, name: &str) -> Option<(u32, u32)> {
        let passwd = self.text("etc/passwd");
        let line = passwd
            .lines()
            .find(|line| line.starts_with(&format!("{name}:")))?;
        let mut words = line.split(':').skip(2);
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    }

    /// Starts the unit's command, and waits until the service reports that it is ready.
    pub fn start_service(&self) -> Service {
        let unit = self.text("usr/lib/systemd/system/pilotfish.service");
        let said = |key: &str| {
            let lines = unit.lines().filter_map(|line| line.split_once('='));
            let mut values = lines.filter(|(name, _)| *name == key);
            values
                .next()
                .map(|(_, value)| value)
                .unwrap_or_else(|| panic!("no {key} in the unit"))
        };
        assert_eq!(said("Type"), "notify");
        let account = said("User");
        let (user, group) = self
            .account(account)
            .expect("the package has made the account");
        let folders = [
            ("RuntimeDirectory", "run", "RUNTIME_DIRECTORY"),
            ("LogsDirectory", "var/log", "LOGS_DIRECTORY"),
            ("StateDirectory", "var/lib", "STATE_DIRECTORY"),
        ]
        .map(|(key, place, variable)| {
            let name = format!("{place}/{}", said(key));
            let folder = self.file(&name);
            fs::create_dir_all(&folder).expect("the root can be written");
            chown(&folder, Some(user), Some(group)).expect("the tests run as root");
            (variable, format!("/{name}"))
        });
        let socket = self.file("run/notify");
        let _ = fs::remove_file(&socket);
        let listener = UnixDatagram::bind(&socket).expect("the root can be written");
        chown(&socket, Some(user), Some(group)).expect("the tests run as root");
        let words: Vec<&str> = said("ExecStart").split(' ').collect();
        let mut command = self.command(account, &words);
        command.env("NOTIFY_SOCKET", "/run/notify").envs(folders);
        let log = self.file("service.log");
        let mut process = Process::start("the service", command, &log);
        listener.set_nonblocking(true).expect("it is a socket");
        let mut message = [0; 1024];
        wait::until("the service is ready", wait::SOON, || {
            assert_eq!(process.ended(), None, "{}", process.log_tail());
            let length = listener.recv(&mut message).unwrap_or(0);
            String::from_utf8_lossy(&message[..length]).contains("READY=1")
        });
        Service { process }
    }
}

impl Service {
    /// The user id that the service runs as.
    pub fn user(&self) -> u32 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.pid()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        let user = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        user.expect("it runs")
    }

    /// Stops the service as systemd would.
    pub fn stop(mut self) {
        self.process.signal(Signal::TERM);
        let status = self.process.wait_ended(wait::SOON);
        assert!(status.success(), "{status} {}", self.process.log_tail());
    }
}
