//! Outputs that the proxy writes itself, such as files of changes; each has a thread.
//!
//! ```text
//!   open ──► the position behind which it goes on ──► ChangeReader
//!     ▲                                                  │
//!     │ wait, then again                                 ▼
//!     └────── failure ◄── write ──► sync: once a second ◄── whole transactions
//! ```

pub mod position_file;
mod sync_timer;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use config::{ChangeFileStart, ReplicationConfig};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::error::{ChangeError, ChangeRefusal};
use super::reader::{ChangeReader, ChangeStart, Progress};
use super::readers::{ChangeReaderView, ChangeReaders, ChangeState, ChangeTransport, Reading};
use super::source::ChangeSource;
use super::translator::Output;

pub use sync_timer::SyncTimer;

/// The first wait after a failure. It doubles up to the longest.
const WAIT_FIRST: Duration = Duration::from_millis(250);
/// The longest wait after a failure.
const WAIT_MAX: Duration = Duration::from_secs(15);

/// Receives changes, and stores the position after which it goes on.
pub trait Sink: Output {
    /// The transactions that the sink has stored; none if it has never had one.
    fn position(&self) -> Option<&str>;

    /// Begins: the next changes come after this position.
    ///
    /// # Errors
    /// The position cannot be stored.
    fn begin(&mut self, position: &str) -> Result<(), ChangeError>;

    /// Whether enough changes are gathered for a write.
    fn has_piece(&self) -> bool;

    /// Writes the gathered changes.
    ///
    /// # Errors
    /// The changes cannot be written.
    fn write_piece(&mut self) -> Result<(), ChangeError>;

    /// How soon a sync is due; none if everything is synced.
    fn sync_due(&self) -> Option<Duration>;

    /// Makes the written changes durable, and stores the position after which the sink goes on.
    ///
    /// # Errors
    /// The sync or the write of the position fails.
    fn sync(&mut self) -> Result<(), ChangeError>;

    /// Returns the changes and bytes since the last call.
    fn take_counts(&mut self) -> (u64, u64);
}

/// The settings of a sink.
pub trait SinkSettings: Clone + Send + 'static {
    /// The sink of these settings.
    type Sink: Sink;

    /// The transport that tables show.
    const TRANSPORT: ChangeTransport;
    /// The name of its thread, which the log shows, too.
    const THREAD: &'static str;

    /// The name of this sink among the sinks of its kind.
    fn name(&self) -> String;

    /// The tables whose changes the sink gets; empty for all tables.
    fn tables(&self) -> &[String];

    /// Where the sink begins if it has no position.
    fn from(&self) -> ChangeFileStart;

    /// Opens the sink.
    ///
    /// # Errors
    /// The sink cannot be opened, or has another writer.
    fn open(
        &self,
        source: &ChangeSource,
        stopped: &watch::Receiver<()>,
    ) -> Result<Self::Sink, ChangeError>;

    /// Logs that the sink begins after this position.
    fn log_start(&self, position: &str);

    /// Logs a failure, and that the proxy tries again after the wait.
    fn log_retry(&self, error: &ChangeError, wait: Duration);
}

/// The threads of all sinks of one stream. Dropping the struct ends them.
pub struct ChangeSinks {
    stop: watch::Sender<()>,
    threads: Vec<JoinHandle<()>>,
}

/// One sink.
struct SinkThread<S> {
    source: ChangeSource,
    settings: S,
    reading: Reading,
    stopped: watch::Receiver<()>,
    runtime: Runtime,
}

impl ChangeSinks {
    /// Starts a thread for each sink.
    pub fn start(
        source: &ChangeSource,
        settings: &ReplicationConfig,
        readers: &Arc<ChangeReaders>,
    ) -> Self {
        let mut sinks = Self {
            stop: watch::channel(()).0,
            threads: Vec::new(),
        };
        for file in &settings.change_files {
            sinks.begin(source, file, readers);
        }
        #[cfg(feature = "kafka")]
        for kafka in &settings.kafka {
            sinks.begin(source, kafka, readers);
        }
        sinks
    }

    fn begin<S: SinkSettings>(
        &mut self,
        source: &ChangeSource,
        settings: &S,
        readers: &Arc<ChangeReaders>,
    ) {
        let view = ChangeReaderView {
            transport: S::TRANSPORT,
            name: settings.name(),
            cluster: source.cluster().to_owned(),
            tables: settings.tables().join(","),
            since: source.system().clock.unix_micros(),
            ..ChangeReaderView::default()
        };
        let begun = || -> std::io::Result<_> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()?;
            let sink = SinkThread {
                source: source.clone(),
                settings: settings.clone(),
                reading: readers.begin(view),
                stopped: self.stop.subscribe(),
                runtime,
            };
            let threads = &source.system().threads;
            threads.start(S::THREAD, move || sink.run())
        };
        match begun() {
            Ok(thread) => self.threads.push(thread),
            Err(error) => {
                let sink = settings.name();
                tracing::error!(sink, %error, "there is no thread, so the changes are not written");
            }
        }
    }
}

