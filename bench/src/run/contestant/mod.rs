//! Who is compared. Every proxy is one small file: its name, its version, how it is started in front
//! of a backend. The direct connection takes part in every comparison and needs no file.

mod haproxy;
mod pilotfish;
mod pooled;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::process::{Process, free_address};

/// The name of the way without a proxy.
pub const DIRECT: &str = "direct";
/// The contestant whose figures the goals refer to.
pub const HAPROXY: &str = "haproxy";
/// Ours.
pub const PILOTFISH: &str = "pilotfish";

/// Ours in front of so many backend connections, which sessions share.
pub const POOLED: [&str; 2] = ["pilotfish-pool-8", "pilotfish-pool-32"];

/// The first of these with so many rules, none of which is meant.
pub const RULED: [&str; 3] = [
    "pilotfish-rules-10",
    "pilotfish-rules-100",
    "pilotfish-rules-1000",
];

/// Whether it lends backend connections.
pub fn is_pooled(name: &str) -> bool {
    POOLED.contains(&name) || RULED.contains(&name)
}

/// The name of the pooled contestant with so many rules.
fn ruled_name(rules: usize) -> String {
    format!("pilotfish-rules-{rules}")
}

/// The name of the pooled contestant with so many backend connections.
fn pooled_name(backend_connections: usize) -> String {
    format!("pilotfish-pool-{backend_connections}")
}

/// A proxy that takes part.
pub trait Contestant {
    /// Short and lasting: tables and ratios go by it.
    fn name(&self) -> &str;

    /// What it says its version is.
    fn version(&self) -> String;

    /// Writes its configuration and gives the command that runs it in the foreground.
    ///
    /// # Errors
    /// When the configuration cannot be written.
    fn command(&self, place: &Place<'_>) -> io::Result<Command>;
}

/// Where a contestant stands.
pub struct Place<'a> {
    /// For its configuration, its own alone.
    pub folder: &'a Path,
    pub listen: SocketAddr,
    pub backend: SocketAddr,
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

    /// Starts a proxy in front of `backend`.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn through(
        contestant: &dyn Contestant,
        backend: SocketAddr,
        folder: &Path,
        sessions_max: usize,
    ) -> Result<Self> {
        let listen = free_address()?;
        let folder = folder.join(format!("{}-{}", contestant.name(), listen.port()));
        std::fs::create_dir(&folder)?;
        let place = Place {
            folder: &folder,
            listen,
            backend,
            sessions_max,
        };
        let command = contestant.command(&place)?;
        let proxy = Process::listening(contestant.name(), command, &folder, listen).await?;
        Ok(Self {
            name: contestant.name().to_owned(),
            address: listen,
            proxy: Some(proxy),
        })
    }
}

/// All proxies found on this machine, ours last: first transparent, then pooled.
pub fn found() -> Vec<Box<dyn Contestant>> {
    let mut found: Vec<Box<dyn Contestant>> = Vec::new();
    found.extend(
        haproxy::found()
            .into_iter()
            .map(|proxy| Box::new(proxy) as Box<dyn Contestant>),
    );
    found.extend(pilotfish::found().map(|proxy| Box::new(proxy) as Box<dyn Contestant>));
    found.extend(pooled::found().map(|proxy| Box::new(proxy) as Box<dyn Contestant>));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooled_contestants_go_by_the_names_that_the_page_knows() {
        let found: Vec<_> = [8, 32].map(pooled_name).into();
        assert_eq!(found, POOLED);
        let found: Vec<_> = [10, 100, 1000].map(ruled_name).into();
        assert_eq!(found, RULED);
    }
}
