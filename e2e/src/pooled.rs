//! The pooled proxies that tests share: they have so few backend connections that sessions must share them.

use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::time::Duration;

use crate::certs::Certs;
use crate::intruder::{Expected, Intruder};
use crate::product::Product;
use crate::proxy::{Proxy, Settings};
use crate::relay::Relay;
use crate::server::Server;
use crate::wait;

/// A script that lets every other command pass, and sends the others itself.
pub(crate) const EVERY_OTHER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/every_other.lua");

impl Settings {
    /// The pooled proxy of most tests: one worker, this many connections to the backend, and the
    /// accounts of the prepared servers whose logins can be answered.
    pub fn pooled(server: &Server, connections_max: i32) -> Self {
        Self::in_front_of([server]).sharing(server.product, connections_max)
    }

    /// Like [`Self::pooled`], in front of a relay to the server.
    pub fn pooled_behind(relay: &Relay, product: Product, connections_max: i32) -> Self {
        Self::default()
            .backend(relay.tcp())
            .sharing(product, connections_max)
    }

    /// Lets sessions share connections, with accounts of `product`.
    pub fn sharing(self, product: Product, connections_max: i32) -> Self {
        let settings = self
            .set("workers", 1)
            .set("routing.session", "statement")
            .set("pool.backend_connections_max", connections_max)
            .set("pool.timeout_wait", "20s")
            .set("pool.opens_per_second", 1000)
            .set("pool.opens_burst", 100)
            .set("accounts.delay_failures", false);
        let accounts = product.answerable();
        accounts
            .iter()
            .fold(settings, |settings, (user, password)| {
                let password = quoted(password);
                let more = [
                    ("password", password.as_str()),
                    ("replication", "true"),
                    tls(user),
                ];
                settings.account_with(user, &more)
            })
    }

    /// Like [`Self::pooled`], with TLS to the backend, password hashes for the clients' logins, and separate
    /// credentials for the backend.
    fn pooled_over_tls(server: &Server, connections_max: i32) -> Self {
        let certs = Certs::shared();
        let settings = Self::pooled(server, connections_max)
            .without_accounts()
            .set("backend_tls.mode", "verify_ca")
            .set("backend_tls.ca", &certs.ca);
        let accounts = server.product.answerable();
        accounts
            .iter()
            .fold(settings, |settings, (user, password)| {
                let proof = match server.product.hash(password) {
                    Some(hash) => ("hash", quoted(&hash)),
                    None => ("password", quoted(password)),
                };
                let more = [
                    (proof.0, proof.1.as_str()),
                    ("replication", "true"),
                    ("backend_user", &quoted(user)),
                    ("backend_password", &quoted(password)),
                    tls(user),
                ];
                settings.account_with(user, &more)
            })
    }
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn tls(user: &str) -> (&'static str, &'static str) {
    let demand = match user {
        "tls_only" => "\"required\"",
        _ => "\"none\"",
    };
    ("tls", demand)
}

/// The kinds of shared pooled proxies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Two backend connections.
    Two,
    /// Two backend connections over TLS, with separate accounts for the backend.
    TwoOverTls,
    /// One backend connection.
    One,
    /// Two backend connections, and a script that sends half of the commands itself.
    TwoScripted,
}

impl Turn {
    fn settings(self, product: Product) -> Settings {
        let server = Server::shared(product);
        match self {
            Self::One => Settings::pooled(server, 1),
            Self::Two => Settings::pooled(server, 2),
            Self::TwoOverTls => Settings::pooled_over_tls(server, 2),
            Self::TwoScripted => Settings::pooled(server, 2).set("routing.script", EVERY_OTHER),
        }
    }
}

/// The largest number of proxies of one kind. A test that needs another one waits for a free one.
const EACH_MAX: usize = 4;

/// A shared pooled proxy that one test holds alone: pins of another test would take its connections.
#[derive(Debug)]
pub struct Held {
    /// The proxy.
    pub proxy: &'static Proxy,
    _turn: MutexGuard<'static, ()>,
}

struct Shared {
    proxy: OnceLock<Proxy>,
    turn: Mutex<()>,
}

impl Shared {
    const fn new() -> Self {
        Self {
            proxy: OnceLock::new(),
            turn: Mutex::new(()),
        }
    }

    /// Takes the proxy for a test, unless another test has it.
    fn try_hold(&'static self, settings: impl FnOnce() -> Settings) -> Option<Held> {
        let turn = match self.turn.try_lock() {
            Ok(turn) => turn,
            // The test that panicked while it held the proxy reports its failure itself.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Held {
            proxy: self.proxy.get_or_init(|| Proxy::start(&settings())),
            _turn: turn,
        })
    }
}

/// Waits for one of the shared pooled proxies in front of the shared server of `product`.
pub fn pooled(product: Product, which: Turn) -> Held {
    static PROXIES: [[Shared; EACH_MAX]; 12] = [const { [const { Shared::new() }; EACH_MAX] }; 12];
    let alike = &PROXIES[product.row() * 4 + which as usize];
    let settings = || which.settings(product);
    wait::for_some("a shared proxy is free", HELD_FOR, || {
        alike.iter().find_map(|shared| shared.try_hold(settings))
    })
}

/// Longer than all tests together hold a proxy.
const HELD_FOR: Duration = Duration::from_secs(3600);

/// The replies that the intruder expects in front of the shared server.
pub(crate) fn expected(product: Product) -> Expected {
    static EXPECTED: [OnceLock<Expected>; 3] = [const { OnceLock::new() }; 3];
    EXPECTED[product.row()]
        .get_or_init(|| Intruder::prepare(Server::shared(product)))
        .clone()
}
