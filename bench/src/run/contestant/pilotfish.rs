//! Pilotfish with one worker: the binary that PILOTFISH_BIN names, or the release build beside this one.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use super::{Contestant, PILOTFISH, Place};
use crate::run::process::version_line;

pub struct Pilotfish {
    program: PathBuf,
}

pub fn found() -> Option<Pilotfish> {
    program().map(|program| Pilotfish { program })
}

/// Where the program is.
pub fn program() -> Option<PathBuf> {
    let named = std::env::var_os("PILOTFISH_BIN").map(PathBuf::from);
    let beside = || Some(std::env::current_exe().ok()?.with_file_name("pilotfish"));
    named.or_else(beside).filter(|program| program.exists())
}

impl Contestant for Pilotfish {
    fn name(&self) -> &str {
        PILOTFISH
    }

    fn version(&self) -> String {
        version_line(Command::new(&self.program).arg("--version"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let mut command = Command::new(&self.program);
        command.args(["--workers", "1"]);
        command.arg("--listen").arg(place.listen.to_string());
        command.arg("--backend").arg(place.backend.to_string());
        Ok(command)
    }
}
