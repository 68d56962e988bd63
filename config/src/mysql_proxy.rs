//! The options of MySQL Proxy and their meaning. An option with a meaning becomes an override of a
//! setting. Any other option is refused, with advice. No option is silently ignored.

mod replicant;
mod replicant_options;

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::nearest::did_you_mean;
use crate::nearest::nearest;
use crate::setting::{ValueType, setting};
use crate::{Fault, Override, PRIMARIES, REPLICAS, SourceLocation};

pub use replicant::{Replicant, ReplicantOption};

/// One option of MySQL Proxy 0.8.
#[derive(Debug)]
pub struct Legacy {
    /// Its long name without dashes, also its key in the defaults file.
    pub name: &'static str,
    /// Its short name, a letter.
    pub short: Option<char>,
    /// Whether it takes a value.
    pub takes_value: bool,
    /// Its meaning in Pilotfish.
    pub meaning: Meaning,
}

/// The meaning of an option of MySQL Proxy.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    /// A setting, or a list of backends.
    Setting(&'static str),
    /// `listen`; an address without a port means port 3306, as in MySQL Proxy.
    Listen,
    /// The base folder of relative paths in options.
    BaseFolder,
    /// Plugins. The plugin of the proxy itself is always active, the plugin of the admin port if the port has
    /// users. There are no other plugins.
    Plugins,
    /// An option of the replication client.
    Replicant(ReplicantOption),
    /// Accepted with a warning that says why the option is not needed.
    Unneeded(&'static str),
    /// Refused; the text says what the user can do.
    Refused(&'static str),
}

const fn value(name: &'static str, meaning: Meaning) -> Legacy {
    Legacy {
        name,
        short: None,
        takes_value: true,
        meaning,
    }
}

const fn flag(name: &'static str, meaning: Meaning) -> Legacy {
    Legacy {
        name,
        short: None,
        takes_value: false,
        meaning,
    }
}

const fn short(letter: char, option: Legacy) -> Legacy {
    Legacy {
        short: Some(letter),
        ..option
    }
}

const NO_C_MODULES: &str =
    "has no effect: modules in C cannot be loaded; those of MySQL Proxy are built in";

/// Every option of MySQL Proxy but those for help, version and the defaults file.
pub const OPTIONS: &[Legacy] = &[
    short('P', value("proxy-address", Meaning::Listen)),
    short(
        'b',
        value("proxy-backend-addresses", Meaning::Setting(PRIMARIES)),
    ),
    short(
        'r',
        value(
            "proxy-read-only-backend-addresses",
            Meaning::Setting(REPLICAS),
        ),
    ),
    value(
        "proxy-connect-timeout",
        Meaning::Setting("health.timeout_connect"),
    ),
    value(
        "proxy-read-timeout",
        Meaning::Setting("limits.timeout_idle"),
    ),
    value(
        "proxy-write-timeout",
        Meaning::Refused(
            "the proxy has no limit of this kind: the server's net_write_timeout ends a reply that no client \
         takes, and limits.timeout_idle a session that does nothing; leave the option out",
        ),
    ),
    value("event-threads", Meaning::Setting("workers")),
    value("max-open-files", Meaning::Setting("open_files_max")),
    value("pid-file", Meaning::Setting("pid_file")),
    value("user", Meaning::Setting("user")),
    value("log-level", Meaning::Setting("log.level")),
    value("log-file", Meaning::Setting("log.file")),
    flag(
        "log-use-syslog",
        Meaning::Refused(
            "the log goes to standard error, where systemd's journal or logger(1) takes it, or to \
         --log-file; leave the option out",
        ),
    ),
    flag(
        "log-backtrace-on-crash",
        Meaning::Unneeded("a failure inside the proxy is always logged with its place"),
    ),
    flag(
        "verbose-shutdown",
        Meaning::Unneeded("the reason of a shutdown is always logged"),
    ),
    flag(
        "daemon",
        Meaning::Unneeded(
            "Pilotfish stays in the foreground: let systemd (Type=notify, not forking) or another \
         supervisor run it",
        ),
    ),
    flag(
        "keepalive",
        Meaning::Unneeded(
            "there is no second process: a supervisor starts Pilotfish again when it ends \
         (Restart=on-failure in its systemd unit)",
        ),
    ),
    value("basedir", Meaning::BaseFolder),
    value("plugins", Meaning::Plugins),
    value(
        "plugin-dir",
        Meaning::Unneeded("nothing is loaded from a plugin folder"),
    ),
    value("lua-path", Meaning::Setting("script.lua_path")),
    value("lua-cpath", Meaning::Unneeded(NO_C_MODULES)),
    short(
        's',
        value("proxy-lua-script", Meaning::Setting("routing.script")),
    ),
    flag(
        "proxy-skip-profiling",
        Meaning::Unneeded("there is no profiling to skip"),
    ),
    flag(
        "proxy-fix-bug-25371",
        Meaning::Unneeded("replies to COM_CHANGE_USER are relayed as they are"),
    ),
    flag(
        "proxy-pool-no-change-user",
        Meaning::Unneeded("a pooled connection is given each session's own state"),
    ),
    flag(
        "no-proxy",
        Meaning::Refused("without its listener Pilotfish has nothing to do"),
    ),
    value("admin-address", Meaning::Setting("admin.address")),
    value("admin-username", Meaning::Setting("admin.username")),
    value("admin-password", Meaning::Setting("admin.password")),
    value("admin-lua-script", Meaning::Setting("admin.script")),
    value(
        "replicant-master-address",
        Meaning::Replicant(ReplicantOption::Address),
    ),
    value(
        "replicant-username",
        Meaning::Replicant(ReplicantOption::Username),
    ),
    value(
        "replicant-password",
        Meaning::Replicant(ReplicantOption::Password),
    ),
    value(
        "replicant-read-binlogs",
        Meaning::Replicant(ReplicantOption::ReadBinlogs),
    ),
    value("repclient-port", Meaning::Replicant(ReplicantOption::Port)),
    value("mode", Meaning::Replicant(ReplicantOption::Mode)),
    value(
        "debug-address",
        Meaning::Refused("there is no debug plugin; log.level = \"debug\" tells more"),
    ),
];

/// The options of MySQL Proxy that mean this setting.
pub fn names_of(setting: &str) -> impl Iterator<Item = &'static Legacy> {
    OPTIONS.iter().filter(move |option| match option.meaning {
        Meaning::Setting(name) => name == setting,
        Meaning::Listen => setting == "listen",
        _ => false,
    })
}

/// The translation of MySQL Proxy's options.
#[derive(Debug, Default)]
pub struct Translation {
    /// The settings.
    pub overrides: Vec<Override>,
    /// Warnings about options that are not needed.
    pub warnings: Vec<Fault>,
    /// Faults of options that are refused.
    pub faults: Vec<Fault>,
    /// The base folder of relative paths.
    pub base_folder: Option<PathBuf>,
    /// The replication client, if it is asked for.
    pub replicant: Replicant,
}

impl Translation {
    /// Adds one option with its values (none: a flag that is set). Faults call it `name`.
    pub fn add(
        &mut self,
        option: &'static Legacy,
        name: String,
        location: SourceLocation,
        words: Vec<String>,
    ) {
        match option.meaning {
            Meaning::Setting(setting) => {
                self.overrides.push(Override {
                    setting,
                    name,
                    location,
                    words,
                });
            }
            Meaning::Listen => {
                let words = words.iter().map(|word| with_mysql_port(word)).collect();
                self.overrides.push(Override {
                    setting: "listen",
                    name,
                    location,
                    words,
                });
            }
            Meaning::BaseFolder => self.set_base_folder(name, location, words),
            Meaning::Plugins => self.set_plugins(&name, &location, &words),
            Meaning::Replicant(option) => self.set_replicant(option, (&name, &location), &words),
            Meaning::Unneeded(text) => self.warnings.push(Fault::new(location, name, text)),
            Meaning::Refused(text) => self.faults.push(Fault::new(location, name, text)),
        }
    }

    fn set_base_folder(&mut self, name: String, location: SourceLocation, words: Vec<String>) {
        let Some(folder) = words.last().map(PathBuf::from) else {
            return;
        };
        if folder.is_absolute() {
            self.base_folder = Some(folder);
            self.overrides.push(Override {
                setting: "script.base_folder",
                name,
                location,
                words,
            });
        } else {
            self.faults
                .push(Fault::new(location, name, "must be an absolute path"));
        }
    }

    fn set_plugins(&mut self, name: &str, location: &SourceLocation, words: &[String]) {
        let plugins = words.iter().flat_map(|word| word.split(',')).map(str::trim);
        let plugins: Vec<_> = plugins.filter(|plugin| !plugin.is_empty()).collect();
        let mut refuse = |text| self.faults.push(Fault::new(location.clone(), name, text));
        for plugin in &plugins {
            if !matches!(*plugin, "proxy" | "admin" | "replicant") {
                refuse(format!("there is no plugin \"{plugin}\""));
            }
        }
        if plugins.contains(&"replicant") {
            if plugins.len() > 1 {
                refuse(replicant::NOT_ALONE.to_owned());
            }
            self.replicant.is_wanted = true;
        }
    }

    /// Appends `later`, whose values win.
    pub fn then(mut self, later: Self) -> Self {
        self.overrides.extend(later.overrides);
        self.warnings.extend(later.warnings);
        self.faults.extend(later.faults);
        self.base_folder = later.base_folder.or(self.base_folder);
        self.replicant = self.replicant.then(later.replicant);
        self
    }

    /// Makes relative paths among the overrides relative to the base folder, as in MySQL Proxy.
    pub fn resolve_paths(&mut self) {
        let Some(folder) = &self.base_folder else {
            return;
        };
        if let Some(file) = &mut self.replicant.binlogs {
            *file = folder.join(&*file);
        }
        for given in &mut self.overrides {
            let kind = setting(given.setting).map(|setting| setting.kind);
            if matches!(
                kind,
                Some(ValueType::Path | ValueType::List(ValueType::Path))
            ) {
                for word in given.words.iter_mut().filter(|word| !word.is_empty()) {
                    *word = folder.join(&*word).display().to_string();
                }
            }
        }
    }

    /// Adds one key of the defaults file.
    fn add_key(&mut self, key: &str, location: SourceLocation, text: String) {
        let plain = key.replace('_', "-");
        let Some(option) = OPTIONS.iter().find(|option| option.name == plain) else {
            let meant = nearest(&plain, OPTIONS.iter().map(|option| option.name));
            let fault = Fault::new(location, key, "is no option, and left out");
            let hint = meant.map(did_you_mean);
            return self.warnings.push(Fault { hint, ..fault });
        };
        if option.takes_value {
            return self.add(option, key.to_owned(), location, vec![text]);
        }
        match text.as_str() {
            "true" | "1" => self.add(option, key.to_owned(), location, Vec::new()),
            "false" | "0" => {}
            _ => self
                .faults
                .push(Fault::new(location, key, "must be true or false")),
        }
    }
}

/// Adds port 3306 to an address without a port, because that is MySQL Proxy's default; Pilotfish's is different.
fn with_mysql_port(address: &str) -> String {
    let bare = address.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(IpAddr::V6(ip)) => format!("[{ip}]:3306"),
        Ok(ip) => format!("{ip}:3306"),
        Err(_) => address.to_owned(),
    }
}

