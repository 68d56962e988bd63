//! The life of one stream: choose a server, log in, register, follow the log, record; after a failure, start again.
//!
//! ```text
//!   choose ──► log in ──► begin: the stored position, or the end of the log and all objects as they are
//!     ▲                     │
//!     │ wait, then again    ▼
//!     └── failure ◄── follow: events ──► transaction ──► changes? ask what the objects are, write it with the position
//! ```

use std::sync::Arc;
use std::time::Duration;

use binlog::{Checksum, EventFlags, Limits};
use config::{OnPurged, ReplicationConfig, ReplicationSource};
use route::{Backend, Lag, Role};
use tokio::time::{Instant, sleep};

use crate::definition_reader::DefinitionReader;
use crate::definition_source::{DefinitionSource, Observation};
use crate::displacement::Displacements;
use crate::error::StreamError;
use crate::event_stream::EventStream;
use crate::filter::{Filter, Filtered};
use crate::follow::{Brought, Follower};
use crate::object::{ObjectKind, ObjectName};
use crate::pending::{PendingTransactions, WholeTransaction};
use crate::position::Position;
use crate::registration::{Greeted, Identity, Registration, random_uuid};
use crate::relay::{RelayOptions, RelayWriter};
use crate::semi_sync::Acknowledger;
use crate::shared::Shared;
use crate::status::{StreamState, StreamStatus};
use crate::store::{StoredStream, StreamName};
use crate::transaction_changes::Changes;

/// The first wait after a failure. The wait doubles with each failure, up to `WAIT_MAX`.
const WAIT_FIRST: Duration = Duration::from_millis(250);
/// The longest wait after a failure.
const WAIT_MAX: Duration = Duration::from_secs(15);

/// How often the position is written if no other write comes, in microseconds.
const SAVE_INTERVAL: i64 = 1_000_000;

/// After this many missed heartbeats the connection counts as lost.
const HEARTBEATS_MISSED_MAX: u32 = 3;

/// How many definitions one database transaction writes when a stream begins.
const BATCH: usize = 200;

/// One stream.
pub(crate) struct Stream {
    shared: Shared,
    settings: ReplicationConfig,
    status: Arc<StreamStatus>,
    /// The stream's state in the store; none before the stream has begun for the first time.
    stored: Option<StoredStream>,
    /// When the position was last written, in microseconds since 1970.
    saved: i64,
    /// How long the stream waits after the next failure.
    wait: Duration,
    /// When the server last began to send events, in microseconds since 1970.
    began_at: i64,
    displacements: Displacements,
    /// Where the server's log ended when the proxy last asked for definitions; none once the stream has reached
    /// that place.
    read_up_to: Option<Position>,
    /// How far the server's clock is ahead, in seconds.
    clock_ahead: i64,
    /// Writes the relay files, from which replicas get the transactions.
    relay: Option<RelayWriter>,
    /// The filter that events pass before they reach the relay files.
    filter: Option<Filter>,
    /// Tells the server which transactions are synced in the relay files (semi-synchronous replication).
    acknowledger: Option<Acknowledger>,
}

impl Stream {
    pub fn new(shared: Shared, settings: ReplicationConfig, status: Arc<StreamStatus>) -> Self {
        Self {
            shared,
            settings,
            status,
            stored: None,
            saved: 0,
            wait: WAIT_FIRST,
            began_at: 0,
            displacements: Displacements::default(),
            read_up_to: None,
            clock_ahead: 0,
            relay: None,
            filter: None,
            acknowledger: None,
        }
    }

