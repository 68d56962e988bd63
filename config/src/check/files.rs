//! Faults of files that settings name.

use std::path::Path;

/// Why a file is no PEM file with what it should hold.
pub(super) fn pem_fault(path: &Path, holds: &str) -> Option<String> {
    let shown = path.display();
    match std::fs::read(path) {
        Err(error) => Some(format!("cannot read {shown}: {error}")),
        Ok(bytes) if !String::from_utf8_lossy(&bytes).contains(holds) => {
            let what = match holds {
                _ if holds.contains("PUBLIC KEY") => "public key",
                _ if holds.contains("KEY") => "private key",
                _ => "certificate",
            };
            Some(format!("{shown} holds no {what} in PEM form"))
        }
        Ok(_) => None,
    }
}

/// Why no file can be created at a path.
pub(super) fn folder_fault(path: &Path) -> Option<String> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())?;
    (!folder.is_dir()).then(|| format!("there is no folder {}", folder.display()))
}
