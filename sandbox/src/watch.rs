//! While the proxy runs: a server that ends is started again after a while, so that killing one
//! shows what the proxy makes of it, a signal ends the sandbox, and clients come if they are wanted.

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

/// How long a server that ended stays away.
pub const AWAY: Duration = Duration::from_secs(10);

/// The signals that end the sandbox: Ctrl-C, `kill`, and a terminal that is closed.
#[derive(Debug)]
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Interrupts {
    /// From now on these signals are noticed here instead of ending the process.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next of them.
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
    /// The proxy is to end.
    pub stop: oneshot::Sender<()>,
    /// The proxy has ended: resolves, well or badly, when the other end is gone.
    pub over: oneshot::Receiver<()>,
}

/// Looks after `cluster` until the proxy is over, passes signals on to it, and once it runs sends it the clients of
/// `load`.
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

/// A proxy that runs hears SIGINT and SIGTERM itself, and takes a second one for impatience. What
/// comes before, and SIGHUP, which it understands otherwise, is for the sandbox to pass on.
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
    // The proxy may have ended on its own just now; then nobody needs to hear it.
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
