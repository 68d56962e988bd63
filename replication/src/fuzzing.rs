//! What fuzzing calls: events of any bytes through a filter, and through the change feed.

use std::path::PathBuf;

use binlog::{Checksum, Decoder, Event, EventHeader, EventType, Limits, Query, RawEvent};
use config::{ReplicationFilterConfig, ScriptConfig};
use route::Family;
use route::rules::Tables;
use system::Clock;

use crate::changes::{ChangeError, ChangeRecord, Output, Translation};
use crate::error::StreamError;
use crate::filter::{EventSink, Filter};
use crate::follow::{Brought, Follower, Statements};
use crate::position::Position;

/// Events through a filter, as far as they are a stream. Each event that passes is given to `passed`, decoded.
///
/// # Panics
/// The filter has let something pass that is no event, or no whole transaction.
pub fn filter(
    events: &[Vec<u8>],
    family: Family,
    settings: &[ReplicationFilterConfig],
    clock: &Clock,
    limits: Limits,
    passed: &mut dyn FnMut(&Event<'_>),
) {
    let made = Filter::new(
        settings,
        &ScriptConfig::default(),
        clock,
        (family, Checksum::None),
        limits,
        PathBuf::from("/tmp"),
    );
    let Ok(Some(mut filter)) = made else { return };
    let mut follower = Follower::new(limits);
    let nothing = Position::empty(family);
    let mut sink = Checking {
        decoder: Decoder::new(limits),
        is_within: false,
        passed,
    };
    for bytes in events {
        let checksum = match bytes.get(4) {
            Some(&it) if it == EventType::FORMAT_DESCRIPTION.0 => Checksum::Crc32,
            _ => Checksum::None,
        };
        let Ok(raw) = RawEvent::parse(bytes, checksum) else {
            return;
        };
        let Ok(brought) = follower.take(&raw, &nothing, &mut NoStatements) else {
            return;
        };
        if filter.take(&raw, &brought, &mut sink).is_err() {
            return;
        }
        assert!(!sink.is_within, "half of a transaction has passed");
    }
}

/// Events through the change feed, each change as JSON to `output`.
pub fn translate(
    events: &[Vec<u8>],
    family: Family,
    limits: Limits,
    clock: &Clock,
    output: &mut dyn FnMut(&str),
) {
    let Ok(mut translation) = Translation::new(family, Tables::new(&[]), limits, clock.clone())
    else {
        return;
    };
    let mut out = TextOutput(output);
    for bytes in events {
        let checksum = match bytes.get(4) {
            Some(&it) if it == EventType::FORMAT_DESCRIPTION.0 => Checksum::Crc32,
            _ => Checksum::None,
        };
        let Ok(raw) = RawEvent::parse(bytes, checksum) else {
            return;
        };
        if translation.take(&raw, &mut out).is_err() {
            return;
        }
    }
}

struct NoStatements;

impl Statements for NoStatements {
    fn statement(&mut self, _: &EventHeader, _: &Query<'_>) {}
}

struct Checking<'a> {
    decoder: Decoder,
    is_within: bool,
    passed: &'a mut dyn FnMut(&Event<'_>),
}

impl EventSink for Checking<'_> {
    fn event(&mut self, raw: &RawEvent<'_>, brought: &Brought) -> Result<(), StreamError> {
        match brought {
            Brought::Begin(_) => self.is_within = true,
            Brought::Transaction(_) => self.is_within = false,
            Brought::Nothing | Brought::Idle => {}
        }
        let decoded = self.decoder.decode(raw);
        assert!(decoded.is_ok(), "{}: {decoded:?}", raw.header().event_type);
        if let Ok(event) = decoded {
            (self.passed)(&event);
        }
        Ok(())
    }
}

struct TextOutput<'a>(&'a mut dyn FnMut(&str));

impl Output for TextOutput<'_> {
    fn change(&mut self, change: &ChangeRecord<'_>) -> Result<(), ChangeError> {
        (self.0)(change.json);
        Ok(())
    }

    fn end_of_transaction(&mut self, _: &str) -> Result<(), ChangeError> {
        Ok(())
    }

    fn is_closed(&self) -> bool {
        true
    }
}
