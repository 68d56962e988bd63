//! The list of components (SBOM) in CycloneDX's format, 1.5. Two runs at one commit write the same bytes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::graph::Package;
use super::parts::Part;

/// The whole document: the program, crates that are in it, crates that only build it, and parts that are no crate.
pub fn document(
    program: &Package,
    linked: &[&Package],
    building: &[&Package],
    parts: &[Part],
) -> Value {
    let of_linked = linked.iter().map(|it| of_package(it, "required"));
    let of_building = building.iter().map(|it| of_package(it, "excluded"));
    let all = of_linked
        .chain(of_building)
        .chain(parts.iter().map(of_part));
    let known: BTreeSet<String> = linked
        .iter()
        .chain(building)
        .chain([&program])
        .map(|it| it.id())
        .collect();
    let dependencies = linked.iter().chain(building).chain([&program]).map(|it| {
        let on = it.depends_on.intersection(&known);
        let on: Vec<String> = on.map(|id| reference(id)).collect();
        json!({"ref": reference(&it.id()), "dependsOn": on})
    });
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application",
            "bom-ref": reference(&program.id()),
            "name": program.name,
            "version": program.version,
            "licenses": [{"expression": program.licence}],
        }},
        "components": all.collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    })
}

fn reference(id: &str) -> String {
    format!("pkg:cargo/{}", id.replace(' ', "@").replace('+', "%2B"))
}

fn of_package(package: &Package, scope: &str) -> Value {
    let checksum = package.checksum.iter();
    let hashes = checksum.map(|sha| json!({"alg": "SHA-256", "content": sha}));
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(&package.id()),
        "name": package.name,
        "version": package.version,
        "scope": scope,
        "hashes": hashes.collect::<Vec<_>>(),
        "licenses": [{"expression": package.licence.replace('/', " OR ")}],
    });
    if package.is_foreign {
        component["purl"] = reference(&package.id()).into();
    }
    component
}

fn of_part(part: &Part) -> Value {
    let purl = format!(
        "pkg:generic/{}@{}",
        part.name.to_lowercase().replace(' ', "-"),
        part.version
    );
    let mut component = json!({
        "type": "library",
        "bom-ref": purl,
        "purl": purl,
        "name": part.name,
        "version": part.version,
        "scope": "required",
        "licenses": [licence(&part.licence)],
    });
    if let Some(cpe) = &part.cpe {
        component["cpe"] = format!("cpe:2.3:a:{cpe}:{}:*:*:*:*:*:*:*", part.version).into();
    }
    component
}

fn licence(text: &str) -> Value {
    json!({"expression": text})
}
