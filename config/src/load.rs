//! From a file and the options of the command line to a [`Config`], or to every fault in them.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use zeroize::Zeroizing;

use crate::given::{Given, Raw, Source, given, option_given};
use crate::listed::{Item, LISTS};
use crate::nearest::nearest;
use crate::setting::{
    ADMIN_ACCOUNT, BACKEND, Kind, LISTENER, RULE, Section, Setting, Traits, setting,
};
use crate::unknown::{no_table, unknown, unknown_above_tables, unknown_in_section};
use crate::value::Value;
use crate::{BackendAddress, BackendConfig, Config, Fault, Place, Role, SECTIONS, check, model};

/// The name under which an [`Override`] lists primaries.
pub const PRIMARIES: &str = "backend";
/// The name under which an [`Override`] lists replicas.
pub const REPLICAS: &str = "read_only_backend";

/// A setting given outside the file. It wins over the file, and over an earlier one of its kind.
/// Either list of backends replaces all that the file has.
#[derive(Clone, PartialEq, Eq)]
pub struct Override {
    /// Dotted name of the setting, or [`PRIMARIES`] or [`REPLICAS`].
    pub setting: &'static str,
    /// What faults call it, such as `--limits-sessions-max`.
    pub name: String,
    /// Where it was given.
    pub place: Place,
    /// What was given; several words make a list, of which a setting that is none takes the last.
    pub words: Vec<String>,
}

/// The words stay out of it; one may be a password.
impl fmt::Debug for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} …", self.name)
    }
}

/// A configuration without a fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// What is no fault, but worth a line in the log.
    pub warnings: Vec<Fault>,
    /// Where each setting was written, for faults that others find.
    pub written: Written,
}

impl Config {
    /// Reads the file, if any, then the overrides, fills in the defaults and checks the whole.
    ///
    /// Files that settings name (certificates, secrets) are read to see that they can be.
    ///
    /// # Errors
    /// Every fault there is, in the order of the file.
    pub fn load(path: Option<&Path>, overrides: &[Override]) -> Result<Loaded, Vec<Fault>> {
        Self::load_and_ask(path, overrides, |_, _| Vec::new())
    }

    /// The same, where others know of further faults: they are asked if settings contradict one another,
    /// so that all is told at once. A configuration without such a fault is still theirs to look at.
    ///
    /// # Errors
    /// As of [`Self::load`], and what they find.
    pub fn load_and_ask(
        path: Option<&Path>,
        overrides: &[Override],
        others: impl FnOnce(&Self, &Written) -> Vec<Fault>,
    ) -> Result<Loaded, Vec<Fault>> {
        let mut reading = Reading::new(path);
        let whole = path.is_none_or(|path| reading.read_file(path));
        for given in overrides {
            reading.read_override(given);
        }
        reading.finish(whole, others)
    }

    /// The same of a text that may come to stand in a file at `path`.
    ///
    /// # Errors
    /// As of [`Self::load_and_ask`].
    pub fn load_text(
        path: Option<&Path>,
        text: &str,
        overrides: &[Override],
        others: impl FnOnce(&Self, &Written) -> Vec<Fault>,
    ) -> Result<Loaded, Vec<Fault>> {
        let mut reading = Reading::new(path);
        let whole = reading.read_text(path.unwrap_or(Path::new("")), text);
        for given in overrides {
            reading.read_override(given);
        }
        reading.finish(whole, others)
    }

    /// What a text says, each setting on its own: whether they fit together is not looked at.
    ///
    /// # Errors
    /// Every value that is none.
    pub(crate) fn sketch(path: Option<&Path>, text: &str) -> Result<Self, Vec<Fault>> {
        let mut reading = Reading::new(path);
        reading.read_text(path.unwrap_or(Path::new("")), text);
        if reading.config.workers == 0 {
            reading.config.workers = model::cores();
        }
        match reading.faults.is_empty() {
            true => Ok(reading.config),
            false => Err(reading.faults),
        }
    }
}

/// A configuration in the making.
struct Reading {
    config: Config,
    /// The backends that options name, primaries and replicas.
    options_backends: [Option<Vec<BackendConfig>>; 2],
    written: Written,
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
}

/// Where each setting was written, and under which name, for faults that concern several.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    places: HashMap<String, (Place, String)>,
    whole: Place,
}

