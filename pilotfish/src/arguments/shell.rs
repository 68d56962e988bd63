//! The arguments of `completions` and `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Prints completions of the command line for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  pilotfish completions bash > /usr/share/bash-completion/completions/pilotfish")]
pub struct CompletionsArguments {
    /// bash, zsh or fish
    #[arg(value_name = "SHELL", value_parser = shell)]
    pub shell: Shell,
}

/// Writes the manual's pages for man(1), one for each command
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  pilotfish man /usr/share/man/man1")]
pub struct ManArguments {
    /// Folder for them, which must be there
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

fn shell(text: &str) -> Result<Shell, String> {
    match text {
        "bash" => Ok(Shell::Bash),
        "zsh" => Ok(Shell::Zsh),
        "fish" => Ok(Shell::Fish),
        _ => Err("must be bash, zsh or fish".to_owned()),
    }
}
