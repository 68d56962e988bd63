//! Pilotfish with one worker that answers logins itself and lends backend connections for a
//! statement.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use super::{Contestant, Place, pilotfish};
use crate::run::process::version_line;

/// As many connections to the backend as there may be at once.
const BACKEND_CONNECTIONS: [usize; 2] = [8, 32];

/// Rules, in front of the first of these.
const RULES: [usize; 3] = [10, 100, 1000];

pub struct Pooled {
    program: PathBuf,
    name: String,
    backend_connections: usize,
    rules: usize,
}

pub fn found() -> impl Iterator<Item = Pooled> {
    let program = pilotfish::program();
    let plain = BACKEND_CONNECTIONS.map(|most| (super::pooled_name(most), most, 0));
    let ruled = RULES.map(|rules| (super::ruled_name(rules), BACKEND_CONNECTIONS[0], rules));
    let all = plain.into_iter().chain(ruled);
    all.filter_map(move |(name, backend_connections, rules)| {
        Some(Pooled {
            program: program.clone()?,
            name,
            backend_connections,
            rules,
        })
    })
}

/// So many rules about statements that nobody sends: nine of ten by their digest, the others by an
/// expression.
fn rules(count: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let condition = match number % 10 {
            9 => format!("regex = \"from archive_{number} where\""),
            _ => format!("digest = \"SELECT c FROM other_{number} WHERE id = 1\""),
        };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "[[rule]]\nname = \"{number}\"\n{condition}\nrefuse = \"no\"\n"
        );
    }
    text
}

impl Contestant for Pooled {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> String {
        version_line(Command::new(&self.program).arg("--version"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let file = place.folder.join("pilotfish.toml");
        // The limit of sessions that wait must not be what is measured.
        let text = format!(
            "listen = [\"{}\"]\n\
             workers = 1\n\
             [[backend]]\n\
             address = \"{}\"\n\
             [pool]\n\
             session = \"statement\"\n\
             backend_connections_max = {}\n\
             opens_per_second = 1000\n\
             [[account]]\n\
             user = \"bench\"\n\
             {}",
            place.listen,
            place.backend,
            self.backend_connections,
            rules(self.rules),
        );
        fs::write(&file, text)?;
        let mut command = Command::new(&self.program);
        command.arg("--config").arg(file);
        Ok(command)
    }
}
