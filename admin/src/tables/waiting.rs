//! What ProxySQL's tables have in common whose changes wait until LOAD … TO RUNTIME: a row tells an item of a
//! list in other words.

use config::{Config, Edit};

use crate::fault::Fault;
use crate::material::Material;
use crate::sheet::{
    Alterable, Altered, Asks, Cell, ColumnFacts, Row, Schema, Sheet, Table, Target,
};

/// Such a table.
pub struct Waiting<T: 'static> {
    /// How its rows are told, changes that wait included.
    pub sheet: Sheet<T>,
    /// How they are changed.
    pub alterable: Alterable,
    /// The columns of which no two rows have the same.
    pub unique: &'static [&'static str],
    /// Gives the changes of a statement their places in the list.
    pub order: fn(&mut [Edit], &Material),
}

/// A setting and what it becomes.
pub type Value = (String, Option<String>);

/// How the rows of a table tell items of a list.
pub struct Words {
    /// The list.
    pub list: &'static str,
    /// Which one a row is.
    pub title: fn(&Row<'_>) -> String,
    /// What a column means.
    pub values: fn(&str, &Row<'_>, &Material) -> Result<Vec<Value>, Fault>,
    /// What a row means besides that has come.
    pub come: fn(&Row<'_>, &Material) -> Result<Vec<Value>, Fault>,
}

impl Words {
    /// What a changed row means.
    ///
    /// # Errors
    /// A column says what cannot be said here.
    pub fn edit(&self, altered: &Altered<'_>, material: &Material) -> Result<Edit, Fault> {
        let list = self.list;
        let title = |row: &Row<'_>| (self.title)(row);
        match (&altered.before, &altered.after) {
            (Some(before), None) => Ok(Edit::Remove {
                list,
                title: title(before),
            }),
            (Some(before), Some(after)) => {
                let mut values: Vec<Value> = Vec::new();
                for column in altered.assigned {
                    for value in (self.values)(column, after, material)? {
                        // Two columns may mean the same.
                        values.retain(|(key, _)| *key != value.0);
                        values.push(value);
                    }
                }
                Ok(Edit::Change {
                    list,
                    title: title(before),
                    values,
                    place: None,
                })
            }
            (None, Some(after)) => {
                let mut values = (self.come)(after, material)?;
                for column in after.columns {
                    if !after.text(column.name).is_empty() {
                        values.extend((self.values)(column.name, after, material)?);
                    }
                }
                let mut said: Vec<(String, String)> = Vec::new();
                for (key, value) in values {
                    said.retain(|(known, _)| *known != key);
                    said.extend(value.map(|value| (key, value)));
                }
                Ok(Edit::Add {
                    list,
                    values: said,
                    place: None,
                })
            }
            (None, None) => Err(Fault::not_alterable("Nothing has become of this row")),
        }
    }
}

/// The configuration as it would be with what waits.
pub fn awaited(material: &Material) -> &Config {
    match &material.memory {
        Some(memory) => &memory.config,
        None => &material.config,
    }
}

/// A value, or nothing where the text is empty.
pub fn said(key: &str, text: &str) -> Vec<Value> {
    let value = Some(text.to_owned()).filter(|it| !it.is_empty());
    vec![(key.to_owned(), value)]
}

/// A column that can have these values only.
///
/// # Errors
/// It has another.
pub fn only(column: &str, row: &Row<'_>, allowed: &[&str], why: &str) -> Result<Vec<Value>, Fault> {
    let text = row.text(column);
    match text.is_empty() || allowed.contains(&&*text) {
        true => Ok(Vec::new()),
        false => Err(Fault::wrong_value(format!(
            "{column} cannot be {text} here: {why}"
        ))),
    }
}

/// The number of a cluster, by its name.
pub fn hostgroup(material: &Material, cluster: &str) -> Option<u32> {
    let mut clusters = material.topology.clusters.iter();
    let found = clusters.find(|it| it.name == cluster);
    found.map(|it| it.id.0)
}

/// The cluster of a number.
///
/// # Errors
/// There is none.
pub fn cluster(hostgroup: &str, material: &Material) -> Result<String, Fault> {
    let clusters = &material.topology.clusters;
    let number = hostgroup.parse::<u32>().ok();
    let mut found = clusters.iter().filter(|it| Some(it.id.0) == number);
    match found.next() {
        Some(cluster) => Ok(cluster.name.clone()),
        None => Err(Fault::wrong_value(format!(
            "There is no hostgroup {hostgroup}: hostgroups are the numbers of clusters here. INSERT INTO backends \
             (address, cluster) makes a new one"
        ))),
    }
}

/// A setting that says to which cluster; nothing where the text is empty.
///
/// # Errors
/// There is no such cluster.
pub fn said_cluster(key: &str, text: &str, material: &Material) -> Result<Vec<Value>, Fault> {
    match text.is_empty() {
        true => Ok(vec![(key.to_owned(), None)]),
        false => Ok(vec![(key.to_owned(), Some(cluster(text, material)?))]),
    }
}

/// How such a table is changed.
pub const fn alterable(edit: fn(&Altered<'_>, &Material) -> Result<Edit, Fault>) -> Alterable {
    Alterable {
        target: Target::Memory(edit),
        aliases: &[],
        keys: Vec::new,
        place: None,
        title: |_| Ok(String::new()),
    }
}

impl<T> Table for Waiting<T> {
    fn schema(&self) -> Schema {
        self.sheet.schema
    }

    fn name(&self) -> &'static str {
        self.sheet.name
    }

    fn about(&self) -> &'static str {
        self.sheet.about
    }

    fn asks(&self) -> Asks {
        self.sheet.asks
    }

    fn columns(&self) -> Vec<ColumnFacts> {
        self.sheet.columns()
    }

    fn rows(&self, material: &Material) -> Vec<Vec<Cell>> {
        self.sheet.rows(material)
    }

    fn unique(&self) -> &'static [&'static str] {
        self.unique
    }

    fn alterable(&self) -> Option<&Alterable> {
        Some(&self.alterable)
    }

    fn order(&self, edits: &mut [Edit], material: &Material) {
        (self.order)(edits, material);
    }
}
