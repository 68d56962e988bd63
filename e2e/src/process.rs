//! Child processes: started with their output in a file, stopped by pid, and always ended, even if the test process is
//! killed, and even for servers kept in statics.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};

use crate::{wait, written};

/// A running child. Killed (SIGKILL) on drop unless it has ended.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with both outputs appended to the file `log`.
    pub fn start(name: &str, mut command: Command, log: &Path) -> Self {
        command.stdin(Stdio::null());
        Self::start_with_input(name, command, log)
    }

    /// Like [`Self::start`], with the standard input of `command`.
    pub fn start_with_input(name: &str, mut command: Command, log: &Path) -> Self {
        let output = File::options()
            .create(true)
            .append(true)
            .open(log)
            .unwrap_or_else(|error| panic!("{}: {error}", log.display()));
        let errors = output.try_clone().expect("a file can be duplicated");
        let child = command
            .stdout(output)
            .stderr(errors)
            .spawn()
            .unwrap_or_else(|error| panic!("{name} cannot be started: {error} ({command:?})"));
        janitor(&format!("pid {}", child.id()));
        Self {
            child,
            name: name.to_owned(),
            log: log.to_owned(),
        }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.expect("a child has a pid");
        // A child that has ended is a zombie until the test waits for it. A signal to it has no effect.
        let _ = kill_process(pid, signal);
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The exit status, if the child has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    /// Waits for the end; panics with the log's tail when it does not come within `limit`.
    pub fn wait_ended(&mut self, limit: Duration) -> ExitStatus {
        let name = format!("{} ends", self.name);
        wait::for_some(&name, limit, || self.ended())
    }

    /// Everything written so far.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The complete lines of the log.
    pub fn log_lines(&self) -> Vec<String> {
        written::lines(&self.log)
    }

    /// Empties the log. What the process writes is appended to it.
    pub(crate) fn empty_log(&self) {
        let file = File::options().write(true).truncate(true).open(&self.log);
        if let Err(error) = file {
            panic!("{}: {error}", self.log.display());
        }
    }

    /// The last lines of the log, for a failure's message.
    pub fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let from = lines.len().saturating_sub(30);
        format!(
            "--- log of {} ---\n{}\n---",
            self.name,
            lines[from..].join("\n")
        )
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
        janitor(&format!("gone {}", self.child.id()));
    }
}

/// Where folders are made: in memory if it has enough room, else in the system's temporary folder.
fn place() -> &'static Path {
    const MEMORY: &str = "/dev/shm";
    /// More than the folders of all tests that run at once take.
    const ROOM_BYTES: u64 = 8 << 30;
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let room = rustix::fs::statvfs(MEMORY).map(|it| it.f_bavail * it.f_frsize);
        match room {
            Ok(room) if room >= ROOM_BYTES && std::env::var_os("TMPDIR").is_none() => MEMORY.into(),
            _ => std::env::temp_dir(),
        }
    })
}

/// A folder in memory or under the system's temporary folder, removed on drop and, for folders in statics, when
/// the test process ends. Kept when a test fails while it exists.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes one; `kind` becomes part of its name.
    pub fn new(kind: &str) -> Self {
        // The name is short because Unix sockets are in this folder, and their paths hold 107 bytes.
        let folder = tempfile::Builder::new()
            .prefix(&format!("pf-{kind}-"))
            .tempdir_in(place())
            .expect("the temporary folder is writable")
            .keep();
        janitor(&format!("dir {}", folder.display()));
        Self(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path of a file in it.
    pub fn join(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    /// Writes a file into it and returns its path.
    pub fn write(&self, file: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(file);
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("kept for you: {}", self.0.display());
            janitor(&format!("keep {}", self.0.display()));
        } else {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// Reads the pids and folders of this test process. When the test process has ended, kills and removes the ones that
/// are left. Rust does not drop statics, so this is a separate process that reads from a pipe.
const JANITOR: &str = r#"
trap '' INT TERM HUP
pids=' ' dirs=' '
while read -r verb what; do
    case $verb in
    pid) pids="$pids$what " ;;
    gone) pids=${pids%%" $what "*}" "${pids#*" $what "} ;;
    dir) dirs="$dirs$what " ;;
    keep) dirs=${dirs%%" $what "*}" "${dirs#*" $what "} ;;
    esac
done
for pid in $pids; do kill -CONT "$pid"; kill -KILL "$pid"; kill -KILL "-$pid"; done 2>/dev/null
for dir in $dirs; do case $dir in */pf-*) rm -rf "$dir" ;; esac; done
"#;

#[expect(
    clippy::zombie_processes,
    reason = "it outlives this process: that is its purpose"
)]
fn janitor(line: &str) {
    static PIPE: OnceLock<Mutex<ChildStdin>> = OnceLock::new();
    let pipe = PIPE.get_or_init(|| {
        let mut child = Command::new("sh")
            .args(["-c", JANITOR])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("every system has sh");
        Mutex::new(child.stdin.take().expect("stdin is piped"))
    });
    let mut pipe = pipe.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    writeln!(pipe, "{line}").expect("the janitor reads until we end");
}
