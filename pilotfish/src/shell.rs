//! `pilotfish completions` and `pilotfish man`: derived from the definition of the command line.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use crate::arguments::{CompletionsArguments, ManArguments, command_line};

/// Prints the completions.
pub fn completions(arguments: &CompletionsArguments) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command_line(), "pilotfish", &mut text);
    match std::io::stdout().write_all(&text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Writes a page for the program and one for each command.
pub fn man(arguments: &ManArguments) -> ExitCode {
    let root = command_line();
    let pages = root.get_subcommands().map(|it| {
        let name = format!("pilotfish-{}", it.get_name());
        // clap keeps the names of commands as long as the program runs.
        let name: &'static str = name.leak();
        it.clone().name(name)
    });
    let program = clap::Command::new("pilotfish")
        .about("a proxy for MySQL and MariaDB")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .args(root.get_arguments().filter(|it| matches!(it.get_id().as_str(), "config" | "check" | "defaults-file")))
        .after_help(
            "Every setting is an option as well: limits.sessions_max is --limits-sessions-max. \
             pilotfish --help lists all of them. Exit codes: 0 ended as asked, 1 could not start or failed, \
             2 the arguments are wrong.",
        )
        .subcommands(root.get_subcommands().cloned());
    let mut pages: Vec<clap::Command> = pages.collect();
    pages.push(program);
    for page in pages {
        if let Err(error) = write(page, &arguments.folder) {
            let _ = writeln!(
                std::io::stderr(),
                "pilotfish: {}: {error}",
                arguments.folder.display()
            );
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn write(page: clap::Command, folder: &Path) -> std::io::Result<()> {
    let path = folder.join(format!("{}.1", page.get_name()));
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    std::fs::write(path, text)
}
