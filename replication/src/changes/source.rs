//! The stream that readers of changes read.

use std::sync::Arc;

use binlog::Limits;
use config::ReplicationFilterConfig;
use system::System;

use crate::relay::RelayLog;
use crate::status::StreamStatus;

/// A stream, as readers of changes see it.
#[derive(Debug, Clone)]
pub struct ChangeSource {
    status: Arc<StreamStatus>,
    history: Arc<str>,
    cluster: Arc<str>,
    stream: Arc<str>,
    filters: Arc<[ReplicationFilterConfig]>,
    limits: Limits,
    system: System,
}

impl ChangeSource {
    /// The source for a stream. `history` is the SQLite URI of the schema history.
    pub fn new(
        status: &Arc<StreamStatus>,
        settings: &config::ReplicationConfig,
        history: &str,
        system: &System,
    ) -> Self {
        let bytes = usize::try_from(settings.event_bytes_max).unwrap_or(usize::MAX);
        Self {
            limits: Limits {
                event_bytes_max: bytes,
                inflated_bytes_max: bytes,
            },
            status: Arc::clone(status),
            history: history.into(),
            cluster: settings.cluster.as_str().into(),
            stream: settings.name.as_str().into(),
            filters: settings.filters.as_slice().into(),
            system: system.clone(),
        }
    }

    /// The relay files; none before the stream has begun to write them.
    pub fn log(&self) -> Option<Arc<RelayLog>> {
        self.status.relay().filter(|it| it.has_started())
    }

    /// The SQLite URI of the schema history.
    pub fn history(&self) -> &str {
        &self.history
    }

    /// The cluster that the stream follows.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The stream's name.
    pub fn stream(&self) -> &str {
        &self.stream
    }

    /// The filters in front of the relay files.
    pub fn filters(&self) -> &[ReplicationFilterConfig] {
        &self.filters
    }

    /// The size limits of the stream's events.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The clock, the randomness and the threads of the process.
    pub fn system(&self) -> &System {
        &self.system
    }
}
