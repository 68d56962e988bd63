//! While the proxy runs: a server that ends is started again after a while, so that killing one
//! shows what the proxy makes of it, and a signal ends the sandbox.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::guide::{say, tell};
use super::replication::Cluster;
use super::server::Server;

/// How long a server that ended stays away.
pub const AWAY: Duration = Duration::from_secs(10);

/// The signals that end the sandbox: Ctrl-C, `kill`, and a terminal that is closed.
#[derive(Debug)]
pub struct Interrupts([Signal; 3]);

impl Interrupts {
    /// From now on these signals are noticed here instead of ending the process.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    /// Waits for the next of them.
    pub async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => (),
            _ = terminate.recv() => (),
            _ = hangup.recv() => (),
        }
    }
}

/// Looks after `cluster` until `over` resolves or its sender is gone; a signal is passed on to the
/// proxy through `stop`.
pub async fn watch(
    cluster: Cluster,
    mut interrupts: Interrupts,
    stop: oneshot::Sender<()>,
    over: oneshot::Receiver<()>,
) {
    let mut revivals = JoinSet::new();
    for server in cluster.servers {
        revivals.spawn(revive(server));
    }
    let pass_on = async {
        interrupts.next().await;
        // The proxy may have ended on its own just now; then nobody needs to hear it.
        let _ = stop.send(());
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = pass_on => (),
        _ = over => (),
    }
}

/// Starts `server` again whenever it ends.
async fn revive(mut server: Server) {
    loop {
        match server.ended().await {
            Ok(status) => say(format_args!(
                "{} has ended ({status}); it starts again in {} s",
                server.name,
                AWAY.as_secs()
            )),
            Err(error) => return tell(format_args!("{} is out of sight: {error}", server.name)),
        }
        sleep(AWAY).await;
        while let Err(fault) = server.start().await {
            tell(&fault);
            sleep(AWAY).await;
        }
        say(format_args!(
            "{} is back, pid {}",
            server.name,
            server.pid().unwrap_or_default()
        ));
    }
}
