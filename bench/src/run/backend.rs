//! What stands behind the proxies: the minimal backend, the distribution's MariaDB, and MySQL 9.7
//! where `e2e/provision.sh` has unpacked it, alone or twice. Each is started in a folder of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::process::{Process, free_address, version_line};
use super::program::{MYSQL, Program};
use crate::load::Target;
use crate::protocol::EofStyle;

/// The schema whose table is only read, and the one that writers have for themselves.
pub const READ: &str = "sbtest";
pub const WRITTEN: &str = "sbtest_written";

/// An account of its own, for clients that attack.
pub const ATTACKER: &str = "attacker";

/// A kind of backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Minimal,
    MariaDb,
    MySql,
    /// Two of MySQL with the same rows. The direct way goes to the first.
    MySqlPair,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Minimal, Self::MariaDb, Self::MySql, Self::MySqlPair];

    pub fn title(self) -> &'static str {
        match self {
            Self::Minimal => "minimal backend",
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
            Self::MySqlPair => "two MySQL servers",
        }
    }

    /// The addresses' number.
    fn servers(self) -> usize {
        match self {
            Self::MySqlPair => 2,
            _ => 1,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::MariaDb => "mariadb",
            Self::MySql | Self::MySqlPair => "mysql",
        }
    }

    /// The kinds that this machine has.
    pub fn found() -> Vec<Self> {
        Self::ALL
            .into_iter()
            .filter(|kind| kind.program().is_some())
            .collect()
    }

    pub fn version(self) -> String {
        match (self, self.program()) {
            (Self::Minimal, _) => format!("pilotfish-bench {}", env!("CARGO_PKG_VERSION")),
            (_, None) => "not found".to_owned(),
            (_, Some(program)) => {
                let line = version_line(program.command().arg("--version"));
                line.split_once("Ver ")
                    .map_or(line.clone(), |(_, version)| version.to_owned())
            }
        }
    }

    fn program(self) -> Option<Program> {
        match self {
            Self::Minimal => std::env::current_exe().ok().map(Program::Installed),
            Self::MariaDb => Program::installed("MARIADBD", "mariadbd"),
            Self::MySql | Self::MySqlPair => Program::unpacked(MYSQL, "usr/sbin/mysqld"),
        }
    }
}

/// How the account logs in, at a backend or at a proxy before it.
pub fn target(address: SocketAddr, table_rows: u64) -> Target {
    Target {
        address,
        user: "bench".to_owned(),
        password: String::new(),
        schema: READ.to_owned(),
        eof: EofStyle::Deprecated,
        table_rows,
        tls: None,
    }
}

/// A backend that accepts sessions of the account `bench`, which has no password.
pub struct Backend {
    pub kind: Kind,
    servers: Vec<Server>,
}

/// One server.
pub struct Server {
    pub address: SocketAddr,
    process: Process,
}

impl Backend {
    /// # Errors
    /// When it does not come up.
    pub async fn start(kind: Kind, folder: &Path) -> Result<Self> {
        let mut servers = Vec::new();
        for _ in 0..kind.servers() {
            servers.push(Server::start(kind, folder).await?);
        }
        Ok(Self { kind, servers })
    }

    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.servers.iter().map(|server| server.address).collect()
    }

    /// Where the direct way goes.
    pub fn address(&self) -> SocketAddr {
        self.servers[0].address
    }

    pub fn pids(&self) -> Vec<u32> {
        self.servers
            .iter()
            .map(|server| server.process.pid())
            .collect()
    }

    /// # Errors
    /// When a server has ended.
    pub fn alive(&mut self) -> Result<()> {
        self.servers
            .iter_mut()
            .try_for_each(|server| server.process.alive())
    }
}

impl Server {
    async fn start(kind: Kind, folder: &Path) -> Result<Self> {
        Self::logging(kind, folder, &["--skip-log-bin".to_owned()]).await
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// With these options about its binary log.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn logging(kind: Kind, folder: &Path, log: &[String]) -> Result<Self> {
        let address = free_address()?;
        let program = kind
            .program()
            .with_context(|| format!("{} is not here", kind.title()))?;
        let folder = folder.join(format!("{}-{}", kind.name(), address.port()));
        std::fs::create_dir(&folder)?;
        let command = match kind {
            Kind::Minimal => {
                let mut command = program.command();
                command
                    .arg("backend")
                    .arg("--listen")
                    .arg(address.to_string());
                command
            }
            Kind::MariaDb | Kind::MySql | Kind::MySqlPair => {
                initialise(kind, &program, &folder).await?;
                serve(kind, &program, &folder, address, log)?
            }
        };
        let process = Process::listening(kind.name(), command, &folder, address).await?;
        Ok(Self { address, process })
    }
}

