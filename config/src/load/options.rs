//! The options of the command line and of MySQL Proxy's file. They win over the configuration file.

use std::fmt;

use super::reading::Reading;
use super::written::Written;
use crate::raw_setting::is_in_file;
use crate::setting::{BACKEND, Traits, ValueType, setting};
use crate::value::Value;
use crate::{BackendAddress, BackendConfig, Fault, Role, SourceLocation};

/// The name under which an [`Override`] lists primaries.
pub const PRIMARIES: &str = "backend";
/// The name under which an [`Override`] lists replicas.
pub const REPLICAS: &str = "read_only_backend";

/// A setting given outside the file. It wins over the file, and over an earlier override of the same setting.
/// Each of the two lists of backends replaces all backends of the file.
#[derive(Clone, PartialEq, Eq)]
pub struct Override {
    /// Dotted name of the setting, or [`PRIMARIES`] or [`REPLICAS`].
    pub setting: &'static str,
    /// The name that faults use, such as `--limits-sessions-max`.
    pub name: String,
    /// Where it was given.
    pub location: SourceLocation,
    /// The given words. Several words are a list; a setting that is no list uses the last word.
    pub words: Vec<String>,
}

/// It does not show the words, because a word may be a password.
impl fmt::Debug for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} …", self.name)
    }
}

impl Reading {
    pub(super) fn read_override(&mut self, given: &Override) {
        let role = match given.setting {
            PRIMARIES => Some(Role::Primary),
            REPLICAS => Some(Role::Replica),
            _ => None,
        };
        if let Some(role) = role {
            return self.read_backend_option(given, role);
        }
        let Some(setting) = setting(given.setting) else {
            let fault = Fault::new(given.location.clone(), &given.name, "is no setting");
            return self.faults.push(fault);
        };
        if setting.kind == ValueType::Secret {
            self.warn_of_secret_option(given);
        }
        let value = is_in_file(given, setting.kind, &setting.traits);
        self.set(setting, &value);
    }

    fn read_backend_option(&mut self, given: &Override, role: Role) {
        let kind = <Vec<BackendAddress>>::KIND;
        match <Vec<BackendAddress>>::read(&is_in_file(given, kind, &Traits::RELOAD)) {
            Ok(addresses) => {
                let backends = addresses.into_iter().map(|it| BackendConfig::new(it, role));
                self.options_backends[role as usize] = Some(backends.collect());
                let key = options_key(role);
                let written = (given.location.clone(), given.name.clone());
                self.written.locations.insert(key.to_owned(), written);
            }
            Err(faults) => self.faults.extend(faults),
        }
    }

    /// Replaces the file's backends by the options' backends.
    pub(super) fn settle_backends(&mut self) {
        if self.options_backends.iter().all(Option::is_none) {
            return;
        }
        self.written
            .locations
            .retain(|key, _| !key.starts_with("backend["));
        let backends = self
            .options_backends
            .iter_mut()
            .filter_map(Option::take)
            .flatten();
        self.config.backends = backends.collect();
        for (index, backend) in self.config.backends.iter().enumerate() {
            if let Some(written) = self
                .written
                .locations
                .get(options_key(backend.role))
                .cloned()
            {
                self.written
                    .locations
                    .insert(Written::of(BACKEND.name, index, "address"), written);
            }
        }
    }
}

fn options_key(role: Role) -> &'static str {
    match role {
        Role::Primary | Role::Auto => PRIMARIES,
        Role::Replica => REPLICAS,
    }
}