    /// Follows servers until the proxy stops; starts again after each failure.
    pub async fn run(mut self) {
        // Replicas get the transactions of the relay files even if the stream can follow no server yet.
        if let Err(error) = self.open_relay() {
            tracing::error!(stream = self.settings.name, %error, "the proxy cannot open the relay files of a stream; replicas get nothing from it until it can");
        }
        loop {
            let Err(error) = self.follow_connection().await;
            if matches!(error, StreamError::Relay(_) | StreamError::Store(_)) {
                // After a failed write, it is unknown whether the store or the files have the transaction. Therefore
                // the stream reads its position from the store again. The store is never ahead of the files.
                self.stored = None;
            }
            if matches!(error, StreamError::Displaced(_)) {
                let lasted = self.shared.system.clock.unix_micros() - self.began_at;
                let lasted = Duration::from_micros(u64::try_from(lasted).unwrap_or(0));
                self.wait = self.displacements.wait(lasted);
            }
            let name = &self.settings.name;
            if let StreamError::Moved(backend) = &error {
                tracing::info!(
                    stream = name,
                    backend,
                    "replication goes on from another server"
                );
                continue;
            }
            tracing::warn!(
                kind = "replication_failed",
                stream = name,
                cause = error.kind(),
                %error,
                wait = ?self.wait,
                "a stream of replication has failed; the proxy begins it again after the wait"
            );
            let now = self.shared.system.clock.unix_micros();
            self.status.change(|view| {
                view.state = StreamState::Waiting;
                view.errors += 1;
                view.last_error = Some(error.to_string());
                view.last_error_time = Some(now);
                view.delay = None;
                view.events_per_second = 0;
                view.bytes_per_second = 0;
            });
            self.wait_a_while().await;
        }
    }

    /// Waits before the next attempt. The wait ends early if a new topology offers another server.
    async fn wait_a_while(&mut self) {
        let before = self.choose().ok().map(|backend| backend.id);
        let wait = self.wait;
        self.wait = (wait * 2).min(WAIT_MAX);
        let mut topology = self.shared.topology.clone();
        let other = async {
            while topology.changed().await.is_ok() {
                let now = self.choose().ok().map(|backend| backend.id);
                if now.is_some() && now != before {
                    return;
                }
            }
            std::future::pending().await
        };
        tokio::select! {
            () = sleep(wait) => {}
            () = other => {}
        }
    }

    /// Returns the server to follow.
    fn choose(&self) -> Result<Arc<Backend>, StreamError> {
        let topology = self.shared.topology.borrow().clone();
        let cluster = topology.cluster(&self.settings.cluster).map(|it| it.id);
        let of_role = |role: Role| {
            let backends = topology.backends.iter();
            backends
                .filter(move |it| Some(it.cluster) == cluster && it.role == Some(role))
                .filter(|it| it.is_usable())
        };
        let primary = || of_role(Role::Primary).next();
        let chosen = match self.settings.from {
            ReplicationSource::Primary => primary(),
            ReplicationSource::Replica => {
                let followed = self.status.view().backend;
                let is_followed = |it: &&Arc<Backend>| followed.as_ref() == Some(&it.name);
                let mut replicas = of_role(Role::Replica).filter(|it| replicates(it));
                // If the replica that the stream follows is still fit, the stream stays with it.
                let kept = replicas.clone().find(is_followed);
                kept.or_else(|| replicas.next())
                    .or_else(primary)
                    .or_else(|| of_role(Role::Replica).next())
            }
        };
        chosen.cloned().ok_or_else(|| {
            let cluster = &self.settings.cluster;
            let from = self.settings.from;
            StreamError::Unfit(format!("no {from} of cluster \"{cluster}\" is up"))
        })
    }

