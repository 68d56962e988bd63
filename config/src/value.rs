//! How each kind of value is read from the file or the command line, and written back as TOML.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::nearest::nearest;
use crate::{BackendAddress, Fault, IpNet, Kind, ListenAddress, Place, Secret, Traits};

/// A type that a setting can have.
pub trait Value: Sized {
    /// What it is called in faults, help and manual.
    const KIND: Kind;
    /// How "nothing" is written, where the setting may be absent.
    const NOTHING: &'static str = "\"\"";

    /// Reads it.
    ///
    /// # Errors
    /// Every fault found in what was given (a list may have several).
    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>>;

    /// Writes it as TOML; a secret is masked.
    fn to_toml(&self) -> String;

    /// The same, and a secret is not.
    fn exposed(&self) -> String {
        self.to_toml()
    }
}

/// What a person wrote for one setting.
pub struct Given<'a> {
    /// The value itself.
    pub(crate) raw: Raw<'a>,
    /// Where it stands.
    pub(crate) place: Place,
    /// The setting as it was written, for faults.
    pub(crate) name: &'a str,
    /// Range and such.
    pub(crate) traits: &'a Traits,
    /// Folder that relative paths start from.
    pub(crate) folder: &'a Path,
}

/// A value before it has a type.
pub(crate) enum Raw<'a> {
    /// A TOML string.
    Text(&'a str),
    /// A word of the command line, which may be a number as well, or a list with commas.
    Word(&'a str),
    Number(i64),
    Fraction(f64),
    Truth(bool),
    /// A TOML array, or the words of a repeated option.
    List(Vec<Given<'a>>),
    /// What no setting takes, by its name.
    Other(&'static str),
}

impl<'a> Given<'a> {
    /// A fault of this value.
    pub(crate) fn fault(&self, text: impl Into<String>) -> Fault {
        Fault::new(self.place.clone(), self.name, text)
    }

    /// The fault that this is no value of `kind`.
    pub(crate) fn wrong(&self, kind: Kind) -> Vec<Fault> {
        let found = match &self.raw {
            Raw::Text("") | Raw::Word("") => "nothing".to_owned(),
            Raw::Text(text) | Raw::Word(text) => format!("\"{text}\""),
            Raw::Number(number) => number.to_string(),
            Raw::Fraction(number) => number.to_string(),
            Raw::Truth(_) => "a boolean".to_owned(),
            Raw::List(_) => "a list".to_owned(),
            Raw::Other(name) => (*name).to_owned(),
        };
        vec![self.fault(format!("must be {}, not {found}", kind.describe()))]
    }

    pub(crate) fn text(&self, kind: Kind) -> Result<&'a str, Vec<Fault>> {
        match self.raw {
            Raw::Text(text) | Raw::Word(text) => Ok(text),
            _ => Err(self.wrong(kind)),
        }
    }

    /// A whole number, as the file or the command line writes it.
    fn number(&self) -> Option<i64> {
        match self.raw {
            Raw::Number(number) => Some(number),
            Raw::Word(word) => word.replace('_', "").parse().ok(),
            _ => None,
        }
    }

    fn within_range(&self, kind: Kind, measure: i128) -> Result<u64, Vec<Fault>> {
        let (least, most) = self.traits.range;
        if measure == 0 && self.traits.nothing.is_some() {
            return Ok(0);
        }
        if (i128::from(least)..=i128::from(most)).contains(&measure) {
            return Ok(measure.unsigned_abs() as u64);
        }
        let nothing = match self.traits.nothing {
            Some(meaning) => format!(", or 0 ({meaning})"),
            None => String::new(),
        };
        let found = match u64::try_from(measure.unsigned_abs()) {
            Ok(size) if size >= BEYOND => "more".to_owned(),
            Ok(size) if measure < 0 => format!("-{}", kind.spell(size)),
            Ok(size) => kind.spell(size),
            Err(_) => "more".to_owned(),
        };
        let (least, most) = (kind.spell(least), kind.spell(most));
        Err(vec![self.fault(format!(
            "must be from {least} to {most}{nothing}, not {found}"
        ))])
    }

    /// Which of the choices it names: case does not matter, nor `-` for `_`.
    pub(crate) fn choice(&self, kind: Kind) -> Result<usize, Vec<Fault>> {
        let Kind::Choice(choices) = kind else {
            return Err(self.wrong(kind));
        };
        let word = self.text(kind)?.to_ascii_lowercase().replace('-', "_");
        let named = |word: &str| {
            choices
                .iter()
                .position(|it| it.name == word || it.also.contains(&word))
        };
        named(&word).ok_or_else(|| {
            let mut faults = self.wrong(kind);
            if let Some(meant) = nearest(&word, choices.iter().map(|it| it.name)) {
                faults = faults
                    .into_iter()
                    .map(|it| it.hint(did_you_mean(meant)))
                    .collect();
            }
            faults
        })
    }

    /// Another value at the same place.
    fn with(&self, raw: Raw<'a>) -> Given<'a> {
        Given {
            raw,
            place: self.place.clone(),
            ..*self
        }
    }

    /// Whether it says that an optional setting is to have no value.
    fn is_nothing(&self) -> bool {
        matches!(self.raw, Raw::Text("") | Raw::Word(""))
            || (self.traits.nothing.is_some() && self.number() == Some(0))
    }
}

/// The hint that a name is mistyped.
pub(crate) fn did_you_mean(name: &str) -> String {
    format!("did you mean \"{name}\"?")
}

/// `text` as a TOML string.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

macro_rules! counts {
    ($($type:ty, $nothing:literal);+) => { $( impl Value for $type {
        const KIND: Kind = Kind::Count;
        const NOTHING: &'static str = $nothing;

        fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
            let number = given.number().ok_or_else(|| given.wrong(Self::KIND))?;
            let number = given.within_range(Self::KIND, number.into())?;
            Ok(Self::try_from(number).expect("the setting's range fits its type"))
        }

        fn to_toml(&self) -> String {
            self.to_string()
        }
    } )+ };
}

// A `u16` is for where 0 is a number like others, and none is something else.
counts!(u8, "0"; u32, "0"; usize, "0"; u16, "\"\"");

/// The range's bounds are allowed, and everything between them.
impl Value for f64 {
    const KIND: Kind = Kind::Fraction;

    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
        let number = match given.raw {
            Raw::Number(number) => number as f64,
            Raw::Fraction(number) => number,
            Raw::Word(word) => word.parse().map_err(|_| given.wrong(Self::KIND))?,
            _ => return Err(given.wrong(Self::KIND)),
        };
        let (least, most) = given.traits.range;
        if (least as f64..=most as f64).contains(&number) {
            return Ok(number);
        }
        let text = format!("must be from {least} to {most}, not {number}");
        Err(vec![given.fault(text)])
    }

    fn to_toml(&self) -> String {
        toml::Value::Float(*self).to_string()
    }
}

/// MySQL's own words, `ON` and `OFF`, are read as well.
impl Value for bool {
    const KIND: Kind = Kind::Truth;

    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
        let word = match given.raw {
            Raw::Truth(truth) => return Ok(truth),
            Raw::Text(word) | Raw::Word(word) => word.to_ascii_lowercase(),
            _ => return Err(given.wrong(Self::KIND)),
        };
        match word.as_str() {
            "true" | "on" => Ok(true),
            "false" | "off" => Ok(false),
            _ => Err(given.wrong(Self::KIND)),
        }
    }

    fn to_toml(&self) -> String {
        self.to_string()
    }
}

