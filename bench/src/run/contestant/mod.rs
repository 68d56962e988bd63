//! The contestants. Every proxy is one small file: its name, its version, and how it is started in front
//! of a backend. The direct connection takes part in every comparison and needs no file.

mod haproxy;
mod kernel;
mod lanes;
mod maxscale;
mod mysql_proxy;
pub mod names;
pub mod pilotfish;
mod pooled;
mod proxysql;
mod router;
mod tiproxy;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::backend;
use super::process::{Process, free_address};
use crate::load;
use names::DIRECT;

/// Until a proxy that listens must serve a session; some look at their backends first.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A proxy that takes part.
pub trait Contestant {
    /// Short and lasting: tables and ratios go by it.
    fn name(&self) -> &str;

    /// The version that the proxy reports.
    fn version(&self) -> String;

    /// Writes its configuration and gives the command that runs it in the foreground.
    ///
    /// # Errors
    /// When the configuration cannot be written.
    fn command(&self, place: &Place<'_>) -> io::Result<Command>;

    /// HTTP requests to the proxy's port for administration, which it needs before it serves a session.
    fn requests(&self, _place: &Place<'_>) -> Vec<String> {
        Vec::new()
    }
}

/// The folder, ports and backends of a contestant.
pub struct Place<'a> {
    /// For its configuration, its own alone.
    pub folder: &'a Path,
    pub listen: SocketAddr,
    /// The port for administration, if the contestant needs one.
    pub admin: SocketAddr,
    /// The backends: one, or several equal ones.
    pub backends: &'a [SocketAddr],
    /// Sessions it must be able to hold at once.
    pub sessions_max: usize,
}

/// One way from the load to the backend, ready.
pub struct Way {
    pub name: String,
    pub address: SocketAddr,
    /// None for the direct way.
    pub proxy: Option<Process>,
}

impl Way {
    pub fn direct(backend: SocketAddr) -> Self {
        Self {
            name: DIRECT.to_owned(),
            address: backend,
            proxy: None,
        }
    }

    /// Starts a proxy in front of `backends`.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn through(
        contestant: &dyn Contestant,
        backends: &[SocketAddr],
        folder: &Path,
        sessions_max: usize,
    ) -> Result<Self> {
        let listen = free_address()?;
        let folder = folder.join(format!("{}-{}", contestant.name(), listen.port()));
        std::fs::create_dir(&folder)?;
        let place = Place {
            folder: &folder,
            listen,
            admin: free_address()?,
            backends,
            sessions_max,
        };
        let command = contestant.command(&place)?;
        let proxy = Process::listening(contestant.name(), command, &folder, listen).await?;
        for request in contestant.requests(&place) {
            ask(place.admin, &request).await?;
        }
        answers(listen).await?;
        Ok(Self {
            name: contestant.name().to_owned(),
            address: listen,
            proxy: Some(proxy),
        })
    }
}

/// Waits until a session through a proxy gets an answer.
async fn answers(address: SocketAddr) -> Result<()> {
    let target = backend::target(address, 1);
    let patience = Instant::now() + ANSWERS_WITHIN;
    loop {
        let attempt = timeout(ANSWERS_WITHIN, load::statement(&target, "DO 1"));
        let fault = match attempt.await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => "no answer".to_owned(),
        };
        ensure!(Instant::now() < patience, "no session through it: {fault}");
        sleep(LOOK_AGAIN).await;
    }
}

/// Sends an HTTP request and waits for its success.
async fn ask(address: SocketAddr, request: &str) -> Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let status = answer.split(' ').nth(1).context("no answer over HTTP")?;
    ensure!(status == "200", "{request}: {answer}");
    Ok(())
}

/// All proxies found on this machine, ours last: first transparent, then pooled, then with lanes.
pub fn found() -> Vec<Box<dyn Contestant>> {
    fn boxed<T: Contestant + 'static>(
        found: impl IntoIterator<Item = T>,
    ) -> impl Iterator<Item = Box<dyn Contestant>> {
        found
            .into_iter()
            .map(|one| Box::new(one) as Box<dyn Contestant>)
    }
    boxed(haproxy::found())
        .chain(boxed(router::found()))
        .chain(boxed(proxysql::found()))
        .chain(boxed(maxscale::found()))
        .chain(boxed(tiproxy::found()))
        .chain(boxed(mysql_proxy::found()))
        .chain(boxed(pilotfish::found()))
        .chain(boxed(kernel::found()))
        .chain(boxed(pooled::found()))
        .chain(boxed(lanes::found()))
        .collect()
}