    /// Serves one connection to a server, from login to failure.
    async fn follow_connection(&mut self) -> Result<std::convert::Infallible, StreamError> {
        self.status
            .change(|view| view.state = StreamState::Connecting);
        let backend = self.choose()?;
        self.status.change(|view| {
            view.backend = Some(backend.name.clone());
            view.connects += 1;
        });
        let mut client = self.shared.log_in(&self.settings, &backend).await?;
        let mut registration = Registration::new(&mut client);
        let stored = self.begin(&mut registration, &backend).await?;
        self.open_relay()?;
        let identity = Identity {
            server_id: self.settings.server_id,
            uuid: stored.uuid.clone(),
            heartbeat: self.settings.heartbeat,
            semi_sync: self.settings.semi_sync,
        };
        self.check_semi_sync(&mut registration, &backend).await?;
        let greeted = registration.register(&identity).await?;
        registration.begin(&identity, &stored.position).await?;
        self.filter = self.new_filter(&stored.position, greeted.checksum)?;
        self.note_begin(&backend, greeted, &stored.position);
        let limits = self.limits();
        let patience = self.settings.heartbeat * HEARTBEATS_MISSED_MAX;
        let (client, acknowledger) = match self.settings.semi_sync {
            true => {
                let (client, writer) = client.with_writer();
                (client, Some(Acknowledger::new(writer)))
            }
            false => (client, None),
        };
        self.acknowledger = acknowledger;
        let mut events = EventStream::new(client, greeted.checksum, limits, patience);
        if self.settings.semi_sync {
            events = events.semi_sync();
        }
        let (shared, settings) = (self.shared.clone(), self.settings.clone());
        let source = DefinitionSource::new(shared, settings, Arc::clone(&backend));
        let mut followed = Followed {
            events,
            follower: Follower::new(limits),
            changes: Changes::new(
                Arc::clone(&self.shared.origins),
                self.shared.topology.clone(),
                &backend,
                self.clock_ahead,
            ),
            reached: stored.position,
            pending: PendingTransactions::new(source),
        };
        loop {
            match self.next(&mut followed, &backend).await? {
                Brought::Nothing | Brought::Begin(_) => {}
                Brought::Idle => {
                    self.wait = WAIT_FIRST;
                    self.keep(true)?;
                    // A replica whose replication has stopped sends no more transactions, so another server may be
                    // better.
                    self.stay(&backend)?;
                }
                Brought::Transaction(gtid) => {
                    followed.reached.add(&gtid);
                    let changes = followed.changes.take();
                    let transaction = WholeTransaction { gtid, changes };
                    self.transaction(transaction, &mut followed.pending).await?;
                }
            }
        }
    }

    /// Returns the next event, or an error if the stream must move to another server. While it waits, it syncs and
    /// acknowledges transactions, and records changes of objects.
    async fn next(
        &mut self,
        followed: &mut Followed,
        backend: &Backend,
    ) -> Result<Brought, StreamError> {
        let Followed {
            events,
            follower,
            changes,
            reached,
            pending,
        } = followed;
        let mut topology = self.shared.topology.clone();
        topology.mark_unchanged();
        let (raw, needs_ack) = {
            let mut next = std::pin::pin!(events.next_with_ack_request());
            loop {
                let sync_due = self.relay.as_ref().and_then(RelayWriter::sync_due);
                let is_ack_due = self.acknowledger.as_ref().is_some_and(Acknowledger::is_due);
                tokio::select! {
                    biased;
                    answered = pending.answered(), if pending.is_querying() => {
                        let (transaction, observation) = answered?;
                        self.record_changes(&transaction, observation)?;
                        self.record_unchanging(pending)?;
                    }
                    raw = &mut next, if pending.has_room() => break raw?,
                    // No other event has come that the same sync could cover.
                    () = std::future::ready(()), if is_ack_due => {
                        self.sync_relay()?;
                        self.acknowledge().await?;
                    }
                    () = until(sync_due) => self.sync_relay()?,
                    changed = topology.changed() => {
                        if changed.is_err() {
                            std::future::pending::<()>().await;
                        }
                        self.stay(backend)?;
                    }
                }
            }
        };
        let now = self.shared.system.clock.unix_micros();
        let header = *raw.header();
        if header.flags.contains(EventFlags::ARTIFICIAL) {
            changes.is_made_up(&header);
        }
        let brought = follower.take(&raw, reached, changes)?;
        let mut filtered = Filtered::default();
        if let Some(relay) = &mut self.relay {
            match &mut self.filter {
                Some(filter) => filtered = filter.take(&raw, &brought, relay)?,
                None => relay.take(&raw, &brought)?,
            }
            if let Some(acknowledger) = &mut self.acknowledger {
                acknowledger.note(&raw, needs_ack, relay.is_between());
            }
            if relay.sync_if_due()? {
                self.acknowledge().await?;
            }
        }
        let length = raw.bytes().len();
        let delay = now / 1_000_000 + self.clock_ahead - i64::from(header.time);
        self.status.count_event(length, now, |view| {
            view.events_dropped += filtered.dropped;
            view.events_changed += filtered.changed;
            match &brought {
                Brought::Idle => view.delay = Some(0),
                _ if header.time > 0 => view.delay = Some(delay.try_into().unwrap_or(0)),
                _ => {}
            }
        });
        Ok(brought)
    }