/// A `u64` is a size in bytes.
impl Value for u64 {
    const KIND: Kind = Kind::Size;
    const NOTHING: &'static str = "0";

    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
        let bytes = match (given.number(), &given.raw) {
            (Some(number), _) => Some(number.into()),
            (None, Raw::Text(text) | Raw::Word(text)) => parse_size(text),
            _ => None,
        };
        given.within_range(Self::KIND, bytes.ok_or_else(|| given.wrong(Self::KIND))?)
    }

    fn to_toml(&self) -> String {
        match spell_size(*self) {
            number if number.bytes().all(|byte| byte.is_ascii_digit()) => number,
            size => quoted(&size),
        }
    }
}

impl Value for Duration {
    const KIND: Kind = Kind::Duration;

    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
        let milliseconds = match (given.number(), &given.raw) {
            (Some(seconds), _) => Some(i128::from(seconds) * 1000),
            (None, Raw::Fraction(seconds)) => fraction_of_milliseconds(*seconds, 1000),
            (None, Raw::Text(text) | Raw::Word(text)) => parse_duration(text),
            _ => None,
        };
        let milliseconds = milliseconds.ok_or_else(|| given.wrong(Self::KIND))?;
        given
            .within_range(Self::KIND, milliseconds)
            .map(Self::from_millis)
    }

    fn to_toml(&self) -> String {
        quoted(&spell_duration(*self))
    }
}

/// No measure beyond this is told apart from others; far above every range, far below an overflow.
const BEYOND: u64 = 1 << 60;

fn fraction_of_milliseconds(number: f64, unit_milliseconds: u64) -> Option<i128> {
    let milliseconds = number * unit_milliseconds as f64;
    (milliseconds.abs() < BEYOND as f64).then(|| milliseconds.round() as i128)
}

