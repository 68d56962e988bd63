//! The settings as text, made from their definitions: the command line's help, the manual's pages,
//! and the file itself.

mod pages;

use std::fmt::Write;

use crate::listed::{ArrayTable, Listed};
use crate::setting::{Section, Setting};
use crate::{
    AccountConfig, AdminAccountConfig, BackendConfig, ChangeFileConfig, Config, KafkaConfig,
    ListenerConfig, PRIMARIES, REPLICAS, ReplicationFilterConfig, RuleConfig, RuleTestConfig,
    SECTIONS,
};

pub use pages::{Page, settings_pages};

/// An option of the command line that is not a setting.
pub struct ListOption {
    /// The list that it adds to, [`PRIMARIES`] or [`REPLICAS`].
    pub list: &'static str,
    /// Its long name without dashes.
    pub option: &'static str,
    /// Its description.
    pub about: &'static str,
}

/// The options with which the command line names backends.
pub const LIST_OPTIONS: &[ListOption] = &[
    ListOption {
        list: PRIMARIES,
        option: "backend",
        about: "A primary; once for each, or with commas",
    },
    ListOption {
        list: REPLICAS,
        option: "read-only-backend",
        about: "A replica, likewise",
    },
];

/// Help for the settings of some [`SECTIONS`], as options of the command line in groups.
pub fn options_help(sections: &[Section<Config>]) -> String {
    let mut help = String::new();
    for section in sections {
        let _ = writeln!(help, "{}:", section.title);
        if section.name.is_empty() {
            for list in LIST_OPTIONS {
                help.push_str(&help_line(
                    &format!("--{} ADDRESS", list.option),
                    list.about,
                ));
            }
        }
        for setting in section.settings {
            help.push_str(&setting_help(setting));
        }
        help.push('\n');
    }
    help
}

fn setting_help(setting: &Setting<Config>) -> String {
    let mut text = setting.summary().replace('`', "");
    if let Some(choices) = setting.kind.choices() {
        let names: Vec<_> = choices.iter().map(|choice| choice.name).collect();
        let _ = write!(text, ": {}", names.join(", "));
    }
    if let Some(meaning) = setting.traits.nothing {
        let _ = write!(text, " (0: {meaning})");
    }
    if let Some(default) = plain_default(setting) {
        let _ = write!(text, " [{default}]");
    }
    help_line(
        &format!("--{} {}", setting.option(), setting.kind.placeholder()),
        &text,
    )
}

/// The default as users type it: without quotes and brackets.
fn plain_default(setting: &Setting<Config>) -> Option<String> {
    let shown = setting
        .traits
        .default_text
        .map_or_else(|| (setting.show)(&Config::default()), Into::into);
    let plain: String = shown
        .chars()
        .filter(|it| !matches!(it, '"' | '[' | ']'))
        .collect();
    (!plain.is_empty() && (setting.kind.is_measured() || plain != "0")).then_some(plain)
}

/// Columns of a line of help.
const HELP_WIDTH: usize = 100;
/// Column at which help's texts begin.
const HELP_INDENT: usize = 42;

/// An option and its text, wrapped.
pub fn help_line(option: &str, text: &str) -> String {
    let mut lines = format!("  {option}");
    let mut width = lines.chars().count();
    if width + 2 > HELP_INDENT {
        lines.push('\n');
        width = 0;
    }
    for word in text.split(' ') {
        let word_width = word.chars().count();
        if width > HELP_INDENT && width + 1 + word_width > HELP_WIDTH {
            lines.push('\n');
            width = 0;
        }
        let blanks = if width < HELP_INDENT {
            HELP_INDENT - width
        } else {
            1
        };
        let _ = write!(lines, "{:blanks$}{word}", "");
        width += blanks + word_width;
    }
    lines.push('\n');
    lines
}

/// A configuration as a file: every setting with its value, secrets masked.
pub fn to_toml(config: &Config) -> String {
    write_toml(config, Detail::Everything)
}

