//! Passes the events of one log to the output.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read};
use std::path::Path;

use binlog::{Checksum, Decoder, Event, EventError, EventReader, RawEvent};

use super::printer::{Printer, Site};
use super::selection::Selection;

/// The size of the read buffer, in bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// Why printing ends early.
pub(super) enum Stop {
    /// The reader of the output has gone.
    Closed,
    /// A file cannot be read any further.
    Fault(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Fault(format!("the output cannot be written: {error}")),
        }
    }
}

/// The output for events.
pub(super) type StandardOutput = BufWriter<io::StdoutLock<'static>>;

/// Passes the events of one file, or of one server, to the output.
pub(super) struct Walk<'p> {
    pub(super) name: String,
    /// The positions of the events that are printed.
    pub(super) range: std::ops::Range<u64>,
    pub(super) decoder: Decoder,
    pub(super) selection: Selection<'p>,
    pub(super) printer: &'p mut Printer<StandardOutput>,
}

impl Walk<'_> {
    pub(super) fn file(&mut self, path: &Path) -> Result<(), Stop> {
        let source: Box<dyn Read> = if path == Path::new("-") {
            Box::new(io::stdin())
        } else {
            let file = File::open(path);
            Box::new(file.map_err(|error| self.fault(&error))?)
        };
        let source = BufReader::with_capacity(BUFFER_BYTES, source);
        let mut reader = EventReader::new(source, self.decoder.limits());
        loop {
            let next = reader.next_event().map_err(|error| self.fault(&error))?;
            match next {
                Some((position, raw)) if position < self.range.end => self.event(position, &raw)?,
                _ => return Ok(()),
            }
        }
    }

    pub(super) fn event(&mut self, position: u64, raw: &RawEvent<'_>) -> Result<(), Stop> {
        let event = self.decoder.decode(raw);
        let event = event.map_err(|error| self.fault_at(position, error))?;
        self.show(position, raw, &event)?;
        if let Event::TransactionPayload(payload) = &event {
            let events = payload.events(self.decoder.limits());
            let mut events = events.map_err(|error| self.fault_at(position, error))?;
            loop {
                let within = events.next_event();
                let within = within.map_err(|error| self.fault_at(position, error))?;
                let Some(bytes) = within else { break };
                let raw = RawEvent::parse(bytes, Checksum::None);
                let raw = raw.map_err(|error| self.fault_at(position, error))?;
                let event = self.decoder.decode_within(&raw);
                let event = event.map_err(|error| self.fault_at(position, error))?;
                self.show(position, &raw, &event)?;
            }
        }
        Ok(())
    }

    pub(super) fn show(
        &mut self,
        position: u64,
        raw: &RawEvent<'_>,
        event: &Event<'_>,
    ) -> Result<(), Stop> {
        let is_chosen = self.selection.takes(event);
        if !is_chosen || position < self.range.start {
            return Ok(());
        }
        let site = Site {
            file: &self.name,
            position,
            limits: self.decoder.limits(),
        };
        self.printer
            .event(&site, raw.header(), event)?
            .map_err(|error| self.fault_at(position, error))
    }

    pub(super) fn fault(&self, error: &dyn std::fmt::Display) -> Stop {
        Stop::Fault(format!("{}: {error}", self.name))
    }

    pub(super) fn fault_at(&self, position: u64, error: EventError) -> Stop {
        Stop::Fault(format!("{}: at position {position}: {error}", self.name))
    }
}
