//! Configuration files: the loader accepts a file, or reports faults with their places.

use std::path::PathBuf;
use std::sync::OnceLock;

use config::Config;

/// Input: a configuration file's text.
pub fn config(data: &[u8]) {
    // A setting that names a file (a secret, a key) could name a device, whose read never ends.
    if data.windows(4).any(|text| text == b"/dev") {
        return;
    }
    match load(data) {
        Ok(config) => {
            assert!(config::diff(&config, &config).is_empty());
            let text = config::manual::to_toml(&config);
            let _ = load(text.as_bytes());
        }
        Err(faults) => {
            assert!(!faults.is_empty(), "neither loaded nor faulty");
            let lines = 1 + data.iter().filter(|byte| **byte == b'\n').count();
            for fault in faults {
                assert!(!fault.to_string().is_empty());
                let (line, column) = fault.location.position.unwrap_or((1, 1));
                assert!((1..=lines).contains(&line) && column > 0, "{fault}");
            }
        }
    }
}

fn load(text: &[u8]) -> Result<Config, Vec<config::Fault>> {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let path = PATH.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let folder = if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        };
        folder.join(format!("pilotfish-fuzz-{}.toml", std::process::id()))
    });
    std::fs::write(path, text).expect("the folder is writable");
    let loaded = Config::load(Some(path), &[]);
    let _ = std::fs::remove_file(path);
    loaded.map(|loaded| loaded.config)
}
