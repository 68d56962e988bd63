//! Warnings about secrets that other users of the machine can see: in a file that every user may read, or on the
//! command line.

use std::path::Path;

use super::options::Override;
use super::reading::Reading;
use crate::Fault;
use crate::raw_setting::{Raw, RawSetting, Source};

const IN_OPEN_FILE: &str = "stands in a file that every user of this machine can read";

impl Reading {
    pub(super) fn warn_of_open_secret(&mut self, source: Source<'_>, given: &RawSetting<'_>) {
        let literal =
            matches!(given.raw, Raw::Text(text) if !text.is_empty() && !is_elsewhere(text));
        if literal && is_open(source.path) {
            let fault = given.fault(IN_OPEN_FILE);
            self.warnings
                .push(fault.hint("take that right away, or write \"file:PATH\""));
        }
    }

    /// Warns about the secret of an option, on the command line or in MySQL Proxy's file.
    pub(super) fn warn_of_secret_option(&mut self, given: &Override) {
        let mut words = given.words.iter();
        if !words.any(|word| !word.is_empty() && !is_elsewhere(word)) {
            return;
        }
        let text = match &given.location.file {
            None => "every user of this machine can see it in the list of processes",
            Some(file) if is_open(file) => IN_OPEN_FILE,
            Some(_) => return,
        };
        let fault = Fault::new(given.location.clone(), &given.name, text);
        self.warnings
            .push(fault.hint("write file:PATH or env:NAME"));
    }
}

/// Whether every user may read a file.
fn is_open(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|it| it.permissions().mode() & 0o004 != 0)
}

/// Whether a secret is only a reference to a file or to an environment variable.
fn is_elsewhere(secret: &str) -> bool {
    secret.starts_with("file:") || secret.starts_with("env:")
}