impl Written {
    /// A fault of a setting, at its place; at the whole when it was not written.
    pub fn fault(&self, setting: &str, text: impl Into<String>) -> Fault {
        match self.places.get(setting) {
            Some((place, name)) => Fault::new(place.clone(), name, text),
            None => Fault::new(self.whole.clone(), setting, text),
        }
    }

    /// Whether a setting was written.
    pub(crate) fn has(&self, setting: &str) -> bool {
        self.places.contains_key(setting)
    }

    /// A fault of no setting in particular.
    pub(crate) fn general(&self, text: impl Into<String>) -> Fault {
        Fault::general(self.whole.clone(), text)
    }

    /// The key under which the setting of one of a list's tables is kept.
    ///
    /// Tests of rules are counted through all rules: `rule.test[7].statement`.
    pub fn of(list: &str, index: usize, key: &str) -> String {
        format!("{list}[{index}].{key}")
    }
}

impl Reading {
    fn new(path: Option<&Path>) -> Self {
        let whole = path.map_or(Place::COMMAND_LINE, Place::file);
        Self {
            config: Config::default(),
            options_backends: [None, None],
            written: Written {
                places: HashMap::new(),
                whole,
            },
            faults: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads the file; false when it could not be read as a whole, so that what is absent from the
    /// settings says nothing.
    fn read_file(&mut self, path: &Path) -> bool {
        match read_text(path) {
            Ok(text) => self.read_text(path, &text),
            Err(fault) => {
                self.faults.push(fault);
                false
            }
        }
    }

    /// The same of its text.
    fn read_text(&mut self, path: &Path, text: &str) -> bool {
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
        let line = |fault: &Fault| fault.place.position.map(|(line, _)| line);
        broken.sort_by_key(line);
        broken.dedup_by_key(|fault| line(fault));
        // What was read from a broken line is a guess, and its faults are noise.
        self.faults
            .retain(|fault| broken.iter().all(|other| line(other) != line(fault)));
        self.faults.append(&mut broken);
        false
    }

    fn read_table(&mut self, source: Source<'_>, table: &DeTable<'_>) {
        for (key, value) in table {
            let place = source.place(key.span().start);
            let name = key.get_ref().as_ref();
            if LISTS.contains(&name) {
                self.read_list(source, place, name, value);
            } else if let Some(section) = section(name) {
                match value.get_ref() {
                    DeValue::Table(table) => self.read_section(source, section, table),
                    other => self.faults.push(no_table(place, name, other)),
                }
            } else if let Some(setting) = setting(name) {
                self.read_setting(source, setting, value);
            } else {
                self.faults
                    .push(unknown_above_tables(place, name, value.get_ref()));
            }
        }
    }

    fn read_list(
        &mut self,
        source: Source<'_>,
        place: Place,
        name: &str,
        value: &Spanned<DeValue<'_>>,
    ) {
        if name == BACKEND.name {
            self.config.backends = self.read_tables(source, place, 0, value);
        } else if name == LISTENER.name {
            self.config.listeners = self.read_tables(source, place, 0, value);
        } else if name == RULE.name {
            self.config.rules = self.read_tables(source, place, 0, value);
            self.read_rule_tests(source, value);
        } else if name == ADMIN_ACCOUNT.name {
            self.config.admin_accounts = self.read_tables(source, place, 0, value);
        } else {
            self.config.configured_accounts = self.read_tables(source, place, 0, value);
        }
    }

    /// The tables `[[rule.test]]` below each rule, counted through all of them.
    fn read_rule_tests(&mut self, source: Source<'_>, rules: &Spanned<DeValue<'_>>) {
        let tables = rules.get_ref().as_array().into_iter().flatten();
        let tables = tables.filter_map(|rule| rule.get_ref().as_table());
        let mut first = 0;
        for (index, table) in tables.enumerate() {
            let Some((key, value)) = table.get_key_value("test") else {
                continue;
            };
            let place = source.place(key.span().start);
            let tests = self.read_tables(source, place, first, value);
            first += tests.len();
            if let Some(rule) = self.config.rules.get_mut(index) {
                rule.tests = tests;
            }
        }
    }

    fn read_section(&mut self, source: Source<'_>, section: &Section<Config>, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match section.settings.iter().find(|setting| setting.key == name) {
                Some(setting) => self.read_setting(source, setting, value),
                None => {
                    let place = source.place(key.span().start);
                    self.faults.push(unknown_in_section(place, section, name));
                }
            }
        }
    }

