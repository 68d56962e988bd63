//! Licences of dependencies: whether each is allowed, the list of components (SBOM), and the licences' texts.
//!
//! ```text
//!  cargo metadata, cargo tree ─► graph ─┬─► check: each licence against packaging/licences.toml
//!  packaging/licences.toml ─► parts ────┴─► write: components (pilotfish.cdx.json), texts (licences.txt)
//! ```

mod components;
mod expression;
mod graph;
mod list;
mod parts;
mod texts;

use std::fs;
use std::path::Path;

use crate::Outcome;
use graph::Package;
use list::List;

/// Whether every dependency of the workspace, tests included, has a licence that is allowed.
pub fn check(root: &Path) -> Outcome {
    let list = List::read(root)?;
    let allowed = list.allowed();
    let packages = graph::packages(root)?;
    let mut named: Vec<(String, String)> = packages
        .values()
        .filter(|it| it.is_foreign)
        .map(|it| (it.id(), it.licence.clone()))
        .collect();
    let parts = parts::parts(root, &list, &packages)?;
    named.extend(parts.into_iter().map(|part| (part.name, part.licence)));
    let faults = faults(&named, &allowed);
    match faults.is_empty() {
        true => Ok(format!(
            "licences: {} dependencies, all allowed",
            named.len()
        )),
        false => Err(faults),
    }
}

fn faults(named: &[(String, String)], allowed: &[String]) -> Vec<String> {
    let bad = named
        .iter()
        .filter(|(_, licence)| !expression::is_allowed(licence, allowed));
    bad.map(|(name, licence)| {
        format!(
            "{name}: its licence \"{licence}\" is not allowed by {}",
            List::FILE
        )
    })
    .collect()
}

/// Writes the list of components and the licences' texts of the program into a folder.
pub fn write(root: &Path, folder: &str) -> Outcome {
    let list = List::read(root)?;
    let packages = graph::packages(root)?;
    let parts = parts::parts(root, &list, &packages)?;
    let (linked, building) = graph::of_the_program(root)?;
    let program = packages.values().find(|it| it.name == "pilotfish");
    let program = program.ok_or_else(|| vec!["there is no crate pilotfish".to_owned()])?;
    let found = |ids: &std::collections::BTreeSet<String>| -> Vec<&Package> {
        let packages = ids.iter().filter_map(|id| packages.get(id));
        packages.filter(|it| it.name != program.name).collect()
    };
    let (linked, building) = (found(&linked), found(&building));
    let foreign: Vec<&Package> = linked.iter().copied().filter(|it| it.is_foreign).collect();
    let document = components::document(program, &linked, &building, &parts);
    let licences = texts::all(&foreign, &parts, &list, &packages)?;
    let folder = root.join(folder);
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(folder.join("pilotfish.cdx.json"), format!("{document:#}\n")))
        .and_then(|()| fs::write(folder.join("licences.txt"), licences))
        .map_err(|error| vec![format!("{}: {error}", folder.display())])?;
    Ok(format!("licences: wrote {}", folder.display()))
}

#[cfg(test)]
mod tests;
