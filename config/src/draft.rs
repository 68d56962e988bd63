//! A configuration's text while it is being changed: the file's own, whose comments and order stay, with
//! settings set and tables added and taken out. Whether the whole is right is found as for any file, by
//! loading it; here each value is looked at on its own.

mod document;
mod lists;
mod spelled;

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::load::read_text;
use crate::nearest::nearest;
use crate::value::did_you_mean;
use crate::{Config, Fault, Kind, Place, manual, setting, settings};
use document::Document;
use lists::List;

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
        let mut draft = self.clone();
        for edit in edits {
            draft = draft.edited(edit)?;
        }
        draft.sketch()?;
        Ok(draft)
    }

    fn edited(&self, edit: &Edit) -> Result<Self, Vec<Fault>> {
        let mut document = Document::read(self.text())?;
        match edit {
            Edit::Set { setting, value } => match item_setting(setting) {
                Some((list, title, key)) => {
                    let values = [(key.to_owned(), value.clone())];
                    self.change(&mut document, list, title, &values)?;
                }
                None => self.set(&mut document, setting, value.as_deref())?,
            },
            Edit::Add {
                list,
                values,
                place,
            } => {
                let list = List::named(list).ok_or_else(|| no_list(list))?;
                let mut table = toml_edit::Table::new();
                for (key, value) in values {
                    let kind = list.kind(key)?;
                    refuse_mask(kind, &list.setting(key), value)?;
                    let value = spelled::value(kind, value)
                        .map_err(|text| fault(&list.setting(key), text))?;
                    table.insert(key, toml_edit::Item::Value(value));
                }
                document.add(list.name, table, *place);
            }
            Edit::Change {
                list,
                title,
                values,
                place,
            } => {
                let list = List::named(list).ok_or_else(|| no_list(list))?;
                let index = self.change(&mut document, list, title, values)?;
                if let Some(place) = place {
                    document.move_to(list.name, index, *place);
                }
            }
            Edit::Remove { list, title } => {
                let list = List::named(list).ok_or_else(|| no_list(list))?;
                let index = list.find(&self.sketch()?, title)?;
                document.remove(list.name, index);
            }
        }
        Ok(Self {
            path: self.path.clone(),
            text: Zeroizing::new(document.to_string()),
        })
    }

    fn set(
        &self,
        document: &mut Document,
        name: &str,
        value: Option<&str>,
    ) -> Result<(), Vec<Fault>> {
        let Some(meant) = setting(name) else {
            let near = nearest(name, settings().map(|it| it.name));
            return Err(hinted(fault(name, "is no setting"), near));
        };
        let section = name.strip_suffix(meant.key).unwrap_or_default();
        let section = section.trim_end_matches('.');
        let Some(value) = value else {
            document.take_out(section, meant.key);
            return Ok(());
        };
        let shown = (meant.show)(&self.sketch()?);
        if !is_shown(value, &shown) {
            let value = spelled::value(meant.kind, value).map_err(|text| fault(name, text))?;
            document.put(section, meant.key, value);
        }
        Ok(())
    }

    /// Changes an item's settings; its index.
    fn change(
        &self,
        document: &mut Document,
        list: List,
        title: &str,
        values: &[(String, Option<String>)],
    ) -> Result<usize, Vec<Fault>> {
        let config = self.sketch()?;
        let index = list.find(&config, title)?;
        for (key, value) in values {
            let kind = list.kind(key)?;
            let name = list.setting(key);
            let Some(value) = value else {
                document.take_out_of(list.name, index, key);
                continue;
            };
            if !is_shown(value, &list.shown(&config, index, key)) {
                refuse_mask(kind, &name, value)?;
                let value = spelled::value(kind, value).map_err(|text| fault(&name, text))?;
                document.put_in(list.name, index, key, value);
            }
        }
        Ok(index)
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
fn refuse_mask(kind: Kind, setting: &str, value: &str) -> Result<(), Vec<Fault>> {
    match kind == Kind::Secret && value == "…" {
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
    vec![Fault::new(Place::COMMAND_LINE, setting, text)]
}

#[cfg(test)]
mod tests;
