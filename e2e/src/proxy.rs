//! The proxy as a process: the real program with a configuration file of its own.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::process::{Folder, Process, Signal};
use crate::raw::{Address, Login, RawConn};
use crate::ready::Ready;
use crate::server::{Server, free_port};
use crate::wait;

const STOPS_WITHIN: Duration = wait::SOON;

/// An empty list of addresses.
const NOWHERE: [&str; 0] = [];

/// The settings of a configuration file.
#[derive(Clone, Debug)]
pub struct Settings {
    set: Vec<(String, String)>,
    tables: Vec<Table>,
}

/// A table of an array (`[[backend]]`): its name, its keys and values.
type Table = (&'static str, Vec<(String, String)>);

impl Default for Settings {
    fn default() -> Self {
        let settings = Self {
            set: Vec::new(),
            tables: Vec::new(),
        };
        // The settings of production, except for short tests: a short drain, frequent probes, an error at once without
        // a backend. Other timeouts are long enough for a busy machine.
        settings
            .set("workers", 2)
            .set("timeout_drain", "3s")
            .set("limits.timeout_login", "60s")
            .set("health.timeout_connect", "10s")
            .set("health.probe_interval", "100ms")
            .set("health.probe_interval_max", "300ms")
            .set("script.time_max", "60s")
            .set("balance.slow_start", "0s")
            .set("balance.timeout_backend_wait", "0s")
            // Relays look for statements in unencrypted bytes.
            .set("backend_tls.get_server_public_key", true)
            .set("log.level", "debug")
    }
}

impl Settings {
    /// The settings of most tests, in front of these servers, all primaries.
    pub fn in_front_of<'a>(servers: impl IntoIterator<Item = &'a Server>) -> Self {
        let backend = |settings: Self, server: &Server| settings.backend(server.tcp());
        servers.into_iter().fold(Self::default(), backend)
    }

    /// Adds a primary, named after its address.
    pub fn backend(self, address: impl ToString) -> Self {
        self.backend_with(address, &[])
    }

    /// Adds a backend with more settings (`("role", "\"replica\"")`), values in TOML.
    pub fn backend_with(self, address: impl ToString, more: &[(&str, &str)]) -> Self {
        self.table("backend", "address", &address.to_string(), more)
    }

    /// Adds an account whose logins the proxy answers.
    pub fn account(self, user: &str, password: &str) -> Self {
        self.account_with(user, &[("password", &format!("{password:?}"))])
    }

    /// Adds an account with more settings, values in TOML.
    pub fn account_with(self, user: &str, more: &[(&str, &str)]) -> Self {
        self.table("account", "user", user, more)
    }

    /// Opens the admin port on this port, for `root` with the password `all` and `look` with the password `some`. The
    /// HTTP port stays closed.
    pub fn admin_on(self, port: u16) -> Self {
        let address = format!("127.0.0.1:{port}");
        self.set("admin.address", [address.as_str()])
            .set("http.address", NOWHERE)
            .set("admin.username", "root")
            .set("admin.password", "all")
            .admin_account("look", "some")
    }

    /// Opens the HTTP port on this port, for the users of the admin port, which is closed.
    pub fn http_on(self, port: u16) -> Self {
        let address = format!("127.0.0.1:{port}");
        self.admin_on(port)
            .set("admin.address", NOWHERE)
            .set("http.address", [address.as_str()])
    }

    /// Adds a user of the admin port with read access.
    pub fn admin_account(self, user: &str, password: &str) -> Self {
        let password = format!("{password:?}");
        self.table("admin_account", "user", user, &[("password", &password)])
    }

    /// Adds a listener with more settings, values in TOML.
    pub fn listener_with(self, address: impl ToString, more: &[(&str, &str)]) -> Self {
        self.table("listener", "address", &address.to_string(), more)
    }

    /// Follows a cluster with this account and more settings, values in TOML.
    pub fn replication(self, user: &str, more: &[(&str, &str)]) -> Self {
        self.table("replication", "user", user, more)
    }

    /// Adds a rule with its settings, values in TOML.
    pub fn rule(self, name: &str, more: &[(&str, &str)]) -> Self {
        self.table("rule", "name", name, more)
    }

    /// Replaces the settings of a rule, which must exist.
    pub fn replaced_rule(mut self, name: &str, more: &[(&str, &str)]) -> Self {
        let key = format!("{name:?}");
        let is_meant = |(table, settings): &(&str, Vec<(String, String)>)| {
            *table == "rule" && settings.first().is_some_and(|(_, value)| *value == key)
        };
        let place = self.tables.iter().position(is_meant);
        let new = Self::default().rule(name, more).tables.pop();
        self.tables[place.expect("there is such a rule")] = new.expect("it was just added");
        self
    }

    /// Removes the accounts.
    pub(crate) fn without_accounts(mut self) -> Self {
        self.tables.retain(|(name, _)| *name != "account");
        self
    }

    fn table(mut self, name: &'static str, key: &str, text: &str, more: &[(&str, &str)]) -> Self {
        let mut table = vec![(key.to_owned(), format!("{text:?}"))];
        let more = more.iter();
        table.extend(more.map(|&(key, value)| (key.to_owned(), value.to_owned())));
        self.tables.push((name, table));
        self
    }

    /// Sets `section.key` (or `key`), replacing what was set before.
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.set.retain(|(other, _)| other != name);
        self.set.push((name.to_owned(), value.into().0));
        self
    }

    /// Gives the settings for outages the program's default values.
    pub fn outages_by_default(mut self) -> Self {
        let changed = [
            "health.probe_interval",
            "health.probe_interval_max",
            "health.timeout_connect",
            "balance.slow_start",
            "balance.timeout_backend_wait",
        ];
        self.set.retain(|(name, _)| !changed.contains(&&**name));
        self
    }

    /// The file's text.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let sectionless = self.set.iter().filter(|(name, _)| !name.contains('.'));
        for (key, value) in sectionless {
            let _ = writeln!(text, "{key} = {value}");
        }
        let mut sections: Vec<&str> = Vec::new();
        for (section, _) in self.set.iter().filter_map(|(name, _)| name.split_once('.')) {
            if !sections.contains(&section) {
                sections.push(section);
            }
        }
        for section in sections {
            let _ = writeln!(text, "\n[{section}]");
            for (name, value) in &self.set {
                if let Some((_, key)) = name.split_once('.').filter(|(of, _)| *of == section) {
                    let _ = writeln!(text, "{key} = {value}");
                }
            }
        }
        for (name, table) in &self.tables {
            let _ = writeln!(text, "\n[[{name}]]");
            for (key, value) in table {
                let _ = writeln!(text, "{key} = {value}");
            }
        }
        text
    }
}

