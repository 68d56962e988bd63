//! The destination of filtered transactions.

use binlog::RawEvent;

use crate::error::StreamError;
use crate::follow::Brought;
use crate::relay::RelayWriter;

/// Receives the events of complete transactions.
pub trait EventSink {
    /// Receives the next event, and its effect on the stream.
    ///
    /// # Errors
    /// The event cannot be written.
    fn event(&mut self, raw: &RawEvent<'_>, brought: &Brought) -> Result<(), StreamError>;
}

impl EventSink for RelayWriter {
    fn event(&mut self, raw: &RawEvent<'_>, brought: &Brought) -> Result<(), StreamError> {
        Ok(self.take(raw, brought)?)
    }
}
