//! Files that get the changes of a stream (`[[replication.change_file]]`): a thread for each.
//!
//! ```text
//!   open: lock, cut off what is not whole ──► position: the position file, the last line ──► ChangeReader
//!     ▲                                                                                         │
//!     │ wait, then again                                                                        ▼
//!     └───────────── failure ◄──── write ──► sync, position file: once a second ◄──── whole transactions
//! ```

mod rotation;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use config::{ChangeFileConfig, ChangeFileStart};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::error::{ChangeError, ChangeRefusal};
use super::reader::{ChangeReader, ChangeStart, Progress};
use super::readers::{ChangeReaderView, ChangeReaders, ChangeState, ChangeWay, Reading};
use super::source::ChangeSource;
use writer::ChangeFileWriter;

/// The first wait after a failure. It doubles up to the longest.
const WAIT_FIRST: Duration = Duration::from_millis(250);
/// The longest wait after a failure.
const WAIT_MAX: Duration = Duration::from_secs(15);

/// The threads that write the change files of one stream. They end when this is dropped.
pub struct ChangeFiles {
    stop: watch::Sender<()>,
    threads: Vec<JoinHandle<()>>,
}

/// One file.
struct ChangeFile {
    source: ChangeSource,
    settings: ChangeFileConfig,
    reading: Reading,
    stopped: watch::Receiver<()>,
    runtime: Runtime,
}

impl ChangeFiles {
    /// Begins to write the files.
    pub fn start(
        source: &ChangeSource,
        files: &[ChangeFileConfig],
        readers: &Arc<ChangeReaders>,
    ) -> Self {
        let (stop, stopped) = watch::channel(());
        let begin = |settings: &ChangeFileConfig| {
            let view = ChangeReaderView {
                way: ChangeWay::File,
                name: settings.path.display().to_string(),
                cluster: source.cluster().to_owned(),
                tables: settings.tables.join(","),
                since: (source.clock())(),
                ..ChangeReaderView::default()
            };
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()?;
            let file = ChangeFile {
                source: source.clone(),
                settings: settings.clone(),
                reading: readers.begin(view),
                stopped: stopped.clone(),
                runtime,
            };
            let thread = std::thread::Builder::new().name("change file".to_owned());
            thread.spawn(move || file.run())
        };
        let mut threads = Vec::new();
        for settings in files {
            match begin(settings) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    let file = settings.path.display();
                    tracing::error!(%file, %error, "the change file has no thread, so it is not written");
                }
            }
        }
        Self { stop, threads }
    }
}

impl Drop for ChangeFiles {
    fn drop(&mut self) {
        // The next writers of the files need their locks.
        self.stop = watch::channel(()).0;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread that writes a change file had failed");
            }
        }
    }
}

impl ChangeFile {
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
                tracing::warn!(
                    kind = "change_file_failed",
                    file = %self.settings.path.display(),
                    cause = error.kind(),
                    %error,
                    ?wait,
                    "a change file cannot be written; the proxy tries again"
                );
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

    /// From opening the file to a failure, or until the stream writes other relay files.
    fn write(&mut self, wait: &mut Duration) -> Result<(), ChangeError> {
        if self.source.log().is_none() {
            let cluster = self.source.cluster().to_owned();
            return Err(ChangeRefusal::NotBegun(cluster).into());
        }
        let mut writer = ChangeFileWriter::open(&self.settings, self.stopped.clone())?;
        let start = match (writer.position(), self.settings.from) {
            (Some(position), _) => ChangeStart::Behind(position.to_owned()),
            (None, ChangeFileStart::Oldest) => ChangeStart::Oldest,
            (None, ChangeFileStart::Now) => ChangeStart::Now,
        };
        let mut reader = ChangeReader::begin(&self.source, &start, &self.settings.tables)?;
        writer.begin(reader.position())?;
        tracing::info!(
            kind = "change_file_begins",
            file = %self.settings.path.display(),
            position = reader.position(),
            "a change file is written"
        );
        loop {
            let progress = reader.step(&mut writer);
            if progress.is_err() || self.is_stopped() {
                // What is whole is kept in any case.
                writer.sync()?;
            }
            let progress = progress?;
            if self.is_stopped() || progress == Progress::IsLeft {
                return writer.sync();
            }
            writer.sync_if_due()?;
            let is_live = progress == Progress::IsLive;
            if is_live || writer.has_piece() {
                writer.write_piece()?;
                self.note(&reader, &mut writer, is_live);
                *wait = WAIT_FIRST;
            }
            if is_live {
                self.wait_for_more(&mut reader, &mut writer)?;
            }
        }
    }

    fn wait_for_more(
        &mut self,
        reader: &mut ChangeReader,
        writer: &mut ChangeFileWriter,
    ) -> Result<(), ChangeError> {
        let (additions, stopped) = (reader.additions(), &mut self.stopped);
        let more = async {
            tokio::select! {
                _ = additions.changed() => {}
                _ = stopped.changed() => {}
            }
        };
        match writer.sync_due() {
            None => self.runtime.block_on(more),
            Some(due) => {
                let more = async { timeout(due, more).await };
                if self.runtime.block_on(more).is_err() {
                    writer.sync()?;
                }
            }
        }
        Ok(())
    }

    /// What was written is shown.
    fn note(&self, reader: &ChangeReader, writer: &mut ChangeFileWriter, is_live: bool) {
        let (events, bytes) = writer.take_counts();
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