impl Drop for ChangeSinks {
    fn drop(&mut self) {
        // Wait for the threads, because the next writers need their locks.
        self.stop = watch::channel(()).0;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread that writes changes had failed; please report this line");
            }
        }
    }
}

impl<S: SinkSettings> SinkThread<S> {
    /// The thread's main function.
    fn run(mut self) {
        let mut wait = WAIT_FIRST;
        while !self.is_stopped() {
            let error = match self.write(&mut wait) {
                Ok(()) | Err(ChangeError::Gone) => {
                    self.pause(WAIT_FIRST);
                    continue;
                }
                Err(error) => error,
            };
            let text = error.to_string();
            // A stream that has not reached its server yet reports that itself, so do not log it here.
            if !matches!(error, ChangeError::Refused(ChangeRefusal::NotBegun(_))) {
                self.settings.log_retry(&error, wait);
            }
            self.reading.change(|view| {
                view.state = ChangeState::Waiting;
                view.last_error = Some(text);
            });
            self.pause(wait);
            wait = (wait * 2).min(WAIT_MAX);
        }
    }

    /// Whether the settings no longer contain the sink, or the proxy stops.
    fn is_stopped(&self) -> bool {
        self.stopped.has_changed().is_err()
    }

    fn pause(&mut self, wait: Duration) {
        let stopped = &mut self.stopped;
        self.runtime.block_on(async {
            tokio::select! {
                () = sleep(wait) => {}
                _ = stopped.changed() => {}
            }
        });
    }

    /// Opens the sink and writes changes, until a failure, a stop, or new relay files of the stream.
    fn write(&mut self, wait: &mut Duration) -> Result<(), ChangeError> {
        if self.source.log().is_none() {
            let cluster = self.source.cluster().to_owned();
            return Err(ChangeRefusal::NotBegun(cluster).into());
        }
        let mut sink = self.settings.open(&self.source, &self.stopped)?;
        let start = match (sink.position(), self.settings.from()) {
            (Some(position), _) => ChangeStart::Behind(position.to_owned()),
            (None, ChangeFileStart::Oldest) => ChangeStart::Oldest,
            (None, ChangeFileStart::Now) => ChangeStart::Now,
        };
        let mut reader = ChangeReader::begin(&self.source, &start, self.settings.tables())?;
        sink.begin(reader.position())?;
        self.settings.log_start(reader.position());
        loop {
            let progress = reader.step(&mut sink);
            if progress.is_err() || self.is_stopped() {
                // In both cases keep the complete transactions.
                sink.sync()?;
            }
            let progress = progress?;
            if self.is_stopped() || progress == Progress::IsLeft {
                return sink.sync();
            }
            if sink.sync_due() == Some(Duration::ZERO) {
                sink.sync()?;
            }
            let is_live = progress == Progress::IsLive;
            if is_live || sink.has_piece() {
                sink.write_piece()?;
                self.note(&reader, &mut sink, is_live);
                *wait = WAIT_FIRST;
            }
            if is_live {
                self.wait_for_more(&mut reader, &mut sink)?;
            }
        }
    }

    fn wait_for_more(
        &mut self,
        reader: &mut ChangeReader,
        sink: &mut S::Sink,
    ) -> Result<(), ChangeError> {
        let (additions, stopped) = (reader.additions(), &mut self.stopped);
        let more = async {
            tokio::select! {
                _ = additions.changed() => {}
                _ = stopped.changed() => {}
            }
        };
        match sink.sync_due() {
            None => self.runtime.block_on(more),
            Some(due) => {
                let more = async { timeout(due, more).await };
                if self.runtime.block_on(more).is_err() {
                    sink.sync()?;
                }
            }
        }
        Ok(())
    }

    /// Adds the written changes to the view.
    fn note(&self, reader: &ChangeReader, sink: &mut S::Sink, is_live: bool) {
        let (events, bytes) = sink.take_counts();
        self.reading.change(|view| {
            view.last_error = None;
            view.events += events;
            view.bytes += bytes;
            view.position.clear();
            view.position.push_str(reader.position());
            (view.state, view.delay) = match is_live {
                true => (ChangeState::Live, 0),
                false => (ChangeState::CatchingUp, reader.delay()),
            };
        });
    }
}
