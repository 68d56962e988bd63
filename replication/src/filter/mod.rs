//! The filter between a stream and its relay files. It drops changes that replicas must not get, and changes the
//! form of tables.
//!
//! ```text
//!   event ──► Filter ──► FilteredTransaction: policy, statement, columns ──► Spool ──► at its end ──► RelayWriter
//!                        what passes, under which name, with which values; script: what a script makes of it
//! ```
//!
//! If all changes of a transaction are dropped, an empty transaction with its GTID remains, so that replicas have
//! no gaps. MySQL's GTID event contains the length of the transaction. Therefore a transaction is collected, in
//! memory or in an unnamed file, until it is complete.

mod columns;
pub(crate) mod error;
mod event_sink;
mod filtered;
mod policy;
mod script;
mod spool;
mod statement;
mod transaction;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use binlog::{Checksum, Decoder, Event, Limits, RawEvent};
use config::{ReplicationFilterConfig, ScriptConfig};
use route::Family;
use system::Clock;

use crate::error::StreamError;
use crate::follow::Brought;

pub use error::FilterError;
pub use event_sink::EventSink;
pub use filtered::Filtered;
use policy::Policy;
use transaction::FilteredTransaction;

/// The filter of one connection to a server.
pub struct Filter {
    policy: Policy,
    decoder: Decoder,
    /// The folder of the temporary files for long transactions.
    folder: PathBuf,
    transaction: Option<FilteredTransaction>,
}

impl Filter {
    /// Returns a filter for the events of a family, with or without checksums. None if no filter is configured and
    /// the length of MySQL's transactions does not change (it does if the server's events have no checksums).
    ///
    /// # Errors
    /// The settings do not fit the family.
    pub fn new(
        settings: &[ReplicationFilterConfig],
        script_settings: &ScriptConfig,
        clock: &Clock,
        (family, checksum): (Family, Checksum),
        limits: Limits,
        folder: PathBuf,
    ) -> Result<Option<Self>, FilterError> {
        let is_longer = family == Family::MySql && checksum == Checksum::None;
        if settings.is_empty() && !is_longer {
            return Ok(None);
        }
        Ok(Some(Self {
            policy: Policy::new(settings, script_settings, clock, family)?,
            decoder: Decoder::new(limits),
            folder,
            transaction: None,
        }))
    }

    /// Takes the next event of the stream. When a transaction is complete, sends it to the sink, and returns how
    /// much of it was filtered.
    ///
    /// # Errors
    /// The event is damaged or cannot be filtered, or the sink refuses it.
    pub fn take(
        &mut self,
        raw: &RawEvent<'_>,
        brought: &Brought,
        sink: &mut dyn EventSink,
    ) -> Result<Filtered, StreamError> {
        let event = self.decoder.decode(raw).map_err(FilterError::from)?;
        if let Brought::Begin(gtid) = brought {
            self.policy.load_scripts()?;
            let begun = FilteredTransaction::begin(gtid.clone(), raw, &event, &self.folder);
            self.transaction = Some(begun);
            return Ok(Filtered::default());
        }
        let Some(transaction) = &mut self.transaction else {
            // The event is outside transactions. The relay decides whether replicas get it.
            sink.event(raw, brought)?;
            return Ok(Filtered::default());
        };
        match &event {
            Event::TransactionPayload(payload) => {
                transaction.take_payload(raw, payload, &self.policy, &mut self.decoder)?;
            }
            event => transaction.take(raw, event, &self.policy, &self.decoder)?,
        }
        match (brought, self.transaction.take()) {
            (Brought::Transaction(_), Some(whole)) => whole.finish(&self.decoder, sink),
            (_, transaction) => {
                self.transaction = transaction;
                Ok(Filtered::default())
            }
        }
    }
}
