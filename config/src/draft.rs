//! A configuration's text while it is being changed: the file's own, whose comments and order stay, with
//! settings set and tables added and taken out. Whether the whole is right is found as for any file, by
//! loading it; here each value is looked at on its own.

mod document;
mod lists;
mod pen;
mod spelled;

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::load::read_text;
use crate::nearest::did_you_mean;
use crate::{Config, Fault, SourceLocation, ValueType, manual};
use lists::List;
use pen::Pen;

/// See the module.
#[derive(Clone)]
pub struct Draft {
    path: Option<PathBuf>,
    text: Zeroizing<String>,
}

/// One thing that becomes otherwise. Values are as a person types them: `5`, `2s`, `on`, `a, b` or
/// `["a", "b"]` for a list; none takes the setting out, so that its default holds.
#[derive(Clone, PartialEq, Eq)]
pub enum Edit {
    /// A setting, by its dotted name, or one of a list's item, `backend[db1].weight`.
    Set {
        /// Its name.
        setting: String,
        /// What it becomes.
        value: Option<String>,
    },
    /// A table joins a list, at the end or at a place from 1.
    Add {
        /// The list's name, such as `backend`.
        list: &'static str,
        /// Keys and values.
        values: Vec<(String, String)>,
        /// Where.
        place: Option<usize>,
    },
    /// Settings of one of a list's tables, all at once: its title may be among them.
    Change {
        /// The list's name.
        list: &'static str,
        /// Which one.
        title: String,
        /// Keys and values.
        values: Vec<(String, Option<String>)>,
        /// Where it is to stand from now on, from 1.
        place: Option<usize>,
    },
    /// A table goes.
    Remove {
        /// The list's name.
        list: &'static str,
        /// Which one.
        title: String,
    },
}

impl Edit {
    /// The settings that it is about, without their values.
    pub fn names(&self) -> Vec<String> {
        let each = |of: String, keys: &mut dyn Iterator<Item = &String>| -> Vec<String> {
            keys.map(|key| format!("{of}.{key}")).collect()
        };
        match self {
            Self::Set { setting, .. } => vec![setting.clone()],
            Self::Add { list, values, .. } => each(
                format!("[[{list}]]"),
                &mut values.iter().map(|(key, _)| key),
            ),
            Self::Change {
                list,
                title,
                values,
                place,
            } => {
                let of = format!("{list}[{title}]");
                let mut names = each(of.clone(), &mut values.iter().map(|(key, _)| key));
                if place.is_some() {
                    names.push(format!("{of}'s place"));
                }
                names
            }
            Self::Remove { list, title } => vec![format!("{list}[{title}]")],
        }
    }
}

/// Values stay out of it; one may be a password.
impl std::fmt::Debug for Edit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Set { setting, .. } => write!(f, "{setting} = …"),
            Self::Add { list, .. } => write!(f, "[[{list}]] …"),
            Self::Change { list, title, .. } => write!(f, "{list}[{title}] …"),
            Self::Remove { list, title } => write!(f, "{list}[{title}] goes"),
        }
    }
}

impl Draft {
    /// A file's text.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of_file(path: &Path) -> Result<Self, Fault> {
        Ok(Self {
            path: Some(path.to_owned()),
            text: read_text(path)?,
        })
    }

    /// A configuration that stands in no file.
    pub fn of_config(config: &Config) -> Self {
        Self {
            path: None,
            text: Zeroizing::new(manual::exposed(config)),
        }
    }

    /// The file that it belongs to.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The text, secrets included.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it says, whether it fits together or not.
    ///
    /// # Errors
    /// Every value that is none.
    pub fn sketch(&self) -> Result<Config, Vec<Fault>> {
        Config::sketch(self.path(), self.text())
    }

    /// The same with these changes, in their order.
    ///
    /// # Errors
    /// What is not there to be changed, and every value that is none.
    pub fn with(&self, edits: &[Edit]) -> Result<Self, Vec<Fault>> {
        let mut pen = Pen::new(self)?;
        for edit in edits {
            pen.write(edit)?;
        }
        let draft = pen.draft();
        draft.sketch()?;
        Ok(draft)
    }
}

/// `backend[db1].weight`: the list, the item, the key.
fn item_setting(name: &str) -> Option<(List, &str, &str)> {
    let (list, rest) = name.split_once('[')?;
    let (title, key) = rest.rsplit_once("].")?;
    Some((List::named(list)?, title, key))
}

/// Whether a value is what is shown of a setting already.
fn is_shown(value: &str, shown: &str) -> bool {
    manual::plain(shown) == value || shown == value
}

/// A secret is shown as `…`; who copies that has not got it.
fn refuse_mask(kind: ValueType, setting: &str, value: &str) -> Result<(), Vec<Fault>> {
    match kind == ValueType::Secret && value == "…" {
        true => Err(fault(
            setting,
            "… is what is shown of secrets, and not one itself",
        )),
        false => Ok(()),
    }
}

fn no_list(name: &str) -> Vec<Fault> {
    fault(name, "is no list of tables")
}

/// With the name that may have been meant.
fn hinted(faults: Vec<Fault>, meant: Option<&str>) -> Vec<Fault> {
    let hint = meant.map(did_you_mean);
    let hinted = faults.into_iter().map(|fault| Fault {
        hint: hint.clone(),
        ..fault
    });
    hinted.collect()
}

fn fault(setting: &str, text: impl Into<String>) -> Vec<Fault> {
    vec![Fault::new(SourceLocation::COMMAND_LINE, setting, text)]
}

#[cfg(test)]
mod tests;
