//! The lists of tables in which a draft can be changed, each with functions for its items.

use crate::listed::{Listed, setting_of};
use crate::nearest::nearest;
use crate::{
    AccountConfig, AdminAccountConfig, BackendConfig, Config, Fault, ListenerConfig,
    ReplicationConfig, RuleConfig, ValueType,
};

use super::faults::{fault, hinted};

/// One list.
#[derive(Clone, Copy)]
pub struct List {
    /// Its name.
    pub name: &'static str,
    titles: fn(&Config) -> Vec<String>,
    meant: fn(&str) -> Option<(&'static str, ValueType)>,
    keys: fn() -> Vec<&'static str>,
    shown: fn(&Config, usize, &str) -> Option<String>,
}

impl List {
    /// The list of a name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [
            of::<BackendConfig>(),
            of::<ListenerConfig>(),
            of::<AccountConfig>(),
            of::<RuleConfig>(),
            of::<AdminAccountConfig>(),
            of::<ReplicationConfig>(),
        ];
        all.into_iter().find(|list| list.name == name)
    }

    /// Finds an item by its title.
    pub fn find(self, config: &Config, title: &str) -> Result<usize, Vec<Fault>> {
        let titles = (self.titles)(config);
        let found = titles.iter().position(|it| it == title);
        found.ok_or_else(|| {
            let missing = fault(&format!("{}[{title}]", self.name), "there is none");
            hinted(missing, nearest(title, titles.iter().map(String::as_str)))
        })
    }

    /// The key that the user means, and the kind of its value.
    pub fn meant(self, key: &str) -> Result<(&'static str, ValueType), Vec<Fault>> {
        (self.meant)(key).ok_or_else(|| {
            let unknown = fault(&self.setting(key), "is no setting");
            hinted(unknown, nearest(key, (self.keys)()))
        })
    }

    /// The name of a key in faults.
    pub fn setting(self, key: &str) -> String {
        format!("{}.{key}", self.name)
    }

    /// A key's value as users see it.
    pub fn shown(self, config: &Config, index: usize, key: &str) -> String {
        (self.shown)(config, index, key).unwrap_or_default()
    }
}

fn of<T: Listed>() -> List {
    List {
        name: T::TABLE.name,
        titles: |config| T::list(config).iter().map(T::title).collect(),
        meant: |key| setting_of::<T>(key).map(|it| (it.key, it.kind)),
        keys: || T::TABLE.settings.iter().map(|it| it.key).collect(),
        shown: |config, index, key| {
            let item = T::list(config).get(index)?;
            let setting = T::TABLE.settings.iter().find(|it| it.key == key)?;
            Some((setting.show)(item))
        },
    }
}
