//! Pilotfish as a replica: it follows the primary, with relay files or without, and feeds replicas.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::reader::LAST_TABLE;
use crate::load::Session;
use crate::run::backend;
use crate::run::contestant::pilotfish;
use crate::run::process::{Process, free_address};

const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// `root:bench`
const CREDENTIALS: &str = "cm9vdDpiZW5jaA==";

/// Whether the proxy keeps the transactions in files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Relay {
    Off,
    On,
}

/// A proxy, which may run.
pub struct Proxy {
    config: PathBuf,
    folder: PathBuf,
    name: String,
    /// Where replicas connect.
    pub replicas: SocketAddr,
    admin: SocketAddr,
    http: SocketAddr,
    process: Option<Process>,
}

impl Proxy {
    /// Writes the settings of one that follows a server.
    pub fn new(folder: &Path, name: &str, primary: SocketAddr, relay: Relay) -> Result<Self> {
        let folder = folder.join(name);
        fs::create_dir_all(folder.join("relay"))?;
        let (replicas, admin, http) = (free_address()?, free_address()?, free_address()?);
        let place = folder.display();
        let relaying = match relay {
            Relay::Off => String::new(),
            Relay::On => format!(
                "relay_folder = \"{place}/relay\"\nrelay_bytes_max = \"64GiB\"\n\
                 [[listener]]\naddress = \"{replicas}\"\nserves = \"replication\"\n\
                 [[account]]\nuser = \"bench\"\nreplication = true\n"
            ),
        };
        let text = format!(
            "listen = [\"{}\"]\nworkers = 1\n[[backend]]\naddress = \"{primary}\"\n\
             [admin]\naddress = \"{admin}\"\nusername = \"root\"\npassword = \"bench\"\n\
             [http]\naddress = \"{http}\"\n[schema_history]\nfile = \"{place}/schemas.db\"\n\
             [[replication]]\ncluster = \"main\"\nuser = \"bench\"\nserver_id = 4242\n{relaying}",
            free_address()?
        );
        let config = folder.join("pilotfish.toml");
        fs::write(&config, text)?;
        Ok(Self {
            config,
            folder,
            name: name.to_owned(),
            replicas,
            admin,
            http,
            process: None,
        })
    }

    /// Starts it. A stream that has never run begins at the end of the primary's log.
    pub async fn start(&mut self) -> Result<()> {
        let program = pilotfish::program().context("Pilotfish is not found")?;
        let mut command = Command::new(program);
        command.arg("--config").arg(&self.config);
        let process = Process::listening(&self.name, command, &self.folder, self.admin).await?;
        self.process = Some(process);
        Ok(())
    }

    /// Starts it, waits until it follows, and ends it: it has a position now.
    pub async fn begin(&mut self) -> Result<()> {
        self.start().await?;
        self.wait("state = 'streaming'").await?;
        self.process = None;
        Ok(())
    }

    pub fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, Process::pid)
    }

    /// Waits until its stream has had so many transactions since the start.
    pub async fn wait_transactions(&mut self, count: u64) -> Result<()> {
        self.wait(&format!("transactions >= {count}")).await
    }

    pub async fn wait(&mut self, condition: &str) -> Result<()> {
        let mut target = backend::target(self.admin, 1);
        target.user = "root".to_owned();
        target.password = "bench".to_owned();
        target.schema.clear();
        let mut session = Session::open(&target).await?;
        let statement = format!("SELECT stream FROM replication WHERE {condition}");
        while session.look(&statement).await? == 0 {
            if let Some(process) = &mut self.process {
                process.alive()?;
            }
            sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    /// Reads all changes as JSON lines, up to that of the last table; how many bytes they are.
    pub async fn read_changes(&self) -> Result<u64> {
        let mut stream = TcpStream::connect(self.http).await?;
        let request = format!(
            "GET /changes?from=oldest HTTP/1.1\r\nhost: {}\r\nauthorization: Basic {CREDENTIALS}\r\n\r\n",
            self.http
        );
        stream.write_all(request.as_bytes()).await?;
        let name = format!("\"table\":\"{LAST_TABLE}\"");
        let mut buffer = vec![0; 256 << 10];
        let (mut bytes, mut kept) = (0, 0);
        loop {
            let read = stream.read(&mut buffer[kept..]).await?;
            ensure!(read > 0, "the change feed has ended");
            if bytes == 0 {
                let is_ok = buffer.starts_with(b"HTTP/1.1 200");
                let head = String::from_utf8_lossy(&buffer[..read]);
                ensure!(is_ok, "the change feed is refused: {head}");
            }
            bytes += read as u64;
            let filled = kept + read;
            // The last line is short, and nothing but heartbeats comes behind it.
            let tail = &buffer[filled.saturating_sub(4096)..filled];
            if tail.windows(name.len()).any(|it| it == name.as_bytes()) {
                return Ok(bytes);
            }
            kept = filled.min(name.len());
            buffer.copy_within(filled - kept..filled, 0);
        }
    }
}
