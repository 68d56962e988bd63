//! Runs beside the proxy: starts a server again some time after it has ended, so that users can kill a server and
//! watch the proxy's reaction. Ends the sandbox at a signal, and runs the sandbox's own clients if they are wanted.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::load::Load;
use super::messages::{print, print_error};
use super::replication::Cluster;
use super::server::Server;

/// How long a server that has ended stays down.
pub const AWAY: Duration = Duration::from_secs(10);

/// The signals that end the sandbox: Ctrl-C, `kill`, and a terminal that is closed.
#[derive(Debug)]
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Interrupts {
    /// Catches these signals from now on, so that they do not end the process.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next of these signals.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
            _ = self.hang_up.recv() => (),
        }
    }
}

/// The channels between the sandbox's thread and the proxy's thread.
pub struct ThreadChannels {
    /// The proxy runs.
    pub ready: oneshot::Receiver<()>,
    /// Tells the proxy to end.
    pub stop: oneshot::Sender<()>,
    /// The proxy has ended: it resolves, with a value or an error, when the other end is dropped.
    pub over: oneshot::Receiver<()>,
}

/// Watches `cluster` until the proxy has ended. Passes signals on to the proxy, and starts the clients of `load` when
/// the proxy runs.
pub async fn watch(
    cluster: Cluster,
    interrupts: Interrupts,
    line: ThreadChannels,
    load: Option<Load>,
) {
    let mut revivals = JoinSet::new();
    for server in cluster.servers {
        revivals.spawn(revive(server));
    }
    let ThreadChannels { ready, stop, over } = line;
    tokio::select! {
        () = forward_signals(interrupts, ready, stop, load) => (),
        _ = over => (),
    }
}

/// Passes signals on to the proxy. A running proxy handles SIGINT and SIGTERM itself, and a second signal means
/// impatience to it. The sandbox passes on earlier signals, and SIGHUP, which has another meaning for the proxy.
async fn forward_signals(
    mut interrupts: Interrupts,
    ready: oneshot::Receiver<()>,
    stop: oneshot::Sender<()>,
    load: Option<Load>,
) {
    let mut clients = JoinSet::new();
    tokio::select! {
        () = interrupts.next() => (),
        _ = ready => {
            if let Some(load) = load {
                clients.spawn(load.run());
            }
            let _ = interrupts.hang_up.recv().await;
        }
    }
    // The proxy may have ended by itself just now; then it does not need this message.
    let _ = stop.send(());
    std::future::pending().await
}

/// Starts `server` again whenever it ends.
async fn revive(mut server: Server) {
    loop {
        match server.ended().await {
            Ok(status) => print(format_args!(
                "{} has ended ({status}); it starts again in {} s",
                server.name,
                AWAY.as_secs()
            )),
            Err(error) => {
                return print_error(format_args!("{} is out of sight: {error}", server.name));
            }
        }
        sleep(AWAY).await;
        while let Err(fault) = server.start().await {
            print_error(&fault);
            sleep(AWAY).await;
        }
        print(format_args!(
            "{} is back, pid {}",
            server.name,
            server.pid().unwrap_or_default()
        ));
    }
}
