//! The lists of tables in a file: `[[backend]]`, `[[listener]]`, `[[account]]`, `[[rule]]`,
//! `[[admin_account]]` and `[[replication]]`. The traits here say how each is loaded, compared and written.

use crate::renamed::new_name;
use crate::setting::{
    ACCOUNT, ADMIN_ACCOUNT, BACKEND, CHANGE_FILE, KAFKA, LISTENER, REPLICATION, REPLICATION_FILTER,
    RULE, RULE_TEST, Section, Setting,
};
use crate::{
    AccountConfig, AdminAccountConfig, BackendConfig, ChangeFileConfig, Config, KafkaConfig,
    ListenerConfig, ReplicationConfig, ReplicationFilterConfig, RuleConfig, RuleTestConfig,
};

/// A table of a list, at the top of the file or below another table.
pub(crate) trait ArrayTable: Default + Sized + 'static {
    /// Its name and its settings.
    const TABLE: Section<Self>;
    /// An example line of the table, for hints.
    const EXAMPLE: &'static str;
    /// The lists of tables within the table.
    const BELOW: &'static [&'static str] = &[];

    /// Fills in values that follow from other settings of the table.
    fn complete(&mut self) {}
}

/// The setting of a list's table by a key that a user has typed: its key, `routing.cluster`; its column alone,
/// `cluster`; or its key in the previous version.
pub(crate) fn setting_of<T: ArrayTable>(key: &str) -> Option<&'static Setting<T>> {
    let old = format!("{}.{key}", T::TABLE.name);
    let list = T::TABLE.name;
    let renamed = new_name(&old).and_then(|name| name.strip_prefix(list)?.strip_prefix('.'));
    let key = renamed.unwrap_or(key);
    let mut settings = T::TABLE.settings.iter();
    settings.find(|it| it.key == key || it.column() == key)
}

/// A table of a list at the top of the file.
pub(crate) trait Listed: ArrayTable {
    /// All tables of the list.
    fn list(config: &Config) -> &[Self];

    /// The title that identifies the table within its list.
    fn title(&self) -> String;

    /// A short description of the table, for messages about an added or removed table.
    fn shown(&self) -> String {
        self.title()
    }

    /// The table with all settings at their defaults that have one.
    fn bare(&self) -> Self {
        Self::default()
    }
}

/// The names of all lists.
pub(crate) const LISTS: [&str; 6] = [
    LISTENER.name,
    BACKEND.name,
    ACCOUNT.name,
    RULE.name,
    ADMIN_ACCOUNT.name,
    REPLICATION.name,
];

impl ArrayTable for BackendConfig {
    const TABLE: Section<Self> = BACKEND;
    const EXAMPLE: &'static str = "address = \"HOST:PORT\"";

    fn complete(&mut self) {
        if self.name.is_empty() {
            self.name = self.address.to_string();
        }
    }
}

impl Listed for BackendConfig {
    fn list(config: &Config) -> &[Self] {
        &config.backends
    }

    fn title(&self) -> String {
        self.name.clone()
    }

    fn shown(&self) -> String {
        self.address.to_string()
    }

    fn bare(&self) -> Self {
        Self::new(self.address.clone(), Self::default().role)
    }
}

impl ArrayTable for ListenerConfig {
    const TABLE: Section<Self> = LISTENER;
    const EXAMPLE: &'static str = "address = \":4050\"";
}

impl Listed for ListenerConfig {
    fn list(config: &Config) -> &[Self] {
        &config.listeners
    }

    fn title(&self) -> String {
        self.address.to_string()
    }
}

impl ArrayTable for AccountConfig {
    const TABLE: Section<Self> = ACCOUNT;
    const EXAMPLE: &'static str = "user = \"NAME\"";

    /// A hash in hexadecimal becomes the hash.
    fn complete(&mut self) {
        let plain = self.hash.as_ref().and_then(|hash| hash.of_hexadecimal());
        self.hash = plain.or(self.hash.take());
    }
}

impl Listed for AccountConfig {
    fn list(config: &Config) -> &[Self] {
        &config.configured_accounts
    }

    fn title(&self) -> String {
        self.title()
    }
}

impl ArrayTable for RuleConfig {
    const TABLE: Section<Self> = RULE;
    const EXAMPLE: &'static str = "name = \"NAME\"";
    const BELOW: &'static [&'static str] = &["test"];
}

impl Listed for RuleConfig {
    fn list(config: &Config) -> &[Self] {
        &config.rules
    }

    fn title(&self) -> String {
        self.name.clone()
    }
}

impl ArrayTable for AdminAccountConfig {
    const TABLE: Section<Self> = ADMIN_ACCOUNT;
    const EXAMPLE: &'static str = "user = \"NAME\"";
}

impl Listed for AdminAccountConfig {
    fn list(config: &Config) -> &[Self] {
        &config.admin_accounts
    }

    fn title(&self) -> String {
        self.user.clone()
    }
}

impl ArrayTable for ReplicationConfig {
    const TABLE: Section<Self> = REPLICATION;
    const EXAMPLE: &'static str = "user = \"NAME\"";
    const BELOW: &'static [&'static str] = &["filter", "change_file", "kafka"];

    fn complete(&mut self) {
        if self.name.is_empty() {
            self.name.clone_from(&self.cluster);
        }
    }
}

impl Listed for ReplicationConfig {
    fn list(config: &Config) -> &[Self] {
        &config.replications
    }

    fn title(&self) -> String {
        self.name.clone()
    }
}

impl ArrayTable for ReplicationFilterConfig {
    const TABLE: Section<Self> = REPLICATION_FILTER;
    const EXAMPLE: &'static str = "tables = [\"SCHEMA.TABLE\"]";
}

impl ArrayTable for ChangeFileConfig {
    const TABLE: Section<Self> = CHANGE_FILE;
    const EXAMPLE: &'static str = "path = \"/var/lib/pilotfish/changes.jsonl\"";
}

impl ArrayTable for KafkaConfig {
    const TABLE: Section<Self> = KAFKA;
    const EXAMPLE: &'static str = "brokers = [\"kafka.example.com:9092\"]";
}

impl ArrayTable for RuleTestConfig {
    const TABLE: Section<Self> = RULE_TEST;
    const EXAMPLE: &'static str = "statement = \"SELECT …\"";
}
