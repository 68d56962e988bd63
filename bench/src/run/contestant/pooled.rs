//! Pilotfish with one worker that answers logins itself and lends backend connections for a
//! statement.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use super::names::{POOLED, RULED};
use super::{Contestant, Place, pilotfish};
use crate::run::process::version_line;

/// By the places of [`POOLED`]: as many connections to the backend as there may be at once.
const BACKEND_CONNECTIONS: [usize; 2] = [8, 32];

/// By the places of [`RULED`]: rules, in front of the first of these.
const RULES: [usize; 3] = [10, 100, 1000];

pub struct Pooled {
    program: PathBuf,
    name: &'static str,
    backend_connections: usize,
    rules: usize,
}

pub fn found() -> impl Iterator<Item = Pooled> {
    let program = pilotfish::program();
    let plain = POOLED.into_iter().zip(BACKEND_CONNECTIONS);
    let plain = plain.map(|(name, most)| (name, most, 0));
    let ruled = RULED.into_iter().zip(RULES);
    let ruled = ruled.map(|(name, rules)| (name, BACKEND_CONNECTIONS[0], rules));
    let all = plain.chain(ruled);
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
        self.name
    }

    fn version(&self) -> String {
        version_line(Command::new(&self.program).arg("--version"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let connections = self.backend_connections;
        let pool = format!("backend_connections_max = {connections}\nlanes = \"off\"");
        pilotfish::pooled(&self.program, place, 1, &pool, &rules(self.rules))
    }
}
