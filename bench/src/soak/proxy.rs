//! The proxy of a soak: all settings have their defaults, and it answers the logins of one account.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::contestant::{Contestant, Place, pilotfish};
use crate::run::process::version_line;

/// The program.
pub struct PooledByDefault(PathBuf);

impl PooledByDefault {
    /// # Errors
    /// The program is not there.
    pub fn found() -> Result<Self> {
        let program = pilotfish::program().context(
            "there is no release build of pilotfish beside this program; PILOTFISH_BIN may name another",
        )?;
        Ok(Self(program))
    }
}

impl Contestant for PooledByDefault {
    fn name(&self) -> &str {
        "pilotfish"
    }

    fn version(&self) -> String {
        version_line(Command::new(&self.0).arg("--version"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let mut text = format!("listen = [\"{}\"]\n", place.listen);
        for address in place.backends {
            // Writing to a string cannot fail.
            let _ = write!(text, "[[backend]]\naddress = \"{address}\"\n");
        }
        text.push_str("[[account]]\nuser = \"bench\"\n");
        let file = place.folder.join("pilotfish.toml");
        fs::write(&file, text)?;
        let mut command = Command::new(&self.0);
        command.arg("--config").arg(file);
        Ok(command)
    }
}
