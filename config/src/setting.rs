//! The registry of settings: name, text, kind, range, and when a change applies.
//! All code that shows, reads or explains settings uses these entries.

use std::time::Duration;

use crate::measure::{spell_duration, spell_size};
use crate::raw_setting::RawSetting;
use crate::renamed::new_name;
use crate::{
    AccountConfig, AdminAccountConfig, BackendConfig, ChangeFileConfig, Config, Fault, KafkaConfig,
    ListenerConfig, ReplicationConfig, ReplicationFilterConfig, RuleConfig, RuleTestConfig,
};

/// One setting of `Owner` ([`Config`], or [`BackendConfig`] for the settings of a `[[backend]]`, and so on).
pub struct Setting<Owner: 'static> {
    /// Dotted name, such as `limits.sessions_max`, or `backend.weight`.
    pub name: &'static str,
    /// The name within its section; `routing.cluster` if it is in a table within the section.
    pub key: &'static str,
    pub(crate) about: &'static str,
    /// The kind of its value.
    pub kind: ValueType,
    /// Range, meaning of 0, when a change applies.
    pub traits: Traits,
    pub(crate) read: fn(&mut Owner, &RawSetting<'_>) -> Result<(), Vec<Fault>>,
    /// Returns its value in TOML, with a secret masked.
    pub show: fn(&Owner) -> String,
    /// Returns its value in TOML, with a secret in clear.
    pub(crate) expose: fn(&Owner) -> String,
    /// Whether two configurations have the same value.
    pub same: fn(&Owner, &Owner) -> bool,
    pub(crate) copy: fn(&mut Owner, &Owner),
}

/// A table of the file, and the settings in it.
pub struct Section<Owner: 'static> {
    /// The table's name; empty for the settings above all tables.
    pub name: &'static str,
    /// Heading in help and manual.
    pub title: &'static str,
    pub(crate) about: &'static str,
    /// Its settings, in the manual's order.
    pub settings: &'static [Setting<Owner>],
}

/// The kind of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A whole number.
    Count,
    /// True or false.
    Truth,
    /// A number that may have a fraction.
    Fraction,
    /// A time, `"2s"`, or a number of seconds.
    Duration,
    /// A time of day, `"22:00"`.
    TimeOfDay,
    /// A part of the day, `"22:00-06:00"`.
    TimeSpan,
    /// A size, `"16MiB"`, or a number of bytes.
    Size,
    /// Any text.
    Text,
    /// A statement or a part of one, which may have commas and line ends.
    Statement,
    /// A file's path.
    Path,
    /// Text that is never shown; `file:PATH` and `env:NAME` say where it is.
    Secret,
    /// An address to listen on.
    ListenAddress,
    /// A backend's address.
    BackendAddress,
    /// `backend`, or an address to which a driver can be redirected.
    Redirect,
    /// A network, `10.0.0.0/8`, or a single address.
    Network,
    /// An IP address.
    IpAddress,
    /// A value of a result: a text, a number, or `\N` for NULL.
    Cell,
    /// One of several words.
    Choice(&'static [Choice]),
    /// Several values of a kind.
    List(&'static ValueType),
}

/// One of the words that a setting's value may be.
#[derive(Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word.
    pub name: &'static str,
    /// Other words with the same meaning.
    pub also: &'static [&'static str],
    pub(crate) about: &'static str,
}

/// When a changed setting takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applies {
    /// At the next reload (SIGHUP).
    AtReload,
    /// When the proxy is started again.
    AtRestart,
}

/// Properties of a setting besides the kind of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// When a change takes effect.
    pub applies: Applies,
    /// Least and largest number (milliseconds of a duration, bytes of a size).
    pub range: (u64, u64),
    /// The meaning of 0 or an empty text, if that is allowed outside `range`.
    pub nothing: Option<&'static str>,
    /// The manual's text for the default, if the default depends on the machine.
    pub default_text: Option<&'static str>,
    /// Whether the file must give a value.
    pub required: bool,
}

impl Traits {
    /// A change applies at the next reload.
    pub const RELOAD: Self = Self::new(Applies::AtReload);
    /// A change needs a restart.
    pub const RESTART: Self = Self::new(Applies::AtRestart);

    const fn new(applies: Applies) -> Self {
        Self {
            applies,
            range: (0, u32::MAX as u64),
            nothing: None,
            default_text: None,
            required: false,
        }
    }

