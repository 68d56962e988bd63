//! A draft while edits are written into it, one behind the other: the text is read once, and what it says only
//! when an edit has to know it and an earlier one may have changed that.

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

/// See the module.
pub struct Pen {
    path: Option<PathBuf>,
    document: Document,
    sketch: Option<Sketch>,
}

/// What the text said when it was last read, and what has become of it since.
struct Sketch {
    config: Config,
    /// Items that have been changed or have gone, by their places then.
    touched: BTreeMap<&'static str, BTreeSet<usize>>,
    /// Those of them that have gone.
    gone: BTreeMap<&'static str, BTreeSet<usize>>,
}

impl Pen {
    /// Begins with a draft.
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

    /// What has been written so far.
    pub fn draft(&self) -> Draft {
        Draft {
            path: self.path.clone(),
            text: Zeroizing::new(self.document.to_string()),
        }
    }

    /// Writes an edit.
    ///
    /// # Errors
    /// What is not there to be changed, and a value that is none.
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

    /// What the text says, as far as nothing has touched it since it was read.
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

    /// Which of a list's items is meant, by its place when the text was last read.
    fn find(&mut self, list: List, title: &str) -> Result<usize, Vec<Fault>> {
        let sketch = self.sketch()?;
        if let Ok(index) = list.find(&sketch.config, title)
            && !sketch.touches(list, index)
        {
            return Ok(index);
        }
        // It may have come meanwhile, or have got this title.
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

    /// Takes a setting out, by whatever name it is given.
    fn take_out(&mut self, name: &str) {
        self.take_out_old(name);
        let (section, key) = section_and_key(name);
        self.document.take_out(section, key);
    }

    /// Takes out what gives a setting by the name that it had in the last version.
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

    /// Changes an item's settings, and where it stands.
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
    /// Takes out what gives a setting of an item by the name that it had in the last version.
    fn take_out_old_of(&mut self, list: List, index: usize, name: &str) {
        for (old, _) in renamed().filter(|(_, new)| *new == name) {
            let (_, key) = section_and_key(old);
            self.document.take_out_of(list.name, index, key);
        }
    }
}

/// `limits.sessions_max`: the section, and the key in it.
fn section_and_key(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

impl Sketch {
    fn touches(&self, list: List, index: usize) -> bool {
        let touched = self.touched.get(list.name);
        touched.is_some_and(|it| it.contains(&index))
    }

    /// Where an item stands now.
    fn now(&self, list: List, index: usize) -> usize {
        let gone = self.gone.get(list.name);
        index - gone.map_or(0, |gone| gone.range(..index).count())
    }
}

impl Draft {
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
