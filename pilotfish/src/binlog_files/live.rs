//! The events of a server that runs, as they come: `pilotfish binlog CLUSTER -c FILE`.

use std::sync::Arc;
use std::time::Duration;

use binlog::{Decoder, EventType, Limits};
use config::{Config, ReplicationConfig};
use control::BackendClient;
use replication::{EventStream, Identity, Registration, StreamError};
use route::{Backend, Role};

use super::printer::Printer;
use super::selection::Selection;
use super::{StandardOutput, Stop, Walk};
use crate::arguments::BinlogArguments;

/// How often the server says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// If the server says nothing for so long, the connection is lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// Prints the events that a cluster's primary writes from now on, until it is interrupted.
pub fn follow(
    arguments: &BinlogArguments,
    config: &std::path::Path,
    printer: &mut Printer<StandardOutput>,
) -> Result<(), Stop> {
    let [cluster] = arguments.files.as_slice() else {
        return Err(Stop::Fault(
            "--config goes with the name of one cluster".to_owned(),
        ));
    };
    let cluster = cluster.display().to_string();
    let server_id = arguments.server_id.ok_or_else(|| {
        Stop::Fault("--server-id is missing: an id that no other replica or proxy has".to_owned())
    })?;
    let loaded = Config::load(Some(config), &[]).map_err(|faults| {
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        Stop::Fault(faults.join("\npilotfish: "))
    })?;
    let mut streams = loaded.config.replications.iter();
    let stream = streams.find(|it| it.cluster == cluster).ok_or_else(|| {
        Stop::Fault(format!(
            "no [[replication]] has an account for the cluster \"{cluster}\""
        ))
    })?;
    let backend = primary(&loaded.config, &cluster)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::Fault(error.to_string()))?;
    let mut walk = Walk {
        name: backend.name.clone(),
        range: 0..u64::MAX,
        decoder: Decoder::new(Limits::default()),
        selection: Selection::of(arguments),
        printer,
    };
    runtime.block_on(async {
        let begun = begin(&loaded.config, stream, &backend, server_id).await;
        let mut events = begun.map_err(|error| walk.fault(&error))?;
        loop {
            walk.next(&mut events).await?;
        }
    })
}

impl Walk<'_> {
    /// The next event, printed at once. Heartbeats are not printed.
    async fn next(&mut self, events: &mut EventStream) -> Result<(), Stop> {
        let raw = events.next().await.map_err(|error| self.fault(&error))?;
        let header = raw.header();
        if !matches!(
            header.event_type,
            EventType::HEARTBEAT | EventType::HEARTBEAT_V2
        ) {
            let position = header.next_position.saturating_sub(header.length);
            self.event(u64::from(position), &raw)?;
        }
        Ok(std::io::Write::flush(&mut self.printer.out)?)
    }
}

/// The primary of a cluster, as it is now.
fn primary(config: &Config, cluster: &str) -> Result<Arc<Backend>, Stop> {
    let topology = control::survey(config).map_err(|error| Stop::Fault(error.to_string()))?;
    let id = topology.cluster(cluster).map(|it| it.id);
    let mut backends = topology.backends.iter();
    let is_it = |it: &&Arc<Backend>| {
        Some(it.cluster) == id && it.role == Some(Role::Primary) && it.is_usable()
    };
    let found = backends.find(is_it).cloned();
    found.ok_or_else(|| Stop::Fault(format!("no primary of cluster \"{cluster}\" is up")))
}

/// Registers as a replica, at the end of the server's log.
async fn begin(
    config: &Config,
    stream: &ReplicationConfig,
    backend: &Backend,
    server_id: u32,
) -> Result<EventStream, StreamError> {
    let account = (stream.user.as_str(), stream.password.as_ref());
    let mut client = BackendClient::log_in(config, account, backend).await?;
    let mut registration = Registration::new(&mut client);
    let position = registration.end_of_log().await?;
    let identity = Identity::random(server_id, HEARTBEAT)?;
    let greeted = registration.register(&identity).await?;
    registration.begin(&identity, &position).await?;
    Ok(EventStream::new(
        client,
        greeted.checksum,
        Limits::default(),
        PATIENCE,
    ))
}
