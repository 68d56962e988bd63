//! Listening sockets, and the tasks that accept from them.

use std::io;
use std::sync::Arc;

use config::{Config, ListenAddress, ListenerConfig};
use net::listen::{AcceptError, Accepted, ListenOptions};
use net::{Endpoint, Listener};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The most accepted clients that wait for a worker; usually almost none wait.
const ACCEPTED_MAX: usize = 256;

/// A listening socket.
pub struct Bound {
    /// The socket.
    pub listener: Listener,
    /// The configuration of the listener.
    pub config: Arc<ListenerConfig>,
}

/// A client that has connected.
pub struct Client {
    /// Its socket and its address.
    pub accepted: Accepted,
    /// The configuration of its listener.
    pub listener: Arc<ListenerConfig>,
}

/// Binds the configured addresses, or takes the sockets that the service manager handed over.
///
/// # Errors
/// The address and the kernel's error.
pub fn bind(config: &Config) -> Result<Vec<Bound>, String> {
    let inherited = Listener::inherited().map_err(|error| format!("inherited sockets: {error}"))?;
    if !inherited.is_empty() {
        return Ok(adopt(inherited, config));
    }
    let all = config.listen.iter().map(plain);
    all.chain(config.listeners.iter().cloned())
        .map(|config| {
            let address = config.address.clone();
            Listener::bind(&endpoint(&address), ListenOptions::default())
                .map(|listener| Bound {
                    listener,
                    config: Arc::new(config),
                })
                .map_err(|error| format!("cannot listen on {address}: {error}"))
        })
        .collect()
}

/// A listener for which only the address is configured.
fn plain(address: &ListenAddress) -> ListenerConfig {
    ListenerConfig {
        address: address.clone(),
        ..ListenerConfig::default()
    }
}

/// Takes the service manager's sockets in place of the configured addresses. A socket with the address of a
/// `[[listener]]` gets that listener's configuration.
fn adopt(inherited: Vec<Listener>, config: &Config) -> Vec<Bound> {
    for configured in &config.listeners {
        let is_handed_over = |listener: &Listener| is_at(listener.endpoint(), &configured.address);
        if !inherited.iter().any(is_handed_over) {
            tracing::warn!(
                address = %configured.address,
                "the proxy does not listen at this address: the service manager has handed over other sockets; add it to the socket unit"
            );
        }
    }
    let own = |listener: &Listener| {
        let mut configured = config.listeners.iter();
        let own = configured.find(|it| is_at(listener.endpoint(), &it.address));
        own.cloned()
            .unwrap_or_else(|| plain(&address(listener.endpoint())))
    };
    inherited
        .into_iter()
        .map(|listener| Bound {
            config: Arc::new(own(&listener)),
            listener,
        })
        .collect()
}

/// Whether a socket has this address. A port without an address is `[::]` for systemd, and `0.0.0.0` for the proxy.
fn is_at(endpoint: &Endpoint, address: &ListenAddress) -> bool {
    match (endpoint, address) {
        (Endpoint::Tcp(one), ListenAddress::Tcp(other)) => {
            let all = one.ip().is_unspecified() && other.ip().is_unspecified();
            one.port() == other.port() && (one.ip() == other.ip() || all)
        }
        (Endpoint::Unix(one), ListenAddress::Unix(other)) => one == other,
        _ => false,
    }
}

fn endpoint(address: &ListenAddress) -> Endpoint {
    match address {
        ListenAddress::Tcp(address) => Endpoint::Tcp(*address),
        ListenAddress::Unix(path) => Endpoint::Unix(path.clone()),
    }
}

fn address(endpoint: &Endpoint) -> ListenAddress {
    match endpoint {
        Endpoint::Tcp(address) => ListenAddress::Tcp(*address),
        Endpoint::Unix(path) => ListenAddress::Unix(path.clone()),
    }
}

/// Accepts on all listeners until it is dropped; then the listeners are closed.
pub struct Listening {
    tasks: JoinSet<()>,
    clients: mpsc::Receiver<Client>,
}

impl Listening {
    /// Starts to accept.
    pub fn start(listeners: Vec<Bound>) -> Self {
        let (sender, clients) = mpsc::channel(ACCEPTED_MAX);
        let mut tasks = JoinSet::new();
        for bound in listeners {
            tasks.spawn(accept_all(bound, sender.clone()));
        }
        Self { tasks, clients }
    }

    /// The next client. It never resolves if no listener is left.
    pub async fn next(&mut self) -> Client {
        match self.clients.recv().await {
            Some(client) => client,
            None => std::future::pending().await,
        }
    }

    /// Stops accepting and closes the listeners.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

async fn accept_all(bound: Bound, clients: mpsc::Sender<Client>) {
    let Bound { listener, config } = bound;
    loop {
        match listener.accept().await {
            Ok(accepted) => {
                let client = Client {
                    accepted,
                    listener: Arc::clone(&config),
                };
                if clients.send(client).await.is_err() {
                    return;
                }
            }
            Err(AcceptError::Exhausted { cause, pause }) => {
                log_exhausted(&listener, &cause);
                tokio::time::sleep(pause).await;
            }
            Err(AcceptError::Broken(error)) => {
                tracing::error!(listener = %listener.endpoint(), %error, "a listener has failed and the proxy has closed it; restart the proxy to listen there again");
                return;
            }
        }
    }
}

fn log_exhausted(listener: &Listener, error: &io::Error) {
    tracing::error!(
        listener = %listener.endpoint(),
        %error,
        "the proxy cannot accept clients for now, because it has no files or memory left; they wait in the listener's queue"
    );
}

#[cfg(test)]
mod tests;
