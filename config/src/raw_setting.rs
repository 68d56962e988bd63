//! The value that a user has written for a setting, before it has a type, and its place.

use std::path::Path;

use toml::Spanned;
use toml::de::DeValue;

use crate::measure::BEYOND;
use crate::nearest::{did_you_mean, nearest};
use crate::{Fault, Override, SourceLocation, Traits, ValueType};

/// The value that a user has written for one setting.
pub struct RawSetting<'a> {
    /// The value itself.
    pub(crate) raw: Raw<'a>,
    /// Its place in the file or on the command line.
    pub(crate) location: SourceLocation,
    /// The setting as it was written, for faults.
    pub(crate) name: &'a str,
    /// The range and other properties.
    pub(crate) traits: &'a Traits,
    /// The base folder of relative paths.
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
    List(Vec<RawSetting<'a>>),
    /// A kind of value that no setting accepts, by its name.
    Other(&'static str),
}

impl<'a> RawSetting<'a> {
    /// A fault of this value.
    pub(crate) fn fault(&self, text: impl Into<String>) -> Fault {
        Fault::new(self.location.clone(), self.name, text)
    }

    /// The fault that the value is not of this kind.
    pub(crate) fn wrong(&self, kind: ValueType) -> Vec<Fault> {
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

    pub(crate) fn text(&self, kind: ValueType) -> Result<&'a str, Vec<Fault>> {
        match self.raw {
            Raw::Text(text) | Raw::Word(text) => Ok(text),
            _ => Err(self.wrong(kind)),
        }
    }

    /// A whole number, as the file or the command line writes it.
    pub(crate) fn number(&self) -> Option<i64> {
        match self.raw {
            Raw::Number(number) => Some(number),
            Raw::Word(word) => word.replace('_', "").parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn within_range(&self, kind: ValueType, measure: i128) -> Result<u64, Vec<Fault>> {
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

    /// The index of the choice that the value names. The case does not matter, and `-` stands for `_`.
    pub(crate) fn choice_index(&self, kind: ValueType) -> Result<usize, Vec<Fault>> {
        let ValueType::Choice(choices) = kind else {
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
    pub(crate) fn with(&self, raw: Raw<'a>) -> RawSetting<'a> {
        RawSetting {
            raw,
            location: self.location.clone(),
            ..*self
        }
    }

    /// Whether the value means "no value" for an optional setting.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self.raw, Raw::Text("") | Raw::Word(""))
            || (self.traits.nothing.is_some() && self.number() == Some(0))
    }
}

/// The file being read.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub path: &'a Path,
    pub text: &'a str,
    pub folder: &'a Path,
}

impl Source<'_> {
    pub(crate) fn location(&self, offset: usize) -> SourceLocation {
        SourceLocation::within(self.path, self.text, offset)
    }
}

/// A value of the file, before it has a type.
pub(crate) fn from_file<'a>(
    source: Source<'a>,
    name: &'a str,
    traits: &'a Traits,
    value: &'a Spanned<DeValue<'_>>,
) -> RawSetting<'a> {
    let raw = match value.get_ref() {
        DeValue::String(text) => Raw::Text(text),
        // A number that does not fit is outside every range.
        DeValue::Integer(number) => {
            Raw::Number(i64::from_str_radix(number.as_str(), number.radix()).unwrap_or(i64::MAX))
        }
        DeValue::Float(number) => Raw::Fraction(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(truth) => Raw::Truth(*truth),
        DeValue::Datetime(_) => Raw::Other("a date"),
        DeValue::Table(_) => Raw::Other("a table"),
        DeValue::Array(items) => Raw::List(
            items
                .iter()
                .map(|item| from_file(source, name, traits, item))
                .collect(),
        ),
    };
    RawSetting {
        raw,
        location: source.location(value.span().start),
        name,
        traits,
        folder: source.folder,
    }
}

/// A value of the command line, before it has a type.
pub(crate) fn is_in_file<'a>(
    option: &'a Override,
    kind: ValueType,
    traits: &'a Traits,
) -> RawSetting<'a> {
    let word = |word: &'a str| RawSetting {
        raw: Raw::Word(word),
        location: option.location.clone(),
        name: &option.name,
        traits,
        folder: Path::new(""),
    };
    match option.words.last() {
        Some(last) if !kind.is_list() => word(last),
        _ => {
            let items = option.words.iter().map(|it| word(it)).collect();
            RawSetting {
                raw: Raw::List(items),
                ..word("")
            }
        }
    }
}
