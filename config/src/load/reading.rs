//! The file's part of a configuration: from TOML to settings, table by table.

use std::collections::HashMap;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use zeroize::Zeroizing;

use super::written::Written;
use crate::listed::{ArrayTable, LISTS};
use crate::nearest::nearest;
use crate::raw_setting::{RawSetting, Source, from_file};
use crate::renamed::{self, had_table, new_name};
use crate::retired::retired;
use crate::setting::{
    ADMIN_ACCOUNT, BACKEND, LISTENER, REPLICATION, RULE, Section, Setting, ValueType, setting,
};
use crate::unknown::{no_table, unknown, unknown_above_tables, unknown_in_section};
use crate::{BackendConfig, Config, Fault, SECTIONS, SourceLocation};

/// A configuration while it is read.
pub(super) struct Reading {
    pub(super) config: Config,
    /// The backends that options name, primaries and replicas.
    pub(super) options_backends: [Option<Vec<BackendConfig>>; 2],
    pub(super) written: Written,
    pub(super) faults: Vec<Fault>,
    pub(super) warnings: Vec<Fault>,
}

impl Reading {
    pub(super) fn new(path: Option<&Path>) -> Self {
        let whole = path.map_or(SourceLocation::COMMAND_LINE, SourceLocation::file);
        Self {
            config: Config::default(),
            options_backends: [None, None],
            written: Written {
                locations: HashMap::new(),
                whole,
            },
            faults: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads the file. Returns false if it could not be read as a whole: then a setting that is missing is no fault.
    pub(super) fn read_file(&mut self, path: &Path) -> bool {
        match read_text(path) {
            Ok(text) => self.read_text(path, &text),
            Err(fault) => {
                self.faults.push(fault);
                false
            }
        }
    }

    /// Reads the file's text, as [`Self::read_file`].
    pub(super) fn read_text(&mut self, path: &Path, text: &str) -> bool {
        let folder = path.parent().unwrap_or(Path::new(""));
        let source = Source { path, text, folder };
        let (table, errors) = DeTable::parse_recoverable(text);
        self.read_table(source, table.get_ref());
        if errors.is_empty() {
            return true;
        }
        let mut broken: Vec<_> = errors
            .iter()
            .map(|error| syntax_fault(source, error))
            .collect();
        let line = |fault: &Fault| fault.location.position.map(|(line, _)| line);
        broken.sort_by_key(line);
        broken.dedup_by_key(|fault| line(fault));
        // The values of a broken line are a guess, so their faults are not reported.
        self.faults
            .retain(|fault| broken.iter().all(|other| line(other) != line(fault)));
        self.faults.append(&mut broken);
        false
    }

    fn read_table(&mut self, source: Source<'_>, table: &DeTable<'_>) {
        for (key, value) in table {
            let location = source.location(key.span().start);
            let name = key.get_ref().as_ref();
            if LISTS.contains(&name) {
                self.read_list(source, location, name, value);
            } else if let Some(section) = section(name) {
                match value.get_ref() {
                    DeValue::Table(table) => self.read_section(source, section, table),
                    other => self.faults.push(no_table(location, name, other)),
                }
            } else if let Some(setting) = setting(name) {
                self.read_setting(source, setting, value);
            } else if let (true, DeValue::Table(table)) = (had_table(name), value.get_ref()) {
                self.read_old_table(source, name, table);
            } else {
                self.faults
                    .push(unknown_above_tables(location, name, value.get_ref()));
            }
        }
    }

    fn read_list(
        &mut self,
        source: Source<'_>,
        location: SourceLocation,
        name: &str,
        value: &Spanned<DeValue<'_>>,
    ) {
        if name == BACKEND.name {
            self.config.backends = self.read_tables(source, location, 0, value);
        } else if name == LISTENER.name {
            self.config.listeners = self.read_tables(source, location, 0, value);
        } else if name == RULE.name {
            self.config.rules = self.read_tables(source, location, 0, value);
            let tests = self.read_below(source, value, "test");
            for (rule, tests) in self.config.rules.iter_mut().zip(tests) {
                rule.tests = tests;
            }
        } else if name == ADMIN_ACCOUNT.name {
            self.config.admin_accounts = self.read_tables(source, location, 0, value);
        } else if name == REPLICATION.name {
            self.config.replications = self.read_tables(source, location, 0, value);
            let filters = self.read_below(source, value, "filter");
            for (stream, filters) in self.config.replications.iter_mut().zip(filters) {
                stream.filters = filters;
            }
            let files = self.read_below(source, value, "change_file");
            for (stream, files) in self.config.replications.iter_mut().zip(files) {
                stream.change_files = files;
            }
            let kafka = self.read_below(source, value, "kafka");
            for (stream, kafka) in self.config.replications.iter_mut().zip(kafka) {
                stream.kafka = kafka;
            }
        } else {
            self.config.configured_accounts = self.read_tables(source, location, 0, value);
        }
    }

    /// The tables below each table of a list, such as `[[rule.test]]`. Their indices count through the whole list.
    fn read_below<T: ArrayTable>(
        &mut self,
        source: Source<'_>,
        list: &Spanned<DeValue<'_>>,
        name: &str,
    ) -> Vec<Vec<T>> {
        let tables = list.get_ref().as_array().into_iter().flatten();
        let tables = tables.filter_map(|it| it.get_ref().as_table());
        let mut first = 0;
        let mut below = Vec::new();
        for table in tables {
            let Some((key, value)) = table.get_key_value(name) else {
                below.push(Vec::new());
                continue;
            };
            let location = source.location(key.span().start);
            let items = self.read_tables(source, location, first, value);
            first += items.len();
            below.push(items);
        }
        below
    }

    fn read_section(&mut self, source: Source<'_>, section: &Section<Config>, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match section.settings.iter().find(|setting| setting.key == name) {
                Some(setting) => self.read_setting(source, setting, value),
                None => {
                    let location = source.location(key.span().start);
                    let is_read =
                        self.read_renamed(source, location.clone(), section.name, name, value);
                    match retired(&location, section.name, name) {
                        _ if is_read => {}
                        Some(warning) => self.warnings.push(warning),
                        None => self
                            .faults
                            .push(unknown_in_section(location, section, name)),
                    }
                }
            }
        }
    }

