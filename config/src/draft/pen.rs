//! Writes edits into a draft, one after the other. The text is parsed once. Its settings are read again only
//! if an edit needs them, and an earlier edit may have changed them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use zeroize::Zeroizing;

use super::document::{Document, put_dotted};
use super::edit::Edit;
use super::faults::{fault, hinted};
use super::lists::List;
use super::{Draft, spelled};
use crate::nearest::nearest;
use crate::{Config, Fault, ValueType, manual, renamed, setting, settings};

/// Writes edits into a draft, see the module.
pub struct Pen {
    path: Option<PathBuf>,
    document: Document,
    sketch: Option<Sketch>,
}

/// The settings when the text was last read, and the changes since then.
struct Sketch {
    config: Config,
    /// Items that were changed or removed since, by their places when the text was read.
    touched: BTreeMap<&'static str, BTreeSet<usize>>,
    /// Items that were removed since, by their places when the text was read.
    gone: BTreeMap<&'static str, BTreeSet<usize>>,
}

impl Pen {
    /// Begins to edit a draft.
    ///
    /// # Errors
    /// Its text is no TOML.
    pub fn new(draft: &Draft) -> Result<Self, Vec<Fault>> {
        Ok(Self {
            path: draft.path.clone(),
            document: Document::read(draft.text())?,
            sketch: None,
        })
    }

    /// The draft with all edits so far.
    pub fn draft(&self) -> Draft {
        Draft {
            path: self.path.clone(),
            text: Zeroizing::new(self.document.to_string()),
        }
    }

    /// Writes an edit.
    ///
    /// # Errors
    /// The edit's setting or item does not exist, or a value is invalid.
    pub fn write(&mut self, edit: &Edit) -> Result<(), Vec<Fault>> {
        match edit {
            Edit::Set { setting, value } => match item_setting(setting) {
                Some((list, title, key)) => {
                    let values = [(key.to_owned(), value.clone())];
                    self.change(list, title, &values, None)
                }
                None => self.set(setting, value.as_deref()),
            },
            Edit::Add {
                list,
                values,
                place,
            } => self.add(
                List::named(list).ok_or_else(|| no_list(list))?,
                values,
                *place,
            ),
            Edit::Change {
                list,
                title,
                values,
                place,
            } => {
                let list = List::named(list).ok_or_else(|| no_list(list))?;
                self.change(list, title, values, *place)
            }
            Edit::Remove { list, title } => {
                let list = List::named(list).ok_or_else(|| no_list(list))?;
                let then = self.find(list, title)?;
                let sketch = self.sketch()?;
                let index = sketch.now(list, then);
                sketch.touched.entry(list.name).or_default().insert(then);
                sketch.gone.entry(list.name).or_default().insert(then);
                self.document.remove(list.name, index);
                Ok(())
            }
        }
    }

    /// The settings of the text. They are valid for items that no edit has touched since they were read.
    fn sketch(&mut self) -> Result<&mut Sketch, Vec<Fault>> {
        let sketch = match self.sketch.take() {
            Some(sketch) => sketch,
            None => Sketch {
                config: self.draft().sketch()?,
                touched: BTreeMap::new(),
                gone: BTreeMap::new(),
            },
        };
        Ok(self.sketch.insert(sketch))
    }

    /// Finds an item of a list by its title. Returns its place when the text was last read.
    fn find(&mut self, list: List, title: &str) -> Result<usize, Vec<Fault>> {
        let sketch = self.sketch()?;
        if let Ok(index) = list.find(&sketch.config, title)
            && !sketch.touches(list, index)
        {
            return Ok(index);
        }
        // The item may have been added since, or have got this title.
        self.sketch = None;
        list.find(&self.sketch()?.config, title)
    }

    fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), Vec<Fault>> {
        let Some(meant) = setting(name) else {
            let near = nearest(name, settings().map(|it| it.name));
            return Err(hinted(fault(name, "is no setting"), near));
        };
        let Some(value) = value else {
            self.sketch = None;
            self.take_out(meant.name);
            return Ok(());
        };
        let shown = (meant.show)(&self.draft().sketch()?);
        if !is_shown(value, &shown) {
            self.sketch = None;
            let value = spelled::value(meant.kind, value).map_err(|text| fault(name, text))?;
            self.take_out_old(meant.name);
            let (section, key) = section_and_key(meant.name);
            self.document.put(section, key, value);
        }
        Ok(())
    }

    /// Removes a setting from the text, under its current and its old name.
    fn take_out(&mut self, name: &str) {
        self.take_out_old(name);
        let (section, key) = section_and_key(name);
        self.document.take_out(section, key);
    }

    /// Removes a setting under the name that it had in the previous version.
    fn take_out_old(&mut self, name: &str) {
        for (old, _) in renamed().filter(|(_, new)| *new == name) {
            let (section, key) = section_and_key(old);
            self.document.take_out(section, key);
        }
    }

    fn add(
        &mut self,
        list: List,
        values: &[(String, String)],
        place: Option<usize>,
    ) -> Result<(), Vec<Fault>> {
        let mut table = toml_edit::Table::new();
        for (key, value) in values {
            let (key, kind) = list.meant(key)?;
            refuse_mask(kind, &list.setting(key), value)?;
            let value =
                spelled::value(kind, value).map_err(|text| fault(&list.setting(key), text))?;
            put_dotted(&mut table, key, value);
        }
        if place.is_some() {
            self.sketch = None;
        }
        self.document.add(list.name, table, place);
        Ok(())
    }

    /// Changes an item's settings, and its place.
    fn change(
        &mut self,
        list: List,
        title: &str,
        values: &[(String, Option<String>)],
        place: Option<usize>,
    ) -> Result<(), Vec<Fault>> {
        let then = self.find(list, title)?;
        let index = self.sketch()?.now(list, then);
        for (key, value) in values {
            let (key, kind) = list.meant(key)?;
            let name = list.setting(key);
            let Some(value) = value else {
                self.take_out_old_of(list, index, &name);
                self.document.take_out_of(list.name, index, key);
                continue;
            };
            let shown = list.shown(&self.sketch()?.config, then, key);
            if !is_shown(value, &shown) {
                refuse_mask(kind, &name, value)?;
                let value = spelled::value(kind, value).map_err(|text| fault(&name, text))?;
                self.take_out_old_of(list, index, &name);
                self.document.put_in(list.name, index, key, value);
            }
        }
        match place {
            Some(place) => {
                self.sketch = None;
                self.document.move_to(list.name, index, place);
            }
            None => {
                let touched = &mut self.sketch()?.touched;
                touched.entry(list.name).or_default().insert(then);
            }
        }
        Ok(())
    }
}

impl Pen {
    /// Removes a setting of an item under the name that it had in the previous version.
    fn take_out_old_of(&mut self, list: List, index: usize, name: &str) {
        for (old, _) in renamed().filter(|(_, new)| *new == name) {
            let (_, key) = section_and_key(old);
            self.document.take_out_of(list.name, index, key);
        }
    }
}

/// Splits `limits.sessions_max` into the section and the key in it.
fn section_and_key(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

impl Sketch {
    fn touches(&self, list: List, index: usize) -> bool {
        let touched = self.touched.get(list.name);
        touched.is_some_and(|it| it.contains(&index))
    }

    /// The current place of an item.
    fn now(&self, list: List, index: usize) -> usize {
        let gone = self.gone.get(list.name);
        index - gone.map_or(0, |gone| gone.range(..index).count())
    }
}

impl Draft {
    /// The draft with these edits, in their order.
    ///
    /// # Errors
    /// A setting or an item that does not exist, and every invalid value.
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

/// Splits `backend[db1].weight` into the list, the item and the key.
fn item_setting(name: &str) -> Option<(List, &str, &str)> {
    let (list, rest) = name.split_once('[')?;
    let (title, key) = rest.rsplit_once("].")?;
    Some((List::named(list)?, title, key))
}

/// Whether a value is the same as the shown value of a setting.
fn is_shown(value: &str, shown: &str) -> bool {
    manual::plain(shown) == value || shown == value
}

/// Refuses `…` as a secret: it is the mask that is shown in place of secrets.
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
