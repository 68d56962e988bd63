//! `pilotfish binlog`: the events of binary log files, or of a server that runs, for people and for programs.

mod live;
mod printer;
mod selection;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write as _};
use std::path::Path;
use std::process::ExitCode;

use config::mysql_proxy::Replicant;

use binlog::{Checksum, Decoder, Event, EventError, EventReader, Limits, RawEvent};

use crate::arguments::{BinlogArguments, ServeArguments};
use printer::{Form, Printer, Site};
use selection::Selection;

/// How much of a file is read at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Why printing ends before the end.
enum Stop {
    /// The reader of the output has gone.
    Closed,
    /// A file cannot be read on.
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

/// Prints the statements that change objects, as MySQL Proxy's replication client did.
pub fn replicant(arguments: &ServeArguments, replicant: &Replicant) -> ExitCode {
    let all = BinlogArguments {
        files: replicant.binlogs.iter().cloned().collect(),
        ddl: true,
        ..BinlogArguments::default()
    };
    print_to_output(&all, |printer| match replicant.binlogs {
        Some(_) => print_files(&all, printer),
        None => live::follow_source(&all, (arguments, replicant), printer),
    })
}

/// Prints the events; the exit code is 1 if a file cannot be read to its end.
pub fn binlog(arguments: &BinlogArguments) -> ExitCode {
    print_to_output(arguments, |printer| match &arguments.config {
        Some(config) => live::follow(arguments, config, printer),
        None => print_files(arguments, printer),
    })
}

fn print_to_output(
    arguments: &BinlogArguments,
    print: impl FnOnce(&mut Printer<StandardOutput>) -> Result<(), Stop>,
) -> ExitCode {
    let form = match (arguments.json, arguments.ddl) {
        (true, _) => Form::Json,
        (false, true) => Form::Article,
        (false, false) => Form::Text,
    };
    let mut printer = Printer::new(BufWriter::new(io::stdout().lock()), form);
    let printed = print(&mut printer);
    let printed = printed.and_then(|()| Ok(printer.out.flush()?));
    match printed {
        Ok(()) | Err(Stop::Closed) => ExitCode::SUCCESS,
        Err(Stop::Fault(fault)) => {
            // The events before the fault are printed before the message.
            let _ = printer.out.flush();
            eprintln!("pilotfish: {fault}");
            ExitCode::FAILURE
        }
    }
}

type StandardOutput = BufWriter<io::StdoutLock<'static>>;

fn print_files(
    arguments: &BinlogArguments,
    printer: &mut Printer<StandardOutput>,
) -> Result<(), Stop> {
    let last = arguments.files.len() - 1;
    for (index, path) in arguments.files.iter().enumerate() {
        let start = if index == 0 {
            arguments.start_position
        } else {
            0
        };
        let stop = arguments.stop_position.filter(|_| index == last);
        let mut walk = Walk {
            name: path.display().to_string(),
            range: start..stop.unwrap_or(u64::MAX),
            decoder: Decoder::new(Limits::default()),
            selection: Selection::of(arguments),
            printer,
        };
        walk.file(path)?;
    }
    Ok(())
}

/// One file's way to the output, or one server's.
struct Walk<'p> {
    name: String,
    /// The positions of the events that are printed.
    range: std::ops::Range<u64>,
    decoder: Decoder,
    selection: Selection<'p>,
    printer: &'p mut Printer<StandardOutput>,
}

impl Walk<'_> {
    fn file(&mut self, path: &Path) -> Result<(), Stop> {
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

    fn event(&mut self, position: u64, raw: &RawEvent<'_>) -> Result<(), Stop> {
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

    fn show(&mut self, position: u64, raw: &RawEvent<'_>, event: &Event<'_>) -> Result<(), Stop> {
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

    fn fault(&self, error: &dyn std::fmt::Display) -> Stop {
        Stop::Fault(format!("{}: {error}", self.name))
    }

    fn fault_at(&self, position: u64, error: EventError) -> Stop {
        Stop::Fault(format!("{}: at position {position}: {error}", self.name))
    }
}