/// Reads a duration as the file writes it: `2s`, `500ms`, `1h30m`, or a number of seconds.
pub fn read_duration(text: &str) -> Option<Duration> {
    let milliseconds = parse_duration(text)?;
    u64::try_from(milliseconds).ok().map(Duration::from_millis)
}

/// Reads `2s`, `500ms`, `1h30m`, and `2.5` as seconds; milliseconds.
fn parse_duration(text: &str) -> Option<i128> {
    if let Ok(seconds) = plain_number(text.trim()) {
        return fraction_of_milliseconds(seconds, 1000);
    }
    let mut rest = text.trim();
    let mut sum = 0;
    while !rest.is_empty() {
        let (number, tail) = split_number(rest)?;
        let unit_end = tail
            .find(|it: char| !it.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let unit_milliseconds = match &tail[..unit_end] {
            "ms" => 1,
            "s" => 1000,
            "m" | "min" => 60 * 1000,
            "h" => 60 * 60 * 1000,
            "d" => 24 * 60 * 60 * 1000,
            _ => return None,
        };
        sum += fraction_of_milliseconds(number, unit_milliseconds)?;
        rest = tail[unit_end..].trim_start();
    }
    (!text.trim().is_empty()).then_some(sum)
}

/// Reads `16MiB`, `16M` (as MySQL means it: mebibytes), `1GiB`, `512`; bytes.
fn parse_size(text: &str) -> Option<i128> {
    let (number, unit) = split_number(text.trim())?;
    let unit_bytes: u64 = match unit {
        "" | "B" => 1,
        "K" | "k" | "KiB" => 1 << 10,
        "M" | "m" | "MiB" => 1 << 20,
        "G" | "g" | "GiB" => 1 << 30,
        "T" | "t" | "TiB" => 1 << 40,
        _ => return None,
    };
    let bytes = number * unit_bytes as f64;
    (bytes < BEYOND as f64 && bytes.fract() == 0.0).then_some(bytes as i128)
}

/// Splits `2.5 s` into 2.5 and `s`.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let end = text
        .find(|it: char| !it.is_ascii_digit() && it != '.')
        .unwrap_or(text.len());
    Some((plain_number(&text[..end]).ok()?, text[end..].trim_start()))
}

/// Digits with at most one point; neither `inf` nor `1e9`, which `f64` would read.
fn plain_number(text: &str) -> Result<f64, std::num::ParseFloatError> {
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    f64::from_str(if plain { text } else { "" })
}

/// A duration in its largest unit without a remainder: `8h`, `90s`, `1500ms`, `0s`.
pub(crate) fn spell_duration(duration: Duration) -> String {
    const UNITS: [(&str, u128); 4] = [
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1000),
    ];
    let milliseconds = duration.as_millis();
    if milliseconds == 0 {
        return "0s".to_owned();
    }
    match UNITS
        .iter()
        .find(|(_, unit)| milliseconds.is_multiple_of(*unit))
    {
        Some((name, unit)) => format!("{}{name}", milliseconds / unit),
        None => format!("{milliseconds}ms"),
    }
}

/// A size in its largest unit without a remainder: `1GiB`, `1500`.
pub(crate) fn spell_size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TiB", 1 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
    ];
    let unit = UNITS
        .iter()
        .find(|(_, unit)| bytes != 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(
        || bytes.to_string(),
        |(name, unit)| format!("{}{name}", bytes / unit),
    )
}

impl Value for String {
    const KIND: Kind = Kind::Text;

    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
        let text = given.text(Self::KIND)?;
        if text.chars().any(char::is_control) {
            return Err(vec![given.fault("must not contain control characters")]);
        }
        Ok(text.to_owned())
    }

    fn to_toml(&self) -> String {
        quoted(self)
    }
}

impl Value for PathBuf {
    const KIND: Kind = Kind::Path;

    /// A relative path in a file starts from that file's folder.
    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
        match given.text(Self::KIND)? {
            "" => Err(given.wrong(Self::KIND)),
            path => Ok(given.folder.join(path)),
        }
    }

    fn to_toml(&self) -> String {
        quoted(&self.display().to_string())
    }
}

