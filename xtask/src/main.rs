//! The house's chores: pages made from the source, and rules that are tests.

mod errors;
mod floors;
mod licences;
mod limits;
mod mutations;
mod ratchet;
mod settings;
mod tests;
#[cfg(test)]
mod versions;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tests::Suite;

const USAGE: &str = "\
cargo run -p xtask -- floors              each crate knows only lower floors
cargo run -p xtask -- licences            has every dependency a licence that is allowed?
cargo run -p xtask -- licences --write F  writes the list of components and the licences' texts into a folder
cargo run -p xtask -- limits              does the code's structure keep its limits?
cargo run -p xtask -- limits --list TEXT  all that exceeds a limit, of the limits whose name contains TEXT
cargo run -p xtask -- words               are the texts in plain English?
cargo run -p xtask -- words PAGE          the sentences of a page that are not
cargo run -p xtask -- words --write       writes down figures that have fallen
cargo run -p xtask -- modules CRATE       which modules of a crate refer to which, circles together
cargo run -p xtask -- settings            writes the manual's page of settings
cargo run -p xtask -- settings --check    is that page what it would write?
cargo run -p xtask -- errors              writes the manual's table of errors
cargo run -p xtask -- errors --check      is that table what it would write?
cargo run -p xtask -- mutations           does the simulation find faults that are put into the proxy?
cargo run -p xtask -- mutations TEXT      only faults whose name contains TEXT
cargo run -p xtask -- tests fast          tests that need no server
cargo run -p xtask -- tests change        everything that must hold for each change
cargo run -p xtask -- tests nightly       the same in full
cargo run -p xtask -- binary e2e          builds the tests, prints the file of the end-to-end tests
cargo run -p xtask -- flaky PATTERN N     repeats tests beside a load: how often does each one fail?";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["floors"] => floors::check(&root()),
        ["licences"] => licences::check(&root()),
        ["licences", "--write", folder] => licences::write(&root(), folder),
        ["limits"] => limits::check(&root()),
        ["limits", "--list", measure] => limits::list(&root(), measure),
        ["words"] => words::check(&root()),
        ["words", "--write"] => words::write(&root()),
        ["words", page] => words::list(&root(), page),
        ["modules", name] => limits::references(&root(), name),
        ["settings"] => settings::write(&root()),
        ["settings", "--check"] => settings::check(&root()),
        ["errors"] => errors::write(&root()),
        ["errors", "--check"] => errors::check(&root()),
        ["mutations"] => mutations::run(&root(), ""),
        ["mutations", part] => mutations::run(&root(), part),
        ["tests", "fast"] => tests::run(&root(), Suite::Fast),
        ["tests", "change"] => tests::run(&root(), Suite::Change),
        ["tests", "nightly"] => tests::run(&root(), Suite::Nightly),
        ["binary", target] => tests::path(&root(), target),
        ["flaky", pattern, times] => match times.parse() {
            Ok(times) => tests::repeat(&root(), pattern, times),
            Err(_) => Err(vec![USAGE.to_owned()]),
        },
        _ => Err(vec![USAGE.to_owned()]),
    };
    match done {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(faults) => {
            eprintln!("{}", faults.join("\n"));
            ExitCode::FAILURE
        }
    }
}

/// How a chore ended: a sentence, or what is wrong, a line each.
type Outcome = Result<String, Vec<String>>;

/// The repository's folder.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// A file's text, or the line that says why there is none.
fn read(path: &Path) -> Result<String, Vec<String>> {
    std::fs::read_to_string(path).map_err(|error| vec![format!("{}: {error}", path.display())])
}