    /// Acknowledges the transactions that have just been synced.
    async fn acknowledge(&mut self) -> Result<(), StreamError> {
        match &mut self.acknowledger {
            Some(acknowledger) => acknowledger.send().await,
            None => Ok(()),
        }
    }

    /// Logs a warning if the server does not wait for acknowledgements.
    async fn check_semi_sync(
        &self,
        registration: &mut Registration<'_>,
        backend: &Backend,
    ) -> Result<(), StreamError> {
        if !self.settings.semi_sync || registration.semi_sync().await? == Some(true) {
            return Ok(());
        }
        tracing::warn!(
            kind = "semi_sync_off",
            stream = self.settings.name,
            backend = backend.name,
            "semi-synchronous replication is off on the server, or the server does not know it; it does not wait for the \
             proxy's acknowledgements until it is switched on"
        );
        Ok(())
    }

    /// Opens the relay files once the stream's position is known. If they are open, removes what a failure left there.
    fn open_relay(&mut self) -> Result<(), StreamError> {
        let Some(folder) = &self.settings.relay_folder else {
            return Ok(());
        };
        if let Some(relay) = &mut self.relay {
            return Ok(relay.restart()?);
        }
        if self.stored.is_none() {
            self.stored = self.shared.store.borrow().stream(&self.settings.name)?;
        }
        let Some(stored) = &self.stored else {
            return Ok(());
        };
        let options = RelayOptions {
            folder: folder.clone(),
            server_id: self.settings.server_id,
            uuid: stored.uuid.clone(),
            bytes_max: self.settings.relay_bytes_max,
            age_max: self.settings.relay_age_max,
            limits: self.limits(),
            clock: self.shared.system.clock.clone(),
        };
        let relay = RelayWriter::open(options, &stored.position)?;
        self.status.set_relay(relay.log());
        self.relay = Some(relay);
        Ok(())
    }

    /// Returns the filter for one connection whose events begin after `position`.
    fn new_filter(
        &self,
        position: &Position,
        checksum: Checksum,
    ) -> Result<Option<Filter>, StreamError> {
        let Some(folder) = &self.settings.relay_folder else {
            return Ok(None);
        };
        let filters = &self.settings.filters;
        let filter = Filter::new(
            filters,
            &self.shared.config.script,
            &self.shared.system.clock,
            (position.family(), checksum),
            self.limits(),
            folder.clone(),
        );
        Ok(filter?)
    }

    fn sync_relay(&mut self) -> Result<(), StreamError> {
        match &mut self.relay {
            Some(relay) => Ok(relay.sync()?),
            None => Ok(()),
        }
    }

    /// Returns an error if the topology now names another server to follow.
    fn stay(&self, backend: &Backend) -> Result<(), StreamError> {
        match self.choose() {
            Ok(chosen) if chosen.id != backend.id => Err(StreamError::Moved(chosen.name.clone())),
            // While events come, the stream stays, even if the monitor reports that the server is down.
            _ => Ok(()),
        }
    }

