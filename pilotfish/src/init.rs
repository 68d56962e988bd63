//! `pilotfish init`: asks a server for its kind and for the servers that replicate with it, creates the monitor
//! account, writes a commented file, checks the file, and reports the findings and the next steps.

mod file;
mod findings;
mod monitor;
mod terminal;

use std::io::Write as _;
use std::process::ExitCode;

use config::Config;

use crate::admin_client::{AdminAddress, PortKind, secret};
use crate::arguments::InitArguments;
use crate::new_file;
use crate::rules;

use findings::Findings;

/// Writes the file; the exit code is 1 if it was not written.
pub fn init(arguments: &InitArguments) -> ExitCode {
    match set_up(arguments) {
        Ok(report) => {
            // If standard output is closed, the error cannot be reported.
            let _ = std::io::stdout().write_all(report.as_bytes());
            ExitCode::SUCCESS
        }
        Err(fault) => {
            let _ = writeln!(std::io::stderr(), "pilotfish: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn set_up(arguments: &InitArguments) -> Result<String, String> {
    if arguments.output.exists() {
        let shown = arguments.output.display();
        return Err(format!(
            "{shown} is there already: name a new file with --output"
        ));
    }
    let address = address(arguments)?;
    let findings = Findings::of(&address)?;
    let monitor = monitor::account(arguments, &findings)?;
    let admin_password = new_file::random_password().map_err(|error| error.to_string())?;
    let toml = file::toml(arguments, &findings, &monitor, &admin_password);
    let checked = Config::load_text(None, &toml, &[], rules::faults).and_then(rules::checked);
    checked.map_err(|faults| {
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        format!(
            "what was found does not pass a check: {}",
            faults.join("; ")
        )
    })?;
    new_file::write(&toml, &arguments.output)?;
    Ok(file::report(arguments, &findings, &monitor))
}

/// The server's address and account: from the flags, else from the terminal.
fn address(arguments: &InitArguments) -> Result<AdminAddress, String> {
    let server = match &arguments.server {
        Some(server) => server.clone(),
        None => terminal::ask(
            "Address of a server",
            "127.0.0.1:3306",
            "HOST:PORT behind init",
        )?,
    };
    let user = match &arguments.user {
        Some(user) => user.clone(),
        None => terminal::ask("Account that may look at it", "root", "--user NAME")?,
    };
    let password = match &arguments.password {
        Some(text) => secret(text)?,
        None => terminal::ask_secretly(&format!("Password of {user}"), "--password file:PATH")?,
    };
    AdminAddress::parse(&server, PortKind::Server, user, password, false)
}
