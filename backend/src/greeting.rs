//! The proxy's own greeting, made from the greetings of its backends.

use std::cell::RefCell;
use std::rc::Rc;

use auth::{Dialect, Plugin, Scramble};
use config::CompressionAlgorithm;
use sql::Server;
use wire::{Capabilities, Greeting, StatusFlags};

use crate::settings::Settings;

/// Capabilities that backends offer, but not for shared connections: a server leaves out
/// definitions that its client, here the proxy, has seen before.
const NOT_SHARED: Capabilities = Capabilities::MARIADB_CACHE_METADATA;

/// The greetings of backends, as one worker knows them.
#[derive(Default)]
pub struct OwnGreeting {
    last: RefCell<Option<Greeting>>,
    /// The last greeting that a session has kept.
    kept: RefCell<Option<Rc<Greeting>>>,
    /// Locked while a backend is asked for one client; the other clients wait for the result.
    pub asker: tokio::sync::Mutex<()>,
}

impl OwnGreeting {
    /// Takes in a backend's greeting. The proxy offers the capabilities that all backends have; the rest is from the
    /// last greeting.
    pub fn learn(&self, greeting: &Greeting) {
        let mut last = self.last.borrow_mut();
        let common = last
            .as_ref()
            .filter(|last| last.version != greeting.version)
            .map_or(greeting.capabilities, |last| {
                last.capabilities & greeting.capabilities
            });
        if last
            .as_ref()
            .is_some_and(|last| last.version == greeting.version && last.capabilities == common)
        {
            return;
        }
        let mut learned = greeting.clone();
        learned.capabilities = common;
        *last = Some(learned);
    }

    /// The greeting for a client; `None` before any backend has greeted.
    pub fn for_client(
        &self,
        settings: &Settings,
        session_id: u32,
        scramble: &Scramble,
    ) -> Option<Greeting> {
        let mut greeting = self.last.borrow().clone()?;
        let algorithms = &settings.config.compression.client;
        let offers = |algorithm| algorithms.contains(&algorithm);
        greeting.capabilities = greeting
            .capabilities
            .with(NOT_SHARED, false)
            .with(Capabilities::SSL, settings.client_tls.is_some())
            .with(Capabilities::COMPRESS, offers(CompressionAlgorithm::Zlib))
            .with(
                Capabilities::ZSTD_COMPRESSION_ALGORITHM,
                offers(CompressionAlgorithm::Zstd),
            )
            .with(Capabilities::PLUGIN_AUTH, true);
        greeting.thread_id = session_id;
        greeting.scramble = scramble.as_bytes().to_vec();
        greeting.status = StatusFlags::AUTOCOMMIT;
        greeting.plugin = plugin_of(&greeting).client_name().to_vec();
        Some(greeting)
    }

    /// Returns the part of the client's greeting that a session keeps: all but the id and the scramble. Sessions share
    /// it.
    pub fn kept_of(&self, greeting: Greeting) -> Rc<Greeting> {
        let greeting = Greeting {
            thread_id: 0,
            scramble: Vec::new(),
            ..greeting
        };
        let mut kept = self.kept.borrow_mut();
        match &*kept {
            Some(known) if **known == greeting => Rc::clone(known),
            _ => Rc::clone(kept.insert(Rc::new(greeting))),
        }
    }
}

/// The plugin that the greeting names: the backend's, if the proxy can check it.
pub fn plugin_of(greeting: &Greeting) -> Plugin {
    let family = dialect_of(greeting).default_plugin();
    Plugin::of_client_name(&greeting.plugin).unwrap_or(family)
}

/// The family of the server that a greeting comes from.
pub fn dialect_of(greeting: &Greeting) -> Dialect {
    Dialect::of_version(&String::from_utf8_lossy(&greeting.version))
}

/// The server that reads the statements, by the version in its greeting.
pub fn server_of(greeting: &Greeting) -> Server {
    let version = String::from_utf8_lossy(&greeting.version).into_owned();
    let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
    // MariaDB put 5.5.5- in front of its version, for old replicas.
    let number = version.strip_prefix("5.5.5-").unwrap_or(&version);
    let mut parts = number
        .split(|c: char| !c.is_ascii_digit())
        .map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0).min(999);
    let number = next() * 10_000 + next().min(99) * 100 + next().min(99);
    match is_mariadb {
        true => Server::MariaDb(number),
        false => Server::MySql(number),
    }
}
