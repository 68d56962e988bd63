//! Where filtered transactions go.

use binlog::RawEvent;

use crate::error::StreamError;
use crate::follow::Brought;
use crate::relay::RelayWriter;

/// Where the events of whole transactions go.
pub trait EventSink {
    /// Takes the next event, and what it brings.
    ///
    /// # Errors
    /// It cannot be written.
    fn event(&mut self, raw: &RawEvent<'_>, brought: &Brought) -> Result<(), StreamError>;
}

impl EventSink for RelayWriter {
    fn event(&mut self, raw: &RawEvent<'_>, brought: &Brought) -> Result<(), StreamError> {
        Ok(self.take(raw, brought)?)
    }
}