    /// Reads a table whose settings are in other tables now.
    fn read_old_table(&mut self, source: Source<'_>, table: &str, settings: &DeTable<'_>) {
        for (key, value) in settings {
            let (location, key) = (source.location(key.span().start), key.get_ref().as_ref());
            if !self.read_renamed(source, location.clone(), table, key, value) {
                let name = format!("{table}.{key}");
                self.faults.push(unknown(location, &name, None));
            }
        }
    }

    /// Reads a setting by its name in the previous version. Returns false if no setting had this name.
    fn read_renamed(
        &mut self,
        source: Source<'_>,
        location: SourceLocation,
        table: &str,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> bool {
        let old = format!("{table}.{key}");
        let Some(setting) = new_name(&old).and_then(setting) else {
            return false;
        };
        self.warnings
            .push(renamed::warning(location, &old, setting.name));
        self.read_setting(source, setting, value);
        true
    }

    fn read_setting(
        &mut self,
        source: Source<'_>,
        setting: &'static Setting<Config>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let given = from_file(source, setting.name, &setting.traits, value);
        if setting.kind == ValueType::Secret {
            self.warn_of_open_secret(source, &given);
        }
        if self.written.has(setting.name) {
            let fault = given.fault("is given twice, once by its old name");
            self.faults.push(fault);
        }
        self.set(setting, &given);
    }

    pub(super) fn set(&mut self, setting: &'static Setting<Config>, given: &RawSetting<'_>) {
        let written = (given.location.clone(), given.name.to_owned());
        self.written
            .locations
            .insert(setting.name.to_owned(), written);
        if let Err(faults) = (setting.read)(&mut self.config, given) {
            self.faults.extend(faults);
        }
    }

    /// Reads all tables `[[T]]`, or those below one table. `first` is the index of the first of them.
    fn read_tables<T: ArrayTable>(
        &mut self,
        source: Source<'_>,
        location: SourceLocation,
        first: usize,
        value: &Spanned<DeValue<'_>>,
    ) -> Vec<T> {
        let name = T::TABLE.name;
        let DeValue::Array(tables) = value.get_ref() else {
            let fault = Fault::new(location, name, "must be a list of tables");
            let hint = format!("write [[{name}]], once for each {name}");
            self.faults.push(fault.hint(hint));
            return Vec::new();
        };
        let mut items = Vec::new();
        for item in tables {
            let location = source.location(item.span().start);
            let index = first + items.len();
            match item.get_ref() {
                DeValue::Table(table) => items.push(self.read_item(source, index, location, table)),
                _ => self.faults.push(
                    Fault::new(location, name, "must be a table")
                        .hint(format!("write [[{name}]], and {} below it", T::EXAMPLE)),
                ),
            }
        }
        items
    }

    /// Reads one table `[[T]]`.
    fn read_item<T: ArrayTable>(
        &mut self,
        source: Source<'_>,
        index: usize,
        location: SourceLocation,
        table: &DeTable<'_>,
    ) -> T {
        let mut item = T::default();
        let settings = T::TABLE.settings;
        for (key, value) in table {
            let key_location = source.location(key.span().start);
            let key = key.get_ref().as_ref();
            if T::BELOW.contains(&key) {
                continue;
            }
            let is_table = settings.iter().any(|it| it.table() == Some(key));
            match value.get_ref() {
                DeValue::Table(table) if is_table => {
                    self.read_table_of_item(source, index, (key, table), &mut item);
                }
                other if is_table => {
                    let name = format!("{}.{key}", T::TABLE.name);
                    self.faults.push(no_table(key_location, &name, other));
                }
                _ => self.read_item_setting(source, index, key_location, (key, value), &mut item),
            }
        }
        for setting in settings.iter().filter(|setting| setting.traits.required) {
            if !table.contains_key(setting.key) {
                let text = format!("is missing from this {}", T::TABLE.name);
                self.faults
                    .push(Fault::new(location.clone(), setting.name, text));
            }
        }
        item.complete();
        item
    }
}

impl Reading {
    /// Reads the settings of a table within a table of a list, such as `routing`.
    fn read_table_of_item<T: ArrayTable>(
        &mut self,
        source: Source<'_>,
        index: usize,
        (name, table): (&str, &DeTable<'_>),
        item: &mut T,
    ) {
        for (key, value) in table {
            let location = source.location(key.span().start);
            let key = format!("{name}.{}", key.get_ref());
            self.read_item_setting(source, index, location, (&key, value), item);
        }
    }

    /// Reads a setting of a table of a list.
    fn read_item_setting<T: ArrayTable>(
        &mut self,
        source: Source<'_>,
        index: usize,
        location: SourceLocation,
        (key, value): (&str, &Spanned<DeValue<'_>>),
        item: &mut T,
    ) {
        let settings = T::TABLE.settings;
        let old = format!("{}.{key}", T::TABLE.name);
        let renamed = new_name(&old).and_then(|name| settings.iter().find(|it| it.name == name));
        if let Some(setting) = renamed {
            self.warnings
                .push(renamed::warning(location.clone(), &old, setting.name));
        }
        let same_key = || settings.iter().find(|setting| setting.key == key);
        let Some(setting) = renamed.or_else(same_key) else {
            let keys = settings.iter().map(|setting| setting.key);
            let keys = keys.chain(T::BELOW.iter().copied());
            self.faults
                .push(unknown(location, &old, nearest(key, keys)));
            return;
        };
        let given = from_file(source, setting.name, &setting.traits, value);
        if setting.kind == ValueType::Secret {
            self.warn_of_open_secret(source, &given);
        }
        let written = (given.location.clone(), setting.name.to_owned());
        let key = Written::of(T::TABLE.name, index, setting.key);
        if self.written.locations.insert(key, written).is_some() {
            let fault = given.fault("is given twice, once by its old name");
            self.faults.push(fault);
        }
        if let Err(faults) = (setting.read)(item, &given) {
            self.faults.extend(faults);
        }
    }
}

/// A file's text, which may hold passwords.
///
/// # Errors
/// The file cannot be read, or is no text.
pub(crate) fn read_text(path: &Path) -> Result<Zeroizing<String>, Fault> {
    let bytes = std::fs::read(path).map_err(|error| {
        Fault::general(
            SourceLocation::file(path),
            format!("cannot be read: {error}"),
        )
    })?;
    String::from_utf8(bytes)
        .map(Zeroizing::new)
        .map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
            Fault::general(
                SourceLocation::within(path, &text, valid),
                "is not UTF-8 from here on",
            )
        })
}

fn syntax_fault(source: Source<'_>, error: &toml::de::Error) -> Fault {
    let offset = error.span().map_or(0, |span| span.start);
    Fault::general(
        source.location(offset),
        format!("is no TOML: {}", error.message()),
    )
}

fn section(name: &str) -> Option<&'static Section<Config>> {
    SECTIONS
        .iter()
        .find(|section| !section.name.is_empty() && section.name == name)
}
