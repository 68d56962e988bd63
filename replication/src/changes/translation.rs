//! The change feed without relay files, for events from another source.

use binlog::{Limits, RawEvent};
use route::Family;
use route::rules::Tables;
use system::Clock;

use super::error::ChangeError;
use super::event::StreamOrigin;
use super::history::History;
use super::tables::TableCache;
use super::translator::{EventLocation, Output, Translator};
use crate::position::Position;
use crate::store::Store;

/// A translator whose schema history is empty.
pub struct Translation {
    translator: Translator,
    /// Keeps the in-memory history alive.
    _store: Store,
}

impl Translation {
    /// A translator for the events of a stream from its begin, for a reader of these tables.
    ///
    /// # Errors
    /// The history cannot be created.
    pub fn new(
        family: Family,
        wanted: Tables,
        limits: Limits,
        clock: Clock,
    ) -> Result<Self, String> {
        let store = Store::open(None, 1 << 20)?;
        let history = History::open(store.source(), "main", family);
        let history = history.map_err(|error| error.to_string())?;
        let origin = StreamOrigin {
            family,
            cluster: "main".to_owned(),
        };
        let tables = TableCache::new(history, Vec::new());
        let translator = Translator::new(
            origin,
            Position::empty(family),
            wanted,
            (tables, clock),
            limits,
        );
        Ok(Self {
            translator,
            _store: store,
        })
    }

    /// Translates the next event.
    ///
    /// # Errors
    /// The event is damaged, or cannot be translated.
    pub fn take(&mut self, raw: &RawEvent<'_>, out: &mut dyn Output) -> Result<(), ChangeError> {
        self.translator.take(raw, &EventLocation::default(), out)
    }
}
