//! The files of the proxy's SQLite databases: how they are created, and the URIs by which SQLite opens them
//! (<https://sqlite.org/uri.html>). The crate does not open a database.
//!
//! ```text
//!   history      ──┐               ┌── create: a file that only its owner can read
//!                  ├── sqlite_file ┼── uri: file:/var/lib/pilotfish/history.db
//!   replication  ──┘               └── memory_uri: file:/pilotfish-history-0?vfs=memdb
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Creates an empty file that only its owner can read. A file that is already there is left as it is.
///
/// # Errors
/// The kernel's: the file can neither be created nor opened for writing.
pub fn create(file: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).open(file)?;
    Ok(())
}

/// The URI of a file.
pub fn uri(file: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in file.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The URI of a new database in memory, which all connections of this process share.
pub fn memory_uri(name: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("file:/pilotfish-{name}-{number}?vfs=memdb")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_the_owner_can_read_a_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.db");
        create(&file).unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_exists_keeps_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.db");
        std::fs::write(&file, "content").unwrap();
        create(&file).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"content");
    }

    #[test]
    fn a_uri_escapes_characters_that_have_a_meaning_in_uris() {
        let file = Path::new("/var/lib/pilot fish/a?b#c%.db");
        assert_eq!(uri(file), "file:/var/lib/pilot%20fish/a%3Fb%23c%25.db");
    }

    #[test]
    fn two_databases_in_memory_have_different_uris() {
        let uris = [memory_uri("history"), memory_uri("history")];
        assert_ne!(uris[0], uris[1]);
        assert!(uris[0].starts_with("file:/pilotfish-history-"), "{uris:?}");
    }
}
