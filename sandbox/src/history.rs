//! The history of the sandbox's schemas: the proxy follows the primary, and a file has the settings for
//! `pilotfish schema`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use config::{Config, ReplicationConfig, Secret};

use super::messages::print_error;
use super::replication::HISTORY_PASSWORD;

/// No server of the sandbox has this id.
const SERVER_ID: u32 = 4242;

/// The file with the settings.
pub fn settings_file(folder: &Path) -> PathBuf {
    folder.join("pilotfish.toml")
}

/// Has the proxy keep the history in a folder, and writes the settings there.
pub fn keep(config: &mut Config, folder: &Path) {
    config.schema_history.file = Some(folder.join("schemas.db"));
    config.replications.push(ReplicationConfig {
        name: "main".to_owned(),
        user: "history".to_owned(),
        password: Some(Secret::new(HISTORY_PASSWORD)),
        server_id: SERVER_ID,
        ..ReplicationConfig::default()
    });
    let file = settings_file(folder);
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(&file);
    let settings = config::manual::differences(config);
    let written = opened.and_then(|mut it| it.write_all(settings.as_bytes()));
    if let Err(error) = written {
        print_error(format_args!(
            "the settings cannot be written to {}: {error}",
            file.display()
        ));
    }
}
