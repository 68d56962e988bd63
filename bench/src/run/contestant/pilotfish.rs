//! Pilotfish, transparent, with one worker, with two, and with TLS to the backend: the binary that PILOTFISH_BIN names, or the release build beside this one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::names::{PILOTFISH, PILOTFISH_2_WORKERS, PILOTFISH_TLS};
use super::{Contestant, Place};
use crate::run::process::version_line;

pub struct Pilotfish {
    program: PathBuf,
    name: &'static str,
    workers: usize,
    backend_tls: &'static str,
}

pub fn found() -> impl Iterator<Item = Pilotfish> {
    let all = [
        (PILOTFISH, 1, "off"),
        (PILOTFISH_2_WORKERS, 2, "off"),
        (PILOTFISH_TLS, 1, "required"),
    ];
    all.into_iter().filter_map(|(name, workers, backend_tls)| {
        Some(Pilotfish {
            program: program()?,
            name,
            workers,
            backend_tls,
        })
    })
}

/// Where the program is.
pub fn program() -> Option<PathBuf> {
    let named = std::env::var_os("PILOTFISH_BIN").map(PathBuf::from);
    let beside = || Some(std::env::current_exe().ok()?.with_file_name("pilotfish"));
    named.or_else(beside).filter(|program| program.exists())
}

/// It with a pool: so many workers, what is set of routing and of the pool, and what stands behind that.
pub fn pooled(
    program: &Path,
    place: &Place<'_>,
    workers: usize,
    (routing, pool): (&str, &str),
    rest: &str,
) -> io::Result<Command> {
    let each = |address| format!("[[backend]]\naddress = \"{address}\"\n");
    let backends: String = place.backends.iter().map(each).collect();
    // Opening the pool's connections must not be what is measured.
    let text = format!(
        "listen = [\"{}\"]\nworkers = {workers}\n{backends}\
         [routing]\n{routing}\n[pool]\nopens_per_second = 1000\n{pool}\n\
         [[account]]\nuser = \"bench\"\n{rest}",
        place.listen,
    );
    let file = place.folder.join("pilotfish.toml");
    fs::write(&file, text)?;
    let mut command = Command::new(program);
    command.arg("--config").arg(file);
    Ok(command)
}

impl Contestant for Pilotfish {
    fn name(&self) -> &str {
        self.name
    }

    /// With the path that PILOTFISH_BIN names: it says how the program was built.
    fn version(&self) -> String {
        let version = version_line(Command::new(&self.program).arg("--version"));
        match std::env::var("PILOTFISH_BIN") {
            Ok(path) => format!("{version}, {path}"),
            Err(_) => version,
        }
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let mut command = Command::new(&self.program);
        command.arg("--workers").arg(self.workers.to_string());
        command.arg("--listen").arg(place.listen.to_string());
        command.arg("--backend-tls-mode").arg(self.backend_tls);
        for backend in place.backends {
            command.arg("--backend").arg(backend.to_string());
        }
        Ok(command)
    }
}