    fn read_setting(
        &mut self,
        source: Source<'_>,
        setting: &'static Setting<Config>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let given = given(source, setting.name, &setting.traits, value);
        if setting.kind == Kind::Secret {
            self.warn_of_open_secret(source, &given);
        }
        self.set(setting, &given);
    }

    fn set(&mut self, setting: &'static Setting<Config>, given: &Given<'_>) {
        let written = (given.place.clone(), given.name.to_owned());
        self.written.places.insert(setting.name.to_owned(), written);
        if let Err(faults) = (setting.read)(&mut self.config, given) {
            self.faults.extend(faults);
        }
    }

    /// All tables `[[T]]`, or those below one table; `first` is the index of the first of them.
    fn read_tables<T: Item>(
        &mut self,
        source: Source<'_>,
        place: Place,
        first: usize,
        value: &Spanned<DeValue<'_>>,
    ) -> Vec<T> {
        let name = T::TABLE.name;
        let DeValue::Array(tables) = value.get_ref() else {
            let fault = Fault::new(place, name, "must be a list of tables");
            let hint = format!("write [[{name}]], once for each {name}");
            self.faults.push(fault.hint(hint));
            return Vec::new();
        };
        let mut items = Vec::new();
        for item in tables {
            let place = source.place(item.span().start);
            let index = first + items.len();
            match item.get_ref() {
                DeValue::Table(table) => items.push(self.read_item(source, index, place, table)),
                _ => self.faults.push(
                    Fault::new(place, name, "must be a table")
                        .hint(format!("write [[{name}]], and {} below it", T::EXAMPLE)),
                ),
            }
        }
        items
    }

    /// One table `[[T]]`.
    fn read_item<T: Item>(
        &mut self,
        source: Source<'_>,
        index: usize,
        place: Place,
        table: &DeTable<'_>,
    ) -> T {
        let mut item = T::default();
        let settings = T::TABLE.settings;
        for (key, value) in table {
            let key_place = source.place(key.span().start);
            let key = key.get_ref().as_ref();
            if T::BELOW.contains(&key) {
                continue;
            }
            let Some(setting) = settings.iter().find(|setting| setting.key == key) else {
                let name = format!("{}.{key}", T::TABLE.name);
                let keys = settings.iter().map(|setting| setting.key);
                let keys = keys.chain(T::BELOW.iter().copied());
                self.faults
                    .push(unknown(key_place, &name, nearest(key, keys)));
                continue;
            };
            let given = given(source, setting.name, &setting.traits, value);
            if setting.kind == Kind::Secret {
                self.warn_of_open_secret(source, &given);
            }
            let written = (given.place.clone(), setting.name.to_owned());
            self.written
                .places
                .insert(Written::of(T::TABLE.name, index, key), written);
            if let Err(faults) = (setting.read)(&mut item, &given) {
                self.faults.extend(faults);
            }
        }
        for setting in settings.iter().filter(|setting| setting.traits.required) {
            if !table.contains_key(setting.key) {
                let text = format!("is missing from this {}", T::TABLE.name);
                self.faults
                    .push(Fault::new(place.clone(), setting.name, text));
            }
        }
        item.complete();
        item
    }

    fn read_override(&mut self, given: &Override) {
        let role = match given.setting {
            PRIMARIES => Some(Role::Primary),
            REPLICAS => Some(Role::Replica),
            _ => None,
        };
        if let Some(role) = role {
            return self.read_backend_option(given, role);
        }
        let Some(setting) = setting(given.setting) else {
            let fault = Fault::new(given.place.clone(), &given.name, "is no setting");
            return self.faults.push(fault);
        };
        if setting.kind == Kind::Secret {
            self.warn_of_secret_option(given);
        }
        let value = option_given(given, setting.kind, &setting.traits);
        self.set(setting, &value);
    }

    fn read_backend_option(&mut self, given: &Override, role: Role) {
        let kind = <Vec<BackendAddress>>::KIND;
        match <Vec<BackendAddress>>::read(&option_given(given, kind, &Traits::RELOAD)) {
            Ok(addresses) => {
                let backends = addresses.into_iter().map(|it| BackendConfig::new(it, role));
                self.options_backends[role as usize] = Some(backends.collect());
                let key = options_key(role);
                let written = (given.place.clone(), given.name.clone());
                self.written.places.insert(key.to_owned(), written);
            }
            Err(faults) => self.faults.extend(faults),
        }
    }

