//! The settings as text, derived from their definitions: the command line's help, the manual's page,
//! and the file itself.

use std::fmt::Write;

use crate::listed::{ArrayTable, Listed};
use crate::mysql_proxy::{self, Legacy, Meaning};
use crate::setting::{Section, Setting};
use crate::{
    AccountConfig, AccountsConfig, AdminAccountConfig, AdminConfig, BackendConfig,
    ChangeFileConfig, Config, HintsConfig, KafkaConfig, ListenerConfig, PRIMARIES, REPLICAS,
    ReplicationConfig, ReplicationFilterConfig, RuleConfig, RuleTestConfig, SECTIONS,
    SchemaHistoryConfig,
};

/// An option of the command line that is no setting of its own.
pub struct ListOption {
    /// The list it stands for, [`PRIMARIES`] or [`REPLICAS`].
    pub list: &'static str,
    /// Its long name without dashes.
    pub option: &'static str,
    /// What it does.
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

/// The default as one types it: no quotes, no brackets.
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

/// The same with the secrets as they are, for whoever reads it back.
pub(crate) fn exposed(config: &Config) -> String {
    write_toml(config, Detail::Exposed)
}

/// Which settings are written.
#[derive(Clone, Copy)]
enum Detail {
    Everything,
    /// Those that are not at their default, and those that must be there.
    Differences,
    /// The same, secrets among them.
    Exposed,
}

impl Detail {
    /// The same without settings that say nothing.
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
        // What a rule does not say is no setting with a default: it is left open.
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

/// The manual's page of settings, in Markdown.
pub fn settings_page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let (whole, tables) = SECTIONS
        .split_first()
        .expect("there is a section above all tables");
    section_page(&mut page, whole, &Config::default());
    list_page::<ListenerConfig>(&mut page);
    list_page::<BackendConfig>(&mut page);
    for section in tables {
        if section.name == SchemaHistoryConfig::SECTION.name {
            list_page::<ReplicationConfig>(&mut page);
            list_page::<ReplicationFilterConfig>(&mut page);
            list_page::<ChangeFileConfig>(&mut page);
            list_page::<KafkaConfig>(&mut page);
        }
        section_page(&mut page, section, &Config::default());
        if section.name == AccountsConfig::SECTION.name {
            list_page::<AccountConfig>(&mut page);
        }
        if section.name == AdminConfig::SECTION.name {
            list_page::<AdminAccountConfig>(&mut page);
        }
        if section.name == HintsConfig::SECTION.name {
            list_page::<RuleConfig>(&mut page);
            list_page::<RuleTestConfig>(&mut page);
        }
    }
    page.push_str(&mysql_proxy_page());
    page
}

const INTRODUCTION: &str = "\
<!-- Written by `cargo run -p xtask -- settings` from config/src/model.rs and what is beside it;
     changes here are lost. -->
# Settings

Every setting has a default; `pilotfish --backend HOST:PORT` needs no file. A file is given with
`--config FILE` and is written in [TOML](https://toml.io):

```toml
listen = [\":4040\"]

[limits]
sessions_max = 500

[[backend]]
address = \"db1:3306\"

[[backend]]
address = \"db2:3306\"
role = \"replica\"
```

`pilotfish --config FILE --check` reads the whole file, prints every fault with its line and what to
do about it, and ends with exit code 1 when there is one.

- Each setting is also an option of the command line, which wins over the file:
  `limits.sessions_max` is `--limits-sessions-max`. An option for a list takes its values with commas
  between them, and may be repeated.
- A duration is a text such as `\"500ms\"`, `\"2s\"`, `\"10m\"`, `\"8h\"`, or a number of seconds. A size is a
  text such as `\"16MiB\"`, or a number of bytes.
- An address is `\"host:port\"`, `\"[IPv6]:port\"`, or the path of a Unix socket, `\"/run/db.sock\"` or
  `\"unix:/run/db.sock\"`.
- Relative paths in the file start from the file's folder, those on the command line from the working
  directory.
- An empty text takes away a value that an optional setting has.
- On SIGHUP the file is read again. If it has a fault, nothing changes and the log says why.
  Otherwise all settings marked \"applies at reload\" take effect at once, and those of new sessions
  for new sessions. The log names every setting that changed, and those that need a restart.
";

/// A section of the page.
fn section_page(page: &mut String, section: &Section<Config>, default: &Config) {
    let table = match section.name {
        "" => String::new(),
        name => format!(" `[{name}]`"),
    };
    settings_of(page, section, &table, default, |setting| {
        let own = setting.option();
        let others = mysql_proxy::names_of(setting.name).filter(|option| option.name != own);
        let others = others.map(|option| option.name.to_owned());
        let options = std::iter::once(own.clone()).chain(others);
        options.map(|option| format!("`--{option}`")).collect()
    });
}

/// A list's section of the page; its settings are no options of the command line.
fn list_page<T: ArrayTable>(page: &mut String) {
    let table = format!(" `[[{}]]`", T::TABLE.name);
    settings_of(page, &T::TABLE, &table, &T::default(), |_| Vec::new());
}

fn settings_of<Owner>(
    page: &mut String,
    section: &Section<Owner>,
    table: &str,
    default: &Owner,
    options: impl Fn(&Setting<Owner>) -> Vec<String>,
) {
    let _ = write!(
        page,
        "\n## {}{table}\n\n{}\n",
        section.title,
        section.about()
    );
    for setting in section.settings {
        let _ = write!(page, "\n### `{}`\n\n{}\n\n", setting.name, setting.about());
        if let Some(choices) = setting.kind.choices() {
            for choice in choices {
                let _ = writeln!(page, "- `\"{}\"`: {}", choice.name, choice.about());
            }
            page.push('\n');
        }
        let mut facts = facts(setting, default);
        facts.extend(options(setting));
        let _ = writeln!(page, "{}", facts.join(" · "));
    }
}

/// What else is to be known of a setting, but for its options.
fn facts<Owner>(setting: &Setting<Owner>, default: &Owner) -> Vec<String> {
    let mut facts = vec![match setting.traits.default_text {
        _ if setting.traits.required => "Required".to_owned(),
        Some(text) if text.contains(' ') => format!("Default: {text}"),
        Some(text) => format!("Default `{text}`"),
        None => match (setting.show)(default).as_str() {
            "\"\"" => "Default: none".to_owned(),
            shown => format!("Default `{shown}`"),
        },
    }];
    facts.extend(setting.range().map(|range| format!("from {range}")));
    facts.extend(
        setting
            .traits
            .nothing
            .map(|meaning| format!("0: {meaning}")),
    );
    facts.push(setting.traits.applies.describe().to_owned());
    facts
}

fn mysql_proxy_page() -> String {
    let mut page = MYSQL_PROXY.to_owned();
    for option in mysql_proxy::OPTIONS {
        let _ = writeln!(page, "| {} | {} |", spelled(option), here(option));
    }
    page
}

const MYSQL_PROXY: &str = "
## MySQL Proxy's options

The options of MySQL Proxy 0.8 are read too, on the command line and from its `--defaults-file` (group
`[mysql-proxy]`). The command line wins over that file.

| MySQL Proxy | Pilotfish |
|---|---|
";

fn spelled(option: &Legacy) -> String {
    match option.short {
        Some(letter) => format!("`--{}`, `-{letter}`", option.name),
        None => format!("`--{}`", option.name),
    }
}

fn here(option: &Legacy) -> String {
    match option.meaning {
        Meaning::Setting(list) if [PRIMARIES, REPLICAS].contains(&list) => {
            format!("`--{}`", list.replace('_', "-"))
        }
        Meaning::Setting(name) => format!("`{name}`"),
        Meaning::Listen => "`listen`; without a port 3306 is meant".to_owned(),
        Meaning::BaseFolder => "relative paths of options start from it".to_owned(),
        Meaning::Plugins => {
            "`proxy`, `admin`, and `replicant` alone; others are refused".to_owned()
        }
        Meaning::Replicant(option) => option.describe().to_owned(),
        Meaning::Unneeded(text) => format!("accepted with a warning: {text}"),
        Meaning::Refused(text) => format!("refused: {text}"),
    }
}

/// A value as one types it: a text without its quotes.
pub fn plain(shown: &str) -> String {
    let is_text = shown.starts_with(['"', '\'']);
    let read = || format!("value = {shown}").parse::<toml::Table>().ok();
    let text = is_text.then(read).flatten();
    let text = text.as_ref().and_then(|table| table.get("value")?.as_str());
    text.unwrap_or(shown).to_owned()
}
