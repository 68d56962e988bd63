//! Pilotfish with sessions that the kernel joins, with one worker. It takes part if this process has the privileges that it
//! needs.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use super::names::KERNEL;
use super::{Contestant, Place, pilotfish};
use crate::run::process::version_line;

/// CAP_NET_ADMIN and CAP_BPF.
const PRIVILEGES: u64 = 1 << 12 | 1 << 39;

pub struct Kernel {
    program: PathBuf,
}

pub fn found() -> Option<Kernel> {
    let program = pilotfish::program()?;
    has_privileges().then_some(Kernel { program })
}

fn has_privileges() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("CapEff:"));
    let effective = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    effective.is_some_and(|mask| mask & PRIVILEGES == PRIVILEGES)
}

impl Contestant for Kernel {
    fn name(&self) -> &str {
        KERNEL
    }

    fn version(&self) -> String {
        version_line(Command::new(&self.program).arg("--version"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let each = |address| format!("[[backend]]\naddress = \"{address}\"\n");
        let backends: String = place.backends.iter().map(each).collect();
        let text = format!(
            "listen = []\nworkers = 1\n{backends}[client_tls]\nmode = \"off\"\n\
             [[listener]]\naddress = \"{}\"\nrouting.session = \"kernel\"\n",
            place.listen,
        );
        let file = place.folder.join("pilotfish.toml");
        fs::write(&file, text)?;
        let mut command = Command::new(&self.program);
        command.arg("--config").arg(file);
        Ok(command)
    }
}
