//! The manual's list of metrics: it says what is written here.

use super::families::FAMILIES;
use super::measured::HISTOGRAMS;

const BEGIN: &str =
    "<!-- The list is made by `cargo test -p pilotfish-admin` with PILOTFISH_WRITE=1. -->\n";

fn list() -> String {
    let mut list = String::from("| metric | kind | labels | what it says |\n|---|---|---|---|\n");
    let mut put = |name: &str, kind: &str, labels: &[&str], about: &str| {
        let labels: Vec<_> = labels.iter().map(|it| format!("`{it}`")).collect();
        let labels = labels.join(", ");
        list.push_str(&format!("| `{name}` | {kind} | {labels} | {about} |\n"));
    };
    for family in FAMILIES {
        let source = family.sources.first();
        let labels = source
            .into_iter()
            .flat_map(|it| it.labels.iter().chain(&it.fixed));
        let labels: Vec<_> = labels.map(|(label, _)| *label).collect();
        put(family.name, family.kind.name(), &labels, &family.about());
    }
    for (name, _, about) in HISTOGRAMS {
        put(name, "histogram", &["cluster", "backend", "way"], about);
    }
    list
}

#[test]
fn the_manual_lists_every_metric() -> std::io::Result<()> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/manual/src/metrics.md");
    let page = std::fs::read_to_string(path)?;
    let (head, rest) = page.split_once(BEGIN).unwrap_or((&page, ""));
    let is_list = |line: &&str| line.starts_with('|');
    let tail: String = rest.split_inclusive('\n').skip_while(is_list).collect();
    let wanted = format!("{head}{BEGIN}{}{tail}", list());
    if std::env::var_os("PILOTFISH_WRITE").is_some() {
        return std::fs::write(path, wanted);
    }
    assert!(
        page == wanted,
        "PILOTFISH_WRITE=1 writes the list of docs/manual/src/metrics.md anew"
    );
    Ok(())
}