    /// Sets the range of a number, a size in bytes or a duration in milliseconds.
    pub(crate) const fn within(mut self, least: u64, most: u64) -> Self {
        self.range = (least, most);
        self
    }

    /// Allows 0 (or an empty text), with this meaning.
    pub(crate) const fn nothing(mut self, meaning: &'static str) -> Self {
        self.nothing = Some(meaning);
        self
    }

    /// Sets the manual's text in place of this machine's default.
    pub(crate) const fn default_text(mut self, text: &'static str) -> Self {
        self.default_text = Some(text);
        self
    }

    /// The file must give a value.
    pub(crate) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// The traits of the setting in another table: a change applies as in that table, and `elsewhere` names the
    /// default.
    pub(crate) const fn with_default_of(mut self, table: Self, elsewhere: &'static str) -> Self {
        if matches!(table.applies, Applies::AtRestart) {
            self.applies = Applies::AtRestart;
        }
        self.default_text = Some(elsewhere);
        self
    }
}

impl Applies {
    /// The text for manual and log: `applies at reload`, `needs a restart`.
    pub fn describe(self) -> &'static str {
        match self {
            Self::AtReload => "applies at reload",
            Self::AtRestart => "needs a restart",
        }
    }
}

impl ValueType {
    /// The text for a fault about a wrong value: `a duration such as "2s"`.
    pub fn describe(self) -> String {
        match self {
            Self::Count => "a whole number".to_owned(),
            Self::Fraction => "a number such as 10 or 0.5".to_owned(),
            Self::Truth => "true or false".to_owned(),
            Self::TimeOfDay => "a time of day such as \"22:00\"".to_owned(),
            Self::TimeSpan => "a part of the day such as \"22:00-06:00\"".to_owned(),
            Self::Duration => "a duration such as \"2s\", \"500ms\" or \"10m\"".to_owned(),
            Self::Size => "a size such as \"16MiB\", \"1GiB\" or a number of bytes".to_owned(),
            Self::Text | Self::Statement => "a text".to_owned(),
            Self::Path => "a file's path".to_owned(),
            Self::Secret => "a text, \"file:PATH\" or \"env:NAME\"".to_owned(),
            Self::ListenAddress => "an address such as \"0.0.0.0:4040\"".to_owned(),
            Self::BackendAddress => "an address such as \"db1:3306\"".to_owned(),
            Self::Redirect => "\"backend\" or an address such as \"proxy2:4040\"".to_owned(),
            Self::Network => "a network such as \"10.0.0.0/8\"".to_owned(),
            Self::IpAddress => "an IP address such as \"10.0.0.7\"".to_owned(),
            Self::Cell => "a text, a number, or '\\N' for NULL".to_owned(),
            Self::Choice(choices) => {
                let names: Vec<_> = choices
                    .iter()
                    .map(|it| format!("\"{}\"", it.name))
                    .collect();
                format!("one of {}", names.join(", "))
            }
            Self::List(of) => format!("a list, each {}", of.describe()),
        }
    }

    /// The word for a value in help: `N`, `TIME`, `WORD`.
    pub fn placeholder(self) -> String {
        match self {
            Self::Count | Self::Fraction => "N".to_owned(),
            Self::Truth => "true|false".to_owned(),
            Self::Duration | Self::TimeOfDay | Self::TimeSpan => "TIME".to_owned(),
            Self::Size => "SIZE".to_owned(),
            Self::Text | Self::Statement | Self::Secret | Self::Cell => "TEXT".to_owned(),
            Self::Path => "FILE".to_owned(),
            Self::ListenAddress | Self::BackendAddress | Self::Redirect | Self::IpAddress => {
                "ADDRESS".to_owned()
            }
            Self::Network => "NETWORK".to_owned(),
            Self::Choice(_) => "WORD".to_owned(),
            Self::List(of) => format!("{},…", of.placeholder()),
        }
    }

    /// The words that the value, or each value of a list, may be.
    pub fn choices(self) -> Option<&'static [Choice]> {
        match self {
            Self::Choice(choices) => Some(choices),
            Self::List(of) => of.choices(),
            _ => None,
        }
    }

    /// Whether several values may be given.
    pub fn is_list(self) -> bool {
        matches!(self, Self::List(_))
    }

    /// A measure (number, milliseconds, bytes) as people write it.
    pub(crate) fn spell(self, measure: u64) -> String {
        match self {
            Self::Duration => spell_duration(Duration::from_millis(measure)),
            Self::Size => spell_size(measure),
            _ => measure.to_string(),
        }
    }

    /// Whether `Traits::range` applies to this kind.
    pub(crate) fn is_measured(self) -> bool {
        matches!(
            self,
            Self::Count | Self::Fraction | Self::Duration | Self::Size
        )
    }
}

