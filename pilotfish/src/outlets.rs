//! The outlets for records of statements and logins.

use std::sync::Arc;

use stats::{Journal, Traces};
use worker::ChangeOrigins;

use crate::journals::Journals;
use crate::telemetry::{Exporter, Sights};

/// The outlets for records of statements and logins: the log files, the collector of spans, and the schema
/// history.
pub struct Outlets {
    pub journal: Arc<Journal>,
    pub traces: Arc<Traces>,
    pub origins: Arc<ChangeOrigins>,
    pub journals: Journals,
    exporter: Exporter,
}

impl Outlets {
    pub fn start(sights: Sights) -> Result<Self, String> {
        let (journal, entries) = Journal::new();
        let journals = Journals::start(&journal, entries, sights.settings.clone(), sights.started)
            .map_err(|error| format!("the logs of statements cannot be written: {error}"))?;
        let (traces, statements) = Traces::new();
        let exporter = Exporter::start(&traces, statements, sights)
            .map_err(|error| format!("traces cannot be sent: {error}"))?;
        Ok(Self {
            journal,
            traces,
            origins: Arc::default(),
            journals,
            exporter,
        })
    }

    /// Writes and sends the remaining records.
    pub fn end(self) {
        self.journals.end();
        self.exporter.end();
    }
}