    /// Puts the options' backends in the place of the file's.
    fn settle_backends(&mut self) {
        if self.options_backends.iter().all(Option::is_none) {
            return;
        }
        self.written
            .places
            .retain(|key, _| !key.starts_with("backend["));
        let backends = self
            .options_backends
            .iter_mut()
            .filter_map(Option::take)
            .flatten();
        self.config.backends = backends.collect();
        for (index, backend) in self.config.backends.iter().enumerate() {
            if let Some(written) = self.written.places.get(options_key(backend.role)).cloned() {
                self.written
                    .places
                    .insert(Written::of(BACKEND.name, index, "address"), written);
            }
        }
    }

    fn finish(
        mut self,
        whole: bool,
        others: impl FnOnce(&Config, &Written) -> Vec<Fault>,
    ) -> Result<Loaded, Vec<Fault>> {
        self.settle_backends();
        if self.config.workers == 0 {
            self.config.workers = model::cores();
        }
        if whole && self.faults.is_empty() {
            self.faults = check::faults(&self.config, &self.written);
            if !self.faults.is_empty() {
                self.faults.extend(others(&self.config, &self.written));
            }
        } else if whole {
            self.faults
                .extend(check::faults_of_files(&self.config, &self.written));
        }
        self.faults
            .sort_by(|one, other| one.place.cmp(&other.place));
        if self.faults.is_empty() {
            self.warnings
                .extend(check::warnings(&self.config, &self.written));
            self.warnings
                .sort_by(|one, other| one.place.cmp(&other.place));
            Ok(Loaded {
                config: self.config,
                warnings: self.warnings,
                written: self.written,
            })
        } else {
            Err(self.faults)
        }
    }

    fn warn_of_open_secret(&mut self, source: Source<'_>, given: &Given<'_>) {
        let literal =
            matches!(given.raw, Raw::Text(text) if !text.is_empty() && !is_elsewhere(text));
        if literal && is_open(source.path) {
            let fault = given.fault(IN_OPEN_FILE);
            self.warnings
                .push(fault.hint("take that right away, or write \"file:PATH\""));
        }
    }

    /// Of an option, on the command line or in MySQL Proxy's file.
    fn warn_of_secret_option(&mut self, given: &Override) {
        let mut words = given.words.iter();
        if !words.any(|word| !word.is_empty() && !is_elsewhere(word)) {
            return;
        }
        let text = match &given.place.file {
            None => "every user of this machine can see it in the list of processes",
            Some(file) if is_open(file) => IN_OPEN_FILE,
            Some(_) => return,
        };
        let fault = Fault::new(given.place.clone(), &given.name, text);
        self.warnings
            .push(fault.hint("write file:PATH or env:NAME"));
    }
}

const IN_OPEN_FILE: &str = "stands in a file that every user of this machine can read";

/// Whether everybody may read a file.
fn is_open(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|it| it.permissions().mode() & 0o004 != 0)
}

/// Whether a secret only says where it is.
fn is_elsewhere(secret: &str) -> bool {
    secret.starts_with("file:") || secret.starts_with("env:")
}

fn options_key(role: Role) -> &'static str {
    match role {
        Role::Primary | Role::Auto => PRIMARIES,
        Role::Replica => REPLICAS,
    }
}

/// A file's text, which may hold passwords.
///
/// # Errors
/// It cannot be read, or is no text.
pub(crate) fn read_text(path: &Path) -> Result<Zeroizing<String>, Fault> {
    let bytes = std::fs::read(path)
        .map_err(|error| Fault::general(Place::file(path), format!("cannot be read: {error}")))?;
    String::from_utf8(bytes)
        .map(Zeroizing::new)
        .map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
            Fault::general(
                Place::within(path, &text, valid),
                "is not UTF-8 from here on",
            )
        })
}

fn syntax_fault(source: Source<'_>, error: &toml::de::Error) -> Fault {
    let offset = error.span().map_or(0, |span| span.start);
    Fault::general(
        source.place(offset),
        format!("is no TOML: {}", error.message()),
    )
}

fn section(name: &str) -> Option<&'static Section<Config>> {
    SECTIONS
        .iter()
        .find(|section| !section.name.is_empty() && section.name == name)
}
