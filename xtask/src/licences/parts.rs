//! Parts of the program that are no crate: libraries in C inside crates, the dashboard's library, the standard library.
//! packaging/licences.toml names them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use toml::Value;

use super::graph::{Package, run};
use super::list::List;
use crate::read;

/// A part of the program that is no crate.
#[derive(Debug)]
pub struct Part {
    pub name: String,
    pub version: String,
    pub licence: String,
    /// Vendor and product under which databases of vulnerabilities know it.
    pub cpe: Option<String>,
    /// Its licence's text.
    pub text: String,
}

/// Reads all parts of the list.
pub fn parts(
    root: &Path,
    list: &List,
    packages: &BTreeMap<String, Package>,
) -> Result<Vec<Part>, Vec<String>> {
    let part = |table: &Value| Part::read(root, table, packages);
    list.parts().iter().map(part).collect()
}

impl Part {
    fn read(
        root: &Path,
        table: &Value,
        packages: &BTreeMap<String, Package>,
    ) -> Result<Self, Vec<String>> {
        let own = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
        let needed = |key: &str| {
            own(key).ok_or_else(|| vec![format!("{}: a part has no {key}", List::FILE)])
        };
        let name = needed("name")?;
        let mut folder = root.join("packaging/licences");
        if let Some(inside) = own("inside") {
            let found = packages.values().find(|it| it.name == inside);
            folder = found
                .map(|it| it.folder.clone())
                .ok_or_else(|| vec![format!("{}: there is no crate {inside}", List::FILE)])?;
        }
        let text = needed("text")?;
        let mut places = [&folder, &root.join("packaging/licences")].map(|it| it.join(&text));
        places.sort_by_key(|path| !path.exists());
        Ok(Self {
            version: version(root, &name, table.get("version"), &folder)?,
            licence: needed("licence")?,
            cpe: own("cpe"),
            text: read(&places[0])?,
            name,
        })
    }
}

/// A part's version: a text, what a file has behind a text, what the dashboard's lock file says, or the compiler's.
fn version(
    root: &Path,
    name: &str,
    version: Option<&Value>,
    folder: &Path,
) -> Result<String, Vec<String>> {
    let key = |key: &str| version.and_then(|it| it.get(key)).and_then(Value::as_str);
    let missing = || vec![format!("{}: {name} has no version", List::FILE)];
    if let Some(text) = version.and_then(Value::as_str) {
        return Ok(text.to_owned());
    }
    if let Some(lock) = key("lock") {
        let lock: Json = serde_json::from_str(&read(&root.join(lock))?)
            .map_err(|error| vec![format!("{lock}: {error}")])?;
        let package = &lock["packages"][format!("node_modules/{}", name.to_lowercase())];
        return Ok(package["version"].as_str().ok_or_else(missing)?.to_owned());
    }
    if let (Some(file), Some(after)) = (key("file"), key("after")) {
        return version_in(&folder.join(file), after)?.ok_or_else(missing);
    }
    let text = run(Command::new("rustc").arg("--version"))?;
    text.split(' ')
        .nth(1)
        .map(str::to_owned)
        .ok_or_else(missing)
}

fn version_in(file: &Path, after: &str) -> Result<Option<String>, Vec<String>> {
    let text = read(file)?;
    let behind = text.split_once(after).map(|(_, behind)| behind);
    let word = behind.and_then(|it| {
        it.trim_start_matches([' ', '"'])
            .split(['"', ' ', '\n'])
            .next()
    });
    Ok(word.map(str::to_owned))
}
