//! Replaces a file as a whole: a reader sees the old text or the new one.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::Path;

/// Replaces the text of a file, and keeps its mode and owner. If the path is a link, the file that it leads to is
/// replaced.
///
/// # Errors
/// The system's error; then the file is unchanged.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let before = fs::metadata(&path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    // Until the new file has replaced the old one, no other user may read it.
    let mut new = tempfile::Builder::new()
        .prefix(".pilotfish-")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)?;
    new.write_all(text.as_bytes())?;
    let made = new.as_file().metadata()?;
    if (made.uid(), made.gid()) != (before.uid(), before.gid()) {
        fchown(new.as_file(), Some(before.uid()), Some(before.gid()))?;
    }
    new.as_file().set_permissions(before.permissions())?;
    new.as_file().sync_all()?;
    new.persist(&path).map_err(|failed| failed.error)?;
    // The file is replaced; this makes the folder's entry survive a power failure.
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_keeps_its_mode_and_a_link_its_target() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn the_file_stays_if_it_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        assert!(replace(&folder.path().join("nothing"), "new").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