    /// Returns where to begin: at the stored position, or at the end of the log if the stream has never begun.
    async fn begin(
        &mut self,
        registration: &mut Registration<'_>,
        backend: &Backend,
    ) -> Result<StoredStream, StreamError> {
        let end = registration.end_of_log().await?;
        if self.stored.is_none() {
            self.stored = self.shared.store.borrow().stream(&self.settings.name)?;
        }
        let Some(stored) = self.stored.clone() else {
            let stored = StoredStream {
                position: end,
                uuid: random_uuid(&self.shared.system.entropy)?,
            };
            return self.begin_anew(stored, backend).await;
        };
        if stored.position.family() != registration.family() {
            return Err(StreamError::Unfit(format!(
                "the stream has followed a server of the other family; give it another name than \"{}\"",
                self.settings.name
            )));
        }
        match registration.purged(&stored.position).await? {
            None => Ok(stored),
            Some((purged, _)) if self.settings.on_purged == OnPurged::Stop => {
                Err(StreamError::Purged(purged))
            }
            Some((purged, position)) => {
                tracing::warn!(
                    kind = "replication_gap",
                    stream = self.settings.name,
                    missing = purged.missing,
                    "the server has deleted transactions that a stream needs; the proxy goes on behind them, and the schema history has a gap"
                );
                let uuid = stored.uuid;
                self.begin_anew(StoredStream { position, uuid }, backend)
                    .await
            }
        }
    }

    /// Records the definitions of all objects, and begins at `stored`. A change during this time comes again with
    /// the log.
    async fn begin_anew(
        &mut self,
        stored: StoredStream,
        backend: &Backend,
    ) -> Result<StoredStream, StreamError> {
        self.status.change(|view| view.state = StreamState::Reading);
        let client = self.shared.log_in(&self.settings, backend).await?;
        let mut definition_reader = DefinitionReader::begin(client).await?;
        let time = self.shared.system.clock.unix_micros();
        let mut objects = definition_reader.list().await?;
        let accounts = definition_reader.accounts().await?;
        let knows_accounts = accounts.is_some();
        objects.extend(accounts.unwrap_or_default());
        let known = self
            .shared
            .store
            .borrow()
            .present(&self.settings.name, None)?;
        let is_listed: std::collections::HashSet<_> = objects.iter().collect();
        let gone = known.iter().filter(|it| {
            (knows_accounts || it.kind != ObjectKind::Account) && !is_listed.contains(it)
        });
        let all: Vec<&ObjectName> = gone.chain(&objects).collect();
        for batch in all.chunks(BATCH) {
            let mut observed = Vec::with_capacity(batch.len());
            for object in batch {
                observed.push(definition_reader.ask(object).await?);
            }
            self.read_up_to = Some(definition_reader.note_end(&mut observed).await?);
            let mut store = self.shared.store.borrow_mut();
            store.note(self.name(), &observed, time)?;
        }
        self.shared
            .store
            .borrow_mut()
            .save(&self.settings.name, &stored)?;
        self.stored = Some(stored.clone());
        Ok(stored)
    }

    /// Handles a complete transaction.
    async fn transaction(
        &mut self,
        transaction: WholeTransaction,
        pending: &mut PendingTransactions,
    ) -> Result<(), StreamError> {
        if !transaction.changes.is_empty() {
            // Do not delay replicas, or the client that waits for the acknowledgement, until the server has sent
            // definitions.
            self.sync_relay()?;
            self.acknowledge().await?;
        }
        pending.push(transaction);
        self.record_unchanging(pending)
    }

    /// Adds the pending transactions to the position, up to the first one that changes an object.
    fn record_unchanging(&mut self, pending: &mut PendingTransactions) -> Result<(), StreamError> {
        while let Some(transaction) = pending.pop_unchanging() {
            if let Some(stored) = &mut self.stored {
                stored.position.add(&transaction.gtid);
            }
            self.note_recorded(&transaction)?;
        }
        Ok(())
    }