/// The settings of a configuration that differ from the defaults, as a file; secrets masked.
pub fn differences(config: &Config) -> String {
    write_toml(config, Detail::Differences)
}

/// The same with the secrets in clear, for code that reads the text back.
pub(crate) fn exposed(config: &Config) -> String {
    write_toml(config, Detail::Exposed)
}

/// Which settings are written.
#[derive(Clone, Copy)]
enum Detail {
    Everything,
    /// The settings that differ from their defaults, and the required settings.
    Differences,
    /// The same settings, with secrets in clear.
    Exposed,
}

impl Detail {
    /// The same detail, but only for settings that differ from their defaults.
    fn of_differences(self) -> Self {
        match self {
            Self::Everything | Self::Differences => Self::Differences,
            Self::Exposed => Self::Exposed,
        }
    }
}

fn write_toml(config: &Config, detail: Detail) -> String {
    let mut tables = Vec::new();
    for section in SECTIONS {
        let lines = lines_of(section, config, &Config::default(), detail);
        match (section.name, lines.is_empty()) {
            (_, true) => {}
            ("", false) => tables.push(lines),
            (name, false) => tables.push(format!("[{name}]\n{lines}")),
        }
    }
    tables.extend(list_of::<ListenerConfig>(config, detail));
    tables.extend(list_of::<BackendConfig>(config, detail));
    tables.extend(list_of::<AccountConfig>(config, detail));
    for rule in &config.rules {
        // A setting that a rule does not give has no default, so it is not written.
        tables.push(table_of(rule, &RuleConfig::default(), Detail::Differences));
        let tests = rule.tests.iter();
        let test = |test| table_of(test, &RuleTestConfig::default(), Detail::Differences);
        tables.extend(tests.map(test));
    }
    tables.extend(list_of::<AdminAccountConfig>(config, detail));
    for stream in &config.replications {
        tables.push(table_of(stream, &stream.bare(), detail));
        let filters = stream.filters.iter();
        let bare = ReplicationFilterConfig::default();
        tables.extend(filters.map(|it| table_of(it, &bare, detail.of_differences())));
        let files = stream.change_files.iter();
        let bare = ChangeFileConfig::default();
        tables.extend(files.map(|it| table_of(it, &bare, detail.of_differences())));
        let kafka = stream.kafka.iter();
        let bare = KafkaConfig::default();
        tables.extend(kafka.map(|it| table_of(it, &bare, detail.of_differences())));
    }
    tables.join("\n")
}

fn list_of<T: Listed>(config: &Config, detail: Detail) -> Vec<String> {
    let table = |item: &T| table_of(item, &item.bare(), detail);
    T::list(config).iter().map(table).collect()
}

fn table_of<T: ArrayTable>(item: &T, default: &T, detail: Detail) -> String {
    let lines = lines_of(&T::TABLE, item, default, detail);
    format!("[[{}]]\n{lines}", T::TABLE.name)
}

fn lines_of<Owner>(
    section: &Section<Owner>,
    owner: &Owner,
    default: &Owner,
    detail: Detail,
) -> String {
    let mut lines = String::new();
    for setting in section.settings {
        let differs = setting.traits.required || !(setting.same)(owner, default);
        if matches!(detail, Detail::Everything) || differs {
            let value = match detail {
                Detail::Exposed => (setting.expose)(owner),
                Detail::Everything | Detail::Differences => (setting.show)(owner),
            };
            let _ = writeln!(lines, "{} = {value}", setting.key);
        }
    }
    lines
}

/// A value as users type it: a text without its quotes.
pub fn plain(shown: &str) -> String {
    let is_text = shown.starts_with(['"', '\'']);
    let read = || format!("value = {shown}").parse::<toml::Table>().ok();
    let text = is_text.then(read).flatten();
    let text = text.as_ref().and_then(|table| table.get("value")?.as_str());
    text.unwrap_or(shown).to_owned()
}
