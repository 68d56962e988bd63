//! One server of the sandbox: finds its program, initialises its data, starts its process.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use config::{BackendAddress, BackendTlsMode, Secret};
use control::{BackendClient, ClientOptions};
use rustix::process::geteuid;
use system::Entropy;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::fault::{During, Fault};

/// How long a server may take until it answers; a first start on a slow disk takes seconds.
const TIMEOUT_START: Duration = Duration::from_secs(90);
/// Time between two checks whether a starting server answers.
const START_POLL: Duration = Duration::from_millis(50);
/// Attempts to start with a free port, because another program may take the port before the server does.
const PORT_ATTEMPTS: usize = 3;

/// Folders in which packages put the server, besides the folders of PATH.
const FOLDERS: [&str; 8] = [
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/mysql/bin",
    "/opt/homebrew/opt/mariadb/bin",
    "/usr/local/opt/mariadb/bin",
    "/opt/homebrew/opt/mysql/bin",
    "/usr/local/opt/mysql/bin",
];

/// The statements that MariaDB runs before it accepts clients. The account root has no password, and may then log in
/// over the private socket only. MySQL makes no other root account.
const ROOT_BY_SOCKET_ONLY: &str = "SET sql_log_bin = 0;
DELETE FROM mysql.global_priv WHERE User = 'root' AND Host <> 'localhost';
FLUSH PRIVILEGES;
";

/// `Country` is the same table as `country`, on every system, as on systems whose file names ignore the case. So
/// statements that were written on one system work on all.
const NAMES_WITHOUT_CASE: &str = "--lower-case-table-names=1";

/// The family of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// MariaDB, 10.5 or newer.
    MariaDb,
    /// MySQL, 8.4 or newer.
    MySql,
}

/// A server program that the sandbox can work with.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    family: Family,
    /// Its version, such as `10.11.6`.
    version: String,
    as_root: bool,
    /// Random bytes for the clients of its servers.
    entropy: Entropy,
}

