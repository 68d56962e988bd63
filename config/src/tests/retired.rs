//! Settings that no longer exist.

use super::{File, with_backend};

#[test]
fn a_retired_setting_gives_a_warning_with_an_alternative() {
    let file = File::new(&with_backend(
        "[query_log]\nbytes_max = \"64KiB\"\n[profiling]\nfiles_max = 2\n",
    ));
    let folder = format!("{}/", file.folder.path().display());
    let loaded = file.load().unwrap();
    let warnings: Vec<_> = loaded.warnings.iter().map(ToString::to_string).collect();
    let gone = "is not read any more; hint: files grow until logrotate or the like moves them and sends SIGUSR1";
    assert_eq!(
        warnings,
        [
            format!("{folder}pilotfish.toml:2:1: query_log.bytes_max: {gone}"),
            format!("{folder}pilotfish.toml:4:1: profiling.files_max: {gone}"),
        ]
    );
}
