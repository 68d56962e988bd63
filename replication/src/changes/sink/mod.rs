//! What gets the changes of a stream from the proxy itself, such as a file: a thread for each.
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

/// What gets changes, and keeps the position behind which it goes on.
pub trait Sink: Output {
    /// All transactions that it has; none if it has never got one.
    fn position(&self) -> Option<&str>;

    /// The changes behind this position follow.
    ///
    /// # Errors
    /// The position cannot be kept.
    fn begin(&mut self, position: &str) -> Result<(), ChangeError>;

    /// Whether enough is gathered to be written.
    fn has_piece(&self) -> bool;

    /// Writes what has been gathered.
    ///
    /// # Errors
    /// It is not taken.
    fn write_piece(&mut self) -> Result<(), ChangeError>;

    /// In how long something has to be synced; none if nothing has.
    fn sync_due(&self) -> Option<Duration>;

    /// Makes what was written durable, and keeps behind which position the sink goes on.
    ///
    /// # Errors
    /// One of both fails.
    fn sync(&mut self) -> Result<(), ChangeError>;

    /// Changes and bytes since it was last asked.
    fn take_counts(&mut self) -> (u64, u64);
}

/// The settings of a sink.
pub trait SinkSettings: Clone + Send + 'static {
    /// What gets the changes.
    type Sink: Sink;

    /// As tables show it.
    const TRANSPORT: ChangeTransport;
    /// The name of its thread, and what the log calls it.
    const THREAD: &'static str;

    /// Which of its kind it is.
    fn name(&self) -> String;

    /// Whose changes it gets; none for all tables.
    fn tables(&self) -> &[String];

    /// Where it begins if it has no position.
    fn from(&self) -> ChangeFileStart;

    /// Opens it.
    ///
    /// # Errors
    /// It cannot be had, or has another writer.
    fn open(
        &self,
        source: &ChangeSource,
        stopped: &watch::Receiver<()>,
    ) -> Result<Self::Sink, ChangeError>;

    /// Tells the log that changes are written behind this position.
    fn log_start(&self, position: &str);

    /// Tells the log that the proxy tries again after a wait.
    fn log_retry(&self, error: &ChangeError, wait: Duration);
}

/// The threads of all sinks of one stream. They end when this is dropped.
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
    /// Begins to write.
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
        // The next writers need the locks.
        self.stop = watch::channel(()).0;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread that writes changes had failed; please report this line");
            }
        }
    }
}

impl<S: SinkSettings> SinkThread<S> {
    /// The thread's life.
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
            // The stream may not have reached its server yet, which it says itself.
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

    /// Whether the settings have none of it any more, or the proxy ends.
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

    /// From opening the sink to a failure, or until the stream writes other relay files.
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
                // What is whole is kept in any case.
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

    /// What was written is shown.
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
