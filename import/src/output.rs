//! The configuration that is being written: settings, lists of tables, and notes. Values are kept within the ranges
//! that `config` has for them, so that the result passes a check.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use config::{
    ACCOUNT, ADMIN_ACCOUNT, BACKEND, Config, LISTENER, RULE, RuleConfig, SECTIONS, Section, Traits,
};
use route::rules::Rules;

use crate::note::{Level, Note};
use crate::source::{Imported, Product, Refusal, Source};
use crate::units::spell_time;

/// A value of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Toml {
    /// A text.
    Text(String),
    /// A whole number.
    Number(u64),
    /// True or false.
    Truth(bool),
    /// Texts.
    List(Vec<String>),
}

/// A `[[table]]` of a list.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Lines of comment above it.
    pub comments: Vec<String>,
    keys: Vec<(&'static str, Toml)>,
}

/// The place and the name of a setting of the other proxy.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The line.
    pub line: Option<usize>,
    /// The setting with its value.
    pub setting: String,
}

/// The configuration that is being written, see the module.
pub struct Output<'a> {
    source: &'a Source<'a>,
    settings: BTreeMap<&'static str, (Toml, String)>,
    /// Settings that are written as comments, with the reason.
    asides: Vec<(&'static str, Toml, String)>,
    /// The tables of `[[listener]]`.
    pub listeners: Vec<Table>,
    /// Backends.
    pub backends: Vec<Table>,
    /// Accounts.
    pub accounts: Vec<Table>,
    /// Rules.
    pub rules: Vec<Table>,
    /// Users of the admin port.
    pub admins: Vec<Table>,
    notes: Vec<Note>,
}

impl Origin {
    /// `key = value` at a line.
    pub fn new(line: impl Into<Option<usize>>, key: &str, value: &str) -> Self {
        Self {
            line: line.into(),
            setting: shortened(&format!("{key} = {value}")),
        }
    }

    /// A setting or a section at a line, without a value.
    pub fn named(line: impl Into<Option<usize>>, name: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            setting: shortened(&name.into()),
        }
    }
}

/// Removes passwords from the text for a note, and shortens long values.
fn shortened(text: &str) -> String {
    let name = text.split('=').next().unwrap_or("").to_ascii_lowercase();
    if ["password", "passwd", "credentials", "auth"]
        .iter()
        .any(|it| name.contains(it))
    {
        return text.split(" = ").next().unwrap_or("").to_owned();
    }
    let text: String = text
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect();
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl Table {
    /// A table with a line of comment.
    pub fn new(comment: impl Into<String>) -> Self {
        Self {
            comments: vec![comment.into()],
            ..Self::default()
        }
    }

    /// Sets a key, or replaces it.
    pub fn set(&mut self, key: &'static str, value: Toml) {
        match self.keys.iter_mut().find(|(name, _)| *name == key) {
            Some((_, old)) => *old = value,
            None => self.keys.push((key, value)),
        }
    }

    /// Sets a key to a text.
    pub fn text(&mut self, key: &'static str, value: impl Into<String>) {
        self.set(key, Toml::Text(value.into()));
    }

    /// The text of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.keys
            .iter()
            .find(|(name, _)| *name == key)
            .and_then(|(_, it)| match it {
                Toml::Text(text) => Some(text.as_str()),
                _ => None,
            })
    }

    /// Whether a key is set.
    pub fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|(name, _)| *name == key)
    }
}

