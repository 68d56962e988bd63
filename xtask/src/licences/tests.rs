#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

#[test]
fn every_dependency_has_a_licence_that_is_allowed() {
    assert_eq!(check(&crate::root()).err(), None);
}

#[test]
fn a_licence_outside_the_list_is_named() {
    let named = [("evil 1.0".to_owned(), "AGPL-3.0".to_owned())];
    let found = faults(&named, &["MIT".to_owned()]);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("evil 1.0") && found[0].contains("AGPL-3.0"));
    assert_eq!(faults(&[("none".to_owned(), String::new())], &[]).len(), 1);
}

/// Both files as they are shipped: what is in them, that each reference leads somewhere, and that a second run writes
/// the same.
#[test]
fn the_components_and_texts_name_all_that_is_in_the_program() {
    let write_to = |name: &str| {
        let folder = format!("target/tests/licences-{name}-{}", std::process::id());
        write(&crate::root(), &folder).unwrap();
        let folder = crate::root().join(folder);
        let files = ["pilotfish.cdx.json", "licences.txt"]
            .map(|file| fs::read_to_string(folder.join(file)).unwrap());
        fs::remove_dir_all(folder).unwrap();
        files
    };
    let [components, texts] = write_to("first");
    assert_eq!([components.clone(), texts.clone()], write_to("second"));

    let document: Value = serde_json::from_str(&components).unwrap();
    let list = document["components"].as_array().unwrap();
    let scope = |name: &str| {
        let found = list.iter().find(|it| it["name"] == name);
        found.map_or("none", |it| it["scope"].as_str().unwrap())
    };
    for linked in [
        "tokio", "rustls", "SQLite", "AWS-LC", "Lua", "uPlot", "musl",
    ] {
        assert_eq!(scope(linked), "required", "{linked}");
    }
    assert_eq!(scope("cc"), "excluded", "only builds the program");
    assert_eq!(scope("proptest"), "none", "is for tests only");
    for component in list {
        assert!(
            component["version"]
                .as_str()
                .is_some_and(|it| !it.is_empty()),
            "{component}"
        );
    }

    let program = &document["metadata"]["component"];
    let known = list
        .iter()
        .chain([program])
        .map(|it| it["bom-ref"].as_str().unwrap());
    let known: BTreeSet<&str> = known.collect();
    assert_eq!(
        known.len(),
        list.len() + 1,
        "two components share a reference"
    );
    for entry in document["dependencies"].as_array().unwrap() {
        let on = entry["dependsOn"].as_array().unwrap().iter();
        for reference in on.chain([&entry["ref"]]) {
            assert!(known.contains(reference.as_str().unwrap()), "{reference}");
        }
    }

    for text in [
        "tokio 1.",
        "SQLite 3.",
        "May you do good",
        "Rich Felker",
        "Lua.org",
    ] {
        assert!(texts.contains(text), "{text}");
    }
}