/// A setting's value, written in TOML.
#[derive(Clone, Debug)]
pub struct Value(String);

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self(format!("{text:?}"))
    }
}

impl From<&Path> for Value {
    fn from(path: &Path) -> Self {
        Self(format!("{:?}", path.display().to_string()))
    }
}

impl From<&PathBuf> for Value {
    fn from(path: &PathBuf) -> Self {
        path.as_path().into()
    }
}

impl From<bool> for Value {
    fn from(choice: bool) -> Self {
        Self(choice.to_string())
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self(number.to_string())
    }
}

impl From<&[&str]> for Value {
    fn from(list: &[&str]) -> Self {
        Self(format!("{list:?}"))
    }
}

impl<const N: usize> From<[&str; N]> for Value {
    fn from(list: [&str; N]) -> Self {
        list[..].into()
    }
}

/// A running proxy. When it is dropped, it gets SIGTERM, and its clean end is checked.
#[derive(Debug)]
pub struct Proxy {
    process: Process,
    folder: Folder,
    port: u16,
}

impl Proxy {
    /// Starts it on a free port of 127.0.0.1 (unless `settings` say where) and waits until it is
    /// ready.
    pub fn start(settings: &Settings) -> Self {
        let folder = Folder::new("proxy");
        let port = free_port();
        let config = folder.write("pilotfish.toml", with_listen(settings, port).to_toml());
        Self::launch(folder, port, &["--config".as_ref(), config.as_os_str()])
    }

