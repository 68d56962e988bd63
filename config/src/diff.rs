//! What a reload changes: setting by setting, from what to what, and which need a restart.

use std::fmt;

use crate::setting::{Applies, BACKEND, settings};
use crate::{BackendConfig, Config};

/// A setting that differs between two configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Dotted name; `backend[db1].weight` for a backend's, `backend[db1]` for one that came or went.
    pub setting: String,
    /// The old value as TOML writes it, a secret masked; nothing for a backend that came.
    pub from: Option<String>,
    /// The new value; nothing for a backend that went.
    pub to: Option<String>,
    /// When it takes effect.
    pub applies: Applies,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => write!(f, "{}: {from} becomes {to}", self.setting)?,
            (None, Some(to)) => write!(f, "{}: {to} is new", self.setting)?,
            (Some(from), None) => write!(f, "{}: {from} goes", self.setting)?,
            (None, None) => f.write_str(&self.setting)?,
        }
        match self.applies {
            Applies::AtReload => Ok(()),
            Applies::AtRestart => write!(f, " ({})", self.applies.describe()),
        }
    }
}

/// Every setting in which `new` differs from `old`, in the manual's order.
pub fn diff(old: &Config, new: &Config) -> Vec<Change> {
    let changed = settings().filter(|setting| !(setting.same)(old, new));
    let mut changes: Vec<_> = changed
        .map(|setting| Change {
            setting: setting.name.to_owned(),
            from: Some((setting.show)(old)),
            to: Some((setting.show)(new)),
            applies: setting.traits.applies,
        })
        .collect();
    changes.extend(diff_backends(&old.backends, &new.backends));
    changes
}

impl Config {
    /// What holds after a reload to `new`: all of it but the settings that need a restart, which
    /// stay as they are.
    pub fn reloaded(&self, new: &Config) -> Config {
        let mut reloaded = new.clone();
        for setting in settings().filter(|it| it.traits.applies == Applies::AtRestart) {
            (setting.copy)(&mut reloaded, self);
        }
        reloaded
    }
}

fn diff_backends(old: &[BackendConfig], new: &[BackendConfig]) -> Vec<Change> {
    let mut changes = Vec::new();
    for backend in old.iter().filter(|it| named(new, &it.name).is_none()) {
        changes.push(came_or_went(
            backend,
            Some(backend.address.to_string()),
            None,
        ));
    }
    for backend in new {
        match named(old, &backend.name) {
            None => changes.push(came_or_went(
                backend,
                None,
                Some(backend.address.to_string()),
            )),
            Some(before) => changes.extend(diff_backend(before, backend)),
        }
    }
    let stayed = |these: &[BackendConfig], those: &[BackendConfig]| -> Vec<String> {
        let names = these.iter().map(|it| &it.name);
        names
            .filter(|name| named(those, name).is_some())
            .cloned()
            .collect()
    };
    let (before, after) = (stayed(old, new), stayed(new, old));
    if before != after {
        changes.push(Change {
            setting: "the order of backends".to_owned(),
            from: Some(before.join(", ")),
            to: Some(after.join(", ")),
            applies: Applies::AtReload,
        });
    }
    changes
}

fn diff_backend(old: &BackendConfig, new: &BackendConfig) -> Vec<Change> {
    let changed = BACKEND
        .settings
        .iter()
        .filter(|setting| !(setting.same)(old, new));
    changed
        .map(|setting| Change {
            setting: format!("backend[{}].{}", new.name, setting.key),
            from: Some((setting.show)(old)),
            to: Some((setting.show)(new)),
            applies: setting.traits.applies,
        })
        .collect()
}

fn came_or_went(backend: &BackendConfig, from: Option<String>, to: Option<String>) -> Change {
    Change {
        setting: format!("backend[{}]", backend.name),
        from,
        to,
        applies: Applies::AtReload,
    }
}

fn named<'a>(backends: &'a [BackendConfig], name: &str) -> Option<&'a BackendConfig> {
    backends.iter().find(|backend| backend.name == name)
}
