//! The filter between a stream and its relay files: changes that replicas do not get, and tables that they get in
//! another form.
//!
//! ```text
//!   event ──► Filter ──► FilteredTransaction: policy, statement, columns ──► Spool ──► at its end ──► RelayWriter
//!                        what passes, under which name, with which values; script: what a script makes of it
//! ```
//!
//! A transaction whose changes are all dropped stays, empty, under its GTID, so that replicas have no gaps. The GTID
//! event of MySQL states how long the transaction is. So a transaction is gathered, in memory or in a file without a
//! name, until its end is there.

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

/// See the module. It is for one connection to a server.
pub struct Filter {
    policy: Policy,
    decoder: Decoder,
    /// Where long transactions are gathered.
    folder: PathBuf,
    transaction: Option<FilteredTransaction>,
}

impl Filter {
    /// A filter for the events of servers of a family, which have a checksum or none. None if nothing is to be filtered,
    /// and the transactions of MySQL are as long in the relay files as on the server.
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

    /// Takes the next event of the stream, and what it has brought. Whole transactions go on; gives how much of them was
    /// filtered.
    ///
    /// # Errors
    /// The event is damaged, cannot be filtered, or the sink cannot take it.
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
            // What replicas get of these is the relay's affair.
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