impl Value for Secret {
    const KIND: Kind = Kind::Secret;

    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
        let (Raw::Text(text) | Raw::Word(text)) = given.raw else {
            // Not `wrong`, which would show what was given.
            return Err(vec![
                given.fault(format!("must be {}", Self::KIND.describe())),
            ]);
        };
        if let Some(path) = text.strip_prefix("file:") {
            let path = given.folder.join(path);
            return match std::fs::read_to_string(&path) {
                Ok(secret) => {
                    let secret = Zeroizing::new(secret);
                    Ok(Self::new(secret.trim_end_matches(['\r', '\n'])))
                }
                Err(error) => Err(vec![
                    given.fault(format!("cannot read {}: {error}", path.display())),
                ]),
            };
        }
        if let Some(name) = text.strip_prefix("env:") {
            return match std::env::var(name) {
                Ok(secret) => Ok(Self::new(secret)),
                Err(_) => Err(vec![given.fault(format!("the environment has no {name}"))]),
            };
        }
        Ok(Self::new(text))
    }

    fn to_toml(&self) -> String {
        "\"…\"".to_owned()
    }

    fn exposed(&self) -> String {
        quoted(self.expose())
    }
}

/// Reads a value that a text's parser knows, with the parser's own error.
pub(crate) fn parse<T: Value + FromStr<Err: std::fmt::Display>>(
    given: &Given<'_>,
) -> Result<T, Vec<Fault>> {
    let text = given.text(T::KIND)?;
    text.parse()
        .map_err(|error| vec![given.fault(format!("must be {}: {error}", T::KIND.describe()))])
}

impl Value for ListenAddress {
    const KIND: Kind = Kind::ListenAddress;

    /// A bare number is a port.
    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
        match &given.raw {
            Raw::Number(port) => port
                .to_string()
                .parse()
                .map_err(|_| given.wrong(Self::KIND)),
            _ => parse(given),
        }
    }

    fn to_toml(&self) -> String {
        quoted(&self.to_string())
    }
}

impl Value for BackendAddress {
    const KIND: Kind = Kind::BackendAddress;

    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
        parse(given)
    }

    fn to_toml(&self) -> String {
        quoted(&self.to_string())
    }
}

impl Value for IpNet {
    const KIND: Kind = Kind::Network;

    /// A single address is a network of its own.
    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
        let text = given.text(Self::KIND)?;
        match text.parse::<IpAddr>() {
            Ok(address) => Ok(address.into()),
            Err(_) => text.parse().map_err(|_| given.wrong(Self::KIND)),
        }
    }

    fn to_toml(&self) -> String {
        quoted(&self.to_string())
    }
}

impl Value for IpAddr {
    const KIND: Kind = Kind::IpAddress;

    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
        let text = given.text(Self::KIND)?;
        text.parse().map_err(|_| given.wrong(Self::KIND))
    }

    fn to_toml(&self) -> String {
        quoted(&self.to_string())
    }
}

/// A setting that may be absent: `""`, or 0 where the setting says so, takes its value away.
impl<T: Value> Value for Option<T> {
    const KIND: Kind = T::KIND;

    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
        if given.is_nothing() {
            Ok(None)
        } else {
            T::read(given).map(Some)
        }
    }

    fn to_toml(&self) -> String {
        self.as_ref()
            .map_or_else(|| T::NOTHING.to_owned(), T::to_toml)
    }

    fn exposed(&self) -> String {
        self.as_ref()
            .map_or_else(|| T::NOTHING.to_owned(), T::exposed)
    }
}

/// A list; a single value is a list of one, a word of the command line is split at commas.
impl<T: Value> Value for Vec<T> {
    const KIND: Kind = Kind::List(&T::KIND);

    fn read(given: &Given<'_>) -> Result<Self, Vec<Fault>> {
        match &given.raw {
            Raw::List(items) => read_all(items),
            Raw::Text("") => Ok(Vec::new()),
            Raw::Word(words) => {
                let words = words
                    .split(',')
                    .map(str::trim)
                    .filter(|word| !word.is_empty());
                let items: Vec<_> = words.map(|word| given.with(Raw::Word(word))).collect();
                read_all(&items)
            }
            _ => Ok(vec![T::read(given)?]),
        }
    }

    fn to_toml(&self) -> String {
        let items: Vec<_> = self.iter().map(T::to_toml).collect();
        format!("[{}]", items.join(", "))
    }
}

/// Reads every item, or finds every fault.
fn read_all<T: Value>(items: &[Given<'_>]) -> Result<Vec<T>, Vec<Fault>> {
    let mut values = Vec::new();
    let mut faults = Vec::new();
    for item in items {
        // A word in a list may itself be a comma list.
        match &item.raw {
            Raw::Word(word) if word.contains(',') => match Vec::<T>::read(item) {
                Ok(several) => values.extend(several),
                Err(found) => faults.extend(found),
            },
            _ => match T::read(item) {
                Ok(value) => values.push(value),
                Err(found) => faults.extend(found),
            },
        }
    }
    if faults.is_empty() {
        Ok(values)
    } else {
        Err(faults)
    }
}
