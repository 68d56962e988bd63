//! Processes that end with their owner, and the ports they listen on.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

const STARTS_WITHIN: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How long a process may take to end by itself.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// A server or proxy. When dropped, it is ended by SIGKILL: what it leaves behind is in a folder that goes
/// with it.
pub struct Process {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with its output in a file of `folder` and waits until it accepts connections.
    ///
    /// # Errors
    /// When it cannot be started, ends, or does not listen in time; with the end of its output.
    pub async fn listening(
        name: &str,
        mut command: Command,
        folder: &Path,
        address: SocketAddr,
    ) -> Result<Self> {
        let log = folder.join(format!("{name}-{}.log", address.port()));
        let output = File::create(&log)?;
        command
            .stdin(Stdio::null())
            .stderr(output.try_clone()?)
            .stdout(output);
        let child = command
            .spawn()
            .with_context(|| format!("{name} cannot be started"))?;
        let mut process = Self {
            child,
            name: name.to_owned(),
            log,
        };
        process.accepts(address).await?;
        Ok(process)
    }

    async fn accepts(&mut self, address: SocketAddr) -> Result<()> {
        let patience = Instant::now() + STARTS_WITHIN;
        while TcpStream::connect(address).await.is_err() {
            self.alive()?;
            if Instant::now() > patience {
                bail!(
                    "{} does not listen on {address}:\n{}",
                    self.name,
                    self.last_words()
                );
            }
            sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    /// # Errors
    /// When the process has ended; with the end of its output.
    pub fn alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} ended ({status}):\n{}", self.name, self.last_words()),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks the process to end, so that it can write what it has counted. If it takes too long, it is killed.
    pub async fn end(mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.pid() as i32) {
            // Fails when it has ended already, which is what is wanted.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let patience = Instant::now() + ENDS_WITHIN;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < patience {
            sleep(LOOK_AGAIN).await;
        }
    }

    fn last_words(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails when it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A loopback address nobody listens on, below the ports that the kernel gives to connections (of
/// which a benchmark needs many, and keeps many in TIME_WAIT).
///
/// # Errors
/// When all are taken.
pub fn free_address() -> io::Result<SocketAddr> {
    const PORTS: std::ops::Range<u16> = 18_000..32_000;
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    let start = std::process::id() as u16;
    for _ in PORTS {
        let step = GIVEN.fetch_add(1, Ordering::Relaxed).wrapping_add(start);
        let address = SocketAddr::from(([127, 0, 0, 1], PORTS.start + step % PORTS.len() as u16));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// Where `program` is: the path that the environment variable names, or the first match among the
/// usual folders.
pub fn find_program(variable: &str, program: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(path.into());
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&search)
        .chain(usual)
        .map(|dir| dir.join(program))
        .find(|path| path.exists())
}

/// The first line that a program says about its version, or why it says nothing.
pub fn version_line(command: &mut Command) -> String {
    match command.stdin(Stdio::null()).output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.lines()
                .next()
                .unwrap_or("says no version")
                .trim()
                .to_owned()
        }
        Err(error) => error.to_string(),
    }
}
