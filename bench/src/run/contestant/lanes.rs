//! Pilotfish with shared lanes, with one worker and with two. The pool is as large as it is unless told
//! otherwise.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use super::names::{LANES, LANES_2_WORKERS};
use super::{Contestant, Place, pilotfish};
use crate::run::process::version_line;

pub struct Lanes {
    program: PathBuf,
    name: &'static str,
    workers: usize,
}

pub fn found() -> impl Iterator<Item = Lanes> {
    let both = [(LANES, 1), (LANES_2_WORKERS, 2)];
    both.into_iter().filter_map(|(name, workers)| {
        Some(Lanes {
            program: pilotfish::program()?,
            name,
            workers,
        })
    })
}

impl Contestant for Lanes {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> String {
        version_line(Command::new(&self.program).arg("--version"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        pilotfish::pooled(
            &self.program,
            place,
            self.workers,
            ("lanes = \"reads\"", ""),
            "",
        )
    }
}
