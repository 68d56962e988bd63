//! What stands behind the proxies: the minimal backend, the distribution's MariaDB, and MySQL 9.7
//! where `e2e/provision.sh` has unpacked it. Each is started in a folder of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::process::{Process, find_program, free_address, version_line};

/// A kind of backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Minimal,
    MariaDb,
    MySql,
}

impl Kind {
    pub fn title(self) -> &'static str {
        match self {
            Self::Minimal => "minimal backend",
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
        }
    }

    /// The kinds that this machine has.
    pub fn found() -> Vec<Self> {
        let all = [Self::Minimal, Self::MariaDb, Self::MySql];
        all.into_iter()
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
            Self::MariaDb => find_program("MARIADBD", "mariadbd").map(Program::Installed),
            Self::MySql => Program::unpacked("mysql-9.7", "usr/sbin/mysqld"),
        }
    }
}

/// Where a server's program is.
enum Program {
    Installed(PathBuf),
    /// In a folder that brings its own libraries and loader.
    Unpacked {
        root: PathBuf,
        program: PathBuf,
    },
}

impl Program {
    fn unpacked(folder: &str, program: &str) -> Option<Self> {
        let cache = std::env::var_os("PILOTFISH_CACHE").map(PathBuf::from);
        let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/pilotfish"));
        let root = cache.or_else(home)?.join(folder);
        let program = root.join(program);
        program.exists().then_some(Self::Unpacked { root, program })
    }

    fn command(&self) -> Command {
        match self {
            Self::Installed(program) => Command::new(program),
            Self::Unpacked { root, program } => {
                let mut command = Command::new(root.join("usr/lib64/ld-linux-x86-64.so.2"));
                command
                    .arg("--library-path")
                    .arg(root.join("usr/lib/x86_64-linux-gnu"));
                command.arg(program).env_remove("LD_PRELOAD");
                command
            }
        }
    }

    /// The program with the options without which it would not find its own files.
    fn at_home(&self, data: &Path) -> Command {
        let mut command = self.command();
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", data.display()));
        if rustix::process::geteuid().is_root() {
            command.arg("--user=root");
        }
        if let Self::Unpacked { root, .. } = self {
            let usr = root.join("usr");
            command.arg(format!("--basedir={}", usr.display()));
            command.arg(format!(
                "--plugin-dir={}",
                usr.join("lib/mysql/plugin").display()
            ));
            command.arg(format!(
                "--lc-messages-dir={}",
                usr.join("share/mysql").display()
            ));
        }
        command
    }
}

/// A backend that accepts sessions of the account `bench`, which has no password.
pub struct Backend {
    pub kind: Kind,
    pub address: SocketAddr,
    pub process: Process,
}

impl Backend {
    /// # Errors
    /// When it does not come up.
    pub async fn start(kind: Kind, folder: &Path) -> Result<Self> {
        let address = free_address()?;
        let program = kind
            .program()
            .with_context(|| format!("{} is not here", kind.title()))?;
        let folder = folder.join(kind.name());
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
            Kind::MariaDb | Kind::MySql => {
                initialise(kind, &program, &folder).await?;
                serve(kind, &program, &folder, address)?
            }
        };
        let process = Process::listening(kind.name(), command, &folder, address).await?;
        Ok(Self {
            kind,
            address,
            process,
        })
    }
}

/// Makes the server's data folder.
async fn initialise(kind: Kind, program: &Program, folder: &Path) -> Result<()> {
    let data = folder.join("data");
    let command = match kind {
        Kind::MySql => {
            let mut command = program.at_home(&data);
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

/// The server's command line: all data in memory, nothing synced, nothing logged.
fn serve(kind: Kind, program: &Program, folder: &Path, address: SocketAddr) -> Result<Command> {
    let setup = folder.join("setup.sql");
    std::fs::write(
        &setup,
        "CREATE DATABASE sbtest;\nCREATE USER bench@'%';\nGRANT ALL ON *.* TO bench@'%';\n",
    )?;
    let mut command = program.at_home(&folder.join("data"));
    command
        .arg(format!("--port={}", address.port()))
        .arg(format!("--bind-address={}", address.ip()))
        .arg(format!("--socket={}", folder.join("sock").display()))
        .arg(format!("--pid-file={}", folder.join("pid").display()))
        .arg(format!("--init-file={}", setup.display()))
        .args([
            "--skip-name-resolve",
            "--skip-log-bin",
            "--performance-schema=OFF",
            // Debian's MySQL expects a folder that only its package makes.
            "--secure-file-priv=",
        ])
        .args([
            "--max-connections=2000",
            "--back-log=4096",
            "--table-open-cache=4000",
        ])
        .args([
            "--innodb-buffer-pool-size=512M",
            "--innodb-flush-log-at-trx-commit=0",
        ]);
    match kind {
        Kind::Minimal => bail!("the minimal backend has no data folder"),
        Kind::MariaDb => {}
        Kind::MySql => {
            command.arg("--mysqlx=OFF");
        }
    }
    Ok(command)
}
