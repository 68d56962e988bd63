//! Writes the changes of a stream into files (`[[replication.change_file]]`).
//!
//! ```text
//!   open: lock, cut off what is not whole ──► position: the position file, the last line
//!   change ──► piece ──► write ──► sync, position file: once a second, for whole transactions
//! ```

mod rotation;
mod writer;

#[cfg(test)]
mod tests;

use std::time::Duration;

use config::{ChangeFileConfig, ChangeFileStart};
use tokio::sync::watch;

use super::error::ChangeError;
use super::readers::ChangeTransport;
use super::sink::SinkSettings;
use super::source::ChangeSource;
use writer::ChangeFileWriter;

impl SinkSettings for ChangeFileConfig {
    type Sink = ChangeFileWriter;

    const TRANSPORT: ChangeTransport = ChangeTransport::File;
    const THREAD: &'static str = "change file";

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn tables(&self) -> &[String] {
        &self.tables
    }

    fn from(&self) -> ChangeFileStart {
        self.from
    }

    fn open(
        &self,
        _: &ChangeSource,
        stopped: &watch::Receiver<()>,
    ) -> Result<ChangeFileWriter, ChangeError> {
        ChangeFileWriter::open(self, stopped.clone())
    }

    fn log_start(&self, position: &str) {
        tracing::info!(
            kind = "change_file_begins",
            file = %self.path.display(),
            position,
            "a change file is written"
        );
    }

    fn log_retry(&self, error: &ChangeError, wait: Duration) {
        tracing::warn!(
            kind = "change_file_failed",
            file = %self.path.display(),
            cause = error.kind(),
            %error,
            ?wait,
            "a change file cannot be written; the proxy tries again"
        );
    }
}
