//! Listening sockets, and the tasks that accept from them.

use std::io;

use config::{Config, ListenAddress};
use net::listen::{AcceptError, Accepted, ListenOptions};
use net::{Endpoint, Listener};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Clients accepted that no worker has been found for yet; as good as none wait here.
const ACCEPTED_MAX: usize = 256;

/// Binds everything configured, or takes the sockets that the service manager handed over.
///
/// # Errors
/// The address and the kernel's word.
pub fn bind(config: &Config) -> Result<Vec<Listener>, String> {
    let inherited = Listener::inherited().map_err(|error| format!("inherited sockets: {error}"))?;
    if !inherited.is_empty() {
        return Ok(inherited);
    }
    config
        .listen
        .iter()
        .map(|address| {
            Listener::bind(&endpoint(address), ListenOptions::default())
                .map_err(|error| format!("cannot listen on {address}: {error}"))
        })
        .collect()
}

fn endpoint(address: &ListenAddress) -> Endpoint {
    match address {
        ListenAddress::Tcp(address) => Endpoint::Tcp(*address),
        ListenAddress::Unix(path) => Endpoint::Unix(path.clone()),
    }
}

/// Accepts on all listeners until dropped; then they are closed.
pub struct Listening {
    tasks: JoinSet<()>,
    accepted: mpsc::Receiver<Accepted>,
}

impl Listening {
    /// Begins to accept.
    pub fn start(listeners: Vec<Listener>) -> Self {
        let (sender, accepted) = mpsc::channel(ACCEPTED_MAX);
        let mut tasks = JoinSet::new();
        for listener in listeners {
            tasks.spawn(accept_all(listener, sender.clone()));
        }
        Self { tasks, accepted }
    }

    /// The next client. Never, when no listener is left.
    pub async fn next(&mut self) -> Accepted {
        match self.accepted.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    /// Stops accepting and closes the listeners.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

async fn accept_all(listener: Listener, accepted: mpsc::Sender<Accepted>) {
    loop {
        match listener.accept().await {
            Ok(client) => {
                if accepted.send(client).await.is_err() {
                    return;
                }
            }
            Err(AcceptError::Exhausted { cause, pause }) => {
                log_exhausted(&listener, &cause);
                tokio::time::sleep(pause).await;
            }
            Err(AcceptError::Broken(error)) => {
                tracing::error!(listener = %listener.endpoint(), %error, "a listener is broken and closed");
                return;
            }
        }
    }
}

fn log_exhausted(listener: &Listener, error: &io::Error) {
    tracing::error!(
        listener = %listener.endpoint(),
        %error,
        "clients wait to be accepted: the process is out of files or memory"
    );
}
