//! Questions on the terminal.

use std::io::{IsTerminal as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

/// Asks for a text; an empty answer means the default. `flag` is the option that gives the text without a terminal.
///
/// # Errors
/// There is no terminal.
pub fn ask(question: &str, default: &str, flag: &str) -> Result<String, String> {
    need_terminal(question, flag)?;
    let line = read(&format!("{question} [{default}]: "))?;
    Ok(if line.is_empty() {
        default.to_owned()
    } else {
        line
    })
}

/// Asks for a password, which is not shown.
///
/// # Errors
/// There is no terminal.
pub fn ask_secretly(question: &str, flag: &str) -> Result<config::Secret, String> {
    need_terminal(question, flag)?;
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin).map_err(|error| error.to_string())?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Flush, &silent).map_err(|error| error.to_string())?;
    let line = read(&format!("{question}: "));
    // Restores the terminal, also if reading failed.
    let restored = tcsetattr(&stdin, OptionalActions::Now, &before);
    let _ = writeln!(std::io::stderr());
    restored.map_err(|error| error.to_string())?;
    line.map(config::Secret::new)
}

fn need_terminal(question: &str, flag: &str) -> Result<(), String> {
    match std::io::stdin().is_terminal() {
        true => Ok(()),
        false => Err(format!(
            "{question}: there is no terminal to ask on, so give {flag}"
        )),
    }
}

fn read(prompt: &str) -> Result<String, String> {
    let mut err = std::io::stderr().lock();
    let written = err.write_all(prompt.as_bytes()).and_then(|()| err.flush());
    written.map_err(|error| error.to_string())?;
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(0) => Err("the input has ended".to_owned()),
        Ok(_) => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
