//! `pilotfish`: read what is to be done, do it, say how it ended.

mod arguments;
mod listening;
mod logging;
mod process;
mod sandbox;
mod serve;
mod snapshot;

use std::process::ExitCode;

use arguments::Command;
use serve::Serving;

fn main() -> ExitCode {
    match Command::parse() {
        Command::Serve(arguments) => serve::serve(&arguments),
        Command::Check(arguments) => arguments::check(&arguments),
        Command::Sandbox(arguments) => sandbox::run(&arguments, |assignment| {
            serve::run(
                assignment.config,
                Serving::until(assignment.ready, assignment.stop),
            )
        }),
    }
}