impl Program {
    /// The first usable server of this machine: MariaDB before MySQL, PATH before packages' folders.
    pub fn find(entropy: &Entropy) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<_> = std::env::split_paths(&path)
            .chain(FOLDERS.map(PathBuf::from))
            .collect();
        ["mariadbd", "mysqld"]
            .iter()
            .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
            .find_map(|path| {
                path.is_file()
                    .then(|| Self::at(&path, entropy).ok())
                    .flatten()
            })
    }

    /// The server program at `path`.
    ///
    /// # Errors
    /// The program does not run, is no server, or is too old.
    pub fn at(path: &Path, entropy: &Entropy) -> Result<Self, Fault> {
        let path = std::path::absolute(path).during("find the current folder")?;
        let output = std::process::Command::new(&path)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .during(format!("run {}", path.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let (family, version) = read_version(&text)
            .map_err(|reason| Fault::new(format!("{} {reason}", path.display())))?;
        Ok(Self {
            path,
            family,
            version,
            as_root: geteuid().is_root(),
            entropy: entropy.clone(),
        })
    }

    /// Fills `data` with new system tables, in which root has no password. `scratch` must be
    /// this server's own folder: a server that starts removes other servers' files from a shared one.
    async fn initialise(&self, data: &Path, scratch: &Path, log: &Path) -> Result<(), Fault> {
        let mut command = match self.family {
            Family::MariaDb => self.install_db()?,
            Family::MySql => self.command("--initialize-insecure"),
        };
        if self.family == Family::MySql {
            // MySQL stores this option in its data, and does not start with another value.
            command.arg(NAMES_WITHOUT_CASE);
        }
        command.args([flag("datadir", data), flag("tmpdir", scratch)]);
        let status = to_log(&mut command, log)
            .during("open a log")?
            .status()
            .await
            .during(format!("run {:?}", command.as_std().get_program()))?;
        if status.success() {
            return Ok(());
        }
        Err(Fault::new(format!("could not initialise a server's data: {status}")).with_log(log))
    }

    /// MariaDB's script that makes the system tables. It is in the folder `bin` or `scripts` next to the server's
    /// folder, or on PATH.
    fn install_db(&self) -> Result<Command, Fault> {
        let root = self.path.parent().and_then(Path::parent);
        let own = root
            .into_iter()
            .flat_map(|root| [root.join("bin"), root.join("scripts")]);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let script = own
            .chain(std::env::split_paths(&path))
            .flat_map(|folder| {
                ["mariadb-install-db", "mysql_install_db"].map(|name| folder.join(name))
            })
            .find(|script| script.is_file())
            .ok_or_else(|| {
                Fault::new(format!(
                    "found no mariadb-install-db for {}",
                    self.path.display()
                ))
            })?;
        let mut command = Command::new(&script);
        command.arg("--no-defaults");
        if let Some(root) = root.filter(|root| script.starts_with(root)) {
            command.arg(format!("--basedir={}", root.display()));
        }
        command.args([
            // Accounts are by address, so the host's own name need not be known.
            "--force",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
            "--innodb-log-file-size=16M",
        ]);
        self.name_user(&mut command);
        Ok(command)
    }

    /// The command for the server itself, with one argument, and without this machine's option files.
    fn command(&self, argument: &str) -> Command {
        let mut command = Command::new(&self.path);
        command.args(["--no-defaults", argument]);
        self.name_user(&mut command);
        command
    }

    /// Adds `--user=root` if root runs the server, because it refuses to start as root without that option.
    fn name_user(&self, command: &mut Command) {
        if self.as_root {
            command.arg("--user=root");
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self.family {
            Family::MariaDb => "MariaDB",
            Family::MySql => "MySQL",
        };
        write!(f, "{family} {}", self.version)
    }
}

/// Reads the output of `--version`: the family and the version, or the reason why the program is unusable.
fn read_version(text: &str) -> Result<(Family, String), String> {
    let version = text
        .split_once("Ver ")
        .and_then(|(_, rest)| rest.split_whitespace().next())
        .ok_or_else(|| match text.lines().find(|line| !line.trim().is_empty()) {
            Some(said) => format!("is no MariaDB or MySQL server: --version says {said:?}"),
            None => "is no MariaDB or MySQL server".to_owned(),
        })?;
    let family = match version.contains("MariaDB") {
        true => Family::MariaDb,
        false => Family::MySql,
    };
    let mut numbers = version
        .split(['.', '-'])
        .map_while(|text| text.parse::<u32>().ok());
    let release = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    match family {
        Family::MariaDb if release < (10, 5) => Err(format!(
            "is MariaDB {version}; the sandbox needs 10.5 or newer"
        )),
        Family::MySql if release < (8, 4) => Err(format!(
            "is MySQL {version}; the sandbox needs 8.4 or newer"
        )),
        _ => Ok((
            family,
            version.split('-').next().unwrap_or(version).to_owned(),
        )),
    }
}

/// The replication role of a server of the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerRole {
    /// Takes the writes.
    Primary,
    /// Follows the primary, and takes no other writes.
    Replica,
}

/// One server: its own folder, a port on the loopback address, and a process while it runs.
#[derive(Debug)]
pub struct Server {
    program: Arc<Program>,
    /// Its name in the sandbox: `primary`, `replica-1`, …
    pub name: String,
    role: ServerRole,
    /// The server id in replication; from 1.
    id: usize,
    folder: PathBuf,
    /// Its port on 127.0.0.1; 0 before the first start.
    pub port: u16,
    process: Option<Child>,
}

impl Server {
    /// Makes the sandbox's server number `id` in the folder `sandbox`: 1 is the primary. It makes the server's folder,
    /// but not its data.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(program: &Arc<Program>, sandbox: &Path, id: usize) -> Result<Self, Fault> {
        let (name, role) = match id {
            1 => ("primary".to_owned(), ServerRole::Primary),
            _ => (format!("replica-{}", id - 1), ServerRole::Replica),
        };
        let folder = sandbox.join(&name);
        for folder in [&folder, &folder.join("tmp")] {
            DirBuilder::new()
                .mode(0o700)
                .create(folder)
                .during(format!("make {}", folder.display()))?;
        }
        fs::write(folder.join("init.sql"), ROOT_BY_SOCKET_ONLY).during("write init.sql")?;
        Ok(Self {
            program: program.clone(),
            name,
            role,
            id,
            folder,
            port: 0,
            process: None,
        })
    }

    /// Initialises this server's data.
    ///
    /// # Errors
    /// The server's own program fails; the fault shows its log.
    pub async fn initialise(&self) -> Result<(), Fault> {
        self.program
            .initialise(&self.data(), &self.scratch(), &self.log())
            .await
    }

    /// Copies the data of a server that has not been started yet.
    ///
    /// # Errors
    /// The files cannot be copied.
    pub fn copy_data_of(&self, other: &Self) -> Result<(), Fault> {
        copy_folder(&other.data(), &self.data()).during(format!("copy data for {}", self.name))?;
        // The file with the server's identity in MySQL. MySQL makes a new one if it is missing.
        match fs::remove_file(self.data().join("auto.cnf")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
        .during(format!("give {} its own identity", self.name))
    }

    /// Starts the process and waits until it answers. The first start picks the port, later starts
    /// keep it.
    ///
    /// # Errors
    /// The server ends, or does not answer in time; the fault shows its log.
    pub async fn start(&mut self) -> Result<(), Fault> {
        if self.port != 0 {
            return self.start_once().await;
        }
        let mut attempt = 1;
        loop {
            self.port = free_port().during("find a free port")?;
            match self.start_once().await {
                Err(fault) if attempt < PORT_ATTEMPTS && fault.mentions("already in use") => {
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    async fn start_once(&mut self) -> Result<(), Fault> {
        let mut command = self.program.command(&flag("datadir", &self.data()));
        command.args(self.flags());
        let mut process = to_log(&mut command, &self.log())
            .during("open a log")?
            .spawn()
            .during(format!("start {}", self.name))?;
        let reason = tokio::select! {
            status = process.wait() => match status {
                Ok(status) => format!("{} ended while starting ({status})", self.name),
                Err(error) => format!("{} was lost sight of: {error}", self.name),
            },
            answer = timeout(TIMEOUT_START, self.answer()) => match answer {
                Ok(()) => {
                    self.process = Some(process);
                    return Ok(());
                }
                Err(_) => format!("{} does not answer", self.name),
            },
        };
        Err(Fault::new(reason).with_log(&self.log()))
    }

    /// Returns once the server accepts root.
    async fn answer(&self) {
        loop {
            if let Ok(client) = self.connect().await {
                client.quit().await;
                return;
            }
            sleep(START_POLL).await;
        }
    }

    /// A connection as root, through the server's private socket.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn connect(&self) -> Result<BackendClient, Fault> {
        let options = ClientOptions {
            address: BackendAddress::Unix(self.socket()),
            user: "root".to_owned(),
            password: Secret::new(""),
            schema: None,
            tls: BackendTlsMode::Off,
            timeout: TIMEOUT_START,
        };
        BackendClient::connect(&options, &self.program.entropy)
            .await
            .during(format!("connect to {}", self.name))
    }

    /// Waits until the running process ends, and returns its status.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        match &mut self.process {
            Some(process) => process.wait().await,
            None => std::future::pending().await,
        }
    }

    /// The id of the running process; `None` if it has ended.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().and_then(Child::id)
    }

    /// The server's TCP address.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Its number among the sandbox's servers; the primary is 1.
    pub fn id(&self) -> usize {
        self.id
    }

    /// Its role in replication.
    pub fn role(&self) -> ServerRole {
        self.role
    }

    /// The server's family.
    pub fn family(&self) -> Family {
        self.program.family
    }

    /// The socket that only this account can reach; root logs in there without a password.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("server.sock")
    }

    /// The file with its process id while it runs.
    pub fn pid_file(&self) -> PathBuf {
        self.folder.join("server.pid")
    }

    /// The file with all its output.
    pub fn log(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The folder for temporary tables. It is also the only folder in which statements may read and write files.
    fn scratch(&self) -> PathBuf {
        self.folder.join("tmp")
    }
    /// Every option except the data folder, for a server that is small, private, replicating, and fast rather than
    /// durable.
    fn flags(&self) -> Vec<String> {
        let mut flags = vec![
            flag("socket", &self.socket()),
            flag("pid-file", &self.pid_file()),
            flag("tmpdir", &self.scratch()),
            flag("secure-file-priv", &self.scratch()),
            format!("--port={}", self.port),
            format!("--server-id={}", self.id),
        ];
        let more: &[&str] = &[
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
            "--log-bin=binlog",
            "--relay-log=relay",
            "--sync-binlog=0",
            "--innodb-flush-log-at-trx-commit=2",
            "--innodb-buffer-pool-size=64M",
            "--performance-schema=OFF",
            "--character-set-server=utf8mb4",
            "--max-connections=500",
            NAMES_WITHOUT_CASE,
        ];
        let family: &[&str] = match self.program.family {
            Family::MariaDb => &["--log-slave-updates=ON", "--innodb-log-file-size=16M"],
            Family::MySql => &[
                "--gtid-mode=ON",
                "--enforce-gtid-consistency=ON",
                "--relay-log-recovery=ON",
                "--mysqlx=OFF",
            ],
        };
        flags.extend(more.iter().chain(family).map(|flag| (*flag).to_owned()));
        if self.program.family == Family::MariaDb {
            flags.push(flag("init-file", &self.folder.join("init.sql")));
        }
        if self.role == ServerRole::Replica {
            flags.push("--read-only=ON".to_owned());
        }
        flags
    }
}

/// An option that names a path.
fn flag(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

/// Sends a program's output to `log`, gives it no input, and removes it from the
/// terminal's process group, because the sandbox handles Ctrl-C.
fn to_log<'a>(command: &'a mut Command, log: &Path) -> io::Result<&'a mut Command> {
    let log: File = OpenOptions::new().create(true).append(true).open(log)?;
    Ok(command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0))
}

/// A TCP port of the loopback address that is free at this moment.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &target)?,
            false => {
                fs::copy(entry.path(), target)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_version_tells_the_family() {
        let mariadb =
            "mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)";
        assert_eq!(
            read_version(mariadb).unwrap(),
            (Family::MariaDb, "10.11.6".to_owned())
        );
        let mysql = "/usr/sbin/mysqld  Ver 9.7.1 for Linux on x86_64 ((Debian))\n";
        assert_eq!(
            read_version(mysql).unwrap(),
            (Family::MySql, "9.7.1".to_owned())
        );
    }

    #[test]
    fn old_servers_and_other_programs_are_named_as_such() {
        let old = read_version("mysqld  Ver 8.0.36 for Linux on x86_64").unwrap_err();
        assert!(old.contains("8.4 or newer"), "{old}");
        let old = read_version("mysqld  Ver 10.3.39-MariaDB for Linux on x86_64").unwrap_err();
        assert!(old.contains("10.5 or newer"), "{old}");
        let other = read_version("GNU bash, version 5.2.15").unwrap_err();
        assert!(other.contains("no MariaDB or MySQL server"), "{other}");
    }
}
