//! Pilotfish with one worker, or two, that answers logins itself and lends backend connections for a
//! statement.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use super::names::{ISOLATED, POOLED, RULED, SCRIPTED};
use super::{Contestant, Place, pilotfish};
use crate::run::process::version_line;

/// By the places of [`POOLED`]: as many connections to the backend as there may be at once.
const BACKEND_CONNECTIONS: [usize; 2] = [8, 32];

/// By the places of [`RULED`]: rules, in front of the first of these.
const RULES: [usize; 3] = [10, 100, 1000];

/// By the places of [`SCRIPTED`].
const SCRIPTS: [&str; 3] = [
    "function read_query(packet) end",
    "local tokenizer = require('mysql.tokenizer')\n\
     function read_query(packet) local tokens = tokenizer.tokenize(packet:sub(2)) end",
    "function read_query(packet)\n\
     proxy.queries:append(1, packet)\n\
     return proxy.PROXY_SEND_QUERY\n\
     end",
];

pub struct Pooled {
    program: PathBuf,
    name: &'static str,
    backend_connections: usize,
    workers: usize,
    more: More,
}

/// What stands in a statement's way.
#[derive(Clone, Copy)]
enum More {
    Rules(usize),
    Script(&'static str),
    /// With an interpreter for each worker.
    Isolated(&'static str),
}

pub fn found() -> impl Iterator<Item = Pooled> {
    let program = pilotfish::program();
    let plain = POOLED.into_iter().zip(BACKEND_CONNECTIONS);
    let plain = plain.map(|(name, most)| (name, most, More::Rules(0)));
    let ruled = RULED.into_iter().zip(RULES.map(More::Rules));
    let scripted = SCRIPTED.into_iter().zip(SCRIPTS.map(More::Script));
    let more = ruled.chain(scripted);
    let more = more.map(|(name, more)| (name, BACKEND_CONNECTIONS[0], more));
    let single = plain.chain(more).map(|it| (it, 1));
    let isolated = ISOLATED.into_iter().zip([1, 2]);
    let isolated = isolated.map(|(name, workers)| {
        let tokens = More::Isolated(SCRIPTS[1]);
        ((name, BACKEND_CONNECTIONS[0], tokens), workers)
    });
    let all = single.chain(isolated);
    all.filter_map(move |((name, backend_connections, more), workers)| {
        Some(Pooled {
            program: program.clone()?,
            name,
            backend_connections,
            workers,
            more,
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
        let pool = format!("backend_connections_max = {connections}");
        let (script, more) = match self.more {
            More::Rules(count) => (String::new(), rules(count)),
            More::Script(text) => script(place, text, "shared")?,
            More::Isolated(text) => script(place, text, "worker")?,
        };
        let routing = format!("lanes = \"off\"\n{script}");
        pilotfish::pooled(&self.program, place, self.workers, (&routing, &pool), &more)
    }
}

/// The settings of a script, which is written down: what is said of routing, and what stands behind it.
fn script(place: &Place<'_>, text: &str, isolation: &str) -> io::Result<(String, String)> {
    let file = place.folder.join("script.lua");
    fs::write(&file, text)?;
    let file = file.display();
    Ok((
        format!("script = \"{file}\""),
        format!("[script]\nisolation = \"{isolation}\"\n"),
    ))
}