impl<'a> Output<'a> {
    /// An empty configuration.
    pub fn new(source: &'a Source<'a>) -> Self {
        Self {
            source,
            settings: BTreeMap::new(),
            asides: Vec::new(),
            listeners: Vec::new(),
            backends: Vec::new(),
            accounts: Vec::new(),
            rules: Vec::new(),
            admins: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a note about what became of a setting.
    pub fn note(&mut self, level: Level, from: &Origin, reason: impl Into<String>, nearest: &str) {
        let nearest = (!nearest.is_empty()).then(|| nearest.to_owned());
        let note = Note {
            level,
            line: from.line,
            setting: from.setting.clone(),
            reason: reason.into(),
            nearest,
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Notes a setting whose effect is missing.
    pub fn lost(&mut self, from: &Origin, reason: impl Into<String>, nearest: &str) {
        self.note(Level::Lost, from, reason, nearest);
    }

    /// Notes a setting that is not needed.
    pub fn unneeded(&mut self, from: &Origin, reason: impl Into<String>) {
        self.note(Level::Unneeded, from, reason, "");
    }

    /// Notes a setting whose effect is partly different.
    pub fn differs(&mut self, from: &Origin, reason: impl Into<String>, nearest: &str) {
        self.note(Level::Differs, from, reason, nearest);
    }

    /// Notes a value that cannot be read.
    pub fn unreadable(&mut self, from: &Origin, wanted: &str) {
        self.lost(
            from,
            format!("the value is not {wanted}"),
            "correct it, and import again",
        );
    }

    /// Sets a setting.
    pub fn set(&mut self, name: &'static str, value: Toml, from: &Origin) {
        self.settings.insert(name, (value, from.setting.clone()));
    }

    /// Sets a setting to a word or text.
    pub fn text(&mut self, name: &'static str, value: impl Into<String>, from: &Origin) {
        self.set(name, Toml::Text(value.into()), from);
    }

    /// Whether a setting has a value.
    pub fn has(&self, name: &str) -> bool {
        self.settings.contains_key(name)
    }

    /// The text of a setting.
    pub fn get(&self, name: &str) -> Option<&str> {
        match self.settings.get(name) {
            Some((Toml::Text(text), _)) => Some(text),
            _ => None,
        }
    }

    /// The number of a setting.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.settings.get(name) {
            Some((Toml::Number(number), _)) => Some(*number),
            _ => None,
        }
    }

    /// The addresses for clients in the setting `listen`.
    pub fn listen(&self) -> &[String] {
        match self.settings.get("listen") {
            Some((Toml::List(addresses), _)) => addresses,
            _ => &[],
        }
    }

    /// An address to listen on, if this machine can use it. Otherwise `None`, with a note.
    pub fn listen_address(&mut self, text: &str, from: &Origin) -> Option<String> {
        let text = text.trim();
        match text.parse() {
            Ok(config::ListenAddress::Unix(path))
                if !self.has_folder_of(&path.to_string_lossy()) =>
            {
                let reason = format!("this machine has no folder for {}", path.display());
                self.lost(
                    from,
                    reason,
                    "make the folder, and add the address to listen",
                );
                None
            }
            Ok(address) => Some(address.to_string()),
            Err(error) => {
                let reason = format!("{error}; Pilotfish listens on IP addresses and sockets");
                self.lost(
                    from,
                    reason,
                    "the address of this machine's interface, or \":PORT\" for all",
                );
                None
            }
        }
    }

    /// Removes a setting.
    pub fn unset(&mut self, name: &str) {
        self.settings.remove(name);
    }

    /// Sets a number, or the nearest allowed number.
    pub fn count(&mut self, name: &'static str, number: u64, from: &Origin) {
        let value = self.bounded(name, number, from, |it| it.to_string());
        self.set(name, Toml::Number(value), from);
    }

    /// Sets a time in milliseconds, or the nearest allowed time.
    pub fn time(&mut self, name: &'static str, ms: u64, from: &Origin) {
        let value = self.bounded(name, ms, from, spell_time);
        self.set(name, Toml::Text(spell_time(value)), from);
    }

    /// The number for a key of a list, or the nearest allowed number.
    pub fn bounded(
        &mut self,
        name: &str,
        measure: u64,
        from: &Origin,
        spell: fn(u64) -> String,
    ) -> u64 {
        let Some(traits) = traits(name) else {
            return measure;
        };
        if measure == 0 && traits.nothing.is_some() {
            return 0;
        }
        let value = measure.clamp(traits.range.0, traits.range.1);
        if value != measure {
            let reason = format!("{name} can be {} at the nearest", spell(value));
            self.differs(from, reason, "");
        }
        value
    }

    /// Sets a setting that names a file to read. If this machine does not have the file, the line becomes a comment.
    /// Returns whether the setting is set.
    pub fn file(&mut self, name: &'static str, path: &str, from: &Origin) -> bool {
        let nearest = "copy it here, and remove the #";
        self.path((name, path), Path::new(path), nearest, from)
    }

    /// The same for a file that the proxy writes: its folder must exist.
    pub fn new_file(&mut self, name: &'static str, path: &str, from: &Origin) -> bool {
        let folder = Path::new(path).parent().unwrap_or(Path::new("/"));
        let nearest = "create the folder, and remove the #";
        self.path((name, path), folder, nearest, from)
    }

    fn path(
        &mut self,
        (name, path): (&'static str, &str),
        needed: &Path,
        nearest: &str,
        from: &Origin,
    ) -> bool {
        let value = Toml::Text(path.to_owned());
        if (self.source.has_file)(needed) {
            self.set(name, value, from);
            return true;
        }
        let reason = format!("this machine has no {}", needed.display());
        self.asides.push((name, value, reason.clone()));
        self.differs(
            from,
            format!("{name} stays a comment, because {reason}"),
            nearest,
        );
        false
    }

    /// Adds a setting as a comment, so that the reader can decide.
    pub fn aside(&mut self, name: &'static str, value: Toml, reason: &str) {
        self.asides.push((name, value, reason.to_owned()));
    }

    /// Whether this machine has a folder for a socket.
    pub fn has_folder_of(&self, path: &str) -> bool {
        (self.source.has_file)(Path::new(path).parent().unwrap_or(Path::new("/")))
    }

    /// A password as a value. A text that the file would take for a reference is left out.
    pub fn secret(&mut self, text: &str, from: &Origin) -> Option<Toml> {
        if !text.starts_with("file:") && !text.starts_with("env:") {
            return Some(Toml::Text(text.to_owned()));
        }
        let reason =
            "the password begins with \"file:\" or \"env:\", which the file takes for a reference";
        self.lost(
            from,
            reason,
            "write the password into a file, and give password = \"file:PATH\"",
        );
        None
    }

    /// Why the proxy would refuse a rule with these expressions.
    pub fn rule_fault(rule: RuleConfig) -> Option<String> {
        let address = "127.0.0.1:1".parse().ok()?;
        let mut config = Config::default();
        config
            .backends
            .push(config::BackendConfig::new(address, config::Role::Primary));
        config.rules.push(RuleConfig {
            name: "it".to_owned(),
            ..rule
        });
        let faults = Rules::compile(&config).err()?;
        faults.first().map(|it| it.text.clone())
    }

    /// The file and its notes.
    ///
    /// # Errors
    /// There is no backend, or the result does not pass the check, which would be a fault of this crate.
    pub fn finish(mut self, product: Product) -> Result<Imported, Refusal> {
        self.settle_tls();
        self.make_names_unique();
        let toml = self.render(product);
        self.notes.sort_by_key(|it| (it.line.is_none(), it.line));
        match Config::load_text(None, &toml, &[], |_, _| Vec::new()) {
            Ok(_) => Ok(Imported {
                toml,
                notes: self.notes,
            }),
            Err(faults) => {
                let text = faults.first().map(ToString::to_string).unwrap_or_default();
                let text = format!("the settings contradict one another here: {text}");
                Err(Refusal::whole(
                    text,
                    "correct what the line names in the file, and import again",
                ))
            }
        }
    }

    /// Turns a certificate without its key, or a key without its certificate, into a comment, and lowers the modes that
    /// need a missing file.
    fn settle_tls(&mut self) {
        for (one, other) in [
            ("client_tls.certificate", "client_tls.key"),
            ("backend_tls.certificate", "backend_tls.key"),
        ] {
            for (here, missing) in [(one, other), (other, one)] {
                if !self.has(missing)
                    && let Some((value, from)) = self.settings.remove(here)
                {
                    let reason = format!("{from}: it needs {missing} as well");
                    self.asides.push((here, value, reason));
                }
            }
        }
        if self.get("client_tls.mode") == Some("required") && !self.has("client_tls.certificate") {
            self.unset("client_tls.mode");
            let origin = Origin::named(None, "TLS demanded of clients");
            let reason = "client_tls.mode stays \"optional\", because \"required\" needs client_tls.certificate";
            self.differs(
                &origin,
                reason,
                "give the certificate and its key, then client_tls.mode = \"required\"",
            );
        }
        let is_verified = self
            .get("backend_tls.mode")
            .is_some_and(|it| it.starts_with("verify"));
        if is_verified && !self.has("backend_tls.ca") {
            let origin = Origin::named(None, "the check of the servers' certificates");
            self.text("backend_tls.mode", "required", &origin);
            let reason = "backend_tls.mode is \"required\" without a check, because backend_tls.ca is missing";
            self.differs(
                &origin,
                reason,
                "give backend_tls.ca, then backend_tls.mode = \"verify_ca\"",
            );
        }
    }

    /// Adds numbers to names of backends and rules that occur twice, because these names must be unique.
    fn make_names_unique(&mut self) {
        for list in [&mut self.backends, &mut self.rules] {
            let mut seen = BTreeSet::new();
            for table in list {
                let Some(name) = table.get("name").map(str::to_owned) else {
                    continue;
                };
                let mut free = name.clone();
                let mut count = 1;
                while !seen.insert(free.clone()) {
                    count += 1;
                    free = format!("{name} {count}");
                }
                table.text("name", free);
            }
        }
    }

    fn render(&self, product: Product) -> String {
        let mut text = format!(
            "# Pilotfish settings, taken over from {}: {}\n\
             # Check them with: pilotfish --config FILE --check\n",
            product.title(),
            one_line(self.source.name)
        );
        for section in SECTIONS {
            let written: Vec<_> = self
                .settings
                .iter()
                .filter(|(name, _)| table_of(name) == section.name)
                .collect();
            let asides: Vec<_> = self
                .asides
                .iter()
                .filter(|(name, ..)| table_of(name) == section.name)
                .collect();
            if written.is_empty() && asides.is_empty() {
                continue;
            }
            text.push('\n');
            if !section.name.is_empty() {
                let _ = writeln!(text, "[{}]", section.name);
            }
            for (name, (value, from)) in written {
                let _ = writeln!(
                    text,
                    "# {}\n{} = {}",
                    one_line(from),
                    key_of(name),
                    value.spelled()
                );
            }
            for (name, value, reason) in asides {
                let _ = writeln!(
                    text,
                    "# {}\n# {} = {}",
                    one_line(reason),
                    key_of(name),
                    value.spelled()
                );
            }
        }
        let lists = [
            ("listener", &self.listeners),
            ("backend", &self.backends),
            ("account", &self.accounts),
            ("rule", &self.rules),
            ("admin_account", &self.admins),
        ];
        for (name, tables) in lists {
            for table in tables {
                table.render(name, &mut text);
            }
        }
        text
    }
}

impl Table {
    fn render(&self, name: &str, text: &mut String) {
        text.push('\n');
        for comment in &self.comments {
            let _ = writeln!(text, "# {}", one_line(comment));
        }
        let _ = writeln!(text, "[[{name}]]");
        for (key, value) in &self.keys {
            let _ = writeln!(text, "{key} = {}", value.spelled());
        }
    }
}

impl Toml {
    fn spelled(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Number(number) => number.to_string(),
            Self::Truth(truth) => truth.to_string(),
            Self::List(texts) => {
                let texts: Vec<_> = texts.iter().map(|it| quoted(it)).collect();
                format!("[{}]", texts.join(", "))
            }
        }
    }
}

/// A TOML string; a literal one if it has quotes or backslashes that would need an escape.
fn quoted(text: &str) -> String {
    let is_plain = |it: char| !it.is_control() && it != '\'';
    if text.contains(['\\', '"']) && text.chars().all(is_plain) {
        return format!("'{text}'");
    }
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            it if it.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(it));
            }
            it => quoted.push(it),
        }
    }
    quoted.push('"');
    quoted
}

/// A text for a comment: on one line, without control characters.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect()
}

fn table_of(name: &str) -> &str {
    name.split_once('.').map_or("", |(table, _)| table)
}

fn key_of(name: &str) -> &str {
    name.split_once('.').map_or(name, |(_, key)| key)
}

/// The traits of a setting: `limits.sessions_max`, `backend.weight`.
fn traits(name: &str) -> Option<Traits> {
    fn within<O>(section: &Section<O>, name: &str) -> Option<Traits> {
        section
            .settings
            .iter()
            .find(|it| it.name == name)
            .map(|it| it.traits)
    }
    config::setting(name)
        .map(|it| it.traits)
        .or_else(|| within(&BACKEND, name))
        .or_else(|| within(&LISTENER, name))
        .or_else(|| within(&ACCOUNT, name))
        .or_else(|| within(&RULE, name))
        .or_else(|| within(&ADMIN_ACCOUNT, name))
}