    /// Writes a transaction that changes objects into the history, together with the objects' new definitions.
    fn record_changes(
        &mut self,
        transaction: &WholeTransaction,
        (observed, end): Observation,
    ) -> Result<(), StreamError> {
        self.read_up_to = Some(end);
        let WholeTransaction { gtid, changes } = transaction;
        let mut stored = self.stored.clone().ok_or(StreamError::Ended)?;
        stored.position.add(gtid);
        let mut store = self.shared.store.borrow_mut();
        store.record(self.name(), (gtid, changes), &observed, &stored)?;
        drop(store);
        self.shared.written.send_replace(());
        self.stored = Some(stored);
        // `record` has written the position together with the changes.
        self.has_reached_reading();
        self.note_recorded(transaction)
    }

    /// Counts a transaction that the stream's position now contains.
    fn note_recorded(&mut self, transaction: &WholeTransaction) -> Result<(), StreamError> {
        // The stream has made progress, so the wait after the next failure begins small again.
        self.wait = WAIT_FIRST;
        let count = transaction.changes.len() as u64;
        self.status.change(|view| {
            view.transactions += 1;
            view.changes += count;
            view.last_gtid = Some(transaction.gtid.to_string());
        });
        self.keep(count > 0)
    }

    fn note_begin(&mut self, backend: &Backend, greeted: Greeted, position: &Position) {
        let now = self.shared.system.clock.unix_micros();
        self.began_at = now;
        let server_time = i64::try_from(greeted.server_time).unwrap_or(0);
        self.clock_ahead = server_time - now / 1_000_000;
        let text = position.to_string();
        tracing::info!(
            kind = "replication_begins",
            stream = self.settings.name,
            backend = backend.name,
            position = text,
            "replication follows a server"
        );
        self.status.change(|view| {
            view.state = StreamState::Streaming;
            view.position = text;
        });
    }

    /// Writes the position once per `SAVE_INTERVAL`, and when the history contains all changes that the last
    /// definitions contain. If `counts` is true, the status shows the position at once.
    fn keep(&mut self, counts: bool) -> Result<(), StreamError> {
        let now = self.shared.system.clock.unix_micros();
        let is_due =
            self.has_reached_reading() || !(0..SAVE_INTERVAL).contains(&(now - self.saved));
        let Some(stored) = self.stored.as_ref().filter(|_| is_due || counts) else {
            return Ok(());
        };
        let text = stored.position.to_string();
        self.status.change(|view| view.position = text);
        if is_due {
            if let Some(relay) = &mut self.relay {
                relay.sync()?;
            }
            let mut store = self.shared.store.borrow_mut();
            store.save(&self.settings.name, stored)?;
            drop(store);
            self.saved = now;
        }
        Ok(())
    }

    /// Returns true once: when the stream reaches the place where the server's log ended at the last query for
    /// definitions.
    fn has_reached_reading(&mut self) -> bool {
        let has = |end: &Position| self.position().missing(end).is_none();
        let has_reached = self.read_up_to.as_ref().is_some_and(has);
        if has_reached {
            self.read_up_to = None;
        }
        has_reached
    }

    fn position(&self) -> &Position {
        static NOTHING: std::sync::LazyLock<Position> =
            std::sync::LazyLock::new(|| Position::empty(route::Family::MySql));
        self.stored.as_ref().map_or(&NOTHING, |it| &it.position)
    }

    fn name(&self) -> StreamName<'_> {
        StreamName {
            stream: &self.settings.name,
            cluster: &self.settings.cluster,
        }
    }

    fn limits(&self) -> Limits {
        let bytes = usize::try_from(self.settings.event_bytes_max).unwrap_or(usize::MAX);
        Limits {
            event_bytes_max: bytes,
            inflated_bytes_max: bytes,
        }
    }
}

/// The state of one connection to the followed server.
struct Followed {
    events: EventStream,
    follower: Follower,
    changes: Changes,
    /// All transactions that have come. The stored position lacks the pending ones.
    reached: Position,
    pending: PendingTransactions,
}

/// Whether a replica receives its primary's transactions. True for a replica that lags, or whose state is unknown.
fn replicates(replica: &Backend) -> bool {
    replica.standing.lag() != Lag::Stopped
}

/// Waits until `time`; for ever if `time` is none.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