    /// Like [`Self::start`], without the privileges of root that the tests may have.
    pub fn start_without_privileges(settings: &Settings) -> Self {
        let unprivileged = || {
            let mut command = Command::new("setpriv");
            command.args(["--bounding-set", "-all", "--inh-caps", "-all"]);
            command
        };
        let tried = unprivileged().arg("true").status();
        let has_privileges = tried.is_ok_and(|status| status.success());
        let folder = Folder::new("proxy");
        let port = free_port();
        let config = folder.write("pilotfish.toml", with_listen(settings, port).to_toml());
        let arguments = ["--config".as_ref(), config.as_os_str()];
        match has_privileges {
            true => {
                let mut command = unprivileged();
                command.arg(program());
                Self::launch_as(command, folder, port, &arguments)
            }
            false => Self::launch(folder, port, &arguments),
        }
    }

    /// Starts the proxy with this command line; `{port}` in it becomes a free port's number.
    pub fn start_with(arguments: &[&str]) -> Self {
        let port = free_port();
        let arguments = arguments
            .iter()
            .map(|text| text.replace("{port}", &port.to_string()));
        let arguments: Vec<String> = arguments.collect();
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        Self::launch(Folder::new("proxy"), port, &arguments)
    }

    fn launch(folder: Folder, port: u16, arguments: &[&OsStr]) -> Self {
        Self::launch_as(Command::new(program()), folder, port, arguments)
    }

    fn launch_as(mut command: Command, folder: Folder, port: u16, arguments: &[&OsStr]) -> Self {
        let ready = Ready::bind(folder.path());
        command
            .args(arguments)
            .env("NOTIFY_SOCKET", ready.path())
            .current_dir(folder.path())
            // Standard input is open and silent, as a terminal's is: a program that reads it waits.
            .stdin(Stdio::piped());
        let mut process = Process::start_with_input("pilotfish", command, &folder.join("log"));
        ready.wait(&mut process);
        Self {
            process,
            folder,
            port,
        }
    }

    /// Runs the proxy with a command line that makes it end. Returns its exit status and its output.
    pub fn run_to_the_end(arguments: &[&str]) -> (ExitStatus, String) {
        let folder = Folder::new("proxy");
        let mut command = Command::new(program());
        command.args(arguments).current_dir(folder.path());
        let mut process = Process::start("pilotfish", command, &folder.join("log"));
        let status = process.wait_ended(STOPS_WITHIN);
        (status, process.log())
    }

