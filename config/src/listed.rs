//! The tables that a file may have several of, `[[backend]]`, `[[listener]]`, `[[account]]`, `[[rule]]`,
//! `[[admin_account]]` and `[[replication]]`: what loading, comparing and writing need to know of each.

use crate::renamed::new_name;
use crate::setting::{
    ACCOUNT, ADMIN_ACCOUNT, BACKEND, CHANGE_FILE, KAFKA, LISTENER, REPLICATION, REPLICATION_FILTER,
    RULE, RULE_TEST, Section, Setting,
};
use crate::{
    AccountConfig, AdminAccountConfig, BackendConfig, ChangeFileConfig, Config, KafkaConfig,
    ListenerConfig, ReplicationConfig, ReplicationFilterConfig, RuleConfig, RuleTestConfig,
};

/// One such table, wherever it stands.
pub(crate) trait ArrayTable: Default + Sized + 'static {
    /// Its name and its settings.
    const TABLE: Section<Self>;
    /// A line that belongs into it, for hints.
    const EXAMPLE: &'static str;
    /// The tables in it that are lists of their own.
    const BELOW: &'static [&'static str] = &[];

    /// Fills in what follows from its other settings.
    fn complete(&mut self) {}
}

/// The setting of a table of a list that a person means by a key, `routing.cluster`; by its column alone, `cluster`; or
/// by the key of the last version.
pub(crate) fn setting_of<T: ArrayTable>(key: &str) -> Option<&'static Setting<T>> {
    let old = format!("{}.{key}", T::TABLE.name);
    let list = T::TABLE.name;
    let renamed = new_name(&old).and_then(|name| name.strip_prefix(list)?.strip_prefix('.'));
    let key = renamed.unwrap_or(key);
    let mut settings = T::TABLE.settings.iter();
    settings.find(|it| it.key == key || it.column() == key)
}

/// One that stands at the top of the file.
pub(crate) trait Listed: ArrayTable {
    /// All of its kind.
    fn list(config: &Config) -> &[Self];

    /// What tells it from the others of its kind.
    fn title(&self) -> String;

    /// Whom it is, in a few words, where one that came or went is told.
    fn shown(&self) -> String {
        self.title()
    }

    /// The same with all at its default that can be.
    fn bare(&self) -> Self {
        Self::default()
    }
}

/// The names of all such tables.
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
