//! Writes new files for commands. The files hold passwords, so only their owner may read them.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes a file that does not exist yet.
///
/// # Errors
/// The file exists, or cannot be written.
pub fn write(text: &str, path: &Path) -> Result<(), String> {
    let shown = path.display();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let mut file = file.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            format!("{shown} is there already: name a new file with --output")
        }
        _ => format!("cannot write {shown}: {error}"),
    })?;
    file.write_all(text.as_bytes())
        .map_err(|error| format!("cannot write {shown}: {error}"))
}

/// A random password: 24 letters and digits, and the characters that password rules of servers require.
///
/// # Errors
/// The system's error.
pub fn random_password() -> std::io::Result<String> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bytes = [0; 24];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let letters = bytes
        .iter()
        .map(|it| char::from(LETTERS[usize::from(it % 64)]));
    Ok(letters.chain("-aA7".chars()).collect())
}
