//! The changes of a reload: each setting with its old and its new value, and whether it needs a restart.

use std::collections::HashMap;
use std::fmt;

use crate::listed::Listed;
use crate::setting::{Applies, settings};
use crate::{
    AccountConfig, AdminAccountConfig, BackendConfig, Config, ListenerConfig, ReplicationConfig,
    RuleConfig,
};

/// A setting that differs between two configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Dotted name; `backend[db1].weight` for a backend's setting, `backend[db1]` for an added or removed
    /// backend. Accounts and listeners have the same form.
    pub setting: String,
    /// The old value as TOML writes it, with a secret masked; `None` for an added backend.
    pub from: Option<String>,
    /// The new value; `None` for a removed backend.
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
    changes.extend(diff_list::<ListenerConfig>(old, new));
    changes.extend(diff_list::<BackendConfig>(old, new));
    changes.extend(diff_order::<BackendConfig>(old, new));
    changes.extend(diff_list::<AccountConfig>(old, new));
    changes.extend(diff_list::<RuleConfig>(old, new));
    changes.extend(diff_order::<RuleConfig>(old, new));
    changes.extend(diff_list::<AdminAccountConfig>(old, new));
    changes.extend(diff_list::<ReplicationConfig>(old, new));
    changes.extend(diff_filters(old, new));
    changes.extend(diff_change_files(old, new));
    changes.extend(diff_kafka(old, new));
    changes
}

impl Config {
    /// The configuration after a reload to `new`: the settings that need a restart keep
    /// their old values.
    pub fn reloaded(&self, new: &Config) -> Config {
        let mut reloaded = new.clone();
        for setting in settings().filter(|it| it.traits.applies == Applies::AtRestart) {
            (setting.copy)(&mut reloaded, self);
        }
        reloaded.listeners.clone_from(&self.listeners);
        reloaded
    }
}

/// The remaining streams whose filters have changed.
fn diff_filters<'a>(old: &'a Config, new: &'a Config) -> impl Iterator<Item = Change> + 'a {
    let shown = |stream: &ReplicationConfig| format!("{} filters", stream.filters.len());
    new.replications.iter().filter_map(move |stream| {
        let before = old.replications.iter().find(|it| it.name == stream.name)?;
        (before.filters != stream.filters).then(|| Change {
            setting: format!("replication[{}].filter", stream.name),
            from: Some(shown(before)),
            to: Some(shown(stream)),
            applies: Applies::AtReload,
        })
    })
}

/// The remaining streams whose change files have changed.
fn diff_change_files<'a>(old: &'a Config, new: &'a Config) -> impl Iterator<Item = Change> + 'a {
    let shown = |stream: &ReplicationConfig| format!("{} files", stream.change_files.len());
    new.replications.iter().filter_map(move |stream| {
        let before = old.replications.iter().find(|it| it.name == stream.name)?;
        (before.change_files != stream.change_files).then(|| Change {
            setting: format!("replication[{}].change_file", stream.name),
            from: Some(shown(before)),
            to: Some(shown(stream)),
            applies: Applies::AtReload,
        })
    })
}

/// The remaining streams whose Kafka settings have changed.
fn diff_kafka<'a>(old: &'a Config, new: &'a Config) -> impl Iterator<Item = Change> + 'a {
    let shown = |stream: &ReplicationConfig| format!("{} clusters", stream.kafka.len());
    new.replications.iter().filter_map(move |stream| {
        let before = old.replications.iter().find(|it| it.name == stream.name)?;
        (before.kafka != stream.kafka).then(|| Change {
            setting: format!("replication[{}].kafka", stream.name),
            from: Some(shown(before)),
            to: Some(shown(stream)),
            applies: Applies::AtReload,
        })
    })
}

/// The removed, added and changed tables of a list.
fn diff_list<T: Listed>(old: &Config, new: &Config) -> Vec<Change> {
    let (before, after) = (titled(T::list(old)), titled(T::list(new)));
    let gone = T::list(old)
        .iter()
        .filter(|it| !after.contains_key(&it.title()));
    let mut changes: Vec<_> = gone
        .map(|item| came_or_went(item, Some(item.shown()), None))
        .collect();
    for item in T::list(new) {
        match before.get(&item.title()) {
            None => changes.push(came_or_went(item, None, Some(item.shown()))),
            Some(before) => changes.extend(diff_item(*before, item)),
        }
    }
    changes
}

fn diff_item<T: Listed>(old: &T, new: &T) -> Vec<Change> {
    let settings = T::TABLE.settings.iter();
    let changed = settings.filter(|setting| !(setting.same)(old, new));
    changed
        .map(|setting| Change {
            setting: format!("{}[{}].{}", T::TABLE.name, new.title(), setting.key),
            from: Some((setting.show)(old)),
            to: Some((setting.show)(new)),
            applies: setting.traits.applies,
        })
        .collect()
}

fn came_or_went<T: Listed>(item: &T, from: Option<String>, to: Option<String>) -> Change {
    let name = T::TABLE.name;
    let (title, shown) = (item.title(), item.shown());
    Change {
        setting: match title == shown {
            true => name.to_owned(),
            false => format!("{name}[{title}]"),
        },
        from,
        to,
        applies: applies::<T>(),
    }
}

/// When a change of a list takes effect: all settings of a list are of the same kind.
fn applies<T: Listed>() -> Applies {
    let settings = T::TABLE.settings;
    settings
        .first()
        .map_or(Applies::AtReload, |setting| setting.traits.applies)
}

fn titled<T: Listed>(items: &[T]) -> HashMap<String, &T> {
    items.iter().map(|item| (item.title(), item)).collect()
}

/// The change of a list's order. The order counts, because backends are chosen and rules evaluated in it.
fn diff_order<T: Listed>(old: &Config, new: &Config) -> Option<Change> {
    let stayed = |these: &[T], those: &[T]| -> Vec<String> {
        let those = titled(those);
        let names = these.iter().map(T::title);
        names.filter(|name| those.contains_key(name)).collect()
    };
    let (old, new) = (T::list(old), T::list(new));
    let (before, after) = (stayed(old, new), stayed(new, old));
    (before != after).then(|| Change {
        setting: format!("the order of {}s", T::TABLE.name),
        from: Some(before.join(", ")),
        to: Some(after.join(", ")),
        applies: Applies::AtReload,
    })
}
