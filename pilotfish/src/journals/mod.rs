//! Writes the logs of statements and logins: a thread takes entries out of a bounded queue, so that
//! no worker ever waits for a disk.

mod file;
mod text;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use config::{Config, StatementFormat};
use net::watch;
use stats::{Entry, Journal, Log};
use worker::Settings;

use file::LogFile;

/// The most bytes that are collected before they are written.
const BATCH_BYTES: usize = 256 << 10;

/// How long the last entries may take when the proxy ends.
const TIMEOUT_END: Duration = Duration::from_secs(2);

/// The writing thread.
pub struct Journals {
    journal: Arc<Journal>,
    ended: Receiver<()>,
}

impl Journals {
    /// Starts to write the entries from `entries`.
    ///
    /// # Errors
    /// The kernel's error: no thread can be started.
    pub fn start(
        journal: &Arc<Journal>,
        entries: Receiver<Entry>,
        settings: watch::Receiver<Arc<Settings>>,
        started: Instant,
    ) -> std::io::Result<Self> {
        let (has_ended, ended) = channel();
        let writer = Writer {
            journal: Arc::clone(journal),
            entries,
            settings,
            started,
            logs: Log::ALL.map(JournalFile::new).into(),
            has_ended,
        };
        thread::Builder::new()
            .name("journals".to_owned())
            .spawn(move || writer.run())?;
        Ok(Self {
            journal: Arc::clone(journal),
            ended,
        })
    }

    /// Closes the files; they are opened again with the next entry. Settings may have changed, or files may have been
    /// moved.
    pub fn reopen(&self) {
        self.journal.reopen();
    }

    /// Writes the waiting entries, unless that takes too long.
    pub fn end(&self) {
        self.journal.end();
        // If a disk hangs, the thread is not waited for any longer.
        let _ = self.ended.recv_timeout(TIMEOUT_END);
    }
}

struct Writer {
    journal: Arc<Journal>,
    entries: Receiver<Entry>,
    settings: watch::Receiver<Arc<Settings>>,
    started: Instant,
    logs: Vec<JournalFile>,
    /// Dropped when the thread ends.
    has_ended: Sender<()>,
}

/// One of the logs: its collected entries, and its file.
struct JournalFile {
    log: Log,
    format: StatementFormat,
    file: Option<LogFile>,
    batch: Vec<u8>,
    entries: u64,
}

impl JournalFile {
    fn new(log: Log) -> Self {
        Self {
            log,
            format: StatementFormat::Json,
            file: None,
            batch: Vec::new(),
            entries: 0,
        }
    }

    /// Applies the settings. A file that stays the same is opened again.
    fn follow(&mut self, config: &Config) {
        let (slow, query) = (&config.slow_log, &config.query_log);
        let (path, format) = match self.log {
            Log::Slow => (&slow.file, slow.format),
            Log::Query => (&query.file, query.format),
            Log::Audit => (&config.audit_log.file, StatementFormat::Json),
            Log::Profiles => (&config.profiling.file, StatementFormat::Json),
        };
        self.format = format;
        self.file = path.clone().map(LogFile::new);
    }

    fn take(&mut self, entry: &Entry, began: SystemTime) {
        match (entry, self.format) {
            (Entry::Statement(log, it), StatementFormat::Json) => {
                text::json(&mut self.batch, *log, it, began);
            }
            (Entry::Statement(_, it), StatementFormat::Mysql) => {
                text::mysql(&mut self.batch, it, began);
            }
            (Entry::Line(_, line), _) => self.batch.extend_from_slice(line.as_bytes()),
            (Entry::Audit(event), _) => text::audit(&mut self.batch, event),
            (Entry::Look, _) => return,
        }
        self.entries += 1;
    }

    /// Writes the collected entries. If they cannot be written, they are dropped and counted.
    fn write(&mut self, journal: &Journal) {
        if self.entries == 0 {
            return;
        }
        let entries = std::mem::take(&mut self.entries);
        let counts = journal.counts(self.log);
        let written = match &mut self.file {
            Some(file) => file.append(&self.batch),
            // The log was switched off in the meantime.
            None => Ok(()),
        };
        self.batch.clear();
        self.batch.shrink_to(2 * BATCH_BYTES);
        let log = self.log.name();
        match written {
            Ok(()) if self.file.is_none() => counts.note_dropped(entries),
            Ok(()) => {
                counts.note_written(entries);
                if counts.note_trouble(None) {
                    let dropped = counts.dropped();
                    tracing::info!(
                        kind = "log_written_again",
                        log,
                        dropped,
                        "a log can be written again"
                    );
                }
            }
            Err(error) => {
                counts.note_dropped(entries);
                if counts.note_trouble(Some(error.to_string())) {
                    tracing::warn!(
                        kind = "log_write_failed",
                        log,
                        %error,
                        "the proxy cannot write a log and drops its entries until it can"
                    );
                }
            }
        }
    }
}

impl Writer {
    fn run(mut self) {
        self.follow();
        while let Ok(first) = self.entries.recv() {
            // When a log is switched on, its first entry can come before this thread has seen the new settings.
            let has_settings = self.settings.has_changed().unwrap_or(false);
            if self.journal.is_to_reopen() || has_settings {
                self.follow();
            }
            self.take(&first);
            while let Ok(next) = self.entries.try_recv() {
                self.take(&next);
            }
            self.write();
            if self.journal.has_ended() {
                break;
            }
        }
        drop(self.has_ended);
    }

    fn follow(&mut self) {
        let config = Arc::clone(&self.settings.borrow_and_update().config);
        for log in &mut self.logs {
            log.follow(&config);
        }
    }

    fn take(&mut self, entry: &Entry) {
        self.journal.is_taken(entry);
        let Some(log) = entry.log() else {
            return;
        };
        let began = SystemTime::now().checked_sub(self.started.elapsed());
        let log = &mut self.logs[log as usize];
        log.take(entry, began.unwrap_or(SystemTime::UNIX_EPOCH));
        if log.batch.len() >= BATCH_BYTES {
            log.write(&self.journal);
        }
    }

    fn write(&mut self) {
        for log in &mut self.logs {
            log.write(&self.journal);
        }
    }
}