    /// The address for clients.
    pub fn tcp(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// The address for clients, as a [`RawConn`] takes it.
    pub fn address(&self) -> Address {
        self.tcp().into()
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Connects as `app`.
    #[track_caller]
    pub fn connect(&self) -> RawConn {
        self.connect_as(&Login::app())
    }

    /// Connects with this login.
    #[track_caller]
    pub fn connect_as(&self, login: &Login) -> RawConn {
        match RawConn::connect(&self.address(), login) {
            Ok(conn) => conn,
            Err(error) => panic!("no login through the proxy: {error}\n{}", self.log_tail()),
        }
    }

    /// Writes new settings and makes the proxy reload them. The log has the result of the reload.
    pub fn reload(&self, settings: &Settings) {
        self.write_settings(&with_listen(settings, self.port).to_toml());
        self.signal(Signal::HUP);
    }

    /// The configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.folder.join("pilotfish.toml")
    }

    /// Replaces the configuration file.
    pub fn write_settings(&self, text: &str) {
        self.folder.write("pilotfish.toml", text);
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// The process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The whole log.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// The complete lines of the log.
    pub fn log_lines(&self) -> Vec<String> {
        self.process.log_lines()
    }

    /// The last lines of the log.
    pub fn log_tail(&self) -> String {
        self.process.log_tail()
    }

    /// Waits until a line of the log contains all of `words`, and returns it.
    #[track_caller]
    pub fn wait_logged(&self, words: &[&str]) -> String {
        let found = || {
            let mut lines = self.process.log_lines().into_iter();
            lines.find(|line| words.iter().all(|word| line.contains(word)))
        };
        let start = Instant::now();
        let what = format!("the log has {words:?}");
        wait::for_some(&what, wait::SOON, || {
            // Prints the log before the wait gives up.
            if start.elapsed() > wait::SOON - Duration::from_secs(1) {
                panic!("no line with {words:?}\n{}", self.log_tail());
            }
            found()
        })
    }

    /// Waits until the log has an event: a line whose field `kind` has this value and that contains each of `fields`,
    /// such as `backend="db1"` or a name alone. Returns the line.
    #[track_caller]
    pub fn wait_event(&self, kind: &str, fields: &[&str]) -> String {
        let kind = format!("kind={kind:?}");
        self.wait_logged(&[&[&*kind], fields].concat())
    }

    /// How many events of this kind the log has.
    pub fn count_events(&self, kind: &str) -> usize {
        self.log().matches(&format!("kind={kind:?}")).count()
    }

    /// Panics if the proxy has panicked.
    pub fn assert_sound(&self) {
        let log = self.log();
        let panicked = panic_in(&log);
        assert!(
            panicked.is_none(),
            "{PANICKED}: {panicked:?}\n{}",
            self.log_tail()
        );
    }

    /// Sends SIGTERM, and waits for a clean end.
    pub fn stop(mut self) {
        self.end();
    }

    /// Sends SIGKILL: the proxy has no time to write files or logs.
    pub fn kill(mut self) {
        self.process.signal(Signal::KILL);
        self.process.wait_ended(STOPS_WITHIN);
    }

    fn end(&mut self) {
        self.process.signal(Signal::TERM);
        let status = self.process.wait_ended(STOPS_WITHIN);
        assert!(
            status.success(),
            "the proxy ended with {status}\n{}",
            self.log_tail()
        );
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if std::thread::panicking() {
            if let Some(line) = panic_in(&self.log()) {
                eprintln!("{PANICKED}: {line}");
            }
            eprintln!("{}", self.log_tail());
            return;
        }
        if self.process.ended().is_none() {
            self.end();
        }
        self.assert_sound();
    }
}

/// The message of a failed test if the proxy has panicked. The program that runs the tests searches for these words,
/// and never calls such a failure flaky.
const PANICKED: &str = "the proxy panicked";

/// The line of a log that reports a panic.
fn panic_in(log: &str) -> Option<&str> {
    let mut lines = log.lines();
    lines.find(|line| line.contains("panicked at") || line.contains("ERROR panic"))
}

fn with_listen(settings: &Settings, port: u16) -> Settings {
    if settings.set.iter().any(|(name, _)| name == "listen") {
        return settings.clone();
    }
    let address = format!("127.0.0.1:{port}");
    settings.clone().set("listen", [address.as_str()])
}

/// `PILOTFISH_BIN`, or `pilotfish` in the folder above this test's executable.
pub fn program() -> PathBuf {
    if let Some(program) = std::env::var_os("PILOTFISH_BIN") {
        return program.into();
    }
    let test = std::env::current_exe().expect("a process knows its program");
    let profile = test.parent().and_then(Path::parent);
    let program = profile
        .expect("it is in target/PROFILE/deps")
        .join("pilotfish");
    let hint = "build it (cargo build) or set PILOTFISH_BIN";
    assert!(
        program.exists(),
        "{} is not there: {hint}",
        program.display()
    );
    program
}