/// Reads MySQL Proxy's `--defaults-file`: a key file of GLib, of which only the group
/// `[mysql-proxy]` counts. An unknown key is a warning, because MySQL Proxy ignored it, too.
pub fn read_defaults_file(path: &Path) -> Translation {
    match std::fs::read_to_string(path) {
        Ok(text) => read_defaults_text(path, &text),
        Err(error) => {
            let mut translation = Translation::default();
            let text = format!("cannot be read: {error}");
            translation
                .faults
                .push(Fault::general(SourceLocation::file(path), text));
            translation
        }
    }
}

/// Reads the text of a defaults file. Faults call it `path`.
pub fn read_defaults_text(path: &Path, text: &str) -> Translation {
    let mut translation = Translation::default();
    let mut group: Option<&str> = None;
    let mut ours = false;
    for (index, line) in text.lines().enumerate() {
        let column = 1 + line.chars().take_while(|it| it.is_whitespace()).count();
        let location = SourceLocation {
            file: Some(path.to_owned()),
            position: Some((index + 1, column)),
        };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            group = Some(name);
            ours |= name == GROUP;
            continue;
        }
        match (line.split_once('='), group) {
            (_, None) => {
                let fault = Fault::general(location, "stands before the first group");
                translation
                    .faults
                    .push(fault.hint("write [mysql-proxy] above it"));
                return translation;
            }
            (Some((key, value)), Some(GROUP)) => {
                translation.add_key(key.trim(), location, unescaped(value.trim()));
            }
            (None, Some(GROUP)) => {
                let fault = Fault::general(location, "is neither \"key = value\" nor \"[group]\"");
                translation.faults.push(fault);
            }
            (_, Some(_)) => {}
        }
    }
    if !ours {
        let fault = Fault::general(SourceLocation::file(path), "has no group [mysql-proxy]");
        translation.warnings.push(fault);
    }
    translation
}

/// The group of the defaults file that MySQL Proxy reads.
const GROUP: &str = "mysql-proxy";

/// A key file's escapes: `\s` blank, `\n`, `\t`, `\r`, `\\`.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match characters.next() {
            Some('s') => plain.push(' '),
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some(other) => plain.push(other),
            None => plain.push('\\'),
        }
    }
    plain
}
