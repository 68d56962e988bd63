//! `pilotfish binlog`: prints the events of binary log files, or of a running server, for people and for programs.

mod live;
mod printer;
mod selection;
mod walk;

use std::io::{self, BufWriter, Write as _};
use std::process::ExitCode;

use config::mysql_proxy::Replicant;

use binlog::{Decoder, Limits};

use crate::arguments::{BinlogArguments, ServeArguments};
use printer::{Form, Printer};
use selection::Selection;
use walk::{StandardOutput, Stop, Walk};

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