/// A server with the options without which it would not find its own files.
fn at_home(program: &Program, data: &Path) -> Command {
    let mut command = program.command();
    command
        .arg("--no-defaults")
        .arg(format!("--datadir={}", data.display()));
    if rustix::process::geteuid().is_root() {
        command.arg("--user=root");
    }
    if let Some(root) = program.root() {
        let usr = root.join("usr");
        let of = |path: &str| usr.join(path).display().to_string();
        command.arg(format!("--basedir={}", usr.display()));
        command.arg(format!("--plugin-dir={}", of("lib/mysql/plugin")));
        command.arg(format!("--lc-messages-dir={}", of("share/mysql")));
    }
    command
}

/// Makes the server's data folder.
async fn initialise(kind: Kind, program: &Program, folder: &Path) -> Result<()> {
    let data = folder.join("data");
    let command = match kind {
        Kind::MySql | Kind::MySqlPair => {
            let mut command = at_home(program, &data);
            command.arg("--initialize-insecure");
            command
        }
        _ => {
            let mut command = Command::new("mariadb-install-db");
            command.args([
                "--no-defaults",
                "--skip-test-db",
                "--auth-root-authentication-method=normal",
            ]);
            command.arg(format!("--datadir={}", data.display()));
            if rustix::process::geteuid().is_root() {
                command.arg("--user=root");
            }
            command
        }
    };
    std::fs::create_dir(&data)?;
    let output = tokio::process::Command::from(command)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| format!("{} cannot make its data folder", kind.title()))?;
    ensure!(
        output.status.success(),
        "{} cannot make its data folder:\n{}",
        kind.title(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// A certificate of its own for a server that makes none by itself, with its key: paths of the two files.
fn certify(folder: &Path) -> Result<[PathBuf; 2]> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| folder.join(name));
    std::fs::write(&certificate, made.cert.pem())?;
    std::fs::write(&key, made.signing_key.serialize_pem())?;
    Ok([certificate, key])
}

/// The server's command line: all data in memory, nothing synced; `log` says what is logged.
fn serve(
    kind: Kind,
    program: &Program,
    folder: &Path,
    address: SocketAddr,
    log: &[String],
) -> Result<Command> {
    let setup = folder.join("setup.sql");
    std::fs::write(
        &setup,
        format!(
            "CREATE DATABASE {READ};\nCREATE DATABASE {WRITTEN};\nCREATE USER bench@'%';\n\
             GRANT ALL ON *.* TO bench@'%';\nCREATE USER {ATTACKER}@'%';\n\
             GRANT ALL ON *.* TO {ATTACKER}@'%';\n"
        ),
    )?;
    let mut command = at_home(program, &folder.join("data"));
    command
        .arg(format!("--port={}", address.port()))
        .arg(format!("--bind-address={}", address.ip()))
        .arg(format!("--socket={}", folder.join("sock").display()))
        .arg(format!("--pid-file={}", folder.join("pid").display()))
        .arg(format!("--init-file={}", setup.display()))
        .args([
            "--skip-name-resolve",
            "--performance-schema=OFF",
            // Debian's MySQL expects a folder that only its package makes.
            "--secure-file-priv=",
        ])
        .args([
            "--max-connections=2000",
            "--back-log=4096",
            "--table-open-cache=4000",
            "--max-allowed-packet=128M",
        ])
        .args([
            "--innodb-buffer-pool-size=512M",
            "--innodb-flush-log-at-trx-commit=0",
        ]);
    command.args(log);
    match kind {
        Kind::Minimal => bail!("the minimal backend has no data folder"),
        Kind::MariaDb => {
            let [certificate, key] = certify(folder)?;
            command
                .arg(format!("--ssl-cert={}", certificate.display()))
                .arg(format!("--ssl-key={}", key.display()));
        }
        Kind::MySql | Kind::MySqlPair => {
            command.arg("--mysqlx=OFF");
        }
    }
    Ok(command)
}
