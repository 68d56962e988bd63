//! Rotates files that have reached their size limit: `PATH` becomes `PATH.000007`, and the oldest files are deleted.

use std::io;
use std::path::{Path, PathBuf};

use crate::changes::sink::position_file::{folder_of, sync_folder, with_suffix};

/// Returns the rotated files with their numbers, oldest first.
pub fn rotated(path: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let Some(name) = path.file_name() else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in folder_of(path).read_dir()? {
        let file = entry?;
        let own = file.file_name();
        let number = own.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
        let number = number.and_then(|it| it.strip_prefix(b"."));
        let number = number.and_then(|it| str::from_utf8(it).ok());
        let number = number.filter(|it| it.len() >= 6 && it.bytes().all(|it| it.is_ascii_digit()));
        if let Some(number) = number.and_then(|it| it.parse().ok()) {
            found.push((number, file.path()));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Renames the file, and deletes the oldest rotated files, so that `files_max` remain.
pub fn rotate(path: &Path, files_max: usize) -> io::Result<()> {
    let mut all = rotated(path)?;
    let number = all.last().map_or(1, |(number, _)| number + 1);
    let next = with_suffix(path, &format!("{number:06}"));
    std::fs::rename(path, &next)?;
    all.push((number, next));
    let surplus = all.len().saturating_sub(files_max);
    for (_, file) in all.drain(..surplus) {
        std::fs::remove_file(file)?;
    }
    sync_folder(path)
}
