//! Reads each kind of value from the file or the command line, and writes it as TOML.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::measure::{
    fraction_of_milliseconds, parse_duration, parse_size, spell_duration, spell_size,
};
use crate::raw_setting::{Raw, RawSetting};
use crate::{BackendAddress, Fault, IpNet, ListenAddress, Secret, ValueType};

/// A type that a setting can have.
pub trait Value: Sized {
    /// The kind of the value, for faults, help and manual.
    const KIND: ValueType;
    /// The TOML for "no value", if the setting may be absent.
    const NOTHING: &'static str = "\"\"";

    /// Reads a value.
    ///
    /// # Errors
    /// Every fault of the given value (a list may have several).
    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>>;

    /// Writes the value as TOML; a secret is masked.
    fn to_toml(&self) -> String;

    /// Writes the value as TOML; a secret is not masked.
    fn exposed(&self) -> String {
        self.to_toml()
    }
}

/// `text` as a TOML string.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

macro_rules! counts {
    ($($type:ty, $nothing:literal);+) => { $( impl Value for $type {
        const KIND: ValueType = ValueType::Count;
        const NOTHING: &'static str = $nothing;

        fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
            let number = given.number().ok_or_else(|| given.wrong(Self::KIND))?;
            let number = given.within_range(Self::KIND, number.into())?;
            Ok(Self::try_from(number).expect("the setting's range fits its type"))
        }

        fn to_toml(&self) -> String {
            self.to_string()
        }
    } )+ };
}

// A `u16` is for settings in which 0 is an ordinary number, and "no value" has its own form.
counts!(u8, "0"; u32, "0"; usize, "0"; u16, "\"\"");

/// Values within the range and its bounds are allowed.
impl Value for f64 {
    const KIND: ValueType = ValueType::Fraction;

    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
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
    const KIND: ValueType = ValueType::Truth;

    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
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
    const KIND: ValueType = ValueType::Size;
    const NOTHING: &'static str = "0";

    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
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
    const KIND: ValueType = ValueType::Duration;

    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
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

impl Value for String {
    const KIND: ValueType = ValueType::Text;

    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
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
    const KIND: ValueType = ValueType::Path;

    /// A relative path in a file starts from that file's folder.
    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
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
    const KIND: ValueType = ValueType::Secret;

    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
        let (Raw::Text(text) | Raw::Word(text)) = given.raw else {
            // Not `wrong`, which would show the given value.
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

/// Reads a value with its type's parser, and reports the parser's own error.
pub(crate) fn parse<T: Value + FromStr<Err: std::fmt::Display>>(
    given: &RawSetting<'_>,
) -> Result<T, Vec<Fault>> {
    let text = given.text(T::KIND)?;
    text.parse()
        .map_err(|error| vec![given.fault(format!("must be {}: {error}", T::KIND.describe()))])
}

impl Value for ListenAddress {
    const KIND: ValueType = ValueType::ListenAddress;

    /// A bare number is a port.
    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
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
    const KIND: ValueType = ValueType::BackendAddress;

    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
        parse(given)
    }

    fn to_toml(&self) -> String {
        quoted(&self.to_string())
    }
}

impl Value for IpNet {
    const KIND: ValueType = ValueType::Network;

    /// A single address is a network of its own.
    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
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
    const KIND: ValueType = ValueType::IpAddress;

    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
        let text = given.text(Self::KIND)?;
        text.parse().map_err(|_| given.wrong(Self::KIND))
    }

    fn to_toml(&self) -> String {
        quoted(&self.to_string())
    }
}

/// A setting that may be absent: `""`, or 0 if the setting says so, removes its value.
impl<T: Value> Value for Option<T> {
    const KIND: ValueType = T::KIND;

    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
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

/// A list. A single value is a list of one; a word of the command line is split at commas.
impl<T: Value> Value for Vec<T> {
    const KIND: ValueType = ValueType::List(&T::KIND);

    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
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

/// Reads every item, or returns every fault.
fn read_all<T: Value>(items: &[RawSetting<'_>]) -> Result<Vec<T>, Vec<Fault>> {
    let mut values = Vec::new();
    let mut faults = Vec::new();
    for item in items {
        // A word in a list may itself be a list with commas.
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
