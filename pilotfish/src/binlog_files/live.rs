//! The events of a running server, as they come: `pilotfish binlog CLUSTER -c FILE`,
//! `pilotfish --plugins=replicant`.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use binlog::{Decoder, Event, EventType, Limits, RawEvent, printable};
use config::mysql_proxy::Replicant;
use config::{Config, Fault, Secret};
use control::BackendClient;
use replication::{EventStream, Identity, Registration, StreamError};
use route::{Backend, Role};

use super::printer::Printer;
use super::selection::Selection;
use super::walk::{StandardOutput, Stop, Walk};
use crate::arguments::{BinlogArguments, ServeArguments};
use crate::machine;

/// How often the server sends a heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// If the server sends nothing for this long, the connection is lost.
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
    let loaded = Config::load(Some(config), &[]).map_err(|faults| all_faults(&faults))?;
    let mut streams = loaded.config.replications.iter();
    let stream = streams.find(|it| it.cluster == cluster).ok_or_else(|| {
        Stop::Fault(format!(
            "no [[replication]] has an account for the cluster \"{cluster}\""
        ))
    })?;
    let backend = primary(&loaded.config, &cluster)?;
    let source = LogSource {
        config: &loaded.config,
        account: (&stream.user, stream.password.as_ref()),
        backend,
        server_id,
    };
    source.print(arguments, printer, Announcement::None)
}

/// Prints the events of the server that MySQL Proxy's options name, until it is interrupted.
pub fn follow_source(
    all: &BinlogArguments,
    (arguments, replicant): (&ServeArguments, &Replicant),
    printer: &mut Printer<StandardOutput>,
) -> Result<(), Stop> {
    if arguments.config.is_some() {
        let text =
            "the replication client takes no --config; see pilotfish binlog CLUSTER --ddl -c FILE";
        return Err(Stop::Fault(text.to_owned()));
    }
    let loaded = arguments.load().map_err(|faults| all_faults(&faults))?;
    for warning in &loaded.warnings {
        eprintln!("pilotfish: warning: {warning}");
    }
    let topology = control::survey(&loaded.config, &machine::entropy());
    let topology = topology.map_err(|error| Stop::Fault(error.to_string()))?;
    let mut backends = topology.backends.iter();
    let backend = backends.find(|it| it.is_usable()).cloned();
    let backend =
        backend.ok_or_else(|| Stop::Fault(format!("{} cannot be reached", replicant.address())))?;
    let source = LogSource {
        config: &loaded.config,
        account: (replicant.username(), replicant.password.as_ref()),
        backend,
        server_id: random_server_id()?,
    };
    source.print(all, printer, Announcement::Due)
}

/// A random server id, which no other replica is likely to have.
fn random_server_id() -> Result<u32, Stop> {
    let bytes = machine::entropy().bytes();
    let bytes = bytes.map_err(|error| Stop::Fault(format!("no randomness: {error}")))?;
    Ok(u32::from_ne_bytes(bytes) | 1 << 31)
}

fn all_faults(faults: &[Fault]) -> Stop {
    let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
    Stop::Fault(faults.join("\npilotfish: "))
}

/// Whether to print where the log is read from, as the article's output does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announcement {
    None,
    Due,
}

/// The server to follow, and the account.
struct LogSource<'a> {
    config: &'a Config,
    account: (&'a str, Option<&'a Secret>),
    backend: Arc<Backend>,
    server_id: u32,
}

impl LogSource<'_> {
    fn print(
        &self,
        arguments: &BinlogArguments,
        printer: &mut Printer<StandardOutput>,
        mut announcement: Announcement,
    ) -> Result<(), Stop> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Stop::Fault(error.to_string()))?;
        let mut walk = Walk {
            name: self.backend.name.clone(),
            range: 0..u64::MAX,
            decoder: Decoder::new(Limits::default()),
            selection: Selection::of(arguments),
            printer,
        };
        runtime.block_on(async {
            let begun = self.begin().await;
            let mut events = begun.map_err(|error| walk.fault(&error))?;
            loop {
                walk.next(&mut events, &mut announcement).await?;
            }
        })
    }

    /// Registers as a replica; the events begin at the end of the server's log.
    async fn begin(&self) -> Result<EventStream, StreamError> {
        let entropy = machine::entropy();
        let login = BackendClient::log_in(self.config, self.account, &self.backend, &entropy);
        let mut client = login.await?;
        let mut registration = Registration::new(&mut client);
        let position = registration.end_of_log().await?;
        let identity = Identity::random(self.server_id, HEARTBEAT, &entropy)?;
        let greeted = registration.register(&identity).await?;
        registration.begin(&identity, &position).await?;
        Ok(EventStream::new(
            client,
            greeted.checksum,
            Limits::default(),
            PATIENCE,
        ))
    }
}

impl Walk<'_> {
    /// Reads the next event and prints it at once. Heartbeats are not printed.
    async fn next(
        &mut self,
        events: &mut EventStream,
        announcement: &mut Announcement,
    ) -> Result<(), Stop> {
        let raw = events.next().await.map_err(|error| self.fault(&error))?;
        let header = raw.header();
        if *announcement == Announcement::Due && header.event_type == EventType::ROTATE {
            *announcement = Announcement::None;
            self.announce(&raw)?;
        }
        if !matches!(
            header.event_type,
            EventType::HEARTBEAT | EventType::HEARTBEAT_V2
        ) {
            let position = header.next_position.saturating_sub(header.length);
            self.event(u64::from(position), &raw)?;
        }
        Ok(self.printer.out.flush()?)
    }

    /// Prints the file and position that the server sends from.
    fn announce(&mut self, raw: &RawEvent<'_>) -> Result<(), Stop> {
        let event = self.decoder.decode(raw);
        if let Event::Rotate(rotate) = event.map_err(|error| self.fault_at(0, error))? {
            let (file, position) = (String::from_utf8_lossy(rotate.name), rotate.position);
            let file = printable(&file);
            writeln!(
                self.printer.out,
                "reading binlog from: binlog-file: {file}, binlog-pos: {position}"
            )?;
        }
        Ok(())
    }
}

/// The primary of a cluster, as it is now.
fn primary(config: &Config, cluster: &str) -> Result<Arc<Backend>, Stop> {
    let topology = control::survey(config, &machine::entropy());
    let topology = topology.map_err(|error| Stop::Fault(error.to_string()))?;
    let id = topology.cluster(cluster).map(|it| it.id);
    let mut backends = topology.backends.iter();
    let is_it = |it: &&Arc<Backend>| {
        Some(it.cluster) == id && it.role == Some(Role::Primary) && it.is_usable()
    };
    let found = backends.find(is_it).cloned();
    found.ok_or_else(|| Stop::Fault(format!("no primary of cluster \"{cluster}\" is up")))
}