impl<Owner> Section<Owner> {
    /// The section's description, as running text.
    pub fn about(&self) -> String {
        running_text(self.about)
    }
}

impl Choice {
    /// The meaning of the choice, as running text.
    pub fn about(&self) -> String {
        running_text(self.about)
    }
}

impl<Owner> Setting<Owner> {
    /// The setting's description, as running text.
    pub fn about(&self) -> String {
        running_text(self.about)
    }

    /// Its key without the table within the section: the name of a column.
    pub fn column(&self) -> &'static str {
        self.key.rsplit_once('.').map_or(self.key, |(_, key)| key)
    }

    /// The table within its section that contains the setting, if any.
    pub(crate) fn table(&self) -> Option<&'static str> {
        self.key.split_once('.').map(|(table, _)| table)
    }

    /// The first sentence of [`about`](Self::about), without its full stop.
    pub fn summary(&self) -> String {
        let about = self.about();
        let end = about.find(". ").unwrap_or(about.len());
        about[..end].trim_end_matches('.').to_owned()
    }

    /// Its range as people read it, `1 to 64`; `None` if its kind has no range.
    pub fn range(&self) -> Option<String> {
        let (least, most) = self.traits.range;
        self.kind
            .is_measured()
            .then(|| format!("{} to {}", self.kind.spell(least), self.kind.spell(most)))
    }
}

impl Setting<Config> {
    /// Its long option on the command line: `--limits-sessions-max`, without the dashes in front.
    pub fn option(&self) -> String {
        self.name.replace(['.', '_'], "-")
    }
}

/// Every setting except those of `[[backend]]` and the other lists.
pub fn settings() -> impl Iterator<Item = &'static Setting<Config>> {
    crate::SECTIONS.iter().flat_map(|section| section.settings)
}

/// Every setting as [`settings`] returns them, each with its section.
pub fn sections_and_settings()
-> impl Iterator<Item = (&'static Section<Config>, &'static Setting<Config>)> {
    let sections = crate::SECTIONS.iter();
    sections.flat_map(|section| section.settings.iter().map(move |it| (section, it)))
}

/// The setting with this dotted name, or the setting that had this name in the previous version.
pub fn setting(name: &str) -> Option<&'static Setting<Config>> {
    let name = new_name(name).unwrap_or(name);
    settings().find(|setting| setting.name == name)
}

/// The settings of a `[[backend]]`.
pub const BACKEND: Section<BackendConfig> = BackendConfig::SECTION;
/// The settings of a `[[listener]]`.
pub const LISTENER: Section<ListenerConfig> = ListenerConfig::SECTION;
/// The settings of an `[[account]]`.
pub const ACCOUNT: Section<AccountConfig> = AccountConfig::SECTION;
/// The settings of an `[[admin_account]]`.
pub const ADMIN_ACCOUNT: Section<AdminAccountConfig> = AdminAccountConfig::SECTION;
/// The settings of a `[[replication]]`.
pub const REPLICATION: Section<ReplicationConfig> = ReplicationConfig::SECTION;

/// The settings of a `[[replication.filter]]`.
pub const REPLICATION_FILTER: Section<ReplicationFilterConfig> = ReplicationFilterConfig::SECTION;

/// The settings of a `[[replication.change_file]]`.
pub const CHANGE_FILE: Section<ChangeFileConfig> = ChangeFileConfig::SECTION;

/// The settings of a `[[replication.kafka]]`.
pub const KAFKA: Section<KafkaConfig> = KafkaConfig::SECTION;

/// The settings of a `[[rule]]`.
pub const RULE: Section<RuleConfig> = RuleConfig::SECTION;
/// The settings of a `[[rule.test]]`.
pub const RULE_TEST: Section<RuleTestConfig> = RuleTestConfig::SECTION;

/// Joins the lines of a doc comment to running text; an empty line becomes a paragraph.
fn running_text(doc: &str) -> String {
    let paragraphs: Vec<_> = doc
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|paragraph| !paragraph.is_empty())
        .collect();
    paragraphs.join("\n\n")
}
